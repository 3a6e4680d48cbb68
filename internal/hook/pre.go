package hook

import (
	"context"

	"github.com/ralph-loop/ralph"
)

// Pre runs the hooks before something. They run beside each other, as the steps do.
type Pre struct {
	hooks  Set
	run    func(context.Context, Call) (ralph.HookRan, error)
	record func(context.Context, ralph.Fact) error
	said   func(hook, words string)
}

// NewPre returns the pre- hooks of a set. record writes a fact into the journal; said,
// which may be nil, is given the last line that a hook printed.
func NewPre(r *Runner, set Set, record func(context.Context, ralph.Fact) error, said func(hook, words string)) *Pre {
	return &Pre{hooks: set, run: r.run, record: record, said: said}
}

// Before runs a pre- hook, if there is one, and returns what it did when it wants
// the loop to stop, else nil. A hook that fails in any other way is recorded and
// stops nothing. The error is ctx's cause, or the journal's.
func (p *Pre) Before(ctx context.Context, name string, c Call) (*ralph.HookRan, error) {
	h, ok := p.hooks.find(name)
	if !ok {
		return nil, nil
	}
	c.Hook = h
	ran, err := p.run(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case ran.Exit == ExitStop:
		ran.Stop = true
		return &ran, nil
	case ran.Error != "":
		return nil, p.record(ctx, ran)
	}
	if words := lastLine(ran.Output); words != "" && p.said != nil {
		p.said(h.Name, words)
	}
	return nil, nil
}

// Cause is why a hook stopped the loop, in one line.
func Cause(ran ralph.HookRan) string {
	cause := "hook " + ran.Hook
	if last := lastLine(ran.Output); last != "" {
		cause += ": " + last
	}
	return cause
}

// Does is engine.Doer.
type Does interface {
	Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error)
}

// Doer is an engine.Doer with pre- hooks before the steps of another.
type Doer struct {
	Next Does
	Pre  *Pre
	// Call makes the call of a hook before a step, without its Hook.
	Call func(s *ralph.State, id ralph.TaskID, step ralph.Step, hook string) (Call, error)
}

// Do runs the hook before the step, then the step. When the hook says stop, the step
// is not done: its task is given back as it is, so that the next start does the
// step again, and the loop is told to stop. All of that is one write.
func (d *Doer) Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error) {
	name := before(step)
	if _, there := d.Pre.hooks.find(name); !there {
		return d.Next.Do(ctx, s, id, step)
	}
	call, err := d.Call(s, id, step, name)
	if err != nil {
		return nil, err
	}
	ran, err := d.Pre.Before(ctx, name, call)
	if err != nil {
		return nil, err
	}
	if ran == nil {
		return d.Next.Do(ctx, s, id, step)
	}
	cause := Cause(*ran)
	given := ralph.TaskEnded{ID: id, Status: ralph.TaskPending, Why: ralph.Why{Rule: "X-92", Text: "stopped by " + cause}}
	if t := s.Task(id); t != nil {
		given.Slot = t.Run.Worktree.Slot
	}
	return []ralph.Fact{*ran, given, ralph.Control{Want: ralph.WantStop, Cause: cause, Immediate: s.Session.Immediate, Ends: ralph.ReasonHook}}, nil
}

// before is the hook that runs before a step, "" for none.
func before(step ralph.Step) string {
	switch step.(type) {
	case ralph.Turn, ralph.Check, ralph.Commit, ralph.Merge, ralph.Land, ralph.Publish:
		return "pre-" + step.StepName()
	}
	return ""
}
