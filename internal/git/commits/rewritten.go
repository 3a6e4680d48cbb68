package commits

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/diff"
	"github.com/ralph-loop/ralph/internal/git/index"
	"github.com/ralph-loop/ralph/internal/regular"
)

// RewrittenError is a commit that a hook of the repository changed while it was made, and
// that was taken back: it would have held what no check has seen. What the hook made of the
// files stands in them.
type RewrittenError struct{ Files []string }

func (e *RewrittenError) Error() string {
	const most = 10
	files := slices.Clone(e.Files)
	if len(files) > most {
		files = append(files[:most], "...")
	}
	return "a hook of the repository changed files in the commit: " + strings.Join(files, ", ")
}

// IndexWas is an index before hooks run.
type IndexWas struct {
	file string
	was  []byte // as it lies on disk
}

// StagedIn notes what an index says of files, for Rewritten.
func StagedIn(index string) IndexWas {
	b, err := regular.ReadFile(index, regular.Large)
	if err != nil {
		b = nil // git says what is wrong with it
	}
	return IndexWas{index, b}
}

// Rewritten names the files that hooks changed in a commit: those which the index has
// otherwise than before. Without an index that can be read here (split, sparse) the trees
// are compared. Files of others that the commit leaves out, and ralph's own, are not looked at.
func Rewritten(ctx context.Context, r *git.Repo, before IndexWas, tree string, c Commit, left []ralph.LeftFile) ([]string, error) {
	if tree != "" && tree == c.Tree {
		return nil, nil
	}
	a, errA := versionsIn(before.was, len(c.Hash)/2)
	b, errB := versionsIn(StagedIn(before.file).was, len(c.Hash)/2)
	var names []string
	switch {
	case errA == nil && errB == nil:
		for name, v := range b {
			if a[name] != v {
				names = append(names, name)
			}
		}
		for name := range a {
			if _, there := b[name]; !there {
				names = append(names, name)
			}
		}
	case tree != "":
		list, err := diff.Changes(ctx, r, tree, c.Tree)
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			names = append(names, x.Path)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return git.IsOwn(name) || slices.ContainsFunc(left, func(l ralph.LeftFile) bool { return l.Path == name })
	})
	slices.Sort(names)
	return names, nil
}

// versionsIn are the entries of an index file by path.
func versionsIn(b []byte, idLen int) (map[string]string, error) {
	list := map[string]string{}
	if len(b) == 0 {
		return list, index.ErrOther
	}
	_, err := index.Each(b, idLen, func(x index.Entry) error {
		list[string(x.Path)] = string(x.Raw[index.ModeAt:index.ModeAt+4]) + hex.EncodeToString(x.ID(idLen))
		return nil
	})
	return list, err
}

// UndoCommit undoes a commit that a hook rewrote: files and index stay as the hook left them.
// merged is the other parent of a merge, which is under way again after it.
func UndoCommit(ctx context.Context, r *git.Repo, c Commit, parent, merged string, files []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), UndoTime)
	defer cancel()
	r.ForgetIndex()
	if err := r.MoveHead(ctx, "a hook changed what the checks had passed", c.Hash, parent); err != nil {
		return err
	}
	if merged != "" {
		for name, text := range map[string]string{"MERGE_HEAD": merged + "\n", "MERGE_MODE": "", "MERGE_MSG": ""} {
			if err := os.WriteFile(filepath.Join(r.GitDir(), name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return &RewrittenError{Files: files}
}

// TakeBack takes the commit at HEAD back that carries in's trailer and has other files than
// in.Checked: a hook changed them, and the engine was killed before it could. It is then a
// *RewrittenError. What somebody amended since is theirs.
func TakeBack(ctx context.Context, r *git.Repo, in Input) error {
	r.Lock()
	defer r.Unlock()
	line, err := in.TrailerLine()
	if err != nil || in.Checked == "" {
		return err
	}
	h, err := r.Settled(ctx)
	if err != nil || in.Branch != "" && h.Branch != in.Branch {
		return err
	}
	at, err := r.ReadCommit(ctx, h.Commit)
	if err != nil || !at.Carries(line) || at.Amended || len(at.Parents) == 0 || at.Tree == in.Checked {
		return err
	}
	files, err := OtherThan(ctx, r, in, at)
	if err != nil || len(files) == 0 {
		return err
	}
	merged := ""
	if len(at.Parents) > 1 {
		merged = at.Parents[1]
	}
	return UndoCommit(ctx, r, Commit{Hash: h.Commit}, at.Parents[0], merged, files)
}

// OtherThan names the files that a commit has otherwise than the tree that was to be committed
// and what others had committed before it. Files that it leaves out are not looked at.
func OtherThan(ctx context.Context, r *git.Repo, in Input, at git.CommitObject) ([]string, error) {
	list, err := diff.Changes(ctx, r, in.Checked, at.Tree)
	if err != nil {
		return nil, err
	}
	others := map[string]bool{}
	if on := in.On; on != "" && on != at.Parents[0] {
		folded, err := r.Descends(ctx, on, at.Parents[0])
		if err != nil {
			return nil, err
		}
		if !folded {
			if others, err = pathsBetween(ctx, r, on, at.Parents[0]); err != nil {
				return nil, err
			}
		}
	}
	var names []string
	for _, c := range list {
		left := slices.ContainsFunc(in.Left, func(l ralph.LeftFile) bool { return l.Path == c.Path })
		if !left && !git.IsOwn(c.Path) && !others[c.Path] && !slices.Contains(in.Pages, c.Path) {
			names = append(names, c.Path)
		}
	}
	return names, nil
}

func pathsBetween(ctx context.Context, r *git.Repo, from, to string) (map[string]bool, error) {
	list, err := diff.Changes(ctx, r, from, to)
	paths := map[string]bool{}
	for _, c := range list {
		paths[c.Path] = true
	}
	return paths, err
}

// FilesRewritten names the files that a hook changed in a commit which was taken back, none for
// any other error.
func FilesRewritten(err error) []string {
	if e, is := errors.AsType[*RewrittenError](err); is {
		return e.Files
	}
	return nil
}

// maxHook is how much of what a hook says is kept, in bytes, its end.
const maxHook = 32 << 10

// HookSaid is what a hook said that refused a commit; ok is false for any other error:
// git's own failures have other exit codes.
func HookSaid(err error) (said string, ok bool) {
	if e, is := errors.AsType[*RewrittenError](err); is {
		return e.Error() + ".\nWhat it made of them stands in the files, for the checks to look at. A hook that changes them at each commit " +
			"leaves nothing that could be checked: make it write the same each time, or only check.\n", true
	}
	e, is := errors.AsType[*git.Error](err)
	if !is || len(e.Args) == 0 || e.Args[0] != "commit" || e.Exit != 1 {
		return "", false
	}
	said = strings.TrimSpace(e.Stderr)
	if cut := len(said) - maxHook; cut > 0 {
		said = "..." + said[cut:]
	}
	if said == "" {
		said = "(the hook said nothing)"
	}
	return strings.ToValidUTF8(said, "?") + "\n", true
}
