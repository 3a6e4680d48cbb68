package step

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	maxLearned   = 64 << 10 // bytes of ralph/progress.md that go into a prompt, the newest
	maxDiff      = 64 << 10 // bytes of a patch that VERIFY gets to see
	maxTail      = 500      // bytes of last words in a fact
	maxWords     = 4 << 10  // likewise, of a thread: whoever decides what comes next reads them
	stateTasks   = "ralph/.state/tasks"
	progressFile = "ralph/progress.md"
)

// turn runs one agent turn and reads what the agent answered.
func (x *Executor) turn(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Turn) ([]ralph.Fact, error) {
	agent, ok := x.Agents[step.Agent]
	if !ok {
		return nil, fmt.Errorf("agent %q is not configured any more", step.Agent)
	}
	spec, err := x.specs.Read(x.Root, s.Job.File)
	if err != nil {
		return x.withoutSpec(s, t, step, err), nil
	}
	if x.dir(t) == filepath.Join(x.Root, mergeDir) {
		x.merge.Lock() // a stage looks at what is merged; nobody may check out another commit below it
		defer x.merge.Unlock()
		if err := x.enterMergeDir(ctx, t.ID, s.Plan.Integration.Tip); err != nil {
			return x.cannotStart(ctx, s, t, step, err)
		}
	}
	if s, t, err = x.lookBefore(ctx, s, t); err != nil {
		return nil, err
	}
	text, err := x.prompt(ctx, s, t, step, spec, agent.Structured)
	if err != nil {
		return nil, err
	}
	rec, err := x.openRecord(t, strconv.Itoa(step.Iteration), text)
	if err != nil {
		return nil, err
	}
	begin := x.Now()
	listener := newListener(x.Live, t.ID, text)
	guard, turnCtx := guardWindow(ctx, x.Config.ContextKill)
	defer guard.release()
	watch, turnCtx := x.watchAgent(turnCtx, t, step)
	defer watch.close()
	asks, heard := x.askerOf(t, step), newHeard().shown(rec.dir, x.Redact)
	defer heard.close()
	kept := newRefusals(turnCtx, asks)
	defer kept.close()
	line, env, err := x.openLine(turnCtx, s, t, step, agent, asks, rec, guard.cut)
	if err != nil {
		return nil, errors.Join(err, rec.close())
	}
	res, err := agent.Turn(turnCtx, ralph.TurnInput{
		Agent: agent.Spec, Stage: step.Stage, Prompt: text, Dir: x.dir(t), Env: env,
		Resume: step.Resume, Schema: schemaFor(step.Stage, agent.Structured), Timeout: step.Timeout, MaxCost: step.MaxCost,
		Review: step.Stage == ralph.KindReview && agent.Reviews && t.Run.Mismatches == 0, // asked once more it answers by the schema
		Grace:  x.Grace, Scratch: rec.dir, MCP: x.MCP, Raw: rec.output,
	}, ralph.TurnHooks{
		Event:   func(e ralph.StreamEvent) { heard.add(e); watch.heard(e); listener.event(e); kept.heard(e) },
		Context: guard.heard, Ask: asks.hook(), Asking: line.through, Stopping: x.stopping(t, text),
	})
	kept.close()
	if closeErr := errors.Join(line.close(), rec.close()); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("turn of agent %s: %w", step.Agent, err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	guard.settle(&res)
	watch.settle(&res)
	signal := listener.signal(res.Text, text)
	res = redact.Value(x.Redact, res) // before anything of it is cut: half a secret is not known as one
	f := x.ended(t, step, agent, res)
	f.Ended = x.now()
	if t.Run.Thread != nil {
		f.Tail = tail(res.Text, maxWords)
	}
	f.Took, f.Dir, f.Dropped = x.Now().Sub(begin), rec.rel, res.Dropped+rec.output.dropped()
	if f.Summary, err = x.summarize(heard, asks, res, rec); err != nil {
		return nil, err
	}
	if t.TakesSlot() {
		f.Signal = lastSaid(signal, x.signalled(t.ID))
		if err := x.see(ctx, s, t, &f); err != nil {
			return nil, err
		}
	} else if x.inCheckout(t) { // whatever a stage changes is an agent's doing, too
		if f.Tree, f.Head, err = x.snapshot(ctx, s, t); err != nil {
			return nil, err
		}
	}
	if f.Commits, err = x.committedIn(s, t, rec); err != nil {
		return nil, err
	}
	x.dropReport(rec)
	facts := x.answer(s, t, step, res, &f)
	if f.Files, err = rec.sums(); err != nil {
		return nil, err
	}
	facts = append([]ralph.Fact{f}, facts...)
	facts = append(facts, x.warnContext(t, f)...)
	return facts, nil
}

// stopping answers an agent that is about to end its turn on a task without a signal;
// nil for stages, whose end is their answer.
func (x *Executor) stopping(t *ralph.Task, told string) func(words string) string {
	if !t.TakesSlot() || t.Run.Thread != nil { // a thread's turn may end without one
		return nil
	}
	return func(words string) string {
		if x.signalled(t.ID).Kind != ralph.SignalNone {
			return ""
		}
		return prompt.Stopping(t, words, told)
	}
}

// withoutSpec is the turn of a spec that cannot be read any more, because the
// agent or a person deleted it. That is an outcome: the spec fails with these
// words and the next one goes on (D-076). As an error of the machinery it would
// stop every later start as well.
func (x *Executor) withoutSpec(s *ralph.State, t *ralph.Task, step ralph.Turn, err error) []ralph.Fact {
	f := ralph.TurnEnded{
		Task: t.ID, Stage: step.Stage, Agent: step.Agent, Iteration: step.Iteration, Exit: ralph.ExitFailed,
		Usage: ralph.Usage{Known: true}, // no agent was asked: that cost nothing
		Err:   &ralph.AgentError{Class: ralph.ErrClassRequest, Message: err.Error()},
		Ended: x.now(),
	}
	return []ralph.Fact{f}
}

// cannotStart is the turn of a stage whose worktree could not be made ready. A
// set-up that fails is the person's to mend; all else is broken machinery.
func (x *Executor) cannotStart(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Turn, err error) ([]ralph.Fact, error) {
	if _, ok := errors.AsType[*setupError](err); !ok || ctx.Err() != nil {
		return nil, err
	}
	return x.withoutSpec(s, t, step, err), nil
}

// ended is the turn as a fact, before its answer is read.
func (x *Executor) ended(t *ralph.Task, step ralph.Turn, agent ConfiguredAgent, res ralph.TurnResult) ralph.TurnEnded {
	if agent.Price != nil && !res.Usage.Known {
		res.Usage = agent.Price(res.Usage)
	}
	if res.Context == (ralph.ContextUse{}) && res.Session != "" && res.Session == t.Run.Session {
		res.Context = t.Run.Context // a turn that failed at its start filled nothing, and emptied nothing
	}
	return ralph.TurnEnded{
		Task: t.ID, Stage: step.Stage, Agent: step.Agent, Iteration: step.Iteration, Exit: res.Exit, Code: res.Code,
		Session: res.Session, Usage: res.Usage, Context: res.Context, Compacts: res.Compacts, Err: res.Err,
		Denied: res.Denied, Leftover: res.Leftover, Tail: tail(res.Text, maxTail),
	}
}

// see looks at the work tree after a turn: a changed tree or a new commit is
// progress, or in the strict form only a commit (task.progress).
func (x *Executor) see(ctx context.Context, s *ralph.State, t *ralph.Task, f *ralph.TurnEnded) error {
	tree, head, err := x.snapshot(ctx, s, t)
	if err != nil {
		return err
	}
	before, at := t.Run.Tree, s.Job.Head
	switch {
	case t.Run.Worktree.Dir != "":
		at = t.Run.Worktree.Head
	case before == "":
		before = s.Job.Tree
	}
	f.Tree, f.Head = tree, head
	f.Changed = head != at || tree != before && !x.Config.OnlyCommits
	if before != "" && tree != before {
		if sum := x.keepDiff(ctx, t, before, tree, filepath.Join(x.Root, f.Dir, diffName)); sum != nil {
			f.Summary.Diff = sum // git knows better than the agent
		}
	}
	return nil
}

// keepDiff writes the turn's patch for people, and says what is in it. It is a
// convenience: the trees are in git, so a failure here is no failure of the turn.
func (x *Executor) keepDiff(ctx context.Context, t *ralph.Task, from, to, path string) *ralph.DiffSummary {
	if x.SkipDiffs && t.Run.Thread == nil { // of a thread it is decided by it
		return nil
	}
	trees, err := x.trees(x.dir(t))
	if err != nil {
		return nil
	}
	patch, err := trees.Diff(ctx, from, to, maxPatch)
	if err != nil {
		return nil
	}
	_ = os.WriteFile(path, patch, 0o600)
	return diffSummary(patch, "git")
}

// answer reads the structured answer of a stage and returns the facts in it.
// What does not fit is a mismatch: policy asks once more with its words.
func (x *Executor) answer(s *ralph.State, t *ralph.Task, step ralph.Turn, res ralph.TurnResult, f *ralph.TurnEnded) []ralph.Fact {
	if res.Exit != ralph.ExitOK || res.Err != nil {
		return nil
	}
	var facts []ralph.Fact
	var err error
	switch step.Stage {
	case ralph.KindPlan:
		facts, err = x.planned(s, res)
	case ralph.KindInvestigate:
		facts, err = x.investigated(s, res)
	case ralph.KindVerify:
		facts, err = x.verified(s, res)
	case ralph.KindDecompose:
		facts, err = x.decomposed(s, t, res)
	case ralph.KindReview:
		facts, err = x.reviewed(t, x.Agents[step.Agent].Reviews && t.Run.Mismatches == 0, res)
	default:
		return nil
	}
	var mismatch *prompt.Mismatch
	switch {
	case errors.As(err, &mismatch):
		f.Mismatch = mismatch.Why
		return nil
	case err != nil:
		f.Mismatch = err.Error()
		return nil
	}
	f.Answer = summary(facts)
	return facts
}

// prompt renders what the agent is told.
func (x *Executor) prompt(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Turn, spec string, structured bool) (string, error) {
	in := prompt.Input{
		Stage: step.Stage, SpecFile: s.Job.File, SpecText: spec, Task: records.Task(x.Root, t), Tasks: s.Plan.Tasks,
		Learnings: readTail(x.dir(t), progressFile, maxLearned), Feedback: step.Feedback,
		Handover: t.Run.Handover, Iteration: step.Iteration, Max: x.Config.MaxIterations, Structured: structured, InPlace: t.Run.Worktree.Dir == "",
		Signal: x.Signal,
	}
	if x.Config.Sandbox != "" {
		in.Sandbox = &prompt.Sandbox{Write: x.Config.Write}
	}
	if b := s.Baseline(s.BaseOf(t)); b != nil {
		in.Before = b.Reds
	}
	if t.MaxIterations > 0 {
		in.Max = t.MaxIterations
	}
	for _, c := range x.Checks {
		in.Checks = append(in.Checks, c.Command)
	}
	for _, i := range s.Plan.Issues {
		in.Issues = append(in.Issues, *i)
	}
	switch step.Stage {
	case ralph.KindDecompose:
		in.Task = records.Task(x.Root, s.Task(t.Parent))
	case ralph.KindVerify:
		in.Diff = x.jobDiff(ctx, s)
	case ralph.KindResolve:
		x.resolveInput(s, t, &in)
	case ralph.KindThread:
		in.Next, in.Feedback, in.Resumed, in.Max = step.Feedback, "", step.Resume != "", 0
		if th := t.Run.Thread; in.Handover == "" && !in.Resumed && th != nil && (th.Said != "" || th.Changed) {
			in.Handover = x.handover(ctx, s, t) // the agent keeps no session, or it is lost
		}
	case ralph.KindReview:
		in.Diff = x.threadDiff(ctx, s, t)
	}
	override := filepath.Join(x.Root, "ralph/prompts", string(step.Stage)+".md")
	custom, err := os.ReadFile(override)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the prompt template: %w", err)
	}
	return x.prompts.Render(in, string(custom))
}

func (x *Executor) jobDiff(ctx context.Context, s *ralph.State) string {
	to := s.Job.Tree
	if i := s.Plan.Integration; x.Config.Isolated && i != nil {
		to = i.Tip
	}
	if s.Job.Base == "" || to == "" {
		return ""
	}
	patch, err := x.Trees.Diff(ctx, s.Job.Base, to, maxDiff)
	if err != nil {
		return "" // the agent has the work tree itself
	}
	return string(patch)
}

// threadDiff is what a thread has changed since it began.
func (x *Executor) threadDiff(ctx context.Context, s *ralph.State, t *ralph.Task) string {
	trees, err := x.trees(x.dir(t))
	if base := s.BaseOf(t); err == nil && base != "" && t.Run.Tree != "" {
		if patch, err := trees.Diff(ctx, base, t.Run.Tree, maxDiff); err == nil {
			return string(patch)
		}
	}
	return "" // the agent has the work tree itself
}

// environment is what an agent's process gets.
func (x *Executor) environment(s *ralph.State, t *ralph.Task, step ralph.Turn, agent ConfiguredAgent) []string {
	env := append([]string{}, x.Env...)
	env = append(env, agent.Env...)
	env = append(env, "RALPH=1", "RALPH_STAGE="+string(step.Stage), "RALPH_SPEC="+s.Job.File, "RALPH_ROOT="+x.Root,
		"RALPH_ITERATION="+strconv.Itoa(step.Iteration))
	if x.CeilingEnv != "" && x.dir(t) != x.Root {
		env = append(env, x.CeilingEnv)
	}
	about := t
	if parent := s.Task(t.Parent); t.Kind == ralph.KindResolve && parent != nil {
		about = parent
	}
	if about.IsBuild() {
		env = append(env, "RALPH_TASK="+string(about.ID), "RALPH_TASK_NAME="+about.Name)
		if about.Phase != "" {
			env = append(env, "RALPH_PHASE="+about.Phase)
		}
	}
	return env
}

func schemaFor(stage ralph.TaskKind, structured bool) json.RawMessage {
	if !structured {
		return nil
	}
	return prompt.Schema(stage)
}

// readTail returns the last most bytes of a file in a work tree, whole lines; "" when there is none,
// or an agent has put something else there.
func readTail(dir, name string, most int) string {
	b, err := regular.Tail(dir, name, int64(most)+1) // one more: whether the first line is whole
	if err != nil {
		return ""
	}
	return text.TailLines(string(b), most)
}

// tail is the last line or two of what the agent said.
func tail(s string, most int) string {
	return strings.ToValidUTF8(text.Tail(strings.TrimSpace(s), most), "")
}
