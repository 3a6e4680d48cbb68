package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	if err := renameio.WriteFile(path, text, 0o644, renameio.WithExistingPermissions()); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
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
