package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Snapshot writes the whole work tree (ignored and ralph's own files left out)
// as a git tree and returns its id. Equal ids mean equal trees. The user's
// index stays as it is; submodules count as the commit they are at. When
// nothing changed since the last call it costs one process, else two.
func (r *Repo) Snapshot(ctx context.Context) (tree string, err error) {
	r.Lock()
	defer r.Unlock()
	head, err := r.stage(ctx)
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	// After an add that found no change git's own note of the tree still holds.
	if e, err := r.readPrivate(head.Commit); err == nil && e.Tree != "" {
		return e.Tree, nil
	}
	tree, err = r.WriteTree(ctx, r.PrivateIndex())
	if err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	return tree, nil
}

// stage brings the private index in line with HEAD's history and the work tree,
// ralph's own files left out, and returns HEAD.
func (r *Repo) stage(ctx context.Context) (Head, error) {
	head, err := r.Head(ctx)
	if err == nil {
		err = r.fresh(ctx)
	}
	if err == nil {
		err = r.stageAll(ctx, len(head.Commit)/2)
	}
	return head, err
}

// AddAll has git add what these pathspecs name to the private index.
func (r *Repo) AddAll(ctx context.Context, pathspecs []string) error {
	return r.Add(ctx, Call{Index: r.PrivateIndex(), Conf: []string{"advice.addEmbeddedRepo=false", "core.safecrlf=false"}}, pathspecs)
}

// WriteTree returns the tree of an index.
func (r *Repo) WriteTree(ctx context.Context, index string) (string, error) {
	tree, err := r.Line(ctx, Call{Args: []string{"write-tree"}, Index: index, Write: true})
	if err != nil {
		return "", err
	}
	return tree, CheckHash("tree", tree)
}

// Dirty returns the changed and untracked files outside ralph/ and
// build/ralph-logs/, relative to the root, with slashes, sorted. A submodule
// counts when it is at another commit; what is inside it does not.
func (r *Repo) Dirty(ctx context.Context) ([]string, error) {
	args := []string{
		"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty", "--",
	}
	out, err := r.Run(ctx, Call{Args: append(args, WithoutOwnFolders()...), Conf: []string{"core.quotepath=off"}})
	if err != nil {
		return nil, fmt.Errorf("look for changes: %w", err)
	}
	var paths []string
	for record := range strings.SplitSeq(out, "\x00") {
		if len(record) > 3 { // two letters, a space, the path
			paths = append(paths, record[3:])
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// Diff returns the difference of two trees or commits as a patch of at most
// max bytes, cut after a whole line.
func (r *Repo) Diff(ctx context.Context, fromTree, toTree string, max int64) (patch []byte, err error) {
	if err := errors.Join(CheckHash("tree", fromTree), CheckHash("tree", toTree)); err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	if fromTree == toTree || max <= 0 {
		return nil, nil
	}
	if err := errors.Join(r.written(ctx, fromTree), r.written(ctx, toTree)); err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	if patch, err = r.patch(ctx, max, fromTree, toTree, "-p"); err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	return patch, nil
}

// compare has git tell how two trees differ, in a form: at most max bytes, cut after a
// whole line. It is what checks look at, so that nothing that the author of the work can
// set makes git hide some of it: no .gitattributes (there is none where it stands, and no
// index that has one), no limit from which files count as binary, no object put in
// another's place.
func (r *Repo) compare(ctx context.Context, max int64, form []string, more ...string) ([]byte, error) {
	c := r.objectsOnly(slices.Concat(diffTree(), form, more)...)
	out := &head{left: max}
	var said bytes.Buffer
	cmd, err := r.command(ctx, c)
	if err != nil {
		return nil, err
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Tied = r.gitDir, out, &said, false
	res, err := r.p.Run(ctx, cmd)
	if out.full {
		return out.lines(), nil
	}
	if err := Failed(ctx, c.Args, res, err, said.Bytes()); err != nil {
		return nil, err
	}
	return out.buf.Bytes(), nil
}

func diffTree() []string {
	return []string{"diff-tree", "-r", "--no-color", "--no-ext-diff", "--no-textconv"}
}

// errFull ends a command that has said enough.
var errFull = errors.New("enough read")

// head keeps the beginning of a stream.
type head struct {
	buf  bytes.Buffer
	left int64
	full bool
}

func (h *head) Write(p []byte) (int, error) {
	if int64(len(p)) > h.left {
		h.buf.Write(p[:h.left])
		h.left, h.full = 0, true
		return 0, errFull
	}
	h.left -= int64(len(p))
	return h.buf.Write(p)
}

// lines are the whole lines in it.
func (h *head) lines() []byte {
	return h.buf.Bytes()[:bytes.LastIndexByte(h.buf.Bytes(), '\n')+1]
}
