package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/briefing"
	"github.com/ralph-loop/ralph/internal/fleet/note"
	stepping "github.com/ralph-loop/ralph/internal/step"
)

// maxPayload bounds what is put into Temporal.
const maxPayload = 256 << 10

// Talk is what a worker says to the journal in the middle of a turn.
type Talk struct {
	Task  ralph.TaskID
	By    string
	Facts []json.RawMessage // to be written; none: it waits
	Seen  string            // wait until it is no more so
	Beat  time.Duration
}

// talkServer is the coordinator's end: the activity that writes into its journal.
type talkServer struct{ journal stepping.Journal }

func (d talkServer) talk(ctx context.Context, in Talk) (briefing.Told, error) {
	stop := beat(ctx, in.Beat)
	defer stop()
	if len(in.Facts) > 0 {
		facts, err := note.DecodeFacts(in.Facts)
		if err != nil {
			return briefing.Told{}, temporal.NewNonRetryableApplicationError(err.Error(), "facts", nil)
		}
		for _, f := range facts {
			if f.About() != in.Task {
				return briefing.Told{}, temporal.NewNonRetryableApplicationError(fmt.Sprintf("a worker may not write %s about %s in a turn of %s", f.Kind(), f.About(), in.Task), "facts", nil)
			}
		}
		if err := d.journal.Update(ctx, in.By, func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
			return briefing.Told{}, err
		}
		return d.told(in.Task)
	}
	for {
		s := d.journal.State()
		out, err := d.told(in.Task)
		if err != nil || out.Seen != in.Seen {
			return out, err
		}
		if err := d.journal.Wait(ctx, s.Seq); err != nil {
			return briefing.Told{}, err
		}
	}
}

func (d talkServer) told(id ralph.TaskID) (briefing.Told, error) {
	out, err := briefing.Tell(d.journal.State(), id)
	if err != nil {
		return out, err
	}
	if b, err := json.Marshal(out); err != nil || len(b) > maxPayload {
		return briefing.Told{}, temporal.NewNonRetryableApplicationError(fmt.Sprintf("what is asked about %s is more than %d kB: it cannot be answered on another machine", id, maxPayload>>10), "size", err)
	}
	return out, nil
}

// beat keeps an activity alive until it is stopped.
func beat(ctx context.Context, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(max(every/3, 10*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// line is the worker's end: the journal as a turn needs it, which is the coordinator's.
type line struct {
	client  client.Client
	queue   string // the coordinator's
	id      string // of the step and its attempt: what is said has names below it
	task    ralph.TaskID
	beat    time.Duration
	mu      sync.Mutex // one speaks at a time
	said    int
	looking sync.Mutex
	state   *ralph.State
}

// State implements step.Journal.
func (l *line) State() *ralph.State {
	l.looking.Lock()
	defer l.looking.Unlock()
	return l.state
}

func (l *line) learn(t briefing.Told) {
	l.looking.Lock()
	defer l.looking.Unlock()
	if t.Seq >= l.state.Seq {
		l.state = t.Into(l.state)
	}
}

// Update implements step.Journal: what is decided here is written there.
func (l *line) Update(ctx context.Context, by string, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	facts, err := decide(l.State())
	if err != nil || len(facts) == 0 {
		return err
	}
	lines, err := note.EncodeFacts(facts)
	if err != nil {
		return err
	}
	if b, err := json.Marshal(lines); err != nil || len(b) > maxPayload {
		return fmt.Errorf("what the agent of %s asks or says is more than %d kB: it cannot be told to the coordinator", l.task, maxPayload>>10)
	}
	l.said++
	return l.speak(ctx, fmt.Sprintf("%s/say-%d", l.id, l.said), Talk{Task: l.task, By: by, Facts: lines, Beat: l.beat})
}

// Wait implements step.Journal: it returns when there is another word on what the task asked.
func (l *line) Wait(ctx context.Context, seq int64) error {
	s := l.State()
	if s.Seq > seq {
		return nil
	}
	t, err := briefing.Tell(s, l.task)
	if err != nil {
		return err
	}
	// Who waits for the same again finds the run that does so already.
	return l.speak(ctx, fmt.Sprintf("%s/wait-%d", l.id, seq), Talk{Task: l.task, Seen: t.Seen, Beat: l.beat})
}

func (l *line) speak(ctx context.Context, id string, in Talk) error {
	var run client.WorkflowRun
	err := again(ctx, func() (err error) {
		run, err = l.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: id, TaskQueue: l.queue, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		}, talkWorkflow, in)
		return err
	})
	if err != nil {
		return fmt.Errorf("tell the coordinator: %w", err)
	}
	var out briefing.Told
	if err := outcome(ctx, run, &out); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("tell the coordinator: %w", err)
	}
	l.learn(out)
	return nil
}
