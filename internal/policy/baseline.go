package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
)

// BaselineKnown is the quality.baseline that lets pass what was red before in the same
// way. The other, strict, is the default: red is red.
const BaselineKnown = "known"

// baselineFirst says what has to be found out before any work of a job: what the checks
// say of the commit that it begins at. What they said of the same tree before is
// not asked again, only told once in a session when something is red.
func baselineFirst(s *ralph.State, t *ralph.Task, c Config) (ralph.Step, ralph.Why, bool) {
	if len(c.Commands) == 0 || c.PlanOnly || t.Run.Baselined || s.Job == nil {
		return nil, ralph.Why{}, false
	}
	commit, tree := s.Job.Base, ""
	switch i := s.Plan.Integration; {
	case c.Isolated && i == nil:
		return nil, ralph.Why{}, false
	case c.Isolated:
		commit, tree = i.Tip, i.Tree
	case t.Run.Clean:
		tree = t.Run.Tree
	}
	why := ralph.Why{Rule: "P-14", Text: "what is red before any work?"}
	if b := s.BaselineOf(commit, tree, c.Commands); b != nil {
		if b.Commit == commit && (len(b.Reds) == 0 || s.BaselineTold()) {
			return nil, ralph.Why{}, false
		}
		return ralph.Emit{Fact: reused(t, commit, tree, b)}, why, true
	}
	if !c.Isolated && (!t.Run.Clean || begun(s)) {
		return nil, ralph.Why{}, false // what is red there may be of the work itself
	}
	return ralph.Baseline{Commit: commit}, why, true
}

// reused is the fact of a baseline that is known from before.
func reused(t *ralph.Task, commit, tree string, b *ralph.Baselined) ralph.BaselineRan {
	f := ralph.BaselineRan{Task: t.ID, Commit: commit, Tree: tree, Covered: b.Covered, Reused: true}
	for _, command := range b.Checks {
		r := ralph.CheckResult{Name: command, Command: command, Pass: true, Reused: true}
		if i := slices.IndexFunc(b.Reds, func(x ralph.RedCheck) bool { return x.Name == command }); i >= 0 {
			x := b.Reds[i]
			r.Pass, r.Failed, r.Exit, r.Why = false, x.Failed, x.Exit, x.Why
			f.Red = append(f.Red, command)
		}
		f.Results = append(f.Results, r)
	}
	return f
}

// begun reports whether anybody has worked on the plan: in the checkout a commit may be
// an agent's then.
func begun(s *ralph.State) bool {
	return slices.ContainsFunc(s.Plan.Tasks, func(t *ralph.Task) bool { return !t.Run.StartedAt.IsZero() })
}

// checkOf is a run of the checks of work that began at a commit.
func checkOf(s *ralph.State, c Config, commit string, let []ralph.RedCheck) ralph.Check {
	step := ralph.Check{Covered: coveredAt(s, c, commit), Let: let}
	if b := s.Baseline(commit); b != nil && c.Baseline == BaselineKnown {
		step.Before = b.Reds
	}
	return step
}

// redBefore asks a person about a task of which everything that is red was red in the
// same way before its work (quality.baseline: strict): its agent was told so, and says
// again that it is done. A rule that came of such an answer answers for the person.
func redBefore(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why, bool) {
	r := t.Run
	told := r.RedTold || r.TestReds >= maxTestReds(c)
	if c.Baseline == BaselineKnown || !t.TakesSlot() || !told || r.AnsweredAtIteration == r.Iterations || !s.RedBefore(t, r.Checks) {
		return nil, ralph.Why{}, false
	}
	var reds []ralph.RedCheck
	for _, g := range r.Checks.Results {
		if r.Checks.Counts(g) {
			reds = append(reds, ralph.RedOf(g))
		}
	}
	text := fmt.Sprintf("%s says that it is done, and what is red was red before its work too: %s. Let it pass?", describe(t), ralph.RedWords(reds))
	detail := evidence(r.Checks)
	if slices.ContainsFunc(reds, func(r ralph.RedCheck) bool { return len(r.Failed) == 0 }) {
		detail = "Where no test is named, that is known by the exit code alone: look at the output.\n\n" + detail
	}
	why := ralph.Why{Rule: "X-62", Text: text}
	if rule := approval.Matching(askOf(reds), approval.ActiveRules(s, t.ID, now)); rule != nil {
		w := approval.OfRule(rule)
		q := askOf(reds)
		q.Text = text
		return ralph.Emit{Fact: ralph.RequestAnswered{Task: t.ID, Agent: r.Agent, Request: q, Verdict: w.Verdict, Rule: w.Rule, Text: w.Text, By: rule.ID}}, why, true
	}
	return ralph.Ask{Kind: ralph.ApprovalTest, Text: text, Detail: detail, Red: reds}, why, true
}

// askOf is what rules know red checks by.
func askOf(reds []ralph.RedCheck) ralph.Request {
	return ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCheck, Red: reds}
}

// letFor is how checks may be red on what is merged, by a person's word on the members or
// by a rule. With no members it is the base branch's commits that are merged: what was
// passed over at the tip is then no news.
func letFor(s *ralph.State, stage *ralph.Task, now time.Time) []ralph.RedCheck {
	var let []ralph.RedCheck
	for _, id := range stage.Members {
		m := s.Task(id)
		if m == nil {
			continue
		}
		let = append(let, m.Run.Queue.Let...)
		if Waived(m) {
			let = append(let, waivedReds(m.Run.Waived)...)
		}
		for _, rule := range approval.ActiveRules(s, id, now) {
			if rule.Request.Op == ralph.OpCheck && rule.Verdict == ralph.Approved {
				let = append(let, rule.Request.Red...)
			}
		}
	}
	if b := s.Baseline(tipOf(s)); b != nil && len(stage.Members) == 0 {
		let = append(let, b.Reds...)
	}
	return let
}

// waivedReds is what a person let pass, to be known again on another tree: of coverage its
// name is enough, which is held against what it was before.
func waivedReds(w *ralph.Waiver) []ralph.RedCheck {
	reds := slices.Clone(w.Reds)
	if slices.Contains(w.Checks, ralph.CheckCoverage) {
		reds = append(reds, ralph.RedCheck{Name: ralph.CheckCoverage})
	}
	return reds
}

func tipOf(s *ralph.State) string {
	if s.Plan.Integration == nil {
		return ""
	}
	return s.Plan.Integration.Tip
}
