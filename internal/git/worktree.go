package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/regular"
)

// TreesFolder holds the worktrees of tasks, below the root.
const TreesFolder = "ralph/.worktrees"

// worktrees is what a checkout knows about the worktrees below it.
type worktrees struct {
	mu    sync.Mutex
	open  map[string]*Repo // by folder
	write sync.Mutex       // the registry lock among the goroutines of one process
}

// EnteredPlace is where a worktree was left: a commit that somebody else holds, and
// its tree.
type EnteredPlace struct{ Commit, Tree string }

// Tree opens the worktree of ralph's in dir, an absolute path directly below
// ralph/.worktrees of the root (B-005). It reads two files and starts no
// process. The same worktree is the same *Repo each time. Its index is ralph's
// alone, so a commit in it is `git add -A` and `git commit`, and ralph's own
// files stay as they are in the commit that the task began on. A folder
// that is no worktree, or no longer, is a *ralph.Refusal.
func (r *Repo) Tree(dir string) (*Repo, error) {
	if err := r.Below(dir); err != nil {
		return nil, fmt.Errorf("open worktree: %w", err)
	}
	gitDir := r.Linked(dir)
	if gitDir == "" {
		return nil, Refuse(dir+" is no worktree of this repository", "it may have been removed; start its task again to have it made")
	}
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	if t := r.pool.open[dir]; t != nil && t.gitDir == gitDir {
		return t, nil
	}
	t := &Repo{
		p: r.p, env: fenced(r.env, dir, gitDir), root: dir, program: r.program, version: r.version, gitDir: gitDir, common: r.common, ours: true, stashes: r.stashes, home: r, shield: r.shield, settings: r.settings,
	}
	if r.pool.open == nil {
		r.pool.open = map[string]*Repo{}
	}
	r.pool.open[dir] = t
	return t, nil
}

// Forget drops what is known about a worktree that is no more.
func (r *Repo) Forget(dir string) {
	r.pool.mu.Lock()
	defer r.pool.mu.Unlock()
	delete(r.pool.open, dir)
}

// Below checks that dir is a folder in which ralph may make a worktree.
func (r *Repo) Below(dir string) error {
	rel, err := filepath.Rel(filepath.Join(r.root, TreesFolder), dir)
	if err != nil || !filepath.IsAbs(dir) || filepath.Base(rel) != rel || strings.HasPrefix(rel, ".") {
		return fmt.Errorf("%q is no folder directly below %s", dir, TreesFolder)
	}
	return nil
}

// CeilingEnv is a variable for whatever runs inside a worktree below this root,
// agents above all: when they destroy the worktree's .git file, git must not
// find the user's own checkout further up and work on that.
func (r *Repo) CeilingEnv() string { return ceilingEnv(r.env, filepath.Join(r.root, TreesFolder)) }

const ceilings = "GIT_CEILING_DIRECTORIES"

func ceilingEnv(env []string, dir string) string {
	list := []string{dir}
	if target, err := filepath.EvalSymlinks(dir); err == nil && target != dir {
		list = append(list, target)
	}
	if old := proc.Getenv(env, ceilings); old != "" {
		list = append(list, old)
	}
	return ceilings + "=" + strings.Join(list, string(filepath.ListSeparator))
}

// fenced is the environment for git in a worktree. A path that cannot be in a
// list of paths is said in full, which hooks would rather not see.
func fenced(env []string, dir, gitDir string) []string {
	env = env[:len(env):len(env)]
	if strings.ContainsRune(dir, filepath.ListSeparator) {
		return append(env, "GIT_DIR="+gitDir, "GIT_WORK_TREE="+dir)
	}
	return append(env, ceilingEnv(env, filepath.Dir(dir)))
}

// Linked follows the .git file of a folder to the git folder that belongs to
// it, and the way back; "" when one of the two is missing.
func (r *Repo) Linked(dir string) string {
	target := GitFile(dir)
	if target == "" || !Same(filepath.Dir(target), filepath.Join(r.common, "worktrees")) {
		return ""
	}
	gitDir := filepath.Join(r.common, "worktrees", filepath.Base(target))
	if !Same(Backlink(gitDir), filepath.Join(dir, ".git")) || !GoodHead(gitDir) || Stat(filepath.Join(gitDir, "commondir")) == nil {
		return ""
	}
	return gitDir
}

// GoodHead reports a HEAD that git takes for one.
func GoodHead(gitDir string) bool {
	text := strings.TrimSpace(ReadSmall(filepath.Join(gitDir, "HEAD")))
	return IsHash(text) || strings.HasPrefix(text, "ref: refs/")
}

// GitFile returns the git folder that a folder's .git file names, "" for none.
func GitFile(dir string) string {
	target, ok := strings.CutPrefix(ReadSmall(filepath.Join(dir, ".git")), "gitdir: ")
	if !ok {
		return ""
	}
	if target = strings.TrimRight(target, "\r\n"); !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return target
}

// Backlink returns the .git file that a worktree's git folder belongs to.
func Backlink(gitDir string) string {
	name := strings.TrimRight(ReadSmall(filepath.Join(gitDir, "gitdir")), " \t\r\n")
	if name != "" && !filepath.IsAbs(name) { // git 2.48 and newer, when asked to
		name = filepath.Join(gitDir, name)
	}
	return name
}

// ReadSmall reads a file of git's that is a line or two; what is no ordinary file has none.
func ReadSmall(name string) string {
	b, _ := regular.Tail(filepath.Dir(name), filepath.Base(name), 1<<12)
	return string(b)
}

// Same reports whether two names are one file or folder that exists.
func Same(a, b string) bool {
	x, y := Stat(a), Stat(b)
	return x != nil && y != nil && os.SameFile(x, y)
}
