package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/eventname"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/follow"
	"github.com/ralph-loop/ralph/internal/hook"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// hooks are the lifecycle hooks of one session.
type hooks struct {
	root  string
	set   hook.Set
	namer *eventname.Namer
	pre   *hook.Pre
	after *follow.Follower[hook.Call] // nil where no hook is after an event
}

// hooksName is that of the follower which tells hooks of events.
const hooksName = "hooks"

// lastHooks is how long hooks may go on after the end of the work.
const lastHooks = hook.Limit

// openHooks finds the hooks, as they are for the whole session, and runs pre-session.
func (x *Session) openHooks(ctx context.Context) (*hooks, error) {
	set, err := hook.Look(x.Root)
	if err != nil {
		return nil, err
	}
	if x.DryRun {
		set.Hooks = nil // nothing of the repository's own is executed
	}
	for _, f := range set.Flaws {
		x.console.Note("%s is not run: %s -> %s", f.File, f.Why, f.Fix)
	}
	runner := &hook.Runner{Proc: x.AroundHooks(x.Procs), Root: x.Root, Env: append(workspace.BaseEnv(x.Env.Environ), "RALPH=1", "RALPH_ROOT="+x.Root)}
	record := func(ctx context.Context, f ralph.Fact) error {
		return x.journal.Update(ctx, "engine", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil })
	}
	said := func(name, words string) { x.console.Note("hook %s: %s", name, words) }
	h := &hooks{
		root: x.Root, set: set, namer: eventname.New(policy.Quiescent),
		pre: hook.NewPre(runner, set, record, said),
	}
	if err := x.beforeSession(ctx, h.pre, record); err != nil {
		return nil, err
	}
	return h, x.followHooks(h, hook.NewAfter(runner, func(f ralph.Fact) error { return record(context.Background(), f) }, said, func(n int) {
		x.console.Note("hooks are slower than the work: %d calls wait", n)
	}))
}

// followHooks begins to tell hooks of events, from where the last session that had any has
// come to: what it could not tell any more comes first.
func (x *Session) followHooks(h *hooks, after *hook.After) error {
	if x.DryRun {
		return nil
	}
	if !h.set.Follows() {
		return follow.Forget(x.journal, func(name string) bool { return name != hooksName })
	}
	var err error
	h.after, err = follow.Start(x.journal, follow.Options[hook.Call]{
		Name: hooksName, From: x.journal.State().Seq, Begin: h.namer.Begin, See: h.calls, Deliver: after.Deliver,
		Note: func(words string) { x.console.Note("hooks: %s", words) },
	})
	if errors.Is(err, ralph.ErrActive) { // what is left of an engine whose lock was taken away
		x.console.Note("no hook is told of events: %v", err)
		return nil
	}
	return err
}

// preInput is what a pre- hook is told.
type preInput struct {
	Hook       string          `json:"hook"`
	Step       string          `json:"step"`           // session, turn, check, ...
	Args       ralph.Step      `json:"args,omitempty"` // the step's own fields, as in its receipt
	At         time.Time       `json:"at"`
	Session    ralph.SessionID `json:"session,omitempty"`
	Mode       string          `json:"mode"` // agent, autopilot, construct, plan
	Task       *report.TaskRef `json:"task,omitempty"`
	Repository string          `json:"repository"`
}

// beforeSession asks pre-session. When it says stop nothing has begun.
func (x *Session) beforeSession(ctx context.Context, pre *hook.Pre, record func(context.Context, ralph.Fact) error) error {
	const name = "pre-session"
	input, err := json.Marshal(preInput{Hook: name, Step: "session", At: time.Now().UTC(), Mode: x.Mode, Repository: x.Root})
	if err != nil {
		return fmt.Errorf("tell hook %s: %w", name, err)
	}
	ran, err := pre.Before(ctx, name, hook.Call{Input: input, Env: []string{"RALPH_HOOK=" + name, "RALPH_STEP=session"}})
	if err != nil || ran == nil {
		return err
	}
	if err := record(ctx, *ran); err != nil {
		return err
	}
	x.console.Note("nothing was begun: %s", hook.Cause(*ran))
	return exit.Error{Code: exit.Limit}
}

// before puts the pre- hooks before the steps of a doer.
func (h *hooks) before(next hook.Does) hook.Does {
	return &hook.Doer{Next: next, Pre: h.pre, Call: h.call}
}

func (h *hooks) call(s *ralph.State, id ralph.TaskID, step ralph.Step, name string) (hook.Call, error) {
	ref := report.RefTo(s, id)
	input, err := json.Marshal(preInput{
		Hook: name, Step: step.StepName(), Args: step, At: time.Now().UTC(),
		Session: s.Session.ID, Mode: s.Session.Mode, Task: ref, Repository: h.root,
	})
	if err != nil {
		return hook.Call{}, fmt.Errorf("tell hook %s: %w", name, err)
	}
	return hook.Call{Task: id, Input: input, Env: append(hookEnv(s, ref), "RALPH_HOOK="+name, "RALPH_STEP="+step.StepName())}, nil
}

// hookEnv is what a hook can read without taking JSON apart.
func hookEnv(s *ralph.State, task *report.TaskRef) []string {
	env := []string{"RALPH_SESSION=" + string(s.Session.ID)}
	if s.Job != nil {
		env = append(env, "RALPH_SPEC="+s.Job.File)
	}
	if task == nil {
		return env
	}
	env = append(env, "RALPH_TASK="+string(task.ID), "RALPH_TASK_NAME="+task.Name, "RALPH_TASK_DIR="+task.Dir)
	if task.Phase != "" {
		env = append(env, "RALPH_PHASE="+task.Phase)
	}
	return env
}

// calls are those of the hooks of an event.
func (h *hooks) calls(e ralph.Event, s *ralph.State) []hook.Call {
	if rehearsed(e, s) {
		return nil
	}
	names := h.namer.Names(e, s)
	var calls []hook.Call
	for _, hk := range h.set.For(names) {
		input, err := report.EventJSON(e, names, s, hk.Name, h.root)
		if err != nil {
			continue // the journal could not have been written either
		}
		id := report.About(e.Fact)
		env := append(hookEnv(s, report.RefTo(s, id)), "RALPH_HOOK="+hk.Name, "RALPH_EVENT="+names[0], "RALPH_SEQ="+strconv.FormatInt(e.Seq, 10))
		calls = append(calls, hook.Call{Hook: hk, Seq: e.Seq, Task: id, Env: env, Input: input})
	}
	return calls
}

// rehearsed reports whether an event is one of a session with --dry-run, which runs nothing of
// the repository's own, later neither.
func rehearsed(e ralph.Event, s *ralph.State) bool {
	x := &s.Session
	_, end := e.Fact.(ralph.SessionEnded)
	return x.PlanOnly && x.Mode != "plan" && (x.Live() || end)
}

// closeHooks lets the hooks end that were told of something, until Ctrl+C; a person who
// stopped everything at once does not wait for them.
func (x *Session) closeHooks(ctx context.Context) {
	if x.hooks == nil || x.hooks.after == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastHooks)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	defer whenDone(ctx, func() { x.hurry(lastWords) })() // a hook that failed is written down
	if x.atOnce {
		cancel()
	}
	long := time.AfterFunc(2*time.Second, func() { x.console.Note("waiting for hooks that are not done (Ctrl+C ends them)") })
	defer long.Stop()
	if left := x.hooks.after.Close(ctx); left > 0 {
		x.console.Note("hooks: %s left for the next start", text.Count(left, "call"))
	}
}
