package policy

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tally"
)

// Points is a task's score with its five parts, in the order in which people see them.
type Points struct {
	Unblocks     int `json:"unblocks"`
	Critical     int `json:"critical"`
	QuickWin     int `json:"quick_win"`
	NearComplete int `json:"near_complete"`
	Retry        int `json:"retry"`
}

// Sum is the score.
func (p Points) Sum() int {
	return p.Unblocks + p.Critical + p.QuickWin + p.NearComplete + p.Retry
}

// board counts once what the scores of all tasks need, so that weighing a plan
// of a thousand tasks does not look at each pair of them.
type board struct {
	task       map[ralph.TaskID]*ralph.Task // that others wait on
	dependents map[ralph.TaskID]int         // unfinished tasks that wait on it
	children   map[ralph.TaskID]int         // of a parent
	closed     map[ralph.TaskID]int         // of these, done
}

func newBoard(s *ralph.State) board {
	var b board
	for _, t := range s.Plan.Tasks { // most plans have neither deps nor parents: then there is nothing to count
		b.add(t)
	}
	if len(b.dependents) == 0 {
		return b
	}
	b.task = make(map[ralph.TaskID]*ralph.Task, len(b.dependents))
	for _, t := range s.Plan.Tasks {
		if _, waited := b.dependents[t.ID]; waited {
			b.task[t.ID] = t
		}
	}
	return b
}

func (b *board) add(t *ralph.Task) {
	if len(t.Deps) > 0 && !t.Status.Ended() {
		if b.dependents == nil {
			b.dependents = map[ralph.TaskID]int{}
		}
		for i, dep := range t.Deps {
			if !slices.Contains(t.Deps[:i], dep) { // a person may have written it twice
				b.dependents[dep]++
			}
		}
	}
	if t.Parent == "" {
		return
	}
	if b.children == nil {
		b.children, b.closed = map[ralph.TaskID]int{}, map[ralph.TaskID]int{}
	}
	b.children[t.Parent]++
	if t.Status == ralph.TaskDone {
		b.closed[t.Parent]++
	}
}

// Score weighs a task.
func Score(s *ralph.State, t *ralph.Task, w Scoring) Points {
	return newBoard(s).score(t, w)
}

// Scores weighs several tasks, and counts what they share once.
func Scores(s *ralph.State, list []*ralph.Task, w Scoring) []Points {
	b := newBoard(s)
	out := make([]Points, len(list))
	for i, t := range list {
		out[i] = b.score(t, w)
	}
	return out
}

func (b board) score(t *ralph.Task, w Scoring) Points {
	return points(t.Weight(), b.dependents[t.ID], t.Parent != "" && 2*b.closed[t.Parent] > b.children[t.Parent], w)
}

func points(x ralph.Weight, dependents int, near bool, w Scoring) Points {
	p := Points{Unblocks: w.Unblocks * dependents, Retry: w.Retry * int(x.Retries)}
	if x.Critical {
		p.Critical = w.Critical
	}
	if x.QuickWin {
		p.QuickWin = w.QuickWin
	}
	if near {
		p.NearComplete = w.NearComplete
	}
	return p
}

// satisfied reports whether a dep no longer holds anything back.
func satisfied(t *ralph.Task, c Config) bool { return t == nil || !t.Holds(c.Isolated) }

// Ready returns the tasks that could start now, best first: the earliest phase
// only (phases are barriers), then what a person chose, then score, then priority,
// then plan order.
func Ready(s *ralph.State, c Config) []*ralph.Task {
	var list []choice
	for x := range readyOf(s, c) {
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b choice) int { return a.compare(b) })
	ready := make([]*ralph.Task, len(list))
	for i, x := range list {
		ready[i] = x.task
	}
	return ready
}

// best is the first of Ready, nil for none, of those with that claim at least: the scheduler needs no more of it.
// It looks at one task of each rank, not at all of them. A thread waits whose own agent is at its limit now;
// without a time none does.
func best(s *ralph.State, c Config, claim int8, now time.Time) *ralph.Task {
	phase, _ := s.OpenPhase(c.Isolated)
	var first choice
	at := 0
	for rank, places := range s.Ranked() {
		x := choiceOf(rank.Weight, points(rank.Weight, rank.Dependents, rank.Near, c.Scoring))
		held := rank.Held == tally.ByOthers || rank.Held == tally.ByMerge && c.Isolated
		if held || rank.Phase != phase || rank.Weight.Claim < claim || c.Session == ralph.ModeAuto && !rank.Weight.Thread {
			continue
		}
		for i := range places.All() {
			x.task = s.Plan.Tasks[i]
			if !ownLimit(s, x.task, now).IsZero() {
				continue
			}
			if first.task == nil || cmp.Or(x.compare(first), cmp.Compare(i, at)) < 0 {
				first, at = x, i
			}
			if !rank.Weight.Thread { // what comes behind it in the plan comes behind it here; of threads, who waited longest
				break
			}
		}
	}
	return first.task
}

// choice is a ready task with what it is compared by.
type choice struct {
	task                   *ralph.Task
	claim, points, urgency int
}

func choiceOf(w ralph.Weight, p Points) choice {
	return choice{claim: int(w.Claim), points: p.Sum(), urgency: int(w.Urgency)}
}

func (x choice) compare(y choice) int {
	return cmp.Or(cmp.Compare(y.claim, x.claim), cmp.Compare(y.points, x.points), cmp.Compare(x.urgency, y.urgency), x.turned().Compare(y.turned()))
}

// turned is when a thread had its last turn, zero for a task: of threads the one that has
// waited longest is next.
func (x choice) turned() time.Time {
	if x.task.Run.Thread == nil {
		return time.Time{}
	}
	return x.task.Run.LastAt
}

// readyOf yields the ready tasks in plan order.
func readyOf(s *ralph.State, c Config) iter.Seq[choice] {
	return func(yield func(choice) bool) {
		b := newBoard(s)
		_, phase := s.OpenPhase(c.Isolated)
		waits := func(d ralph.TaskID) bool { return !satisfied(b.task[d], c) }
		for _, t := range s.Plan.Tasks {
			if t.Status != ralph.TaskPending || t.Phase != phase || slices.ContainsFunc(t.Deps, waits) || !c.concerns(t) {
				continue
			}
			x := choiceOf(t.Weight(), b.score(t, c.Scoring))
			if x.task = t; !yield(x) {
				return
			}
		}
	}
}
