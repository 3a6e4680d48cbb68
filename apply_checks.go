package ralph

import (
	"cmp"
	"slices"
)

// PercentOf is what the results of checks say of the lines that tests reach, in
// percent; 0 when no report says.
func PercentOf(results []GateResult) float64 {
	for _, r := range results {
		if r.Coverage != nil {
			return r.Coverage.Percent
		}
	}
	return 0
}

// Counts reports whether a result holds the task up.
func (f *ChecksRan) Counts(r GateResult) bool { return !r.Pass && !slices.Contains(f.Known, r.Name) }

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
	return f != nil && slices.ContainsFunc(f.Results, func(r GateResult) bool { return r.Test && f.Counts(r) })
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
	case slices.ContainsFunc(f.Results, func(g GateResult) bool { return g.Test }):
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
func (s *State) testAnswered(gate *Gate, f Answered) {
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
			r.Answered = r.Iterations
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
		if slices.Contains(waived.Checks, CheckCoverage) && r.Place.Dir == "" {
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

// commitAnswered folds a word on a commit that waits: since the checkout is elsewhere, or
// since it would change settings. Of these exactly what the person saw is approved.
func (s *State) commitAnswered(gate *Gate, f Answered) {
	s.editTask(gate.Task, func(t *Task) {
		r := &t.Run
		switch {
		case f.Verdict != Approved:
			r.Refused = cmp.Or(f.Text, "a person said no")
		case len(r.Queue.Settings) > 0:
			s.sawSettings(r.Queue.Settings)
			r.Away, r.AwayTries, r.Queue.Settings, r.Queue.Shown = "", 0, nil, ""
		default:
			r.Here = true
		}
	})
}
