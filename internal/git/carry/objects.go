package carry

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/proc"
)

// read reads an object of a kind, as it is in its file where it has one of its own. No process is started where it
// has. What is larger than a parcel may be is not read.
func read(ctx context.Context, r *git.Repo, id, kind string) (string, error) {
	if err := git.CheckHash(kind, id); err != nil {
		return "", err
	}
	if is, err := os.Stat(filepath.Join(r.Common(), "objects", id[:2], id[2:])); err == nil && is.Size() > maxRead {
		return "", ErrBulky
	}
	text, err := r.Object(ctx, id, kind)
	if err == nil && len(text) > maxRead {
		return "", ErrBulky
	}
	return text, err
}

// folders are where objects are handed over from, and old is how old one is in which nobody works any more: what
// is in it is kept in a moment.
const (
	folders = "ralph-objects-"
	old     = time.Hour
)

// sweep removes what processes that were killed while they kept objects left in a git folder.
func sweep(dir string, now time.Time) {
	for _, name := range proc.LeftFolders(filepath.Join(dir, folders+"*"), old, now) {
		_ = os.RemoveAll(name)
	}
}

// keep has a git that stays keep objects of one kind, as they are: who hands them over knows their names, and has
// looked at them. They are handed over in files, all of them in one question.
func keep(ctx context.Context, r *git.Repo, kind string, ids, texts []string) error {
	if len(ids) == 0 {
		return nil
	}
	at, err := os.MkdirTemp(r.GitDir(), folders)
	if err != nil {
		return fmt.Errorf("keep what has come: %w", err)
	}
	defer os.RemoveAll(at)
	if strings.ContainsAny(at, "\n\"") {
		return fmt.Errorf("keep what has come: git takes no list of files below %q", at)
	}
	var question bytes.Buffer
	for i, text := range texts {
		name := filepath.Join(at, ids[i])
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return fmt.Errorf("keep what has come: %w", err)
		}
		question.WriteString(name + "\n")
	}
	return r.Ask(ctx, question.Bytes(), func(out *bufio.Reader) error {
		for _, want := range ids {
			line, err := out.ReadString('\n')
			if err == nil && strings.TrimSpace(line) != want {
				err = fmt.Errorf("keep the %s %s: git made %q of it", kind, want, line)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, "hash-object", "-t", kind, "-w", "--no-filters", "--literally", "--stdin-paths")
}
