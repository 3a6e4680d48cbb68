// Package sandbox owns what the system itself keeps a process from doing: Landlock on
// Linux, or bubblewrap where it is installed. All can be read but what is hidden; only what
// is named can be written; processes outside are out of reach. It does not own which
// processes are sandboxed, nor what they need beside their work tree, which the settings
// say.
package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The kinds of sandboxes, words of sandbox.kind.
const (
	Off        = "off"
	Auto       = "auto"
	Landlock   = "landlock"
	Bubblewrap = "bubblewrap"
)

// Box is what a process may do with files. Paths are absolute; what is not there is
// passed over. What is in several lists is hidden before it is kept, and kept before it
// can be written.
type Box struct {
	Write []string `json:"write,omitempty"`
	// Keep is read only although it lies in what can be written. Landlock cannot do that.
	Keep []string `json:"keep,omitempty"`
	// Hide is empty (bubblewrap) or cannot be opened (Landlock).
	Hide []string `json:"hide,omitempty"`
	// NoFile and NoFolder are an empty file and an empty folder, which stand for what
	// bubblewrap hides.
	NoFile   string `json:"-"`
	NoFolder string `json:"-"`
}

// Temp are the folders for temporary files: tmpdir, the TMPDIR of the environment, or
// where that is not set the usual ones.
func Temp(tmpdir string) []string {
	if tmpdir != "" {
		return []string{tmpdir}
	}
	return []string{"/tmp", "/var/tmp"}
}

// Home makes paths of settings absolute: ~/ is home. Without a home they are left out.
func Home(paths []string, home string) []string {
	var out []string
	for _, p := range paths {
		rest, ok := strings.CutPrefix(p, "~/")
		switch {
		case !ok:
			out = append(out, p)
		case home != "":
			out = append(out, filepath.Join(home, rest))
		}
	}
	return out
}

// Found are the paths of a list in which `*` stands for any part of a name: those that are
// there, with what links lead to.
func Found(patterns []string) []string { return Links{}.Found(patterns) }

// Found is the function Found, with what these Links know already.
func (l Links) Found(patterns []string) []string {
	var out []string
	for _, p := range Named(patterns) {
		if real, err := l.behind(p); err == nil {
			out = append(out, real)
		}
	}
	return out
}

// Named are the paths of a list in which `*` stands for any part of a name, links as they are.
func Named(patterns []string) []string {
	var out []string
	for _, p := range patterns {
		list := []string{p}
		if strings.Contains(p, "*") {
			list, _ = filepath.Glob(p) // a pattern that is none matches nothing
		}
		out = append(out, list...)
	}
	return out
}

// Bwrap is a command inside bubblewrap, the program of which is bwrap.
//
// Processes get a space of their own: they see no others, and end with the program (a
// signal for it has to be sent past bwrap: proc.Command.Inner). They have no terminal, no
// rights of root, and of the devices those that are no hardware. The network stays as it
// is: agents need it. User namespaces stay too, since the sandboxes of Claude Code and
// Codex are made of them; what they mount is their own, and never more than is here.
func Bwrap(bwrap string, b Box, argv []string) []string {
	args := []string{bwrap, "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--cap-drop", "ALL"}
	if os.Geteuid() == 0 {
		// Without it root cannot map itself in a user namespace: no sandbox inside this one
		// would start. It gives nothing that root's own set-user-ID files do not.
		args = append(args, "--cap-add", "CAP_SETFCAP")
	}
	args = append(args, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
	if os.Geteuid() == 0 {
		for _, p := range kernels() {
			args = append(args, "--ro-bind", p, p)
		}
	}
	links := Links{}
	write, keep, hide := links.granted(b.Write), links.there(b.Keep), links.there(b.Hide)
	if slices.ContainsFunc(write, func(p string) bool { return Within("/dev/shm", p) && p != "/dev/shm" }) {
		args = append(args, "--ro-bind", "/dev/shm", "/dev/shm") // somebody works there; else it is empty, and the process's own
	}
	how := map[string][]string{}
	for _, p := range write {
		how[p] = []string{"--bind", p, p}
		if Within("/dev", p) {
			how[p][0] = "--dev-bind"
		}
		if p == "/dev/shm" || ownDevice(p) {
			delete(how, p)
		}
	}
	for _, p := range keep {
		// A folder on the way could be renamed, and another be put in its place.
		for dir := filepath.Dir(p); slices.ContainsFunc(write, func(w string) bool { return Within(w, dir) }); dir = filepath.Dir(dir) {
			if how[dir] == nil {
				how[dir] = []string{"--bind", dir, dir}
			}
		}
		how[p] = []string{"--ro-bind", p, p}
	}
	for _, p := range hide {
		if dirty := slices.ContainsFunc(hide, func(h string) bool { return h != p && Within(h, p) }); dirty {
			continue // it is empty with the folder that it lies in
		}
		how[p] = []string{"--ro-bind", b.NoFile, p}
		if info, err := os.Stat(p); err == nil && info.IsDir() {
			how[p][1] = b.NoFolder
		}
	}
	made := rebuild(how, write, keep, hide, time.Now())
	order := make([]string, 0, len(how))
	for p := range how {
		order = append(order, p)
	}
	slices.Sort(order) // what lies in another comes after it
	for _, p := range order {
		args = append(args, how[p]...)
	}
	for _, dir := range made {
		args = append(args, "--remount-ro", dir)
	}
	return append(append(args, "--"), argv...)
}

// settledFile is how long nobody has written to a file that is mounted by itself.
const settledFile = 10 * time.Second

// maxBeside is how much may lie in a folder that is made anew: each costs a mount.
const maxBeside = 200

// rebuild makes the folders anew in which single files are hidden: of what lies there when
// the program starts all but those. What covers one file is gone as soon as somebody outside
// puts another in its place, as git's store of logins and `npm login` do. Folders that can be
// written, or are kept, have to be the real ones; in one where somebody is writing at this
// moment a file may be another when bubblewrap mounts it, which would start nothing: there
// the single file is covered. It returns the folders, which nobody may write.
func rebuild(how map[string][]string, write, keep, hide []string, now time.Time) []string {
	var made []string
	for _, p := range hide {
		dir := filepath.Dir(p)
		info, err := os.Stat(p)
		if how[p] == nil || err != nil || !info.Mode().IsRegular() || dir == "/" || slices.ContainsFunc(slices.Concat(write, keep), func(w string) bool { return Within(w, dir) }) {
			continue
		}
		if slices.Contains(made, dir) {
			delete(how, p)
			continue
		}
		list, err := os.ReadDir(dir)
		if err != nil || len(list) > maxBeside || slices.ContainsFunc(list, func(e os.DirEntry) bool { return !e.IsDir() && unsettled(e, now) }) {
			continue // it stays covered
		}
		delete(how, p)
		made = append(made, dir)
		how[dir] = []string{"--tmpfs", dir}
		for _, e := range list {
			beside := filepath.Join(dir, e.Name())
			if how[beside] != nil || beside == p || slices.Contains(hide, beside) {
				continue
			}
			how[beside] = []string{"--ro-bind-try", beside, beside}
			if to, err := os.Readlink(beside); err == nil {
				how[beside] = []string{"--symlink", to, beside}
			}
		}
	}
	return made
}

// unsettled reports a file that was written lately, or that is gone already.
func unsettled(e os.DirEntry, now time.Time) bool {
	info, err := e.Info()
	return err != nil || now.Sub(info.ModTime()) < settledFile
}

// kernels are what of /proc is no process's but the kernel's own, and can be written. Root owns it, and
// writes it without any right of root: what core_pattern names the kernel starts outside of every
// sandbox. For others it stays as it is, since a sandbox inside could not mount its own /proc
// over one that is covered in part. They are the same as long as the system runs, and to list
// all of /proc takes as long as to start a process. Each costs a mount in every sandbox: of folders in
// which nothing can be written there is none, nor of what bubblewrap covers by itself.
var kernels = sync.OnceValue(func() []string {
	list, err := os.ReadDir("/proc")
	if err != nil {
		return nil // bubblewrap says so
	}
	var out []string
	for _, e := range list {
		if _, err := strconv.Atoi(e.Name()); err == nil || e.Type()&os.ModeSymlink != 0 {
			continue
		}
		if p := filepath.Join("/proc", e.Name()); !covered(p) && writable(p) {
			out = append(out, p)
		}
	}
	return out
})

// covered reports what bubblewrap covers in each /proc that it makes, unless it finds that it may not
// write there: then it passes it over, and what lies below might be written all the same.
func covered(p string) bool {
	return slices.Contains([]string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}, p) && unix.Access(p, unix.W_OK) == nil
}

// writable reports whether a file's mode lets somebody write it, or a file in the folder. What cannot be
// looked at might be.
func writable(p string) bool {
	found := errors.New("found")
	return filepath.WalkDir(p, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case !e.IsDir() && e.Type()&os.ModeSymlink == 0 && info.Mode()&0o222 != 0:
			return found
		}
		return nil
	}) != nil
}

// ownDevice reports a device that bubblewrap makes anew.
func ownDevice(p string) bool {
	return slices.Contains([]string{"/dev", "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}, p)
}

// Within reports whether a path is a folder or lies in it.
func Within(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// beside are the paths that together hold all that root holds but what is excluded: root
// itself when nothing of that lies in it, else what lies beside it, down to it.
func beside(root string, excluded []string) []string {
	if slices.ContainsFunc(excluded, func(e string) bool { return Within(e, root) }) {
		return nil
	}
	if !slices.ContainsFunc(excluded, func(e string) bool { return Within(root, e) }) {
		return []string{root}
	}
	list, err := os.ReadDir(root)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range list {
		if e.Type()&os.ModeSymlink == 0 { // what it leads to is listed where it lies
			out = append(out, beside(filepath.Join(root, e.Name()), excluded)...)
		}
	}
	return out
}
