package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/dashboard"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// E-096: what the dashboard shows of a replay, a proof and a receipt is what the commands
// find, with each fact counted; whoever does not wait any more ends the walk.
func TestProofs(t *testing.T) {
	t.Parallel()
	env, _ := engineIn(t, `echo x > made.txt; echo '<status>COMPLETE</status>'`, "")
	ralphIn(t, env, 0, "inbox", "add", "shop.md")
	j, err := workspace.OpenJournal(env, false, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	c, err := workspace.SettingsOf(env)
	if err != nil {
		t.Fatal(err)
	}
	config, err := workspace.PolicyConfig(c).Encode()
	if err != nil {
		t.Fatal(err)
	}
	add := func(facts ...ralph.Fact) {
		t.Helper()
		if err := j.Update(context.Background(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
			t.Fatal(err)
		}
	}
	add(ralph.PlanStarted{File: "shop.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-0001", Name: "One", Status: ralph.TaskPending}})
	add(ralph.SessionStarted{ID: "s-1", Mode: "agent", Config: config})
	add(ralph.TaskStarted{ID: "t-0001"})
	seq := j.State().Seq
	add(ralph.StepStarted{Task: "t-0001", Step: ralph.Land{}, Why: ralph.Why{Rule: "X-0", Text: "no rule says that"}, BasedOnSeq: seq, DecidedAt: j.Now()})

	p, facts := dashboard.Proofs{Env: env}, int64(0)
	step := func() error { facts++; return nil }
	r, err := p.Replay(t.Context(), "s-1", false, step)
	if err != nil || r.Receipts != 1 || r.Differ != 1 || r.Differences[0].Seq != seq+1 || !strings.Contains(r.Differences[0].Was, "X-0") || facts != seq+1 {
		t.Errorf("%+v, %d facts: %v", r, facts, err)
	}
	if _, err := p.Replay(t.Context(), "s-none", true, nil); !errors.Is(err, ralph.ErrNotFound) {
		t.Errorf("a session that is none: %v", err)
	}
	facts = 0
	v, err := p.Verify(t.Context(), step)
	if err != nil || v.Holds || len(v.Broken) != 1 || v.Broken[0].Link != "decision" || facts != 2*(seq+1) {
		t.Errorf("%+v, %d facts: %v", v, facts, err)
	}
	e, err := p.Evidence(t.Context(), &ralph.State{}, seq+1, nil)
	if err != nil || e.Same || e.Again == "" || e.Task != "t-0001" || len(e.Line) != 64 || len(e.Settings()) == 0 {
		t.Errorf("%+v: %v", e, err)
	}
	stop := errors.New("stop")
	for name, walk := range map[string]func() error{
		"replay": func() error { _, err := p.Replay(t.Context(), "", false, func() error { return stop }); return err },
		"verify": func() error { _, err := p.Verify(t.Context(), func() error { return stop }); return err },
		"evidence": func() error {
			_, err := p.Evidence(t.Context(), &ralph.State{}, seq, func() error { return stop })
			return err
		},
	} {
		if err := walk(); !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// a gate's page has the task's patch, bounded, and what is changed in the work tree by
// now; git is not asked again for each page that is made.
func TestGateFiles(t *testing.T) {
	t.Parallel()
	env, _ := engineIn(t, "true", "")
	f := dashboard.NewGateFiles(env, env.Dir)
	patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+" + strings.Repeat("b\n+", dashboard.MaxDiff)
	name := filepath.Join(env.Dir, worktree.PatchFile("t-0001"))
	for path, text := range map[string]string{name: patch, filepath.Join(env.Dir, "new.txt"): "x"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &ralph.State{Plan: ralph.Plan{Tasks: []*ralph.Task{{ID: "t-0001", Name: "One", Status: ralph.TaskActive}}}}
	g := &ralph.Approval{ID: "g-1", Kind: ralph.ApprovalRequest, Task: "t-0001", InTurn: true, Text: "x"}
	look := func() gates.Detail { return f.Detail(t.Context(), s, g) }
	d := look()
	if len(d.Changes) != 1 || d.Changes[0].Path != "x" || len(d.Diff) > dashboard.MaxDiff || !strings.HasSuffix(d.Diff, "\n") || d.DiffCut != int64(len(patch)-len(d.Diff)) {
		t.Errorf("%+v, %d bytes, %d cut of %d", d.Changes, len(d.Diff), d.DiffCut, len(patch))
	}
	if !strings.Contains(strings.Join(d.Changed, " "), "new.txt") || d.Folder == "" {
		t.Errorf("changed by now: %v in %q", d.Changed, d.Folder)
	}
	if err := os.WriteFile(filepath.Join(env.Dir, "newer.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := look(); strings.Contains(strings.Join(d.Changed, " "), "newer.txt") {
		t.Error("git is asked for each page")
	}
}

// The patch of a stage's task is found where its records are: its id is no name of a folder.
func TestPatchOfAStage(t *testing.T) {
	t.Parallel()
	root, id := t.TempDir(), ralph.TaskID("resolve:t-0001:1")
	dir := filepath.Join(root, step.RecordsOf(id))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"
	if err := os.WriteFile(filepath.Join(dir, "diff.patch"), []byte(patch), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := worktree.PatchChanges(root, id); len(got) != 1 || got[0].Added != 2 || got[0].Removed != 1 {
		t.Errorf("%+v", got)
	}
}
