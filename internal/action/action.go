// Package action owns what a person can do from a surface that is no command line:
// each action once, with its name, its key, what it asks before it is done, and what
// undoes it. The dashboard's buttons, its JSON API and its keys all come from one
// table. It decides nothing: what an action means is a command of the root package,
// and what needs git, processes or files is done by the Desk.
package action

import (
	"context"
	"fmt"
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
	Spec   Subject = "spec" // a record of the inbox
	Rule   Subject = "rule"
	Plan   Subject = "plan" // the plan of the current spec; no ID
)

// Input is what a person says with an action. What an action does not use is zero.
type Input struct {
	ID     string        `json:"id,omitempty" doc:"the task, gate, inbox record or rule that it is about"`
	Text   string        `json:"text,omitempty" doc:"a reason, an answer, a name, the text of a spec"`
	To     int           `json:"to,omitempty" doc:"task.extend: iterations that the task may take, 0 for half as many again"`
	Names  []string      `json:"names,omitempty" doc:"task.divide: the names of the smaller tasks"`
	Always bool          `json:"always,omitempty" doc:"gates: let the answer hold from now on, as a rule"`
	Scope  string        `json:"scope,omitempty" doc:"with always: task, spec, session or repository"`
	For    time.Duration `json:"for,omitempty" doc:"with always: how long in nanoseconds, 0 for 30 days, negative for no end"`
	Sure   bool          `json:"-"` // the question of Offer.Confirm was answered with yes
}

// Done is what came of an action, in words, and what takes it back; nil where nothing
// can, or where it is one of the buttons beside it.
type Done struct {
	Said string `json:"said"`
	Undo *Call  `json:"undo,omitempty"`
}

// Call is an action with its input.
type Call struct {
	Action string `json:"action"`
	Input  Input  `json:"input"`
}

// Offer is an action that may be taken now, as a button or a form shows it.
type Offer struct {
	Action  string  `json:"action"`
	ID      string  `json:"id,omitempty"`
	Title   string  `json:"title"`             // on the button
	Key     string  `json:"key,omitempty"`     // that does it: r e R X +
	Confirm string  `json:"confirm,omitempty"` // to be asked before it is done
	Primary bool    `json:"-"`                 // what a person most likely wants
	Danger  bool    `json:"danger,omitempty"`  // it takes something away
	Fields  []Field `json:"fields,omitempty"`
}

// Field is one thing that a person may or must say with an action.
type Field struct {
	Name     string   `json:"name"` // as in Input's JSON
	Label    string   `json:"label"`
	Kind     string   `json:"kind"` // text, area, number, choice, check
	Choices  []string `json:"choices,omitempty"`
	Value    string   `json:"value,omitempty"` // at first
	Required bool     `json:"required,omitempty"`
}

// World is what decides beside the state which actions are offered.
type World struct {
	Engine bool // an engine works here now
	Now    time.Time
}

// Desk is what actions need from outside.
type Desk interface {
	World() World
	// Update appends the facts of decide, which sees the newest state, as the person's
	// who uses the dashboard.
	Update(ctx context.Context, decide func(*ralph.State) ([]ralph.Fact, error)) error
}

// verb is one row of the table.
type verb struct {
	name    string
	about   Subject
	title   string
	key     string
	primary bool
	danger  bool
	confirm string
	fields  func(s *ralph.State, id string) []Field
	// facts are the facts that the action appends; its error says why it is not offered.
	facts func(s *ralph.State, w World, in Input) ([]ralph.Fact, error)
	said  string
	undo  string // the action that takes it back, with the same ID
}

func verbs() []verb {
	return []verb{
		{
			name: "pause", about: Engine, title: "Pause", key: "p", said: "Pausing at the end of the current iterations", undo: "resume",
			facts: steer(ralph.WantPause),
		},
		{
			name: "resume", about: Engine, title: "Resume", key: "p", primary: true, said: "Going on",
			facts: steer(ralph.WantRun),
		},
		{
			name: "stop", about: Engine, title: "Stop", key: "s", said: "Stopping at the end of the current iterations", undo: "resume",
			facts: steer(ralph.WantStop),
		},
	}
}

func steer(want ralph.Want) func(*ralph.State, World, Input) ([]ralph.Fact, error) {
	return func(s *ralph.State, w World, _ Input) ([]ralph.Fact, error) {
		if !w.Engine {
			return nil, &ralph.Refusal{Why: "no engine is running here", Hint: "start one first", Kind: ralph.ErrNotFound}
		}
		return s.Steer(want, "the dashboard")
	}
}

// Offers are the actions that may be taken now on a subject, in the order of buttons.
func Offers(s *ralph.State, w World, about Subject, id string) []Offer {
	var out []Offer
	for _, v := range verbs() {
		if v.about != about {
			continue
		}
		if facts, err := v.facts(s, w, Input{ID: id}); err != nil || len(facts) == 0 {
			continue
		}
		o := Offer{Action: v.name, ID: id, Title: v.title, Key: v.key, Confirm: v.confirm, Primary: v.primary, Danger: v.danger}
		if v.fields != nil {
			o.Fields = v.fields(s, id)
		}
		out = append(out, o)
	}
	return out
}

// OfferOf is the offer of one action on what has the id; false when it may not be taken.
func OfferOf(s *ralph.State, w World, name, id string) (Offer, bool) {
	for _, v := range verbs() {
		if v.name != name {
			continue
		}
		for _, o := range Offers(s, w, v.about, id) {
			if o.Action == name {
				return o, true
			}
		}
	}
	return Offer{}, false
}

// Do carries an action out. Its errors are for people: a *ralph.Refusal says why it
// may not be and what to do instead.
func Do(ctx context.Context, desk Desk, name string, in Input) (Done, error) {
	for _, v := range verbs() {
		if v.name != name {
			continue
		}
		err := desk.Update(ctx, func(s *ralph.State) ([]ralph.Fact, error) { return v.facts(s, desk.World(), in) })
		if err != nil {
			return Done{}, err
		}
		done := Done{Said: v.said}
		if v.undo != "" {
			done.Undo = &Call{v.undo, Input{ID: in.ID}}
		}
		return done, nil
	}
	return Done{}, &ralph.Refusal{Why: fmt.Sprintf("there is no action %q", name), Hint: "docs/api.md lists them", Kind: ralph.ErrUsage}
}
