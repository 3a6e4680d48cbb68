package journal

import (
	"fmt"
	"os"
	"path/filepath"
)

// keepFolder makes the state folder, for this user alone, and keeps `git clean -fdx` away
// from it: git clears away what it ignores, but no repository within another one. An
// agent at work in the checkout may well clean up like that.
func keepFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the state folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(dir, 0o700) // made by an older ralph
	}
	if err != nil {
		return fmt.Errorf("keep the state folder private: %w", err)
	}
	// All that git looks for: it is a repository without anything in it.
	repo := filepath.Join(dir, ".git")
	for _, name := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(repo, name), 0o700); err != nil {
			return fmt.Errorf("keep git from clearing the state folder away: %w", err)
		}
	}
	head := filepath.Join(repo, "HEAD")
	if _, err := os.Lstat(head); err == nil {
		return nil
	}
	if err := os.WriteFile(head, []byte("ref: refs/heads/none\n"), 0o600); err != nil {
		return fmt.Errorf("keep git from clearing the state folder away: %w", err)
	}
	return nil
}
