package screen

import (
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// Happened is one line of what happened: a decision with its rule and reason, or what came.
type Happened struct {
	Seq      int64
	At       time.Time
	Task     ralph.TaskID // or the stage that it is about
	Decision bool
	Label    string
	Text     string
	Rule     string
	Why      string

	Receipt int64                 // its number, where it has one
	Thread  *ralph.ThreadDecision // what was decided after a turn of a thread
}

// Lately gathers what happened last, oldest first. It is given the facts in order.
type Lately struct {
	Most int // lines that are kept; 0 for all
	log  report.Log
	list []Happened
}

// Add takes in the next event; s is the state after it.
func (l *Lately) Add(e ralph.Event, s *ralph.State) {
	lines := l.log.Lines(e, s)
	x := Happened{Seq: e.Seq, At: e.At, Task: e.Fact.About()}
	switch f := e.Fact.(type) {
	case ralph.StepStarted:
		if l.log.Quiet() {
			return // one more try while there is no network
		}
		x.Decision, x.Receipt, x.Text, x.Rule, x.Why = true, e.Seq, report.StepWords(f.Step), f.Why.Rule, f.Why.Text
		l.keep(x)
		return
	case ralph.Decided:
		d := f.Decision
		x.Decision, x.Receipt, x.Thread, x.Text, x.Rule, x.Why = true, e.Answers, &d, string(d.Action), d.Rule, d.Reason
		l.keep(x)
		return
	case ralph.Asked:
		lines = lines[:min(1, len(lines))] // how to answer stands with what needs a person
	}
	for _, line := range lines {
		x.Label, x.Text = "", line
		if label, words, ok := strings.Cut(line, ": "); ok && label == strings.ToUpper(label) {
			x.Label, x.Text = strings.ToLower(label), words
		}
		l.keep(x)
	}
}

func (l *Lately) keep(x Happened) {
	l.list = append(l.list, x)
	if l.Most > 0 && len(l.list) > 2*l.Most {
		l.list = append([]Happened(nil), l.list[len(l.list)-l.Most:]...)
	}
}

// List is what happened, newest first.
func (l *Lately) List() []Happened {
	n := len(l.list)
	if l.Most > 0 {
		n = min(n, l.Most)
	}
	out := make([]Happened, 0, n)
	for i := range n {
		out = append(out, l.list[len(l.list)-1-i])
	}
	return out
}
