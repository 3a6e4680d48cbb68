package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/proc"
)

const (
	// treesFolder holds the worktrees of tasks, below the root.
	TreesFolder = "ralph/.worktrees"
	// registryLock, in the common git folder, is held by whoever adds or takes
	// away a worktree, in whichever checkout of the repository.
	registryLock = "ralph-worktrees.lock"
	// registryTick is how often a lock that another engine holds is tried.
	registryTick = 2 * time.Millisecond
)

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
		p: r.p, env: fenced(r.env, dir, gitDir), root: dir, program: r.program, gitDir: gitDir, common: r.common, ours: true, stashes: r.stashes, home: r, shield: r.shield,
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

// ReadSmall reads a file of git's that is a line or two.
func ReadSmall(name string) string { return LastPart(name, 1<<12) }

// LastPart returns at most that many bytes from the end of a file, "" when it is no
// ordinary one: where agents work it may be a pipe, which never ends.
func LastPart(name string, most int64) string {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-most), most))
	if err != nil {
		return ""
	}
	return string(b)
}

// Same reports whether two names are one file or folder that exists.
func Same(a, b string) bool {
	x, y := Stat(a), Stat(b)
	return x != nil && y != nil && os.SameFile(x, y)
}

// Worktree is one that git has registered, whoever made it.
type Worktree struct {
	Path     string // absolute
	Head     string // commit, "" when its branch has none
	Branch   string // without refs/heads/, "" when detached
	Bare     bool   // no work tree: the repository itself
	Locked   bool
	Prunable bool // its files are gone
}

// ListTrees returns the worktrees of the repository, the main one first.
func (r *Repo) ListTrees(ctx context.Context) ([]Worktree, error) {
	var out string
	err := r.Patiently(ctx, func() (err error) {
		out, err = r.Run(ctx, Call{Args: []string{"worktree", "list", "--porcelain", "-z"}})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var list []Worktree
	for line := range strings.SplitSeq(out, "\x00") {
		name, value, _ := strings.Cut(line, " ")
		if name == "worktree" {
			list = append(list, Worktree{Path: filepath.FromSlash(value)})
		}
		if len(list) == 0 {
			continue
		}
		w := &list[len(list)-1]
		switch name {
		case "HEAD":
			if strings.Trim(value, "0") != "" {
				w.Head = value
			}
		case "branch":
			w.Branch = strings.TrimPrefix(value, "refs/heads/")
		case "bare":
			w.Bare = true
		case "locked":
			w.Locked = true
		case "prunable":
			w.Prunable = true
		}
	}
	return list, nil
}

// Registering does something to the list of worktrees, alone.
func (r *Repo) Registering(ctx context.Context, do func() error) error {
	r.pool.write.Lock()
	defer r.pool.write.Unlock()
	lock := flock.New(filepath.Join(r.common, registryLock))
	if _, err := lock.TryLockContext(ctx, registryTick); err != nil {
		return fmt.Errorf("lock the list of worktrees: %w", err)
	}
	return errors.Join(do(), lock.Unlock())
}

// halfWritten is what git says of a worktree that another git command is just
// adding or removing: it dies although nothing is wrong.
var halfWritten = lazyregexp.New(`worktrees/[^\n]*/(commondir|gitdir|HEAD)\b`)

const (
	patience     = 20
	patienceTick = 10 * time.Millisecond
)

// Patiently repeats a git command that met somebody else's half-written worktree.
func (r *Repo) Patiently(ctx context.Context, do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if err == nil || try == patience || !halfWritten.MatchString(StderrOf(err)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(patienceTick):
		}
	}
}
