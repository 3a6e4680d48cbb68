package action

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// Input is what a person says with an action. What an action does not use is zero.
type Input struct {
	ID     string        `json:"id,omitzero" doc:"the task, gate, inbox record or rule that it is about"`
	Text   string        `json:"text,omitzero" doc:"a reason, an answer or the number of an option, a message, the text of a spec" maxLength:"1048576"`
	To     int           `json:"to,omitzero" doc:"extend: iterations that the task may take; with time 0 too, more of what it ran out of" minimum:"0"`
	Time   time.Duration `json:"time,omitzero" doc:"extend: time in nanoseconds that the task gets on top" minimum:"0"`
	Names  []string      `json:"names,omitzero" doc:"divide: the names of the smaller tasks; order: the ids of the tasks"`
	Always bool          `json:"always,omitzero" doc:"gates: let the answer hold from now on, as a rule"`
	Scope  string        `json:"scope,omitzero" doc:"with always: how far, repository if not said" enum:"task,spec,session,repository"`
	For    time.Duration `json:"for,omitzero" doc:"with always: how long in nanoseconds, 0 for 30 days, negative for no end"`

	// start
	Mode     string `json:"mode,omitzero" doc:"start: which engine" enum:"agent,autopilot,construct"`
	Autonomy string `json:"autonomy,omitzero" doc:"mode, start: how much it does alone" enum:"manual,step,semi,autopilot"`
	Parallel int    `json:"parallel,omitzero" doc:"start: agents at work at the same time; 0 as configured" minimum:"0" maximum:"64"`
	Fresh    bool   `json:"fresh,omitzero" doc:"start: begin a new session, even if one was interrupted"`
	Agent    string `json:"agent,omitzero" doc:"start: the agent that comes first, by its name; empty: as configured"`
	Strategy string `json:"strategy,omitzero" doc:"start: what happens when a turn fails; empty: as configured" enum:"retry,skip,abort"`
	Retries  *int   `json:"retries,omitzero" doc:"start: tries after the first; not said: as configured" minimum:"0" maximum:"100"`

	File  string `json:"file,omitzero" doc:"queue, start: a spec, as its file in ralph/specs; of autopilot the plan that is meant, of agent a spec that is queued if it does not wait yet"`
	Past  string `json:"past,omitzero" doc:"thread-continue: the stop condition that the thread goes on past, with how much more of a budget, as budget.cost=5; empty: the one that stopped it"`
	Retry bool   `json:"retry,omitzero" doc:"edit: give a task that ended badly another try"`

	// edit, add: what is not said stays as it is.
	Name          *string  `json:"name,omitzero" doc:"edit, add: what to do, one line"`
	Notes         *string  `json:"notes,omitzero" doc:"edit, add: anything that helps"`
	Accept        *string  `json:"accept,omitzero" doc:"edit, add: when it is done"`
	Priority      *string  `json:"priority,omitzero" doc:"edit, add: high, medium, low or empty; queue, spec-priority: a whole number, higher comes first"`
	Phase         *string  `json:"phase,omitzero" doc:"edit, add: tasks of a phase end before the next phase begins"`
	Parent        *string  `json:"parent,omitzero" doc:"edit, add: the task that it is a part of"`
	Deps          []string `json:"deps,omitzero" doc:"edit, add: tasks that come first"`
	Tags          []string `json:"tags,omitzero" doc:"edit, add: critical, quick-win, ..."`
	Worker        []string `json:"worker,omitzero" doc:"edit, add: labels that a worker of a fleet must have for it, beside those of its spec"`
	MaxIterations *int     `json:"max_iterations,omitzero" doc:"edit, add: instead of task.max_iterations; 0 for that"`

	Sure bool `json:"-"` // the question of Available.Confirm was answered with yes
}

// Pair is one field of a form.
type Pair struct{ Name, Value string }

// Form writes an input as the fields of a form; ReadForm reads it. The ID is left out:
// each form has it anyway.
func (in Input) Form() []Pair {
	var out []Pair
	add := func(name, value string, there bool) {
		if there {
			out = append(out, Pair{name, value})
		}
	}
	word := func(name, value string) { add(name, value, value != "") }
	yes := func(name string, is bool) { add(name, "yes", is) }
	said := func(name string, p *string) {
		if p != nil {
			add(name, *p, true)
		}
	}
	word("text", in.Text)
	add("to", strconv.Itoa(in.To), in.To != 0)
	add("time", in.Time.String(), in.Time != 0)
	add("names", strings.Join(in.Names, "\n"), len(in.Names) > 0)
	yes("always", in.Always)
	word("scope", in.Scope)
	add("for", in.For.String(), in.For != 0)
	word("mode", in.Mode)
	word("autonomy", in.Autonomy)
	add("parallel", strconv.Itoa(in.Parallel), in.Parallel != 0)
	yes("fresh", in.Fresh)
	word("agent", in.Agent)
	word("strategy", in.Strategy)
	if in.Retries != nil {
		add("retries", strconv.Itoa(*in.Retries), true)
	}
	word("file", in.File)
	word("past", in.Past)
	yes("retry", in.Retry)
	yes("sure", in.Sure)
	said("name", in.Name)
	said("notes", in.Notes)
	said("accept", in.Accept)
	said("priority", in.Priority)
	said("phase", in.Phase)
	said("parent", in.Parent)
	add("deps", strings.Join(in.Deps, ", "), in.Deps != nil)
	add("tags", strings.Join(in.Tags, ", "), in.Tags != nil)
	add("worker", strings.Join(in.Worker, ", "), in.Worker != nil)
	if in.MaxIterations != nil {
		add("max_iterations", strconv.Itoa(*in.MaxIterations), true)
	}
	return out
}

// ReadForm reads the fields of a form, by their names; what is not there is not said. What
// cannot be read is refused in words.
func ReadForm(form map[string]string) (Input, error) {
	in := Input{
		ID: form["id"], Text: form["text"], Always: form["always"] != "", Scope: form["scope"], Mode: form["mode"],
		Autonomy: form["autonomy"], Fresh: form["fresh"] != "", File: form["file"], Past: form["past"], Retry: form["retry"] != "", Sure: form["sure"] != "",
		Agent: strings.TrimSpace(form["agent"]), Strategy: form["strategy"],
	}
	for line := range strings.Lines(form["names"]) {
		if line = strings.TrimSpace(line); line != "" {
			in.Names = append(in.Names, line)
		}
	}
	for name, into := range map[string]**string{"name": &in.Name, "notes": &in.Notes, "accept": &in.Accept, "priority": &in.Priority, "phase": &in.Phase, "parent": &in.Parent} {
		if _, said := form[name]; said {
			text := strings.ReplaceAll(form[name], "\r\n", "\n") // as browsers send it
			*into = &text
		}
	}
	in.Text = strings.ReplaceAll(in.Text, "\r\n", "\n")
	if _, said := form["deps"]; said {
		in.Deps = list(form["deps"])
	}
	if _, said := form["tags"]; said {
		in.Tags = list(form["tags"])
	}
	if _, said := form["worker"]; said {
		in.Worker = list(form["worker"])
	}
	if _, said := form["max_iterations"]; said {
		in.MaxIterations = new(int)
	}
	if strings.TrimSpace(form["retries"]) != "" { // an empty field of a form is not 0
		in.Retries = new(int)
	}
	for _, n := range []struct {
		name string
		into *int
	}{{"retries", in.Retries}, {"to", &in.To}, {"parallel", &in.Parallel}, {"max_iterations", in.MaxIterations}} {
		word := strings.TrimSpace(form[n.name])
		if word == "" {
			continue
		}
		x, err := strconv.Atoi(word)
		if err != nil || x < 0 {
			return in, &ralph.Refusal{Why: fmt.Sprintf("%s: %q is no whole number", n.name, word), Kind: ralph.ErrUsage}
		}
		*n.into = x
	}
	if text := strings.TrimSpace(form["time"]); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return in, &ralph.Refusal{Why: fmt.Sprintf("time: %q is no time", text), Hint: "write 30m or 2h", Kind: ralph.ErrUsage}
		}
		in.Time = d
	}
	var err error
	if in.For, err = duration(form["for"]); err != nil {
		return in, err
	}
	return in, nil
}

// list reads words between commas; it is never nil.
func list(text string) []string {
	out := []string{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' }) {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// The times that a form offers for a rule.
const (
	forDay     = "24h"
	forWeek    = "168h"
	forUsual   = "720h"
	forever    = "no end"
	noEnd      = time.Duration(-1)
	defaultFor = 30 * 24 * time.Hour
)

// duration reads how long a rule is to hold: as Go writes times, or `no end`.
func duration(text string) (time.Duration, error) {
	switch text = strings.TrimSpace(text); text {
	case "":
		return 0, nil
	case forever:
		return noEnd, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, &ralph.Refusal{Why: fmt.Sprintf("for: %q is no time", text), Hint: "write 8h, 168h or no end", Kind: ralph.ErrUsage}
	}
	return d, nil
}
