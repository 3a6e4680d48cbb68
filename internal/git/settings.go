package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ralph-loop/ralph/internal/regular"
)

// Settings are the settings in a file, as `git config --list -z` has them, without what it
// includes. Git gets the words that are kept with its answer, not the file: whoever changes it
// meanwhile is met by the next look, and one that has not changed costs no process.
func (r *Repo) Settings(ctx context.Context, name string) (string, error) {
	text, err := readShort(name)
	if list, ok := r.settings.Of(text); ok || err != nil {
		return list, err
	}
	list, err := r.Run(ctx, Call{Args: []string{"config", "--file", "-", "--no-includes", "-z", "--list"}, Stdin: text, Repo: os.DevNull, Plain: true})
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	r.settings.Keep(text, list, len(text)/64) // some lines
	return list, nil
}

const maxSettings = 1 << 20 // settings are shorter

// readShort reads an ordinary file. It waits for nobody: an agent may have put a pipe there.
func readShort(name string) (string, error) {
	f, info, err := regular.Open(name)
	refused := Refuse(name+" is no ordinary file, or too large for settings of git", "look who made it")
	if errors.Is(err, regular.ErrNotRegular) {
		return "", refused
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.Size() > maxSettings {
		return "", refused
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSettings))
	return string(text), err
}
