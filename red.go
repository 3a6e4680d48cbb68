package ralph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// RedCheck is how a check is red: what tells one failure of it from another.
type RedCheck struct {
	Name string `json:"name"`
	// Failed are the names of the tests that failed; nil: the output named none.
	Failed []string `json:"failed,omitempty"`
	Exit   int      `json:"exit,omitempty"`
	Why    string   `json:"why,omitempty"` // as in CheckResult: it did not end by itself
	// Missing: there was nothing to run yet, as in a repository that only begins. That is
	// no way to be red that anything could be let pass for.
	Missing bool `json:"missing,omitempty"`
}

// nothingToRun are the words of shells and tools for a check that is not there.
var nothingToRun = lazyregexp.New(`(?m)^(/bin/)?(sh|dash|bash): .*(cannot open |No such file or directory|not found)` +
	`|^make: \*\*\* No rule to make target|^npm (ERR!|error) Missing script|^python3?: can't open file `)

// missing reports whether a check was not there to be run.
func missing(r CheckResult) bool {
	const notExecutable, notFound = 126, 127
	return !r.Pass && len(r.Failed) == 0 && (r.Exit == notExecutable || r.Exit == notFound || nothingToRun.MatchString(r.Output))
}

// RedOf is how a result is red.
func RedOf(r CheckResult) RedCheck {
	return RedCheck{Name: r.Name, Failed: r.Failed, Exit: r.Exit, Why: r.Why, Missing: missing(r)}
}

// SameWay reports whether a red result is red in the same way as the check was before, so
// that nothing new is. Where both say which tests failed, only the names decide: each of
// them failed before. Where one side alone names any, something else has happened: a build
// that breaks names no test. Without names it is the same exit, by itself or not.
func SameWay(before []RedCheck, r CheckResult) bool {
	same, failed := false, map[string]bool{}
	for _, b := range before {
		if b.Missing || b.Name != r.Name || b.Why != r.Why || (len(b.Failed) > 0) != (len(r.Failed) > 0) {
			continue
		}
		for _, name := range b.Failed {
			failed[name] = true
		}
		same = same || len(b.Failed) > 0 || b.Exit == r.Exit
	}
	return same && !slices.ContainsFunc(r.Failed, func(name string) bool { return !failed[name] })
}

// Covers reports whether all of the reds were red in the same way before.
func Covers(before, reds []RedCheck) bool {
	return !slices.ContainsFunc(reds, func(r RedCheck) bool {
		return !SameWay(before, CheckResult{Name: r.Name, Failed: r.Failed, Exit: r.Exit, Why: r.Why})
	})
}

// redsOf is how the commands among the results are red, but for what names leaves out.
func redsOf(results []CheckResult, counts func(CheckResult) bool) []RedCheck {
	var reds []RedCheck
	for _, r := range results {
		if !r.Pass && counts(r) && !IsDiffCheck(r.Name) && r.Name != CheckCoverage {
			reds = append(reds, RedOf(r))
		}
	}
	return reds
}

// PassedOver is a red check that held nothing up.
type PassedOver struct {
	Check  string   `json:"check"`
	Failed []string `json:"failed,omitempty"`
	// Person: a person let it pass, or a rule that a person made; else it was red in the
	// same way before (quality.baseline: known).
	Person bool `json:"person,omitempty"`
}

// Words name the check with the tests that failed.
func (p PassedOver) Words() string { return RedCheck{Name: p.Check, Failed: p.Failed}.Words() }

// maxNames is how many failed tests are named in one line.
const maxNames = 3

// Words name the check with the tests that failed: "go test ./... (TestA, TestB)".
func (r RedCheck) Words() string {
	names := r.Failed
	switch {
	case r.Missing:
		return r.Name + " (there is nothing to run)"
	case len(names) == 0:
		return r.Name
	}
	more := ""
	if len(names) > maxNames {
		more = fmt.Sprintf(" and %d more", len(names)-maxNames)
		names = names[:maxNames]
	}
	return r.Name + " (" + strings.Join(names, ", ") + more + ")"
}

// RedWords names red checks in one line.
func RedWords(reds []RedCheck) string {
	words := make([]string, len(reds))
	for i, r := range reds {
		words[i] = r.Words()
	}
	return strings.Join(words, ", ")
}

// PassedOverWords tells of the red checks that held nothing up, "" for none: "1 check red
// as before: go test ./... (TestA)".
func PassedOverWords(list []PassedOver) string {
	var parts []string
	for _, person := range []bool{false, true} {
		var names []string
		for _, p := range list {
			if p.Person == person {
				names = append(names, p.Words())
			}
		}
		if len(names) == 0 {
			continue
		}
		checks, how := "check", " as before: "
		if len(names) > 1 {
			checks = "checks"
		}
		if person {
			how = ", let pass by a person: "
		}
		parts = append(parts, fmt.Sprintf("%d %s red%s%s", len(names), checks, how, strings.Join(names, ", ")))
	}
	return strings.Join(parts, "; ")
}

// Baselined is what the checks said of a commit without anybody's work on top of it.
type Baselined struct {
	Commit string `json:"commit,omitempty"` // "": of a tree that no commit held yet
	Tree   string `json:"tree,omitempty"`
	// Checks are the commands that ran; nil when nobody knows.
	Checks []string   `json:"checks,omitempty"`
	Reds   []RedCheck `json:"reds,omitempty"`
	// Covered is the coverage at it, 0 when no report said.
	Covered float64 `json:"covered,omitempty"`
}

// Baseline returns what is known of a commit, nil when nobody looked.
func (s *State) Baseline(commit string) *Baselined {
	return s.baselineWhere(func(b Baselined) bool { return commit != "" && b.Commit == commit })
}

// BaselineOf returns what the very same checks said of a commit, or of one with the same
// tree; nil when they never ran there.
func (s *State) BaselineOf(commit, tree string, checks []string) *Baselined {
	return s.baselineWhere(func(b Baselined) bool {
		return (commit != "" && b.Commit == commit || tree != "" && b.Tree == tree) && slices.Equal(b.Checks, checks)
	})
}

func (s *State) baselineWhere(is func(Baselined) bool) *Baselined {
	for i := range slices.Backward(s.Baselines) {
		if is(s.Baselines[i]) {
			return &s.Baselines[i]
		}
	}
	return nil
}

// BaseOf is the commit that a task's work began at: of its branch, or of the job in the
// checkout.
func (s *State) BaseOf(t *Task) string {
	switch {
	case t.Run.Worktree.Base != "":
		return t.Run.Worktree.Base
	case s.Job != nil:
		return s.Job.Base
	}
	return ""
}

// RedBefore reports whether all that holds a task up in a run of its checks was red in the
// same way before its work, as far as anybody knows. What its own diff is red for was not.
func (s *State) RedBefore(t *Task, f *ChecksRan) bool {
	b := s.Baseline(s.BaseOf(t))
	if b == nil || f == nil || f.Pass || len(f.Reds()) == 0 {
		return false
	}
	return !slices.ContainsFunc(f.Results, func(r CheckResult) bool { return f.Counts(r) && !SameWay(b.Reds, r) })
}

// maxBaselines bounds what is remembered: bases of tasks at work are recent.
const maxBaselines = 32

// keepBaseline keeps what the checks said, in the place of what they said of it before.
func (s *State) keepBaseline(b Baselined) {
	same := func(x Baselined) bool {
		return b.Commit != "" && x.Commit == b.Commit || b.Commit == "" && x.Commit == "" && x.Tree == b.Tree
	}
	list := append(slices.DeleteFunc(slices.Clone(s.Baselines), same), b)
	s.Baselines = list[max(0, len(list)-maxBaselines):]
}

// alertBaseline marks that a session's notice of what was red before is out.
const alertBaseline = "baseline"

// BaselineTold reports whether the session has told what was red before any work.
func (s *State) BaselineTold() bool { return slices.Contains(s.Session.Alerts, alertBaseline) }

// baselineRan folds what the checks said of a commit.
func (s *State) baselineRan(f BaselineRan) {
	prepare := false
	s.editTask(f.Task, func(t *Task) {
		prepare = t.Kind == KindPrepare
		t.Run.InFlight, t.Run.Baselined = 0, true
		t.Run.Spent += f.Took
		if f.After != "" {
			t.Run.Tree = f.After
		}
	})
	if f.After != "" {
		s.editJob(func(j *Job) { j.Tree = f.After })
	}
	if prepare && len(f.Red) > 0 && !s.BaselineTold() {
		s.Session.Alerts = append(slices.Clone(s.Session.Alerts), alertBaseline)
	}
	if f.Skipped != "" {
		return
	}
	b := Baselined{Commit: f.Commit, Tree: f.Tree, Checks: commandsOf(f.Results), Covered: PercentOf(f.Results)}
	for _, name := range f.Red {
		i := slices.IndexFunc(f.Results, func(r CheckResult) bool { return r.Name == name })
		if i < 0 {
			b.Reds = append(b.Reds, RedCheck{Name: name})
			continue
		}
		b.Reds = append(b.Reds, RedOf(f.Results[i]))
	}
	if f.Covered > 0 {
		b.Covered = f.Covered
	}
	s.keepBaseline(b)
}

// commandsOf are the commands that ran, in order.
func commandsOf(results []CheckResult) []string {
	var out []string
	for _, r := range results {
		if r.Command != "" {
			out = append(out, r.Command)
		}
	}
	return out
}

// passed counts what held nothing up although it was red, and remembers what passed in the
// checkout: the commit that is made of it needs no checks to know what is red there.
func (s *State) passed(f ChecksRan) {
	if f.Pass && len(f.PassedOver()) > 0 {
		s.count(func(t *Totals) { t.PassedOver++ })
	}
	t := s.Task(f.Task)
	if t == nil || !t.IsBuild() || !f.Pass || f.Tree == "" || s.isolated(f.Task) {
		return
	}
	known := func(r CheckResult) bool { return slices.Contains(f.Known, r.Name) }
	s.keepBaseline(Baselined{Tree: f.Tree, Checks: commandsOf(f.Results), Reds: redsOf(f.Results, known), Covered: PercentOf(f.Results)})
}
