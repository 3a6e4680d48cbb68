package screen

import (
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
)

// Work is one agent at work, or work that waits: what holds a slot, or is done in the checkout.
type Work struct {
	Slot      int          // 0: in the checkout, or without a slot while it waits
	At        ralph.TaskID // the task or stage that it is
	Task      ralph.TaskID // of the plan; "" for a stage
	Name      string
	Kind      ralph.TaskKind
	Agent     string
	Iteration int
	Of        int // iterations that it may take; 0 where nobody said
	Progress  int // percent
	Turn      time.Time
	Worker    string // of a fleet that it is on: "on north"; "" for this machine
	State     WorkState
	Words     string // the agent's last words, or what is done for it meanwhile
	Doing     bool   // the words are what is done for it meanwhile
	Unchanged int
	Context   int // percent of the agent's window
	Filling   bool
}

// WorkState is how work stands, as a person reads it.
type WorkState string

// The states of work.
const (
	Working      WorkState = "working"
	BetweenTurns WorkState = "between turns"
	Checking     WorkState = "checking"
	WaitsForYou  WorkState = "waits for you"
	AtLimit      WorkState = "at its limit"
	Retries      WorkState = "retries"
	MayBeStuck   WorkState = "may be stuck"
	WorkCut      WorkState = "cut off"
)

// Standing is how a repository stands at one moment: what every list, bar and title of a surface
// is made of.
type Standing struct {
	Status status.StatusRecord
	Stage  status.Stage
	Needs  []status.Need // what waits for a person, most pressing first
	Work   []Work        // all that is under way, slots first
}

// Stand works it out. Each part reads the recorded settings: whoever shows several asks once.
func Stand(s *ralph.State, engine status.Engine, now time.Time) Standing {
	x := Standing{Status: status.Of(s, engine, now), Stage: status.QueryStage(s), Needs: status.Needs(s, engine, now)}
	x.Work = workList(s, engine, now, x.Status, x.Stage)
	return x
}

// workList is all that is under way, slots first. While no engine works it is what was cut off.
func workList(s *ralph.State, engine status.Engine, now time.Time, record status.StatusRecord, stage status.Stage) []Work {
	var out []Work
	waits := map[ralph.TaskID]status.WaitRecord{}
	for _, w := range record.Waiting {
		waits[w.Task] = w
	}
	for _, r := range stage.Slots {
		w := Work{
			Slot: r.Slot, At: r.At(), Task: r.Task, Name: r.Name, Kind: ralph.TaskKind(r.Kind), Agent: r.Agent, Iteration: r.Iteration, Of: r.MaxIterations,
			Progress: r.Progress, Unchanged: r.Unchanged, Context: r.ContextPercent, Filling: r.Filling(), Words: r.Note,
		}
		out = append(out, w.stands(s, engine, now, waits))
	}
	for t := range s.Work() {
		if t.Status != ralph.TaskActive || t.Run.Worktree.Slot != 0 || t.TakesSlot() && !t.IsBuild() {
			continue
		}
		if !t.IsBuild() && t.Run.TurnAt.IsZero() && status.DoingWords(s, t) == "" {
			continue
		}
		w := Work{
			At: t.ID, Task: t.ID, Name: t.Name, Kind: t.Kind, Agent: t.Run.Agent, Iteration: status.IterationOf(t), Of: status.MostIterations(t, 0),
			Progress: t.Run.Progress, Unchanged: t.Run.Unchanged, Context: int(100 * t.Run.Context.Part()), Words: t.Run.Note,
		}
		if !t.IsBuild() {
			w.Task = ""
		}
		out = append(out, w.stands(s, engine, now, waits))
	}
	return out
}

// stands fills in what the state and the engine know of the work.
func (w Work) stands(s *ralph.State, engine status.Engine, now time.Time, waits map[ralph.TaskID]status.WaitRecord) Work {
	t := s.Task(w.At)
	if t == nil {
		return w
	}
	if words := engine.Words[w.At]; words != "" && !strings.HasPrefix(words, "<ralph") { // what is meant for ralph is no word for people
		w.Words = words
	}
	doing := status.DoingWords(s, t)
	if doing != "" {
		w.Words, w.Doing = doing, true // what its agent said is over
	}
	w.Turn, w.Worker = t.Run.TurnAt, text.SafeLine(engine.Fleet.Where(w.At))
	wait, held := waits[w.At]
	asks := slices.ContainsFunc(s.Approvals, func(g *ralph.Approval) bool { return g.Task == w.At && g.Answerable(engine.Alive, now) })
	switch {
	case !engine.Alive:
		w.State = WorkCut
	case asks:
		w.State = WaitsForYou
	case held && wait.Why == "limit":
		w.State = AtLimit
	case held:
		w.State = Retries
	case t.Run.Warned:
		w.State = MayBeStuck
	case strings.HasPrefix(doing, "checking"):
		w.State = Checking
	case t.Run.TurnAt.IsZero():
		w.State = BetweenTurns
	default:
		w.State = Working
	}
	return w
}
