//go:build linux && soak

package soak

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"
)

// operator is a person who cannot leave the engine alone. kind: only helps.
type operator struct {
	f       *fleet
	random  *rand.Rand
	kind    bool
	retries map[string]int
	most    int // retries of one task
	denied  map[string]bool
	added   []string // names of tasks written into plan.jsonl
	did     map[string]int
}

func newOperator(f *fleet, random *rand.Rand) *operator {
	return &operator{f: f, random: random, retries: map[string]int{}, most: 3, denied: map[string]bool{}, did: map[string]int{}}
}

// does runs a command that may be refused: what the person saw may be over by now.
func (o *operator) does(args ...string) bool {
	o.f.t.Helper()
	res := o.f.ralph(args...)
	if res.code != 0 && (res.code < 0 || res.code > 2 || strings.Contains(res.errs, "panic")) {
		o.f.t.Errorf("ralph %s: %s", strings.Join(args, " "), res)
	}
	if res.code == 0 {
		o.did[args[0]]++
	}
	return res.code == 0
}

// chance is true once in n times.
func (o *operator) chance(n int) bool { return o.random.IntN(n) == 0 }

// looks does everything once. It returns what has to end the engine soon: "",
// "stop", "stop --now".
func (o *operator) looks() string {
	o.f.t.Helper()
	now := o.f.status()
	o.decides()
	o.recovers()
	if now.Status == "paused" && (o.kind || o.chance(4)) {
		o.does("resume")
	}
	if now.Mode == "semi" || now.Mode == "step" && o.chance(3) {
		o.assigns()
	}
	if o.kind && now.Mode == "semi" && now.Status == "waiting_user" && !o.pending() {
		o.does("mode", "autopilot") // what ended badly is given up on: nothing is left to assign
	}
	if o.kind {
		return ""
	}
	switch o.random.IntN(60) {
	case 0, 1, 2, 3:
		o.does("pause")
	case 4, 5, 6:
		o.does("mode", []string{"manual", "step", "semi", "autopilot", "autopilot", "autopilot"}[o.random.IntN(6)])
	case 7, 8, 9:
		o.edits()
	case 10:
		if o.does("stop") {
			return "stop"
		}
	case 11:
		if o.does("stop", "--now") {
			return "stop --now"
		}
	case 12:
		o.f.ok("status")
		o.f.ok("receipts")
	case 13:
		o.f.ok("log", "-n", "5")
		// The engine may not have begun its session yet.
		if res := o.f.ralph("report"); res.code != 0 && !strings.Contains(res.errs, "no session has run yet") {
			o.f.t.Errorf("ralph report: %s", res)
		}
	}
	return ""
}

func (o *operator) decides() {
	o.f.t.Helper()
	var gates []struct{ ID, Kind, Task string }
	out := o.f.ok("gates", "--json")
	if err := json.Unmarshal([]byte(out), &gates); err != nil {
		o.f.t.Fatalf("gates: %v\n%s", err, out)
	}
	for _, g := range gates {
		switch {
		case !o.kind && o.chance(2): // later
		case g.Kind == "question":
			o.does("answer", g.ID, "this way")
		case !o.kind && o.chance(12):
			if o.does("deny", g.ID, "--reason", "not today") && g.Kind == "step" {
				o.denied[g.Task] = true
			}
		default:
			o.does("approve", g.ID)
		}
	}
}

// recovers gives tasks that ended badly another try, each a bounded number of times,
// and queues specs that failed again.
func (o *operator) recovers() {
	o.f.t.Helper()
	if o.f.command == "agent" {
		o.queues()
		return
	}
	for _, x := range o.f.records() {
		if x.Status != "failed" && x.Status != "timeout" && x.Status != "blocked" || o.retries[x.ID] >= o.most || !o.kind && o.chance(2) {
			continue
		}
		o.retries[x.ID]++
		if x.Status == "timeout" && o.chance(2) {
			o.does("task", "extend", x.ID)
		}
		o.does("task", "retry", x.ID)
	}
}

func (o *operator) queues() {
	o.f.t.Helper()
	last := map[string]string{}
	for _, x := range o.f.specs() {
		last[x.File] = x.Status
	}
	for file, status := range last {
		if status == "failed" && o.retries[file] < o.most && (o.kind || o.chance(3)) {
			o.retries[file]++
			o.does("inbox", "add", file)
		}
	}
}

// pending reports whether a task of the plan waits to be started.
func (o *operator) pending() bool {
	for _, x := range o.f.records() {
		if x.Status == "pending" {
			return true
		}
	}
	return false
}

func (o *operator) assigns() {
	o.f.t.Helper()
	n := 0
	for _, x := range o.f.records() {
		if x.Status == "pending" && n < 3 && (o.kind || o.chance(2)) {
			n++
			o.does("task", "assign", x.ID)
		}
	}
}

// edits changes plan.jsonl with an editor: a new task, a name, another order.
func (o *operator) edits() {
	o.f.t.Helper()
	path := o.f.path("ralph/plan.jsonl")
	if o.f.command == "agent" { // a new plan may take its place at any moment
		return
	}
	old, err := os.ReadFile(path)
	must(o.f.t, err)
	lines := strings.Split(strings.TrimSuffix(string(old), "\n"), "\n")
	name := ""
	switch o.random.IntN(3) {
	case 0:
		if len(o.added) == 12 {
			return
		}
		name = fmt.Sprintf("By hand %d", len(o.added))
		line, err := json.Marshal(map[string]string{"t": "task", "spec": "crowd.md", "name": name, "status": "pending"})
		must(o.f.t, err)
		lines = append(lines, string(line))
	case 1:
		i := o.random.IntN(len(lines))
		lines[i] = strings.Replace(lines[i], `"name":"Task`, `"name":"The task`, 1)
	case 2:
		i, j := 1+o.random.IntN(len(lines)-1), 1+o.random.IntN(len(lines)-1)
		if strings.Contains(lines[i], `"t":"task"`) && strings.Contains(lines[j], `"t":"task"`) {
			lines[i], lines[j] = lines[j], lines[i]
		}
	}
	must(o.f.t, os.WriteFile(o.f.note("plan.edit"), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	// Editors ask before they write over what changed beneath them.
	if now, err := os.ReadFile(path); err != nil || string(now) != string(old) {
		return
	}
	must(o.f.t, os.Rename(o.f.note("plan.edit"), path))
	if name != "" {
		o.added = append(o.added, name)
	}
	o.did["edit"]++
}

// starts draws how an engine is started: arguments, and settings as environment.
func (o *operator) starts() (args, env []string) {
	args = []string{o.f.command}
	if o.kind {
		return args, []string{"RALPH_TASK_TIMEOUT=60s", "RALPH_CONSTRUCT_STAGE_TIMEOUT=60s"}
	}
	if o.chance(5) {
		args = append(args, "--mode", []string{"manual", "step", "semi"}[o.random.IntN(3)])
	}
	switch o.random.IntN(8) {
	case 0:
		args = append(args, "--resume")
	case 1:
		if o.f.command == "autopilot" { // in a checkout the changes of the session before would be in its way
			args = append(args, "--fresh")
		}
	}
	settings := []string{
		"RALPH_LIMITS_WAIT=ask", "RALPH_LIMITS_WAIT=off", "RALPH_AGENT_CONTEXT=continue", "RALPH_AGENT_CONTEXT=continue", "RALPH_AGENT_CONTEXT=continue", "RALPH_AGENT_CONTEXT=continue",
		"RALPH_REQUIRE_APPROVAL_TO_START=true", "RALPH_AGENT_RECOVER_PRIMARY=false", "RALPH_GATE_INPUT_TIMEOUT=500ms",
		"RALPH_BUDGET_COST=0.3", "RALPH_BUDGET_ITERATIONS=12", "RALPH_BUDGET_TIME=2s", "RALPH_BUDGET_TOKENS=15000",
		"RALPH_BUDGET_TASK_COST=0.05", "RALPH_BUDGET_TASK_ITERATIONS=2", "RALPH_BUDGET_TASK_TIME=1s",
		"RALPH_ERRORS_STRATEGY=abort", "RALPH_ERRORS_STRATEGY=skip", "RALPH_MERGE_BATCH=4",
		"RALPH_TASK_DELAY=50ms", "RALPH_TASK_MAX_ITERATIONS=2", "RALPH_ERRORS_MAX_CONSECUTIVE=1",
	}
	if o.f.command == "autopilot" {
		settings = append(settings, "RALPH_PARALLEL=1", "RALPH_PARALLEL=2")
	}
	for range o.random.IntN(4) {
		env = append(env, settings[o.random.IntN(len(settings))])
	}
	slices.Sort(env)
	return args, slices.Compact(env)
}

func (o *operator) String() string { return fmt.Sprint(o.did) }

// deadline is how long an engine may take to end after a word of the person.
func deadline(word string) time.Duration {
	if word == "stop --now" {
		return 20 * time.Second
	}
	return time.Minute
}
