package index

import (
	"crypto/sha1" //nolint:gosec // git's own ids are made with it
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// modeDir is a folder's mode in a tree.
const modeDir = "40000"

// intentToAdd is in the second flags of an entry without content yet.
const intentToAdd = 0x2000

// TreeID computes the id of the tree that the entries of an index make. What git
// would not write as a tree, or not in this way, gives errIndex.
func TreeID(b []byte, idLen int) (string, error) {
	tree, _, err := Trees(b, idLen)
	return tree, err
}

// Trees are the trees that the entries of an index make: the id of the whole, and those
// that git has not noted as written, each after those in it.
func Trees(b []byte, idLen int) (tree string, unwritten []Tree, err error) {
	w := treeWriter{idLen: idLen}
	rest, err := Each(b, idLen, w.add)
	if err != nil {
		return "", nil, err
	}
	var e Entries
	if err := e.Extensions(rest, idLen); err != nil {
		return "", nil, err
	}
	if len(w.open) == 0 {
		return "", nil, ErrOther
	}
	for len(w.open) > 1 {
		w.close()
	}
	tree = hex.EncodeToString(ObjectID("tree", w.open[0].body, w.idLen))
	written := e.written(idLen)
	for _, t := range append(w.made, Tree{tree, w.open[0].body}) {
		if !written[t.ID] {
			unwritten = append(unwritten, t)
		}
	}
	return tree, unwritten, nil
}

// Tree is a tree as git stores it.
type Tree struct {
	ID   string
	Body []byte
}

// treeWriter makes trees of entries in the order of an index, which is the order
// within trees too. open are the folders that are not complete, the root first.
type treeWriter struct {
	idLen int
	open  []folder
	made  []Tree // folders that are complete
}

type folder struct {
	path string // with a slash at its end, "" for the root
	body []byte // mode, name and id of each member
}

func (w *treeWriter) add(e Entry) error {
	if e.Flags&StageBits != 0 {
		return ErrOther
	}
	if e.Flags&Extended != 0 {
		at := IDAt + w.idLen + 2
		if more := uint16(e.Raw[at])<<8 | uint16(e.Raw[at+1]); more&intentToAdd != 0 {
			return ErrOther
		}
	}
	path := string(e.Path)
	if strings.HasSuffix(path, "/") || len(path) == 0 { // a folder of a sparse index
		return ErrOther
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
	last.member(strconv.FormatUint(uint64(e.Mode()), 8), path[len(last.path):], e.ID(w.idLen))
	return nil
}

// close ends the innermost folder and makes it a member of the one around it.
func (w *treeWriter) close() {
	done := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	last := &w.open[len(w.open)-1]
	id := ObjectID("tree", done.body, w.idLen)
	last.member(modeDir, done.path[len(last.path):len(done.path)-1], id)
	w.made = append(w.made, Tree{hex.EncodeToString(id), done.body})
}

func (f *folder) member(mode, name string, id []byte) {
	f.body = append(f.body, mode...)
	f.body = append(f.body, ' ')
	f.body = append(f.body, name...)
	f.body = append(f.body, 0)
	f.body = append(f.body, id...)
}

// ObjectID is git's id of an object of a kind, idLen bytes long: 20 with SHA-1, 32 with SHA-256.
func ObjectID(kind string, body []byte, idLen int) []byte {
	var h hash.Hash
	if idLen == sha256.Size {
		h = sha256.New()
	} else {
		h = sha1.New() //nolint:gosec // as above
	}
	fmt.Fprintf(h, "%s %d\x00", kind, len(body))
	h.Write(body)
	return h.Sum(nil)
}
