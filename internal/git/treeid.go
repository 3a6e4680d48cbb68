package git

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git's own ids are made with it
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"slices"
	"strconv"
	"strings"
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
	b, err := os.ReadFile(r.PrivateIndex())
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	if e, err := readEntries(b, len(head.Commit)/2); err == nil && e.tree != "" {
		return e.tree, nil // written once before
	}
	tree, err := treeID(b, len(head.Commit)/2)
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
	return tree, r.written(ctx, tree)
}

// current reports whether the private index still is the one of that tree.
func (r *Repo) current(tree string) bool {
	s := r.index.seen
	return s.index != nil && s.tree == tree && SameFile(s.index, Stat(r.PrivateIndex()))
}

// written has a tree written that so far only its id is known of.
func (r *Repo) written(ctx context.Context, tree string) error {
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
	b, err := os.ReadFile(r.PrivateIndex())
	if err != nil {
		return err
	}
	is, list, err := treesIn(b, len(tree)/2)
	if err == nil && is != tree {
		err = errIndex
	}
	list = slices.DeleteFunc(list, func(t treeObject) bool { return Stat(r.loosePath(t.id)) != nil })
	const most = 500 // at once
	for part := range slices.Chunk(list, most) {
		if err == nil {
			err = r.makeTrees(ctx, part)
		}
	}
	return err
}

func (r *Repo) makeTrees(ctx context.Context, list []treeObject) error {
	var question bytes.Buffer
	for _, t := range list {
		members, ok := MembersIn(string(t.body), len(t.id)/2)
		if !ok {
			return errIndex
		}
		for name, m := range members {
			kind := "blob"
			switch m.Mode {
			case ModeDir:
				kind = "tree"
			case "160000":
				kind = "commit"
			}
			fmt.Fprintf(&question, "%s %s %s\t%s\x00", m.Mode, kind, m.ID, name)
		}
		question.WriteByte(0)
	}
	return r.ask(ctx, question.Bytes(), func(out *bufio.Reader) error {
		for _, t := range list {
			line, err := out.ReadString('\n')
			if err == nil && strings.TrimSpace(line) != t.id {
				err = fmt.Errorf("write the tree %s: git made %q of it", t.id, line)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, "mktree", "--batch", "-z")
}

// intentToAdd is in the second flags of an entry without content yet.
const intentToAdd = 0x2000

// ModeDir is a folder's mode in a tree.
const ModeDir = "40000"

// treeID computes the id of the tree that the entries of an index make. What git
// would not write as a tree, or not in this way, gives errIndex.
func treeID(b []byte, idLen int) (string, error) {
	tree, _, err := treesIn(b, idLen)
	return tree, err
}

// treesIn are the trees that the entries of an index make: the id of the whole, and those
// that git has not noted as written, each after those in it.
func treesIn(b []byte, idLen int) (tree string, unwritten []treeObject, err error) {
	w := treeWriter{idLen: idLen}
	rest, err := eachEntry(b, idLen, w.add)
	if err != nil {
		return "", nil, err
	}
	var e entries
	if err := e.extensions(rest, idLen); err != nil {
		return "", nil, err
	}
	if len(w.open) == 0 {
		return "", nil, errIndex
	}
	for len(w.open) > 1 {
		w.close()
	}
	tree = hex.EncodeToString(w.sum(w.open[0].body))
	written := e.written(idLen)
	for _, t := range append(w.made, treeObject{tree, w.open[0].body}) {
		if !written[t.id] {
			unwritten = append(unwritten, t)
		}
	}
	return tree, unwritten, nil
}

// treeObject is a tree as git stores it.
type treeObject struct {
	id   string
	body []byte
}

// treeWriter makes trees of entries in the order of an index, which is the order
// within trees too. open are the folders that are not complete, the root first.
type treeWriter struct {
	idLen int
	open  []folder
	made  []treeObject // folders that are complete
}

type folder struct {
	path string // with a slash at its end, "" for the root
	body []byte // mode, name and id of each member
}

func (w *treeWriter) add(e indexEntry) error {
	if e.flags&stageBits != 0 {
		return errIndex
	}
	if e.flags&extended != 0 {
		at := idAt + w.idLen + 2
		if more := uint16(e.raw[at])<<8 | uint16(e.raw[at+1]); more&intentToAdd != 0 {
			return errIndex
		}
	}
	path := string(e.path)
	if strings.HasSuffix(path, "/") || len(path) == 0 { // a folder of a sparse index
		return errIndex
	}
	if len(w.open) == 0 {
		w.open = append(w.open, folder{})
	}
	for !strings.HasPrefix(path, w.open[len(w.open)-1].path) {
		w.close()
	}
	for {
		in := w.open[len(w.open)-1].path
		name, _, deeper := strings.Cut(path[len(in):], "/")
		if !deeper {
			break
		}
		w.open = append(w.open, folder{path: in + name + "/"})
	}
	last := &w.open[len(w.open)-1]
	last.member(strconv.FormatUint(uint64(e.mode()), 8), path[len(last.path):], e.id(w.idLen))
	return nil
}

// close ends the innermost folder and makes it a member of the one around it.
func (w *treeWriter) close() {
	done := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	last := &w.open[len(w.open)-1]
	id := w.sum(done.body)
	last.member(ModeDir, done.path[len(last.path):len(done.path)-1], id)
	w.made = append(w.made, treeObject{hex.EncodeToString(id), done.body})
}

func (f *folder) member(mode, name string, id []byte) {
	f.body = append(f.body, mode...)
	f.body = append(f.body, ' ')
	f.body = append(f.body, name...)
	f.body = append(f.body, 0)
	f.body = append(f.body, id...)
}

// sum is the id of a tree object.
func (w *treeWriter) sum(body []byte) []byte {
	var h hash.Hash
	if w.idLen == sha256.Size {
		h = sha256.New()
	} else {
		h = sha1.New() //nolint:gosec // as above
	}
	fmt.Fprintf(h, "tree %d\x00", len(body))
	h.Write(body)
	return h.Sum(nil)
}
