//go:build fleet && linux

package fleet_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// two prepares two checkouts of one remote, each with a plan of its own, whose work goes out on branches.
func two(t *testing.T, think, heard string, tasks int) *land {
	t.Helper()
	l := newLand(t, "", 0, "RALPH_FLEET_HEARD="+heard, keyed)
	l.playsFor(think)
	b, err := os.ReadFile(l.path("work/ralph/config.yaml"))
	must(t, err)
	l.write("work/ralph/config.yaml", string(b)+"land: {how: branch, branch: \"out/{spec}\"}\n")
	l.run(l.path("work"), "git", "commit", "-qam", "work goes out on branches")
	l.run(l.path("work"), "git", "push", "-q", "origin", "HEAD:refs/heads/main")
	l.run(l.path("hub.git"), "git", "symbolic-ref", "HEAD", "refs/heads/main")
	l.run(l.dir, "git", "clone", "-q", "hub.git", "other")
	l.run(l.path("other"), "ralph", "init")
	for _, where := range []string{"work", "other"} {
		for i := range tasks {
			l.run(l.path(where), "ralph", "task", "add", fmt.Sprintf("%s %d", where, i+1))
		}
	}
	return l
}

func (l *land) coordinate(who string) *exec.Cmd {
	return l.start(who, l.path(who), "ralph", "autopilot", "--trust", "--fleet")
}

// signal is a signal to a process alone.
func (l *land) signal(who string, sig syscall.Signal) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	must(l.t, l.procs[who].Process.Signal(sig))
}

// outcome waits until a process ends, and says how.
func (l *land) outcome(who string) error {
	l.mu.Lock()
	c := l.procs[who]
	delete(l.procs, who)
	l.mu.Unlock()
	return c.Wait()
}

// out are the branches of work at the remote, with how often each task is on one.
func (l *land) out() (branches []string, tasks map[string]int) {
	l.t.Helper()
	tasks = map[string]int{}
	branches = strings.Fields(l.run(l.path("hub.git"), "git", "for-each-ref", "--format=%(refname:short)", "refs/heads/out"))
	for _, b := range branches {
		for id := range strings.FieldsSeq(l.run(l.path("hub.git"), "git", "log", "--no-merges", "--format=%(trailers:key=Ralph-Task,valueonly,separator=%x2C)", b, "--not", "main")) {
			tasks[id]++
		}
	}
	return branches, tasks
}

// allOut looks at the end: each task of both plans is at the remote once, what is there holds, and
// nothing is left over.
func (l *land) allOut(tasks int) {
	l.t.Helper()
	_, count := l.out()
	for _, who := range []string{"work", "other"} {
		var list []struct{ ID, Status string }
		must(l.t, json.Unmarshal([]byte(l.run(l.path(who), "ralph", "query", "tasks")), &list))
		if len(list) != tasks {
			l.t.Errorf("%s has %d tasks", who, len(list))
		}
		for _, task := range list {
			if count[task.ID] != 1 {
				l.t.Errorf("%s of %s is at the remote %d times", task.ID, who, count[task.ID])
			}
		}
		l.run(l.path(who), "git", "fsck", "--no-dangling")
		l.run(l.path(who), "ralph", "verify")
		if out := l.run(l.path(who), "ralph", "replay"); !strings.Contains(out, ", 0 differ") {
			l.t.Errorf("replay of %s: %s", who, out)
		}
		if trees := l.run(l.path(who), "git", "worktree", "list"); strings.Count(trees, "\n") != 1 {
			l.t.Errorf("left worktrees: %s", trees)
		}
	}
	l.run(l.path("hub.git"), "git", "fsck", "--no-dangling")
	if refs := l.run(l.path("hub.git"), "git", "for-each-ref", "refs/ralph"); refs != "" {
		l.t.Errorf("left at the remote: %s", refs)
	}
}

// A second coordinator says who is at work and waits; a person may leave it; and it goes on when the
// first one is killed. That one then waits in its turn, and asks no agent twice.
func TestSecondCoordinatorWaits(t *testing.T) {
	l := two(t, "3s", "6s", 2) // the first one is not lost while others keep this machine busy
	l.worker("w1")
	l.coordinate("work")
	l.until("the agents are at work", func() bool { return l.plays() == 2 })
	l.coordinate("other")
	l.says("other", "another coordinator works for "+l.path("hub.git")+", branch main: ")
	l.says("other", "(lease 1, last heard of ")
	if said := l.said("other"); !strings.Contains(said, fmt.Sprintf("(pid %d, %s)", l.procs["work"].Process.Pid, l.path("work"))) || strings.Contains(said, "Session ") {
		t.Errorf("who waits says: %s", said)
	}
	l.signal("other", syscall.SIGINT)
	if err := l.outcome("other"); err == nil || !strings.Contains(l.said("other"), "nothing was begun") {
		t.Errorf("left: %v, %s", err, l.said("other"))
	}
	must(t, os.Rename(l.path("other.log"), l.path("left.log")))
	l.coordinate("other")
	l.says("other", "another coordinator works for ")
	l.kill("work")
	must(t, os.Rename(l.path("work.log"), l.path("killed.log")))
	l.says("other", "Session new")
	l.coordinate("work")
	l.says("other", "Session summary")
	if err := l.outcome("other"); err != nil {
		t.Errorf("other: %v", err)
	}
	l.says("work", "Session summary")
	if err := l.outcome("work"); err != nil {
		t.Errorf("work: %v", err)
	}
	if n := l.plays(); n != 4 {
		t.Errorf("agents were asked %d times for four tasks", n)
	}
	l.stop("w1")
	l.allOut(2)
	l.alone()
}

// A coordinator that stood still while another one took over pushes nothing when it goes on: the
// remote refuses it, also when it cannot ask the server who the coordinator is. It ends, says why, and
// its next start brings out what it has.
func TestStoppedCoordinatorIsRefused(t *testing.T) {
	for name, cut := range map[string]bool{"asks the server": false, "cannot ask the server": true} {
		t.Run(name, func(t *testing.T) {
			l := two(t, "100ms", "3s", 2)
			// Its last step but the push: the hook says that it is there, and waits.
			must(t, os.MkdirAll(l.path("work/ralph/hooks"), 0o700))
			l.write("work/ralph/hooks/pre-publish", fmt.Sprintf("#!/bin/sh\ntouch %s\nwhile [ -e %s ]; do sleep 0.1; done\n", l.path("count/at"), l.path("count/hold")))
			must(t, os.Chmod(l.path("work/ralph/hooks/pre-publish"), 0o700)) //nolint:gosec // a hook is run
			l.write("count/hold", "")
			l.worker("w1")
			env, between := l.env, newProxy(t, l.server)
			l.env = append(slices.Clone(env), "TEMPORAL_ADDRESS="+between.address)
			l.coordinate("work")
			l.env = env
			l.until("it is about to push", func() bool { _, err := os.Stat(l.path("count/at")); return err == nil })
			l.signal("work", syscall.SIGSTOP)
			if cut {
				between.close()
			}
			l.coordinate("other")
			l.says("other", "Session new")
			before, _ := l.out()
			must(t, os.Remove(l.path("count/hold")))
			l.signal("work", syscall.SIGCONT)
			l.says("work", "was taken for dead, and lost lease 1 of "+l.path("hub.git")+", branch main")
			if cut {
				l.says("work", "the remote takes the pushes of another one now: lease 2, ")
			}
			if err := l.outcome("work"); err == nil {
				t.Error("it ended well")
			}
			if said := l.said("work"); strings.Contains(said, "PUSH: ") && strings.Contains(said, " is on origin at") {
				t.Errorf("it says that it pushed: %s", said)
			}
			l.says("other", "Session summary")
			if err := l.outcome("other"); err != nil {
				t.Errorf("other: %v", err)
			}
			branches, tasks := l.out()
			if len(before) != 0 || len(tasks) != 2 {
				t.Errorf("at the remote before %v, then %v with %v: the stopped one pushed", before, branches, tasks)
			}
			must(t, os.Rename(l.path("work.log"), l.path("stopped.log")))
			l.coordinate("work") // by the way that is left
			l.says("work", "Session summary")
			if err := l.outcome("work"); err != nil {
				t.Errorf("work: %v", err)
			}
			if n := l.plays(); n != 4 {
				t.Errorf("agents were asked %d times for four tasks", n)
			}
			l.stop("w1")
			l.allOut(2)
			l.alone()
		})
	}
}

// Whichever of two coordinators is killed or stands still, whenever, and the server with them: what both
// have to do is at the remote once.
func TestCoordinatorsAtRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("it kills processes at random")
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FLEET_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("FLEET_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const tasks, rounds = 6, 12
	l := two(t, "500ms", "3s", tasks)
	l.patience = 10 * time.Minute
	l.worker("w1")
	type end struct {
		done chan struct{}
		err  error
	}
	over, still := map[string]*end{}, map[string]bool{}
	begin := func(who string) {
		c, e := l.coordinate(who), &end{done: make(chan struct{})}
		over[who] = e
		go func() { e.err = c.Wait(); close(e.done) }()
	}
	ended := func(who string) bool {
		select {
		case <-over[who].done:
			return true
		default:
			return false
		}
	}
	complete := func(who string) bool { return ended(who) && over[who].err == nil }
	both := []string{"work", "other"}
	for _, who := range both {
		begin(who)
	}
	did := map[string]int{}
	for range rounds {
		time.Sleep(time.Duration(400+random.IntN(3000)) * time.Millisecond)
		who := both[random.IntN(2)]
		what := []string{"kill", "stop", "stop", "go on", "server"}[random.IntN(5)]
		did[what]++
		switch {
		case what == "server":
			server := l.procs["server"].Args
			l.kill("server")
			l.start("server", l.dir, server[0], server[1:]...)
		case ended(who):
			if !complete(who) {
				begin(who)
			}
		case what == "kill":
			_ = l.procs[who].Process.Kill()
			<-over[who].done
			still[who] = false
			begin(who)
		case what == "stop":
			l.signal(who, syscall.SIGSTOP)
			still[who] = true
		case still[who]:
			l.signal(who, syscall.SIGCONT)
			still[who] = false
		}
	}
	for _, who := range both {
		if still[who] && !ended(who) {
			l.signal(who, syscall.SIGCONT)
		}
	}
	l.until("both have done all", func() bool {
		for _, who := range both {
			if ended(who) && !complete(who) { // it had lost the lease, and says so
				begin(who)
			}
		}
		return complete("work") && complete("other")
	})
	lost := 0
	for _, who := range both {
		b, _ := os.ReadFile(l.path(who + ".log"))
		lost += strings.Count(string(b), "ralph: this coordinator was taken for dead")
	}
	t.Logf("%v; a coordinator was refused %d times; %d plays for %d tasks", did, lost, l.plays(), 2*tasks)
	l.stop("w1")
	l.allOut(tasks)
	l.alone()
}

// In one checkout the second coordinator waits as well; when the first one stood still, and has lost the
// lease, it begins as soon as that one is gone, and goes on with the very same plan.
func TestSecondCoordinatorOfOneCheckout(t *testing.T) {
	l := newLand(t, "", 2)
	l.playsFor("3s")
	l.worker("w1")
	l.coordinator()
	l.until("the agents are at work", func() bool { return l.plays() == 2 })
	l.start("second", l.path("work"), "ralph", "autopilot", "--trust", "--fleet")
	l.says("second", "another coordinator works for ")
	l.signal("coordinator", syscall.SIGSTOP)
	l.says("second", "this one begins when it has ended")
	if said := l.said("second"); strings.Contains(said, "Session ") {
		t.Errorf("two engines in one checkout: %s", said)
	}
	l.signal("coordinator", syscall.SIGCONT)
	l.says("coordinator", "was taken for dead, and lost lease 1 ")
	if err := l.outcome("coordinator"); err == nil {
		t.Error("it ended well")
	}
	l.says("second", "Session summary")
	if err := l.outcome("second"); err != nil {
		t.Errorf("second: %v", err)
	}
	if n := l.plays(); n != 2 {
		t.Errorf("agents were asked %d times for two tasks", n)
	}
	l.stop("w1")
	l.holds(2)
	l.alone()
}

// The lease outlives the server: killed and started again it still knows who has it, and who waits waits on. Who has it asks
// on while the server is away for longer than an answer may take, and than the lease lasts.
func TestLeaseOutlivesTheServer(t *testing.T) {
	l := two(t, "100ms", "10s", 2)
	l.write("scenario.yaml", "about: fleet\nrules:\n"+fmt.Sprintf(strings.Replace(oneTurn, "run: \"", "run: \"while [ -e %s ]; do sleep 0.1; done; ", 1), l.path("count/hold"), l.path("count/plays"), "100ms"))
	l.write("count/hold", "")
	l.worker("w1")
	l.coordinate("work")
	l.says("w1", "turn of t-")
	server := l.procs["server"].Args
	l.kill("server")
	<-time.After(22 * time.Second) // twice 10 s is how long the lease lasts, and each answer may take: that is what is shown
	back := time.Now()
	l.start("server", l.dir, server[0], server[1:]...)
	l.until("the coordinator is heard of again", func() bool {
		var v struct {
			Coordinators []struct {
				Lease int64
				Heard time.Time `json:"last_heard"`
			}
		}
		b, err := l.command(l.path("work"), "ralph", "fleet", "status", "--json").Output()
		return err == nil && json.Unmarshal(b, &v) == nil && len(v.Coordinators) == 1 && v.Coordinators[0].Lease == 1 && v.Coordinators[0].Heard.After(back)
	})
	l.coordinate("other")
	l.says("other", "another coordinator works for ")
	l.kill("server")
	l.start("server", l.dir, server[0], server[1:]...)
	must(t, os.Remove(l.path("count/hold")))
	l.says("work", "Session summary")
	if err := l.outcome("work"); err != nil {
		t.Errorf("work: %v", err)
	}
	l.says("other", "Session summary")
	if err := l.outcome("other"); err != nil {
		t.Errorf("other: %v", err)
	}
	if n := l.plays(); n != 4 {
		t.Errorf("agents were asked %d times for four tasks", n)
	}
	l.stop("w1")
	l.allOut(2)
	l.alone()
}
