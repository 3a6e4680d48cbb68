package proc

import (
	"os"
	"path/filepath"
	"time"
)

// LeftFolders are the folders that match a pattern and that a process which was killed may have
// left: only their user may enter them, as those that os.MkdirTemp makes, and for an age nobody
// has made or removed anything there. Whether somebody works in one all the same, its owner tells.
func LeftFolders(pattern string, age time.Duration, now time.Time) []string {
	list, _ := filepath.Glob(pattern)
	var left []string
	for _, name := range list {
		if info, err := os.Lstat(name); err == nil && info.IsDir() && info.Mode().Perm() == 0o700 && now.Sub(info.ModTime()) >= age {
			left = append(left, name)
		}
	}
	return left
}
