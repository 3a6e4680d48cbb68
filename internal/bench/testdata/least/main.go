// Least does the tasks of a checkout with as little as ralph's promises allow, one after the other: the
// agent in its box, `git add`, `git commit`, and a journal that is on the disk before and after each. The
// folder of shims is made once. It decides nothing, checks nothing and cannot be stopped: what no
// orchestrator with these promises can be below.
//
//	least <n> <writes of the journal> <word of the box or program> ...
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// shims and hooks are as many as a turn has of the usual programs.
const shims, hooks = 24, 14

func main() {
	n, err := strconv.Atoi(os.Args[1])
	must(err)
	writes, err := strconv.Atoi(os.Args[2])
	must(err)
	journal, err := os.OpenFile("../tool/journal", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	must(err)
	fact := make([]byte, 600)
	note := func() {
		_, err := journal.Write(fact)
		must(err)
		must(journal.Sync())
	}
	dir := "../tool/least"
	must(os.Mkdir(dir, 0o700))
	shared := filepath.Join(dir, "ask")
	must(os.WriteFile(shared, []byte("#!/bin/sh\n"), 0o700))
	for k := range shims + hooks {
		must(os.Link(shared, filepath.Join(dir, strconv.Itoa(k))))
	}
	for i := range n {
		for range writes / 2 {
			note()
		}
		run(i, os.Args[3:]...)
		run(i, "git", "add", "-A")
		run(i, "git", "-c", "maintenance.auto=false", "-c", "gc.auto=0", "commit", "-q", "-m", fmt.Sprint("task ", i))
		for range writes - writes/2 {
			note()
		}
	}
	must(os.RemoveAll(dir))
}

func run(task int, args ...string) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("RALPH_TASK=t-%d", 1000+task), "RALPH_STAGE=build")
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(fmt.Sprint(args, err, string(out)))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
