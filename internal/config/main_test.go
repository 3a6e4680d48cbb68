package config

import (
	"runtime/debug"
	"testing"
)

// TestMain has garbage collected less often: it is a quarter of reading thousands of files of settings.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
