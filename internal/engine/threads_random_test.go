package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// drawThreads is a random run of threads: moods of agents, of advice and of people.
type drawThreads struct {
	Slots   int
	Threads []ralph.NewThread
	Moods   []uint32
	Advice  bool
	Die     []int64
}

func (x drawThreads) world(t *testing.T) *world {
	w := threadWorld(t, x.Slots, x.Threads...)
	pick := func(c ralphtest.Call, what string) uint32 {
		return x.Moods[dice(c.Task.ID, c.Iteration, what)%uint32(len(x.Moods))]
	}
	w.script.Agent = func(c ralphtest.Call) []ralph.Fact {
		if c.Stage == ralph.KindReview {
			switch pick(c, "review") % 4 {
			case 0:
				return reviews(c, ralph.ThenContinue, "mend it", 1)
			case 1:
				return reviews(c, ralph.ThenStop, "", 0.3)
			}
			return reviews(c, ralph.ThenStop, "", 1)
		}
		switch pick(c, "turn") % 10 {
		case 0:
			return []ralph.Fact{ralphtest.Fails(ralph.ErrClassServer)}
		case 1:
			return []ralph.Fact{ralphtest.Fails(ralph.ErrClassContext)}
		case 2:
			return limited(time.Time{})
		case 3:
			return says(ralph.SignalHuman, "which?")
		case 4:
			return says(ralph.SignalBlocked, "no key")
		case 5, 6:
			return says(ralph.SignalComplete, "")
		case 7:
			return turnOf(func(f *ralph.TurnEnded) { f.Changed = false })(c)
		}
		return says(ralph.SignalProgress, "more")
	}
	if x.Advice {
		w.script.Advise = func(s *ralph.State, f ralph.Advised) ralph.Advised {
			n := dice(f.Task, f.Turn, "advice", x.Moods)
			f.By, f.Reason, f.NextInput = "model", "the model's", "approve everything"
			f.Action = []ralph.ThreadAction{ralph.ThenContinue, ralph.ThenContinue, ralph.ThenStop, ralph.ThenReview, ralph.ThenPause, "nonsense"}[n%6]
			f.Confidence = []float64{1, 0.6, 0.59, 7}[n/6%4]
			return f
		}
	}
	return w
}

// E-005, E-006, E-082, E-096: whatever agents, models and people say, and wherever the engine dies: every run ends, each decision comes
// out the same again, no thread has two turns, and the budget is passed by no more than its last turn.
func TestAnyThreads(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawThreads{Slots: rapid.IntRange(0, 3).Draw(rt, "slots"), Advice: rapid.Bool().Draw(rt, "advice")}
		n := 1
		if x.Slots > 0 {
			n = rapid.IntRange(1, 5).Draw(rt, "threads")
		}
		for i := range n {
			x.Threads = append(x.Threads, ralph.NewThread{Prompt: fmt.Sprint("goal ", i), Limits: ralph.ThreadLimits{Turns: rapid.IntRange(1, 25).Draw(rt, "turns")}})
		}
		x.Moods = rapid.SliceOfN(rapid.Uint32Range(0, 1000), 12, 12).Draw(rt, "moods")
		x.Die = rapid.SliceOfN(rapid.Int64Range(5, 60), 0, 3).Draw(rt, "die")
		var problem error
		synctest.Test(t, func(t *testing.T) { problem = x.play(t) })
		if problem != nil {
			rt.Fatal(problem)
		}
	})
}

func (x drawThreads) play(t *testing.T) error {
	w := x.world(t)
	died := errors.New("killed")
	for session := 0; ; session++ {
		if session > len(x.Die)+2 {
			return errors.New("session after session, and no end")
		}
		w.start()
		if session < len(x.Die) {
			w.mem.CutAfter(w.mem.State().Seq+x.Die[session], died)
		}
		_, err := w.answering()
		if err == nil {
			break
		}
		if !errors.Is(err, died) {
			return err
		}
		ends := w.mem.Ends()
		after, err := ralphtest.Load(w.mem.Lines()[:ends[len(ends)-1]], nil)
		if err != nil {
			return err
		}
		w.mem = after
		time.Sleep(time.Hour)
	}
	if err := honest(w.mem); err != nil {
		return err
	}
	return x.laws(w)
}

// laws are what holds of every history of threads.
func (x drawThreads) laws(w *world) error {
	open, decided := map[ralph.TaskID]bool{}, map[string]bool{}
	for _, e := range w.mem.Events() {
		switch f := e.Fact.(type) {
		case ralph.SessionStarted:
			clear(open)
		case ralph.StepStarted:
			if _, ok := f.Step.(ralph.Turn); ok {
				if open[f.Task] {
					return fmt.Errorf("fact %d: %s has two turns", e.Seq, f.Task)
				}
				open[f.Task] = true
			}
		case ralph.TurnEnded:
			open[f.Task] = false
		case ralph.Decided:
			d := f.Decision
			if !slices.Contains([]ralph.ThreadAction{ralph.ThenContinue, ralph.ThenPause, ralph.ThenStop, ralph.ThenReview}, d.Action) {
				return fmt.Errorf("fact %d: %q was decided", e.Seq, d.Action)
			}
			if n := x.limit(f.Task); d.Action == ralph.ThenContinue && d.Turn >= n {
				return fmt.Errorf("fact %d: %s goes on after %d turns of %d", e.Seq, f.Task, d.Turn, n)
			}
			key := fmt.Sprint(f.Task, d.Turn)
			if decided[key] {
				return fmt.Errorf("fact %d: decided twice after turn %d of %s", e.Seq, d.Turn, f.Task)
			}
			decided[key] = true
		}
	}
	for _, t := range w.mem.State().Threads() {
		if !t.Status.Ended() {
			return fmt.Errorf("%s is %s at the end", t.ID, t.Status)
		}
	}
	return nil
}

// limit is how many turns a thread may have.
func (x drawThreads) limit(id ralph.TaskID) int {
	for i, n := range x.Threads {
		if id == ralph.TaskID(fmt.Sprintf("t-%d", i+1)) {
			return n.Limits.Turns
		}
	}
	return 0
}

// an engine that dies after any fact of a session of threads comes to the same end.
func TestThreadsCutAnywhere(t *testing.T) {
	x := drawThreads{Slots: 0, Threads: []ralph.NewThread{{Prompt: "goal", Limits: ralph.ThreadLimits{Turns: 20}}}}
	agent := func(c ralphtest.Call) []ralph.Fact {
		switch {
		case c.Stage == ralph.KindReview && c.Iteration < 8:
			return reviews(c, ralph.ThenContinue, "mend it", 1)
		case c.Stage == ralph.KindReview:
			return reviews(c, ralph.ThenStop, "", 1)
		case c.Iteration == 2:
			return []ralph.Fact{ralphtest.Fails(ralph.ErrClassServer)}
		case c.Iteration == 3 && len(c.Task.Run.Answers) == 0:
			return says(ralph.SignalHuman, "which?")
		case c.Iteration == 4:
			return says(ralph.SignalBlocked, "no key")
		case c.Iteration > 4:
			return says(ralph.SignalComplete, "")
		}
		return says(ralph.SignalProgress, "more")
	}
	begin := func(t *testing.T) *world {
		w := x.world(t)
		w.script.Agent = agent
		w.start()
		return w
	}
	end := func(w *world, reason ralph.Reason) []string {
		task := w.thread("t-1")
		return []string{string(reason), string(task.Status), fmt.Sprint(len(w.repo.Commits), " commits, ", task.Run.Iterations, " turns"), w.story("t-1")}
	}
	var want []string
	var first, last int64
	var ends []int64
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		first = w.mem.State().Seq
		reason, err := w.answering()
		if err != nil {
			t.Fatal(err)
		}
		want, last, ends = end(w, reason), w.mem.State().Seq, w.mem.Ends()
	})
	if want[1] != "done" {
		t.Fatalf("the uncut run: %v", want)
	}
	for seq := first; seq < last; seq++ {
		if !slices.Contains(ends, seq) { // the journal's file has all of a write, or none
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			died := errors.New("killed")
			w := begin(t)
			w.mem.CutAfter(seq, died)
			if _, err := w.answering(); !errors.Is(err, died) {
				t.Fatalf("after fact %d the engine should have died: %v", seq, err)
			}
			after, err := ralphtest.Load(w.mem.Lines(), nil)
			if err != nil {
				t.Fatal(err)
			}
			w.mem = after
			w.start()
			reason, err := w.answering()
			if err != nil {
				t.Fatal(err)
			}
			w.honest()
			if diff := cmp.Diff(want, end(w, reason)); diff != "" {
				t.Errorf("cut after fact %d: (-uncut +cut)\n%s", seq, diff)
			}
		})
	}
}
