package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/policy"
)

var (
	_ engine.Journal = (*Mem)(nil)
	_ engine.Doer    = (*Script)(nil)
)

// Call is one agent turn as the script's agent sees it.
type Call struct {
	Task      *ralph.Task // the task or stage; do not write to it
	Stage     ralph.TaskKind
	Iteration int
	Turn      ralph.Turn
	File      string       // the spec of the job
	State     *ralph.State // the receipt of the turn is its last fact
	Now       time.Time
}

// Repo is the outside world that outlives an engine: the commits and stashes
// made, each under its key, once (CommitKey, job).
type Repo struct {
	mu      sync.Mutex
	Commits []string
	Shelved []string
}

func (r *Repo) add(list *[]string, key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(*list, key)
	if i < 0 {
		*list = append(*list, key)
		i = len(*list) - 1
	}
	return i + 1
}

// Script carries out steps without the world: engine.Doer. Time passes only in
// its steps, by the clock, so it belongs into a synctest bubble.
type Script struct {
	Config policy.Config
	// Agent plays a turn. The first fact is its TurnEnded (what is left empty is
	// filled in); facts of its answer may follow. The stuck warning and the limit
	// of an agent are added as the real executor adds them.
	Agent func(Call) []ralph.Fact
	// Checks says whether the checks of a task pass, nil: they do.
	Checks func(*ralph.Task) bool
	// CommitError refuses the given attempt (from 1) of a commit, nil: none.
	CommitError func(t *ralph.Task, try int) error
	// Missing is a spec file that is not there (D-076).
	Missing string
	Repo    *Repo
	// Advise plays a model that is asked what comes next in a thread; nil: none is.
	Advise func(s *ralph.State, rules ralph.Advised) ralph.Advised
	// Guide plays a model that makes a part of a thread's guidance; nil: there is none to ask.
	Guide func(t *ralph.Task, part ralph.GuidancePart) ralph.Guided
	// Git is the outside world of work in worktrees; nil without.
	Git *FakeGit
	// Ask plays what the agent asks in the middle of a turn, before it goes on; stop ends
	// the turn. nil: it asks nothing.
	Ask  func(ctx context.Context, c Call) (stop bool, err error)
	Took time.Duration // of a turn, unless its TurnEnded says otherwise
	// Now is the clock that facts are stamped with, nil for the bubble's.
	Now    func() time.Time
	During func(ctx context.Context, step ralph.Step)
	// Forgets keeps no calls: each holds the state of its turn, and with it a list of all tasks.
	Forgets bool

	mu     sync.Mutex
	active int
	most   int
	calls  []Call
}

// Most returns how many steps were carried out at once at most.
func (x *Script) Most() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.most
}

// Calls returns the turns so far.
func (x *Script) Calls() []Call {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.calls)
}

// Do implements engine.Doer.
func (x *Script) Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error) {
	x.enter(1)
	defer x.enter(-1)
	t := s.Task(id)
	if t == nil || s.Job == nil {
		return []ralph.Fact{ralph.Noted{Task: id, Text: "the task is no longer in the plan"}}, nil
	}
	if x.During != nil {
		x.During(ctx, step)
	}
	if x.Git != nil {
		if facts, ok := x.Git.do(s, t, step); ok {
			return facts, pass(ctx, x.Git.Took)
		}
	}
	switch step := step.(type) {
	case ralph.Prepare:
		if x.Missing != "" && s.Job.File == x.Missing {
			return []ralph.Fact{ralph.Prepared{Task: id, Error: "spec file ralph/specs/" + x.Missing + " not found"}}, nil
		}
		return []ralph.Fact{ralph.Prepared{Task: id, Head: "head", Branch: "main", Tree: "tree"}}, nil
	case ralph.Turn:
		return x.turn(ctx, s, t, step)
	case ralph.Compact:
		f := ralph.Compacted{Task: id, Agent: step.Agent, How: ralph.CompactAgent, Before: step.Use, Session: step.Session, Took: x.Took}
		if step.Session == "" {
			f.How, f.Summary = ralph.CompactHandover, "what was done so far"
		}
		return []ralph.Fact{f}, pass(ctx, x.Took)
	case ralph.Decide:
		f, open, err := policy.Advice(s, t, x.Config, x.clock())
		if open && x.Advise != nil {
			f = x.Advise(s, f)
		}
		return []ralph.Fact{f}, err
	case ralph.Guide:
		f := ralph.Guided{Outcome: ralph.GuidedNobody, Reason: "no model is set"}
		if x.Guide != nil {
			f = x.Guide(t, step.Part)
		}
		f.Task, f.Part = id, step.Part
		return []ralph.Fact{f}, nil
	case ralph.Check:
		return []ralph.Fact{ralph.ChecksRan{Task: id, Pass: x.Checks == nil || x.Checks(t), Tree: t.Run.Tree}}, nil
	case ralph.Commit:
		return x.commit(t), nil
	case ralph.Shelve:
		n := x.Repo.add(&x.Repo.Shelved, string(s.Job.ID))
		return []ralph.Fact{ralph.Shelved{Task: id, How: step.How, Stash: fmt.Sprintf("stash-%d", n)}}, nil
	case ralph.Ask:
		gate := ralph.Approval{ID: ralph.ApprovalID(fmt.Sprintf("g-%d", s.Seq)), Kind: step.Kind, Task: id, About: step.About, Text: step.Text, Detail: step.Detail, AskedAt: x.clock()}
		if x.Config.InputTimeout > 0 {
			gate.Deadline = x.clock().Add(x.Config.InputTimeout)
		}
		return []ralph.Fact{ralph.Asked{Approval: gate}}, nil
	}
	return nil, fmt.Errorf("step %s has no executor", step.StepName())
}

func (x *Script) enter(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.active += n
	x.most = max(x.most, x.active)
}

func (x *Script) clock() time.Time {
	now := x.Now
	if now == nil {
		now = time.Now
	}
	return now().UTC().Truncate(time.Microsecond)
}

func (x *Script) commit(t *ralph.Task) []ralph.Fact {
	if x.CommitError != nil {
		if err := x.CommitError(t, t.Run.StepFailures+1); err != nil {
			return []ralph.Fact{ralph.Committed{Task: t.ID, Error: err.Error()}}
		}
	}
	n := x.Repo.add(&x.Repo.Commits, t.Run.CommitKey)
	return []ralph.Fact{ralph.Committed{Task: t.ID, Commit: fmt.Sprintf("commit-%d", n)}}
}

func (x *Script) turn(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Turn) ([]ralph.Fact, error) {
	c := Call{Task: t, Stage: step.Stage, Iteration: step.Iteration, Turn: step, File: s.Job.File, State: s, Now: x.clock()}
	if !x.Forgets {
		x.mu.Lock()
		x.calls = append(x.calls, c)
		x.mu.Unlock()
	}
	facts := slices.Clone(x.Agent(c))
	if len(facts) == 0 {
		return nil, errors.New("the script's agent returned no facts")
	}
	f, ok := facts[0].(ralph.TurnEnded)
	if !ok {
		return nil, fmt.Errorf("the script's agent began with %s, not with its turn.ended", facts[0].Kind())
	}
	f.Task, f.Stage, f.Agent, f.Iteration = t.ID, step.Stage, step.Agent, step.Iteration
	if f.Exit == "" {
		f.Exit = ralph.ExitOK
	}
	if f.Took == 0 {
		f.Took = x.Took
	}
	if x.Git != nil {
		defer x.Git.at(s, t)()
	}
	if step.Timeout > 0 && f.Took >= step.Timeout {
		f.Took, f.Exit, f.Signal = step.Timeout, ralph.ExitTimeout, ralph.Signal{}
		facts = facts[:1]
	}
	if x.Ask != nil {
		begin := time.Now()
		stop, err := x.Ask(ctx, c)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		f.Summary.Waited = time.Since(begin)
		if stop {
			f.Exit, f.Err, f.Signal, facts = ralph.ExitUser, nil, ralph.Signal{}, facts[:1]
		}
	}
	if err := pass(ctx, f.Took); err != nil {
		return nil, err
	}
	f.Took += f.Summary.Waited
	f.Ended = x.clock()
	facts[0] = f
	return facts, nil
}

// pass lets time pass, or ends with ctx.
func pass(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Says is a turn that ends well with a signal and a change.
func Says(kind ralph.SignalKind, text string) ralph.TurnEnded {
	return ralph.TurnEnded{Signal: ralph.Signal{Kind: kind, Text: text}, Changed: true, Usage: ralph.Usage{Known: true}}
}

// Fails is a turn that ends with a typed error.
func Fails(class ralph.ErrorClass) ralph.TurnEnded {
	return ralph.TurnEnded{
		Exit: ralph.ExitFailed, Code: 1, Err: &ralph.AgentError{Class: class, Message: "scripted"}, Usage: ralph.Usage{Known: true},
	}
}

// Plans is the answer of PLAN, or a part of another stage's: tasks by name, each
// with an id made from the spec, so that the same plan made again is the same.
func Plans(file string, names ...string) []ralph.Fact {
	facts := []ralph.Fact{Answers("tasks added")}
	for _, name := range names {
		facts = append(facts, ralph.TaskAdded{Task: Task(file, name)})
	}
	return facts
}

// Task is a build task whose id is made of the spec's file and its name.
func Task(file, name string) ralph.Task {
	return ralph.Task{ID: ralph.TaskID("t-" + file + "-" + name), Spec: file, Name: name, Status: ralph.TaskPending}
}

// Answers is a stage's turn whose structured answer was accepted.
func Answers(text string) ralph.TurnEnded {
	return ralph.TurnEnded{Answer: text, Usage: ralph.Usage{Known: true}}
}
