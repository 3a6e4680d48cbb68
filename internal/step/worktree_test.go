package step

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

var errBroken = errors.New("broken for the test")

// broken is git of which nothing works.
type broken struct{}

func (broken) Make(context.Context, []string, string) error { return errBroken }
func (broken) Open(string) (Trees, error)                   { return nil, errBroken }
func (broken) Enter(context.Context, EnterInput) (Entered, error) {
	return Entered{}, errBroken
}
func (broken) SetUp(string, string, bool, func() error) error { return errBroken }
func (broken) Copy(context.Context, string, []string) error   { return errBroken }
func (broken) Tidy(context.Context, string) error             { return errBroken }
func (broken) Stash(context.Context, string, string, string) (string, error) {
	return "", errBroken
}

func (broken) WithFiles(context.Context, string, string, map[string][]byte) (string, []string, error) {
	return "", nil, errBroken
}

func (broken) Start(context.Context, *ralph.Integration, string, string) (ralph.IntegrationStarted, error) {
	return ralph.IntegrationStarted{}, errBroken
}

func (broken) Merge(context.Context, MergeInput) (ralph.Merged, error) {
	return ralph.Merged{}, errBroken
}

func (broken) Advance(context.Context, string, string, string) (string, error) {
	return "", errBroken
}

func (broken) Squash(context.Context, SquashInput) (ralph.Committed, error) {
	return ralph.Committed{}, errBroken
}

func (broken) Land(context.Context, LandInput) (ralph.Landed, error) {
	return ralph.Landed{}, errBroken
}

// isolatedState is a job with a build task and a stage of each kind.
func isolatedState() *ralph.State {
	var s ralph.State
	place := ralph.Worktree{Dir: "ralph/.worktrees/1", Branch: "ralph/t-1"}
	for _, t := range []ralph.Task{
		{ID: "t-1", Kind: ralph.KindBuild, Name: "One", Run: ralph.Run{Committing: ralph.Committing{Commit: "c1"}, Worktree: place}},
		{ID: "prepare", Kind: ralph.KindPrepare},
		{ID: "merge", Kind: ralph.KindMerge, Members: []ralph.TaskID{"t-1"}},
		{ID: "land", Kind: ralph.KindLand},
	} {
		s.Apply(ralph.Event{Fact: ralph.TaskAdded{Task: t}})
	}
	s.Job = &ralph.Job{ID: "a-s-1"}
	s.Plan.Integration = &ralph.Integration{Branch: "ralph/merged-1", Base: "main", Tip: "tip", Tree: "tree", Landed: "base"}
	return &s
}

func failure(f ralph.Fact) string {
	switch f := f.(type) {
	case ralph.Prepared:
		return f.Error
	case ralph.Committed:
		return f.Error
	case ralph.Merged:
		return f.Error
	case ralph.Advanced:
		return f.Error
	case ralph.Landed:
		return f.Error
	}
	return ""
}

// What does not work in git is an outcome, which policy tries again; what was cut
// has none, so that the next start does it again.
func TestWhatDoesNotWorkIsAnOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		task ralph.TaskID
		step ralph.Step
	}{
		{"prepare", ralph.Prepare{}},
		{"t-1", ralph.Prepare{}},
		{"t-1", ralph.Commit{OnlyTask: true}},
		{"merge", ralph.Merge{Members: []ralph.TaskID{"t-1"}, Into: "tip"}},
		{"merge", ralph.Advance{From: "tip", To: "next"}},
		{"land", ralph.Commit{}},
		{"land", ralph.Land{}},
	} {
		x := &Executor{
			Root: t.TempDir(), Config: policy.Config{Isolated: true, Parallel: 1}, Worktrees: broken{}, Merging: broken{},
			Now: func() time.Time { return time.Unix(1, 0) },
		}
		facts, err := x.Do(t.Context(), isolatedState(), c.task, c.step)
		if err != nil || len(facts) != 1 || !strings.Contains(failure(facts[0]), errBroken.Error()) {
			t.Errorf("%s of %s: %+v, %v", c.step.StepName(), c.task, facts, err)
		}
		cut, cancel := context.WithCancel(t.Context())
		cancel()
		if facts, err := x.Do(cut, isolatedState(), c.task, c.step); !errors.Is(err, errBroken) || len(facts) > 0 {
			t.Errorf("%s of %s, cut: %+v, %v", c.step.StepName(), c.task, facts, err)
		}
	}
}

// The pool has a worktree for each slot, or for each task that is left when those
// are fewer; what a task owns that ended badly is not among them.
func TestPool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		slots  int
		checks int
		tasks  []ralph.Task
		want   string
	}{
		{"no plan yet", 2, 0, nil, "1 2"},
		{"fewer tasks than slots", 4, 1, []ralph.Task{{ID: "t-1", Status: ralph.TaskPending}}, "1 merge"},
		{"one is owned", 2, 0, []ralph.Task{
			{ID: "t-1", Status: ralph.TaskFailed, Run: ralph.Run{Worktree: ralph.Worktree{Dir: "ralph/.worktrees/1"}}},
			{ID: "t-2", Status: ralph.TaskPending, Run: ralph.Run{Worktree: ralph.Worktree{Dir: "ralph/.worktrees/2"}}},
			{ID: "t-3", Status: ralph.TaskPending},
		}, "2 3"},
	} {
		x := &Executor{Root: "/r", Config: policy.Config{Parallel: c.slots}, Checks: make([]ralph.CheckSpec, c.checks)}
		s := &ralph.State{}
		for _, task := range c.tasks {
			s.Plan.Tasks = append(s.Plan.Tasks, &task)
		}
		var names []string
		for _, dir := range x.pool(s) {
			names = append(names, strings.TrimPrefix(dir, "/r/ralph/.worktrees/"))
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A merge whose members a person took out of the plan merges nothing, and one of
// several has a side for each that is left, named by its own commit.
func TestSidesOfAMerge(t *testing.T) {
	t.Parallel()
	s := isolatedState()
	x := &Executor{Config: policy.Config{Isolated: true}, Merging: broken{}, Now: time.Now}
	facts, err := x.Do(t.Context(), s, "merge", ralph.Merge{Members: []ralph.TaskID{"t-gone"}, Into: "tip"})
	if m := facts[0].(ralph.Merged); err != nil || m.How != "nothing" || !m.Advanced || m.Commit != "tip" {
		t.Errorf("merged: %+v, %v", m, err)
	}
	side := x.memberSide(s, s.Task("t-1"), false)
	if side.Commit != "c1" || side.Branch != "" || !strings.HasSuffix(side.Message, "\nRalph-Task: t-1\nRalph-Merge: c1\n") {
		t.Errorf("a side: %+v", side)
	}
}

// A prompt has only so much room for both sides; the agent has the files.
func TestConflictsInAPromptAreBounded(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", maxSides)
	known := []ralph.ConflictFile{{Path: "a", Kind: "content", Marked: "small"}, {Path: "b", Marked: large}, {Path: "c", Marked: "too"}}
	var got []string
	for _, f := range conflictFiles([]string{"a", "b", "c", "new"}, known) {
		got = append(got, f.Path+"="+f.Marked)
	}
	if strings.Join(got, " ") != "a=small b= c=too new=" {
		t.Errorf("got %v", got)
	}
}
