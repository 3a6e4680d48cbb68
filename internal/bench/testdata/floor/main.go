// Floor does what nobody can do without to work on n tasks in w worktrees at a
// time: worktree add, agent, commit, merge, worktree remove, branch delete. It
// keeps no state, checks nothing and cannot be stopped: the measure of what
// `ralph autopilot` adds.
//
//	floor <n> <w> <agent>
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
)

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	w, _ := strconv.Atoi(os.Args[2])
	git, err := exec.LookPath("git")
	if err != nil {
		panic(err)
	}
	var lock sync.Mutex // git races with itself when worktrees come and go
	tasks := make(chan int)
	var workers sync.WaitGroup
	for range w {
		workers.Go(func() {
			for i := range tasks {
				task := fmt.Sprintf("t-%d", 1000+i)
				dir := "../wt-" + task
				lock.Lock()
				run(".", task, git, "worktree", "add", "-q", "-b", task, dir, "main")
				lock.Unlock()
				run(dir, task, os.Args[3])
				run(dir, task, git, "add", "-A")
				run(dir, task, git, "commit", "-q", "-m", task)
				lock.Lock()
				run(".", task, git, "merge", "-q", "--no-edit", task)
				run(".", task, git, "worktree", "remove", "--force", dir)
				run(".", task, git, "branch", "-q", "-D", task)
				lock.Unlock()
			}
		})
	}
	for i := range n {
		tasks <- i
	}
	close(tasks)
	workers.Wait()
}

func run(dir, task string, args ...string) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RALPH_TASK="+task, "RALPH_STAGE=build")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprint(args, err, string(out)))
	}
}
