package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Debug is the line of an event in the log at level debug: which fact it is, what
// it moved from where to where, and why. before and after are the states around it.
func Debug(e ralph.Event, before, after *ralph.State) string {
	head := fmt.Sprintf("DEBUG: %d %s", e.Seq, e.Fact.Kind())
	if e.By != "" && e.By != "engine" {
		head += " by " + e.By
	}
	return head + ": " + Plainly(e, before, after)
}

// Plainly says in words what an event did that has no line of its own.
func Plainly(e ralph.Event, before, after *ralph.State) string {
	about := ""
	if id := About(e.Fact); id != "" {
		about = stageOr(after, id)
		if after.Task(id) == nil {
			about = stageOr(before, id)
		}
	}
	fields := fieldsOf(e.Fact)
	parts := moved(before, after, About(e.Fact))
	if f, ok := e.Fact.(ralph.StepStarted); ok {
		parts = append(parts, StepWords(f.Step))
	}
	cause := causeOf(fields)
	if len(parts) == 0 {
		parts = append(parts, Clip(fieldWords(fields), 300))
	}
	words := strings.Trim(about+": "+strings.Join(parts, ", "), ": ")
	if cause != "" {
		words += "; cause: " + cause
	}
	return OneLine(words)
}

// moved are the transitions between two states: of the engine, its agent, tasks and
// stages, specs, gates and the merge queue. The task that is spoken of is not named again.
func moved(before, after *ralph.State, about ralph.TaskID) []string {
	var out []string
	change := func(what, from, to string) {
		if from != to {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s -> %s", what, cmp.Or(from, "none"), cmp.Or(to, "none"))))
		}
	}
	for _, t := range tasksOf(before, after) {
		was, is := before.Task(t), after.Task(t)
		what := string(t)
		if t == about {
			what = ""
		}
		change(what, statusOf(was), statusOf(is))
		if was != nil && is != nil {
			change(strings.TrimSpace(what+" merge"), string(was.Run.Queue.State), string(is.Run.Queue.State))
		}
	}
	change("engine", before.Mode(), after.Mode())
	change("agent", before.Session.Agent, after.Session.Agent)
	change("mode", string(before.Session.Auto), string(after.Session.Auto))
	for _, x := range [2][2]*ralph.State{{before, after}, {after, before}} {
		for _, spec := range x[0].Inbox {
			if x[0] == after && before.Spec(spec.ID) != nil {
				continue // said from the other side
			}
			change(string(spec.ID), specStatus(before, spec.ID), specStatus(after, spec.ID))
		}
		for _, g := range x[0].Approvals {
			if !slices.ContainsFunc(x[1].Approvals, func(y *ralph.Approval) bool { return y.ID == g.ID }) {
				from, to := "open", "closed"
				if x[0] == after {
					from, to = "", "open"
				}
				change("gate "+string(g.ID), from, to)
			}
		}
	}
	return out
}

// tasksOf are the tasks and stages whose record is not the same in both states, each once.
func tasksOf(before, after *ralph.State) []ralph.TaskID {
	old := map[ralph.TaskID]*ralph.Task{}
	for t := range before.Work() {
		old[t.ID] = t
	}
	var out []ralph.TaskID
	for t := range after.Work() {
		if old[t.ID] != t {
			out = append(out, t.ID)
		}
		delete(old, t.ID)
	}
	for t := range before.Work() {
		if old[t.ID] != nil {
			out = append(out, t.ID)
		}
	}
	return out
}

func statusOf(t *ralph.Task) string {
	if t == nil {
		return ""
	}
	return string(t.Status)
}

func specStatus(s *ralph.State, id ralph.SpecID) string {
	if x := s.Spec(id); x != nil {
		return string(x.Status)
	}
	return ""
}

// fieldsOf are the fields of a fact by their names in the journal.
func fieldsOf(f ralph.Fact) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	if b, err := json.Marshal(f); err == nil && json.Unmarshal(b, &fields) != nil {
		return nil
	}
	return fields
}

// causeOf is why a fact came about, with the rule behind it; "" where it does not say.
func causeOf(fields map[string]json.RawMessage) string {
	text, rule := "", ""
	var why ralph.Why
	if json.Unmarshal(fields["why"], &why) == nil {
		text, rule = why.Text, why.Rule
	}
	for _, name := range []string{"cause", "reason", "error", "detail"} {
		var said string
		if json.Unmarshal(fields[name], &said) == nil && said != "" && !strings.Contains(text, said) {
			text = strings.TrimPrefix(text+", "+said, ", ")
		}
	}
	if rule == "" {
		_ = json.Unmarshal(fields["rule"], &rule) // a rule of another form is no requirement's
	}
	if rule != "" {
		text = strings.TrimSpace(text + " (" + rule + ")")
	}
	return Clip(OneLine(text), 300)
}

// fieldWords are the fields of a fact in the order of their names: `id: t-1a2b, slot: 2`.
func fieldWords(fields map[string]json.RawMessage) string {
	parts := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := fields[name]
		text := string(value)
		var said string
		if json.Unmarshal(value, &said) == nil {
			text = said
		}
		parts = append(parts, name+": "+Clip(text, 120))
	}
	return strings.Join(parts, ", ")
}
