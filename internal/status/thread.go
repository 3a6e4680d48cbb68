package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// ThreadState is how a thread stands, in one word.
type ThreadState string

// The states of a thread.
const (
	ThreadReady    ThreadState = "ready"       // its next turn begins when it has a slot
	ThreadRunning  ThreadState = "running"     // it has its slot
	ThreadCut      ThreadState = "interrupted" // its engine died while it was at work; it goes on with the next one
	ThreadPaused   ThreadState = "paused"      // a person paused it
	ThreadWaits    ThreadState = "waits"       // for a person's word
	ThreadStopped  ThreadState = "stopped"     // a stop condition ended it
	ThreadFinished ThreadState = "finished"    // its goal is reached, and the checks pass
)

// Thread is a thread as people and programs read it. Cost is in dollars, times are in nanoseconds.
type Thread struct {
	ID        ralph.TaskID          `json:"id"`
	Name      string                `json:"name"`
	Goal      string                `json:"goal"`
	State     ThreadState           `json:"state"`
	Stop      string                `json:"stop,omitempty"`  // the stop condition that ended it
	Gate      ralph.ApprovalID      `json:"gate,omitempty"`  // what waits for a person
	Asks      string                `json:"asks,omitempty"`  // its words
	Agent     string                `json:"agent,omitempty"` // configured name
	Session   string                `json:"session,omitempty"`
	Dir       string                `json:"dir,omitempty"` // its worktree; "": the checkout
	Turns     int                   `json:"turns"`
	Usage     ralph.Usage           `json:"usage"`
	Spent     time.Duration         `json:"spent"`
	Limits    ralph.ThreadLimits    `json:"limits,omitzero"` // with what a person added
	Plan      []ralph.PlanStep      `json:"plan,omitempty"`  // the agent's own
	Diff      *ralph.DiffSummary    `json:"diff,omitempty"`  // of the last turn
	Items     []ralph.ItemCount     `json:"items,omitempty"` // likewise
	Decision  *ralph.ThreadDecision `json:"decision,omitempty"`
	Decisions []ralph.PastDecision  `json:"decisions,omitempty"` // the last ten
	Commit    string                `json:"commit,omitempty"`
	Reason    string                `json:"reason,omitempty"` // why it ended
	Behind    ralph.TaskID          `json:"behind,omitempty"` // the thread that is paused in the checkout, where this one would work

	no    string // how a no to what it asks is said, where that stops it
	again string // the link by which it goes on after its end
}

// Threads are the threads of the plan, in its order; never nil. alive: an engine works here.
func Threads(s *ralph.State, alive bool) []Thread {
	all := []Thread{}
	for _, t := range s.Threads() {
		all = append(all, ThreadIn(s, t, alive))
	}
	return all
}

// ThreadOf is one thread.
func ThreadOf(s *ralph.State, id ralph.TaskID, alive bool) (Thread, error) {
	t := s.Task(id)
	if t == nil || t.Run.Thread == nil {
		return Thread{}, &ralph.Refusal{Why: fmt.Sprintf("there is no thread %s", id), Hint: "`[[threads]]` lists them", Kind: ralph.ErrNotFound}
	}
	return ThreadIn(s, t, alive), nil
}

// ThreadIn is the thread that a task of a state is; the task must be one.
func ThreadIn(s *ralph.State, t *ralph.Task, alive bool) Thread {
	r, th := t.Run, t.Run.Thread
	x := Thread{
		ID: t.ID, Name: t.Name, Goal: t.Goal(), Agent: r.Agent, Session: r.Session, Dir: r.Worktree.Dir, Turns: r.Iterations,
		Usage: r.Usage, Spent: r.Spent, Plan: th.Plan, Decision: th.Decision, Decisions: th.Past, Commit: r.Commit, Reason: r.Reason, again: t.Again(),
		Limits: ralph.ThreadLimits{
			Tokens: plus(th.Limits.Tokens, th.More.Tokens), Cost: plus(th.Limits.Cost, th.More.Cost),
			Time: plus(th.Limits.Time, th.More.Time), Turns: plus(th.Limits.Turns, th.More.Turns),
		},
	}
	if x.Agent == "" {
		x.Agent = th.Agent
	}
	if r.Last != nil {
		x.Diff, x.Items = r.Last.Summary.Diff, r.Last.Summary.Items
	}
	gate := s.ApprovalOf(t.ID)
	switch {
	case t.Status == ralph.TaskDone:
		x.State = ThreadFinished
	case t.Status.Ended():
		x.State, x.Stop = ThreadStopped, t.StoppedBy()
	case gate != nil:
		x.State, x.Gate, x.Asks = ThreadWaits, gate.ID, gate.Text
		if gate.GoesOn() {
			x.no = fmt.Sprintf("; no stops it: `[[answer %s no]]`", gate.ID)
		}
	case th.Want == ralph.ThreadPause && r.TurnAt.IsZero():
		x.State, x.again = ThreadPaused, fmt.Sprintf("[[thread-resume %s]]", t.ID)
	case t.Status == ralph.TaskActive && !alive:
		x.State = ThreadCut
	case t.Status == ralph.TaskActive:
		x.State = ThreadRunning
	default:
		x.State = ThreadReady
		if p := s.PausedHere(); p != nil && r.Worktree.Dir == "" {
			x.Behind = p.ID
		}
	}
	return x
}

// plus is a limit with what a person added to it; 0 is none.
func plus[N int | int64 | float64 | time.Duration](limit, more N) N {
	if limit == 0 {
		return 0
	}
	return limit + more
}

// Words say how a thread stands beside its state: turns, cost, what was decided last.
func (t Thread) Words() string {
	words := fmt.Sprintf("%s, %s", text.Count(t.Turns, "turn"), t.Usage.Dollars())
	switch {
	case t.Asks != "":
		words += "; " + report.OneLine(t.Asks) + fmt.Sprintf(" (`[[thread-continue %s]]`%s)", t.ID, t.no)
	case t.State == ThreadPaused:
		words += "; `" + t.again + "` has it go on"
	case t.Behind != "":
		words += fmt.Sprintf("; waits for %s, which is paused in your checkout with the work it has there (`[[thread-continue %s]]`)", t.Behind, t.Behind)
	case t.Stop != "":
		words += "; " + t.Stop + ": " + report.OneLine(t.Reason) + " (`" + t.again + "`)"
	case t.State == ThreadStopped:
		words += "; " + report.OneLine(t.Reason)
	case t.Decision != nil:
		words += "; " + report.DecisionWords(*t.Decision)
	}
	return words
}

// Text is a thread with all that is known of it.
func (t Thread) Text(now time.Time) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("Thread:", "%s %s", t.ID, report.OneLine(t.Name))
	line("State:", "%s%s", t.State, bracketed(t.Stop))
	line("Goal:", "%s", strings.ReplaceAll(text.Plain(t.Goal), "\n", "\n           "))
	line("Agent:", "%s, in %s", t.Agent, cmp.Or(t.Dir, "your checkout"))
	if t.Session != "" {
		line("", "its session is %s", report.OneLine(t.Session))
	}
	line("Used:", "%s", strings.Join(t.used(), ", "))
	for i, p := range t.Plan {
		line(first(i, "Its plan:"), "[%s] %s", p.Status, report.OneLine(p.Text))
	}
	if t.Diff != nil {
		line("Last turn:", "%s, +%d -%d", text.Count(t.Diff.Files, "file"), t.Diff.Added, t.Diff.Deleted)
	}
	for i, d := range t.Decisions {
		line(first(i, "Decided:"), "after turn %d: %s%s: %s", d.Turn, d.Action, bracketed(d.Stop), report.OneLine(d.Reason))
	}
	if t.Asks != "" {
		line("Needs you:", "%s %s: `[[thread-continue %s]]`, or `[[answer %s <text>]]`%s", t.Gate, report.OneLine(t.Asks), t.ID, t.Gate, t.no)
	}
	if t.State == ThreadStopped || t.State == ThreadPaused {
		line("Go on:", "`%s`", t.again)
	}
	if t.Commit != "" {
		line("Commit:", "%s", text.ShortHash(t.Commit))
	}
	return b.String()
}

func (t Thread) used() []string {
	of := func(limit string) string {
		if limit == "" {
			return ""
		}
		return " of " + limit
	}
	var turns, cost, spent string
	if t.Limits.Turns > 0 {
		turns = fmt.Sprint(t.Limits.Turns)
	}
	if t.Limits.Cost > 0 {
		cost = ralph.Dollars(t.Limits.Cost)
	}
	if t.Limits.Time > 0 {
		spent = t.Limits.Time.String()
	}
	out := []string{text.Count(t.Turns, "turn") + of(turns), t.Usage.Dollars() + of(cost), ralph.Elapsed(t.Spent) + of(spent)}
	if t.Limits.Tokens > 0 {
		out = append(out, fmt.Sprintf("%d of %d tokens", t.Usage.Input+t.Usage.Output+t.Usage.CacheWrite, t.Limits.Tokens))
	}
	return out
}

func bracketed(word string) string {
	if word == "" {
		return ""
	}
	return " (" + word + ")"
}

// first is the name of a list, beside its first row alone.
func first(i int, name string) string {
	if i > 0 {
		return ""
	}
	return name
}

// threadStatus says how each thread stands.
func threadStatus(line writer, s *ralph.State, alive bool) {
	const most = 20
	all := Threads(s, alive)
	for i, t := range all {
		if i == most {
			line("", "and %d more: `[[threads]]`", len(all)-most)
			return
		}
		line(first(i, "Threads"), "%s %s %s: %s", t.ID, t.State, report.OneLine(text.Cut(t.Name, 60)), t.Words())
	}
}
