package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // git's own ids are made with it
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/git/index"

	"github.com/ralph-loop/ralph/internal/proc"
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

// instant is a time as the file system has it.
type instant struct{ sec, nsec int64 }

func (i instant) before(t time.Time) bool { return time.Unix(i.sec, i.nsec).Add(tick).Before(t) }

// stamp is what the system says of a path.
type stamp struct {
	mode             uint32
	ino, dev         uint64
	uid, gid         uint32
	size             int64
	changed, written instant
}

const (
	typeBits   = 0o170000
	typeFolder = 0o040000
	typeFile   = 0o100000
	typeLink   = 0o120000
	typeModule = 0o160000
)

func (s stamp) folder() bool { return s.mode&typeBits == typeFolder }

// still is what is known of a work tree since git last looked at all of it.
type still struct {
	began   time.Time            // by the clock of the file system: what is older, git tells by itself
	folders map[string]*folderAt // with a slash at the end, "" for the root; nil: nothing is known
	known   map[string]stamp     // files that changed since began, and are in the index as they are now
	rules   uint64               // by which git ignores files
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

// indexScan is one look at a work tree, before git is asked.
type indexScan struct {
	r       *Repo
	at      time.Time
	still   bool // git would find nothing
	index   indexed
	folders map[string]*folderAt
	rules   uint64
	bare    int // folders without a tracked file
	read    int
}

// indexed is an index that can be compared with files.
type indexed struct {
	paths   []string
	stamps  []stamp // as the index has them: without dev
	ids     [][]byte
	entries map[string]bool // of paths
	folders map[string]bool // that have one of them below
}

// readIndexed reads an index; ok is false where only git can tell whether files are as in it.
func readIndexed(b []byte, idLen int) (x indexed, ok bool) {
	const assumeValid = 0x8000
	x.entries, x.folders = map[string]bool{}, map[string]bool{"": true}
	rest, err := index.Each(b, idLen, func(e index.Entry) error {
		if e.Flags&(index.StageBits|assumeValid|index.Extended) != 0 || e.Mode()&typeBits == typeModule || bytes.HasSuffix(e.Path, []byte("/")) {
			return index.ErrOther
		}
		field := func(n int) uint32 { return binary.BigEndian.Uint32(e.Raw[4*n:]) }
		path := string(e.Path)
		x.paths, x.ids, x.entries[path] = append(x.paths, path), append(x.ids, e.ID(idLen)), true
		x.stamps = append(x.stamps, stamp{
			changed: instant{int64(field(0)), int64(field(1))}, written: instant{int64(field(2)), int64(field(3))},
			ino: uint64(field(5)), mode: field(6), uid: field(7), gid: field(8), size: int64(field(9)),
		})
		for dir := parent(path); !x.folders[dir]; dir = parent(strings.TrimSuffix(dir, "/")) {
			x.folders[dir] = true
		}
		return nil
	})
	return x, err == nil && new(index.Entries).Extensions(rest, idLen) == nil && len(x.paths) > 0
}

// parent is the folder that a path is in, with a slash at its end.
func parent(path string) string { return path[:strings.LastIndexByte(path, '/')+1] }

// same reports whether a file is as its entry says: all that git notes, in the width that
// it notes it in.
func (s stamp) same(file stamp) bool {
	narrow := func(i instant) instant { return instant{int64(uint32(i.sec)), int64(uint32(i.nsec))} }                     //nolint:gosec // as git does
	return s.changed == narrow(file.changed) && s.written == narrow(file.written) && uint32(s.ino) == uint32(file.ino) && //nolint:gosec // as above
		s.uid == file.uid && s.gid == file.gid && uint32(s.size) == uint32(file.size) && s.sameMode(file.mode) //nolint:gosec // as above
}

// sameMode compares the mode of an entry, which has one bit for whether a file can be run.
func (s stamp) sameMode(mode uint32) bool {
	if s.mode&typeBits != mode&typeBits {
		return false
	}
	return s.mode&typeBits != typeFile || (s.mode&0o100 != 0) == (mode&0o100 != 0)
}

// clock is what time it is for the file system.
func (r *Repo) clock() (time.Time, bool) {
	f, err := os.CreateTemp(r.gitDir, "ralph-clock-*")
	if err != nil {
		return time.Time{}, false
	}
	defer os.Remove(f.Name())
	s, ok := lookAt(f.Name())
	_ = f.Close()
	return time.Unix(s.changed.sec, s.changed.nsec), ok
}

// looks compares the work tree with the private index; nil where only git can.
func (r *Repo) looks(ctx context.Context, idLen int) *indexScan {
	if r.still.off {
		return nil
	}
	l := &indexScan{r: r, still: r.still.folders != nil}
	b, err := os.ReadFile(r.PrivateIndex())
	if err != nil {
		return nil
	}
	ok := false
	if l.index, ok = readIndexed(b, idLen); !ok {
		return nil
	}
	if l.at, ok = r.clock(); !ok {
		return nil
	}
	if r.still.began.IsZero() {
		r.still.began, r.still.known = l.at, map[string]stamp{}
	}
	if l.rules = l.ignoring(); l.rules != r.still.rules {
		l.still, r.still.ignored, r.still.asked = false, nil, false
	}
	for l.walkAll(); l.bare > maxBare; l.walkAll() {
		if r.still.asked {
			r.still = still{off: true}
			return nil
		}
		r.still.asked = true
		if r.still.ignored, err = r.ignoredFolders(ctx); err != nil {
			return nil
		}
	}
	for i := 0; i < len(l.index.paths) && l.still; i++ {
		path := l.index.paths[i]
		l.still = IsOwn(path) || l.same(path, l.index.stamps[i], l.index.ids[i])
	}
	return l
}

func (l *indexScan) walkAll() {
	l.folders, l.bare = map[string]*folderAt{}, 0
	l.walk("")
}

// walk looks at a folder, and at those in it.
func (l *indexScan) walk(dir string) {
	if !l.index.folders[dir] {
		l.bare++
	}
	if l.bare > maxBare {
		return
	}
	was := l.r.still.folders[dir]
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
		case !folder && !l.index.entries[path] && !IsOwn(path) && (was == nil || !was.more[name]):
			l.still = false
		}
	}
}

// skips reports a folder in which nothing can be that git would add.
func (l *indexScan) skips(dir string) bool {
	return IsOwn(dir) || l.r.still.ignored[dir] && !l.index.folders[dir]
}

// list is what is in a folder, read anew where it may have changed since it was seen; nil
// where only git can tell.
func (l *indexScan) list(dir string, was *folderAt) *folderAt {
	at, ok := lookAt(l.r.File(dir))
	switch {
	case !ok || !at.folder():
		return nil
	case was != nil && !was.young && was.at == at:
		return was
	}
	list, err := os.ReadDir(l.r.File(dir))
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
func (l *indexScan) same(path string, entry stamp, id []byte) bool {
	now, ok := lookAt(l.r.File(path))
	if !ok || !entry.sameMode(now.mode) {
		return false
	}
	if entry.same(now) && (now.changed.before(l.r.still.began) || l.r.still.known[path] == now) {
		return true
	}
	if l.read++; l.read > maxRead || now.size > maxReadBytes || !l.holds(path, now, id) {
		return false
	}
	if entry.same(now) && now.changed.before(l.at) {
		l.r.still.known[path] = now
	}
	return true
}

// holds reports whether a file's content, as it lies there, is what an id names.
func (l *indexScan) holds(path string, now stamp, id []byte) bool {
	var text []byte
	var err error
	if now.mode&typeBits == typeLink {
		var to string
		to, err = os.Readlink(l.r.File(path))
		text = []byte(to)
	} else {
		text, err = os.ReadFile(l.r.File(path))
	}
	return err == nil && bytes.Equal(blobID(text, len(id)), id)
}

func blobID(text []byte, idLen int) []byte {
	var h hash.Hash
	if idLen == sha256.Size {
		h = sha256.New()
	} else {
		h = sha1.New() //nolint:gosec // as above
	}
	fmt.Fprintf(h, "blob %d\x00", len(text))
	h.Write(text)
	return h.Sum(nil)
}

// ignoring sums up what says which files git ignores: settings, and each .gitignore. What
// settings include from elsewhere is not looked into.
func (l *indexScan) ignoring() uint64 {
	var sum uint64
	note := func(path string) {
		s, _ := lookAt(path)
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %v", path, s)
		sum += h.Sum64() // in any order
	}
	home := proc.Getenv(l.r.env, "HOME")
	note(filepath.Join(l.r.common, "info", "exclude"))
	note(filepath.Join(cmp.Or(proc.Getenv(l.r.env, "XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "ignore"))
	for _, name := range append(l.r.settingsFiles(), "/etc/gitconfig") {
		note(name)
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, "=")
			if value = strings.Trim(strings.TrimSpace(value), `"`); strings.EqualFold(strings.TrimSpace(key), "excludesFile") {
				if in, ok := strings.CutPrefix(value, "~/"); ok {
					value = filepath.Join(home, in)
				}
				note(value)
			}
		}
	}
	for _, path := range l.index.paths {
		if path == ".gitignore" || strings.HasSuffix(path, "/.gitignore") {
			note(l.r.File(path))
		}
	}
	for dir, f := range l.r.still.folders {
		if f.more[".gitignore"] { // it counts, tracked or not
			note(l.r.File(dir + ".gitignore"))
		}
	}
	return sum
}

// ignoredFolders are the folders that git does not look into.
func (r *Repo) ignoredFolders(ctx context.Context) (map[string]bool, error) {
	out, err := r.Run(ctx, Call{Args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"}, Index: r.PrivateIndex()})
	if err != nil {
		return nil, fmt.Errorf("ask which folders git ignores: %w", err)
	}
	folders := map[string]bool{}
	for path := range strings.SplitSeq(out, "\x00") {
		if strings.HasSuffix(path, "/") {
			folders[path] = true
		}
	}
	return folders, nil
}

// accept notes a look after which git has added whatever there was to add: what is still
// not in the index, git does not want.
func (r *Repo) accept(l *indexScan, idLen int) {
	r.still.folders = nil
	if l == nil || l.folders[""] == nil {
		return
	}
	b, err := os.ReadFile(r.PrivateIndex())
	if err != nil {
		return
	}
	x, ok := readIndexed(b, idLen)
	if !ok {
		return
	}
	for i, path := range x.paths {
		// What git has read a while after its newest change is as it read it.
		if s := x.stamps[i]; s.changed.before(l.at) && !s.changed.before(r.still.began) {
			if now, ok := lookAt(r.File(path)); ok && s.same(now) {
				r.still.known[path] = now
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
	r.still.folders, r.still.rules = l.folders, l.rules
}

// stageAll brings the private index in line with the work tree, ralph's own files left out.
func (r *Repo) stageAll(ctx context.Context, idLen int) error {
	l := r.looks(ctx, idLen)
	if l != nil && l.still {
		r.still.folders = l.folders
		return nil
	}
	r.still.folders = nil
	if err := r.AddAll(ctx, WithoutOwn()); err != nil {
		return err
	}
	r.accept(l, idLen)
	return nil
}
