package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// errObject is an object that is not there, or is not what it should be.
var errObject = errors.New("object is missing or of another kind")

// object reads an object of a kind.
func (r *Repo) object(ctx context.Context, id, kind string) (string, error) {
	if text, err := r.ReadLoose(id, kind); err == nil {
		return text, nil
	}
	var text string
	none := false
	err := r.ask(ctx, []byte(id+"\n"), func(out *bufio.Reader) error {
		line, err := out.ReadString('\n')
		if err != nil {
			return err
		}
		var got string
		var size int64
		if strings.HasSuffix(line, " missing\n") {
			none = true
			return nil
		}
		if _, err := fmt.Sscanf(line, "%s %s %d\n", new(string), &got, &size); err != nil {
			return fmt.Errorf("read what git has of %s: %q", id, line)
		}
		var b bytes.Buffer
		if got != kind || size > outputMost {
			none = true
			_, err = io.CopyN(io.Discard, out, size+1)
			return err
		}
		if _, err := io.CopyN(&b, out, size+1); err != nil {
			return err
		}
		text = b.String()[:size]
		return nil
	}, "cat-file", "--batch")
	if err == nil && none {
		err = fmt.Errorf("read the %s %s: %w", kind, id, errObject)
	}
	return text, err
}

// outputMost bounds one object that is read whole.
const outputMost = 64 << 20

// treeAt is the tree of a commit, or the tree itself.
func (r *Repo) treeAt(ctx context.Context, id string) (string, error) {
	if text, err := r.ReadLoose(id, "tree"); err == nil && text != "" {
		return id, nil
	}
	text, err := r.object(ctx, id, "commit")
	if errors.Is(err, errObject) {
		_, err = r.object(ctx, id, "tree")
		return id, err
	}
	if err != nil {
		return "", err
	}
	c, err := ParseCommit(text)
	return c.Tree, err
}

// Members are what a tree has, by name; none for "". They are nobody's to change.
func (r *Repo) Members(ctx context.Context, id string) (map[string]TreeEntry, error) {
	if id == "" {
		return nil, nil
	}
	if list, ok := r.trees.Of(id); ok {
		return list, nil
	}
	text, err := r.object(ctx, id, "tree")
	if err != nil {
		return nil, err
	}
	list, ok := MembersIn(text, len(id)/2)
	if !ok {
		return nil, fmt.Errorf("read the tree %s: %w", id, errObject)
	}
	r.trees.Keep(id, list, len(list))
	return list, nil
}

// MembersIn reads a tree: mode, a space, name, a zero byte, id.
func MembersIn(text string, idLen int) (map[string]TreeEntry, bool) {
	members := map[string]TreeEntry{}
	for b := []byte(text); len(b) > 0; {
		head, rest, ok := bytes.Cut(b, []byte{0})
		mode, name, ok2 := bytes.Cut(head, []byte{' '})
		if !ok || !ok2 || len(rest) < idLen {
			return nil, false
		}
		members[string(name)] = TreeEntry{string(mode), hex.EncodeToString(rest[:idLen])}
		b = rest[idLen:]
	}
	return members, true
}

// differences lists how one tree differs from another, each with all folders below it, by path.
func (r *Repo) differences(ctx context.Context, from, to string) ([]Change, error) {
	a, err := r.treeAt(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := r.treeAt(ctx, to)
	if err != nil {
		return nil, err
	}
	var list []Change
	if err := r.differ(ctx, "", a, b, len(from), &list); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(x, y Change) int { return cmp.Compare(x.Path, y.Path) })
	return list, nil
}

func (r *Repo) differ(ctx context.Context, dir, a, b string, idLen int, list *[]Change) error {
	if a == b {
		return nil
	}
	was, err := r.Members(ctx, a)
	if err != nil {
		return err
	}
	now, err := r.Members(ctx, b)
	if err != nil {
		return err
	}
	names := maps.Clone(was)
	if names == nil {
		names = map[string]TreeEntry{}
	}
	maps.Copy(names, now)
	for name := range names {
		x, y := was[name], now[name]
		if x == y {
			continue
		}
		sub := [2]string{}
		if x.Mode == ModeDir {
			sub[0], x = x.ID, TreeEntry{}
		}
		if y.Mode == ModeDir {
			sub[1], y = y.ID, TreeEntry{}
		}
		if sub != [2]string{} {
			if err := r.differ(ctx, dir+name+"/", sub[0], sub[1], idLen, list); err != nil {
				return err
			}
		}
		if x != y {
			*list = append(*list, differsAt(dir+name, x, y, idLen))
		}
	}
	return nil
}

// differsAt is one file that differs, as `git diff-tree --raw` tells it.
func differsAt(path string, was, now TreeEntry, idLen int) Change {
	none := TreeEntry{"000000", strings.Repeat("0", idLen)}
	status := byte('M')
	switch {
	case was.Mode == "":
		was, status = none, 'A'
	case now.Mode == "":
		now, status = none, 'D'
	case was.Mode[:2] != now.Mode[:2]:
		status = 'T'
	}
	return Change{":" + was.Mode + " " + now.Mode, was.ID + " " + now.ID, status, path}
}

// patch is compare for the whole of two trees or commits, by a git that stays.
func (r *Repo) patch(ctx context.Context, max int64, from, to string, form ...string) ([]byte, error) {
	a, err := r.treeAt(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := r.treeAt(ctx, to)
	if err != nil || a == b {
		return nil, err
	}
	// What is no id git gives back as it is: nothing that stands in a patch begins a line so.
	end := rand.Text() + "\n"
	out := &head{left: max}
	err = r.ask(ctx, []byte(a+" "+b+"\n"+end), func(from *bufio.Reader) error {
		for first := true; ; {
			part, err := from.ReadSlice('\n')
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return err
			}
			switch {
			case string(part) == end:
				return nil
			case first && string(part) == a+" "+b+"\n":
			default:
				if _, err := out.Write(part); err != nil {
					return err
				}
			}
			first = false
		}
	}, slices.Concat(diffTree(), form, []string{"--stdin"})...)
	if out.full {
		return out.lines(), nil
	}
	return out.buf.Bytes(), err
}

// TreeEntry is one side's file, without a mode when that side has none.
type TreeEntry struct{ Mode, ID string }

// Sides returns the two versions of a changed file.
func (c Change) Sides() (from, to TreeEntry) {
	a, b, _ := strings.Cut(strings.TrimPrefix(c.Modes, ":"), " ")
	x, y, _ := strings.Cut(c.IDs, " ")
	for _, s := range []struct {
		v        *TreeEntry
		mode, id string
	}{{&from, a, x}, {&to, b, y}} {
		if strings.Trim(s.mode, "0") != "" {
			*s.v = TreeEntry{s.mode, s.id}
		}
	}
	return from, to
}

// Change is one file that differs between two trees.
type Change struct {
	Modes  string // ":100644 000000", before and after
	IDs    string // likewise
	Status byte   // A, D, M or T
	Path   string
}

// Link reports a repository inside this one, of which git knows the commit alone.
func (c Change) Link() bool { return strings.HasSuffix(c.Modes, " 160000") }

// Changes lists how one tree differs from another.
func (r *Repo) Changes(ctx context.Context, from, to string) ([]Change, error) {
	if from == to {
		return nil, nil
	}
	list, err := r.differences(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return list, nil
}

// InTheWay returns what stands where files of the base belong and is in no
// tree: ignored files, and repositories of the agent's own.
func (r *Repo) InTheWay(changes []Change) []string {
	known := map[string]Change{} // what the leftover's tree has, where it differs
	for _, c := range changes {
		if c.Status != 'D' {
			known[c.Path] = c
		}
	}
	var lost []string
	for _, c := range changes {
		if c.Status == 'T' && c.Link() {
			lost = append(lost, r.unknownIn(c.Path, nil)...)
		}
		if c.Status != 'D' {
			continue
		}
		lost = append(lost, r.unknownIn(c.Path, known)...)
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			_, ok := known[dir]
			if info, err := os.Lstat(r.File(dir)); !ok && err == nil && !info.IsDir() {
				lost = append(lost, dir)
			}
		}
	}
	slices.Sort(lost)
	return slices.Compact(lost)
}

// unknownIn returns the files below a folder that are not known.
func (r *Repo) unknownIn(name string, known map[string]Change) []string {
	if info, err := os.Lstat(r.File(name)); err != nil || !info.IsDir() {
		return nil
	}
	var lost []string
	_ = filepath.WalkDir(r.File(name), func(file string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(r.root, file)
		if err != nil || relErr != nil {
			lost = append(lost, name) // what cannot be read may hold anything
			return fs.SkipAll
		}
		rel = filepath.ToSlash(rel)
		if k, ok := known[rel]; !d.IsDir() && (!ok || k.Link()) {
			lost = append(lost, rel)
		}
		return nil
	})
	return lost
}

// File is where a file of the work tree is.
func (r *Repo) File(name string) string { return filepath.Join(r.root, filepath.FromSlash(name)) }

// Before and after are the two versions of a change: a mode and an id, "" for no file.
// Before is the version in the tree that is compared from.
func (c Change) Before() string { return version2(c.Modes, c.IDs, 0) }

// After is the version in the tree that it is compared with.
func (c Change) After() string { return version2(c.Modes, c.IDs, 1) }

func version2(modes, ids string, side int) string {
	m, i := strings.Fields(strings.ReplaceAll(modes, ":", "")), strings.Fields(ids)
	if len(m) != 2 || len(i) != 2 || strings.Trim(m[side], "0") == "" {
		return ""
	}
	return m[side] + " " + i[side]
}
