package past

import (
	"errors"
	"path"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	maxPasts = 16   // tasks whose past is kept
	MaxPast  = 5000 // facts that are read of a task's past
	maxTold  = 200  // lines: the newest
	// maxRunSteps are the steps of a thread's run that are shown, the newest.
	maxRunSteps = 120
)

// Tasks keeps what was read of the journal for the pages of tasks: a page that is made
// anew five times a second reads only what is new.
type Tasks struct {
	mu   sync.Mutex
	list []*Task // the one used last at the end
}

// Task is what the journal says of one task.
type Task struct {
	id    ralph.TaskID
	From  int64 // facts up to it were not read; 0: all that matter were
	seq   int64 // facts up to it are in here
	Turns []page.TurnRow
	Lines []page.Told
	End   page.TaskEnd
	Run   screen.RunPlan // of a thread
	Cut   int            // rows and lines that are left out

	begin int64        // facts up to it were not to be read
	then  *ralph.State // as it was with seq: a line is told with the state of its time
	rough bool         // the history has not been read so far yet: lines are told with today's state until it has
	log   report.Log
}

// Of is the past of a task, as far as the state is; the copy stays as it is. before gives
// a state before a fact, as near as is known.
func (p *Tasks) Of(source Journal, s *ralph.State, before func(seq int64) *ralph.State, id ralph.TaskID, first, last int64) (Task, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var x *Task
	for i, y := range p.list {
		if y.id == id {
			x = y
			p.list = append(p.list[:i], p.list[i+1:]...)
			break
		}
	}
	if x != nil && x.rough && near(before, x.begin) {
		x = nil
	}
	if x == nil {
		x = &Task{id: id, seq: max(0, first-1, last-MaxPast), Run: screen.RunPlan{Thread: id, Most: maxRunSteps}}
		if x.seq > first-1 {
			x.From = x.seq
		}
		x.begin, x.then = x.seq, before(x.seq+1)
		if x.rough = x.begin-x.then.Seq > FeedFold; x.rough {
			x.then = nil
		}
	}
	p.list = append(p.list, x)
	if len(p.list) > maxPasts {
		p.list = p.list[1:]
	}
	if x.seq >= last {
		return x.copied(), nil
	}
	after := x.seq
	if x.then != nil {
		after = x.then.Seq
	}
	err := source.Each(after, func(e ralph.Event) error {
		if e.Seq > s.Seq {
			return watch.ErrEnough
		}
		then := s
		if x.then != nil {
			x.then.Apply(e)
			then = x.then
		}
		lines := x.log.Lines(e, then)
		if e.Seq <= x.seq {
			return nil
		}
		x.add(e, then, lines)
		x.seq = e.Seq
		if e.Seq >= last {
			return watch.ErrEnough
		}
		return nil
	})
	if errors.Is(err, watch.ErrEnough) {
		err = nil
	}
	return x.copied(), err
}

func (x *Task) copied() Task {
	c := *x
	c.Turns, c.Lines = append([]page.TurnRow(nil), x.Turns...), append([]page.Told(nil), x.Lines...)
	return c
}

// near reports whether the state before a fact is known near enough to fold up to it.
func near(before func(seq int64) *ralph.State, seq int64) bool {
	return seq-before(seq+1).Seq <= FeedFold
}

// add takes one fact in; s is the state after it.
func (x *Task) add(e ralph.Event, s *ralph.State, lines []string) {
	if !report.Concerns(e, s, x.id) {
		return
	}
	for _, line := range lines {
		x.Lines = append(x.Lines, page.Told{Seq: e.Seq, At: e.At, By: e.By, Text: text.Clip(text.FirstLine(line), 300)})
	}
	if over := len(x.Lines) - maxTold; over > 0 {
		x.Lines = x.Lines[over:]
		x.Cut += over
	}
	if e.Fact.About() != x.id {
		return
	}
	x.Run.Add(e)
	switch f := e.Fact.(type) {
	case ralph.TurnEnded:
		row := page.TurnRow{
			Record: path.Base(f.Dir), Iteration: f.Iteration, Agent: f.Agent, Stage: string(f.Stage), At: e.At, Took: f.Took, Usage: f.Usage,
			Signal: string(f.Signal.Kind), Words: text.Clip(text.FirstLine(f.Signal.Text), page.MaxLine), Exit: string(f.Exit), Changed: f.Changed,
		}
		if f.Dir == "" {
			row.Record = ""
		}
		if f.Err != nil {
			row.Words = text.Clip(text.FirstLine(f.Err.Message), page.MaxLine)
		}
		x.Turns = append(x.Turns, row)
		if len(x.Turns) > page.MaxTurns {
			x.Turns = x.Turns[1:]
		}
	case ralph.ChecksRan:
		if n := len(x.Turns); n > 0 {
			x.Turns[n-1].Checks = checkWord(f)
		}
	case ralph.TaskEnded:
		x.End = page.TaskEnd{At: e.At, Status: f.Status, Rule: f.Why.Rule, Text: text.Clip(text.FirstLine(f.Why.Text), 400), By: e.By}
	}
}

func checkWord(f ralph.ChecksRan) string {
	if f.Pass && len(f.PassedOver()) > 0 {
		return "red, passed over"
	}
	if f.Pass {
		return "green"
	}
	return "red"
}
