package unchanged

import (
	"encoding/binary"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/git/index"
	"github.com/ralph-loop/ralph/internal/regular"

	"golang.org/x/sys/unix"
)

// maxProof is up to how many files are compared here: above it git, which
// has several threads for it, is as quick although it is a process.
const maxProof = 3000

// Flags of index entries.
const (
	assumeValid  = 0x8000
	skipWorktree = 0x4000 // among the second flags
)

// Proof is what can be seen of an index without git.
type Proof struct {
	Proved bool // files and index are just as the commit, nothing else is there
	Hidden bool // files are marked for git not to look at
	Links  bool // there are repositories inside this one, or only git can tell
}

// Prove compares commit, index and files as git status does (racy-git), but answers only when
// there is no doubt: files that are ignored, or were written in the same tick of the clock as the
// index, leave the answer to git. tree is asked for the tree of the commit, "" when only git knows;
// sparse is whether the work tree may lack files.
func Prove(at Layout, sparse bool, tree func() string) Proof {
	p := proof{root: at.Root, idLen: at.IDLen, ok: true, sparse: sparse, names: map[string]bool{"": true}}
	info, err := os.Stat(at.Index)
	if err != nil {
		return Proof{}
	}
	p.index = info
	b, err := regular.ReadFile(at.Index, regular.Large)
	if err != nil || len(b) < 12 {
		return Proof{}
	}
	p.ok = binary.BigEndian.Uint32(b[8:]) <= maxProof
	p.empty = string(index.ObjectID("blob", nil, p.idLen))
	rest, err := index.Each(b, p.idLen, p.add)
	var e index.Entries
	if err == nil {
		err = e.Extensions(rest, p.idLen)
	}
	if err != nil {
		return Proof{Links: true}
	}
	p.look.Proved = p.ok && e.Tree != "" && e.Tree == tree() && p.nothingElse()
	return p.look
}

// proof compares the entries of an index with the files.
type proof struct {
	root   string
	idLen  int
	index  os.FileInfo
	empty  string // id of the empty file
	sparse bool
	look   Proof
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
	if x.Mode() == typeModule {
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
