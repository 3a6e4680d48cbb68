// Package version owns what this program is called by: the module's version, or the commit it was
// built from. `ralph version` is answered here, before other packages are initialised: scripts
// and agents ask it all the time, and it needs none of them. So its imports are few;
// TestBeforeVersion in cmd/ralph holds that.
package version

import (
	"os"
	"runtime/debug"
)

func init() {
	if len(os.Args) == 2 && (os.Args[1] == "version" || os.Args[1] == "--version") {
		if _, err := os.Stdout.WriteString("ralph " + Text() + "\n"); err == nil {
			os.Exit(0)
		} // else main tries again, and says why not
	}
}

// Text is the version.
func Text() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v = "devel-" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}
