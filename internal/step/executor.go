// Package step owns the executor: it carries out one step with the things it is
// given (agents, git, gates) and returns what came of it as facts. It decides
// nothing that policy decides, and it does not know which agent or which git it
// talks to.
package step

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/prompt"
)

// Agent is one agent program, reached through its driver.
type Agent interface {
	Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error)
}

// Trees is where work happens: git, in place.
type Trees interface {
	Start(ctx context.Context) (ralph.Prepared, error)
	Snapshot(ctx context.Context) (tree, head string, err error)
	Diff(ctx context.Context, from, to string, most int64) ([]byte, error)
	Commit(ctx context.Context, in CommitInput) (ralph.Committed, error)
	Shelve(ctx context.Context, in ShelveInput) (ralph.Shelved, error)
}

// CommitInput is a commit to make. Trailer proves, after a crash, that it was made.
type CommitInput struct {
	Base, Branch  string // where the job started
	Message       string
	Trailer, Key  string
	Fresh         bool   // the key is of this very attempt: no commit can carry it yet
	Tree          string // the tree of the last snapshot, when nothing ran since
	Squash        bool   // commits of the agent since Base become part of this one
	OnlyIfChanges bool
}

// ShelveInput is a tree to put away.
type ShelveInput struct {
	How, Base, Branch, Message, ID string
}

// Gates runs check commands.
type Gates interface {
	Run(ctx context.Context, dir string, gates []ralph.GateSpec) ([]ralph.GateResult, error)
}

// Live shows a person what happens inside a step. It must not block.
type Live interface {
	Said(task ralph.TaskID, said ralph.Said)
}

// Executor carries out steps. Its fields are set once, by cli's wire.go.
type Executor struct {
	Root   string // the repository
	Config policy.Config
	Agents map[string]ConfiguredAgent
	Checks []ralph.GateSpec
	Trees  Trees
	Gates  Gates
	Live   Live     // may be nil
	Env    []string // what every agent process gets, K=V
	NewID  func(prefix string) string
	Now    func() time.Time
	Grace  time.Duration // between TERM and KILL of an agent
	// SkipDiffs leaves out diff.patch of each turn. With task.auto_commit the
	// task's commit shows the same, for a process less in each turn.
	SkipDiffs bool

	prompts prompt.Renderer
}

// ConfiguredAgent is an agent with what its configuration says.
type ConfiguredAgent struct {
	Agent
	Spec       ralph.AgentSpec
	Structured bool // the driver enforces the schema of an answer
	// Price makes the cost of a turn from its tokens, nil when no price is set
	// and the agent reports cost itself.
	Price func(ralph.Usage) ralph.Usage
	Env   []string // pass_env and env of its configuration, K=V
}

// Do implements engine.Doer.
func (x *Executor) Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error) {
	t := s.Task(id)
	if t == nil || s.Job == nil {
		return []ralph.Fact{ralph.Noted{Task: id, Text: "the task is no longer in the plan"}}, nil
	}
	switch step := step.(type) {
	case ralph.Prepare:
		return x.prepare(ctx, s, t)
	case ralph.Turn:
		return x.turn(ctx, s, t, step)
	case ralph.Check:
		return x.check(ctx, t)
	case ralph.Commit:
		return x.commit(ctx, s, t, step)
	case ralph.Shelve:
		return x.shelve(ctx, s, t, step)
	case ralph.Ask:
		return x.ask(t, step)
	}
	return nil, fmt.Errorf("step %s has no executor", step.StepName())
}

// prepare looks at the spec and at where the work starts. A spec that is not
// there is an outcome, not an error: the next spec goes on (D-076).
func (x *Executor) prepare(ctx context.Context, s *ralph.State, t *ralph.Task) ([]ralph.Fact, error) {
	if _, err := x.readSpec(s.Job.File); err != nil {
		return []ralph.Fact{ralph.Prepared{Task: t.ID, Error: err.Error()}}, nil
	}
	p, err := x.Trees.Start(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return []ralph.Fact{ralph.Prepared{Task: t.ID, Error: err.Error()}}, nil
	}
	p.Task = t.ID
	return []ralph.Fact{p}, nil
}

// check runs the checks; their result is bound to the tree they ran on.
func (x *Executor) check(ctx context.Context, t *ralph.Task) ([]ralph.Fact, error) {
	tree, _, err := x.Trees.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	begin := x.Now()
	results, err := x.Gates.Run(ctx, x.Root, x.Checks)
	if err != nil {
		return nil, fmt.Errorf("run the checks: %w", err)
	}
	ran := ralph.ChecksRan{Task: t.ID, Pass: true, Tree: tree, Results: results, Took: x.Now().Sub(begin)}
	for _, r := range results {
		ran.Pass = ran.Pass && r.Pass
	}
	if t.Run.Last != nil && t.Run.Last.Dir != "" {
		if err := x.keep(filepath.Join(t.Run.Last.Dir, "checks.json"), ran); err != nil {
			return nil, err
		}
	}
	return []ralph.Fact{ran}, nil
}

func (x *Executor) commit(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Commit) ([]ralph.Fact, error) {
	begin := x.Now()
	in := CommitInput{Base: s.Job.Base, Branch: s.Job.Branch, Trailer: "Ralph-Receipt", Key: t.Run.CommitKey, Squash: !step.OnlyTask}
	in.Fresh = in.Key == s.Hash // nothing was recorded since the receipt that made the key
	trailers := []string{}
	if step.OnlyTask {
		trailers = append(trailers, "Ralph-Task: "+string(t.ID))
		in.OnlyIfChanges = true
		if t.Run.Checks == nil {
			in.Tree = t.Run.Tree // checks may have changed files
		}
	} else if s.Job.Spec != "" {
		trailers = append(trailers, "Ralph-Spec: "+string(s.Job.Spec))
	}
	trailers = append(trailers, in.Trailer+": "+in.Key)
	info := prompt.CommitInfo{
		SpecFile: s.Job.File, Tasks: s.CountTasks(ralph.TaskDone), Duration: s.JobElapsed(begin),
		Cost: s.Plan.Usage.Cost, Trailers: trailers,
	}
	in.Message = prompt.CommitMessage(info)
	if step.OnlyTask {
		in.Message = prompt.TaskCommitMessage(t.Name, s.Job.File, trailers)
	}
	c, err := x.Trees.Commit(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		c = ralph.Committed{Error: err.Error()}
	}
	c.Task, c.Took = t.ID, x.Now().Sub(begin)
	c.Subject, _, _ = strings.Cut(in.Message, "\n")
	return []ralph.Fact{c}, nil
}

func (x *Executor) shelve(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Shelve) ([]ralph.Fact, error) {
	name := strings.TrimSuffix(s.Job.File, ".md")
	in := ShelveInput{How: step.How, Base: s.Job.Base, Branch: s.Job.Branch, Message: "ralph: failed " + name}
	// The same when this is done again after a crash: when the stage was first started.
	in.ID = fmt.Sprintf("%s-%s", s.Job.ID, t.Run.StartedAt.UTC().Format("20060102T150405Z"))
	f, err := x.Trees.Shelve(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		f = ralph.Shelved{Error: err.Error()}
	}
	f.Task, f.How = t.ID, step.How
	return []ralph.Fact{f}, nil
}

func (x *Executor) ask(t *ralph.Task, step ralph.Ask) ([]ralph.Fact, error) {
	now := x.Now()
	gate := ralph.Gate{ID: ralph.GateID(x.NewID("g")), Kind: step.Kind, Task: t.ID, Text: step.Text, AskedAt: now}
	if x.Config.InputTimeout > 0 {
		gate.Deadline = now.Add(x.Config.InputTimeout)
	}
	return []ralph.Fact{ralph.Asked{Gate: gate}}, nil
}

// keep writes a record of the turn as JSON, for people and tools.
func (x *Executor) keep(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	path := filepath.Join(x.Root, name)
	// The agent may have deleted the folder; a start after it would fail again here.
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = os.WriteFile(path, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
