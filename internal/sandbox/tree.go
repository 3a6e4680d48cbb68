package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/regular"
)

// Tree is what work in the checkout or worktree dir has to write: dir itself, and of
// git's own folders what a commit, a branch and a stash need. In a worktree these are
// its own folder in .git, objects, references and their logs (not that of the checkout's HEAD,
// which says what was made there): hooks and settings of
// the repository stay out of reach. In the checkout it is all that lies in it but keep:
// what git runs, or finds other repositories by.
func Tree(dir string) (write, keep []string) {
	write = []string{dir}
	dotGit := filepath.Join(dir, ".git")
	b, err := regular.ReadFile(dotGit, regular.Large)
	if err != nil { // the checkout: .git is a folder in it
		return write, repository(dotGit)
	}
	own, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: ")
	if !ok {
		return write, nil
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
		return write, nil
	}
	keep = append(keep, dotGit)
	for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
		keep = append(keep, filepath.Join(own, name))
	}
	keep = append(keep, modules(own)...)
	for _, p := range []string{own, filepath.Join(common, "objects"), filepath.Join(common, "refs"), filepath.Join(common, "logs", "refs")} {
		if !isLink(p) {
			write = append(write, p)
		}
	}
	return write, keep
}

// repository is what is kept of a whole folder of git.
func repository(gitDir string) []string {
	keep := []string{filepath.Join(gitDir, "worktrees")}
	for _, name := range []string{"config", "config.worktree", "hooks", "info"} {
		keep = append(keep, filepath.Join(gitDir, name))
	}
	return append(keep, modules(gitDir)...)
}

// modules are the settings and hooks of the submodules in a folder of git.
func modules(gitDir string) []string {
	var keep []string
	top := filepath.Join(gitDir, "modules")
	_ = filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil // what cannot be read is not there for git either
		case d.Name() == "objects" || d.Name() == "refs" || d.Name() == "logs":
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(name, "HEAD")); err == nil {
			for _, own := range []string{"config", "hooks", "info"} {
				keep = append(keep, filepath.Join(name, own))
			}
		}
		return nil
	})
	return keep
}

// Prepare makes in the folder of git of a checkout what is to be kept and is not there
// yet: what is not there cannot be kept. It does nothing in a worktree.
func Prepare(dir string) error {
	gitDir := filepath.Join(dir, ".git")
	if info, err := os.Lstat(gitDir); err != nil || !info.IsDir() {
		return nil
	}
	var errs []error
	for _, name := range []string{"hooks", "info"} {
		if err := os.Mkdir(filepath.Join(gitDir, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			errs = append(errs, err)
		}
	}
	config, err := regular.ReadFile(filepath.Join(gitDir, "config"), regular.Large)
	if err == nil && strings.Contains(strings.ToLower(string(config)), "worktreeconfig") {
		f, err := os.OpenFile(filepath.Join(gitDir, "config.worktree"), os.O_CREATE|os.O_RDONLY, 0o644)
		if err == nil {
			err = f.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
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
	b, err := regular.ReadFile(filepath.Join(own, "gitdir"), regular.Large)
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
