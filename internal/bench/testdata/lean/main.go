// Lean does what Floor does with as little as git allows: worktrees that are made once and
// entered again, merges beside every checkout, no look for maintenance; each agent is in the
// least box that keeps it from writing elsewhere. It keeps no state, checks nothing and
// cannot be stopped: the least that work in boxes can cost, whoever orders it.
//
//	lean <n> <w> <agent>
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	w, _ := strconv.Atoi(os.Args[2])
	top, err := filepath.Abs("..")
	if err != nil {
		panic(err)
	}
	var pool []string
	for i := range w {
		dir := fmt.Sprintf("../lean-%d", i)
		git(".", "worktree", "add", "-q", "--detach", dir, "main")
		pool = append(pool, dir)
	}
	var lock sync.Mutex // main is moved by one at a time
	tasks := make(chan int)
	var workers sync.WaitGroup
	for _, dir := range pool {
		workers.Go(func() {
			for i := range tasks {
				task := fmt.Sprintf("t-%d", 1000+i)
				git(dir, "checkout", "-q", "--detach", "main")
				boxed(top, dir, task)
				git(dir, "add", "-A")
				git(dir, "-c", "maintenance.auto=false", "-c", "gc.auto=0", "commit", "-q", "-m", task)
				lock.Lock()
				tip := git(dir, "rev-parse", "HEAD", "main", "HEAD^")
				head, rest, _ := strings.Cut(tip, "\n")
				base, parent, _ := strings.Cut(rest, "\n")
				if base != parent {
					tree := git(dir, "merge-tree", "--write-tree", base, head)
					head = git(dir, "commit-tree", "-p", base, "-p", head, "-m", "merge "+task, tree)
				}
				git(dir, "update-ref", "refs/heads/main", head, base)
				lock.Unlock()
			}
		})
	}
	for i := range n {
		tasks <- i
	}
	close(tasks)
	workers.Wait()
	for _, dir := range pool {
		git(".", "worktree", "remove", "--force", dir)
	}
	git(".", "reset", "-q", "--hard") // once, for the person
}

func git(dir string, args ...string) string { return run(dir, "", append([]string{"git"}, args...)...) }

// boxed is the agent in the least box of bubblewrap; all that can be written is the repository.
func boxed(top, dir, task string) {
	run(dir, task, "bwrap", "--die-with-parent", "--unshare-pid", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", top, top, os.Args[3])
}

func run(dir, task string, args ...string) string {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RALPH_TASK="+task, "RALPH_STAGE=build")
	out, err := cmd.CombinedOutput()
	if err != nil {
		panic(fmt.Sprint(args, err, string(out)))
	}
	return strings.TrimSpace(string(out))
}
