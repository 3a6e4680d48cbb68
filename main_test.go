package ralph_test

import (
	"runtime/debug"
	"testing"
)

// TestMain has garbage collected less often: it is a quarter of reading all of the source.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
