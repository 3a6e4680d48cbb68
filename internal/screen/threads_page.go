package screen

import (
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
)

// What a list of threads shows at the most.
const (
	maxThreadCards   = 100
	maxThreadButtons = 24 // cards with buttons; all are on the thread's own page
)

// ThreadCard is a thread with what may be done about it.
type ThreadCard struct {
	Thread
	Offers []action.Available
}

// Threads are all threads, with what needs a person first.
type Threads struct {
	Cards  []ThreadCard
	More   int // that are not among the cards
	Counts []ThreadCount
	Offers []action.Available // what adds one
	Latest *Decision          // nil where nothing was decided yet
	Alive  bool               // an engine works here
	Auto   Auto               // the switch of all of them together
}

// ThreadCount is how many threads stand so.
type ThreadCount struct {
	State status.ThreadState
	Count int
}

// ThreadsOf are the threads of a state; world says what may be done.
func ThreadsOf(s *ralph.State, engine status.Engine, now time.Time, world action.Context) Threads {
	m := Threads{Alive: engine.Alive && s.Session.Live(), Auto: SessionAuto(s, engine)}
	count := map[status.ThreadState]int{}
	for _, x := range ThreadList(s, engine, now) {
		count[x.State]++
		if len(m.Cards) == maxThreadCards {
			m.More++
			continue
		}
		c := ThreadCard{Thread: x}
		if len(m.Cards) < maxThreadButtons {
			c.Offers = ThreadOffers(s, world, x.ID)
		}
		m.Cards = append(m.Cards, c)
	}
	for _, state := range []status.ThreadState{
		status.ThreadRunning, status.ThreadCut, status.ThreadReady, status.ThreadWaits, status.ThreadPaused, status.ThreadStopped, status.ThreadFinished,
	} {
		if n := count[state]; n > 0 {
			m.Counts = append(m.Counts, ThreadCount{state, n})
		}
	}
	for _, o := range action.AllAvailable(s, world, action.Plan, "") {
		if o.Action == "thread-add" {
			m.Offers = append(m.Offers, o)
		}
	}
	return m
}

// SessionAuto is what the switch of a whole session says.
func SessionAuto(s *ralph.State, engine status.Engine) Auto {
	switch x := s.Session; {
	case !engine.Alive, !x.Live(), x.Want == ralph.WantStop:
		return AutoStopped
	case x.Want == ralph.WantPause:
		return AutoPaused
	}
	return AutoRunning
}

// TaskOffers are what may be done about a task. Where it is a thread, its switch comes first, and
// what goes on with it comes before another try from the start.
func TaskOffers(s *ralph.State, world action.Context, id ralph.TaskID) []action.Available {
	all := action.AllAvailable(s, world, action.Task, string(id))
	if t := s.Task(id); t == nil || t.Run.Thread == nil {
		return all
	}
	out := ThreadOffers(s, world, id)
	for _, o := range all {
		if !slices.ContainsFunc(out, func(x action.Available) bool { return x.Action == o.Action }) {
			o.Primary = false
			out = append(out, o)
		}
	}
	return out
}

// ThreadOffers are what may be done about a thread as a thread, the switch first.
func ThreadOffers(s *ralph.State, world action.Context, id ralph.TaskID) []action.Available {
	var out []action.Available
	all := action.AllAvailable(s, world, action.Task, string(id))
	for _, name := range []string{"thread-resume", "thread-continue", "thread-pause", "message", "thread-stop"} {
		if name == "thread-continue" && len(out) > 0 {
			continue // of what a person paused it is the same as to resume it
		}
		for _, o := range all {
			if o.Action == name {
				out = append(out, o)
			}
		}
	}
	return out
}
