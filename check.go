package ralph

import (
	"fmt"
	"slices"
	"time"
)

func (s *State) checksRan(f ChecksRan) {
	f.Results = withoutGreen(f.Results)
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		before := r.Checks
		r.InFlight, r.Checks, r.Red = 0, &f, nil
		r.Spent += f.Took
		r.countReds(before, f)
		if !f.Pass {
			r.Red = &f
		}
		switch { // what checks wrote is no progress of the agent
		case len(f.Taken) > 0 && r.Worktree.Dir != "":
			r.Tree = f.Tree
		case len(f.Out)+len(f.Taken) > 0 && f.After != "":
			r.Tree = f.After
		}
	})
	if len(f.Out)+len(f.Taken) > 0 && f.After != "" && !s.isolated(f.Task) {
		s.editJob(func(j *Job) { j.Tree = f.After })
	}
	s.passed(f)
	s.count(func(t *Totals) {
		if f.Pass {
			t.ChecksOK++
		} else {
			t.ChecksRed++
		}
	})
}

// PercentOf is what the results of checks say of the lines that tests reach, in
// percent; 0 when no report says.
func PercentOf(results []CheckResult) float64 {
	for _, r := range results {
		if r.Coverage != nil {
			return r.Coverage.Percent
		}
	}
	return 0
}

// Counts reports whether a result holds the task up.
func (f *ChecksRan) Counts(r CheckResult) bool { return !r.Pass && !slices.Contains(f.Known, r.Name) }

// Reds are the checks that hold the task up, by name. There are none before any ran.
func (f *ChecksRan) Reds() []string {
	if f == nil {
		return nil
	}
	var names []string
	for _, r := range f.Results {
		if f.Counts(r) {
			names = append(names, r.Name)
		}
	}
	return names
}

// testRed reports whether the test gate was red.
func (f *ChecksRan) testRed() bool {
	return f != nil && slices.ContainsFunc(f.Results, func(r CheckResult) bool { return r.Test && f.Counts(r) })
}

// Hung are the checks that hold the task up because they did not end, by name.
func (f *ChecksRan) Hung() []string {
	if f == nil {
		return nil
	}
	var names []string
	for _, r := range f.Results {
		if r.Hung && f.Counts(r) {
			names = append(names, r.Name)
		}
	}
	return names
}

// countReds counts the red runs of the test gate. before are checks of the same turn:
// a run that is looked at again, now that it is known what was red before, is one.
func (r *Run) countReds(before *ChecksRan, f ChecksRan) {
	if before.testRed() && r.TestReds > 0 {
		r.TestReds--
	}
	switch {
	case f.testRed():
		r.TestReds++
	case slices.ContainsFunc(f.Results, func(g CheckResult) bool { return g.Test }):
		r.TestReds = 0
	}
	switch {
	case len(f.Hung()) == 0:
		r.Hangs = 0
	case len(before.Hung()) == 0:
		r.Hangs++
	}
	switch red := slices.Contains(f.Reds(), CheckEmpty); {
	case red && !slices.Contains(before.Reds(), CheckEmpty):
		r.Empty++
	case !red && !f.Empty: // told once is told, also when another check is red then
		r.Empty = 0
	}
}

// NothingToChange reports whether the task passed its checks as it was before: it was
// done already.
func (t *Task) NothingToChange() bool {
	return t.Run.Checks != nil && t.Run.Checks.Pass && t.Run.Checks.Empty
}

// beganAt notes where the diff of a task in the checkout begins. It is folded from the
// receipt: a turn that is cut must not make its own changes the beginning.
func (s *State) beganAt(t *Task) {
	if t.IsBuild() && t.Run.Began == "" && s.Job != nil && !s.isolated(t.ID) {
		t.Run.Began, t.Run.BeganAt = s.Job.Tree, s.Checkout.Head
	}
}

// testAnswered folds a person's word on checks that are red. Approved, exactly the tree
// that the person saw may pass, after whatever has not looked at it yet; denied, the
// reason goes to the agent, and the count of red runs begins again.
func (s *State) testAnswered(gate *Approval, f Answered) {
	s.redAnswered(gate.Task, Waiver{Gate: gate.ID, Rule: f.Rule}, f.Verdict, orDenial(f.Text, gate.Text))
}

// redAnswered folds a word on a task's red checks, of a person or of a rule.
func (s *State) redAnswered(task TaskID, waived Waiver, verdict Verdict, reason string) {
	s.editTask(task, func(t *Task) {
		r := &t.Run
		r.TestReds, r.Empty, r.Hangs = 0, 0, 0
		checks := r.Checks
		if checks == nil {
			return
		}
		if verdict != Approved {
			r.AnsweredAtIteration = r.Iterations
			r.Rejects = append(slices.Clone(r.Rejects), reason)
			return
		}
		waived.Tree = checks.Tree
		if old := r.Waived; old != nil && old.Tree == checks.Tree { // a second look at the same tree
			waived.Checks, waived.Findings, waived.Reds = slices.Clone(old.Checks), slices.Clone(old.Findings), slices.Clone(old.Reds)
		}
		waived.Checks = append(waived.Checks, checks.Reds()...)
		waived.Reds = append(waived.Reds, redsOf(checks.Results, checks.Counts)...)
		for _, res := range checks.Results {
			if checks.Counts(res) {
				waived.Findings = append(waived.Findings, res.Findings...)
			}
		}
		for _, res := range checks.Results {
			if res.Name == CheckSettings && checks.Counts(res) {
				s.sawSettings(res.Findings)
			}
		}
		if slices.Contains(waived.Checks, CheckCoverage) && r.Worktree.Dir == "" {
			s.Plan.Covered = PercentOf(checks.Results)
		}
		r.Waived, r.Checks, r.Red = &waived, nil, nil
	})
}

// orDenial is a person's no in words for the agent.
func orDenial(reason, about string) string {
	if reason == "" {
		return "A person says that it must not pass as it is: " + about
	}
	return reason
}

// sawSettings notes changes of settings that a person has approved: they pass from now on
// in this job, and what differs from them by a byte does not (S2).
func (s *State) sawSettings(list []Finding) {
	if len(list) > 0 {
		s.editJob(func(j *Job) { j.Seen = append(slices.Clone(j.Seen), list...) })
	}
}

// Unseen are those changes of settings that nobody has approved yet.
func (s *State) Unseen(list []Finding) []Finding {
	if s.Job == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(f Finding) bool { return slices.Contains(s.Job.Seen, f) })
}

// ChecksRan is the outcome of Check.
type ChecksRan struct {
	Task    TaskID        `json:"task"`
	Pass    bool          `json:"pass"`
	Tree    string        `json:"tree"` // the tree hash they ran on
	Results []CheckResult `json:"results,omitempty"`
	Known   []string      `json:"known,omitempty"` // red, and do not count: they were before, or a person let them pass
	// Empty: nothing has changed since the task began, where that was looked at.
	Empty bool `json:"empty,omitempty"`
	// Waived are those of Known that a person's word let pass, or a rule made of one.
	Waived []string `json:"waived,omitempty"`
	// Covered is the coverage that was there before the work, where that was below
	// test.coverage: the work must not lower it. 0: nothing is known of it.
	Covered float64 `json:"covered,omitempty"`
	// After is the tree of the checkout when they had ended, which what they write may have changed.
	After string `json:"after,omitempty"`
	// Restored are tracked files that the checks changed and that were given back what the
	// tree has, Saved what they held. Left are files that they made: gone from a worktree,
	// and in no commit. Other are tracked files that changed in the checkout meanwhile, by
	// the checks or by somebody. Out says of Left and Other what a commit in the checkout
	// leaves out. Taken are files that the checks changed and that are part of Tree
	// (quality.changes: keep).
	Restored []string   `json:"restored,omitempty"`
	Saved    []Saved    `json:"saved,omitempty"`
	Left     []string   `json:"left,omitempty"`
	Other    []string   `json:"other,omitempty"`
	Out      []LeftFile `json:"out,omitempty"`
	Taken    []string   `json:"taken,omitempty"`

	// Whole is where the results lie whole, in the folder of the turn before.
	Whole

	Took   time.Duration `json:"took"`
	Worker string        `json:"worker,omitempty"` // of a fleet that ran them; "" for this machine
}

// Kind implements Fact.
func (ChecksRan) Kind() string { return "checks.ran" }

// About implements Fact.
func (f ChecksRan) About() TaskID { return f.Task }

func (f ChecksRan) fold(s *State, _ Event) {
	s.checksRan(f)
}

// BaselineRan says which checks are red without a task's work.
type BaselineRan struct {
	Task    TaskID        `json:"task"`
	Commit  string        `json:"commit"`
	Tree    string        `json:"tree,omitempty"` // of the commit
	Red     []string      `json:"red,omitempty"`  // commands
	Results []CheckResult `json:"results,omitempty"`
	Whole                 // where Results lie whole, where they are shortened here
	Covered float64       `json:"covered,omitempty"` // the coverage, where Results do not say
	Took    time.Duration `json:"took"`
	// Reused: the same checks ran on the same tree before; nothing was run.
	Reused bool `json:"reused,omitempty"`
	// Skipped says why nothing was run, and nothing is known: the checkout has changes.
	Skipped string `json:"skipped,omitempty"`
	// In the checkout: Restored are tracked files that the checks changed, given back what
	// the commit has in them, Saved what they held; Left are files that they made. After
	// is the work tree with these.
	Restored []string `json:"restored,omitempty"`
	Saved    []Saved  `json:"saved,omitempty"`
	Left     []string `json:"left,omitempty"`
	After    string   `json:"after,omitempty"`
	// Out says of Left what a commit in the checkout leaves out.
	Out []LeftFile `json:"out,omitempty"`
}

// Kind implements Fact.
func (BaselineRan) Kind() string { return "baseline.ran" }

// About implements Fact.
func (f BaselineRan) About() TaskID { return f.Task }

func (f BaselineRan) fold(s *State, _ Event) {
	s.baselineRan(f)
}

// Finding is a test that a diff removes, skips or weakens.
type Finding struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
	Kind string `json:"kind"` // deleted, removed, skipped, focused, weakened
	What string `json:"what"`
}

// PassedOver are the red checks of a run that did not count.
func (f *ChecksRan) PassedOver() []PassedOver {
	if f == nil {
		return nil
	}
	var out []PassedOver
	for _, r := range f.Results {
		if !r.Pass && slices.Contains(f.Known, r.Name) {
			out = append(out, PassedOver{r.Name, r.Failed, slices.Contains(f.Waived, r.Name)})
		}
	}
	return out
}

// CheckSpec is one check command (quality.commands, test.command).
type CheckSpec struct {
	Name    string        `json:"name"` // what people see: the command itself, or "test"
	Command string        `json:"command"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Test    bool          `json:"test,omitempty"` // it is the test command: the test gate
}

// The names of the checks that are no commands. Those of the diff look at what a task
// itself has changed, before any command runs.
const (
	CheckEmpty    = "empty diff"
	CheckWeakened = "weakened tests"
	CheckSecrets  = "secrets"
	// CheckSettings is red when the work changes settings: of ralph, git, CI or agents (S2).
	CheckSettings = "settings"
	// CheckSubmodules is red when files inside a submodule are changed and not committed
	// there: a commit of the repository would leave them out.
	CheckSubmodules = "submodules"
	// CheckChanges is red when checks change files each time they run, and what they change
	// is to be kept.
	CheckChanges = "changes"
	// CheckHook is red when a hook of the repository refused the commit.
	CheckHook = "commit hook"
	// CheckCoverage is red when the tests reach less than test.coverage (C-061).
	CheckCoverage = "coverage"
)

// IsDiffCheck reports whether a check looks at a task's own diff: it says nothing of
// the commits below it, nor of anybody else's work.
func IsDiffCheck(name string) bool {
	switch name {
	case CheckEmpty, CheckWeakened, CheckSecrets, CheckSettings, CheckSubmodules, CheckChanges, CheckHook:
		return true
	}
	return false
}

// CheckResult is what one check command did.
type CheckResult struct {
	Name    string `json:"name"`
	Command string `json:"command"`
	Exit    int    `json:"exit"` // -1 when it did not end by itself
	Pass    bool   `json:"pass"`
	Output  string `json:"output,omitempty"` // stderr and stdout, marked, head and tail
	Cut     int64  `json:"cut,omitempty"`    // bytes left out of Output when it ran
	// Brief are the bytes left out of Output here: the file has them that the fact names.
	Brief int64         `json:"brief,omitempty"`
	Why   string        `json:"why,omitempty"` // "timed out after 10m: it did not end", "not found", ...
	Took  time.Duration `json:"took"`
	// Hung: its time was over before it ended, so that it says nothing of what it checks.
	Hung bool `json:"hung,omitempty"`
	// Coverage is what the run says of the lines that tests reach; nil: it says nothing.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Reused: it is the result of an earlier run on exactly this tree.
	Reused bool `json:"reused,omitempty"`
	// Tries are the runs on this tree, where a red one was run again (test.retry: rerun).
	Tries int `json:"tries,omitempty"`
	// Test: it belongs to the test gate, as the test command or what it says of coverage.
	Test bool `json:"test,omitempty"`
	// Findings are what a check of the diff has found; secrets themselves are not in them.
	Findings []Finding `json:"findings,omitempty"`
	// Failed are the names of the tests that failed, as their tool writes them: sorted,
	// each once. nil: the output names none, and only Pass is known.
	Failed []string `json:"failed,omitempty"`
	// Headline is what a person wants to read first of a red result: the first failing
	// test or error in one line without escape codes, at most 300 bytes.
	Headline string `json:"headline,omitempty"`
}

// WhyRed says in one line why a check is red: "exit 1: TestX: want 1, got 2".
func (r CheckResult) WhyRed() string {
	why := r.Why
	if why == "" {
		why = fmt.Sprintf("exit %d", r.Exit)
	}
	if r.Headline == "" || r.Headline == why {
		return why
	}
	return why + ": " + r.Headline
}

// Coverage is how much of the code its tests reach (C-061).
type Coverage struct {
	Percent float64 `json:"percent"` // 0 to 100
	Covered int64   `json:"covered"` // statements or lines, as the report counts
	Total   int64   `json:"total"`
	Format  string  `json:"format"` // go, istanbul, lcov, cobertura, jacoco, coverage.py
	File    string  `json:"file,omitempty"`
}
