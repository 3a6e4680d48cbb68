package carry

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/index"
)

// A parcel is a snapshot with its note and all objects that it takes to get there from another one: what
// travels without a remote. It is for small work: no git is started for it, neither here nor there.

// ErrBulky is work that is no parcel: it is too large, comes from too far, or has something in it that
// may not travel so.
var ErrBulky = errors.New("the work is too large for a parcel")

// ErrElsewhere is a parcel from a snapshot that is not here.
var ErrElsewhere = errors.New("the parcel is made for a repository that has more")

// Bounds of a parcel.
const (
	maxRead    = 4 << 20 // of one object
	maxOpen    = 8 << 20 // of all, before they are made small
	maxCommits = 64      // back to where it comes from
	maxBefore  = 512     // that are looked up before that
)

// label is what a parcel says of itself.
type label struct {
	Since   Snapshot
	Place   Snapshot
	Note    int
	Objects []object
}

type object struct {
	Kind string
	Size int

	id, text string
}

// Wrap makes a parcel for who has another snapshot, and known commits before that, of at most so many bytes. may says
// whether a text may travel so.
func Wrap(ctx context.Context, r *git.Repo, since Snapshot, known map[string]bool, p Snapshot, note []byte, most int, may func(text string) bool) ([]byte, error) {
	size := len(note)
	l := label{Since: Snapshot{Head: since.Head, Tree: since.Tree}, Place: Snapshot{Head: p.Head, Tree: p.Tree}, Note: len(note)}
	w := newWalk(r, func(id, kind string) (string, error) {
		text, err := read(ctx, r, id, kind)
		if size += len(text); size > maxOpen || err == nil && kind != "tree" && !may(text) {
			err = ErrBulky
		}
		l.Objects = append(l.Objects, object{kind, len(text), id, text})
		return text, err
	})
	w.has = func(commit string) bool { return commit == since.Head || known[commit] }
	if err := w.walk(ctx, since, p); err != nil {
		return nil, err
	}
	head, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if err != nil {
		return nil, err
	}
	_, _ = z.Write(append(head, '\n')) // Close says what was wrong
	_, _ = z.Write(note)
	for _, o := range l.Objects {
		_, _ = io.WriteString(z, o.text)
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	if b.Len() > most {
		return nil, ErrBulky
	}
	return b.Bytes(), nil
}

// Before are a commit and those before it, the nearest ones.
func Before(ctx context.Context, r *git.Repo, commit string) (map[string]bool, error) {
	known := map[string]bool{commit: true}
	for at := []string{commit}; len(at) > 0 && len(known) < maxBefore; at = at[1:] {
		is, err := r.ReadCommit(ctx, at[0])
		if err != nil {
			return nil, err
		}
		for _, p := range is.Parents {
			if !known[p] {
				known[p] = true
				at = append(at, p)
			}
		}
	}
	return known, nil
}

// Open takes a parcel: all its objects are kept here, once it is certain that nothing is missing. The
// branch is not in it.
func Open(ctx context.Context, r *git.Repo, parcel []byte) (p Snapshot, note []byte, err error) {
	l, note, err := unwrap(parcel)
	if err != nil {
		return p, nil, fmt.Errorf("open a parcel: %w", err)
	}
	by := map[string]*object{}
	for i := range l.Objects {
		by[l.Objects[i].id] = &l.Objects[i]
	}
	if is, err := r.ReadCommit(ctx, l.Since.Head); err != nil || is.Tree == "" {
		return p, nil, ErrElsewhere
	}
	if _, err := r.Members(ctx, l.Since.Tree); err != nil {
		return p, nil, ErrElsewhere
	}
	w := newWalk(r, func(id, kind string) (string, error) {
		if o := by[id]; o != nil && o.Kind == kind {
			return o.text, nil
		}
		return "", fmt.Errorf("the %s %s is missing", kind, id)
	})
	w.has = func(commit string) bool {
		if by[commit] != nil {
			return false
		}
		_, err := r.ReadCommit(ctx, commit)
		return err == nil
	}
	if err := w.walk(ctx, l.Since, l.Place); err != nil {
		return p, nil, fmt.Errorf("open a parcel: %w", err)
	}
	sweep(r.GitDir(), time.Now())
	// Whoever finds one of them, also after a crash, finds all that it is made of: what holds others comes after them.
	for _, kind := range []string{"blob", "tree", "commit"} {
		ids := w.met[kind]
		texts := make([]string, len(ids))
		for i, id := range ids {
			texts[i] = by[id].text
		}
		if err := keep(ctx, r, kind, ids, texts); err != nil {
			return p, nil, fmt.Errorf("open a parcel: %w", err)
		}
	}
	return l.Place, note, nil
}

// unwrap reads a parcel; its objects have the names that their texts give them.
func unwrap(parcel []byte) (l label, note []byte, err error) {
	z, err := zlib.NewReader(bytes.NewReader(parcel))
	if err != nil {
		return l, nil, err
	}
	in := bufio.NewReader(io.LimitReader(z, 2*maxOpen))
	head, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(head, &l)
	}
	if err == nil {
		err = errors.Join(git.CheckHash("commit", l.Since.Head), git.CheckHash("tree", l.Since.Tree), git.CheckHash("commit", l.Place.Head), git.CheckHash("tree", l.Place.Tree))
	}
	if err == nil {
		note, err = take(in, l.Note)
	}
	for i := range l.Objects {
		o := &l.Objects[i]
		var text []byte
		if err == nil {
			text, err = take(in, o.Size)
		}
		if err != nil {
			return l, nil, err
		}
		o.text = string(text)
		o.id = hex.EncodeToString(index.ObjectID(o.Kind, text, len(l.Place.Head)/2))
	}
	return l, note, err
}

func take(in io.Reader, n int) ([]byte, error) {
	if n < 0 || n > maxOpen {
		return nil, fmt.Errorf("a part of it has %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(in, b)
	return b, err
}
