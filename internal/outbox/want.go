package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/follow"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// Moment is what an item is told of.
type Moment string

// The moments, as the settings call them.
const (
	AtStart    Moment = "start"
	AtDone     Moment = "done"
	AtFailed   Moment = "failed"
	AtQuestion Moment = "question"
)

// Moments are all of them.
func Moments() []Moment { return []Moment{AtStart, AtDone, AtFailed, AtQuestion} }

// Mapping is what becomes of an item at each moment.
type Mapping map[Moment]ralph.ItemChange

// want is what a fact says to the item of a spec.
type want struct {
	seq     int64
	spec    string
	moment  Moment // "": only how things stand
	comment string
	status  string
}

// see makes of a fact what is to be told.
func (o *Outbox) see(e ralph.Event, s *ralph.State) []want {
	o.read.Store(e.Seq)
	wants := o.x.wants(e, s)
	o.left.Add(int64(len(wants)))
	return wants
}

// wants are what a fact says to items. It is pure.
func (x Options) wants(e ralph.Event, s *ralph.State) []want {
	w := want{seq: e.Seq, spec: s.SpecFile()}
	switch f := e.Fact.(type) {
	case ralph.JobStarted:
		w.moment, w.comment = AtStart, "ralph has begun to work on this."
		if f.Resume {
			w.comment = "ralph goes on with this."
		}
	case ralph.JobEnded:
		switch f.Status {
		case ralph.SpecDone:
			w.moment, w.comment = AtDone, "ralph is done with this."
			if f.Commit != "" {
				w.comment += "\n\n- commit " + f.Commit[:min(len(f.Commit), 12)]
			}
		case ralph.SpecFailed:
			w.moment, w.comment = AtFailed, "ralph could not do this: "+text.OneLine(f.Error)
		}
	case ralph.Asked:
		if f.Approval.Kind != ralph.ApprovalQuestion {
			return nil
		}
		w.moment, w.comment = AtQuestion, "ralph asks: "+f.Approval.Text
	case ralph.TaskEnded:
		if t := s.Task(f.ID); t == nil || !t.IsBuild() || !x.due(s, f.Status) {
			return nil
		}
	case ralph.SessionEnded:
	default:
		return nil
	}
	if w.spec == "" || s.Session.PlanOnly {
		return nil
	}
	w.status = statusText(s)
	return []want{w}
}

// due reports whether the end of a task is one after which the status is sent.
func (x Options) due(s *ralph.State, as ralph.TaskStatus) bool {
	n := s.Session.Count.TasksDone + s.Session.Count.TasksFail + s.Session.Count.TasksOut
	ended := as == ralph.TaskDone || as == ralph.TaskFailed || as == ralph.TaskTimeout
	return ended && x.Every > 0 && n%x.Every == 0
}

// enter puts what is wanted into the journal. What is there already, from before a kill, is not
// entered again.
func (o *Outbox) enter(ctx context.Context, wants []want) (int, error) {
	for i, w := range wants {
		refs, err := o.x.itemsOf(o.x.Journal.State(), w.spec)
		if err != nil {
			o.note("%s: %v", w.spec, err)
		}
		for _, ref := range refs {
			err := o.x.Journal.Update(ctx, Name, func(s *ralph.State) ([]ralph.Fact, error) { return o.x.entries(s, ref, w), nil })
			if err != nil {
				return i, fmt.Errorf("enter what %s is to be told: %w", ref, err)
			}
		}
		o.left.Add(-1)
	}
	return len(wants), nil
}

// itemsOf are the items of a spec that are of a service that is on; an error is of those that are none.
func (x Options) itemsOf(s *ralph.State, spec string) (refs []tracker.Ref, err error) {
	names := x.Items(spec)
	if len(names) == 0 {
		for _, r := range s.Remotes { // the spec may be gone by now
			if r.Spec == spec {
				names = append(names, r.Item)
			}
		}
	}
	for _, name := range names {
		ref, bad := tracker.Parse(name, x.Places)
		err = errors.Join(err, bad)
		if _, on := x.Services[ref.Service]; bad == nil && on && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs, err
}

// entries are those of one fact: the comment, the change, and how things stand.
func (x Options) entries(s *ralph.State, ref tracker.Ref, w want) []ralph.Fact {
	if r := s.Remote(ref.Service, ref.String()); r != nil && r.Upto >= w.seq {
		return nil
	}
	entry := func(kind ralph.PushKind) ralph.PushWanted {
		id := ralph.PushID(fmt.Sprintf("%s-%d-%s", s.Journal, w.seq, kind))
		return ralph.PushWanted{PushRef: ralph.PushRef{ID: id, Service: ref.Service, Item: ref.String()}, What: kind, Seq: w.seq, Spec: w.spec}
	}
	var facts []ralph.Fact
	if w.comment != "" {
		f := entry(ralph.PushComment)
		f.Text = w.comment
		facts = append(facts, f)
	}
	if change := x.Services[ref.Service].Mapping[w.moment]; w.moment != "" && !change.Empty() {
		f := entry(ralph.PushChange)
		f.Change = change
		facts = append(facts, f)
	}
	f := entry(ralph.PushStatus)
	f.Text = w.status
	return append(facts, f)
}

// Preview is the state with all that happened in the outbox, also what nobody has entered yet: after a kill,
// or since the last engine. Nothing is written, and nothing sent.
func Preview(x Options) (*ralph.State, error) {
	s := x.Journal.State().Clone()
	err := follow.Peek(x.Journal, Name, x.From, func(e ralph.Event, then *ralph.State) error {
		for _, w := range x.wants(e, then) {
			refs, _ := x.itemsOf(s, w.spec) // what is none is told when it is entered
			for _, ref := range refs {
				for _, f := range x.entries(s, ref, w) {
					s.Apply(ralph.Event{Seq: s.Seq + 1, At: e.At, Fact: f})
				}
			}
		}
		return nil
	})
	return s, err
}

// maxTasks bounds the tasks that a status lists.
const maxTasks = 50

// statusText is how things stand with the spec that is worked on.
func statusText(s *ralph.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**ralph: %s**\n\n", s.SpecFile())
	tasks := slices.DeleteFunc(slices.Clone(s.Plan.Tasks), func(t *ralph.Task) bool { return !t.IsBuild() })
	done := 0
	for _, t := range tasks {
		if t.Status == ralph.TaskDone {
			done++
		}
	}
	fmt.Fprintf(&b, "%d of %s done", done, text.Count(len(tasks), "task"))
	if u := s.Plan.Usage; u.Cost > 0 {
		fmt.Fprintf(&b, ", $%.2f", u.Cost)
	}
	b.WriteString("\n\n")
	for i, t := range tasks {
		if i == maxTasks {
			fmt.Fprintf(&b, "- and %d more\n", len(tasks)-i)
			break
		}
		fmt.Fprintf(&b, "- %s: %s\n", text.OneLine(t.Name), t.Status)
	}
	return strings.TrimSpace(b.String())
}
