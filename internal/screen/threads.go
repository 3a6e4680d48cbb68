package screen

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
)

// Thread is an agent that goes on by itself, as surfaces show it.
type Thread struct {
	status.Thread

	Auto  Auto      // what its switch says
	Doing string    // what goes on with it at this moment, or why nothing does
	Words string    // its agent's last words, while it is at work
	Turn  time.Time // since when its turn runs; zero between turns
	Slot  int       // 0: in the checkout, or without one
	Uses  []Use     // what it has used, and of how much
	Stops string    // its stop condition in words, "" where none ended it
	Past  string    // what thread-continue goes past, with a `=` where an amount has to follow
	Last  *LastTurn // nil before the first one has ended
}

// Auto is the word of the switch of what goes on by itself.
type Auto string

// What the switch of a thread says.
const (
	AutoRunning Auto = "running" // it goes on by itself
	AutoPaused  Auto = "paused"  // a person's word is waited for
	AutoStopped Auto = "stopped" // it is over, for whatever reason

	AutoCut  Auto = "interrupted" // its engine died while it was at work; the next one goes on with it
	AutoIdle Auto = "not running" // it goes on by itself as soon as an engine works here
)

// Use is how much was used of something that may be limited.
type Use struct {
	What  string  // turns, cost, time, tokens
	Words string  // as `3 of 20`
	Part  float64 // of the limit; 0 where there is none
}

// LastTurn is what the newest turn of a thread came to.
type LastTurn struct {
	Number  int
	Review  bool
	Exit    ralph.ExitKind
	Err     *ralph.AgentError
	Items   []ralph.ItemCount
	Files   []string // that its agent says it changed
	Diff    *ralph.DiffSummary
	Took    time.Duration
	Context int // percent of the agent's window
}

// ThreadList are the threads of the plan: those that wait for a person first, then those at
// work, what is ready, what is over. Each group is in the plan's order.
func ThreadList(s *ralph.State, engine status.Engine, now time.Time) []Thread {
	groups := [4][]Thread{}
	for _, t := range s.Threads() {
		x := threadOf(s, t, engine, now)
		at := 3
		switch x.State {
		case status.ThreadWaits, status.ThreadPaused:
			at = 0
		case status.ThreadRunning, status.ThreadCut:
			at = 1
		case status.ThreadReady:
			at = 2
		case status.ThreadStopped, status.ThreadFinished:
		}
		groups[at] = append(groups[at], x)
	}
	var out []Thread
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

// ThreadOf is one thread; false for what is none.
func ThreadOf(s *ralph.State, id ralph.TaskID, engine status.Engine, now time.Time) (Thread, bool) {
	t := s.Task(id)
	if t == nil || t.Run.Thread == nil {
		return Thread{}, false
	}
	return threadOf(s, t, engine, now), true
}

func threadOf(s *ralph.State, t *ralph.Task, engine status.Engine, now time.Time) Thread {
	x := Thread{Thread: status.ThreadIn(s, t, engine.Alive), Turn: t.Run.TurnAt, Slot: t.Run.Worktree.Slot}
	x.Auto = autoOf(x.State, engine.Alive)
	if x.State == status.ThreadCut {
		x.Turn = time.Time{} // it is over, and nobody knows since when
	}
	if x.Auto == AutoStopped {
		x.Slot = 0
	}
	if words := engine.Words[t.ID]; !strings.HasPrefix(words, "<ralph") { // what is meant for ralph is no word for people
		x.Words = words
	}
	if x.Stop != "" {
		x.Stops, x.Past = StopWords(x.Stop), x.Stop
		if strings.HasPrefix(x.Stop, "budget.") {
			x.Past += "="
		}
	}
	x.Doing = x.doing(s, t, engine, now)
	x.Uses = x.uses()
	x.Last = lastTurn(t)
	return x
}

// autoOf is what the switch says of a state.
func autoOf(s status.ThreadState, alive bool) Auto {
	switch s {
	case status.ThreadCut:
		return AutoCut
	case status.ThreadWaits, status.ThreadPaused:
		return AutoPaused
	case status.ThreadStopped, status.ThreadFinished:
		return AutoStopped
	case status.ThreadReady, status.ThreadRunning:
		if !alive {
			return AutoIdle
		}
	}
	return AutoRunning
}

// doing says what goes on with a thread at this moment.
func (x *Thread) doing(s *ralph.State, t *ralph.Task, engine status.Engine, now time.Time) string {
	turn := fmt.Sprintf("turn %d", x.Turns+1)
	switch {
	case x.State == status.ThreadFinished:
		return "its goal is reached"
	case x.State == status.ThreadStopped:
		return "stopped: " + report.OneLine(x.Reason)
	case x.State == status.ThreadWaits:
		return "waits for your word"
	case x.State == status.ThreadPaused:
		return "you paused it"
	case !engine.Alive:
		return "nobody works here: " + turn + " begins with the next session of threads"
	case !x.Turn.IsZero() && t.Run.Thread.Want != ralph.ThreadRun:
		return fmt.Sprintf("%s, then it is to %s", turn, t.Run.Thread.Want)
	case !x.Turn.IsZero():
		return turn
	}
	if words := status.DoingWords(s, t); words != "" {
		return words
	}
	if x.State == status.ThreadRunning {
		return "between turns"
	}
	if c, err := policy.Decode(s.Session.Config); err == nil {
		if until := policy.RestUntil(t, c); until.After(now) {
			return "rests after a turn that changed nothing"
		}
	}
	return turn + " begins when a slot is free"
}

// uses are what a thread has used, and of how much.
func (x *Thread) uses() []Use {
	use := func(what, used, limit string, part float64) Use {
		if limit == "" {
			return Use{What: what, Words: used}
		}
		return Use{What: what, Words: used + " of " + limit, Part: min(1, part)}
	}
	var turns, cost, spent, tokens string
	if x.Limits.Turns > 0 {
		turns = fmt.Sprint(x.Limits.Turns)
	}
	if x.Limits.Cost > 0 {
		cost = ralph.Dollars(x.Limits.Cost)
	}
	if x.Limits.Time > 0 {
		spent = ralph.Elapsed(x.Limits.Time)
	}
	used := x.Usage.Input + x.Usage.Output + x.Usage.CacheWrite // as its limit counts them
	if x.Limits.Tokens > 0 {
		tokens = fmt.Sprint(x.Limits.Tokens)
	}
	return []Use{
		use("turns", fmt.Sprint(x.Turns), turns, float64(x.Turns)/max(1, float64(x.Limits.Turns))),
		use("cost", x.Usage.Dollars(), cost, x.Usage.Cost/max(1e-9, x.Limits.Cost)),
		use("time", ralph.Elapsed(x.Spent), spent, float64(x.Spent)/max(1, float64(x.Limits.Time))),
		use("tokens", fmt.Sprint(used), tokens, float64(used)/max(1, float64(x.Limits.Tokens))),
	}
}

func lastTurn(t *ralph.Task) *LastTurn {
	f := t.Run.Last
	if f == nil {
		return nil
	}
	return &LastTurn{
		Number: f.Iteration, Review: f.Stage == ralph.KindReview, Exit: f.Exit, Err: f.Err, Items: f.Summary.Items, Files: f.Summary.Files,
		Diff: f.Summary.Diff, Took: f.Took, Context: report.InPercent(f.Context.Part()),
	}
}

// ItemWords say what an agent did in a turn, kind by kind.
func ItemWords(items []ralph.ItemCount) string {
	var parts []string
	for _, i := range items {
		noun := map[ralph.ItemKind]string{ralph.ItemReasoning: "thought", ralph.ItemTool: "tool call", ralph.ItemOther: "other item"}[i.Kind]
		parts = append(parts, text.Count(i.N, cmp.Or(noun, string(i.Kind))))
	}
	return strings.Join(parts, ", ")
}

// DiffWords say how much a turn changed; "" where nobody told.
func DiffWords(d *ralph.DiffSummary) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("%s, +%d -%d", text.Count(d.Files, "file"), d.Added, d.Deleted)
}

// StopWords say a stop condition to people.
func StopWords(stop string) string {
	switch stop {
	case ralph.StopUser:
		return "you stopped it"
	case ralph.StopFailed:
		return "its turn failed, and no retry mends that"
	case ralph.StopTokens:
		return "its tokens are used up"
	case ralph.StopTime:
		return "its time is used up"
	case ralph.StopCost:
		return "its money is used up"
	case ralph.StopTurns:
		return "its turns are used up"
	case ralph.StopUnanswered:
		return "a request was not answered in time"
	case ralph.StopFinished:
		return "its goal is reached"
	case ralph.StopRepeated:
		return "the same error came again and again"
	case ralph.StopCompaction:
		return "its agent shortened its history again and again"
	case ralph.StopNoProgress:
		return "several turns in a row changed nothing"
	}
	return text.OneLine(stop)
}
