package ralph

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *State) answered(f Answered) {
	i := slices.IndexFunc(s.Approvals, func(g *Approval) bool { return g.ID == f.ID })
	if i < 0 {
		return // answered already: the first answer wins
	}
	gate := s.Approvals[i]
	s.Approvals = slices.Delete(slices.Clone(s.Approvals), i, i+1)
	if gate.InTurn {
		s.answeredInTurn(gate, f)
		return
	}
	switch gate.Kind {
	case ApprovalMerge:
		s.mergeAnswered(gate, f)
		return
	case ApprovalTest:
		s.testAnswered(gate, f)
		return
	case ApprovalCommit:
		s.commitAnswered(gate, f)
		return
	case ApprovalPush:
		s.pushAnswered(gate, f)
		return
	case ApprovalStart:
		s.Session.Approved = f.Verdict == Approved
		return
	case ApprovalStep:
		s.editTask(gate.Task, func(t *Task) { t.Run.Approved = f.Verdict == Approved })
		return
	}
	s.editTask(gate.Task, func(t *Task) {
		t.Run.Answers = append(slices.Clone(t.Run.Answers), QA{gate.Text, f.Text})
		t.Run.AnsweredAtIteration = t.Run.Iterations
	})
}

// commitAnswered folds a word on a commit that waits: since the checkout is elsewhere, or
// since it would change settings. Of these exactly what the person saw is approved.
func (s *State) commitAnswered(gate *Approval, f Answered) {
	s.editTask(gate.Task, func(t *Task) {
		r := &t.Run
		switch {
		case f.Verdict == Withdrawn: // another question takes its place
		case f.Verdict != Approved:
			r.Refused = cmp.Or(f.Text, "a person said no")
		case len(r.Queue.Settings) > 0:
			s.sawSettings(r.Queue.Settings)
			r.Away, r.AwayTries, r.Queue.Settings, r.Queue.Shown = "", 0, nil, ""
		default:
			r.Here = true
		}
	})
}

// The kinds of approvals that do not belong to a task at work: the whole start waits,
// or the next task does.
const (
	ApprovalStart = "start"
	ApprovalStep  = "step"
)

// unapprove takes back what was approved for an earlier start: each one asks anew.
func (s *State) unapprove() {
	s.dropApprovals(ApprovalStart, ApprovalStep)
	s.editTasks(func(t *Task) bool {
		was := t.Run.Approved && t.IsBuild()
		t.Run.Approved = t.Run.Approved && !was
		return was
	})
}

func (s *State) dropApprovals(kinds ...string) {
	s.Approvals = slices.DeleteFunc(slices.Clone(s.Approvals), func(g *Approval) bool { return slices.Contains(kinds, g.Kind) })
}

// dropStepApproval takes back the question whether a task may start: it has started
// (assigned by a person), or it is another task than was asked about.
func (s *State) dropStepApproval(id TaskID) {
	s.Approvals = slices.DeleteFunc(slices.Clone(s.Approvals), func(g *Approval) bool { return g.Kind == ApprovalStep && g.Task == id })
}

// gated reports whether an approval of the kind is open.
func (s *State) gated(kind string) bool {
	return slices.ContainsFunc(s.Approvals, func(g *Approval) bool { return g.Kind == kind })
}

// ApprovalOfKind returns the open approval of a kind, nil when there is none.
func (s *State) ApprovalOfKind(kind string) *Approval {
	i := slices.IndexFunc(s.Approvals, func(g *Approval) bool { return g.Kind == kind })
	if i < 0 {
		return nil
	}
	return s.Approvals[i]
}

// findApproval returns an open approval or a refusal.
func (s *State) findApproval(id ApprovalID) (*Approval, error) {
	i := slices.IndexFunc(s.Approvals, func(g *Approval) bool { return g.ID == id })
	if i < 0 {
		return nil, &Refusal{Why: fmt.Sprintf("no open gate %s", id), Hint: "`[[gates]]` lists what waits; the first answer wins", Kind: ErrNotFound}
	}
	return s.Approvals[i], nil
}

// Decidable reports whether a person says yes or no to it; a question is answered
// in words.
func (g *Approval) Decidable() bool {
	return g.Kind == ApprovalMerge || g.Kind == ApprovalCommit || g.Kind == ApprovalPush || g.Kind == ApprovalStart || g.Kind == ApprovalStep || g.Kind == ApprovalRequest || g.Kind == ApprovalOperation || g.Kind == ApprovalTest
}

// ApprovalQuestion is the kind of an approval that waits for words: NEEDS_HUMAN.
const ApprovalQuestion = "question"

// Answer answers a question; the first answer wins.
func (s *State) Answer(id ApprovalID, text string) ([]Fact, error) {
	g, err := s.findApproval(id)
	switch {
	case err != nil:
		return nil, err
	case g.Decidable():
		return nil, &Refusal{Why: fmt.Sprintf("%s is no question", id), Hint: fmt.Sprintf("decide it: `[[approve %s]]` or `[[deny %s --reason ...]]`", id, id), Kind: ErrUsage}
	case strings.TrimSpace(text) == "":
		return nil, &Refusal{Why: "an answer needs words", Kind: ErrUsage}
	case g.GoesOn() && slices.Contains([]string{"no", "n", "stop"}, strings.ToLower(strings.Trim(text, " \t\r\n.!"))):
		return s.WantThread(g.Task, ThreadStop) // which takes the question away
	}
	return []Fact{Answered{ID: id, Text: g.option(text)}}, nil
}

// GoesOn reports whether it is ralph's own question whether a thread goes on: a no stops it.
func (g *Approval) GoesOn() bool {
	return g.Kind == ApprovalQuestion && !g.InTurn && strings.HasPrefix(g.Text, "paused: ") && strings.Contains(g.Text, ": go on")
}

// option is the answer that a person chose by its number, from 1; other words are the
// answer themselves.
func (g *Approval) option(text string) string {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > len(g.Options) || slices.Contains(g.Options, strings.TrimSpace(text)) {
		return text
	}
	return g.Options[n-1]
}

// findDecidable returns an open approval that wants yes or no, or a refusal.
func (s *State) findDecidable(id ApprovalID) (*Approval, error) {
	g, err := s.findApproval(id)
	if err == nil && !g.Decidable() {
		err = &Refusal{Why: fmt.Sprintf("%s is a question", id), Hint: fmt.Sprintf("answer it: [[answer %s \"...\"]]", id), Kind: ErrUsage}
	}
	return g, err
}

// Answerable refuses an answer to an agent that is gone: with its engine, or because its time
// is over. engine says whether one works here.
func (s *State) Answerable(id ApprovalID, engine bool, now time.Time) error {
	i := slices.IndexFunc(s.Approvals, func(g *Approval) bool { return g.ID == id })
	switch {
	case i < 0 || s.Approvals[i].Answerable(engine, now):
		return nil
	case s.Approvals[i].By != "":
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

// Approve lets pass what waits for approval.
func (s *State) Approve(id ApprovalID) ([]Fact, error) {
	if _, err := s.findDecidable(id); err != nil {
		return nil, err
	}
	return []Fact{Answered{ID: id, Verdict: Approved}}, nil
}

// Deny refuses what waits for approval: the session ends that was not to start,
// the task of a step is skipped, a merge is not made.
func (s *State) Deny(id ApprovalID, reason string) ([]Fact, error) {
	g, err := s.findDecidable(id)
	if err != nil {
		return nil, err
	}
	facts := []Fact{Answered{ID: id, Verdict: Denied, Text: reason}}
	why := strings.TrimSpace(reason)
	switch g.Kind {
	case ApprovalRequest, ApprovalOperation, ApprovalTest: // the agent reads why
		return facts, nil
	case ApprovalCommit, ApprovalPush: // the spec fails, and its changes are put away; the branch stays here
		return facts, nil
	case ApprovalStart:
		if why == "" {
			why = "a person denied the start"
		}
		return append(facts, Control{Want: WantStop, Cause: why, Ends: ReasonDenied}), nil
	case ApprovalStep:
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
func (s *State) denyMerge(g *Approval, why string) []Fact {
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

// Asked has a task wait for a person.
type Asked struct {
	Approval Approval `json:"gate"`
	Judged   *Judged  `json:"judged,omitempty"` // of a request in a turn, unless it is too long to be kept
	// Suggested is what a model would have answered, of a question that it was asked about.
	Suggested *Suggestion `json:"suggested,omitempty"`
}

// Kind implements Fact.
func (Asked) Kind() string { return "asked" }

// About implements Fact.
func (f Asked) About() TaskID { return f.Approval.Task }

func (f Asked) fold(s *State, _ Event) {
	gate := f.Approval
	f.Suggested.spent(s, gate.Task)
	s.Approvals = append(s.Approvals, &gate)
	if gate.InTurn {
		return
	}
	s.editTask(gate.Task, func(t *Task) { t.Run.InFlight, t.Run.Worktree.Slot = 0, 0 }) // who waits holds no slot (B-054)
}

// WorkDir is the folder that an agent works in, as far as a decision looked at it: with it the
// same is decided again.
type WorkDir struct {
	Work string `json:"work"`           // absolute: the checkout or the task's worktree
	Home string `json:"home,omitempty"` // of the agent; "": not known, so that more may be one

	Real    map[string]string   `json:"real,omitempty"`  // where paths lead; "": to themselves
	Names   map[string][]string `json:"names,omitempty"` // what is in folders
	Files   map[string]*string  `json:"files,omitempty"` // small files; nil: none that can be read
	Aliases *GitAliases         `json:"aliases,omitempty"`
}

// GitAliases are the aliases of git somewhere; Known is nil when nobody could look.
type GitAliases struct {
	Known map[string]string `json:"known"`
}

// Judged is what a request was answered on beside the settings of its session.
type Judged struct {
	DecidedAt time.Time `json:"now"`
	Request   *Request  `json:"request,omitempty"` // where the fact has it in another form
	WorkDir
}

// Answered answers an approval; the first answer wins.
type Answered struct {
	ID      ApprovalID `json:"id"`
	Text    string     `json:"text,omitempty"`
	Verdict Verdict    `json:"verdict,omitempty"` // yes or no, or that nobody answered
	Rule    RuleID     `json:"rule,omitempty"`    // the rule that answered; "": a person, or nobody
	Who     Witness    `json:"who,omitzero"`      // by what a person was known for one
	// DecidedAt is the time that an answer was decided on which nobody gave, zero for a person's.
	DecidedAt time.Time `json:"now,omitzero"`
}

// Kind implements Fact.
func (Answered) Kind() string { return "answered" }

// About implements Fact.
func (Answered) About() TaskID { return "" }

func (f Answered) fold(s *State, _ Event) {
	s.answered(f)
}

// Verdict is a person's word on a gate.
type Verdict string

// The verdicts.
const (
	Approved Verdict = "approved"
	Denied   Verdict = "denied"
)

// RequestAnswered is the record of an answer that policy gave by itself.
type RequestAnswered struct {
	Task    TaskID  `json:"task"`
	Agent   string  `json:"agent"`
	Request Request `json:"request"`
	Verdict Verdict `json:"verdict,omitempty"` // "": a question, answered by Text
	Rule    string  `json:"rule"`              // which rule: a setting's key, with the pattern or path that decided, or `rule <id>`
	Text    string  `json:"text,omitempty"`    // the answer, or why not
	By      RuleID  `json:"by,omitempty"`      // of OpCheck: the rule that a person made
	Judged  *Judged `json:"judged,omitempty"`  // of a request in a turn, unless it is too long to be kept
	// Suggested is the answer of a model, of a question that it answered.
	Suggested *Suggestion `json:"suggested,omitempty"`
}

// Kind implements Fact.
func (RequestAnswered) Kind() string { return "request.answered" }

// About implements Fact.
func (f RequestAnswered) About() TaskID { return f.Task }

func (f RequestAnswered) fold(s *State, _ Event) {
	f.Suggested.spent(s, f.Task)
	if f.Request.Op == OpCheck { // a rule let red checks pass, or would not
		s.redAnswered(f.Task, Waiver{Rule: f.By}, f.Verdict, orDenial(f.Text, f.Request.Text))
		return
	}
	if f.Request.Kind == RequestQuestion && f.Text != "" { // as if a person had said it again
		s.editTask(f.Task, func(t *Task) {
			t.Run.Answers = append(slices.Clone(t.Run.Answers), QA{f.Request.Text, f.Text})
		})
	}
}

// Witness is by what a person was known for one when an answer was given. The zero
// Witness is of a journal that was written before, or of an answer that no person gave.
type Witness struct {
	Way  string `json:"way,omitempty"`  // terminal, command (one without a terminal), dashboard, token, fleet
	Name string `json:"name,omitempty"` // of the terminal, or who it was on another machine
	Pid  int    `json:"pid,omitempty"`  // of the process that said it
	// Unknown is why nobody could look whether the process comes from a turn; "": somebody
	// looked, and it does not.
	Unknown string `json:"unknown,omitempty"`
}

// The ways in which a person answers.
const (
	WayTerminal  = "terminal"
	WayCommand   = "command"
	WayDashboard = "dashboard"
	WayToken     = "token"
	WayFleet     = "fleet" // from another machine; Name is who that says it was
)

// Words is the witness for people, "" for none.
func (w Witness) Words() string {
	words := ""
	switch w.Way {
	case "":
		return ""
	case WayTerminal:
		words = "at " + w.Name
	case WayCommand:
		words = "by a command without a terminal"
	case WayDashboard:
		words = "in the dashboard"
	case WayToken:
		words = "with the API's token"
	case WayFleet:
		words = "from another machine, as " + w.Name
	}
	if w.Unknown != "" {
		words += ", from where is not known: " + w.Unknown
	}
	return words
}

// Witnessed adds to answers by what a person was known for one.
func Witnessed(facts []Fact, w Witness) []Fact {
	for i, f := range facts {
		if answer, ok := f.(Answered); ok && answer.Rule == "" {
			answer.Who = w
			facts[i] = answer
		}
	}
	return facts
}

// Approval is a question or decision that waits for a person.
type Approval struct {
	ID       ApprovalID `json:"id"`
	Kind     string     `json:"kind"`            // question, approval, operation, test, merge, start, step
	Task     TaskID     `json:"task,omitempty"`  // the task or stage that waits; start: none
	About    TaskID     `json:"about,omitempty"` // merge: the task whose work it is
	Text     string     `json:"text"`
	Detail   string     `json:"detail,omitempty"` // what to decide by: both sides of a conflict, findings, output
	AskedAt  time.Time  `json:"asked_at"`
	Deadline time.Time  `json:"deadline,omitzero"` // zero: no limit
	// InTurn: an agent waits for the answer in the middle of a turn; its task goes on
	// and keeps its slot.
	InTurn  bool     `json:"in_turn,omitempty"`
	Options []string `json:"options,omitempty"` // question: answers to choose from
	// Request is what the agent wants to do or know, of an approval in the middle of a turn.
	Request *Request `json:"request,omitempty"`
	// Rule is what holds it, in words: the pattern, the entry of the never list, the check.
	Rule  string `json:"rule,omitempty"`
	Never bool   `json:"never,omitempty"` // on the never list: no rule can come of its approval
	// By is who waits, where it is not the engine: a hook of a person's own session.
	By string `json:"by,omitempty"`
}

// Answerable reports whether somebody waits for the answer to an approval: who asked in the
// middle of a turn is gone with its engine, and a hook of a person's own session stays
// until its time is over.
func (g *Approval) Answerable(engine bool, now time.Time) bool {
	if g.By != "" {
		return g.Deadline.IsZero() || now.Before(g.Deadline)
	}
	return engine || !g.InTurn
}

// ApprovalOf returns the open approval that a task waits at, nil when there is none. What an
// agent asks in the middle of a turn holds only that turn.
func (s *State) ApprovalOf(task TaskID) *Approval {
	for _, g := range s.Approvals {
		if g.Task == task && !g.InTurn {
			return g
		}
	}
	return nil
}
