package policy

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tally"
	"github.com/ralph-loop/ralph/internal/text"
)

// inJob is the loop of one spec: PREPARE, PLAN, then rounds of INVESTIGATE, BUILD,
// VERIFY until nothing is left, then COMMIT.
func inJob(s *ralph.State, mine []ralph.TaskID, c Config, now time.Time) Move {
	if !c.Isolated && busy(s, mine) >= c.Parallel {
		return Hold{Why: "every slot is busy"}
	}
	if why := overSpec(s, c, now); why != "" {
		return afterRunning(s, mine, c, why)
	}
	shelving := stageOf(s, ralph.KindShelve) != nil
	for _, t := range s.Stages {
		if shelving && t.Kind != ralph.KindShelve {
			continue // the spec has failed: what it still had to do is not done
		}
		if t.Kind == ralph.KindMerge || t.Kind == ralph.KindResolve || t.Kind == ralph.KindLand && holdsLanding(s, c) {
			continue // they go on beside the tasks
		}
		if t.Status == ralph.TaskPending {
			return record(ralph.TaskStarted{ID: t.ID})
		}
		if t.Status == ralph.TaskActive {
			return Hold{Why: string(t.Kind)}
		}
	}
	if stageOf(s, ralph.KindPrepare) == nil {
		return record(ralph.TaskAdded{Task: stage(s.Job.ID, ralph.KindPrepare, 0, "Look at where the work starts")})
	}
	if c.onPlan() {
		if t := failedStage(s); t != nil {
			return record(ralph.JobEnded{Status: ralph.SpecPending, Error: t.Run.Reason, Rule: "D-078"}, Stop{Reason: ralph.ReasonFailed, Detail: t.Run.Reason}.Ended(s))
		}
		return autopilot(s, mine, c, now)
	}
	if c.Isolated && s.Plan.Integration != nil && s.Plan.Integration.Moved != "" {
		if m, ok := scheduleParallel(s, mine, c, now); ok {
			return m
		}
	}
	if t := stageOf(s, ralph.KindShelve); t != nil {
		return shelved(t)
	}
	if t := landStage(s); t != nil && !mending(s, t) {
		return landed(s, t, c)
	}
	if t := failedStage(s); t != nil {
		return failJob(s, c, string(t.Kind)+" failed: "+t.Run.Reason)
	}
	if stageOf(s, ralph.KindPlan) == nil && len(s.Plan.Tasks) == 0 {
		return record(ralph.TaskAdded{Task: stage(s.Job.ID, ralph.KindPlan, 0, "Plan "+s.Job.File)})
	}
	if c.PlanOnly {
		return record(ralph.JobEnded{Status: ralph.SpecPending, Error: "planned only", Rule: "D-035"})
	}
	if len(s.Plan.Tasks) == 0 && !openIssue(s) {
		return failJob(s, c, "the plan has no tasks") // VERIFY would call nothing at all complete (D-077)
	}
	return construct(s, mine, c, now)
}

// holdsLanding reports whether a landing goes on beside the tasks, or waits for the
// commits that the base branch has got meanwhile.
func holdsLanding(s *ralph.State, c Config) bool {
	return c.onPlan() || s.Plan.Integration != nil && s.Plan.Integration.Moved != ""
}

// frees reports whether a task waits for a person and leaves its slot to others (B-054).
// In the checkout, work that waits at the test gate stays alone: what the person was
// asked about must be what passes.
func frees(s *ralph.State, id ralph.TaskID) bool {
	gate := s.ApprovalOf(id)
	return gate != nil && (gate.Kind != ralph.ApprovalTest || s.Plan.Integration != nil)
}

// busy counts the slots in use.
func busy(s *ralph.State, mine []ralph.TaskID) int {
	n := 0
	for _, id := range mine {
		if !frees(s, id) {
			n++
		}
	}
	return n
}

// construct is one round: INVESTIGATE the open issues, BUILD what is ready,
// DECOMPOSE what ran out of time, VERIFY when all is built. What VERIFY finds
// makes the next round.
func construct(s *ralph.State, mine []ralph.TaskID, c Config, now time.Time) Move {
	round := s.Job.Round
	if stageIn(s, ralph.KindVerify, round) != nil {
		return afterVerify(s, c)
	}
	if openIssue(s) && len(mine) == 0 {
		if stageIn(s, ralph.KindInvestigate, round) != nil {
			return nextRound(s, c)
		}
		return record(ralph.TaskAdded{Task: stage(s.Job.ID, ralph.KindInvestigate, round, "Look into the open issues")})
	}
	if t := firstWith(s, tally.Failed); t != nil {
		return afterRunning(s, mine, c, describe(t)+" failed: "+t.Run.Reason)
	}
	if t := firstWith(s, tally.TimedOut); t != nil {
		return afterTimeout(s, t, mine, c)
	}
	if c.Isolated {
		if m, ok := scheduleParallel(s, mine, c, now); ok {
			return m
		}
	} else if m, ok := startNext(s, c, now); ok {
		return m
	}
	if len(mine) > 0 {
		return Hold{Why: "nothing else is ready"}
	}
	if s.Session.Auto == ralph.Semi {
		if best(s, c, 0, time.Time{}) != nil {
			return Hold{Why: "waiting for you: [[assign <id>]]", Person: true}
		}
		if t := firstWith(s, tally.Blocked); t != nil {
			return Hold{Why: decideWords(t), Person: true}
		}
	}
	if t := firstWith(s, tally.Blocked); t != nil {
		return failJob(s, c, describe(t)+" is blocked: "+t.Run.Reason)
	}
	if t := firstWith(s, tally.Pending); t != nil {
		return failJob(s, c, describe(t)+" can never start: it waits for "+text.List(unsatisfied(s, t, c), maxNamed))
	}
	return record(ralph.TaskAdded{Task: stage(s.Job.ID, ralph.KindVerify, round, "Verify the work")})
}

// startNext starts the next task of a job that works in place.
func startNext(s *ralph.State, c Config, now time.Time) (Move, bool) {
	next := chooseNext(s, c, now)
	if next == nil {
		return ownLimits(s, c, now)
	}
	if until := delayed(s, 0, c, now); !until.IsZero() {
		return Hold{Until: until, Why: "task.delay"}, true
	}
	if m, waits := stepGate(s, next, now); waits {
		return m, true
	}
	return startOf(s, c, now, ralph.TaskStarted{ID: next.ID}), true
}

// afterTimeout splits a task that ran out of time or context, once.
func afterTimeout(s *ralph.State, t *ralph.Task, mine []ralph.TaskID, c Config) Move {
	if !canDecompose(s, t) {
		return afterRunning(s, mine, c, describe(t)+" timed out: "+t.Run.Reason)
	}
	if busy(s, mine) > 0 {
		return Hold{Why: "a task has to be decomposed"}
	}
	d := stage(s.Job.ID, ralph.KindDecompose, 0, "Split "+describe(t))
	d.ID, d.Parent = d.ID+":"+t.ID, t.ID
	return record(ralph.TaskAdded{Task: d})
}

// afterVerify goes on to the next round when VERIFY left work, else to the end.
func afterVerify(s *ralph.State, c Config) Move {
	switch {
	case workLeft(s):
		return nextRound(s, c)
	case c.Commit:
		return record(ralph.TaskAdded{Task: stage(s.Job.ID, ralph.KindLand, mends(s), "Commit")})
	}
	return record(ralph.JobEnded{Status: ralph.SpecDone, Rule: "D-001"})
}

func nextRound(s *ralph.State, c Config) Move {
	if s.Job.Round >= c.MaxRounds {
		return failJob(s, c, fmt.Sprintf("%d rounds used (construct.max_rounds)", s.Job.Round))
	}
	return record(ralph.RoundStarted{Round: s.Job.Round + 1})
}

// workLeft: a task to build, or an issue that no INVESTIGATE has looked at.
func workLeft(s *ralph.State) bool {
	return openIssue(s) || s.Plan.Unfinished() > 0
}

func openIssue(s *ralph.State) bool {
	return slices.ContainsFunc(s.Plan.Issues, func(i *ralph.Issue) bool { return !i.Looked })
}

// afterRunning lets other slots end their turns before a failure ends the job.
// A task that waits for a person is not waited for: its question goes with the job.
func afterRunning(s *ralph.State, mine []ralph.TaskID, c Config, why string) Move {
	if busy(s, mine) > 0 {
		return Hold{Why: why}
	}
	return failJob(s, c, why)
}

// failJob ends the job as failed; in agent mode its changes are put away first.
func failJob(s *ralph.State, c Config, why string) Move {
	if !c.Commit || s.Job.Base == "" || c.Isolated { // with worktrees the checkout has nothing of it
		return record(ralph.JobEnded{Status: ralph.SpecFailed, Error: why, Rule: "D-078"})
	}
	return record(ralph.TaskAdded{Task: stage(s.Job.ID, ralph.KindShelve, 0, why)})
}

// shelved ends the job that failed. Where its changes could not be put away the
// session ends too: the next spec's commit would take them along (D-072), so a
// person has to look, and the next start refuses a tree with changes.
func shelved(t *ralph.Task) Move {
	failed := jobFailed(t.Name, t)
	if t.Status == ralph.TaskDone {
		return record(failed)
	}
	detail := "the changes of a failed spec are still in the work tree: " + t.Run.Reason
	return record(failed, ralph.SessionEnded{Reason: ralph.ReasonFailed, Detail: detail, Cause: "failed"})
}

// jobFailed ends a job whose changes are put away; the stage's name is the cause.
func jobFailed(why string, shelve *ralph.Task) ralph.Fact {
	if shelve.Status != ralph.TaskDone {
		why += "; also, " + shelve.Run.Reason
	}
	return ralph.JobEnded{Status: ralph.SpecFailed, Error: why, Rule: "D-073"}
}

// landed marks the spec done after its commit, never before (D-048).
func landed(s *ralph.State, land *ralph.Task, c Config) Move {
	if land.Status == ralph.TaskDone {
		return record(ralph.JobEnded{Status: ralph.SpecDone, Rule: "D-048", Commit: land.Run.Commit})
	}
	if land.Run.Hook != "" && mends(s) < maxMends {
		return record(ralph.TaskAdded{Task: ralph.Task{
			ID: mendID(s, mends(s)+1), Spec: s.Job.File, Name: "Make the commit hook pass", Status: ralph.TaskPending,
			Notes: "The work is done, and a hook of this repository refuses its commit. Change what it complains about, as the author of a commit would; do not bypass the hook. It said:\n" + land.Run.Hook,
		}})
	}
	return failJob(s, c, land.Run.Reason+goOn(s, land, c))
}

// goOn says how a person goes on with work whose commit a hook refused.
func goOn(s *ralph.State, land *ralph.Task, c Config) string {
	switch {
	case land.Run.Hook == "" || land.Status == ralph.TaskDone:
		return ""
	case c.Isolated && s.Plan.Integration != nil:
		return fmt.Sprintf("; the work is merged on %s: `git merge --squash %s` brings it here, or make the hook pass and queue %s again", s.Plan.Integration.Branch, s.Plan.Integration.Branch, s.Job.File)
	case c.OnFailure == "stash" || c.OnFailure == "":
		return fmt.Sprintf("; the work lies in a stash: `git stash apply` brings it back, mend it and commit it, or make the hook pass and queue %s again", s.Job.File)
	}
	return fmt.Sprintf("; make the hook pass and queue %s again", s.Job.File)
}

// maxMends is how many tasks a spec gets to make the hooks of its commit pass.
const maxMends = 2

// mendID names the n-th task of the job that makes its commit's hooks pass.
func mendID(s *ralph.State, n int) ralph.TaskID {
	return ralph.TaskID(fmt.Sprintf("t-hook%d-%s", n, s.Job.ID))
}

// mends counts these tasks.
func mends(s *ralph.State) int {
	n := 0
	for s.Task(mendID(s, n+1)) != nil {
		n++
	}
	return n
}

// landStage is the newest commit of the spec.
func landStage(s *ralph.State) *ralph.Task {
	if t := stageIn(s, ralph.KindLand, mends(s)); t != nil {
		return t
	}
	return stageOf(s, ralph.KindLand)
}

// mending reports whether a refused commit has its task by now: another one comes after it.
func mending(s *ralph.State, land *ralph.Task) bool {
	return land.Run.Hook != "" && land.Status == ralph.TaskFailed && land.ID != stage(s.Job.ID, ralph.KindLand, mends(s), "").ID
}

// canDecompose: a task is split once, and what came of a split is not split again.
// Where the first error ends the run there is no second way.
func canDecompose(s *ralph.State, t *ralph.Task) bool {
	if t.Parent != "" || t.Run.Thread != nil || s.Session.Auto.EndsAtError() {
		return false
	}
	return !slices.ContainsFunc(s.Stages, func(x *ralph.Task) bool {
		return x.Kind == ralph.KindDecompose && x.Parent == t.ID
	})
}

func stageOf(s *ralph.State, kind ralph.TaskKind) *ralph.Task {
	for _, t := range s.Stages {
		if t.Kind == kind {
			return t
		}
	}
	return nil
}

func stageIn(s *ralph.State, kind ralph.TaskKind, round int) *ralph.Task {
	id := stage(s.Job.ID, kind, round, "").ID
	for _, t := range s.Stages {
		if t.ID == id {
			return t
		}
	}
	return nil
}

func failedStage(s *ralph.State) *ralph.Task {
	for _, t := range s.Stages {
		if t.Kind == ralph.KindDecompose && s.Session.OnPlan() {
			continue // its task waits for a person, the others go on
		}
		if t.Kind == ralph.KindLand && mending(s, t) {
			continue
		}
		if t.Status.Ended() && t.Status != ralph.TaskDone {
			return t
		}
	}
	return nil
}

func firstWith(s *ralph.State, m tally.Mark) *ralph.Task {
	for t := range s.InPlan(m) {
		return t
	}
	return nil
}

func describe(t *ralph.Task) string { return fmt.Sprintf("task %s (%s)", t.ID, t.Name) }
