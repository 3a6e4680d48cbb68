package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// DiffChecks says what becomes of a doubtful diff: red (its agent mends it), gate (a
// person looks at it), or off.
type DiffChecks struct {
	Empty    string `json:"empty,omitempty"`
	Weakened string `json:"weakened,omitempty"`
	Secrets  string `json:"secrets,omitempty"`
	Settings string `json:"settings,omitempty"` // gate or off: gate.self
}

// The words of DiffChecks.
const (
	DiffRed  = "red"
	DiffGate = "gate"
	DiffOff  = "off"
)

// Any reports whether any of them looks.
func (d DiffChecks) Any() bool {
	return slices.ContainsFunc([]string{ralph.CheckEmpty, ralph.CheckWeakened, ralph.CheckSecrets, ralph.CheckSettings}, d.Looks)
}

// Looks reports whether the check with the name is made.
func (d DiffChecks) Looks(name string) bool { return d.of(name) == DiffRed || d.of(name) == DiffGate }

// Stops reports whether a red check with the name is all that its agent needs to know:
// the commands are not run then.
func (d DiffChecks) Stops(name string) bool { return d.of(name) == DiffRed }

func (d DiffChecks) of(name string) string {
	switch name {
	case ralph.CheckEmpty:
		return d.Empty
	case ralph.CheckWeakened:
		return d.Weakened
	case ralph.CheckSecrets:
		return d.Secrets
	case ralph.CheckSettings:
		return d.Settings
	case ralph.CheckSubmodules, ralph.CheckChanges, ralph.CheckHook: // only its agent can say what is wanted
		return DiffRed
	}
	return ""
}

// Checked reports whether a claim of the task is held against anything. A resolve
// always is: conflicts that are left in the files are red, also without commands.
func Checked(t *ralph.Task, c Config) bool {
	return c.Checks || t.Kind == ralph.KindResolve || t.IsBuild() && c.Diff.Any()
}

// DoneBefore reports whether an empty diff holds the task up no more: its agent was told,
// and says again that it is done, so the commands show whether it was done before.
// Without a command nothing would.
func DoneBefore(t *ralph.Task, c Config) bool {
	return c.Diff.Empty == DiffRed && c.Checks && t.Run.Empty > 0
}

// rerun is the test.retry that runs a red test command again at once.
const rerun = "rerun"

// maxTestReds is how many red runs of the test gate in a row bring a person in: the
// first and its retries, or one that was tried again at once.
func maxTestReds(c Config) int {
	if c.TestRetry == rerun {
		return 1
	}
	return 1 + c.TestRetries
}

// maxHangs is how often in a row a check may be over its time before a person is asked:
// each time costs the whole limit, and it is no red test that more turns would mend.
const maxHangs = 2

// doubtful asks a person about a task whose test gate stays red after its retries
// (C-063), whose checks did not end twice, or whose diff is doubtful while all else is green: what an agent can mend
// goes back to the agent first. A person who said no is not asked again before the
// agent has had another turn.
func doubtful(t *ralph.Task, c Config) (ralph.Step, ralph.Why, bool) {
	r := t.Run
	if !t.IsBuild() || r.Checks == nil || r.Checks.Pass || r.AnsweredAtIteration == r.Iterations {
		return nil, ralph.Why{}, false
	}
	reds := r.Checks.Reds()
	tests := slices.ContainsFunc(r.Checks.Results, func(g ralph.CheckResult) bool { return g.Test && r.Checks.Counts(g) })
	text, rule := "", "P-14"
	switch {
	case r.Hangs >= maxHangs:
		hung := strings.Join(r.Checks.Hung(), ", ")
		rule, text = "C-063", fmt.Sprintf("%s: %s did not end within the time limit, %d times in a row: is it the work, or the limit?", describe(t), hung, r.Hangs)
	case tests && r.TestReds >= maxTestReds(c):
		rule, text = "C-063", fmt.Sprintf("%s stays red after %s: %s", describe(t), tries(t, c), strings.Join(reds, ", "))
	case len(reds) == 0, slices.ContainsFunc(reds, func(name string) bool { return !forPerson(t, c, name) }):
		return nil, ralph.Why{}, false
	case slices.Contains(reds, ralph.CheckEmpty):
		text = describe(t) + " changed nothing: is it done?"
	default:
		text = fmt.Sprintf("%s needs a look before it counts as done: %s", describe(t), strings.Join(reds, ", "))
	}
	return ralph.Ask{Kind: ralph.ApprovalTest, Text: text, Detail: evidence(r.Checks)}, ralph.Why{Rule: rule, Text: text}, true
}

// tries says how often the tests had their chance.
func tries(t *ralph.Task, c Config) string {
	n := t.Run.TestReds
	if c.TestRetry == rerun {
		n = 1
		for _, g := range t.Run.Checks.Results {
			n = max(n, g.Tries)
		}
	}
	return text.Count(n, "try")
}

// forPerson reports whether a red check of the diff is for a person to decide. An empty
// diff is, once its agent has been told and no green command shows that the work was
// there before; without any command also where the task was sent back.
func forPerson(t *ralph.Task, c Config, name string) bool {
	switch c.Diff.of(name) {
	case DiffGate:
		return true
	case DiffRed:
		return name == ralph.CheckEmpty && (t.Run.Empty > 1 || !c.Checks && (t.RetryCount > 0 || len(t.Run.Rejects) > 0))
	}
	return false
}

// maxEvidence is how much of the output of one check a gate shows, in bytes.
const maxEvidence = 8 << 10

// evidence is what a person decides by: of each red check why, and the end of its output.
func evidence(checks *ralph.ChecksRan) string {
	var b strings.Builder
	for _, r := range checks.Results {
		if !checks.Counts(r) {
			continue
		}
		name := r.Name
		if r.Command != "" {
			name = "$ " + r.Command
		}
		fmt.Fprintf(&b, "%s\n", name)
		if r.Why != "" || r.Headline != "" {
			fmt.Fprintf(&b, "%s\n", r.WhyRed())
		}
		out := text.Plain(r.Output)
		if len(out) > maxEvidence {
			b.WriteString("...\n")
		}
		fmt.Fprintf(&b, "%s\n", text.TailLines(out, maxEvidence))
	}
	return b.String()
}

// Waived reports whether the task passed its checks by a person's word.
func Waived(t *ralph.Task) bool {
	w, checks := t.Run.Waived, t.Run.Checks
	return w != nil && checks != nil && w.Tree == checks.Tree &&
		slices.ContainsFunc(checks.Known, func(name string) bool { return slices.Contains(w.Checks, name) })
}

// seen reports whether nobody needs to look at the weakened tests of a task's merge: the
// check is off, or a person saw the very same before the task was done. Lines may have
// moved since.
func seen(t *ralph.Task, c Config) bool {
	if c.Diff.Weakened == DiffOff {
		return true
	}
	if t.Run.Waived == nil {
		return false
	}
	return !slices.ContainsFunc(t.Run.Queue.Weakened, func(f ralph.Finding) bool {
		return !slices.ContainsFunc(t.Run.Waived.Findings, func(w ralph.Finding) bool {
			return w.Path == f.Path && w.Kind == f.Kind && w.What == f.What
		})
	})
}

// coveredAt is the coverage that work on top of a commit must not lower, 0 when none is
// known: in the checkout what a person let pass, else what the baseline says. A person who
// set test.coverage is asked there first.
func coveredAt(s *ralph.State, c Config, commit string) float64 {
	if s.Plan.Integration == nil && (s.Plan.Covered > 0 || c.CoverageSet) {
		return s.Plan.Covered
	}
	if b := s.Baseline(commit); b != nil {
		return b.Covered
	}
	return 0
}
