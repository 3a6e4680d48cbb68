// Package step owns the executor: it carries out one step with the things it is
// given (agents, git, gates) and returns what came of it as facts. It decides
// nothing that policy decides, and it does not know which agent or which git it
// talks to.
package step

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/livingdocs"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/prompt"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/specs"
	"github.com/ralph-loop/ralph/internal/thread"
)

// Agent is one agent program, reached through its driver.
type Agent interface {
	Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error)
}

// ShelveInput is a tree to put away.
type ShelveInput struct {
	How, Base, Branch, Message, ID string

	Agents AgentGit
	Left   []ralph.LeftFile // files with changes of others, which stay
}

// Live shows a person what happens inside a step. It must not block.
type Live interface {
	Say(task ralph.TaskID, words ralph.Words)
}

// Executor carries out steps. Its fields are set once, by bootstrap.
type Executor struct {
	Root   string // the repository
	Config policy.Config
	Agents map[string]ConfiguredAgent
	Checks []ralph.CheckSpec
	Trees  Trees
	// PutBack gives files in a place of work back what a tree has in them, after checks; nil:
	// what they write stays.
	PutBack func(ctx context.Context, dir string, in PutBackInput) (PutBack, error)
	// Aliases are those of git in a folder, nil where nobody knows them.
	Aliases func(dir string) map[string]string
	// Push pushes for an agent what a call of git in dir asks for, with the person's own
	// credentials. allow is asked about each reference that would lose what a remote has.
	Push    func(ctx context.Context, dir string, argv []string, allow func(context.Context, []string) error) (said string, code int, err error)
	Message string // the template of commit subjects (commit.message)
	// KeepChanges takes in what checks change in files (quality.changes: keep).
	KeepChanges bool
	// Checkout is looked at for what others do there; nil: nobody looks.
	Checkout Checkout
	Checker  Checker
	// Coverage reads what tests cover; nil: nobody does.
	Coverage Coverage
	// Secrets finds secrets in the lines that a patch adds; nil: nobody looks.
	Secrets func(patch []byte) ([]ralph.Finding, error)
	// Touched lists the files of a kind that differ between two trees, as git has them in
	// a folder, with the beginning of their patch; nil: nobody looks for changed settings.
	Touched func(ctx context.Context, dir, from, to string, want func(path string) bool) ([]Touched, []byte, error)
	// Journal is where requests of agents are written and answered; nil: they are denied.
	Journal Journal
	// Listen begins the line between a turn and its agent's processes, agentsock.Listen;
	// nil, or without a journal: there is none.
	Listen func(context.Context, agentsock.Turn) (*agentsock.Server, error)
	// Reported adds what the reports of agents' git say; nil: there are none.
	Reported    func(files []string, to *AgentGit) error
	Interceptor Interceptor // what stands below agents; may be nil
	Live        Live        // may be nil
	// Redact takes secrets out of what is recorded, shown and told; nil: nothing.
	Redact *redact.Redactor
	Env    []string // what every agent process gets, K=V
	NewID  func(prefix string) string
	Now    func() time.Time
	Grace  time.Duration // between TERM and KILL of an agent
	// SkipDiffs leaves out diff.patch of each turn, but of threads. With task.auto_commit the
	// task's commit shows the same, for a process less in each turn.
	SkipDiffs bool
	// MCP is the command of ralph's MCP server, for drivers that can give their agent
	// one; nil: agents get none.
	MCP []string
	// Signal is how an agent calls `ralph signal` in its shell; "": it is not told.
	Signal string
	// DiskSpace fails when the disk is full; nil: nobody looks.
	DiskSpace func() error

	// For work in worktrees (Config.Isolated), else not used.
	Worktrees  Worktrees
	Merging    Merging
	Resolving  Resolving
	Setup      Setup
	Publishing Publishing
	CeilingEnv string // K=V for agents in worktrees: keeps their git out of the checkout

	Docs livingdocs.Docs

	// Advisor is asked what comes next in a thread; nil: the rules alone decide.
	Advisor Advisor
	// Suggester is asked what to answer to questions of threads; nil: a person is.
	Suggester Suggester
	// Guider makes the guidance of threads (Config.Guidance); nil: no model does.
	Guider Guider
	// Survey looks at the repository for guidance; nil: nobody does.
	Survey func(ctx context.Context, dir string) (thread.Survey, error)

	prompts prompt.Renderer
	results results
	specs   specs.Kept
	merge   sync.Mutex // held by whoever uses the merge worktree
	base    struct {
		sync.Mutex // held while a baseline is found out
		ran        ralph.BaselineRan
	}
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
	Asks  bool     // it asks in the middle of a turn, before it runs a command
	// Reviews: it has a review of its own.
	Reviews bool
}

// Do implements engine.Doer. On a full disk no step begins, and what goes wrong in
// one is nobody's fault: it counts as cut, which the next start does again. Else an
// agent would be paid for nothing, and every task end as failed.
func (x *Executor) Do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error) {
	var facts []ralph.Fact
	err := x.diskSpace()
	if err == nil {
		note := x.specs.Look(x.Root, s.Inbox)
		if facts, err = x.do(ctx, s, id, step); err == nil && note != "" {
			facts = append(facts, ralph.Noted{Text: note})
		}
	}
	if err == nil {
		err = x.noSpace(facts)
	}
	if err != nil {
		return nil, fmt.Errorf("step %s of %s: %w", step.StepName(), id, err)
	}
	return facts, nil
}

// now is the time as facts keep it.
func (x *Executor) now() time.Time { return x.Now().UTC().Truncate(time.Microsecond) }

// do carries out one step.
func (x *Executor) do(ctx context.Context, s *ralph.State, id ralph.TaskID, step ralph.Step) ([]ralph.Fact, error) {
	t := s.Task(id)
	if t == nil || s.Job == nil {
		return []ralph.Fact{ralph.Noted{Task: id, Text: "the task is no longer in the plan"}}, nil
	}
	switch step := step.(type) {
	case ralph.Prepare:
		return x.prepare(ctx, s, t)
	case ralph.Turn:
		return x.turn(ctx, s, t, step)
	case ralph.Compact:
		return x.compact(ctx, s, t, step)
	case ralph.Check:
		return x.check(ctx, s, t, step)
	case ralph.Decide:
		return x.decide(ctx, s, t)
	case ralph.Guide:
		return x.guide(ctx, s, t, step)
	case ralph.Baseline:
		return x.baseline(ctx, s, t, step)
	case ralph.Commit:
		switch {
		case !x.Config.Isolated:
			return x.commit(ctx, s, t, step)
		case step.OnlyTask:
			return x.commitTask(ctx, s, t)
		}
		return x.squash(ctx, s, t)
	case ralph.Merge:
		return x.mergeMembers(ctx, s, t, step)
	case ralph.Advance:
		return x.advance(ctx, s, t, step)
	case ralph.Land:
		return x.land(ctx, s, t)
	case ralph.Publish:
		return x.publish(ctx, s, t, step)
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
	if x.Config.Isolated && t.TakesSlot() {
		return x.prepareTask(ctx, s, t)
	}
	spec, err := x.specs.Read(x.Root, s.Job.File)
	if err != nil {
		return []ralph.Fact{ralph.Prepared{Task: t.ID, Error: err.Error()}}, nil
	}
	if out := x.goesOut(s, spec); !x.Config.Isolated && out.Branch != "" {
		why := fmt.Sprintf("the spec says land: %s, which needs worktrees: set isolation: worktree in ralph/config.yaml, or land.how", out.How)
		return []ralph.Fact{ralph.Prepared{Task: t.ID, Error: why}}, nil
	}
	if x.Config.Isolated {
		return x.prepareAll(ctx, s, t, spec)
	}
	var found []ralph.Fact
	if s.Checkout.Tree != "" { // the work goes on, or the next spec begins: others may have been here since
		var err error
		if _, found, _, err = x.lookToEnd(ctx, s, t); err != nil {
			return failedStart(ctx, t, err)
		}
	}
	p, err := x.Trees.Start(ctx)
	if err != nil {
		return failedStart(ctx, t, err)
	}
	if p.Branch == "" { // no session starts there either, and each spec that waits would fail alike; HEAD stays where somebody took it
		why := fmt.Sprintf("HEAD is detached at %.7s, and what %s needs would be committed on no branch", p.Head, s.Job.File)
		return nil, &ralph.Refusal{Why: why, Hint: "check out its branch, for instance `git switch main`, and start again", Kind: ralph.ErrUsage}
	}
	p.Task = t.ID
	return append(found, p), nil
}

// failedStart is an outcome, unless the work was cut.
func failedStart(ctx context.Context, t *ralph.Task, err error) ([]ralph.Fact, error) {
	if ctx.Err() != nil {
		return nil, err
	}
	return []ralph.Fact{ralph.Prepared{Task: t.ID, Error: err.Error()}}, nil
}

func (x *Executor) shelve(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Shelve) ([]ralph.Fact, error) {
	name := strings.TrimSuffix(s.Job.File, ".md")
	in := ShelveInput{How: step.How, Base: s.Job.Base, Branch: s.Job.Branch, Message: "ralph: failed " + name}
	// The same when this is done again after a crash: when the stage was first started.
	in.ID = fmt.Sprintf("%s-%s", s.Job.ID, t.Run.StartedAt.UTC().Format("20060102T150405Z"))
	seen, found, agents, err := x.lookToEnd(ctx, s, t)
	if err != nil {
		return nil, err
	}
	in.Agents, in.Left = agents, seen.Left
	f, err := x.Trees.Shelve(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		f = ralph.Shelved{Error: err.Error()}
	}
	f.Task, f.How = t.ID, step.How
	return append(found, f), nil
}

func (x *Executor) ask(t *ralph.Task, step ralph.Ask) ([]ralph.Fact, error) {
	now := x.Now()
	gate := ralph.Approval{ID: ralph.ApprovalID(x.NewID("g")), Kind: step.Kind, Task: t.ID, About: step.About, Text: step.Text, Detail: step.Detail, AskedAt: now}
	gate.Deadline = policy.GateDeadline(step.Kind, x.Config, now)
	if step.Kind == ralph.ApprovalTest {
		gate.Rule = strings.Join(t.Run.Checks.Reds(), ", ")
		if len(step.Red) > 0 {
			gate.Request = &ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCheck, Text: "let pass: " + ralph.RedWords(step.Red), Red: step.Red}
		}
	}
	return []ralph.Fact{ralph.Asked{Approval: gate}}, nil
}

// keep writes a record of the turn as JSON, for people and tools.
func (x *Executor) keep(name string, v any) error {
	b, err := json.MarshalIndent(redact.Value(x.Redact, v), "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return writeRecord(filepath.Join(x.Root, name), append(b, '\n'))
}
