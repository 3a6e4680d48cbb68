// Package sandbox owns what the system itself keeps a process from writing: Landlock on
// Linux, or bubblewrap where it is installed. All can be read; only what is named can be
// written. It does not own which processes are sandboxed, nor what they need beside
// their work tree, which the settings say.
package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The kinds of sandboxes, words of sandbox.kind.
const (
	Off        = "off"
	Auto       = "auto"
	Landlock   = "landlock"
	Bubblewrap = "bubblewrap"
)

// devices are what programs write to that is no file: terminals and the void.
func devices() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}
}

// Temp are the folders for temporary files: tmpdir, the TMPDIR of the environment, or
// where that is not set the usual ones.
func Temp(tmpdir string) []string {
	if tmpdir != "" {
		return []string{tmpdir}
	}
	return []string{"/tmp", "/var/tmp"}
}

// Tree is what work in the checkout or worktree dir has to write: dir itself, and of
// git's own folders what a commit, a branch and a stash need. In a worktree these are
// its own folder in .git, objects, references and their logs: hooks and settings of
// the repository stay out of reach. In the checkout it is all that lies in it.
func Tree(dir string) []string {
	list := []string{dir}
	b, err := os.ReadFile(filepath.Join(dir, ".git"))
	if err != nil {
		return list // the checkout: .git is a folder in it
	}
	own, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok {
		return list
	}
	if !filepath.IsAbs(own) {
		own = filepath.Join(dir, own)
	}
	own = filepath.Clean(own)
	common := own
	switch {
	case leadsBack(own, dir): // a worktree's. What own says of common is the agent's to write
		common = filepath.Dir(filepath.Dir(own))
	case !strings.Contains(filepath.ToSlash(own), "/.git/modules/"):
		return list
	}
	for _, p := range []string{own, filepath.Join(common, "objects"), filepath.Join(common, "refs"), filepath.Join(common, "logs")} {
		if !isLink(p) {
			list = append(list, p)
		}
	}
	return list
}

// isLink reports whether the last part of a path is a symbolic link: the folders of git
// are none, and one that an agent has made would open what it leads to.
func isLink(p string) bool {
	info, err := os.Lstat(p)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// leadsBack reports whether a folder of git is that of the worktree dir. The file .git in a
// worktree is its agent's to write: alone it would open any folder to the next turn.
func leadsBack(own, dir string) bool {
	b, err := os.ReadFile(filepath.Join(own, "gitdir"))
	if err != nil || filepath.Base(filepath.Dir(own)) != "worktrees" {
		return false
	}
	back := strings.TrimSpace(string(b))
	if !filepath.IsAbs(back) {
		back = filepath.Join(own, back)
	}
	there, err := os.Stat(back)
	if err != nil {
		return false
	}
	here, err := os.Stat(filepath.Join(dir, ".git"))
	return err == nil && os.SameFile(here, there)
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

// Bwrap is a command inside bubblewrap, the program of which is bwrap: all of the system
// to read but the files hide, which are empty, and write to write. What is not there is
// passed over. The processes of the system stay visible and the network stays as it is:
// agents need it.
func Bwrap(bwrap string, write, hide, argv []string) []string {
	args := []string{bwrap, "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"}
	for _, p := range there(write) {
		args = append(args, "--bind", p, p)
	}
	for _, p := range there(hide) {
		args = append(args, "--ro-bind", "/dev/null", p)
	}
	return append(append(args, "--die-with-parent", "--"), argv...)
}

// there are the paths that exist, each once, wider ones first.
func there(paths []string) []string {
	var out []string
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil && filepath.IsAbs(p) {
			out = append(out, filepath.Clean(p))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
