package git

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
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
	b, err := os.ReadFile(index)
	if err != nil {
		b = nil // git says what is wrong with it
	}
	return IndexWas{index, b}
}

// Rewritten names the files that hooks changed in a commit: those which the index has
// otherwise than before. Without an index that can be read here (split, sparse) the trees
// are compared. Files of others that the commit leaves out, and ralph's own, are not looked at.
func (r *Repo) Rewritten(ctx context.Context, before IndexWas, tree string, c Commit, left []ralph.LeftFile) ([]string, error) {
	if tree != "" && tree == c.Tree {
		return nil, nil
	}
	a, errA := versions(before.was, len(c.Hash)/2)
	b, errB := versions(StagedIn(before.file).was, len(c.Hash)/2)
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
		list, err := r.Changes(ctx, tree, c.Tree)
		if err != nil {
			return nil, err
		}
		for _, x := range list {
			names = append(names, x.Path)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return IsOwn(name) || slices.ContainsFunc(left, func(l ralph.LeftFile) bool { return l.Path == name })
	})
	slices.Sort(names)
	return names, nil
}

// versions are the entries of an index file by path.
func versions(b []byte, idLen int) (map[string]string, error) {
	list := map[string]string{}
	if len(b) == 0 {
		return list, errIndex
	}
	_, err := eachEntry(b, idLen, func(x indexEntry) error {
		list[string(x.path)] = string(x.raw[modeAt:modeAt+4]) + hex.EncodeToString(x.id(idLen))
		return nil
	})
	return list, err
}

// UndoCommit undoes a commit that a hook rewrote: files and index stay as the hook left them.
// merged is the other parent of a merge, which is under way again after it.
func (r *Repo) UndoCommit(ctx context.Context, c Commit, parent, merged string, files []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), UndoTime)
	defer cancel()
	r.ForgetIndex()
	if err := r.MoveHead(ctx, "a hook changed what the checks had passed", c.Hash, parent); err != nil {
		return err
	}
	if merged != "" {
		for name, text := range map[string]string{"MERGE_HEAD": merged + "\n", "MERGE_MODE": "", "MERGE_MSG": ""} {
			if err := os.WriteFile(filepath.Join(r.gitDir, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return &RewrittenError{Files: files}
}

// TakeBack takes the commit at HEAD back that carries in's trailer and has other files than
// in.Checked: a hook changed them, and the engine was killed before it could. It is then a
// *RewrittenError. What somebody amended since is theirs.
func (r *Repo) TakeBack(ctx context.Context, in CommitInput) error {
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
	if err != nil || !at.Carries(line) || at.amended || len(at.Parents) == 0 || at.Tree == in.Checked {
		return err
	}
	files, err := r.OtherThan(ctx, in, at)
	if err != nil || len(files) == 0 {
		return err
	}
	merged := ""
	if len(at.Parents) > 1 {
		merged = at.Parents[1]
	}
	return r.UndoCommit(ctx, Commit{Hash: h.Commit}, at.Parents[0], merged, files)
}

// OtherThan names the files that a commit has otherwise than the tree that was to be committed
// and what others had committed before it. Files that it leaves out are not looked at.
func (r *Repo) OtherThan(ctx context.Context, in CommitInput, at CommitObject) ([]string, error) {
	list, err := r.Changes(ctx, in.Checked, at.Tree)
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
			if others, err = r.pathsBetween(ctx, on, at.Parents[0]); err != nil {
				return nil, err
			}
		}
	}
	var names []string
	for _, c := range list {
		left := slices.ContainsFunc(in.Left, func(l ralph.LeftFile) bool { return l.Path == c.Path })
		if !left && !IsOwn(c.Path) && !others[c.Path] {
			names = append(names, c.Path)
		}
	}
	return names, nil
}

func (r *Repo) pathsBetween(ctx context.Context, from, to string) (map[string]bool, error) {
	list, err := r.Changes(ctx, from, to)
	paths := map[string]bool{}
	for _, c := range list {
		paths[c.Path] = true
	}
	return paths, err
}

// Rewritten names the files that a hook changed in a commit which was taken back, none for
// any other error.
func Rewritten(err error) []string {
	if e, is := errors.AsType[*RewrittenError](err); is {
		return e.Files
	}
	return nil
}
