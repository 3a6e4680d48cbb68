package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// drawThreads is a random run of threads: moods of agents, of advice and of people.
type drawThreads struct {
	Slots   int
	Threads []ralph.NewThread
	Moods   []uint32
	Advice  bool
	Guided  bool
	People  []said
	Die     []int64
}

// said is what a person says to a thread in the middle of one of its turns.
type said struct {
	Thread int
	Turn   int
	Want   ralph.ThreadWant
}

func (x drawThreads) world(t *testing.T) *world {
	w := threadWorld(t, x.Slots, x.Threads...)
	pick := func(c enginetest.Call, what string) uint32 {
		return x.Moods[dice(c.Task.ID, c.Iteration, what)%uint32(len(x.Moods))]
	}
	w.script.Agent = func(c enginetest.Call) []ralph.Fact {
		for _, p := range x.People {
			if c.Task.ID == ralph.TaskID(fmt.Sprintf("t-%d", p.Thread)) && c.Iteration == p.Turn {
				w.says(c.Task.ID, p.Want)
			}
		}
		if c.Stage == ralph.KindReview {
			switch pick(c, "review") % 4 {
			case 0:
				return reviews(c, ralph.ThenContinue, "mend it", 1)
			case 1:
				return reviews(c, ralph.ThenStop, "", 0.3)
			}
			return reviews(c, ralph.ThenStop, "", 1)
		}
		switch pick(c, "turn") % 11 {
		case 0:
			return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
		case 1:
			return []ralph.Fact{enginetest.Fails(ralph.ErrClassContext)}
		case 2:
			if pick(c, "limit")%2 == 0 {
				return limited(c.Now.Add(time.Duration(1+pick(c, "until")%300) * time.Minute))
			}
			return limited(time.Time{})
		case 3:
			return says(ralph.SignalHuman, "which?")
		case 4:
			return says(ralph.SignalBlocked, "no key")
		case 5, 6:
			return says(ralph.SignalComplete, "")
		case 7:
			return turnOf(func(f *ralph.TurnEnded) { f.Changed = false })(c)
		case 8:
			if pick(c, "permanent")%4 == 0 {
				return []ralph.Fact{enginetest.Fails(ralph.ErrClassRequest)}
			}
		}
		return turnOf(func(f *ralph.TurnEnded) { f.Usage.Cost, f.Took = 0.1, time.Duration(1+pick(c, "took"))*time.Second })(c)
	}
	if w.c.Guidance, w.script.Config.Guidance = x.Guided, x.Guided; x.Guided {
		w.script.Guide = func(t *ralph.Task, part ralph.GuidancePart) ralph.Guided {
			n := dice(t.ID, 0, string(part), x.Moods)
			f := guides([]string{"respond", "understand", "plan", "nonsense"}[n%4], nil)(t, part)
			f.Outcome, f.Confidence = []string{ralph.GuidedAnswered, ralph.GuidedAnswered, "invalid", ralph.GuidedNobody}[n/4%4], []float64{1, 0.6, 0.59, -7}[n/16%4]
			f.Action = []ralph.ThreadAction{ralph.ThenContinue, ralph.ThenStop, ralph.ThenPause, "nonsense"}[n/64%4]
			return f
		}
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

// says has a person say something to a thread; what is refused (it is so already) changes nothing.
func (w *world) says(id ralph.TaskID, want ralph.ThreadWant) {
	_ = w.mem.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return s.WantThread(id, want) })
}

// E-005, E-006, E-054, E-068 to E-071, E-082 to E-084, E-096: whatever agents, models and people say, and wherever the engine dies: every
// run ends or waits for a person, each decision comes out the same again, hard stops win, no thread has two turns, none has two while another
// waits, and a budget is passed by no more than its last turn.
func TestAnyThreads(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		x := drawThreads{Slots: rapid.IntRange(0, 3).Draw(rt, "slots"), Advice: rapid.Bool().Draw(rt, "advice"), Guided: rapid.Bool().Draw(rt, "guided")}
		n := 1
		if x.Slots > 0 {
			n = rapid.IntRange(1, 5).Draw(rt, "threads")
		}
		for i := range n {
			limits := ralph.ThreadLimits{Turns: rapid.IntRange(1, 25).Draw(rt, "turns"), Cost: rapid.SampledFrom([]float64{0, 0, 0.45}).Draw(rt, "cost")}
			x.Threads = append(x.Threads, ralph.NewThread{
				Prompt: rapid.SampledFrom([]string{fmt.Sprint("goal ", i), "go"}).Draw(rt, "prompt"), Limits: limits,
				Agent: rapid.SampledFrom([]string{"", "", "codex", "claude"}).Draw(rt, "agent"),
			})
		}
		for range rapid.IntRange(0, 3).Draw(rt, "people") {
			want := rapid.SampledFrom([]ralph.ThreadWant{ralph.ThreadPause, ralph.ThreadPause, ralph.ThreadStop}).Draw(rt, "want")
			x.People = append(x.People, said{rapid.IntRange(1, n).Draw(rt, "to"), rapid.IntRange(1, 8).Draw(rt, "in"), want})
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
		after, err := enginetest.Load(w.mem.Lines()[:ends[len(ends)-1]], nil)
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
	var s ralph.State
	round := rounds{}
	for _, e := range w.mem.Events() {
		if err := errors.Join(hardStops(&s, e), round.hear(&s, e, w.c)); err != nil {
			return err
		}
		s.Apply(e)
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

// hardStops holds a decision against what stands in the state before it, and not against how
// policy looks at that.
func hardStops(s *ralph.State, e ralph.Event) error {
	f, ok := e.Fact.(ralph.Decided)
	if !ok {
		return nil
	}
	d, r := f.Decision, s.Task(f.Task).Run
	stopped := func(names ...string) bool { return d.Action == ralph.ThenStop && slices.Contains(names, d.Stop) }
	budgets := []string{ralph.StopCost, ralph.StopTurns}
	limits, more := r.Thread.Limits, r.Thread.More
	switch {
	case r.Thread.Want == ralph.ThreadStop && !stopped(ralph.StopUser):
		return fmt.Errorf("fact %d: a person stopped %s, and it is decided to %s (%s)", e.Seq, f.Task, d.Action, d.Stop)
	case r.Thread.Want == ralph.ThreadPause && d.Action != ralph.ThenPause && d.Action != ralph.ThenStop:
		return fmt.Errorf("fact %d: a person paused %s, and it is decided to %s", e.Seq, f.Task, d.Action)
	case limits.Cost > 0 && r.Usage.Known && r.Usage.Cost > limits.Cost+more.Cost && !stopped(append(budgets, ralph.StopUser, ralph.StopFailed)...):
		return fmt.Errorf("fact %d: %s has used $%.2f of $%.2f, and it is decided to %s (%s)", e.Seq, f.Task, r.Usage.Cost, limits.Cost, d.Action, d.Stop)
	case r.Last != nil && r.Last.Failed() && r.Last.Err != nil && r.Last.Err.Permanent() && !stopped(append(budgets, ralph.StopUser, ralph.StopFailed)...):
		return fmt.Errorf("fact %d: %s failed for good, and it is decided to %s", e.Seq, f.Task, d.Action)
	}
	return nil
}

// rounds are the turns that others have begun since a thread waits for its own.
type rounds map[ralph.TaskID]map[ralph.TaskID]int

// hear takes in an event; s is the state before it.
func (r rounds) hear(s *ralph.State, e ralph.Event, c policy.Config) error {
	if _, ok := e.Fact.(ralph.SessionStarted); ok {
		clear(r)
	}
	f, ok := e.Fact.(ralph.StepStarted)
	if !ok {
		return nil
	}
	turn, ok := f.Step.(ralph.Turn)
	if !ok {
		return nil
	}
	delete(r, f.Task) // a review is a turn of its thread too, also one that follows only after a kill
	if turn.Stage != ralph.KindThread {
		return nil
	}
	// A retry is of the turn before, and what a person has answered goes first.
	run := s.Task(f.Task).Run
	again := run.Last != nil && run.Last.Failed() || run.AnsweredAtIteration > 0 && run.AnsweredAtIteration == run.Iterations
	for _, t := range s.OpenThreads() {
		if t.ID == f.Task || !waitsForItsTurn(s, t, c, f.DecidedAt) {
			delete(r, t.ID)
			continue
		}
		if r[t.ID] == nil {
			r[t.ID] = map[ralph.TaskID]int{}
		}
		if !again {
			r[t.ID][f.Task]++
		}
		if r[t.ID][f.Task] > 1 {
			return fmt.Errorf("fact %d: %s has its second turn while %s waits for one", e.Seq, f.Task, t.ID)
		}
	}
	return nil
}

// waitsForItsTurn reports whether nothing but a slot is missing.
func waitsForItsTurn(s *ralph.State, t *ralph.Task, c policy.Config, now time.Time) bool {
	r := t.Run
	return t.Status == ralph.TaskPending && r.Thread.Want == ralph.ThreadRun && s.ApprovalOf(t.ID) == nil && len(s.Limits) == 0 &&
		(r.Last == nil || !r.Last.Failed()) && !now.Before(policy.RestUntil(t, c)) && s.Session.Want == ralph.WantRun
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

// an engine that dies after any fact of a session of threads comes to the same end: of one in the checkout, and of two
// that take turns in worktrees.
func TestThreadsCutAnywhere(t *testing.T) {
	for slots := range 2 {
		t.Run(fmt.Sprint(slots, " slots"), func(t *testing.T) { cutAnywhere(t, slots) })
	}
}

func cutAnywhere(t *testing.T, slots int) {
	x := drawThreads{Slots: slots}
	for range 1 + slots {
		x.Threads = append(x.Threads, ralph.NewThread{Prompt: "goal", Limits: ralph.ThreadLimits{Turns: 20}})
	}
	agent := func(c enginetest.Call) []ralph.Fact {
		switch {
		case c.Stage == ralph.KindReview && c.Iteration < 8:
			return reviews(c, ralph.ThenContinue, "mend it", 1)
		case c.Stage == ralph.KindReview:
			return reviews(c, ralph.ThenStop, "", 1)
		case c.Iteration == 2:
			return []ralph.Fact{enginetest.Fails(ralph.ErrClassServer)}
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
		out := []string{string(reason), fmt.Sprint(len(w.repo.Commits), " commits")}
		for _, task := range w.mem.State().Threads() {
			out = append(out, string(task.Status), fmt.Sprint(task.Run.Iterations, " turns"), w.story(task.ID))
		}
		return out
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
	if want[2] != "done" {
		t.Fatalf("the uncut run: %v", want)
	}
	for _, seq := range ralphtest.Cases(8, between(first, last)) {
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
			after, err := enginetest.Load(w.mem.Lines(), nil)
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
