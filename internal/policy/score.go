package policy

import (
	"cmp"
	"slices"

	"github.com/ralph-loop/ralph"
)

// Points is a task's score with its five parts, in document B's order (B-047).
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
	task       map[ralph.TaskID]*ralph.Task
	dependents map[ralph.TaskID]int // unfinished tasks that wait on it
	children   map[ralph.TaskID]int // of a parent
	closed     map[ralph.TaskID]int // of these, done
}

func newBoard(s *ralph.State) board {
	n := len(s.Plan.Tasks)
	b := board{
		task: make(map[ralph.TaskID]*ralph.Task, n), dependents: map[ralph.TaskID]int{},
		children: map[ralph.TaskID]int{}, closed: map[ralph.TaskID]int{},
	}
	for _, t := range s.Plan.Tasks {
		b.task[t.ID] = t
		if !t.Status.Ended() {
			for i, dep := range t.Deps {
				if !slices.Contains(t.Deps[:i], dep) { // a person may have written it twice
					b.dependents[dep]++
				}
			}
		}
		if t.Parent != "" {
			b.children[t.Parent]++
			if t.Status == ralph.TaskDone {
				b.closed[t.Parent]++
			}
		}
	}
	return b
}

// Score weighs a task (B-041 to B-045).
func Score(s *ralph.State, t *ralph.Task, w Scoring) Points {
	return newBoard(s).score(t, w)
}

func (b board) score(t *ralph.Task, w Scoring) Points {
	p := Points{Unblocks: w.Unblocks * b.dependents[t.ID], Retry: w.Retry * t.RetryCount}
	if slices.Contains(t.Tags, "critical") {
		p.Critical = w.Critical
	}
	if slices.Contains(t.Tags, "quick-win") {
		p.QuickWin = w.QuickWin
	}
	if t.Parent != "" && 2*b.closed[t.Parent] > b.children[t.Parent] {
		p.NearComplete = w.NearComplete
	}
	return p
}

// satisfied reports whether a dep no longer holds anything back. A task that a
// person or the skip strategy left out does not hold back either.
func satisfied(t *ralph.Task) bool {
	return t == nil || t.Status == ralph.TaskDone || t.Status == ralph.TaskSkipped
}

// Ready returns the tasks that could start now, best first: the earliest phase
// only (phases are barriers), then score, then priority, then plan order.
func Ready(s *ralph.State, c Config) []*ralph.Task {
	b := newBoard(s)
	phase := openPhase(s)
	var ready []*ralph.Task
	for _, t := range s.Plan.Tasks {
		if t.Status != ralph.TaskPending || t.Phase != phase {
			continue
		}
		if !slices.ContainsFunc(t.Deps, func(d ralph.TaskID) bool { return !satisfied(b.task[d]) }) {
			ready = append(ready, t)
		}
	}
	if len(ready) < 2 {
		return ready
	}
	points := make(map[ralph.TaskID]int, len(ready))
	for _, t := range ready {
		points[t.ID] = b.score(t, c.Scoring).Sum()
	}
	slices.SortStableFunc(ready, func(a, b *ralph.Task) int {
		return cmp.Or(cmp.Compare(points[b.ID], points[a.ID]), cmp.Compare(urgency(a), urgency(b)))
	})
	return ready
}

// openPhase is the first phase, in order of appearance, with a task that has not ended.
func openPhase(s *ralph.State) string {
	var phases []string
	open := map[string]bool{}
	for _, t := range s.Plan.Tasks {
		if !slices.Contains(phases, t.Phase) {
			phases = append(phases, t.Phase)
		}
		if !t.Status.Ended() {
			open[t.Phase] = true
		}
	}
	for _, p := range phases {
		if open[p] {
			return p
		}
	}
	return ""
}

func urgency(t *ralph.Task) int {
	switch t.Priority {
	case "high":
		return 0
	case "low":
		return 2
	}
	return 1
}
