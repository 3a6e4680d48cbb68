package status_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
)

// night draws what may happen in a night, fact by fact.
func night(rt *rapid.T) *storytest.Story {
	x := storytest.New()
	tasks := []ralph.TaskID{"t-1", "t-2", "t-3", "t-4"}
	x.Begin(ralph.Task{ID: "t-1", Name: "one"}, ralph.Task{ID: "t-2", Name: "two"}, ralph.Task{ID: "t-3", Name: "three", Deps: []ralph.TaskID{"t-1"}}, ralph.Task{ID: "t-4", Name: "four"})
	var gates []ralph.ApprovalID
	for range rapid.IntRange(1, 60).Draw(rt, "facts") {
		id := rapid.SampledFrom(tasks).Draw(rt, "task")
		d := time.Duration(rapid.IntRange(0, 5000).Draw(rt, "seconds")) * time.Second
		switch rapid.IntRange(0, 16).Draw(rt, "what") {
		case 0:
			class := rapid.SampledFrom([]ralph.ErrorClass{ralph.ErrClassNetwork, ralph.ErrClassAuth, ralph.ErrClassLimit, ralph.ErrClassBusy}).Draw(rt, "class")
			x.Limited(id, class, time.Duration(rapid.IntRange(1, 600).Draw(rt, "until"))*time.Second)
		case 1, 2:
			x.Good(id, d)
			x.Add(ralph.MergeQueued{Task: id, Branch: "ralph/" + string(id), Commit: "c"})
		case 3:
			x.Start(id, 1)
			x.Turn(id, d, func(f *ralph.TurnEnded) { f.Took = d / 3 })
		case 4:
			x.Add(ralph.Control{Want: ralph.WantPause, From: rapid.SampledFrom([]ralph.PauseKind{"", ralph.PauseFailures, ralph.PauseLimits}).Draw(rt, "from")})
		case 5:
			x.Add(ralph.Control{Want: ralph.WantRun})
		case 6:
			g := ralph.ApprovalID("g-" + string(rune('a'+len(gates))))
			gates = append(gates, g)
			x.Add(ralph.Asked{Approval: ralph.Approval{ID: g, Kind: "question", Task: id, Text: "which?", InTurn: rapid.Bool().Draw(rt, "in turn")}})
		case 7:
			if len(gates) > 0 {
				x.Add(ralph.Answered{ID: rapid.SampledFrom(gates).Draw(rt, "gate"), Text: "this"})
			}
		case 8:
			x.Add(ralph.TaskEnded{ID: id, Status: rapid.SampledFrom([]ralph.TaskStatus{ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskSkipped, ralph.TaskPending, ralph.TaskTimeout}).Draw(rt, "end")})
		case 9:
			x.Add(ralph.SessionStarted{ID: x.S.Session.ID, Mode: "autopilot", Resumed: true, Config: []byte(storytest.PilotConfig)})
		case 10:
			x.Add(ralph.SessionEnded{Reason: rapid.SampledFrom([]ralph.Reason{ralph.ReasonError, ralph.ReasonInterrupted, ralph.ReasonComplete}).Draw(rt, "reason"), Detail: "no space left on device"})
		case 11:
			x.Add(ralph.Stalled{Since: x.Now})
		case 12:
			x.Add(ralph.Landed{Task: "land:a-1", Dirty: []string{"a"}})
		case 13:
			x.Add(ralph.Landed{Task: "land:a-1", To: "b", How: "fast-forward"})
		case 14:
			x.Add(ralph.TaskRetried{ID: id})
		case 15:
			x.Add(ralph.Retrying{Task: id, Agent: "claude", Attempt: 1, Of: 2, Until: x.Now.Add(d), Error: "server"})
		}
		x.Pass(d)
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
		first := x.Events[0].At
		from := first.Add(time.Duration(rapid.Int64Range(0, int64(x.Now.Sub(first))).Draw(rt, "from")))
		engine := status.Engine{Alive: rapid.Bool().Draw(rt, "alive")}
		m := status.MorningOf(x.Events, engine, from, x.Now)
		var all []ralph.Period
		for i, r := range m.Still {
			if r.From.Before(from) || r.To.After(x.Now) || r.To.Before(r.From) || r.Seconds != r.To.Sub(r.From).Seconds() {
				rt.Fatalf("row %d outside of %s - %s: %+v", i, from, x.Now, r)
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
		if got := m.Figures.StillSeconds; got < 0 || got > x.Now.Sub(from).Seconds()+1e-6 || got > sum+1e-6 {
			rt.Fatalf("%.0f s in a window of %.0f s, rows of %.0f s", got, x.Now.Sub(from).Seconds(), sum)
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
		landed := status.MorningOf(x.Events, engine, time.Time{}, x.Now).Landed // also before the window
		for _, r := range landed {
			for _, id := range r.Tasks {
				lists[id]++
			}
		}
		for _, task := range x.S.Plan.Tasks {
			if lists[task.ID] != 1 {
				rt.Fatalf("%s (%s, %q) is in %d lists", task.ID, task.Status, task.Run.Queue.State, lists[task.ID])
			}
		}
		if !slices.IsSortedFunc(m.Landed, func(a, b status.LandedRow) int { return a.At.Compare(b.At) }) {
			rt.Fatal("what landed is not in its order")
		}
	})
}

// The short form, from the state alone, says the same of a session as the facts do.
func TestBriefIsAsTheFacts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		x := night(rt)
		engine := status.Engine{Alive: rapid.Bool().Draw(rt, "alive")}
		whole := status.MorningOf(x.Events, engine, x.S.Session.StartedAt, x.Now)
		short := status.Brief(x.S, engine, x.Now)
		if whole.Figures.Still != short.Figures.Still || whole.Figures.Needs != short.Figures.Needs || whole.Figures.Failed != short.Figures.Failed || whole.Figures.Open != short.Figures.Open ||
			whole.Figures.Cost != short.Figures.Cost || whole.Figures.Tokens != short.Figures.Tokens {
			rt.Fatalf("\n%+v\n%+v\n%s---\n%s", whole.Figures, short.Figures, rowsOf(whole), rowsOf(short))
		}
		if d := whole.Figures.StillSeconds - short.Figures.StillSeconds; d > 1 || d < -1 {
			rt.Fatalf("%.0f s and %.0f s", whole.Figures.StillSeconds, short.Figures.StillSeconds)
		}
	})
}
