//go:build linux && soak

package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// crowd is a repository with a plan whose tasks are worked on beside each other.
type crowd struct{ *repo }

// crowdSetup is what a test wants of it.
type crowdSetup struct {
	dir    string // where; "": a temporary folder
	plan   []planned
	build  string // the agent's work in the stages build and resolve, sh
	slots  int
	task   string // more lines below task:, then more of the settings
	config string // of git
	files  map[string]string
}

// planned is a task of the plan as people write it.
type planned struct {
	T      string   `json:"t"`
	ID     string   `json:"id"`
	Spec   string   `json:"spec"`
	Name   string   `json:"name"`
	Status string   `json:"status"`
	Deps   []string `json:"deps,omitempty"`
	Tags   []string `json:"tags,omitempty"`
}

// plannedTask names task n of a plan.
func plannedTask(n int) planned {
	return planned{T: "task", ID: fmt.Sprintf("t-%d", 1000+n), Spec: "crowd.md", Name: fmt.Sprintf("Task %d", n), Status: "pending"}
}

func newCrowd(t *testing.T, s crowdSetup) *crowd {
	t.Helper()
	c := &crowd{newRepo(t, setup{dir: s.dir, build: s.build, task: fmt.Sprintf("%sparallel: %d\n", s.task, s.slots)})}
	write(t, c.path(".git/config"), readAll(t, c.path(".git/config"))+s.config)
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		write(t, c.path(name), s.files[name])
	}
	write(t, c.path("ralph/specs/crowd.md"), "# A crowd\n\nDo all of it.\n")
	c.git("add", "-A")
	c.git("commit", "-q", "-m", "files")
	plan := `{"t":"spec","spec":"crowd.md"}` + "\n"
	for _, p := range s.plan {
		line, err := json.Marshal(p)
		must(t, err)
		plan += string(line) + "\n"
	}
	write(t, c.path("ralph/plan.jsonl"), plan)
	return c
}

// record is a task as `ralph query tasks` tells.
type record struct {
	ID, Name, Status, Reason, Worktree, Branch, Merge string
	MergeWaits                                        string `json:"merge_waits"`
	Deps                                              []string
	Iterations                                        int
}

// records are the tasks of the plan, in order.
func (c *crowd) records() []record {
	c.t.Helper()
	var list []record
	out := c.ok("query", "tasks")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		c.t.Fatalf("query tasks: %v\n%s", err, out)
	}
	return list
}

// onBase reads files of the base branch below a folder: name to text.
func (c *crowd) onBase(folder string) map[string]string {
	c.t.Helper()
	files := map[string]string{}
	for name := range strings.Lines(c.git("ls-tree", "-r", "--name-only", "main", "--", folder+"/")) {
		name = strings.TrimSpace(name)
		files[strings.TrimPrefix(name, folder+"/")] = c.git("show", "main:"+name)
	}
	return files
}

// checkNothingLeft wants no trace of work that is merged: no branch, worktree, lock,
// stash, process or changed file beyond those that tasks which are not done own
// (B-069, B-073).
func (c *crowd) checkNothingLeft() {
	c.t.Helper()
	branches, trees := []string{"main"}, []string{c.root}
	for _, x := range c.records() {
		if x.Status == "done" {
			continue
		}
		if x.Branch != "" {
			branches = append(branches, x.Branch)
		}
		if x.Worktree != "" {
			trees = append(trees, c.path(x.Worktree))
		}
	}
	for branch := range strings.Lines(c.git("for-each-ref", "--format=%(refname:short)", "refs/heads")) {
		if branch = strings.TrimSpace(branch); !slices.Contains(branches, branch) {
			c.t.Errorf("branch %s is left over", branch)
		}
	}
	for line := range strings.Lines(c.git("worktree", "list", "--porcelain")) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "worktree "); ok && !slices.Contains(trees, dir) {
			c.t.Errorf("worktree %s is left over", dir)
		}
	}
	entries, err := os.ReadDir(c.path("ralph/.worktrees"))
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		if dir := c.path("ralph/.worktrees/" + e.Name()); !slices.Contains(trees, dir) {
			c.t.Errorf("folder %s is left over", dir)
		}
	}
	if dirty := c.git("status", "--porcelain", "--", ".", ":(exclude)ralph"); dirty != "" {
		c.t.Errorf("the checkout is not clean:\n%s", dirty)
	}
	if on := c.git("symbolic-ref", "HEAD"); on != "refs/heads/main" {
		c.t.Errorf("the checkout is on %s", on)
	}
	if stashes := c.git("stash", "list"); stashes != "" {
		c.t.Errorf("stashes are left over:\n%s", stashes)
	}
	for _, lock := range c.locks() {
		c.t.Errorf("lock %s is left over", lock)
	}
	c.checkGone(c.pids())
	for _, p := range c.processesInside() {
		c.t.Errorf("process %s still works in the repository", p)
	}
}

// locks are the lock files of git, and those of ralph that somebody holds: they are
// held by flock, and the files stay.
func (c *crowd) locks() []string {
	c.t.Helper()
	var list []string
	must(c.t, filepath.WalkDir(c.path(".git"), func(path string, _ fs.DirEntry, err error) error {
		own := strings.HasPrefix(filepath.Base(path), "ralph-")
		if err == nil && strings.HasSuffix(path, ".lock") && (!own || held(c.t, path)) {
			list = append(list, path)
		}
		return err
	}))
	if path := c.path("ralph/.state/session.lock"); exists(path) {
		list = append(list, path+": "+readAll(c.t, path))
	}
	return list
}

// held reports whether a process has locked the file.
func held(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Fatal(err)
	}
	return err != nil
}

// processesInside are processes whose working folder is in the repository.
func (c *crowd) processesInside() []string {
	c.t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	must(c.t, err)
	var list []string
	for _, proc := range procs {
		dir, err := os.Readlink(filepath.Join(proc, "cwd"))
		if err != nil || dir != c.root && !strings.HasPrefix(dir, c.root+"/") {
			continue
		}
		args, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
		list = append(list, fmt.Sprintf("%s in %s: %q", filepath.Base(proc), dir, args))
	}
	return list
}

// checkProved wants the record to prove what it says, and git to be sound.
func (c *crowd) checkProved() {
	c.t.Helper()
	if res := c.ralph("verify"); res.code != 0 || !strings.Contains(res.out, "The history holds.") {
		c.t.Errorf("ralph verify: %s", res)
	}
	c.checkReplay()
	c.git("fsck", "--full", "--strict") // fails the test by its exit code
}

// keep leaves the repository of a failed test where SOAK_KEEP says.
func (c *crowd) keep() {
	dir := os.Getenv("SOAK_KEEP")
	switch {
	case !c.t.Failed():
	case dir == "":
		c.t.Logf("set SOAK_KEEP to a folder to keep the repository\n%s", c.git("log", "-30", "--all", "--graph", "--format=%h %s %d"))
	default:
		dir = filepath.Join(dir, strings.ReplaceAll(c.t.Name(), "/", "_"))
		must(c.t, os.MkdirAll(dir, 0o755))
		startIn(c.t, c.home, dir, c.env(), "cp", "-a", c.root, c.notes, dir).wait(patience)
	}
}

func tailOf(res result) string {
	const most = 4000
	return fmt.Sprintf("exit code %d\n--- stdout\n...%s--- stderr\n%s", res.code, res.out[max(0, len(res.out)-most):], res.errs)
}
