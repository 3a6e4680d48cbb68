//go:build linux && soak

package soak

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// A fleet whose agents meet limits, errors, crashes, full windows and costs, a person
// who pauses, resumes, stops, switches modes, decides and edits at random, hooks and a
// webhook that fail, small budgets, an engine that is killed: every task comes to its
// end once, nothing is left over, the record holds, and no engine ever stands still
// (document A,
// A-113; ). SOAK_TIME bounds the wild part, SOAK_SEED
// repeats what is drawn.
func TestControlAtRandom(t *testing.T) {
	t.Parallel()
	most, tasks, slots := 2*time.Second, 8, 4
	if long() {
		most, slots = soakTime(t), 8
		tasks = min(max(60, int(most/time.Second)*3/2), 200)
	}
	f, o, _ := controlled(t, "autopilot", most, tasks, slots)
	f.checkEnds(o)
}

// The same for the specs of an inbox, in the checkout and in worktrees: each is done
// by one commit, or failed for a reason, as often as it was queued.
func TestControlOfSpecsAtRandom(t *testing.T) {
	t.Parallel()
	for _, slots := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d slots", slots), func(t *testing.T) {
			t.Parallel()
			most, specs := time.Second, 2
			if long() {
				most = soakTime(t)
				specs = max(6, int(most/time.Second)/4)
			}
			f, _, facts := controlled(t, "agent", most, specs, slots)
			f.checkSpecs(facts)
		})
	}
}

// controlled plays the whole of it, and looks at all that does not depend on the command.
func controlled(t *testing.T, command string, most time.Duration, tasks, slots int) (*fleet, *operator, *audit) {
	t.Helper()
	seed := seedOf(t)
	random := rand.New(rand.NewPCG(seed, uint64(slots)))
	f := newFleet(t, random, command, tasks, slots)
	t.Cleanup(f.keep)
	if long() {
		t.Logf("seed %d, %s, %d of them, %s, %s", seed, command, tasks, most, f.root)
	}
	stop := make(chan struct{})
	var wait sync.WaitGroup
	sky := rand.New(rand.NewPCG(seed, 5))
	wait.Go(func() { f.weather(sky, stop) })
	end := sync.OnceFunc(func() { close(stop); wait.Wait() })
	t.Cleanup(end)

	o := newOperator(f, random)
	kills := f.wild(o, time.Now().Add(most))
	end()
	f.calmDown(o)
	f.checkProved()
	facts := f.checkFacts()
	if command == "agent" { // what specs that failed have left, each for a person to look at
		f.git("stash", "clear")
		for branch := range facts.kept {
			if branch != "" && f.git("branch", "--list", branch) != "" {
				f.git("branch", "-D", branch)
			}
		}
	}
	f.checkNothingLeft()
	if long() || t.Failed() {
		t.Logf("seed %d: %d engines were killed; the person: %s; %d notices; facts: %v", seed, kills, o, f.notices.Load(), facts.counts)
	}
	return f, o, facts
}

func seedOf(t *testing.T) uint64 {
	t.Helper()
	s := os.Getenv("SOAK_SEED")
	if s == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(s, 10, 64)
	must(t, err)
	return seed
}

// wild starts engines and lets them go on for a moment; most are killed.
func (f *fleet) wild(o *operator, end time.Time) (kills int) {
	f.t.Helper()
	for time.Now().Before(end) && !f.t.Failed() && !f.over(o) {
		args, env := o.starts()
		engine := startIn(f.t, f.home, f.root, append(f.env(), env...), append([]string{binary()}, args...)...)
		left := time.Duration(300+o.random.IntN(5000)) * time.Millisecond
		if o.random.IntN(6) == 0 {
			left = time.Minute
		}
		if f.accompany(o, engine, min(left, time.Until(end))) {
			kills++
			engine.kill()
		}
		f.checkStart(engine, args, env)
		if long() && f.t.Failed() {
			f.t.Logf("it was ralph %v with %v", args, env)
		}
	}
	return kills
}

// accompany lets the person look at the engine until it ends or left is over; it
// reports whether it still runs. An engine that was told to stop has to end.
func (f *fleet) accompany(o *operator, engine *child, left time.Duration) bool {
	f.t.Helper()
	var p pulse
	limit, word, told := time.Now().Add(left), "", time.Time{}
	for engine.running() {
		if w := o.looks(); w != "" && word == "" && engine.running() {
			word, told = w, time.Now()
		}
		if quiet := p.beat(f); quiet > maxQuiet {
			f.stuck(engine, fmt.Sprintf("the engine has done nothing for %s", quiet))
		}
		if word != "" && time.Since(told) > deadline(word) {
			f.stuck(engine, fmt.Sprintf("the engine does not end after `ralph %s`", word))
		}
		if word == "" && time.Now().After(limit) {
			return true
		}
		select {
		case <-engine.done:
		case <-time.After(100 * time.Millisecond):
		}
	}
	return false
}

// checkStart wants an end that ralph's own words explain.
func (f *fleet) checkStart(engine *child, args, env []string) {
	f.t.Helper()
	res := engine.result()
	ok := slices.Contains([]int{-1, 0, 1, 3, 4, 5, 130}, res.code) ||
		res.code == 2 && strings.Contains(res.errs, "no interrupted session to resume")
	if !ok || strings.Contains(res.errs, "panic") || strings.Contains(res.errs, "goroutine ") {
		f.t.Errorf("ralph %v with %v: %s", args, env, tailOf(res))
	}
}

// calmDown lets agents behave and engines live, until what can be done is done.
func (f *fleet) calmDown(o *operator) {
	f.t.Helper()
	write(f.t, f.note("calm"), "")
	_ = os.Remove(f.note("limit.alpha"))
	_ = os.Remove(f.note("limit.beta"))
	o.kind = true
	o.most += 3
	for range 8 {
		if f.t.Failed() {
			return
		}
		args, env := o.starts()
		engine := startIn(f.t, f.home, f.root, append(f.env(), env...), append([]string{binary()}, args...)...)
		if f.accompany(o, engine, patience) {
			f.stuck(engine, "it does not come to its end")
		}
		f.checkStart(engine, args, env)
		o.looks() // gives another try to what failed last
		if f.finished() {
			return
		}
	}
}

func (f *fleet) finished() bool {
	f.t.Helper()
	if f.command == "agent" {
		return !slices.ContainsFunc(f.specs(), func(x spec) bool { return x.Status != "done" && x.Status != "failed" })
	}
	return !slices.ContainsFunc(f.records(), func(x record) bool { return !settled(x) })
}

// over reports whether nothing is left that the person would try again.
func (f *fleet) over(o *operator) bool {
	f.t.Helper()
	if f.command == "autopilot" {
		return f.finished()
	}
	return f.finished() && !slices.ContainsFunc(f.specs(), func(x spec) bool { return x.Status == "failed" && o.retries[x.File] < o.most })
}

// spec is a record as `ralph query inbox` tells.
type spec struct {
	ID, Status, Error string
	File              string `json:"spec"`
}

func (f *fleet) specs() []spec {
	f.t.Helper()
	var list []spec
	out := f.ok("query", "inbox")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		f.t.Fatalf("query inbox: %v\n%s", err, out)
	}
	return list
}

// checkSpecs wants each record of the inbox to be done by one commit, which holds the
// work on no other spec, or failed.
func (f *fleet) checkSpecs(facts *audit) {
	f.t.Helper()
	done, seen := map[string]int{}, map[string]bool{}
	for _, x := range f.specs() {
		seen[x.File] = true
		switch {
		case x.Status == "done":
			done[strings.TrimSuffix(x.File, ".md")]++
		case x.Status != "failed" || x.Error == "":
			f.t.Errorf("%s (%s) is %s: %s", x.ID, x.File, x.Status, x.Error)
		}
	}
	for n := range f.planned {
		name := filepath.Base(specName(n))
		if !seen[name] {
			f.t.Errorf("spec %s is lost", name)
		}
		name = strings.TrimSuffix(name, ".md")
		commits := strings.Count(f.git("log", "--format=%s", ":/^queue..HEAD")+"\n", "ralph: complete "+name+"\n")
		if commits != done[name] {
			f.t.Errorf("%d commits of %s, which is done %d times", commits, name, done[name])
		}
	}
	subject := ""
	for line := range strings.Lines(f.git("log", "--no-merges", "--name-only", "--format=%s", ":/^queue..HEAD")) {
		line = strings.TrimSpace(line)
		id, is := strings.CutPrefix(line, "work/")
		switch of := facts.spec[ralph.TaskID(id)]; {
		case strings.HasPrefix(line, "ralph: complete "):
			subject = line
		case is && strings.HasPrefix(id, "t-") && subject != "ralph: complete "+strings.TrimSuffix(of, ".md"):
			f.t.Errorf("%q has the work of %s, which is of %q", subject, id, of)
		}
	}
	receipts := strings.Fields(f.git("log", "--format=%(trailers:key=Ralph-Receipt,valueonly)", ":/^queue..HEAD"))
	slices.Sort(receipts)
	if n := len(slices.Compact(slices.Clone(receipts))); n != len(receipts) {
		f.t.Errorf("%d commits have %d receipts", len(receipts), n)
	}
}

func settled(x record) bool {
	return x.Status == "done" && (x.Merge == "" || x.Merge == "merged") || x.Status == "skipped"
}

// checkEnds wants each task done and on the base branch once, or skipped for a reason.
func (f *fleet) checkEnds(o *operator) {
	f.t.Helper()
	work, seen, names := f.onBase("work"), map[string]bool{}, map[string]int{}
	for _, x := range f.records() {
		seen[x.ID] = true
		names[x.Name]++
		if !settled(x) || x.Status == "skipped" && x.Reason == "" {
			f.t.Errorf("%s is %s, its merge %q (%s) %s", x.ID, x.Status, x.Merge, x.Reason, x.MergeWaits)
		}
		if got, ok := work[x.ID]; x.Status == "done" && got != x.ID || x.Status == "skipped" && ok {
			f.t.Errorf("%s is %s (%s), and main has of its work: %q", x.ID, x.Status, x.Reason, got)
		}
		delete(work, x.ID)
	}
	for n := range f.planned {
		if id := plannedTask(n).ID; !seen[id] {
			f.t.Errorf("task %s is lost", id)
		}
	}
	for _, name := range o.added {
		if names[name] != 1 {
			f.t.Errorf("task %q, written by hand, is there %d times", name, names[name])
		}
	}
	if len(work) > 0 {
		f.t.Errorf("main has the work of nobody: %v", work)
	}
	added := map[string]int{}
	for line := range strings.Lines(f.git("log", "main", "--no-merges", "--diff-filter=A", "--name-only", "--format=", "--", "work/")) {
		added[strings.TrimSpace(line)]++
	}
	for name, n := range added {
		if n != 1 {
			f.t.Errorf("%s was added to main %d times", name, n)
		}
	}
	if res := startIn(f.t, f.home, f.root, f.env(), "sh", "check.sh").wait(patience); res.code != 0 {
		f.t.Errorf("main is red: %s", res)
	}
}
