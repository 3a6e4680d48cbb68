package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// How far Private looks, so that a home of any size costs a few milliseconds.
const (
	privateDepth  = 4       // folders below the home: ~/.config/a/b/file
	maxLooked     = 4000    // files and folders
	largestLogin  = 1 << 20 // bytes: what is larger is data
	maxInFolder   = 500     // a folder with more is a store of something
	maxPrivate    = 300     // files that are hidden one by one, above which folders are sooner hidden whole
	foldedPrivate = 20      // so many private files in one program's folder hide it whole
)

// Private are the files of a home that their owner alone may read, among the hidden ones
// (dot files) of which nearly all logins are: every tool that keeps a key keeps it so,
// whatever the tool is called. What people and their tools work with otherwise anybody may
// read. Programs are none, nor is what is larger than a login, or lies below open: what the
// sandbox lets be written, and what a person wants seen. A folder of one program that is
// full of them is hidden whole.
//
// In a home where everything is private (umask 077), only those are meant whose name or
// beginning says that they are a login.
func Private(home string, open, programs []string) []string {
	l := &privateLook{home: home, open: open, programs: programs, uid: uint32(os.Getuid())}
	// Level by level, so that one large folder hides nothing that lies beside it.
	for level, depth := []string{home}, 0; len(level) > 0 && depth <= privateDepth; depth++ {
		var below []string
		for _, dir := range level {
			below = append(below, l.folder(dir, depth)...)
		}
		level = below
	}
	if l.closedHome() {
		l.found = slices.DeleteFunc(l.found, func(p string) bool { return !readsLikeLogin(p) })
	}
	return fold(home, l.found, slices.Concat(open, programs))
}

type privateLook struct {
	home           string
	open, programs []string // real paths
	uid            uint32
	looked         int
	files          int // regular files that were looked at
	found          []string
}

// folder looks at a folder's files, and returns the folders in it.
func (l *privateLook) folder(dir string, depth int) (below []string) {
	list, err := os.ReadDir(dir)
	if err != nil || depth > 0 && len(list) > maxInFolder {
		return nil
	}
	for _, e := range list {
		if depth == 0 && !strings.HasPrefix(e.Name(), ".") {
			continue // a person's own files: what work needs is there too
		}
		if l.looked++; l.looked > maxLooked {
			return below
		}
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.ContainsFunc(l.open, func(o string) bool { return Within(o, path) }):
		case e.IsDir():
			if !skipped(e.Name()) && !slices.Contains(l.programs, path) {
				below = append(below, path)
			}
		case e.Type().IsRegular():
			l.file(path, e)
		}
	}
	return below
}

// skipped are folders that hold no login, and much else.
func skipped(name string) bool {
	return slices.Contains([]string{".cache", ".git", "node_modules", "site-packages", "toolchains", "versions", "lib", "bin", "sdk", "share-data"}, name)
}

func (l *privateLook) file(path string, e os.DirEntry) {
	info, err := e.Info()
	if err != nil {
		return
	}
	l.files++
	own, ok := info.Sys().(*syscall.Stat_t)
	if !ok || own.Uid != l.uid || info.Mode().Perm()&0o177 != 0 || info.Size() == 0 || info.Size() > largestLogin || everybodys(l.home, path) {
		return
	}
	l.found = append(l.found, path)
}

// everybodys are settings that programs of the work read, whatever their mode: git's, the
// shell's, the tools' own without a login in them.
func everybodys(home, path string) bool {
	rel, _ := filepath.Rel(home, path) // both are absolute
	return slices.Contains([]string{
		".gitconfig", ".gitignore", ".gitignore_global", ".config/git/config", ".config/git/ignore", ".config/git/attributes",
		".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_aliases", ".zshrc", ".zshenv", ".zprofile", ".inputrc", ".editorconfig",
		".tool-versions", ".nvmrc", ".claude.json",
	}, rel)
}

// closedHome reports a home that nobody else may look into: then a file's mode says nothing.
func (l *privateLook) closedHome() bool {
	there, closed := 0, 0
	for _, name := range []string{".profile", ".bashrc", ".bash_profile", ".zshrc", ".zprofile", ".gitconfig"} {
		if info, err := os.Stat(filepath.Join(l.home, name)); err == nil {
			if there++; info.Mode().Perm()&0o077 == 0 {
				closed++
			}
		}
	}
	if there > 1 && closed == there { // one of them a person may have closed by hand
		return true
	}
	const enough = 40 // files, before their share means anything
	return l.files >= enough && len(l.found)*2 > l.files
}

var (
	loginName = lazyregexp.New(`(?i)token|secret|credential|passw|auth|login|cookie|session|oauth|account|apikey|api[-_]key|netrc|pgpass|htpasswd|hosts\.ya?ml$|\.(pem|key|p12|pfx|jks|kdbx|asc|gpg)$|(^|/)id_[a-z0-9]+$|_(rsa|ed25519|ecdsa)$|history$`)
	loginText = lazyregexp.New(`(?i)(token|secret|passw(or)?d|passphrase|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|authorization|bearer|cookie|oauth)["' ]*[:= ]|BEGIN [A-Z ]*PRIVATE KEY|://[^/\s:]+:[^/\s@]+@`)
)

func readsLikeLogin(path string) bool {
	if loginName.MatchString(path) {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 1<<10))
	return err == nil && loginText.Match(head)
}

// fold replaces many private files of one program's folder by the folder.
func fold(home string, files, open []string) []string {
	in := map[string]int{}
	for _, p := range files {
		in[programFolder(home, p)]++
	}
	least := foldedPrivate
	if len(files) > maxPrivate { // each by itself would cost a mount
		least = 2
	}
	var out []string
	for _, p := range files {
		dir := programFolder(home, p)
		whole := dir != "" && in[dir] >= least && !slices.ContainsFunc(open, func(o string) bool { return Within(dir, o) })
		switch {
		case whole && !slices.Contains(out, dir):
			out = append(out, dir)
		case !whole:
			out = append(out, p)
		}
	}
	return out
}

// programFolder is the folder in which one program keeps its things, "" for none.
func programFolder(home, path string) string {
	rel, _ := filepath.Rel(home, path)
	parts := strings.Split(rel, "/")
	depth := 1
	switch {
	case len(parts) > 3 && parts[0] == ".local":
		depth = 3 // .local/share/<program>
	case len(parts) > 3 && parts[0] == ".var":
		depth = 3
	case len(parts) > 2 && parts[0] == ".config":
		depth = 2
	case len(parts) < 2 || parts[0] == ".config" || parts[0] == ".local" || parts[0] == ".var":
		return ""
	}
	return filepath.Join(home, filepath.Join(parts[:depth]...))
}
