package policy

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// Explanation says why a task is not running, or was chosen: what
// `ralph why` shows. It is made of the very functions that decide.
type Explanation struct {
	Task   ralph.TaskID     `json:"task"`
	Name   string           `json:"name"`
	Status ralph.TaskStatus `json:"status"`
	Ready  bool             `json:"ready"`
	Rank   int              `json:"rank,omitempty"` // among the ready ones, 1 is next
	Score  int              `json:"score"`
	Parts  Points           `json:"parts"`
	Waits  []string         `json:"waits"` // what it waits for, one each
	Words  string           `json:"words"`
}

// Explain says how the scheduler sees a task now; nil when it is not in the plan.
func Explain(s *ralph.State, id ralph.TaskID, c Config, now time.Time) *Explanation {
	t := s.Task(id)
	if t == nil || !t.IsBuild() {
		return nil
	}
	parts := Score(s, t, c.Scoring)
	x := &Explanation{Task: id, Name: t.Name, Status: t.Status, Score: parts.Sum(), Parts: parts, Waits: []string{}}
	for n, r := range Ready(s, c) {
		if r.ID == id {
			x.Ready, x.Rank = true, n+1
		}
	}
	if s.Session.Live() {
		c = c.under(s.Session.Auto)
	}
	switch {
	case t.Status == ralph.TaskActive:
		x.active(s, t, c, now)
	case t.Status.Ended():
		x.ended(t)
	default:
		x.pending(s, t, c, now)
	}
	return x
}

// Lacks adds that the step of the task waits for a worker of a fleet that there is not: what is missing, and what to do;
// "" for nothing. No state knows of workers: whoever shows an explanation knows it of the moment.
func (x *Explanation) Lacks(t *ralph.Task, missing string) {
	if missing == "" || t == nil || t.Run.InFlight == 0 {
		return
	}
	x.Waits = append(x.Waits, "a worker: "+missing)
	x.Words = "its " + t.Counted() + " waits for a worker: " + missing
}

func (x *Explanation) active(s *ralph.State, t *ralph.Task, c Config, now time.Time) {
	if g := s.ApprovalOf(t.ID); g != nil {
		x.Waits = append(x.Waits, fmt.Sprintf("your answer to %s: %s", g.ID, g.Text))
		x.Words = "it waits for a person; its slot is free for others"
		return
	}
	where := ""
	if slot := t.Run.Worktree.Slot; slot > 0 {
		where = fmt.Sprintf(" in slot %d", slot)
	}
	at := fmt.Sprintf("%s %d", t.Counted(), t.Run.Iterations+1)
	x.Words = fmt.Sprintf("it is at work%s, %s", where, at)
	if t.Run.InFlight != 0 {
		for _, g := range s.Approvals {
			if g.InTurn && g.Task == t.ID {
				x.Waits = append(x.Waits, until("your word on "+string(g.ID), g.Deadline))
				x.Words = fmt.Sprintf("it waits%s in the middle of %s: %s", where, at, strings.Join(x.Waits, "; "))
			}
		}
		return
	}
	step, why := nextOf(s, t, c, now)
	if tell, ok := step.(ralph.Emit); ok { // it says so first, and then it waits
		if f, ok := tell.Fact.(ralph.Retrying); ok {
			step, why = ralph.Wait{Until: f.Until}, ralph.Why{Text: "the next try after: " + f.Error}
		}
	}
	if wait, ok := step.(ralph.Wait); ok {
		x.Waits = append(x.Waits, until(why.Text, wait.Until))
		x.Words = fmt.Sprintf("it waits%s before %s: %s", where, at, x.Waits[0])
	}
}

// until adds the time at which a wait ends by itself.
func until(what string, at time.Time) string {
	if at.IsZero() {
		return what
	}
	return what + ", until " + at.Format("15:04:05")
}

func (x *Explanation) ended(t *ralph.Task) {
	x.Words = fmt.Sprintf("it %s: %s", t.Status.Words(), cmp.Or(t.Run.Reason, "by a person"))
	q := t.Run.Queue
	switch {
	case t.Status != ralph.TaskDone || q.State == "":
	case q.State == ralph.MergeMerged:
		x.Words = fmt.Sprintf("it is done and merged as %.9s", q.Commit)
	default:
		x.Waits = append(x.Waits, "its merge, which is "+mergeWords(q))
		x.Words = "it is done; what depends on it waits for its merge"
	}
}

func mergeWords(q ralph.Queue) string {
	switch {
	case q.GaveUp != "":
		return "held for a person: " + q.GaveUp
	case q.State == ralph.MergeConflict && q.Merged != nil && q.Merged.Conflict != nil:
		return "in conflict in " + paths(q.Merged.Conflict)
	case q.State == ralph.MergeRed:
		return "red on the merged tree"
	}
	return "in the queue"
}

func (x *Explanation) pending(s *ralph.State, t *ralph.Task, c Config, now time.Time) {
	wait := func(format string, args ...any) { x.Waits = append(x.Waits, fmt.Sprintf(format, args...)) }
	for _, dep := range t.Deps {
		if d := s.Task(dep); !satisfied(d, c) {
			wait("%s, which is %s", describe(d), standing(d))
		}
	}
	if _, phase := s.OpenPhase(c.Isolated); t.Phase != phase {
		wait("phase %q to end: %s", phase, strings.Join(holding(s, phase, c), ", "))
	}
	ready := x.Ready
	x.engine(s, t, c, now, wait)
	switch {
	case !ready:
		x.Words = "it is not ready: it waits for " + strings.Join(x.Waits, "; ")
	case len(x.Waits) > 0:
		x.Words = fmt.Sprintf("it is ready, number %d in the order, and waits for %s", x.Rank, strings.Join(x.Waits, "; "))
	default:
		x.Words = "it is ready and next"
	}
}

// engine adds what holds every task, or this one although it is ready.
func (x *Explanation) engine(s *ralph.State, t *ralph.Task, c Config, now time.Time, wait func(string, ...any)) {
	if !s.Session.Live() || s.Session.Mode == "plan" {
		wait("an engine: `[[start autopilot]]` starts one")
		return
	}
	stop, _, ends := ending(s, c, now)
	switch {
	case s.Session.Want == ralph.WantStop:
		wait("the next start: the engine is stopping")
	case ends:
		wait("the next start: the session ends, %s", cmp.Or(stop.Detail, string(stop.Reason)))
	case s.Session.Want == ralph.WantPause:
		wait("`[[resume]]`: paused (%s)", s.Session.Cause)
	}
	if over := overSpec(s, c, now); over != "" {
		wait("the next start: its spec fails, %s", over)
	}
	x.person(s, t, c, wait)
	x.agent(s, t, c, now, wait)
	if !x.Ready {
		return
	}
	slots := []int{0}
	if c.Isolated {
		slots = look(s).freeSlots(c)
	}
	switch paused := s.PausedHere(); {
	case !c.Isolated && paused != nil:
		wait("%s, which is paused in your checkout with the work it has there: `[[thread-continue %s]]`, or stop it", describe(paused), paused.ID)
	case len(slots) == 0 || !c.Isolated && othersAtWork(s, t) >= c.Parallel:
		wait("a free slot: all %d are busy", c.Parallel)
	}
	if _, until := rested(s, slots, c, now); !until.IsZero() {
		wait("task.delay, until %s", until.Format("15:04:05"))
	}
	if x.Rank > 1 {
		wait("%d that come before it", x.Rank-1)
	}
}

// person adds what somebody has to say before it starts.
func (x *Explanation) person(s *ralph.State, t *ralph.Task, c Config, wait func(string, ...any)) {
	if g := s.ApprovalOfKind(ralph.ApprovalStart); g != nil && c.ApproveStart && !s.Session.Approved {
		wait("`[[approve %s]]`: %s", g.ID, g.Text)
	}
	switch mode := s.Session.Auto; {
	case chosen(t):
	case mode == ralph.Semi:
		wait("`[[assign %s]]`: in semi mode a person chooses", t.ID)
	case mode != ralph.Stepwise || t.Run.Approved:
	case s.ApprovalOf(t.ID) != nil:
		wait("`[[approve %s]]`: in mode step a person approves each task", s.ApprovalOf(t.ID).ID)
	default:
		wait("your approval, which is asked for when it is next: in mode step a person approves each task")
	}
}

// agent adds what its agent waits for: limits, and budgets that others may use up.
func (x *Explanation) agent(s *ralph.State, t *ralph.Task, c Config, now time.Time, wait func(string, ...any)) {
	if g := holds(s, c); g != nil {
		wait("an answer to %s (gate.scope: session)", g.ID)
	}
	switch choice := chooseAgent(s, t, c, now); {
	case choice.all:
		wait("%s", until("an agent: each that may do it is at its limit", choice.until))
	case choice.agent == "":
		wait("%s", until("its agent, which is at a limit for a moment", choice.until))
	case crowded(s, c, expected(s), now):
		wait("the turns under way, which may use up a budget")
	}
}

// standing is how far a task is that others wait for.
func standing(t *ralph.Task) string {
	switch {
	case t.Status == ralph.TaskDone && t.Unmerged():
		return "done, and its merge is " + mergeWords(t.Run.Queue)
	case t.Run.GivenUp:
		return "skipped after an error"
	}
	return string(t.Status)
}

// holding are the tasks that keep a phase open.
func holding(s *ralph.State, phase string, c Config) []string {
	var out []string
	for _, t := range s.Plan.Tasks {
		if t.Phase == phase && (!t.Status.Ended() || c.Isolated && t.Status == ralph.TaskDone && t.Unmerged()) {
			out = append(out, describe(t)+" is "+standing(t))
		}
	}
	return out
}
