package web

import (
	"errors"
	"path"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/view"
)

const (
	maxPasts = 16   // tasks whose past is kept
	maxPast  = 5000 // facts that are read of a task's past
	maxTurns = 200  // rows: the newest
	maxTold  = 200  // lines: the newest
)

// tasksPast keeps what was read of the journal for the pages of tasks: a page that is made
// anew five times a second reads only what is new.
type tasksPast struct {
	mu   sync.Mutex
	list []*taskPast // the one used last at the end
}

// taskPast is what the journal says of one task.
type taskPast struct {
	id    ralph.TaskID
	from  int64 // facts up to it were not read; 0: all that matter were
	seq   int64 // facts up to it are in here
	turns []view.TurnRow
	lines []view.Told
	end   view.TaskEnd
	cut   int // rows and lines that are left out

	begin int64        // facts up to it were not to be read
	then  *ralph.State // as it was with seq: a line is told with the state of its time
	rough bool         // the history has not been read so far yet: lines are told with today's state until it has
	log   report.Log
}

// of is the past of a task, as far as the state is; the copy stays as it is. before gives
// a state before a fact, as near as is known.
func (p *tasksPast) of(source Source, s *ralph.State, before func(seq int64) *ralph.State, id ralph.TaskID, first, last int64) (taskPast, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var x *taskPast
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
		x = &taskPast{id: id, seq: max(0, first-1, last-maxPast)}
		if x.seq > first-1 {
			x.from = x.seq
		}
		x.begin, x.then = x.seq, before(x.seq+1)
		if x.rough = x.begin-x.then.Seq > feedFold; x.rough {
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
			return errEnough
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
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return x.copied(), err
}

func (x *taskPast) copied() taskPast {
	c := *x
	c.turns, c.lines = append([]view.TurnRow(nil), x.turns...), append([]view.Told(nil), x.lines...)
	return c
}

// near reports whether the state before a fact is known near enough to fold up to it.
func near(before func(seq int64) *ralph.State, seq int64) bool {
	return seq-before(seq+1).Seq <= feedFold
}

// add takes one fact in; s is the state after it.
func (x *taskPast) add(e ralph.Event, s *ralph.State, lines []string) {
	if !report.Concerns(e, s, x.id) {
		return
	}
	for _, line := range lines {
		x.lines = append(x.lines, view.Told{Seq: e.Seq, At: e.At, By: e.By, Text: text.Clip(text.FirstLine(line), 300)})
	}
	if over := len(x.lines) - maxTold; over > 0 {
		x.lines = x.lines[over:]
		x.cut += over
	}
	if e.Fact.About() != x.id {
		return
	}
	switch f := e.Fact.(type) {
	case ralph.TurnEnded:
		row := view.TurnRow{
			Record: path.Base(f.Dir), Iteration: f.Iteration, Agent: f.Agent, Stage: string(f.Stage), At: e.At, Took: f.Took, Usage: f.Usage,
			Signal: string(f.Signal.Kind), Words: text.Clip(text.FirstLine(f.Signal.Text), maxLine), Exit: string(f.Exit), Changed: f.Changed,
		}
		if f.Dir == "" {
			row.Record = ""
		}
		if f.Err != nil {
			row.Words = text.Clip(text.FirstLine(f.Err.Message), maxLine)
		}
		x.turns = append(x.turns, row)
		if len(x.turns) > maxTurns {
			x.turns = x.turns[1:]
		}
	case ralph.ChecksRan:
		if n := len(x.turns); n > 0 {
			x.turns[n-1].Checks = checkWord(f)
		}
	case ralph.TaskEnded:
		x.end = view.TaskEnd{At: e.At, Status: string(f.Status), Rule: f.Why.Rule, Text: text.Clip(text.FirstLine(f.Why.Text), 400), By: e.By}
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
