package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/specs"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// What a person does from another machine: one short workflow, which the coordinator of the
// repository carries out by the same actions and commands that it has itself.

// Times of whoever asks a coordinator.
const (
	answers = 10 * time.Second // a coordinator that is there has begun by then
	news    = 20 * time.Second // how long one look at a log waits for something new
	settle  = time.Second      // what follows at once is taken along
)

// requestQueue is read by the coordinator of a repository.
func requestQueue(base, repo string) string {
	sum := sha256.Sum256([]byte(repo))
	return base + "/request/" + hex.EncodeToString(sum[:8])
}

// Act is what the coordinator is asked to do.
type Act struct {
	fleetcmd.Act

	Who  string // who asks, as their machine says
	Beat time.Duration
}

// Acted is its answer.
type Acted struct {
	fleetcmd.Acted

	Why, Hint string // it was refused
	Usage     bool   // for how it was asked
}

// actions are those that may be asked for from elsewhere.
func actions() []string {
	return []string{"queue", "pause", "resume", "stop", "stop-now", "approve", "deny", "answer"}
}

// act waits for a coordinator for as long as there is none: who does not want that ends it.
func act(ctx workflow.Context, in Act) (Acted, error) {
	var out Acted
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: in.Beat,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second},
	})
	err := workflow.ExecuteActivity(ctx, actActivity, in).Get(ctx, &out)
	return out, err
}

// answerer is the coordinator's end: it does or looks up what is asked from elsewhere.
type answerer struct {
	env     workspace.Env
	root    string
	journal *journal.File
	last    *atomic.Pointer[workflow.Execution] // the newest action
}

func (x answerer) act(ctx context.Context, in Act) (Acted, error) {
	stop := beat(ctx, in.Beat)
	defer stop()
	var out Acted
	var err error
	if in.Action == "" {
		err = x.look(ctx, in, &out)
	} else {
		asked := activity.GetInfo(ctx).WorkflowExecution
		x.last.Store(&asked)
		err = x.do(ctx, in, &out)
	}
	var no *ralph.Refusal
	switch {
	case ctx.Err() != nil:
		return out, ctx.Err() // it is done by the next coordinator
	case errors.As(err, &no):
		out.Why, out.Hint, out.Usage = no.Why, no.Hint, errors.Is(err, ralph.ErrUsage)
	case err != nil:
		out.Why = err.Error()
	}
	if b, err := json.Marshal(out); err != nil || len(b) > maxPayload {
		return Acted{Why: fmt.Sprintf("the answer is more than %d kB", maxPayload>>10), Hint: "ask for less, as with `log -n 100`"}, nil
	}
	return out, nil
}

// do carries an action out. It may be done again, after a coordinator that was killed half way.
func (x answerer) do(ctx context.Context, in Act, out *Acted) error {
	if !slices.Contains(actions(), in.Action) {
		return &ralph.Refusal{Why: fmt.Sprintf("%q is nothing that is done from another machine", in.Action), Kind: ralph.ErrUsage}
	}
	if in.Action == "queue" && in.Input.Text != "" {
		if said, again := x.queued(in.Input); again {
			if out.Result.Said = said; said != "" {
				return nil
			}
			in.Input.Text = "" // the file is there, its record is not
		}
	}
	surface := backend.Surface{By: "fleet", Cause: "ralph " + in.Action + " by " + in.Who, Witness: func(context.Context) ralph.Witness { return ralph.Witness{Way: ralph.WayFleet, Name: in.Who} }}
	var err error
	out.Result, err = action.Do(ctx, backend.New(x.env, x.root, x.journal, surface), in.Action, in.Input)
	return err
}

// queued finds a spec that was handed over before: the very same text under the same name. said is
// what came of it, "" where it is not queued.
func (x answerer) queued(in action.Input) (said string, again bool) {
	file, err := ralph.SpecFile(in.File)
	if err != nil {
		return "", false
	}
	if text, err := specs.Read(x.root, file); err != nil || text != in.Text {
		return "", false
	}
	for _, s := range x.journal.State().Queued(file) {
		return fmt.Sprintf("Queued already: %s %s", s.ID, s.File), true
	}
	return "", true
}

// look runs a command that only looks, as it is said at the coordinator.
func (x answerer) look(ctx context.Context, in Act, out *Acted) error {
	if len(in.Look) == 0 || in.Look[0] != "status" && in.Look[0] != "log" {
		return &ralph.Refusal{Why: fmt.Sprintf("%q is nothing that is looked at from another machine", in.Look), Kind: ralph.ErrUsage}
	}
	if elsewhere(in.Look) {
		return &ralph.Refusal{Why: "a coordinator shows its own repository alone", Kind: ralph.ErrUsage}
	}
	words := slices.Clone(in.Look)
	if in.After > 0 {
		wait, cancel := context.WithTimeout(ctx, news)
		defer cancel()
		if err := x.journal.Wait(wait, in.After); err != nil {
			out.Seq = in.After // nothing has happened
			return ctx.Err()
		}
		select {
		case <-time.After(settle):
		case <-ctx.Done():
			return ctx.Err()
		}
		words = slices.Insert(words, 1, "--after="+strconv.FormatInt(in.After, 10))
	}
	out.Seq = x.journal.State().Seq
	if words[0] == "log" && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "--at=") }) {
		words = slices.Insert(words, 1, "--at="+strconv.FormatInt(out.Seq, 10))
	}
	said, warned, res, err := proc.NewRunner(workspace.StateDir(x.root)+"/procs").Output(ctx, proc.Command{Args: append([]string{x.env.Self}, words...), Dir: x.root, Env: x.env.Environ})
	if err != nil {
		return fmt.Errorf("look at the repository: %w", err)
	}
	if res.Ended != proc.EndedSelf || res.Code != 0 {
		return &ralph.Refusal{Why: string(bytes.TrimPrefix(bytes.TrimSpace(warned), []byte("ralph: "))), Kind: ralph.ErrUsage}
	}
	out.Out = string(said)
	return nil
}

// elsewhere reports that a command is to look at another folder than that of the coordinator.
// Flags come in their long form (cli.given).
func elsewhere(words []string) bool {
	for _, w := range words[1:] {
		switch {
		case w == "--":
			return false
		case !strings.HasPrefix(w, "--") || strings.HasPrefix(w, "--directory"):
			return true
		}
	}
	return false
}

// Act implements fleetcmd.Fleet.
func (p Program) Act(ctx context.Context, env workspace.Env, at fleetcmd.At, what fleetcmd.Act) (fleetcmd.Acted, error) {
	if err := checkURL(what.Repo); err != nil {
		return fleetcmd.Acted{}, err
	}
	s := Server{At: at, Environ: env.Environ}
	in := Act{Act: what, Who: fleetcmd.Who(), Beat: heard}
	c, _, err := s.dial("ralph " + in.Who)
	if err != nil {
		return fleetcmd.Acted{}, err
	}
	defer c.Close()
	queue := requestQueue(s.queue(), what.Repo)
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: queue + "/" + rand.Text(), TaskQueue: queue}, actWorkflow, in)
	if err != nil {
		return fleetcmd.Acted{}, fmt.Errorf("ask the coordinator of %s: %w", what.Repo, err)
	}
	out, err := awaitAct(ctx, c, run, what)
	switch {
	case err != nil:
		return out.Acted, err
	case out.Why != "":
		kind := ralph.ErrNotFound
		if out.Usage {
			kind = ralph.ErrUsage
		}
		return out.Acted, &ralph.Refusal{Why: out.Why, Hint: out.Hint, Kind: kind}
	}
	return out.Acted, nil
}

// awaitAct waits for the answer. Where nobody begins, what may not wait is withdrawn.
func awaitAct(ctx context.Context, c client.Client, run client.WorkflowRun, what fleetcmd.Act) (Acted, error) {
	var out Acted
	soon, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	err := outcome(soon, run, &out)
	if err == nil || soon.Err() == nil && !away(err) {
		return out, err
	}
	begun := false
	if d, err := c.DescribeWorkflowExecution(ctx, run.GetID(), ""); err == nil && len(d.GetPendingActivities()) > 0 {
		begun = d.GetPendingActivities()[0].GetState() == enums.PENDING_ACTIVITY_STATE_STARTED
	}
	switch {
	case ctx.Err() == nil && begun:
		err = outcome(ctx, run, &out)
		if ctx.Err() == nil {
			return out, err
		}
	case ctx.Err() == nil && what.Stays:
		out.Waiting = true
		return out, nil
	}
	bye, end := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer end()
	_ = c.TerminateWorkflow(bye, run.GetID(), "", "withdrawn by who asked")
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	return out, &ralph.Refusal{Why: "no coordinator of " + what.Repo + " is at work", Hint: "start one there: `ralph agent --fleet --watch`; the address has to be just as `git remote get-url` says it there", Kind: ralph.ErrNotFound}
}
