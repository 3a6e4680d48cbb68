package ralphtest

import (
	"os"
	"runtime/debug"
)

// Tests live for seconds, and most of their garbage dies with them: where nobody has said otherwise (GOGC), it is
// collected less often, which saves a tenth of their work. The program that they start decides for itself.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
