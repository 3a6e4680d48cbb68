package report_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// night draws what may happen in a night, fact by fact.
func night(rt *rapid.T) *story {
	x := newStory()
	tasks := []ralph.TaskID{"t-1", "t-2", "t-3", "t-4"}
	x.begin(ralph.Task{ID: "t-1", Name: "one"}, ralph.Task{ID: "t-2", Name: "two"}, ralph.Task{ID: "t-3", Name: "three", Deps: []ralph.TaskID{"t-1"}}, ralph.Task{ID: "t-4", Name: "four"})
	var gates []ralph.GateID
	for range rapid.IntRange(1, 60).Draw(rt, "facts") {
		id := rapid.SampledFrom(tasks).Draw(rt, "task")
		d := time.Duration(rapid.IntRange(0, 5000).Draw(rt, "seconds")) * time.Second
		switch rapid.IntRange(0, 16).Draw(rt, "what") {
		case 0:
			class := rapid.SampledFrom([]ralph.ErrorClass{ralph.ErrClassNetwork, ralph.ErrClassAuth, ralph.ErrClassLimit, ralph.ErrClassBusy}).Draw(rt, "class")
			x.limited(id, class, time.Duration(rapid.IntRange(1, 600).Draw(rt, "until"))*time.Second)
		case 1, 2:
			x.good(id, d)
			x.add(ralph.MergeQueued{Task: id, Branch: "ralph/" + string(id), Commit: "c"})
		case 3:
			x.start(id, 1)
			x.turn(id, d, func(f *ralph.TurnEnded) { f.Took = d / 3 })
		case 4:
			x.add(ralph.Control{Want: ralph.WantPause, From: rapid.SampledFrom([]ralph.PauseKind{"", ralph.PauseFailures, ralph.PauseLimits}).Draw(rt, "from")})
		case 5:
			x.add(ralph.Control{Want: ralph.WantRun})
		case 6:
			g := ralph.GateID("g-" + string(rune('a'+len(gates))))
			gates = append(gates, g)
			x.add(ralph.Asked{Gate: ralph.Gate{ID: g, Kind: "question", Task: id, Text: "which?", InTurn: rapid.Bool().Draw(rt, "in turn")}})
		case 7:
			if len(gates) > 0 {
				x.add(ralph.Answered{ID: rapid.SampledFrom(gates).Draw(rt, "gate"), Text: "this"})
			}
		case 8:
			x.add(ralph.TaskEnded{ID: id, Status: rapid.SampledFrom([]ralph.TaskStatus{ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskSkipped, ralph.TaskPending, ralph.TaskTimeout}).Draw(rt, "end")})
		case 9:
			x.add(ralph.SessionStarted{ID: x.s.Session.ID, Mode: "autopilot", Resumed: true, Config: []byte(pilotConfig)})
		case 10:
			x.add(ralph.SessionEnded{Reason: rapid.SampledFrom([]ralph.Reason{ralph.ReasonError, ralph.ReasonInterrupted, ralph.ReasonComplete}).Draw(rt, "reason"), Detail: "no space left on device"})
		case 11:
			x.add(ralph.Stalled{Since: x.now})
		case 12:
			x.add(ralph.Landed{Task: "land:a-1", Dirty: []string{"a"}})
		case 13:
			x.add(ralph.Landed{Task: "land:a-1", To: "b", How: "fast-forward"})
		case 14:
			x.add(ralph.TaskRetried{ID: id})
		case 15:
			x.add(ralph.Retrying{Task: id, Agent: "claude", Attempt: 1, Of: 2, Until: x.now.Add(d), Error: "server"})
		}
		x.pass(d)
	}
	return x
}

// Issue 14: whatever happens in a night, its standstills lie inside the window, are in
// order and are told once; their sum counts no time twice and is no longer than the window;
// and each task is in exactly one list.
func TestMorningOfAnyNight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := night(rt)
		first := x.events[0].At
		from := first.Add(time.Duration(rapid.Int64Range(0, int64(x.now.Sub(first))).Draw(rt, "from")))
		engine := report.Engine{Alive: rapid.Bool().Draw(rt, "alive")}
		m := report.MorningOf(x.events, engine, from, x.now)
		var all []ralph.Period
		for i, r := range m.Still {
			if r.From.Before(from) || r.To.After(x.now) || r.To.Before(r.From) || r.Seconds != r.To.Sub(r.From).Seconds() {
				rt.Fatalf("row %d outside of %s - %s: %+v", i, from, x.now, r)
			}
			if r.What == "" || !r.Lasts && r.Ended == "" {
				rt.Fatalf("row %d says too little: %+v", i, r)
			}
			for _, o := range m.Still[:i] {
				if o.Kind == r.Kind && o.Agent == r.Agent && o.Task == r.Task && o.Gate == r.Gate && r.From.Before(o.To) {
					rt.Fatalf("told twice: %+v and %+v", o, r)
				}
			}
			all = append(all, ralph.Period{From: r.From, To: r.To})
		}
		sum := 0.0
		for _, p := range ralph.Union(all) {
			sum += p.To.Sub(p.From).Seconds()
		}
		sum += float64(m.Figures.Short) * time.Minute.Seconds()
		if got := m.Figures.StillSeconds; got < 0 || got > x.now.Sub(from).Seconds()+1e-6 || got > sum+1e-6 {
			rt.Fatalf("%.0f s in a window of %.0f s, rows of %.0f s", got, x.now.Sub(from).Seconds(), sum)
		}
		lists := map[ralph.TaskID]int{}
		for _, r := range m.Needs {
			for _, id := range r.Tasks {
				lists[id]++
			}
		}
		for _, r := range m.Open {
			for _, id := range r.Tasks {
				lists[id]++
			}
		}
		landed := report.MorningOf(x.events, engine, time.Time{}, x.now).Landed // also before the window
		for _, r := range landed {
			for _, id := range r.Tasks {
				lists[id]++
			}
		}
		for _, task := range x.s.Plan.Tasks {
			if lists[task.ID] != 1 {
				rt.Fatalf("%s (%s, %q) is in %d lists", task.ID, task.Status, task.Run.Queue.State, lists[task.ID])
			}
		}
		if !slices.IsSortedFunc(m.Landed, func(a, b report.LandedRow) int { return a.At.Compare(b.At) }) {
			rt.Fatal("what landed is not in its order")
		}
	})
}

// The short form, from the state alone, says the same of a session as the facts do.
func TestBriefIsAsTheFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := night(rt)
		engine := report.Engine{Alive: rapid.Bool().Draw(rt, "alive")}
		whole := report.MorningOf(x.events, engine, x.s.Session.StartedAt, x.now)
		short := report.Brief(x.s, engine, x.now)
		if whole.Figures.Still != short.Figures.Still || whole.Figures.Needs != short.Figures.Needs || whole.Figures.Open != short.Figures.Open ||
			whole.Figures.Cost != short.Figures.Cost || whole.Figures.Tokens != short.Figures.Tokens {
			rt.Fatalf("\n%+v\n%+v\n%s---\n%s", whole.Figures, short.Figures, rowsOf(whole), rowsOf(short))
		}
		if d := whole.Figures.StillSeconds - short.Figures.StillSeconds; d > 1 || d < -1 {
			rt.Fatalf("%.0f s and %.0f s", whole.Figures.StillSeconds, short.Figures.StillSeconds)
		}
	})
}
