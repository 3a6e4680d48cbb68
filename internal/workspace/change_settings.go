package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
)

// ChangeSettings replaces the text of the settings by what change makes of it, as a whole
// or not at all.
func ChangeSettings(root string, change func(text []byte) ([]byte, error)) error {
	path := filepath.Join(root, "ralph/config.yaml")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the settings: %w", err)
	}
	if text, err = change(text); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return writeLinked(root, path, text)
	}
	if err := renameio.WriteFile(path, text, 0o644, renameio.WithExistingPermissions()); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}

// writeLinked writes to what the link in the place of the settings leads to, so that it stays one. An
// agent can make such a link: ralph, which is in no sandbox, writes only to a file that is there
// already, in the repository, and in no folder that is git's or ralph's own. os.Root holds the first
// whatever is changed for a link meanwhile.
func writeLinked(root, path string, text []byte) (err error) {
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fmt.Errorf("write the settings: ralph/config.yaml is a link: %w", err)
	}
	top, err := filepath.EvalSymlinks(root)
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	name, err := filepath.Rel(top, to)
	parts := strings.Split(filepath.ToSlash(name), "/")
	own := slices.Contains(parts, ".git") || parts[0] == "ralph" && len(parts) > 2 // hooks, prompts, state, worktrees
	if err != nil || !filepath.IsLocal(name) || own {
		return &ralph.Refusal{
			Why:  "ralph/config.yaml is a link to " + to + ", and ralph writes only to files of the repository that are neither git's nor its own",
			Hint: "put a file in the place of the link, or edit what it leads to yourself", Kind: ralph.ErrUsage,
		}
	}
	dir, err := os.OpenRoot(top)
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	defer dir.Close()
	info, err := dir.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", to)
	}
	if err == nil {
		err = replaceIn(dir, name, text, info.Mode().Perm())
	}
	if err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}

// replaceIn puts a new file in the place of one, as a whole or not at all.
func replaceIn(dir *os.Root, name string, text []byte, mode fs.FileMode) error {
	next := name + ".new"
	_ = dir.Remove(next) // of a run that was cut
	f, err := dir.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = dir.Rename(next, name)
	}
	if err != nil {
		_ = dir.Remove(next)
	}
	return err
}

// EditAll makes several changes, which are checked together.
func EditAll(text []byte, args []string) ([]byte, error) {
	changes := make([]config.Change, len(args))
	for i, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, &ralph.Refusal{Why: fmt.Sprintf("%q is not key=value", arg), Hint: "like task.max_iterations=20; `ralph config show` lists the keys", Kind: ralph.ErrUsage}
		}
		changes[i] = config.Change{Key: strings.TrimSpace(key), Value: strings.TrimSpace(value)}
	}
	return config.EditAll(text, changes)
}
