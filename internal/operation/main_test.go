package operation_test

import (
	"runtime/debug"
	"testing"
)

// TestMain has garbage collected less often: it is a third of judging thousands of lines.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
