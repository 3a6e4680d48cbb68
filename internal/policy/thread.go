package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/tally"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/thread"
)

// When a thread commits in the checkout (auto.commit). In a worktree its work is committed
// when it is done, as that of every task.
const (
	CommitAtEnd = "end"
	CommitTurns = "turn"
	CommitNever = "never"
)

// longestRest bounds the rest after turns of a thread that changed nothing: it doubles with
// each one more.
const longestRest = time.Minute

// ThreadLimits are by what a thread stops.
func ThreadLimits(t *ralph.Task, c Config) thread.Limits {
	l := thread.Usual().With(t.Run.Thread.Limits)
	l.NoReview, l.MinConfidence, l.Compactions = c.ThreadReview == DiffOff, c.MinConfidence, c.MaxCompactions
	if c.NoProgressTurns > 0 {
		l.NoProgress = c.NoProgressTurns
	}
	if c.SameErrorTurns > 0 {
		l.SameError = c.SameErrorTurns
	}
	return l
}

// nextThread goes on with a thread: a turn, what the matrices say of its end, and where they
// leave open what comes next, a decision.
func nextThread(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r, th := t.Run, t.Run.Thread
	if th.Want == ralph.ThreadPause {
		if step, why, ok := givenBack(s, c, now); ok {
			return step, why
		}
		why := ralph.Why{Rule: "B-058", Text: "you paused it"}
		if r.Worktree.Slot != 0 {
			return ralph.Emit{Fact: ralph.ThreadParked{Task: t.ID}}, why // who waits for a person holds no slot
		}
		return ralph.Wait{}, why
	}
	if c.Isolated && r.Worktree.Slot == 0 {
		return release("B-054", "it goes on, and its slot went to another thread meanwhile")
	}
	switch {
	case r.Last == nil && th.Want == ralph.ThreadStop:
		return stoppedBy(thread.StopUser, "E-068", "you stopped it")
	case r.Last == nil:
		if step, why, ok := guided(s, t, c, now); ok {
			return step, why
		}
		begin := ralph.Why{Rule: "E-035", Text: "the thread begins its turn"}
		if g := th.Guidance; g != nil && len(r.Answers) > g.QA {
			return afterAnswer(s, t, c, now, begin)
		}
		return threadTurn(s, t, c, now, begin)
	case r.Last.Failed():
		if step, why, ok := mendTurn(s, t, c, now); ok {
			return step, why
		}
	default:
		if step, why, ok := claimedOrAsked(s, t, c, now); ok {
			return step, why
		}
	}
	if c.ThreadCommit == CommitTurns && !c.Isolated && th.Changed && r.Commit == "" && !r.Last.Failed() && r.StepFailures < 2 {
		return ralph.Commit{OnlyTask: true}, ralph.Why{Rule: "X-69", Text: "commit what the turn changed (auto.commit: turn)"}
	}
	if th.Decision == nil || th.Decision.Turn != r.Iterations {
		return ralph.Decide{}, ralph.Why{Rule: "E-038", Text: fmt.Sprintf("turn %d has ended: decide what comes next", r.Iterations)}
	}
	return carryOut(s, t, c, now)
}

// guided is the next part of a thread's guidance before its first turn, held by what holds a turn.
// false: there is none, or it is over.
func guided(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why, bool) {
	if !c.Guidance || t.Run.Iterations > 0 {
		return nil, ralph.Why{}, false
	}
	if step, why, ok := givenBack(s, c, now); ok {
		return step, why, true
	}
	state := thread.Of(s, t)
	if stops := thread.Stops(&state, ThreadLimits(t, c), now); len(stops) > 0 && stops[0].Hard { // models cost, too
		step, why := stoppedBy(stops[0].Name, stops[0].Rule, stops[0].Text)
		return step, why, true
	}
	next := thread.Guide(t, ThreadLimits(t, c))
	why := ralph.Why{Rule: next.Rule, Text: "guidance: " + string(next.Part)}
	switch {
	case next.Part != "" && s.Session.Want == ralph.WantPause:
		return ralph.Wait{}, ralph.Why{Rule: "B-058", Text: "paused: " + cmp.Or(s.Session.Cause, "by a person")}, true
	case next.Part != "":
		return ralph.Guide{Part: next.Part}, why, true
	case next.Hold != "":
		return ralph.Ask{Kind: ralph.ApprovalQuestion, Text: "paused: " + next.Hold + "?"}, ralph.Why{Rule: next.Rule, Text: next.Hold}, true
	case next.Said != "":
		step, why := finish(ralph.TaskDone, next.Rule, "answered: "+text.OneLine(text.Head(next.Said, maxNamedAnswer)))
		return step, why, true
	}
	return nil, ralph.Why{}, false
}

// maxNamedAnswer is how much of an answer is the reason of an end, in bytes.
const maxNamedAnswer = 500

// mendTurn goes on after a turn that failed while the errors' matrix has a way: retries,
// backoff, limits, another session for a full window. What is left is decided.
func mendTurn(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why, bool) {
	last := t.Run.Last
	if d := t.Run.Thread.Decision; d != nil && d.Turn == t.Run.Iterations {
		return nil, ralph.Why{}, false
	}
	state := thread.Of(s, t)
	if stops := thread.Stops(&state, ThreadLimits(t, c), now); len(stops) > 0 && stops[0].Hard {
		return nil, ralph.Why{}, false // no retry passes a budget or a person's stop
	}
	if err := last.Err; err != nil {
		switch {
		case err.Class == ralph.ErrClassAuth, err.Permanent():
			return nil, ralph.Why{}, false // nothing but a person helps
		case err.Class == ralph.ErrClassContext && t.Run.Shortened < t.Run.Iterations:
			return ralph.Compact{Agent: last.Agent, Use: t.Run.Context}, ralph.Why{Rule: "A-113", Text: "the agent's context is full: it begins anew with a summary"}, true
		case err.Class == ralph.ErrClassContext:
			step, why := threadTurn(s, t, c, now, ralph.Why{Rule: "A-113", Text: "a new session goes on from the summary"})
			return step, why, true
		}
	}
	step, why := afterError(s, t, c, now)
	if end, ok := step.(ralph.Finish); ok && end.Status != ralph.TaskPending {
		return nil, ralph.Why{}, false
	}
	return step, why, true
}

// claimedOrAsked is what the completion matrix says of a turn: a claim is checked, and a
// question is for a person.
func claimedOrAsked(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why, bool) {
	r := t.Run
	if r.Last.Stage == ralph.KindReview && r.Last.Mismatch != "" && r.Mismatches == 1 {
		step, why := reviewTurn(s, t, c, now, ralph.Why{Rule: "D-077", Text: "the review's answer did not fit: ask once more"})
		return step, why, true
	}
	if r.Thread.Claimed {
		if c.Isolated {
			if step, why, ok := blame(s, r.Checks, r.Worktree.Base, func() ralph.Check { return checkOf(s, c, r.Worktree.Base, nil) }); ok {
				return step, why, true
			}
		}
		if step, why, ok := redBefore(s, t, c, now); ok {
			return step, why, true
		}
		if step, why, ok := doubtful(t, c); ok {
			return step, why, true
		}
		if verdict(t, c) == Unchecked {
			return checkOf(s, c, s.BaseOf(t), nil), ralph.Why{Rule: "B-010", Text: "COMPLETE: run the checks"}, true
		}
	}
	if r.Last.Signal.Kind == ralph.SignalHuman {
		if r.AnsweredAtIteration == r.Iterations {
			step, why := afterAnswer(s, t, c, now, ralph.Why{Rule: "B-013", Text: "the question is answered"})
			return step, why, true
		}
		return ralph.Ask{Kind: ralph.ApprovalQuestion, Text: cmp.Or(r.Last.Signal.Text, "the agent asks for help without saying why")}, ralph.Why{Rule: "B-025", Text: "the agent needs a human"}, true
	}
	return nil, ralph.Why{}, false
}

// carryOut does what was decided.
func carryOut(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r, d := t.Run, t.Run.Thread.Decision
	why := ralph.Why{Rule: d.Rule, Text: string(d.Action) + ": " + d.Reason}
	switch d.Action {
	case ralph.ThenContinue:
		return threadTurn(s, t, c, now, why)
	case ralph.ThenReview:
		return reviewTurn(s, t, c, now, why)
	case ralph.ThenStop:
		return endThread(s, t, c, now, why)
	}
	if r.AnsweredAtIteration == r.Iterations {
		return afterAnswer(s, t, c, now, ralph.Why{Rule: "B-013", Text: "a person says how it goes on"})
	}
	return ralph.Ask{Kind: ralph.ApprovalQuestion, Text: "paused: " + d.Reason + ": go on?"}, why
}

// threadTurn gives a thread its next turn, in the agent's own session. A thread that has
// just had one lets those have theirs that wait for a slot.
func threadTurn(s *ralph.State, t *ralph.Task, c Config, now time.Time, why ralph.Why) (ralph.Step, ralph.Why) {
	if step, why, ok := givenBack(s, c, now); ok {
		return step, why
	}
	if hasTurned(t) && turnOfAnother(s, t, c, now) {
		return release("E-084", "other threads wait for their turn")
	}
	if until := RestUntil(t, c); now.Before(until) && s.Session.Want == ralph.WantRun {
		return ralph.Wait{Until: until}, ralph.Why{Rule: "E-085", Text: "its last turn changed nothing: it rests"}
	}
	turn := ralph.Turn{Stage: ralph.KindThread, Iteration: t.Run.Iterations + 1, Timeout: c.TaskTimeout}
	if t.Run.Iterations == 0 {
		turn.Feedback = thread.Opening(t)
	}
	if d := t.Run.Thread.Decision; d != nil && d.Turn == t.Run.Iterations {
		turn.Feedback = d.NextInput
	}
	return giveTurn(s, t, c, now, turn, why)
}

// reviewTurn has the thread's agent look at what it changed, in a session of its own.
func reviewTurn(s *ralph.State, t *ralph.Task, c Config, now time.Time, why ralph.Why) (ralph.Step, ralph.Why) {
	if step, why, ok := givenBack(s, c, now); ok {
		return step, why
	}
	turn := ralph.Turn{Stage: ralph.KindReview, Iteration: t.Run.Iterations + 1, Timeout: c.StageTimeout}
	if t.Run.Mismatches == 1 && t.Run.Last != nil {
		turn.Feedback = t.Run.Last.Mismatch
	}
	return giveTurn(s, t, c, now, turn, why)
}

// endThread ends a thread that was decided to stop. Where its work is finished, or it was
// advised to stop, the checks have the last word, and what they pass is committed; else the
// work stays where it is.
func endThread(s *ralph.State, t *ralph.Task, c Config, now time.Time, why ralph.Why) (ralph.Step, ralph.Why) {
	d := t.Run.Thread.Decision
	if d.Stop == "" || d.Stop == thread.StopFinished {
		switch verdict(t, c) {
		case Unchecked:
			return checkOf(s, c, s.BaseOf(t), nil), ralph.Why{Rule: "B-010", Text: "it is to stop: run the checks"}
		case Red:
			return finish(ralph.TaskFailed, d.Rule, "stopped, and the checks are red: "+d.Reason)
		}
		c.AutoCommit = c.ThreadCommit != CommitNever
		why.Text = d.Reason
		return complete(t, c, why)
	}
	return stoppedBy(d.Stop, d.Rule, d.Reason)
}

// stoppedBy ends a thread by a stop condition.
func stoppedBy(stop, rule, reason string) (ralph.Step, ralph.Why) {
	step, why := finish(thread.StatusOf(stop), rule, reason)
	why.Stop = stop
	return step, why
}

// RestUntil is until when a thread rests after turns that changed nothing; zero where it does not.
func RestUntil(t *ralph.Task, c Config) time.Time {
	r := t.Run
	if r.Thread.Idle == 0 || r.LastAt.IsZero() || c.Cooldown <= 0 {
		return time.Time{}
	}
	rest := c.Cooldown
	for n := 1; n < r.Thread.Idle && rest < longestRest; n++ {
		rest *= 2
	}
	return r.LastAt.Add(min(rest, max(longestRest, c.Cooldown)))
}

// hasTurned reports whether a thread had a turn since it got its slot.
func hasTurned(t *ralph.Task) bool { return t.Run.Thread.Since < t.Run.Iterations }

// turnOfAnother reports whether more threads are ready for their turn than slots are free: then
// one that has just had its turn waits behind them. In the checkout there is one slot, which a
// thread keeps: its work is not whole.
func turnOfAnother(s *ralph.State, t *ralph.Task, c Config, now time.Time) bool {
	if !c.Isolated {
		return false
	}
	waiting := 0
	for x := range readyOf(s, c) {
		if x.task.ID != t.ID && x.task.Run.Thread != nil && !now.Before(RestUntil(x.task, c)) {
			waiting++
		}
	}
	return waiting > 0 && waiting > len(look(s).freeSlots(c))
}

// Advice is what is known without a model of what should come next in a thread: the word of a
// review that was just made, or of the rules. open: a model may be asked, as nothing but the
// rules says that it goes on.
func Advice(s *ralph.State, t *ralph.Task, c Config, now time.Time) (f ralph.Advised, open bool, err error) {
	state := thread.Of(s, t)
	in := state.Input()
	input, err := json.Marshal(in)
	if err != nil {
		return f, false, fmt.Errorf("write the input of the decision: %w", err)
	}
	rules := thread.Rules(&state)
	info := signature.Decision().Info()
	f = ralph.Advised{
		Task: t.ID, Turn: state.Turn, By: thread.ByRules, Action: rules.Action, NextInput: rules.NextInput, Reason: rules.Reason, Confidence: rules.Confidence,
		Signature: fmt.Sprintf("%s %d %s", info.Name, info.Version, info.Hash), Input: input, DecidedAt: now,
	}
	switch last := t.Run.Last; {
	case state.Review != nil:
		r := state.Review
		f.By, f.Action, f.NextInput, f.Reason, f.Confidence = thread.ByReview, r.Action, r.NextInput, r.Reason, r.Confidence
	case last != nil && last.Stage == ralph.KindReview:
		f.By, f.Action, f.Reason = thread.ByReview, ralph.ThenPause, "the review gave no answer that counts: "+cmp.Or(last.Mismatch, "its turn failed")
	default:
		open = thread.Temper(rules, thread.ByRules, &state, ThreadLimits(t, c), now).Action == ralph.ThenContinue
	}
	return f, open, nil
}

// Tempered is what the rules make of advice: the fact that stands beside it. s is the state
// before both.
func Tempered(s *ralph.State, f ralph.Advised, c Config) []ralph.Fact {
	t := s.Task(f.Task)
	if t == nil || t.Run.Thread == nil {
		return nil
	}
	state := thread.Of(s, t)
	advice := thread.Advice{Action: f.Action, NextInput: f.NextInput, Reason: f.Reason, Confidence: f.Confidence}
	return []ralph.Fact{ralph.Decided{Task: f.Task, Decision: thread.Temper(advice, f.By, &state, ThreadLimits(t, c), f.DecidedAt)}}
}

// concerns reports whether a task is one that the session works on: auto on threads alone.
func (c Config) concerns(t *ralph.Task) bool {
	return c.Session != ralph.ModeAuto || t.Run.Thread != nil
}

// leftHere is a thread that ended in this session with changes in the checkout, nil for none:
// another one would commit them as its own.
func leftHere(s *ralph.State) *ralph.Task {
	for t := range s.InPlan(tally.Thread) {
		if t.LeftChanges() && !t.Run.EndedAt.Before(s.Session.Since) {
			return t
		}
	}
	return nil
}

// autoEnd ends a session of threads when none is ready and none at work.
func autoEnd(s *ralph.State) Move {
	ended := ralph.JobEnded{Status: ralph.SpecPending, Error: "threads are left", Rule: "B-099"}
	var done, left []string
	var reasons thread.Ends
	for _, t := range s.Plan.Tasks {
		switch {
		case t.Run.Thread == nil:
		case t.Status == ralph.TaskDone && !t.Unmerged():
			done = append(done, string(t.ID))
		case t.Status == ralph.TaskDone:
			left = append(left, string(t.ID)+" is done, and its merge is "+mergeWords(t.Run.Queue))
		case t.Status == ralph.TaskPending && leftHere(s) != nil:
			left = append(left, fmt.Sprintf("%s waits: %s left changes in your checkout", t.ID, leftHere(s).ID))
		default:
			reasons.Add(t.StoppedBy())
			left = append(left, fmt.Sprintf("%s: %s", t.ID, cmp.Or(t.StoppedBy(), t.Run.Reason, string(t.Status))))
		}
	}
	bad := len(left)
	if i := s.Plan.Integration; i != nil && i.Landed != i.Tip {
		left = append(left, fmt.Sprintf("merged work waits on %s: %s", i.Branch, strings.Join(i.Held, ", ")))
	}
	if len(left) == 0 {
		ended.Status, ended.Error = ralph.SpecDone, ""
		detail := text.Plural(len(done), "thread is", "threads are") + " finished"
		return record(ended, Stop{Reason: ralph.ReasonComplete, Detail: detail}.Ended(s))
	}
	stop := Stop{Reason: reasons.Of(bad), Detail: text.Few(left, maxNamed, "; "), Cause: "threads_left"}
	return record(ended, stop.Ended(s))
}
