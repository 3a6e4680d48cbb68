package git

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's own ids are made with it
	"crypto/sha256"
	"encoding/binary"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/git/index"

	"golang.org/x/sys/unix"
)

// HoldOwn sees to it that the index of a worktree has ralph's own files as the
// commit has them on which the task began (head, when that is not known),
// whatever an agent staged or committed.
func (r *Repo) HoldOwn(ctx context.Context, head string) error {
	r.FreeLocks(ctx)
	x := &r.index
	e, err := r.readPrivate(head)
	if x.head != "" {
		head = x.head
	}
	if err != nil || x.head == "" || e.Own != x.own {
		if err := r.RestoreOwn(ctx, head); err != nil {
			return err
		}
	}
	x.begun, x.real = true, Stat(r.RealIndex())
	return nil
}

// proveMost is up to how many files ralph compares itself: above it git, which
// has several threads for it, is as quick although it is a process.
const proveMost = 3000

// Flags of index entries.
const (
	assumeValid  = 0x8000
	skipWorktree = 0x4000 // among the second flags
)

// modeLink is the mode of a repository inside this one.
const modeLink = 0o160000

// IndexLook is what ralph sees in an index without git.
type IndexLook struct {
	Proved bool // files and index are just as the commit, nothing else is there
	Hidden bool // files are marked for git not to look at
	Links  bool // there are repositories inside this one, or only git can tell
}

// LookAtIndex compares commit, index and files as git status does (racy-git), but
// answers only when there is no doubt: files that are ignored, or were written
// in the same tick of the clock as the index, leave the answer to git.
func (r *Repo) LookAtIndex(head Head) IndexLook {
	p := proof{root: r.root, idLen: len(head.Commit) / 2, ok: true, names: map[string]bool{"": true}}
	p.index = Stat(r.RealIndex())
	b, err := os.ReadFile(r.RealIndex())
	if err != nil || p.index == nil || len(b) < 12 {
		return IndexLook{}
	}
	p.sparse = Stat(filepath.Join(r.gitDir, "info", "sparse-checkout")) != nil
	p.ok = binary.BigEndian.Uint32(b[8:]) <= proveMost
	p.empty = emptyBlob(p.idLen)
	rest, err := index.Each(b, p.idLen, p.add)
	var e index.Entries
	if err == nil {
		err = e.Extensions(rest, p.idLen)
	}
	if err != nil {
		return IndexLook{Links: true}
	}
	p.look.Proved = p.ok && e.Tree != "" && e.Tree == r.knownTree(head.Commit) && p.nothingElse()
	return p.look
}

// knownTree returns the tree of a commit when no process is needed for it.
func (r *Repo) knownTree(commit string) string {
	if r.at.Commit == commit {
		return r.at.Tree
	}
	text, err := r.ReadLooseCommit(commit)
	if err != nil {
		return ""
	}
	c, err := ParseCommit(text)
	if err != nil {
		return ""
	}
	return c.Tree
}

// emptyBlob is the id of a file without content.
func emptyBlob(idLen int) string {
	const header = "blob 0\x00"
	if idLen == sha256.Size {
		sum := sha256.Sum256([]byte(header))
		return string(sum[:])
	}
	sum := sha1.Sum([]byte(header)) //nolint:gosec // git's own ids are made with it
	return string(sum[:])
}

// proof compares the entries of an index with the files.
type proof struct {
	root   string
	idLen  int
	index  os.FileInfo
	empty  string // id of the empty file
	sparse bool
	look   IndexLook
	ok     bool            // nothing was found to differ yet
	names  map[string]bool // paths of the index; true: folders
}

func (p *proof) add(x index.Entry) error {
	if x.Flags&assumeValid != 0 {
		p.look.Hidden = true
	}
	if x.Flags&index.Extended != 0 {
		p.ok = false
		if at := index.IDAt + p.idLen + 2; binary.BigEndian.Uint16(x.Raw[at:])&skipWorktree != 0 && !p.sparse {
			p.look.Hidden = true
		}
	}
	if x.Mode() == modeLink {
		p.look.Links, p.ok = true, false
	}
	if !p.ok {
		return nil
	}
	name := string(x.Path)
	p.names[name] = false
	for dir := path.Dir(name); dir != "." && !p.names[dir]; dir = path.Dir(dir) {
		p.names[dir] = true
	}
	p.ok = x.Flags&index.StageBits == 0 && p.unchanged(x, name)
	return nil
}

// unchanged compares a file with the ten fields of its entry.
func (p *proof) unchanged(x index.Entry, name string) bool {
	var st unix.Stat_t
	if unix.Lstat(p.root+"/"+name, &st) != nil {
		return false
	}
	has := [...]uint32{
		uint32(st.Ctim.Sec), uint32(st.Ctim.Nsec), uint32(st.Mtim.Sec), uint32(st.Mtim.Nsec), //nolint:unconvert // their sizes depend on the system
		0, uint32(st.Ino), 0, st.Uid, st.Gid, uint32(st.Size),
	}
	for i, v := range has {
		if i != 4 && i != 6 && v != binary.BigEndian.Uint32(x.Raw[4*i:]) {
			return false
		}
	}
	written := p.index.ModTime()
	if sec, nsec := int64(st.Mtim.Sec), int64(st.Mtim.Nsec); sec > written.Unix() || sec == written.Unix() && nsec >= int64(written.Nanosecond()) {
		return false // it may have changed after git looked
	}
	if st.Size == 0 && string(x.ID(p.idLen)) != p.empty {
		return false // how git marks an entry that it must look at again
	}
	switch mode := uint32(st.Mode); x.Mode() { //nolint:unconvert // as above
	case 0o100644, 0o100755:
		return mode&unix.S_IFMT == unix.S_IFREG && (mode&0o100 != 0) == (x.Mode() == 0o100755)
	case 0o120000:
		return mode&unix.S_IFMT == unix.S_IFLNK
	}
	return false
}

// nothingElse reports that the folders of the index have only what is in it.
func (p *proof) nothingElse() bool {
	for dir, folder := range p.names {
		if !folder {
			continue
		}
		list, err := os.ReadDir(filepath.Join(p.root, dir))
		if err != nil {
			return false
		}
		for _, e := range list {
			name := e.Name()
			if dir == "" && name == ".git" {
				continue
			}
			if _, ok := p.names[strings.TrimPrefix(dir+"/"+name, "/")]; !ok {
				return false
			}
		}
	}
	return true
}

// linkPaths returns the repositories inside this one that an index names. The id of HEAD's
// kind of object tells the length of ids.
func (r *Repo) linkPaths(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	if err != nil || len(b) == 0 {
		return nil, nil // none yet
	}
	idLen := 20
	if r.wideIDs() {
		idLen = 32
	}
	var paths []string
	rest, err := index.Each(b, idLen, func(x index.Entry) error {
		if x.Mode() == modeLink {
			paths = append(paths, string(x.Path))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var e index.Entries
	return paths, e.Extensions(rest, idLen)
}

// LeftAt notes what the index says after a checkout of the commit, which saves
// asking for it before the next commit and at the next Enter.
func (r *Repo) LeftAt(commit string) {
	r.index, r.at = private{}, EnteredPlace{Commit: commit}
	if e, err := r.readPrivate(commit); err == nil {
		r.index = private{begun: true, real: Stat(r.RealIndex()), head: commit, own: e.Own}
		r.at.Tree = e.Tree
	}
}

// EnteredAt is what leftAt noted.
func (r *Repo) EnteredAt() EnteredPlace { return r.at }

// DropIndex forgets what was known of the index.
func (r *Repo) DropIndex() { r.index = private{} }
