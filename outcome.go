package ralph

import (
	"time"

	"github.com/ralph-loop/ralph/internal/tally"
)

// Why a step has no outcome.
const (
	LostCrash  = "crash"  // its engine died: kill -9, a power cut, a panic
	LostForced = "forced" // its engine was told to end at once
	LostBroken = "broken" // what it needs failed: a disk, git, the machine
)

// StepLost says that a step will never have an outcome, written by who knows it: the host
// that cut the step, or the next session where an engine died in the middle of it.
type StepLost struct {
	Task    TaskID `json:"task"`
	Receipt int64  `json:"receipt"` // the number of its step.started
	Step    string `json:"step"`    // its name: turn, check, ...
	Cause   string `json:"cause"`   // LostCrash, LostForced, LostBroken
	Text    string `json:"text,omitempty"`
}

// Kind implements Fact.
func (StepLost) Kind() string { return "step.lost" }

// About implements Fact.
func (f StepLost) About() TaskID { return f.Task }

func (f StepLost) fold(s *State, _ Event) {
	if !s.Flying(f.Task, f.Receipt) {
		return
	}
	s.turnsOver(f.Task)
	s.editTask(f.Task, (*Task).cut)
}

// cut ends the step that the task is at without an outcome: nothing of it counts.
func (t *Task) cut() {
	t.Run.InFlight = 0
	t.Run.TurnAt, t.Run.Reserved = time.Time{}, Usage{}
}

// StepLate stands in the place of an outcome that came when its task was not at that step
// any more: it was removed meanwhile, or its end was recorded by somebody else. Nothing of it
// is done to the task; only what it cost is counted, which is spent in any case.
type StepLate struct {
	Task    TaskID   `json:"task"`
	Receipt int64    `json:"receipt"`
	Step    string   `json:"step"`
	Facts   []string `json:"facts,omitempty"` // the kinds of the facts that do not count
	Usage   Usage    `json:"usage,omitzero"`
	Text    string   `json:"text,omitempty"`
}

// Kind implements Fact.
func (StepLate) Kind() string { return "step.late" }

// About implements Fact.
func (f StepLate) About() TaskID { return f.Task }

// Spent is what the turn used that counts no more.
func (f StepLate) Spent() Usage { return f.Usage.counted() }

func (f StepLate) fold(s *State, _ Event) {
	usage := f.Spent()
	s.Session.Usage = s.Session.Usage.Add(usage)
	s.Plan.Usage = s.Plan.Usage.Add(usage)
	s.count(func(t *Totals) { t.Usage = t.Usage.Add(usage) })
}

// Flying reports whether a task is at the step of that receipt.
func (s *State) Flying(task TaskID, receipt int64) bool {
	t := s.Task(task)
	return t != nil && receipt != 0 && t.Run.InFlight == receipt
}

// Answering is the outcome that was folded last: further facts of its write follow it.
type Answering struct {
	Receipt int64 `json:"receipt"`
	Seq     int64 `json:"seq"`
}

// answers reports whether what an event does counts: it answers no step, or the one that a
// task is at, or its write began with that.
func (s *State) answers(e Event) bool {
	last := s.Answering
	s.Answering = Answering{}
	if e.Answers == 0 {
		return true
	}
	at := func() bool {
		for t := range s.Marked(tally.Flying) {
			if t.Run.InFlight == e.Answers {
				return true
			}
		}
		return false
	}
	_, late := e.Fact.(StepLate)
	switch {
	case late:
		return true
	case last == Answering{e.Answers, e.Seq - 1}, s.Flying(e.Fact.About(), e.Answers), at():
		s.Answering = Answering{e.Answers, e.Seq}
		return true
	}
	return false
}

// Lost are the facts that say of each step under way that it will have no outcome.
func (s *State) Lost(cause, text string) []Fact {
	var facts []Fact
	for t := range s.Marked(tally.Flying) {
		facts = append(facts, StepLost{Task: t.ID, Receipt: t.Run.InFlight, Step: t.Run.Doing, Cause: cause, Text: text})
	}
	return facts
}
