// Package action owns what a person can do, from any surface: each action once, with its
// name, its key, its command, what it asks before it is done, and what undoes it. Commands, the
// dashboard's buttons, its JSON API and its keys all come from one table. Words for people name
// actions as links, which each surface writes its own way. It decides nothing: what an action
// means is a command of the root package, and what needs git, processes or files is done by the
// Backend.
package action

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// Subject is what an action is about; Input.ID names it.
type Subject string

// The subjects.
const (
	Engine Subject = "engine" // the running engine, or the one to be started; no ID
	Task   Subject = "task"
	Gate   Subject = "gate"
	Spec   Subject = "spec"  // a record of the inbox
	Inbox  Subject = "inbox" // the queue as a whole; no ID
	Rule   Subject = "rule"
	Plan   Subject = "plan" // the plan of the current spec; no ID
	// Service is one that progress is sent to.
	Service Subject = "service"
	// Worker is one of a fleet, on any machine.
	Worker Subject = "worker"
)

// Named reports whether what the subject is has IDs.
func (s Subject) Named() bool { return s != Engine && s != Inbox && s != Plan }

// Result is what came of an action, in words, and what takes it back; nil where nothing
// can, or where it is one of the buttons beside it.
type Result struct {
	Said string `json:"said" doc:"what came of it, in words"`
	ID   string `json:"id,omitempty" doc:"what was made, where something was: a task, a record of the inbox, a rule"`
	Undo *Call  `json:"undo,omitempty" doc:"the action that takes it back"`
}

// Call is an action with its input.
type Call struct {
	Action string `json:"action"`
	Input  Input  `json:"input"`
}

// Available is an action that may be taken now, as a button or a form shows it.
type Available struct {
	Action  string  `json:"action"`
	ID      string  `json:"id,omitempty"`
	Title   string  `json:"title" doc:"the words on its button"`
	Key     string  `json:"key,omitempty" doc:"the key that does it: r e R X + p s a d"`
	Ask     string  `json:"ask,omitempty" doc:"the question that it is an answer to"`
	Confirm string  `json:"confirm,omitempty" doc:"to be asked before it is done"`
	Primary bool    `json:"primary,omitempty" doc:"what a person most likely wants"`
	Danger  bool    `json:"danger,omitempty" doc:"it takes something away"`
	Fields  []Field `json:"fields,omitempty"`
	Preset  Input   `json:"-"` // what a form of it says without asking: an undo
}

// Field is one thing that a person may or must say with an action.
type Field struct {
	Name     string   `json:"name" doc:"as in the input's JSON"`
	Label    string   `json:"label"`
	Kind     string   `json:"kind" enum:"text,area,number,choice,check"`
	Choices  []string `json:"choices,omitempty"`
	Value    string   `json:"value,omitempty" doc:"at first"`
	Required bool     `json:"required,omitempty"`
}

// Context is what decides beside the state which actions are offered.
type Context struct {
	Engine bool // an engine works here now
	Past   bool // what is shown was then: nothing can be done about it
	Now    time.Time
	Usual  ralph.Allowance // task.max_iterations and task.timeout: of a task that says none itself
	Carry  bool            // agent mode left a session to be resumed (ralph/.agent-session)
	Specs  []string        // files in ralph/specs
	// Workers are those of the fleet that take steps of the coordinator at work.
	Workers []string
	By      string // the surface, for rules: cli, web, ui
	Cause   string // the surface in words, for what changes an engine's course: the dashboard
	// SpecPriority is what a spec of ralph/specs says about its own priority; nil: nobody looks.
	SpecPriority func(file string) (int, error)
	Keys         Keys // that a person chose
	// ID makes an id with a prefix; nil where nothing is made, only asked.
	ID func(prefix string) string
}

// Start is how an engine is to be started.
type Start struct {
	Mode     string // agent, autopilot, construct
	Spec     string // the file of a spec; "" for construct: the plan's
	Parallel int    // autopilot: agents at once; 0 as configured
	Autonomy string // manual, step, semi, autopilot; "" as configured
	Resume   bool   // only if there is a session to resume
	Fresh    bool   // a new session, even if there is one to resume

	// Settings of this run; "" and nil: as configured.
	Agent    string // that comes first
	Strategy string // retry, skip, abort
	Retries  *int   // tries after the first
}

// Backend is what actions need from outside.
type Backend interface {
	Context() Context
	// Update appends the facts of decide, which sees the newest state, as the person's
	// who uses the surface.
	Update(ctx context.Context, decide func(*ralph.State) ([]ralph.Fact, error)) error
	// Start starts an engine that outlives this process, and returns when it works or
	// says why it does not.
	Start(ctx context.Context, s Start) (said string, err error)
	// RollBack undoes the work of a task, CleanUp takes its worktree away.
	RollBack(ctx context.Context, id ralph.TaskID) (said string, err error)
	CleanUp(ctx context.Context, id ralph.TaskID) (said string, err error)
	// SpecFile checks that a file is in ralph/specs. With a text it is written there
	// first; then the name may be "".
	SpecFile(name, text string) (file string, err error)
	// Closed says why a gate takes no word any more: the first answer wins.
	Closed(id ralph.ApprovalID) error
}

// definition is one row of the table.
type definition struct {
	name    string
	about   Subject
	title   string
	key     string
	primary bool
	danger  bool
	doc     string // for the API
	command string // how it is done from a command line, behind the name of the program: task retry <id>
	short   string // what the command does, in its help
	confirm func(s *ralph.State, id string) string
	ask     func(s *ralph.State) string
	fields  func(s *ralph.State, w Context, id string) []Field
	// facts are those that the action appends; its error says why it may not be done.
	facts func(s *ralph.State, w Context, in Input) ([]ralph.Fact, error)
	// try asks whether it may be done, where facts need words that only a person has.
	try func(s *ralph.State, w Context, id string) error
	// hide takes a button away that would only be in the way; the action may still be done.
	hide func(s *ralph.State, w Context, id string) bool
	// do is what an action does that is more than facts.
	do   func(ctx context.Context, row definition, backend Backend, in Input) (Result, error)
	said string
	// after says what was done, and what takes it back: s is the state before.
	after func(s *ralph.State, in Input, facts []ralph.Fact) Result
}

// verbs is the table. It is made once: each command takes its words from it at every start.
var verbs = sync.OnceValue(func() []definition {
	return slices.Concat(engineVerbs(), startVerbs(), taskVerbs(), threadVerbs(), repairVerbs(), planVerbs(), gateVerbs(), inboxVerbs(), serviceVerbs(), workerVerbs())
})

// Action is a row of the table for those who list it.
type Action struct {
	Name   string
	About  Subject
	Title  string
	Key    string
	Doc    string
	Danger bool
	Uses   []string // the fields of Input, as in its JSON

	Command string // how it is done from a command line, without the name of the program; "" for none
	Short   string // what that command does, in its help
}

// row is the action for those who list it.
func (v definition) row() Action {
	return Action{Name: v.name, About: v.about, Title: v.title, Key: v.key, Doc: v.doc, Danger: v.danger, Command: v.command, Short: v.short}
}

// Named is the row of a name, without its fields; the zero Action where there is none.
func Named(name string) Action {
	v, err := find(name)
	if err != nil {
		return Action{}
	}
	return v.row()
}

// Actions are all actions, in the order of the table.
func Actions() []Action {
	var out []Action
	for _, v := range verbs() {
		a := v.row()
		if v.about.Named() {
			a.Uses = append(a.Uses, "id")
		}
		if v.fields != nil {
			for _, f := range v.fields(sample(), Context{}, "") {
				a.Uses = append(a.Uses, f.Name)
			}
		}
		out = append(out, a)
	}
	return out
}

// sample is a state in which every field of every form is asked for.
func sample() *ralph.State {
	s := &ralph.State{}
	s.Session = ralph.Session{ID: "s", Mode: "autopilot", Ended: ralph.ReasonInterrupted}
	s.Approvals = []*ralph.Approval{{Kind: ralph.ApprovalRequest, Request: &ralph.Request{}}}
	s.Plan.Tasks = []*ralph.Task{{Status: ralph.TaskFailed}}
	return s
}

// AllAvailable are the actions that may be taken now on a subject, in the order of buttons.
func AllAvailable(s *ralph.State, w Context, about Subject, id string) []Available {
	if w.Past {
		return nil
	}
	var out []Available
	for _, v := range verbs() {
		if v.about == about && (v.hide == nil || !v.hide(s, w, id)) && v.may(s, w, id) == nil {
			out = append(out, v.offer(s, w, id))
		}
	}
	return out
}

// may asks the command whether it would succeed.
func (v definition) may(s *ralph.State, w Context, id string) error {
	if w.ID == nil {
		w.ID = func(prefix string) string { return prefix + "-new" }
	}
	if v.try != nil {
		return v.try(s, w, id)
	}
	facts, err := v.facts(s, w, Input{ID: id})
	if err == nil && len(facts) == 0 {
		err = &ralph.Refusal{Why: "there is nothing to do", Kind: ralph.ErrUsage}
	}
	return err
}

func (v definition) offer(s *ralph.State, w Context, id string) Available {
	o := Available{Action: v.name, ID: id, Title: v.title, Key: w.Keys.of(v), Primary: v.primary, Danger: v.danger}
	if v.confirm != nil {
		o.Confirm = v.confirm(s, id)
	}
	if v.ask != nil {
		o.Ask = v.ask(s)
	}
	if v.fields != nil {
		o.Fields = v.fields(s, w, id)
	}
	return o
}

// find returns the row of a name, or refuses.
func find(name string) (definition, error) {
	all := verbs()
	if i := slices.IndexFunc(all, func(v definition) bool { return v.name == name }); i >= 0 {
		return all[i], nil
	}
	return definition{}, &ralph.Refusal{Why: fmt.Sprintf("there is no action %q", name), Hint: "docs/api.md lists them", Kind: ralph.ErrNotFound}
}

// AvailableAs is the offer of one action on what has the id; false when it may not be taken.
func AvailableAs(s *ralph.State, w Context, name, id string) (Available, bool) {
	v, err := find(name)
	if err != nil || v.may(s, w, id) != nil {
		return Available{}, false
	}
	return v.offer(s, w, id), true
}

// Do carries an action out. Its errors are for people: a *ralph.Refusal says why it
// may not be and what to do instead. With an error that came after its facts were recorded, such
// as that of a file which does not show them yet, the result says what was done.
func Do(ctx context.Context, backend Backend, name string, in Input) (Result, error) {
	v, err := find(name)
	if err != nil {
		return Result{}, err
	}
	if v.do != nil {
		return v.do(ctx, v, backend, in)
	}
	return v.append(ctx, backend, in)
}

// append records the facts of an action.
func (v definition) append(ctx context.Context, backend Backend, in Input) (Result, error) {
	var done Result
	err := backend.Update(ctx, func(s *ralph.State) ([]ralph.Fact, error) {
		w := backend.Context()
		w.ID = unused(s, w.ID)
		facts, err := v.facts(s, w, in)
		if err != nil {
			return nil, err
		}
		done = Result{Said: v.said}
		if v.after != nil {
			done = v.after(s, in, facts)
		}
		if done.Said == "" {
			done.Said = v.said
		}
		return facts, nil
	})
	return done, err
}

// unused makes ids that nothing in the state has, and no two the same.
func unused(s *ralph.State, id func(string) string) func(string) string {
	given := map[string]bool{}
	return func(prefix string) string {
		for {
			x := id(prefix)
			taken := given[x] || s.Spec(ralph.SpecID(x)) != nil || s.Task(ralph.TaskID(x)) != nil ||
				slices.ContainsFunc(s.Rules, func(r *ralph.AnswerRule) bool { return string(r.ID) == x })
			if !taken {
				given[x] = true
				return x
			}
		}
	}
}
