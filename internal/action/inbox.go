package action

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/queue"
	"github.com/ralph-loop/ralph/internal/text"
)

// What is done to the queue of specs.
func inboxVerbs() []definition {
	return []definition{
		{
			name: "queue", about: Inbox, title: "Queue a spec", doc: "Queues a spec of ralph/specs; with a text it is written there first, under the name of file or one made from its first heading.",
			command: "inbox add <spec.md>", short: "Queue a spec of ralph/specs; `-` reads it from standard input",
			try: func(*ralph.State, Context, string) error { return nil }, do: queueSpec,
			fields: func(_ *ralph.State, w Context, _ string) []Field {
				return []Field{
					{Name: "file", Label: "A file in ralph/specs, or the name of a new one", Kind: "text", Choices: w.Specs},
					{Name: "text", Label: "Its text, if it is new (markdown)", Kind: "area"},
					{Name: "priority", Label: "Priority: a whole number, higher comes first; empty: what the spec says, else 0", Kind: "text"},
				}
			},
		},
		{
			name: "clear", about: Inbox, title: "Clear", danger: true, doc: "Takes all pending records out of the queue; the specs stay in ralph/specs.",
			command: "inbox clear", short: "Take all pending records out of the queue",
			facts: func(s *ralph.State, _ Context, _ Input) ([]ralph.Fact, error) { return s.ClearInbox(), nil },
			confirm: func(s *ralph.State, _ string) string {
				return fmt.Sprintf("Take %s out of the queue? The files stay.", text.Count(len(s.ClearInbox()), "pending spec"))
			},
			after: func(s *ralph.State, _ Input, facts []ralph.Fact) Result {
				d := Result{Said: fmt.Sprintf("Cleared %d pending specs", len(facts))}
				back := Input{}
				for _, f := range facts {
					if removed, ok := f.(ralph.SpecRemoved); ok {
						back.Names = append(back.Names, s.Spec(removed.ID).File)
					}
				}
				if len(back.Names) > 0 {
					d.Undo = &Call{"queue", back}
				}
				return d
			},
		},
		{
			name: "remove", about: Spec, title: "Remove", danger: true, doc: "Takes a record out of the queue; the spec stays in ralph/specs.",
			command: "inbox remove <id or spec.md>", short: "Take a record out of the queue",
			facts: func(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
				_, facts, err := s.RemoveSpec(in.ID)
				if refusal, ok := errors.AsType[*ralph.Refusal](err); ok && errors.Is(err, ralph.ErrActive) && !w.Engine {
					refusal.Hint = "its engine is gone: `[[start agent]]` goes on with it, and when it has ended it can be removed"
				}
				return facts, err
			},
			after: func(s *ralph.State, in Input, _ []ralph.Fact) Result {
				spec, _, err := s.RemoveSpec(in.ID)
				if err != nil {
					return Result{}
				}
				d := Result{Said: fmt.Sprintf("Removed: %s %s", spec.ID, spec.File)}
				if spec.Status == ralph.SpecPending {
					back := strconv.Itoa(spec.Priority)
					d.Undo = &Call{"queue", Input{File: spec.File, Priority: &back}}
				}
				return d
			},
		},
		{
			name: "requeue", about: Spec, title: "Queue again", primary: true, doc: "Queues a spec again that has ended.",
			command: "inbox requeue <id>", short: "Queue a spec again that has ended",
			facts: func(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
				spec := s.Spec(ralph.SpecID(in.ID))
				switch {
				case spec == nil:
					return nil, &ralph.Refusal{Why: fmt.Sprintf("%s is not in the inbox", in.ID), Kind: ralph.ErrNotFound}
				case spec.Status != ralph.SpecFailed && spec.Status != ralph.SpecDone:
					return nil, &ralph.Refusal{Why: fmt.Sprintf("%s is %s", spec.File, spec.Status), Hint: "only one that has ended is queued again", Kind: ralph.ErrUsage}
				case len(s.Queued(spec.File)) > 0:
					return nil, &ralph.Refusal{Why: fmt.Sprintf("%s is queued already (%s)", spec.File, s.Queued(spec.File)[0].ID), Kind: ralph.ErrUsage}
				}
				return addSpec(s, w, spec.File, nil)
			},
			after: queued,
		},
		priorityVerb(),
	}
}

// priorityVerb gives a spec another place in the queue.
func priorityVerb() definition {
	return definition{
		name: "spec-priority", about: Spec, title: "Priority", said: "It has this priority now", doc: "Gives a spec that waits another priority: a higher one comes first, the same one in the order of the inbox.",
		command: "inbox priority <id> <n>", short: "Give a spec that waits another priority; a higher one comes first",
		facts: func(s *ralph.State, _ Context, in Input) ([]ralph.Fact, error) {
			n, err := queue.ReadPriority(said(in.Priority))
			if err != nil {
				return nil, err
			}
			return queue.SetPriority(s, ralph.SpecID(in.ID), n)
		},
		try: func(s *ralph.State, _ Context, id string) error {
			x := s.Spec(ralph.SpecID(id))
			if x == nil {
				return &ralph.Refusal{Why: id + " is not in the inbox", Kind: ralph.ErrNotFound}
			}
			_, err := queue.SetPriority(s, x.ID, x.Priority+1)
			return err
		},
		fields: func(s *ralph.State, _ Context, id string) []Field {
			f := Field{Name: "priority", Label: "Priority: a whole number, higher comes first", Kind: "text", Required: true}
			if x := s.Spec(ralph.SpecID(id)); x != nil {
				f.Value = strconv.Itoa(x.Priority)
			}
			return []Field{f}
		},
		after: func(s *ralph.State, in Input, _ []ralph.Fact) Result {
			before := strconv.Itoa(s.Spec(ralph.SpecID(in.ID)).Priority)
			return Result{Undo: &Call{"spec-priority", Input{ID: in.ID, Priority: &before}}}
		},
	}
}

// queueSpec adds a file, a text, or several files to the inbox.
func queueSpec(ctx context.Context, _ definition, backend Backend, in Input) (Result, error) {
	names := in.Names
	if in.File != "" || in.Text != "" || len(names) == 0 {
		names = append([]string{in.File}, names...)
	}
	files := make([]string, len(names))
	for i, name := range names {
		text := ""
		if i == 0 {
			text = in.Text
		}
		file, err := backend.SpecFile(name, text)
		if err != nil {
			return Result{}, err
		}
		files[i] = file
	}
	v := definition{
		facts: func(s *ralph.State, w Context, in Input) ([]ralph.Fact, error) {
			var facts []ralph.Fact
			for _, file := range files {
				added, err := addSpec(s, w, file, in.Priority)
				if err != nil {
					return nil, err
				}
				facts = append(facts, added...)
			}
			return facts, nil
		},
		after: queued,
	}
	return v.append(ctx, backend, in)
}

// addSpec queues a file with the priority that a person says, else its own.
func addSpec(s *ralph.State, w Context, file string, priority *string) ([]ralph.Fact, error) {
	n, err := queue.ReadPriority(said(priority))
	if err == nil && said(priority) == "" && w.SpecPriority != nil {
		if n, err = w.SpecPriority(file); err != nil {
			err = fmt.Errorf("the front matter of %s: %w", file, err)
		}
	}
	if err != nil {
		return nil, err
	}
	facts := s.AddSpec(ralph.SpecID(w.ID("q")), file, w.Now)
	for i, f := range facts {
		if added, ok := f.(ralph.SpecAdded); ok {
			added.Spec.Priority = n
			facts[i] = added
		}
	}
	return facts, nil
}

func said(p *string) string {
	if p == nil {
		return ""
	}
	return strings.TrimSpace(*p)
}

// queued says what waits now; one record can be taken out again.
func queued(s *ralph.State, _ Input, facts []ralph.Fact) Result {
	var words []string
	var d Result
	for _, f := range facts {
		added, ok := f.(ralph.SpecAdded)
		if !ok {
			continue
		}
		words = append(words, added.Spec.File)
		d.ID = string(added.Spec.ID)
		if before := s.Queued(added.Spec.File); len(before) > 0 { // allowed, with a notice
			words[len(words)-1] += fmt.Sprintf(" (it is queued already as %s, and will be worked on once for each record)", before[0].ID)
		}
	}
	d.Said = "Queued " + strings.Join(words, ", ")
	if len(facts) == 1 {
		d.Undo = &Call{"remove", Input{ID: d.ID}}
	}
	return d
}
