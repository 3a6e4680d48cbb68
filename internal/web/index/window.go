package index

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/eventname"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// lineFormatter makes the lines of the log, fact by fact.
type lineFormatter struct {
	log   *report.Log
	namer *eventname.Namer
}

func newTeller(log *report.Log) *lineFormatter {
	// Whether a pause is reached is policy's to say; here it is told by no name.
	return &lineFormatter{log, eventname.New(func(*ralph.State, time.Time) bool { return false })}
}

// lines are those of an event; s is the state after it.
func (t *lineFormatter) lines(e ralph.Event, s *ralph.State) []Line {
	texts := t.log.Lines(e, s)
	if len(texts) == 0 {
		return nil
	}
	out := make([]Line, len(texts))
	names, tasks := t.namer.Names(e, s), report.ConcernedBy(e, s)
	for i, words := range texts {
		out[i] = Line{Seq: e.Seq, At: e.At, Names: names, Task: e.Fact.About(), Tasks: tasks, Rule: ruleOf(e.Fact), Text: text.Cut(words, maxWords)}
	}
	return out
}

// A state is kept at so many places, as far apart as need be: what lies in the past can
// be read from the nearest one on.
const (
	maxMarks = 24
	firstGap = 1024
)

// checkpoints are states at places of the journal.
type checkpoints struct {
	gap  int64
	list []mark
}

type mark struct {
	state *ralph.State
	log   *report.Log
}

func (m *checkpoints) add(e ralph.Event, s *ralph.State, log *report.Log) {
	if e.Seq%m.gap != 0 {
		return
	}
	if len(m.list) == maxMarks {
		m.gap *= 2
		m.list = slices.DeleteFunc(m.list, func(x mark) bool { return x.state.Seq%m.gap != 0 })
		if e.Seq%m.gap != 0 {
			return
		}
	}
	m.list = append(m.list, mark{s.Clone(), log.Clone()})
}

// before is the newest state before a fact, as copies that may move on.
func (m *checkpoints) before(seq int64) (*ralph.State, *report.Log) {
	for _, x := range slices.Backward(m.list) {
		if x.state.Seq < seq {
			return x.state.Clone(), x.log.Clone()
		}
	}
	return &ralph.State{}, &report.Log{}
}

// Before is a state before a fact, as near as is known: who needs what was then folds the
// journal from there on.
func (x *Index) Before(seq int64) *ralph.State {
	x.mu.Lock()
	defer x.mu.Unlock()
	s, _ := x.fold.marks.before(seq)
	return s
}

var errEnough = errors.New("enough")

// Window reads the lines of the facts from first to last out of the journal: those that
// match, the newest so many, or with oldest the oldest so many. The lines of one fact
// stay together.
func (x *Index) Window(ctx context.Context, first, last int64, match func(*Line) bool, most int, oldest bool) ([]Line, error) {
	x.mu.Lock()
	state, log := x.fold.marks.before(first)
	x.mu.Unlock()
	t := newTeller(log)
	var out []Line
	err := x.opt.Journal.Each(state.Seq, func(e ralph.Event) error {
		if e.Seq > last || oldest && len(out) >= most {
			return errEnough
		}
		state.Apply(e)
		for _, l := range t.lines(e, state) {
			if e.Seq >= first && match(&l) {
				out = append(out, l)
			}
		}
		if len(out) > 4*most {
			out = slices.Delete(out, 0, len(out)-2*most)
		}
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if oldest {
		return out, nil
	}
	return NewestWhole(out, most), nil
}

// NewestWhole are about the newest so many lines, none without the others of its fact.
func NewestWhole(list []Line, most int) []Line {
	cut := max(0, len(list)-most)
	for cut > 0 && cut < len(list) && list[cut].Seq == list[cut-1].Seq {
		cut--
	}
	return list[cut:]
}
