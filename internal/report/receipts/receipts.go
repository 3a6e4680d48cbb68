// Package receipts owns decisions as people and programs read them: what was decided for a
// task, why, on which state and settings, what came of it, and the proof that it would be
// decided so again. It does not own the deciding (internal/policy) nor the deciding again
// (internal/policy/replay).
package receipts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// Receipt is one decision: what was decided for a task, why, and what came of it.
type Receipt struct {
	Seq        int64           `json:"seq"`
	At         time.Time       `json:"at"`
	Session    ralph.SessionID `json:"session_id"`
	Task       ralph.TaskID    `json:"task"`
	Name       string          `json:"name"`
	Step       string          `json:"step"` // turn, check, merge, ..., finish
	What       string          `json:"what"` // the step in words
	Rule       string          `json:"rule,omitempty"`
	Why        string          `json:"why,omitempty"`
	BasedOnSeq int64           `json:"saw"` // the newest fact of the state that it was decided on
	Now        time.Time       `json:"now"` // the time that it was decided at
	Outcome    *Outcome        `json:"outcome"`

	// The decision in the words that every engine of decisions has.
	Action     string  `json:"action"`     // continue, pause (a person is asked) or stop (the task ends)
	NextInput  string  `json:"next_input"` // what a turn tells its agent beside the prompt
	Reason     string  `json:"reason"`     // why
	Confidence float64 `json:"confidence"` // 0 to 1; the rules are always sure
	Stop       *string `json:"stop"`       // the stop condition that was hit, such as budget.cost; null for none

	// Execution says what became of the decision: executed; overridden, a stop
	// condition was hit where the work would have gone on; interrupted, the engine died;
	// active, it is under way.
	Execution string `json:"execution"`

	// Of a decision on a thread: whose advice it was and what it was, the question with its
	// version and hash, what was known of the thread, and what models were asked and said.
	By        string             `json:"by,omitempty"`
	Advised   ralph.ThreadAction `json:"advised,omitempty"`
	Signature string             `json:"signature,omitempty"`
	Input     json.RawMessage    `json:"input,omitzero"`
	Record    json.RawMessage    `json:"record,omitzero"`

	Cut bool `json:"cut,omitempty"` // there is no outcome that counts, as the engine died or was ended

	// Of a turn: the agent's own session and the folder with its output, how it
	// ended and why, what it was in short, and what its agent asked in the middle
	// of it.
	Thread   string            `json:"thread_id,omitempty"`
	TurnID   string            `json:"turn_id,omitempty"`
	Status   ralph.ExitKind    `json:"turn_status,omitempty"`
	Error    *ralph.AgentError `json:"turn_error,omitempty"`
	Turn     ralph.TurnSummary `json:"turn,omitzero"`
	Usage    ralph.Usage       `json:"usage,omitzero"`
	Requests []Request         `json:"requests,omitempty"`
}

// Request is what an agent asked in the middle of a turn, with the answer.
type Request struct {
	Seq     int64            `json:"seq,omitempty"` // of its fact
	At      time.Time        `json:"at"`
	Gate    ralph.ApprovalID `json:"gate,omitempty"` // where a person was asked
	Kind    string           `json:"kind"`           // approval, question
	Text    string           `json:"text"`
	Who     string           `json:"who,omitempty"` // by what a person was known for one
	Outcome string           `json:"outcome"`       // open, approved, denied, answered, expired, withdrawn
	Answer  string           `json:"answer,omitempty"`
	Rule    string           `json:"rule,omitempty"` // that answered without a person
}

// Outcome is the fact that a step led to.
type Outcome struct {
	Seq   int64     `json:"seq"`
	At    time.Time `json:"at"`
	Fact  string    `json:"fact"` // its kind, as in docs/facts.md
	Words string    `json:"words"`
}

// Receipts gathers the decisions of a journal.
type Receipts struct {
	Task    ralph.TaskID    // only of this task, its merges and what mends them; "" for all
	Session ralph.SessionID // only of this session; "" for all
	Most    int             // only so many, the newest; 0 for all
	Only    int64           // only the one with this number; 0 for all
	Before  int64           // only those with a smaller number; 0 for all

	Sessions int // how many sessions were asked for and are there
	list     []*Receipt
	open     map[ralph.TaskID]*Receipt // steps without an outcome so far
}

// Add takes in the next event; s is the state before it.
func (r *Receipts) Add(e ralph.Event, s *ralph.State) {
	switch f := e.Fact.(type) {
	case ralph.SessionStarted:
		for _, id := range slices.Sorted(maps.Keys(r.open)) {
			r.open[id].Cut = true
		}
		r.open = nil
		if r.Session == "" || r.Session == f.ID {
			r.Sessions++
		}
	case ralph.StepStarted:
		if old := r.open[f.Task]; old != nil {
			old.Cut = true
			delete(r.open, f.Task) // what comes now is the outcome of the new one, also of one that is not kept
		}
		if x := r.keep(e, s, f.Task); x != nil {
			x.decided(f.Step, f.Why, f.BasedOnSeq, f.DecidedAt)
			if r.open == nil {
				r.open = map[ralph.TaskID]*Receipt{}
			}
			r.open[f.Task] = x
		}
	case ralph.TaskEnded:
		r.ended(e, f, s)
	case ralph.RequestAnswered:
		r.request(f.Task, Request{
			Seq: e.Seq, At: e.At, Kind: string(f.Request.Kind), Text: report.RequestWords(f.Request), Outcome: string(f.Verdict), Rule: f.Rule,
		})
	case ralph.Answered:
		r.answered(f)
	case ralph.Guided:
		if x := r.open[f.Task]; x != nil {
			x.By, x.Signature, x.Record, x.Usage, x.Confidence = f.By, f.Signature, f.Record, f.Usage, f.Confidence
		}
		r.close(f.Task, e, report.GuidedWords(f))
	case ralph.Advised:
		if x := r.open[f.Task]; x != nil {
			x.Signature, x.Input, x.Record, x.Usage = f.Signature, f.Input, f.Record, f.Usage
		}
	case ralph.Decided:
		if x := r.open[f.Task]; x != nil {
			x.threadDecided(f.Decision)
		}
		r.close(f.Task, e, report.DecisionWords(f.Decision))
	default:
		if f, ok := e.Fact.(ralph.Asked); ok && f.Approval.InTurn {
			r.request(f.Approval.Task, Request{Seq: e.Seq, At: e.At, Gate: f.Approval.ID, Kind: f.Approval.Kind, Text: report.OneLine(f.Approval.Text), Outcome: "open"})
			return
		}
		if f, ok := e.Fact.(ralph.TurnEnded); ok {
			r.turnEnded(f)
		}
		if id, words := outcome(e.Fact); words != "" {
			r.close(id, e, words)
		}
	}
}

// ended: the end of a task is a decision itself, unless a person or an answer set it.
func (r *Receipts) ended(e ralph.Event, f ralph.TaskEnded, s *ralph.State) {
	words := fmt.Sprintf("%s: %s", f.Status, report.OneLine(f.Why.Text))
	r.close(f.ID, e, words)
	if f.BasedOnSeq == 0 {
		return
	}
	x := r.keep(e, s, f.ID)
	if x == nil {
		return
	}
	step := ralph.Finish{Status: f.Status, Retry: f.Retry}
	x.decided(step, f.Why, f.BasedOnSeq, f.DecidedAt)
	x.Outcome = &Outcome{e.Seq, e.At, f.Kind(), words}
}

// decided fills in what was decided, on what, and why.
func (x *Receipt) decided(step ralph.Step, why ralph.Why, saw int64, now time.Time) {
	x.Step, x.What, x.Rule, x.Why, x.BasedOnSeq, x.Now = step.StepName(), report.StepWords(step), why.Rule, why.Text, saw, now
	x.Action, x.Reason, x.Confidence = "continue", why.Text, 1
	switch step := step.(type) {
	case ralph.Turn:
		x.NextInput = step.Feedback
	case ralph.Ask:
		x.Action = "pause"
	case ralph.Finish:
		x.Action = "stop"
		switch {
		case step.Status == ralph.TaskDone:
		case step.Status == ralph.TaskPending && step.Retry:
			x.Action = "continue" // with another try
		default:
			x.Stop = stopCondition(why)
		}
	}
}

// threadDecided fills in what the rules made of advice on a thread.
func (x *Receipt) threadDecided(d ralph.ThreadDecision) {
	x.Action, x.NextInput, x.Reason, x.Confidence = string(d.Action), d.NextInput, d.Reason, d.Confidence
	x.By, x.Advised, x.Execution = d.By, d.Advised, "executed"
	if d.Overridden {
		x.Execution = "overridden"
	}
	if d.Stop != "" {
		x.Stop = &d.Stop
	}
}

// stopCondition is the one that was hit; nil for an end that the work itself led to.
// Older facts do not name it: of them it is known only where it was a budget.
func stopCondition(why ralph.Why) *string {
	switch {
	case why.Stop != "":
		return &why.Stop
	case why.Rule == "X-60":
		budget := "budget"
		return &budget
	}
	return nil
}

// execution is what became of the decision so far.
func (x *Receipt) execution() string {
	switch {
	case x.Cut:
		return "interrupted"
	case x.Outcome == nil:
		return "active"
	case x.Execution != "": // decided on a thread
		return x.Execution
	case x.Stop != nil:
		return "overridden"
	}
	return "executed"
}

func (r *Receipts) keep(e ralph.Event, s *ralph.State, id ralph.TaskID) *Receipt {
	t := s.Task(id)
	switch {
	case r.Session != "" && s.Session.ID != r.Session, r.Only != 0 && e.Seq != r.Only, r.Before != 0 && e.Seq >= r.Before, r.Task != "" && !belongs(t, id, r.Task):
		return nil
	}
	x := &Receipt{Seq: e.Seq, At: e.At, Session: s.Session.ID, Task: id}
	if t != nil {
		x.Name = t.Name
	}
	r.list = append(r.list, x)
	if r.Most > 0 && len(r.list) >= 2*r.Most { // now and then, so that each costs little
		r.list = slices.Clone(r.list[len(r.list)-r.Most:])
	}
	return x
}

// belongs reports whether the step of a task or stage is about the task that is asked for.
func belongs(t *ralph.Task, id, asked ralph.TaskID) bool {
	return id == asked || report.ParentIn(id) == asked || t != nil && (t.Parent == asked || slices.Contains(t.Members, asked))
}

// request notes what is asked in the turn under way.
func (r *Receipts) request(id ralph.TaskID, q Request) {
	if x := r.open[id]; x != nil {
		x.Requests = append(x.Requests, q)
	}
}

// answered notes the answer; the first one counts.
func (r *Receipts) answered(f ralph.Answered) {
	for _, id := range slices.Sorted(maps.Keys(r.open)) {
		list := r.open[id].Requests
		for i := range list {
			if q := &list[i]; q.Gate == f.ID && q.Outcome == "open" {
				q.Outcome, q.Answer, q.Who = report.AnsweredAs(f), report.OneLine(f.Text), f.Who.Words()
			}
		}
	}
}

// turnEnded adds what the turn was; a request without an answer ended with it.
func (r *Receipts) turnEnded(f ralph.TurnEnded) {
	x := r.open[f.Task]
	if x == nil {
		return
	}
	x.Turn, x.Usage, x.Thread, x.TurnID, x.Status, x.Error = f.Summary, f.Usage, f.Session, f.Dir, f.Exit, f.Err
	for i := range x.Requests {
		if x.Requests[i].Outcome == "open" {
			x.Requests[i].Outcome = string(ralph.Withdrawn)
		}
	}
}

func (r *Receipts) close(id ralph.TaskID, e ralph.Event, words string) {
	if x := r.open[id]; x != nil {
		x.Outcome = &Outcome{e.Seq, e.At, e.Fact.Kind(), words}
		switch e.Fact.(type) {
		case ralph.StepLost, ralph.StepLate:
			x.Cut = true
		}
		delete(r.open, id)
	}
}

// List are the receipts, oldest first.
func (r *Receipts) List() []Receipt {
	list := r.list
	if r.Most > 0 && len(list) > r.Most {
		list = list[len(list)-r.Most:]
	}
	out := make([]Receipt, len(list))
	for i, x := range list {
		out[i] = *x
		out[i].Execution = x.execution()
	}
	return out
}

// Ended reports whether every receipt so far has its outcome: what follows adds nothing to
// them.
func (r *Receipts) Ended() bool {
	return !slices.ContainsFunc(r.list, func(x *Receipt) bool { return x.Outcome == nil && !x.Cut })
}

// outcome is what a fact says about the step that led to it; "" for one that no step
// leads to.
func outcome(f ralph.Fact) (ralph.TaskID, string) {
	switch f := f.(type) {
	case ralph.TurnEnded:
		return f.Task, turnOutcome(f)
	case ralph.ChecksRan:
		return f.Task, checksOutcome(f)
	case ralph.Committed:
		return f.Task, orError(f.Error, committedWords(f))
	case ralph.Shelved:
		return f.Task, orError(f.Error, "put away: "+f.How)
	case ralph.Prepared:
		return f.Task, orError(f.Error, orElse("ready at "+text.ShortHash(f.Head), f.Head, "ready"))
	case ralph.Asked:
		if f.Approval.InTurn {
			return "", "" // the turn goes on
		}
		return f.Approval.Task, "asked: " + string(f.Approval.ID)
	case ralph.Compacted:
		return f.Task, fmt.Sprintf("%s: %s -> %s tokens", f.How, report.Many(f.Before.Used), report.Many(f.After.Used))
	case ralph.StepLost:
		return f.Task, report.LostWords(f)
	case ralph.StepLate:
		return f.Task, report.LateWords(f)
	}
	return mergeOutcome(f)
}

func mergeOutcome(f ralph.Fact) (ralph.TaskID, string) {
	switch f := f.(type) {
	case ralph.Merged:
		switch {
		case f.Conflict != nil:
			return f.Task, "conflicts in " + text.List(report.ConflictPaths(f.Conflict), 3)
		case f.Moved != "":
			return f.Task, "the branch went on meanwhile"
		}
		return f.Task, orError(f.Error, orElse("merged as "+text.ShortHash(f.Commit), f.Commit, "nothing to merge"))
	case ralph.Advanced:
		if f.Moved != "" {
			return f.Task, "the branch went on meanwhile"
		}
		return f.Task, orError(f.Error, "at "+text.ShortHash(f.Commit))
	case ralph.BaselineRan:
		switch {
		case f.Skipped != "":
			return f.Task, "not looked at: " + report.OneLine(f.Skipped)
		case len(f.Red) > 0:
			return f.Task, "red before the work: " + report.OneLine(text.List(report.RedNames(f), 3))
		}
		return f.Task, "all green before the work"
	case ralph.Published:
		return f.Task, orError(f.Error, "pushed "+f.Branch+" at "+text.ShortHash(f.Commit))
	case ralph.Landed:
		switch {
		case len(f.Dirty) > 0:
			return f.Task, "held: " + report.OneLine(text.List(f.Dirty, 3))
		case f.Moved != "":
			return f.Task, "the base branch went on meanwhile"
		}
		return f.Task, orError(f.Error, orElse("landed "+text.ShortHash(f.To), f.How, "not landed"))
	}
	return "", ""
}

func turnOutcome(f ralph.TurnEnded) string {
	parts := []string{"no signal"}
	switch {
	case f.Failed():
		parts[0] = report.ErrorWords(&f)
	case f.Mismatch != "":
		parts[0] = "its answer does not fit: " + report.OneLine(f.Mismatch)
	case f.Signal.Kind == ralph.SignalProgress:
		parts[0] = fmt.Sprintf("PROGRESS %d%%", f.Signal.Percent)
	case f.Signal.Kind != ralph.SignalNone:
		parts[0] = strings.TrimSuffix(string(f.Signal.Kind)+": "+report.Clip(f.Signal.Text, 100), ": ")
	case f.Answer != "":
		parts[0] = report.OneLine(f.Answer)
	}
	if f.Changed {
		parts = append(parts, "changed files")
	}
	parts = append(parts, report.Took(f.Took))
	if f.Usage.Cost > 0 {
		parts = append(parts, ralph.Dollars(f.Usage.Cost))
	}
	return strings.Join(parts, ", ")
}

func checksOutcome(f ralph.ChecksRan) string {
	var red []string
	for _, r := range f.Results {
		if !r.Pass && !slices.Contains(f.Known, r.Name) {
			red = append(red, report.RedWords(r))
		}
	}
	over := ralph.PassedOverWords(f.PassedOver())
	switch {
	case f.Pass && over != "":
		return report.OneLine(over) + ", " + report.Took(f.Took)
	case f.Pass && f.Empty:
		return "green, nothing to change, " + report.Took(f.Took)
	case f.Pass:
		return "green, " + report.Took(f.Took)
	}
	return strings.TrimSuffix("red: "+report.OneLine(text.List(red, 3)), ": ")
}

func orError(err, words string) string {
	if err != "" {
		return "failed: " + report.OneLine(err)
	}
	return words
}

// orElse is words when there is something to say them about.
func orElse(words, about, other string) string {
	if about == "" {
		return other
	}
	return words
}

// committedWords is the outcome of a commit that did not fail.
func committedWords(f ralph.Committed) string {
	switch {
	case f.Away != "":
		return "not committed: " + f.Away
	case f.Nothing || f.Short == "":
		return "nothing to commit"
	case len(f.Kept) > 0:
		return "committed " + f.Short + ", on top of commits of others"
	}
	return "committed " + f.Short
}
