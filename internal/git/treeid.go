package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context" //nolint:gosec // git's own ids are made with it
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git/index"
	"github.com/ralph-loop/ralph/internal/regular"
)

// seen is a tree whose id was worked out without git writing its objects. They
// can be written as long as the private index is as it was then.
type seen struct {
	index os.FileInfo
	tree  string
}

// TreeID returns the id that Snapshot would, for one process instead of two: the
// id is computed from the index. Most often a commit follows, which writes the
// tree in any case; Diff has it written when it needs it.
func (r *Repo) TreeID(ctx context.Context) (string, error) {
	r.Lock()
	defer r.Unlock()
	head, err := r.stage(ctx)
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	info := Stat(r.PrivateIndex())
	b, err := regular.ReadFile(r.PrivateIndex(), regular.Large)
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	if e, err := index.Read(b, len(head.Commit)/2, IsOwn); err == nil && e.Tree != "" {
		return e.Tree, nil // written once before
	}
	tree, err := index.TreeID(b, len(head.Commit)/2)
	if err != nil { // an index that only git can read
		if tree, err = r.WriteTree(ctx, r.PrivateIndex()); err != nil {
			return "", fmt.Errorf("snapshot: %w", err)
		}
		return tree, nil
	}
	r.index.seen = seen{info, tree}
	return tree, nil
}

// TreeKept is TreeID, and in the user's checkout the tree can be read afterwards: what
// others change there is told from it. That costs a process when something has changed,
// which a Diff that follows then does not.
func (r *Repo) TreeKept(ctx context.Context) (string, error) {
	tree, err := r.TreeID(ctx)
	if err != nil || r.ours {
		return tree, err
	}
	return tree, r.Written(ctx, tree)
}

// current reports whether the private index still is the one of that tree.
func (r *Repo) current(tree string) bool {
	s := r.index.seen
	return s.index != nil && s.tree == tree && SameFile(s.index, Stat(r.PrivateIndex()))
}

// Written has a tree written that so far only its id is known of.
func (r *Repo) Written(ctx context.Context, tree string) error {
	r.Lock()
	defer r.Unlock()
	if !r.current(tree) {
		return nil
	}
	if err := r.writeTrees(ctx, tree); err != nil {
		if ctx.Err() != nil {
			return err
		}
		if _, err := r.WriteTree(ctx, r.PrivateIndex()); err != nil { // it says better what is wrong
			return err
		}
	}
	return nil
}

// writeTrees has a git that stays write what is missing of the private index's tree. It
// holds that all that is in it is there, as write-tree does.
func (r *Repo) writeTrees(ctx context.Context, tree string) error {
	b, err := regular.ReadFile(r.PrivateIndex(), regular.Large)
	if err != nil {
		return err
	}
	is, list, err := index.Trees(b, len(tree)/2)
	if err == nil && is != tree {
		err = index.ErrOther
	}
	list = slices.DeleteFunc(list, func(t index.Tree) bool { return Stat(r.loosePath(t.ID)) != nil })
	const most = 500 // at once
	for part := range slices.Chunk(list, most) {
		if err == nil {
			err = r.makeTrees(ctx, part)
		}
	}
	return err
}

func (r *Repo) makeTrees(ctx context.Context, list []index.Tree) error {
	var question bytes.Buffer
	for _, t := range list {
		members, ok := MembersIn(string(t.Body), len(t.ID)/2)
		if !ok {
			return index.ErrOther
		}
		describeTree(&question, members)
	}
	return r.Ask(ctx, question.Bytes(), func(out *bufio.Reader) error {
		for _, t := range list {
			line, err := out.ReadString('\n')
			if err == nil && strings.TrimSpace(line) != t.ID {
				err = fmt.Errorf("write the tree %s: git made %q of it", t.ID, line)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, "mktree", "--batch", "-z")
}

// MakeTree has a git that stays write a tree, which holds that all its members are there.
func (r *Repo) MakeTree(ctx context.Context, members map[string]TreeEntry) (id string, err error) {
	var question bytes.Buffer
	describeTree(&question, members)
	err = r.Ask(ctx, question.Bytes(), func(out *bufio.Reader) error {
		line, err := out.ReadString('\n')
		id = strings.TrimSpace(line)
		return err
	}, "mktree", "--batch", "-z")
	if err != nil {
		return "", err
	}
	return id, CheckHash("tree", id)
}

// describeTree writes the members of one tree as `git mktree --batch -z` takes them.
func describeTree(question *bytes.Buffer, members map[string]TreeEntry) {
	for name, m := range members {
		kind := cmp.Or(map[string]string{ModeDir: "tree", ModeLink: "commit"}[m.Mode], "blob")
		fmt.Fprintf(question, "%s %s %s\t%s\x00", m.Mode, kind, m.ID, name)
	}
	question.WriteByte(0)
}

// Modes in trees of what is no file.
const (
	ModeDir     = "40000"
	ModeLink    = "160000" // a repository inside
	ModeSymlink = "120000" // a symbolic link
)
