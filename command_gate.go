package ralph

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// findGate returns an open gate or a refusal.
func (s *State) findGate(id GateID) (*Gate, error) {
	i := slices.IndexFunc(s.Gates, func(g *Gate) bool { return g.ID == id })
	if i < 0 {
		return nil, &Refusal{Why: fmt.Sprintf("no open gate %s", id), Hint: "`ralph gates` lists what waits; the first answer wins", Kind: ErrNotFound}
	}
	return s.Gates[i], nil
}

// Decidable reports whether the gate is approved or denied; a question is answered
// in words.
func (g *Gate) Decidable() bool {
	return g.Kind == GateMerge || g.Kind == GateCommit || g.Kind == GateStart || g.Kind == GateStep || g.Kind == GateApproval || g.Kind == GateOperation || g.Kind == GateTest
}

// GateQuestion is the kind of a gate that waits for words: NEEDS_HUMAN.
const GateQuestion = "question"

// AnswerGate answers a question; the first answer wins.
func (s *State) AnswerGate(id GateID, text string) ([]Fact, error) {
	g, err := s.findGate(id)
	if err != nil {
		return nil, err
	}
	if g.Decidable() {
		return nil, &Refusal{Why: fmt.Sprintf("%s is no question", id), Hint: fmt.Sprintf("decide it: `ralph approve %s` or `ralph deny %s --reason ...`", id, id), Kind: ErrUsage}
	}
	if strings.TrimSpace(text) == "" {
		return nil, &Refusal{Why: "an answer needs words", Kind: ErrUsage}
	}
	return []Fact{Answered{ID: id, Text: g.option(text)}}, nil
}

// option is the answer that a person chose by its number, from 1; other words are the
// answer themselves.
func (g *Gate) option(text string) string {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > len(g.Options) || slices.Contains(g.Options, strings.TrimSpace(text)) {
		return text
	}
	return g.Options[n-1]
}

// findDecidable returns an open gate that is approved or denied, or a refusal.
func (s *State) findDecidable(id GateID) (*Gate, error) {
	g, err := s.findGate(id)
	if err == nil && !g.Decidable() {
		err = &Refusal{Why: fmt.Sprintf("%s is a question", id), Hint: fmt.Sprintf("answer it: ralph answer %s \"...\"", id), Kind: ErrUsage}
	}
	return g, err
}

// Hears refuses an answer to an agent that is gone: with its engine, or because its time
// is over. engine says whether one works here.
func (s *State) Hears(id GateID, engine bool, now time.Time) error {
	i := slices.IndexFunc(s.Gates, func(g *Gate) bool { return g.ID == id })
	switch {
	case i < 0 || s.Gates[i].Heard(engine, now):
		return nil
	case s.Gates[i].By != "":
		return &Refusal{Why: fmt.Sprintf("the time to answer %s is over: what asked it has gone on without", id), Hint: "it asks anew when it wants to do that again", Kind: ErrNotFound}
	}
	mode := s.Session.Mode
	if mode == "" {
		mode = "agent"
	}
	return &Refusal{
		Why: fmt.Sprintf("the agent that asked %s is gone: its engine died", id), Kind: ErrNotFound,
		Hint: fmt.Sprintf("`ralph %s` runs its turn again, and the agent asks anew", mode),
	}
}

// ApproveGate lets pass what waits at a gate.
func (s *State) ApproveGate(id GateID) ([]Fact, error) {
	if _, err := s.findDecidable(id); err != nil {
		return nil, err
	}
	return []Fact{Answered{ID: id, Verdict: Approved}}, nil
}

// DenyGate refuses what waits at a gate: the session ends that was not to start,
// the task of a step is skipped, a merge is not made.
func (s *State) DenyGate(id GateID, reason string) ([]Fact, error) {
	g, err := s.findDecidable(id)
	if err != nil {
		return nil, err
	}
	facts := []Fact{Answered{ID: id, Verdict: Denied, Text: reason}}
	why := strings.TrimSpace(reason)
	switch g.Kind {
	case GateApproval, GateOperation, GateTest: // the agent reads why
		return facts, nil
	case GateCommit: // the spec fails, and its changes are put away
		return facts, nil
	case GateStart:
		if why == "" {
			why = "a person denied the start"
		}
		return append(facts, Control{Want: WantStop, Cause: why, Ends: ReasonDenied}), nil
	case GateStep:
		if why == "" {
			why = "a person said no to it"
		}
		return append(facts, TaskEnded{ID: g.Task, Status: TaskSkipped, Why: Why{Rule: "X-29", Text: why}}), nil
	}
	return append(facts, s.denyMerge(g, why)...), nil
}

// denyMerge ends the task of a denied merge as failed, with its branch kept; where
// the work itself was in doubt (weakened tests) it goes back to its agent with the
// reason.
func (s *State) denyMerge(g *Gate, why string) []Fact {
	if why == "" {
		why = "a person denied the merge: " + g.Text
	}
	facts := []Fact{TaskEnded{ID: g.Task, Status: TaskSkipped, Why: Why{Rule: "X-72", Text: why}}}
	t := s.Task(g.About)
	switch {
	case t == nil, t.Status != TaskDone: // sent back or left out meanwhile
	case t.Run.Queue.State == MergeWaiting:
		facts = append(facts, TaskRejected{t.ID, why})
	default:
		facts = append(facts, TaskEnded{ID: t.ID, Status: TaskFailed, Why: Why{Rule: "X-72", Text: why}})
	}
	return facts
}
