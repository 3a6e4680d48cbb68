// Package unchanged tells without a process whether a work tree is as an index of git's says:
// whether `git add -A` would find anything, and whether a checkout is clean. It works as git does,
// by what the system says of files, and where there is doubt it says so: then git is to be asked.
//
// It does NOT own the index or what becomes of a change: package git does.
package unchanged

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/git/index"
	"github.com/ralph-loop/ralph/internal/regular"
)

// A task looks at its files some seven times, and most often nothing has changed since the
// time before. Whether `git add -A` would find anything is told here without a process, as
// git itself tells it: each entry of the index is compared with what the system says of its
// file, and each folder with the names that it had when git last looked into it. Whatever
// cannot be told for certain is a change, and git is asked.

const (
	// tick is more than the clock of a file system takes for a step: of a file that is
	// younger, a later change may show nowhere but in its content.
	tick = 50 * time.Millisecond
	// maxRead bounds the files whose content is read because they are that young.
	maxRead      = 64
	maxReadBytes = 1 << 20
	// maxBare is how many folders without a tracked file are looked at. Where there are
	// more, git is asked which of them it ignores.
	maxBare = 1000
)

// Layout is where a work tree is, its index, and what says which files git ignores there.
type Layout struct {
	Root   string // of the work tree
	GitDir string // where files can be made, by which it is seen what time it is for the file system
	Index  string // the file
	IDLen  int    // of an id, in bytes
	Home   string // of whoever "~/" means in settings

	Excludes []string // files of patterns
	Settings []string // of git, which may name more of these files

	Own     func(path string) bool                             // what is not looked at
	Ignored func(ctx context.Context) (map[string]bool, error) // the folders that git does not look into, with a slash at the end
}

func (p Layout) file(name string) string { return filepath.Join(p.Root, filepath.FromSlash(name)) }

// setting is what a file of git's settings said when it was read: files that name what is ignored.
type setting struct {
	at       stamp
	young    bool // a change a moment later would not show in at
	excludes []string
}

// Tree is what is known of a work tree since git last looked at all of it. Its zero value knows
// nothing.
type Tree struct {
	began   time.Time            // by the clock of the file system: what is older, git tells by itself
	folders map[string]*folderAt // with a slash at the end, "" for the root; nil: nothing is known
	known   map[string]stamp     // files that changed since began, and are in the index as they are now
	rules   uint64               // by which git ignores files
	said    map[string]setting   // files of settings, by name
	ignored map[string]bool      // folders that git ignores by those rules, where it had to be asked
	asked   bool
	off     bool // there is too much to look at
}

// folderAt is a folder as it was when it was listed.
type folderAt struct {
	at    stamp
	young bool            // a change a moment later would not show in at
	names map[string]bool // what is in it; true: a folder
	more  map[string]bool // files of these that git does not track, nor wants to
}

// Look is one look at a work tree, before git is asked.
type Look struct {
	tree    *Tree
	place   Layout
	root    int       // the open folder
	at      time.Time // see clock; zero until it is needed
	still   bool      // git would find nothing
	index   indexed
	folders map[string]*folderAt
	rules   uint64
	bare    int // folders without a tracked file
	read    int
}

// GiveUp has git asked from now on, each time: there is too much to look at.
func (t *Tree) GiveUp() { *t = Tree{off: true} }

// Nothing reports whether git would find nothing to add.
func (l *Look) Nothing() bool { return l != nil && l.still }

// Look compares a work tree with its index; nil where only git can. Unless it found that nothing
// has changed, git is to add what there is, and then Accept is called.
func (t *Tree) Look(ctx context.Context, at Layout) *Look {
	l := t.look(ctx, at)
	t.folders = nil
	if l.Nothing() {
		t.folders = l.folders
	}
	return l
}

func (t *Tree) look(ctx context.Context, at Layout) *Look {
	if t.off {
		return nil
	}
	l := &Look{tree: t, place: at, still: t.folders != nil}
	b, err := regular.ReadFile(at.Index, regular.Large)
	if err != nil {
		return nil
	}
	ok := false
	if l.index, ok = readIndexed(b, at.IDLen); !ok {
		return nil
	}
	if l.root, err = openFolder(at.Root); err != nil {
		return nil
	}
	defer closeFolder(l.root)
	if t.began.IsZero() && l.clock() {
		t.began, t.known, t.said = l.at, map[string]stamp{}, map[string]setting{}
	}
	if t.began.IsZero() {
		return nil
	}
	if l.rules = l.ignoring(); l.rules != t.rules {
		l.still, t.ignored, t.asked = false, nil, false
	}
	for l.walkAll(); l.bare > maxBare; l.walkAll() {
		if t.asked {
			t.GiveUp()
			return nil
		}
		t.asked = true
		if t.ignored, err = at.Ignored(ctx); err != nil {
			return nil
		}
	}
	for i := 0; i < len(l.index.paths) && l.still; i++ {
		path := l.index.paths[i]
		l.still = at.Own(path) || l.same(path, l.index.stamps[i], l.index.ids[i])
	}
	if !l.still && !l.clock() {
		return nil
	}
	return l
}

// clock has l.at be what time it is for the file system: a time before anything was read in this look,
// and before git adds what it found. Most looks read nothing.
func (l *Look) clock() bool {
	if !l.at.IsZero() {
		return true
	}
	f, err := os.CreateTemp(l.place.GitDir, "ralph-clock-*")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	s, ok := lookAt(l.root, f.Name())
	_ = f.Close()
	if ok {
		l.at = time.Unix(s.changed.sec, s.changed.nsec)
	}
	return ok
}

// lookAt is what the system says of a path below the root.
func (l *Look) lookAt(path string) (stamp, bool) {
	if path == "" {
		path = "."
	}
	return lookAt(l.root, path)
}

func (l *Look) walkAll() {
	l.folders, l.bare = map[string]*folderAt{}, 0
	l.walk("")
}

// walk looks at a folder, and at those in it.
func (l *Look) walk(dir string) {
	if !l.index.folders[dir] {
		l.bare++
	}
	if l.bare > maxBare {
		return
	}
	was := l.tree.folders[dir]
	f := l.list(dir, was)
	if f == nil {
		l.still = false
		return
	}
	l.folders[dir] = f
	for name, folder := range f.names {
		path := dir + name
		switch {
		case folder && !l.skips(path+"/"):
			l.walk(path + "/")
		case !folder && !l.index.entries[path] && !l.place.Own(path) && (was == nil || !was.more[name]):
			l.still = false
		}
	}
}

// skips reports a folder in which nothing can be that git would add.
func (l *Look) skips(dir string) bool {
	return l.place.Own(dir) || l.tree.ignored[dir] && !l.index.folders[dir]
}

// list is what is in a folder, read anew where it may have changed since it was seen; nil
// where only git can tell.
func (l *Look) list(dir string, was *folderAt) *folderAt {
	at, ok := l.lookAt(strings.TrimSuffix(dir, "/"))
	switch {
	case !ok || !at.folder():
		return nil
	case was != nil && !was.young && was.at == at:
		return was
	case !l.clock():
		return nil
	}
	list, err := os.ReadDir(l.place.file(dir))
	if err != nil {
		return nil
	}
	f := &folderAt{at: at, young: !at.changed.before(l.at), names: make(map[string]bool, len(list))}
	for _, e := range list {
		if e.Name() != ".git" {
			f.names[e.Name()] = e.IsDir()
		} else if dir != "" {
			return nil // a repository inside this one
		}
	}
	if was != nil {
		f.more = was.more
	}
	return f
}

// same reports whether a file is as its entry says.
func (l *Look) same(path string, entry stamp, id []byte) bool {
	now, ok := l.lookAt(path)
	if !ok || !entry.sameMode(now.mode) {
		return false
	}
	if entry.same(now) && (now.changed.before(l.tree.began) || l.tree.known[path] == now) {
		return true
	}
	if l.read++; l.read > maxRead || now.size > maxReadBytes || !l.clock() || !l.holds(path, now, id) {
		return false
	}
	if entry.same(now) && now.changed.before(l.at) {
		l.tree.known[path] = now
	}
	return true
}

// holds reports whether a file's content, as it lies there, is what an id names.
func (l *Look) holds(path string, now stamp, id []byte) bool {
	var text []byte
	var err error
	if now.mode&typeBits == typeLink {
		var to string
		to, err = os.Readlink(l.place.file(path))
		text = []byte(to)
	} else {
		text, err = regular.ReadFile(l.place.file(path), regular.Large)
	}
	return err == nil && bytes.Equal(index.ObjectID("blob", text, len(id)), id)
}

// ignoring sums up what says which files git ignores: settings, and each .gitignore. What
// settings include from elsewhere is not looked into.
func (l *Look) ignoring() uint64 {
	var sum uint64
	note := func(path string) {
		s, _ := l.lookAt(path)
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %v", path, s)
		sum += h.Sum64() // in any order
	}
	for _, name := range l.place.Excludes {
		note(name)
	}
	for _, name := range l.place.Settings {
		note(name)
		for _, path := range l.saidBy(name) {
			note(path)
		}
	}
	for _, path := range l.index.paths {
		if path == ".gitignore" || strings.HasSuffix(path, "/.gitignore") {
			note(path)
		}
	}
	for dir, f := range l.tree.folders {
		if f.more[".gitignore"] { // it counts, tracked or not
			note(dir + ".gitignore")
		}
	}
	return sum
}

// saidBy are the files of patterns that a file of settings names, read where it may have changed
// since it was read.
func (l *Look) saidBy(name string) []string {
	at, ok := l.lookAt(name)
	if !ok {
		return nil
	}
	if was, ok := l.tree.said[name]; ok && !was.young && was.at == at {
		return was.excludes
	}
	young := at.mode&typeBits != typeFile || !l.clock() // a link tells nothing of what it leads to
	text, err := regular.ReadFile(name, regular.Large)
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(line, "=")
		if value = strings.Trim(strings.TrimSpace(value), `"`); strings.EqualFold(strings.TrimSpace(key), "excludesFile") {
			if in, ok := strings.CutPrefix(value, "~/"); ok {
				value = filepath.Join(l.place.Home, in)
			}
			out = append(out, value)
		}
	}
	l.tree.said[name] = setting{at: at, young: young || !at.changed.before(l.at), excludes: out}
	return out
}

// Accept notes a look after which git has added whatever there was to add: what is still
// not in the index, git does not want.
func (t *Tree) Accept(l *Look) {
	if l == nil || l.folders[""] == nil {
		return
	}
	b, err := regular.ReadFile(l.place.Index, regular.Large)
	if err != nil {
		return
	}
	x, ok := readIndexed(b, l.place.IDLen)
	if !ok {
		return
	}
	for i, path := range x.paths {
		// What git has read a while after its newest change is as it read it.
		if s := x.stamps[i]; s.changed.before(l.at) && !s.changed.before(t.began) {
			if now, ok := lookAt(0, l.place.file(path)); ok && s.same(now) {
				t.known[path] = now
			}
		}
	}
	for dir, f := range l.folders {
		f.more = map[string]bool{}
		for name, folder := range f.names {
			if !folder && !x.entries[dir+name] {
				f.more[name] = true
			}
		}
	}
	t.folders, t.rules = l.folders, l.rules
}
