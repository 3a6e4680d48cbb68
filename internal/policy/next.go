package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/tally"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/thread"
)

// Next says what to do next for one task, and why. The task must have been
// started by Schedule. It is a pure function of its arguments: replay calls it
// again with what a receipt recorded.
func Next(s *ralph.State, id ralph.TaskID, c Config, now time.Time) (ralph.Step, ralph.Why) {
	t := s.Task(id)
	if t == nil || t.Status != ralph.TaskActive {
		return ralph.Done{}, ralph.Why{}
	}
	c = c.under(s.Session.Auto)
	step, why := nextOf(s, t, c, now)
	if wait, ok := step.(ralph.Wait); ok {
		wait.Until = sooner(wait.Until, timeUp(s, c, now, 1))
		step = wait
	}
	return step, withStop(s, t, c, now, step, why)
}

func nextOf(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	if t.Run.InFlight != 0 {
		// A task that was released and started again at once may have two loops
		// looking at it for a moment. Its step is under way: never a second one.
		return ralph.Wait{}, ralph.Why{Rule: "B-039", Text: "a step of the task is under way"}
	}
	switch t.Kind {
	case ralph.KindPrepare:
		return nextPrepare(s, t, c)
	case ralph.KindLand:
		return nextLand(s, t, c, now)
	case ralph.KindMerge:
		return nextMerge(s, t, c, now)
	case ralph.KindShelve:
		return nextShelve(t, c)
	case "", ralph.KindBuild, ralph.KindResolve:
		return nextBuild(s, t, c, now)
	}
	return nextStage(s, t, c, now)
}

func nextPrepare(s *ralph.State, t *ralph.Task, c Config) (ralph.Step, ralph.Why) {
	switch {
	case t.Run.StepError != "":
		return finish(ralph.TaskFailed, "D-076", t.Run.StepError)
	case t.Run.Tree == "":
		return ralph.Prepare{}, ralph.Why{Rule: "D-036", Text: "look at where the work starts"}
	}
	step, why, ok := baselineFirst(s, t, c)
	switch {
	case !ok:
		return finish(ralph.TaskDone, "D-036", "ready to start")
	case s.Session.Want == ralph.WantStop:
		return release("D-051", "stop wanted: "+cmp.Or(s.Session.Cause, "by a person"))
	case s.Session.Want == ralph.WantPause:
		return ralph.Wait{}, ralph.Why{Rule: "B-058", Text: "paused: " + cmp.Or(s.Session.Cause, "by a person")}
	}
	return step, why
}

func nextShelve(t *ralph.Task, c Config) (ralph.Step, ralph.Why) {
	r := t.Run
	switch {
	case r.StepFailures > 0:
		return finish(ralph.TaskFailed, "D-072", "the changes could not be put away: "+r.StepError)
	case r.Shelved:
		return finish(ralph.TaskDone, "D-072", "the changes are put away")
	}
	return ralph.Shelve{How: c.OnFailure}, ralph.Why{Rule: "D-072", Text: "the spec failed: " + c.OnFailure + " its changes"}
}

// nextBuild is the Ralph loop of one task, or of the resolving of its merge.
func nextBuild(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r := t.Run
	if r.Skip != "" {
		return finish(ralph.TaskSkipped, "B-065", "skipped: "+r.Skip)
	}
	if parent := s.Task(t.Parent); t.Kind == ralph.KindResolve && (parent == nil || parent.Status != ralph.TaskDone) {
		return finish(ralph.TaskSkipped, "X-72", "its task is not done any more: there is nothing to merge")
	}
	if r.Away != "" && r.Commit == "" {
		return nextAway(s, t, ralph.Commit{OnlyTask: true}, c, now)
	}
	if gate := s.ApprovalOf(t.ID); gate != nil && r.Thread != nil && r.Thread.Want == ralph.ThreadStop {
		return stoppedBy(thread.StopUser, "E-068", "you stopped it")
	} else if gate != nil {
		return waitForHuman(s, gate, c, now)
	}
	if c.Isolated && !r.Worktree.Ready {
		return makeReady(s, t, c, now)
	}
	if r.Thread != nil {
		return nextThread(s, t, c, now)
	}
	if r.Last == nil {
		return turnOrLimit(s, t, c, now, ralph.Why{Rule: "D-044", Text: "start the task"})
	}
	if r.Last.Failed() {
		return afterError(s, t, c, now)
	}
	if c.Isolated && r.Last.Signal.Kind == ralph.SignalComplete {
		if step, why, ok := blame(s, r.Checks, r.Worktree.Base, func() ralph.Check { return checkOf(s, c, r.Worktree.Base, nil) }); ok {
			return step, why
		}
	}
	if r.Last.Signal.Kind == ralph.SignalComplete {
		if step, why, ok := redBefore(s, t, c, now); ok {
			return step, why
		}
		if step, why, ok := doubtful(t, c); ok {
			return step, why
		}
	}
	outcome, why := Completion(r.Last.Signal.Kind, verdict(t, c), spent(t, c))
	switch outcome {
	case CheckIt:
		return checkOf(s, c, s.BaseOf(t), nil), why
	case Complete:
		switch {
		case len(r.Checks.PassedOver()) > 0:
			why.Text = "COMPLETE; " + ralph.PassedOverWords(r.Checks.PassedOver())
		case !c.Checks && t.IsBuild():
			why.Text = "COMPLETE, and there are no checks to run"
		}
		return complete(t, c, why)
	case Blocked:
		return finish(ralph.TaskBlocked, why.Rule, cmp.Or(r.Last.Signal.Text, "the agent gave no reason"))
	case TimedOut:
		return finish(ralph.TaskTimeout, why.Rule, spentWhy(t, c)+", "+why.Text)
	case Human:
		if r.AnsweredAtIteration == r.Iterations {
			return afterAnswer(s, t, c, now, ralph.Why{Rule: "B-013", Text: "the question is answered"})
		}
		return ralph.Ask{Kind: "question", Text: cmp.Or(r.Last.Signal.Text, "the agent asks for help without saying why")}, why
	}
	if t.TakesSlot() && (r.Waived != nil || r.AnsweredAtIteration == r.Iterations && r.Iterations > 0) {
		return afterAnswer(s, t, c, now, why)
	}
	return turnOrLimit(s, t, c, now, why)
}

// afterAnswer goes on with a task that waited for a person, and held no slot meanwhile.
func afterAnswer(s *ralph.State, t *ralph.Task, c Config, now time.Time, why ralph.Why) (ralph.Step, ralph.Why) {
	if c.Isolated && t.Run.Worktree.Slot == 0 || !c.Isolated && othersAtWork(s, t) >= c.Parallel {
		return release("B-054", "the question is answered, the slot went to another task meanwhile")
	}
	return turnOrLimit(s, t, c, now, why)
}

// othersAtWork counts the slots that tasks other than t hold. A task that waits
// for an answer holds none, so it has to get one again before its next turn.
func othersAtWork(s *ralph.State, t *ralph.Task) int {
	n := 0
	for x := range s.Marked(tally.Active) {
		if x.ID != t.ID && !frees(s, x.ID) {
			n++
		}
	}
	return n
}

// complete ends a task whose claim is proved; with task.auto_commit its changes
// are committed first, with one retry as for a spec.
func complete(t *ralph.Task, c Config, why ralph.Why) (ralph.Step, ralph.Why) {
	r := t.Run
	if t.NothingToChange() {
		why.Text += ": nothing to change"
	}
	switch {
	case !c.AutoCommit && !c.Isolated || r.Commit != "":
		return finish(ralph.TaskDone, why.Rule, why.Text)
	case r.StepFailures < 2:
		return ralph.Commit{OnlyTask: true}, ralph.Why{Rule: "X-69", Text: "commit the task's changes"}
	}
	return finish(ralph.TaskFailed, "D-079", commitFailed(t))
}

// commitFailed says why no commit could be made.
func commitFailed(t *ralph.Task) string {
	if t.Run.Rewritten {
		return t.Run.StepError + ", each time it runs"
	}
	if said := strings.TrimSpace(t.Run.Hook); said != "" {
		return "a hook of the repository refuses the commit: " + said[strings.LastIndexByte(said, '\n')+1:]
	}
	return "git commit failed twice: " + t.Run.StepError
}

// verdict is what the checks said.
func verdict(t *ralph.Task, c Config) Verdict {
	r := t.Run
	switch {
	case slices.Contains(r.Checks.Reds(), ralph.CheckHook):
		return Red
	case !Checked(t, c):
		return Green // nothing to check with: the signal has to do, and doctor warns
	case r.Checks == nil:
		return Unchecked
	case r.Checks.Pass:
		return Green
	}
	return Red
}

// waitForHuman holds a task that asked a question. The end of the session ends the
// wait: it is a boundary like any other.
func waitForHuman(s *ralph.State, gate *ralph.Approval, c Config, now time.Time) (ralph.Step, ralph.Why) {
	if s.Session.Want == ralph.WantStop {
		return release("D-051", "stopped while waiting for an answer")
	}
	if step, why, ok := givenBack(s, c, now); ok {
		return step, why
	}
	if word := approval.AnswerGate(gate, approval.ActiveRules(s, gate.Task, now)); word.Answered() { // the same was asked elsewhere, and answered for good
		return ralph.Emit{Fact: ralph.Answered{ID: gate.ID, Verdict: word.Verdict, Text: word.Text, Rule: word.By}}, ralph.Why{Rule: "X-78", Text: word.Rule}
	}
	if !gate.Deadline.IsZero() && !now.Before(gate.Deadline) {
		return expired(gate, c)
	}
	if deserted(s, gate, c) {
		return leave(gate)
	}
	return ralph.Wait{Until: gate.Deadline}, ralph.Why{Rule: "B-025", Text: "waiting for an answer to " + string(gate.ID)}
}

// turnOrLimit starts the next turn unless something stops it at this boundary.
func turnOrLimit(s *ralph.State, t *ralph.Task, c Config, now time.Time, why ralph.Why) (ralph.Step, ralph.Why) {
	r := t.Run
	if r.Thread != nil {
		return threadTurn(s, t, c, now, why)
	}
	if step, why, ok := givenBack(s, c, now); ok {
		return step, why
	}
	if spent(t, c) {
		return finish(ralph.TaskTimeout, "B-028", spentWhy(t, c))
	}
	if over := ofTask(t, c).over(); over != "" {
		return finish(ralph.TaskTimeout, "X-60", over)
	}
	if c.stops(r.Unchanged) {
		return finish(ralph.TaskFailed, "E-072", fmt.Sprintf("no progress in %s (task.no_progress_turns)", text.Count(r.Unchanged, "turn")))
	}
	turn := ralph.Turn{Stage: stageName(t), Iteration: r.Iterations + 1}
	if limit := timeLimit(t, c); limit > 0 {
		turn.Timeout = limit - r.Spent
	}
	return giveTurn(s, t, c, now, turn, why)
}

// givenBack is the release of a task when the session is to end, or its spec.
func givenBack(s *ralph.State, c Config, now time.Time) (ralph.Step, ralph.Why, bool) {
	stop, rule, ok := ending(s, c, now)
	text := string(stop.Reason)
	if !ok {
		if text = overSpec(s, c, now); text == "" {
			return nil, ralph.Why{}, false
		}
		rule = "X-60"
	}
	if s.Session.Want == ralph.WantStop {
		rule, text = "D-051", "stop wanted: "+cmp.Or(s.Session.Cause, "by a person")
	}
	if rule == "X-38" {
		text = givenBackText(s, &ralph.Task{}, c)
	}
	step, why := release(rule, text)
	return step, why, true
}

// giveTurn lets an agent do the turn, or says what it waits for: a pause, a limit,
// turns under way that may use up a budget.
func giveTurn(s *ralph.State, t *ralph.Task, c Config, now time.Time, turn ralph.Turn, why ralph.Why) (ralph.Step, ralph.Why) {
	r := t.Run
	if s.Session.Want == ralph.WantPause {
		return ralph.Wait{}, ralph.Why{Rule: "B-058", Text: "paused: " + cmp.Or(s.Session.Cause, "by a person")}
	}
	if gate := holds(s, c); gate != nil {
		return ralph.Wait{}, ralph.Why{Rule: "X-22", Text: "waiting for an answer to " + string(gate.ID) + " (gate.scope: session)"}
	}
	ch := chooseAgent(s, t, c, now)
	switch {
	case ch.all:
		return release("X-38", givenBackText(s, t, c))
	case ch.agent == "":
		return ralph.Wait{Until: ch.until}, ralph.Why{Rule: "X-33", Text: "its agent is at a limit for a moment"}
	}
	if from := cmp.Or(ownAgent(t), r.Agent, s.Session.Agent, c.Agents[0]); from != ch.agent {
		return ralph.Emit{Fact: switched(s, t, from, ch.agent, c)}, ralph.Why{Rule: "X-37", Text: "from " + from + " to " + ch.agent}
	}
	if step, why, ok := takeOver(s, t, c, ch.agent); ok {
		return step, why
	}
	turn.Agent, turn.Reserve = ch.agent, expected(s)
	if crowded(s, c, turn.Reserve, now) {
		return ralph.Wait{}, ralph.Why{Rule: "X-60", Text: "the turns under way may use up a budget"}
	}
	if r.Last != nil && r.Last.Agent != ch.agent {
		turn.Resume = "" // it is another agent's
	}
	goesOn := c.Continue || turn.Stage == ralph.KindThread
	if goesOn && r.Last != nil && r.Last.Agent == ch.agent && r.Session != "" {
		turn.Resume = r.Session
		if c.ContextCompact > 0 && r.Context.Part() >= c.ContextCompact && r.Shortened < r.Iterations {
			why := ralph.Why{Rule: "A-113", Text: fmt.Sprintf("%.0f %% of the agent's context window is used", 100*r.Context.Part())}
			return ralph.Compact{Agent: ch.agent, Session: r.Session, Use: r.Context, MaxCost: maxCost(s, t, c)}, why
		}
	}
	if goesOn && (r.Iterations == 0 || r.Last == nil) {
		turn.Resume = r.Session // taken over from the phase before
	}
	turn.MaxCost = maxCost(s, t, c)
	turn.Timeout = shorter(turn.Timeout, s, t, c, now)
	return turn, why
}

// switched says that a task goes to another agent, and why.
func switched(s *ralph.State, t *ralph.Task, from, to string, c Config) ralph.AgentSwitched {
	f := ralph.AgentSwitched{Task: t.ID, From: from, To: to, Reason: ralph.SwitchLimit}
	if l := s.Limit(from); l != nil {
		switch l.Class {
		case ralph.ErrClassAuth:
			f.Reason = ralph.SwitchLogin
		case ralph.ErrClassNetwork:
			f.Reason = ralph.SwitchNetwork
		}
	}
	if to == c.Agents[0] {
		f.Reason = ralph.SwitchBack
	}
	return f
}

// nextStage runs PLAN, INVESTIGATE, VERIFY or DECOMPOSE: one turn with a
// structured answer, one re-ask when the answer does not fit.
func nextStage(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r := t.Run
	if r.Last != nil && r.Last.Failed() {
		return afterError(s, t, c, now)
	}
	switch {
	case r.Last != nil && r.Last.Mismatch == "":
		return finish(ralph.TaskDone, "D-044", r.Last.Answer)
	case r.Mismatches > 1:
		return finish(ralph.TaskFailed, "D-077", "the agent's answer did not fit twice: "+r.Last.Mismatch)
	}
	if step, why, ok := givenBack(s, c, now); ok {
		return step, why
	}
	turn, why := ralph.Turn{Stage: t.Kind, Iteration: r.Iterations + 1, Timeout: stageTimeout(t, c)}, ralph.Why{Rule: "D-044", Text: string(t.Kind)}
	if r.Mismatches == 1 && r.Last != nil { // an error in between has no words to repeat
		turn.Feedback, turn.Resume = r.Last.Mismatch, r.Session
		why = ralph.Why{Rule: "D-077", Text: "the answer did not fit: ask once more"}
	}
	return giveTurn(s, t, c, now, turn, why)
}

// stageTimeout bounds a stage's turn; planning a whole spec may take as long as a task.
func stageTimeout(t *ralph.Task, c Config) time.Duration {
	if t.Kind == ralph.KindPlan {
		return c.TaskTimeout
	}
	return c.StageTimeout
}

func stageName(t *ralph.Task) ralph.TaskKind {
	if t.Kind == "" {
		return ralph.KindBuild
	}
	return t.Kind
}

func maxIterations(t *ralph.Task, c Config) int {
	if t.Kind == ralph.KindResolve {
		return max(1, c.ConflictRetries)
	}
	if t.MaxIterations > 0 {
		return t.MaxIterations
	}
	return c.MaxIterations
}

// spent reports whether a task has used up its iterations or its time (B-028, B-029).
func spent(t *ralph.Task, c Config) bool {
	limit := timeLimit(t, c)
	return worked(t) >= maxIterations(t, c) || limit > 0 && t.Run.Spent >= limit
}

// timeLimit is how long a task may take, 0 for any time.
func timeLimit(t *ralph.Task, c Config) time.Duration {
	if c.TaskTimeout == 0 {
		return 0
	}
	return cmp.Or(t.Timeout, c.TaskTimeout)
}

// worked counts the iterations that an error or a limit did not cut short: those
// have counters of their own.
func worked(t *ralph.Task) int { return t.Run.Iterations - t.Run.Errored }

func spentWhy(t *ralph.Task, c Config) string {
	n := maxIterations(t, c)
	if t.Kind == ralph.KindResolve && worked(t) >= n {
		return text.Count(n, "try") + " used (merge.conflict_retries)"
	}
	if worked(t) >= n {
		return text.Count(n, "iteration") + " used (task.max_iterations)"
	}
	return fmt.Sprintf("%s used (task.timeout)", timeLimit(t, c))
}

func finish(status ralph.TaskStatus, rule, text string) (ralph.Step, ralph.Why) {
	return ralph.Finish{Status: status}, ralph.Why{Rule: rule, Text: text}
}

// release puts a task back to pending without counting it as a retry.
func release(rule, text string) (ralph.Step, ralph.Why) {
	return finish(ralph.TaskPending, rule, text)
}
