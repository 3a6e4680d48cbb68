package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// testRepo is a repository with an executor for work in worktrees: real git, real
// checks, and agents that are functions.
type testRepo struct {
	t       *testing.T
	dir     string
	env     []string
	program *gittest.Program // the git that ralph starts
	parts   *bootstrap.Parts
	x       *step.Executor

	mu    sync.Mutex
	state ralph.State
}

// act is an agent: what it does in its folder, and its last message.
type act func(in ralph.TurnInput) string

func (a act) Turn(_ context.Context, in ralph.TurnInput, _ ralph.TurnHooks) (ralph.TurnResult, error) {
	return ralph.TurnResult{Exit: ralph.ExitOK, Text: a(in), Usage: ralph.Usage{Known: true}}, nil
}

const complete = "<ralph>COMPLETE</ralph>"

type yardOption func(*bootstrap.Parts, *policy.Config)

func withChecks(commands ...string) yardOption {
	return func(p *bootstrap.Parts, c *policy.Config) {
		c.Checks = true
		for _, command := range commands {
			p.Checks = append(p.Checks, ralph.CheckSpec{Name: command, Command: command, Timeout: time.Minute})
		}
	}
}

func withSetup(w config.Worktree) yardOption {
	return func(p *bootstrap.Parts, _ *policy.Config) { p.Config.Worktree = w }
}

func inAgentMode(p *bootstrap.Parts, c *policy.Config) { c.Session, c.Commit = "agent", true }

// newYard makes a repository with a plan of tasks t-1, t-2, ... and a job for it.
func newYard(t *testing.T, tasks int, options ...yardOption) *testRepo {
	t.Helper()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	procs := proc.NewRunner("")
	y := &testRepo{t: t, dir: filepath.Join(tmp, "work tree"), parts: &bootstrap.Parts{Procs: procs, Config: config.Defaults(), Agents: map[string]step.ConfiguredAgent{}}}
	y.env = []string{
		"HOME=" + tmp, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
		"PATH=" + os.Getenv("PATH"),
	}
	y.must(os.MkdirAll(filepath.Join(y.dir, "ralph/specs"), 0o755))
	y.git("init", "-q", "-b", "main")
	y.write("a.txt", "one\ntwo\nthree\n")
	y.write("ralph/progress.md", "# Learned\n")
	y.write("ralph/specs/feature.md", "# Feature\n")
	y.git("add", "-A")
	y.git("commit", "-q", "-m", "start")

	program, env := gittest.NewProgram(t, y.env)
	repo, err := git.Open(t.Context(), procs, y.dir, env)
	y.must(err)
	y.program = program
	y.must(info.Exclude(repo, workspace.RuntimePaths()))
	y.parts.Root, y.parts.Repo = y.dir, repo
	pc := policy.Config{Session: "autopilot", Isolated: true, Parallel: 2, Agents: []string{"ada"}, MaxIterations: 5, ConflictRetries: 3}
	for _, o := range options {
		o(y.parts, &pc)
	}
	y.x = y.parts.Executor(workspace.Env{Environ: y.env}, pc, nil)
	y.x.Agents = y.parts.Agents
	y.agent(func(ralph.TurnInput) string { return complete })
	for n := range tasks {
		id := ralph.TaskID(fmt.Sprintf("t-%d", n+1))
		y.apply(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindBuild, Name: fmt.Sprintf("Task %d", n+1), Status: ralph.TaskPending}})
	}
	job := ralph.JobStarted{Job: "a-s-20250120T100000Z-0001"}
	if pc.Commit {
		job = ralph.JobStarted{Job: "q-0001", ID: "q-0001", File: "feature.md"}
	}
	y.apply(job)
	return y
}

func (y *testRepo) must(err error) {
	y.t.Helper()
	if err != nil {
		y.t.Fatal(err)
	}
}

func (y *testRepo) agent(a act) { y.x.Agents["ada"] = step.ConfiguredAgent{Agent: a} }

// apply folds facts, each as an event of its own.
func (y *testRepo) apply(facts ...ralph.Fact) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, f := range facts {
		seq := y.state.Seq + 1
		y.state.Apply(ralph.Event{Seq: seq, At: time.Unix(seq, 0), Hash: fmt.Sprintf("%064x", seq), Fact: f})
	}
}

func (y *testRepo) snapshot() *ralph.State {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.state.Clone()
}

func (y *testRepo) task(id ralph.TaskID) *ralph.Task {
	y.t.Helper()
	t := y.snapshot().Task(id)
	if t == nil {
		y.t.Fatalf("there is no task %s", id)
	}
	return t
}

// outcome does a step after its receipt, and returns its facts without folding them.
func (y *testRepo) outcome(id ralph.TaskID, s ralph.Step) []ralph.Fact {
	y.t.Helper()
	y.apply(ralph.StepStarted{Task: id, Step: s})
	facts, err := y.x.Do(y.t.Context(), y.snapshot(), id, s)
	if err != nil {
		y.t.Fatalf("%s of %s: %v", s.StepName(), id, err)
	}
	return facts
}

// do does a step twice, as after a kill -9 that came between the first time and
// its outcome in the journal, and folds the second.
func (y *testRepo) do(id ralph.TaskID, s ralph.Step) []ralph.Fact {
	y.t.Helper()
	if _, turn := s.(ralph.Turn); !turn {
		y.outcome(id, s)
	}
	facts := y.outcome(id, s)
	y.apply(facts...)
	return facts
}

// one is the outcome of a step as the fact that it has to be.
func one[F ralph.Fact](y *testRepo, facts []ralph.Fact) F {
	y.t.Helper()
	f, ok := facts[0].(F)
	if !ok {
		y.t.Fatalf("the outcome is %T %+v", facts[0], facts[0])
	}
	return f
}

// begin makes the job ready.
func (y *testRepo) begin() {
	y.t.Helper()
	id := ralph.TaskID("prepare:job:0")
	y.apply(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindPrepare, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
	if f := one[ralph.Prepared](y, y.do(id, ralph.Prepare{})); f.Error != "" {
		y.t.Fatal(f.Error)
	}
	y.apply(ralph.TaskEnded{ID: id, Status: ralph.TaskDone, BasedOnSeq: 1})
}

// start gives a task a worktree and makes it ready.
func (y *testRepo) start(id ralph.TaskID, n int) ralph.Prepared {
	y.t.Helper()
	y.apply(ralph.TaskStarted{ID: id, Slot: n, Dir: fmt.Sprintf("ralph/.worktrees/%d", n)})
	f := one[ralph.Prepared](y, y.do(id, ralph.Prepare{}))
	if f.Error != "" {
		y.t.Fatal(f.Error)
	}
	return f
}

// turn lets the agent do something in a task's folder.
func (y *testRepo) turn(id ralph.TaskID, a act) ralph.TurnEnded {
	y.t.Helper()
	y.agent(a)
	t := y.task(id)
	stage := t.Kind
	if stage == "" {
		stage = ralph.KindBuild
	}
	return one[ralph.TurnEnded](y, y.do(id, ralph.Turn{Stage: stage, Agent: "ada", Iteration: t.Run.Iterations + 1}))
}

// commit commits a task's work and ends it as done.
func (y *testRepo) commit(id ralph.TaskID) ralph.Committed {
	y.t.Helper()
	f := one[ralph.Committed](y, y.do(id, ralph.Commit{OnlyTask: true}))
	if f.Error == "" {
		y.finish(id)
	}
	return f
}

func (y *testRepo) finish(id ralph.TaskID) {
	t := y.task(id)
	y.apply(policy.Ending(y.snapshot(), id, ralph.Finish{Status: ralph.TaskDone}, ralph.Why{}, y.x.Config, time.Unix(1, 0))...)
	if t.Kind == ralph.KindResolve && y.snapshot().Task(id) != nil {
		y.t.Fatalf("%s is still there", id)
	}
}

// work takes a task from its start to the merge queue.
func (y *testRepo) work(id ralph.TaskID, n int, a act) ralph.Committed {
	y.t.Helper()
	y.start(id, n)
	y.turn(id, a)
	return y.commit(id)
}

// merging makes a merge stage of tasks.
func (y *testRepo) merging(members ...ralph.TaskID) ralph.TaskID {
	y.t.Helper()
	id := ralph.TaskID(fmt.Sprintf("merge:job:0:%d", y.snapshot().Seq))
	y.apply(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindMerge, Members: members, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
	return id
}

// merge merges tasks, and takes over what needs no checks.
func (y *testRepo) merge(members ...ralph.TaskID) ralph.Merged {
	y.t.Helper()
	id := y.merging(members...)
	s := y.snapshot()
	f := one[ralph.Merged](y, y.do(id, ralph.Merge{Members: members, Into: s.Plan.Integration.Tip, Free: len(y.x.Checks) == 0}))
	switch {
	case f.Advanced:
		y.apply(ralph.TaskEnded{ID: id, Status: ralph.TaskDone, BasedOnSeq: 1})
	case f.Conflict != nil:
		y.apply(ralph.TaskEnded{ID: id, Status: ralph.TaskFailed, BasedOnSeq: 1})
	}
	return f
}

func (y *testRepo) land() ralph.Landed {
	y.t.Helper()
	id := ralph.TaskID(fmt.Sprintf("land:job:0:%d", y.snapshot().Seq))
	y.apply(ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindLand, Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id})
	f := one[ralph.Landed](y, y.do(id, ralph.Land{}))
	y.apply(ralph.TaskEnded{ID: id, Status: ralph.TaskDone, BasedOnSeq: 1})
	return f
}

func (y *testRepo) tip() string { return y.snapshot().Plan.Integration.Tip }

// tree is the path of worktree n.
func (y *testRepo) tree(n int) string { return filepath.Join(y.dir, "ralph/.worktrees", fmt.Sprint(n)) }

func (y *testRepo) gitIn(dir string, args ...string) string {
	y.t.Helper()
	box := gittest.Box{T: y.t, P: y.parts.Procs, Dir: dir, Env: y.env}
	return strings.TrimSpace(box.Git(args...))
}

func (y *testRepo) git(args ...string) string {
	y.t.Helper()
	return y.gitIn(y.dir, args...)
}

func (y *testRepo) write(name, text string) {
	y.t.Helper()
	put(y.t, filepath.Join(y.dir, name), text)
}

// put writes a file.
func put(t testing.TB, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// writes is an agent that writes a file and says that it is done.
func (y *testRepo) writes(name, text string) act {
	return func(in ralph.TurnInput) string {
		put(y.t, filepath.Join(in.Dir, name), text)
		return complete
	}
}

func (y *testRepo) read(name string) string {
	y.t.Helper()
	b, err := os.ReadFile(filepath.Join(y.dir, name))
	y.must(err)
	return string(b)
}

func (y *testRepo) equal(what, got, want string) {
	y.t.Helper()
	if got != want {
		y.t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func (y *testRepo) sound() {
	y.t.Helper()
	if out := y.git("fsck", "--no-dangling", "--no-progress"); out != "" {
		y.t.Error(out)
	}
}
