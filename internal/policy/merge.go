package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	// placeTries is how often a worktree may fail to be made ready before its task
	// fails (X-52: a start that fails does not spin).
	placeTries = 3
	// mergeTries is how often the machinery of a merge may fail before a person has
	// to look.
	mergeTries = 3
	// maxResolves ends races that a task loses again and again: each costs a turn.
	maxResolves = 25
	// landPause is the least time between two landings while tasks are at work, and
	// from a landing that a checkout holds to the next try; each further try doubles
	// it up to maxLandPause, for a person may be away and every try leaves facts.
	landPause    = 5 * time.Second
	maxLandPause = time.Minute
)

// makeReady gives a task its worktree before its first turn.
func makeReady(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	if step, why, ok := givenBack(s, c, now); ok {
		return step, why
	}
	p := t.Run.Worktree
	switch {
	case p.Fails >= placeTries, p.Fails > 0 && s.Session.Auto.EndsAtError():
		return finish(ralph.TaskFailed, "B-097", "Failed to spawn agent: "+t.Run.StepError)
	case p.Fails > 0 && !t.Run.LastAt.After(now):
		if until := t.Run.LastAt.Add(Backoff(c.RetryBase, retryFactor, p.Fails)); now.Before(until) {
			return ralph.Wait{Until: until}, ralph.Why{Rule: "X-52", Text: "try again to make the worktree ready: " + t.Run.StepError}
		}
	}
	return ralph.Prepare{}, ralph.Why{Rule: "B-005", Text: "make its worktree ready"}
}

// blame says what has to be found out before red checks are blamed on the work on
// top of a commit: which are red without it, then whether any other is. check is a run
// with what is known by now. ok is false when nothing is left to find out.
func blame(s *ralph.State, checks *ralph.ChecksRan, commit string, check func() ralph.Check) (ralph.Step, ralph.Why, bool) {
	if checks == nil || checks.Pass || s.Plan.Integration == nil {
		return nil, ralph.Why{}, false
	}
	if slices.ContainsFunc(checks.Results, func(r ralph.CheckResult) bool { return r.Name == ralph.CheckConflicts && !r.Pass }) {
		return nil, ralph.Why{}, false // nobody else's: no need to ask
	}
	if reds := checks.Reds(); len(reds) > 0 && !slices.ContainsFunc(reds, func(name string) bool { return !ralph.IsDiffCheck(name) }) {
		return nil, ralph.Why{}, false // likewise
	}
	if s.Baseline(commit) == nil {
		return ralph.Baseline{Commit: commit}, ralph.Why{Rule: "P-14", Text: "a check is red: was it before?"}, true
	}
	again := check()
	for _, r := range checks.Results {
		switch {
		case !checks.Counts(r):
		case r.Name == ralph.CheckCoverage:
			if again.Covered > 0 && again.Covered != checks.Covered {
				return again, ralph.Why{Rule: "P-14", Text: fmt.Sprintf("coverage was %.1f %% before: is it lower now?", again.Covered)}, true
			}
		case ralph.SameWay(again.Before, r):
			return again, ralph.Why{Rule: "P-14", Text: r.Name + " was red before: look at the others"}, true
		}
	}
	return nil, ralph.Why{}, false
}

// nextMerge takes the members of one merge through the queue: onto the integration
// branch beside every checkout, the checks on the merged tree, then the branch
// moves. The base branch comes after it, by landing.
func nextMerge(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r, i := t.Run, s.Plan.Integration
	if m := withdrawn(s, t); m != nil && r.Queue.State != ralph.MergeMerged {
		return finish(ralph.TaskSkipped, "X-72", fmt.Sprintf("%s is %s: its merge is taken back", describe(m), m.Status))
	}
	if gate := s.ApprovalOf(t.ID); gate != nil {
		return waitForHuman(s, gate, c, now)
	}
	switch {
	case r.Queue.State == ralph.MergeMerged:
		return finish(ralph.TaskDone, "B-006", "merged")
	case i == nil:
		return release("X-72", "there is no integration branch yet")
	case r.Queue.Merged == nil && s.Session.Want == ralph.WantStop:
		return release("D-051", "stop wanted: "+cmp.Or(s.Session.Cause, "by a person"))
	}
	if ask, why, held := held(s, t, c, now); held {
		return ask, why
	}
	m := r.Queue.Merged
	switch {
	case m == nil:
		step := ralph.Merge{Members: t.Members, Into: i.Tip, Free: !c.Checks, Tips: r.Queue.Approved || approved(s, t), Green: green(s, t)}
		return step, ralph.Why{Rule: "B-006", Text: "merge into " + i.Branch}
	case m.Conflict != nil:
		return finish(ralph.TaskFailed, "X-72", "conflict in "+paths(m.Conflict))
	case r.Checks == nil && s.Session.Want == ralph.WantStop:
		return release("D-051", "stop wanted: "+cmp.Or(s.Session.Cause, "by a person"))
	case r.Checks == nil:
		return checkOf(s, c, m.From, letFor(s, t, now)), ralph.Why{Rule: "P-14", Text: "the checks again, on the merged tree"}
	case r.Checks.Pass:
		return ralph.Advance{From: m.From, To: m.Commit}, ralph.Why{Rule: "P-14", Text: cmp.Or(ralph.PassedOverWords(r.Checks.PassedOver()), "the checks pass on the merged tree")}
	case len(t.Members) == 0 && r.Queue.Approved:
		return ralph.Advance{From: m.From, To: m.Commit}, ralph.Why{Rule: "X-75", Text: "a person takes the base branch's commits as they are"}
	}
	if step, why, ok := blame(s, r.Checks, m.From, func() ralph.Check { return checkOf(s, c, m.From, letFor(s, t, now)) }); ok {
		return step, why
	}
	return finish(ralph.TaskFailed, "X-72", "the checks are red on the merged tree: "+strings.Join(redOnes(r.Checks), ", "))
}

// held says whether a person has to look before a merge is tried, and at what.
func held(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why, bool) {
	ask := func(about ralph.TaskID, rule, text, detail string) (ralph.Step, ralph.Why, bool) {
		return ralph.Ask{Kind: ralph.ApprovalMerge, Text: text, About: about, Detail: detail}, ralph.Why{Rule: rule, Text: text}, true
	}
	r := t.Run
	m := single(s, t)
	if r.StepFailures >= mergeTries && r.StepError != "" {
		return ask(idOf(m), "X-72", "the merge does not work: "+r.StepError, "")
	}
	if len(t.Members) == 0 && r.Queue.Merged != nil {
		text := "the base branch went on, and together with what is merged "
		switch checks := r.Checks; {
		case r.Queue.Merged.Conflict != nil:
			return ask("", "X-72", text+"it conflicts in "+paths(r.Queue.Merged.Conflict), bothSides(r.Queue.Merged.Conflict))
		case checks != nil && !checks.Pass && !r.Queue.Approved && !unblamed(s, t, c, now):
			return ask("", "X-72", text+"the checks are red: "+strings.Join(redOnes(checks), ", "), redOutput(checks))
		}
	}
	if m == nil || r.Queue.Merged != nil || r.Queue.Approved {
		return nil, ralph.Why{}, false
	}
	q := m.Run.Queue
	switch {
	case q.State == ralph.MergeConflict && q.Merged != nil && q.Merged.Conflict != nil:
		return ask(m.ID, "X-72", describe(m)+" conflicts with what is merged in "+paths(q.Merged.Conflict)+whyNoAgent(q, c), bothSides(q.Merged.Conflict))
	case q.State == ralph.MergeRed:
		return ask(m.ID, "X-72", describe(m)+" is red on the merged tree"+whyNoAgent(q, c), redOutput(m.Run.Red))
	case len(q.Weakened) > 0 && !q.Approved && !seen(m, c):
		return ask(m.ID, "P-14", fmt.Sprintf("%s removes, skips or weakens tests: %s", describe(m), findings(q.Weakened, 3)), findings(q.Weakened, 50))
	case len(unseen(s, m, c)) > 0:
		list := unseen(s, m, c)
		return ask(m.ID, "S2", fmt.Sprintf("%s changes settings that a person looks at: %s", describe(m), settingsWords(list)), settingsDetail(list, q.Shown))
	case c.AskToMerge && !q.Approved:
		return ask(m.ID, "X-75", describe(m)+" is ready to be merged (merge.auto is false)", "")
	}
	return nil, ralph.Why{}, false
}

// unblamed reports whether it has to be found out first who made the checks red.
func unblamed(s *ralph.State, t *ralph.Task, c Config, now time.Time) bool {
	from := t.Run.Queue.Merged.From
	_, _, ok := blame(s, t.Run.Checks, from, func() ralph.Check { return checkOf(s, c, from, letFor(s, t, now)) })
	return ok
}

// resolvable reports whether an agent may try to resolve a task's merge: there are
// tries left, and markers in the files can show both sides.
func resolvable(t *ralph.Task, c Config) bool {
	q := &t.Run.Queue
	if q.State != ralph.MergeConflict && q.State != ralph.MergeRed {
		return false
	}
	return c.Resolver != "human" && q.GaveUp == "" && q.Tries < max(1, c.ConflictRetries) && q.Resolves < maxResolves && Class(q.Merged) != Complex
}

// ConflictClass says who can resolve a merge that git could not make.
type ConflictClass string

// The classes of conflicts; simple ones are those that git resolves itself.
const (
	Medium  ConflictClass = "medium"  // an agent, with bounded tries
	Complex ConflictClass = "complex" // a person: markers cannot show both sides
)

// Class classifies a merge by its conflicts. Red checks without a conflict are for an agent.
func Class(m *ralph.Merged) ConflictClass {
	if m == nil || m.Conflict == nil {
		return Medium
	}
	for _, f := range m.Conflict.Files {
		if f.Kind != "content" && f.Kind != "add/add" {
			return Complex
		}
	}
	return Medium
}

// whyNoAgent says why a person has to decide.
func whyNoAgent(q ralph.Queue, c Config) string {
	switch {
	case c.Resolver == "human":
		return " (merge.resolver is human)"
	case q.GaveUp != "":
		return ", and the agent could not resolve it: " + q.GaveUp
	case Class(q.Merged) == Complex:
		return ", in a way that markers in a file cannot show"
	}
	if q.Tries >= max(1, c.ConflictRetries) {
		return fmt.Sprintf(", after %s of an agent (merge.conflict_retries)", text.Count(q.Tries, "try"))
	}
	return fmt.Sprintf(", after an agent resolved it %s and other merges were quicker", text.Count(q.Resolves, "time"))
}

// withdrawn is a member that a person has sent back or left out since the merge
// began, nil for none. One that is gone from the plan is merged without.
func withdrawn(s *ralph.State, t *ralph.Task) *ralph.Task {
	for _, id := range t.Members {
		if m := s.Task(id); m != nil && m.Status != ralph.TaskDone {
			return m
		}
	}
	return nil
}

// single is the one task that is merged, nil for a batch or the base branch.
func single(s *ralph.State, t *ralph.Task) *ralph.Task {
	if len(t.Members) != 1 {
		return nil
	}
	return s.Task(t.Members[0])
}

func idOf(t *ralph.Task) ralph.TaskID {
	if t == nil {
		return ""
	}
	return t.ID
}

func approved(s *ralph.State, t *ralph.Task) bool {
	m := single(s, t)
	return m != nil && m.Run.Queue.Approved
}

// green are the trees of the members whose checks passed: merged fast-forward,
// nothing has to be checked again.
func green(s *ralph.State, t *ralph.Task) []string {
	var trees []string
	for _, id := range t.Members {
		if m := s.Task(id); m != nil && m.Run.Checks != nil && m.Run.Checks.Pass && m.Run.Checks.Tree != "" && !slices.Contains(trees, m.Run.Checks.Tree) {
			trees = append(trees, m.Run.Checks.Tree)
		}
	}
	return trees
}

func redOnes(checks *ralph.ChecksRan) []string {
	var names []string
	for _, r := range checks.Results {
		if !r.Pass && !slices.Contains(checks.Known, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

func redOutput(checks *ralph.ChecksRan) string {
	if checks == nil {
		return ""
	}
	var b strings.Builder
	for _, r := range checks.Results {
		if !r.Pass && !slices.Contains(checks.Known, r.Name) {
			fmt.Fprintf(&b, "$ %s\n%s\n", r.Name, r.Output)
		}
	}
	return b.String()
}

func paths(c *ralph.Conflict) string {
	var list []string
	for _, f := range c.Files {
		list = append(list, f.Path)
	}
	return strings.Join(list, ", ")
}

// bothSides shows a conflict to a person.
func bothSides(c *ralph.Conflict) string {
	var b strings.Builder
	for _, f := range c.Files {
		fmt.Fprintf(&b, "%s (%s)\n", f.Path, f.Kind)
		if f.Marked != "" {
			fmt.Fprintf(&b, "%s\n", strings.TrimRight(f.Marked, "\n"))
		}
	}
	return b.String()
}

func findings(list []ralph.Finding, most int) string {
	var words []string
	for _, f := range list[:min(most, len(list))] {
		words = append(words, fmt.Sprintf("%s:%d %s %s", f.Path, f.Line, f.Kind, f.What))
	}
	if n := len(list) - most; n > 0 {
		words = append(words, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(words, "; ")
}

// nextLand commits a spec, with one retry (D-079); with worktrees it then brings
// the base branch up to it, and waits while a person's changes are in the way.
func nextLand(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r := t.Run
	switch {
	case c.Isolated && !c.Commit:
		return nextLanding(s, t, c, now)
	case c.Isolated && s.Plan.Integration != nil && s.Plan.Integration.Moved != "":
		return release("P-7", "the base branch went on: its commits are merged first")
	case c.Isolated && s.Plan.Integration != nil && s.Plan.Integration.Denied != "":
		return finish(ralph.TaskFailed, "X-72", "the base branch went on, and its commits are not merged: "+s.Plan.Integration.Denied)
	case r.Commit != "" && c.Isolated:
		return nextLanding(s, t, c, now)
	case r.Commit != "":
		return finish(ralph.TaskDone, "D-048", "committed")
	case r.Away != "":
		return nextAway(s, t, ralph.Commit{}, c, now)
	case r.StepFailures == 0:
		return ralph.Commit{}, ralph.Why{Rule: "D-046", Text: "the spec is complete: commit its changes"}
	case r.StepFailures == 1 && r.Rewritten && c.Checks && !c.Isolated && r.Checks == nil:
		return checkOf(s, c, s.Job.Base, nil), ralph.Why{Rule: "D-046", Text: "a hook of the repository changed what was committed: check that"}
	case r.StepFailures == 1 && r.Checks != nil && !r.Checks.Pass:
		return finish(ralph.TaskFailed, "D-079", "a hook of the repository changed what was committed, and the checks fail on that: "+strings.Join(r.Checks.Reds(), ", "))
	case r.StepFailures == 1:
		return ralph.Commit{}, ralph.Why{Rule: "D-079", Text: "the commit failed: try it once more"}
	}
	return finish(ralph.TaskFailed, "D-079", commitFailed(t))
}

// nextLanding is the last step of merging: a fast-forward of the base branch and of
// a clean checkout of it. A checkout with changes is never touched.
func nextLanding(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r, i := t.Run, s.Plan.Integration
	target := i.Tip
	if r.Commit != "" {
		target = r.Commit
	}
	switch {
	case i.Landed == target && i.Out.Branch != "":
		return nextPublish(s, t, c, now)
	case i.Landed == target:
		return finish(ralph.TaskDone, "P-7", "landed on "+cmp.Or(i.Base, "HEAD"))
	case i.Moved != "":
		return finish(ralph.TaskSkipped, "P-7", "the base branch went on: its commits are merged first")
	case r.LastAt.IsZero():
		return ralph.Land{}, ralph.Why{Rule: "P-7", Text: "bring " + cmp.Or(i.Base, "HEAD") + " up to " + i.Branch}
	case r.Commit == "" && len(i.Held) == 0:
		return finish(ralph.TaskDone, "P-7", "landed on "+cmp.Or(i.Base, "HEAD")+"; what was merged meanwhile comes next")
	case r.Commit == "": // autopilot: the next landing tries again
		return finish(ralph.TaskSkipped, "P-7", "not landed: "+strings.Join(i.Held, ", "))
	case s.Session.Want == ralph.WantStop, r.StepFailures > mergeTries:
		return finish(ralph.TaskFailed, "P-7", fmt.Sprintf("the commit %.9s is on no branch of yours yet, the checkout is in the way: %s", r.Commit, strings.Join(i.Held, ", ")))
	case len(i.Held) > 0 && now.Before(r.LastAt.Add(pauseToLand(i))):
		return ralph.Wait{Until: r.LastAt.Add(pauseToLand(i))}, ralph.Why{Rule: "P-7", Text: "your checkout has changes: " + strings.Join(i.Held, ", ")}
	}
	return ralph.Land{}, ralph.Why{Rule: "P-7", Text: "try again to land"}
}

// pauseToLand is the time from the newest landing to the next: 5 s, and while a
// checkout is in the way 5 s, 10 s, 20 s ... a minute.
func pauseToLand(i *ralph.Integration) time.Duration {
	return min(Backoff(landPause, retryFactor, i.HeldTries), maxLandPause)
}

// Ending is what is recorded when Next ends a task: its end, and with worktrees its
// place in the merge queue, in one write (B-006).
func Ending(s *ralph.State, id ralph.TaskID, end ralph.Finish, why ralph.Why, c Config, now time.Time) []ralph.Fact {
	ended := ralph.TaskEnded{ID: id, Status: end.Status, Retry: end.Retry, Why: why, BasedOnSeq: s.Seq, DecidedAt: now}
	t := s.Task(id)
	if t == nil {
		return []ralph.Fact{ended}
	}
	ended.Slot = t.Run.Worktree.Slot
	r := t.Run
	ended.Uncounted = end.Status == ralph.TaskPending && why.Rule == "X-60" && outOfBudget(r.Last)
	ended.RanOut = ranOut(t, end.Status, why, c)
	facts := []ralph.Fact{ended}
	if !c.Isolated || end.Status != ralph.TaskDone || !t.TakesSlot() || r.Commit == "" || r.Commit == r.Worktree.Base {
		return facts
	}
	queued := ralph.MergeQueued{Task: t.ID, Branch: r.Worktree.Branch, Commit: r.Commit}
	if t.Kind == ralph.KindResolve {
		queued.Task = t.Parent
	}
	return append(facts, queued)
}
