package measure

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A figure has its rounds within its time, one that fails says why, and what is late is skipped.
func TestRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said []string
		r := &rounds{now: time.Now, say: func(s string) { said = append(said, s) }, until: time.Now().Add(10 * time.Second)}
		lasts := func(d time.Duration) func(context.Context) error {
			return func(context.Context) error { time.Sleep(d); return nil } // of the bubble
		}
		ready := 0
		r.take(t.Context(), "quick", "quick", 5, func(context.Context) error { ready++; return nil }, lasts(10*time.Millisecond))
		r.take(t.Context(), "slow", "slow", 5, nil, lasts(5*time.Second))
		r.take(t.Context(), "red", "red", 5, nil, func(context.Context) error { return errors.New("no") })
		r.take(t.Context(), "last", "last", 3, nil, lasts(5*time.Second))
		r.take(t.Context(), "late", "late", 3, nil, lasts(time.Millisecond))
		want := []Figure{
			{ID: "quick", What: "quick", Spread: Spread{10, 10, 10}, Runs: 5},
			{ID: "slow", What: "slow", Spread: Spread{5000, 5000, 5000}, Runs: 1},
			{ID: "red", What: "red", Skipped: "no"},
			{ID: "last", What: "last", Spread: Spread{5000, 5000, 5000}, Runs: 1},
			{ID: "late", What: "late", Skipped: errLate.Error()},
		}
		if !slices.Equal(r.figures, want) || len(said) != 5 || ready != 6 {
			t.Errorf("figures %+v, said %q, %d rounds made ready", r.figures, said, ready)
		}
	})
}

func TestSpread(t *testing.T) {
	t.Parallel()
	if got := SpreadOf([]float64{3, 1, 2}, func(x float64) float64 { return x }); got != (Spread{1, 2, 3}) || got.String() != "2.00 [1.00-3.00]" {
		t.Errorf("%+v, %s", got, got)
	}
	if got := SpreadOf([]int(nil), func(int) float64 { return 1 }); got != (Spread{}) {
		t.Errorf("of nothing: %+v", got)
	}
}

// Each setting is named where its figure asks for it, and only there.
func TestAdvice(t *testing.T) {
	t.Parallel()
	figure := func(id string, ms float64) Figure {
		return Figure{ID: id, What: id, Spread: Spread{ms, ms, ms}, Runs: 1}
	}
	fine := []Figure{figure("start", 1), figure("start.sandbox", 5), figure("git.status", 20), figure("worktree.add", 30), figure("fsync", 1), figure("agent.claude", 300)}
	bubble := Settings{Sandbox: "bubblewrap", Slots: 1}
	for name, c := range map[string]struct {
		files    int
		figures  []Figure
		settings Settings
		want     []string
	}{
		"nothing":                  {100, fine, bubble, nil},
		"nothing measured":         {0, nil, Settings{}, nil},
		"a rest":                   {100, fine, Settings{Delay: 500 * time.Millisecond}, []string{"task.delay=0s"}},
		"many files":               {50_000, []Figure{figure("git.status", 300)}, bubble, []string{"git config core.untrackedCache true", "git config core.fsmonitor true"}},
		"few files, and slow":      {50, []Figure{figure("git.status", 300)}, bubble, nil},
		"slow worktrees":           {50_000, []Figure{figure("worktree.add", 4000)}, bubble, []string{"isolation=none"}},
		"a slow box":               {50, []Figure{figure("start", 1), figure("start.ralph", 5), figure("start.sandbox", 30)}, bubble, []string{"sandbox.kind=landlock"}},
		"a slow box of landlock":   {50, []Figure{figure("start", 1), figure("start.ralph", 5), figure("start.sandbox", 30)}, Settings{Sandbox: "landlock"}, nil},
		"a slow disk":              {50, []Figure{figure("fsync", 30)}, bubble, []string{"a faster disk for the repository"}},
		"slow starts":              {50, []Figure{figure("start", 9)}, bubble, []string{"fewer slots (parallel)"}},
		"an agent slow to start":   {50, []Figure{figure("agent.codex", 2500)}, bubble, []string{"agent.context=continue"}},
		"an agent that cannot":     {50, []Figure{{ID: "agent.codex", Skipped: "no", Spread: Spread{2500, 2500, 2500}}}, bubble, nil},
		"more slots than cores do": {50, fine, Settings{Slots: 2*runtime.NumCPU() + 1}, []string{"parallel="}},
	} {
		got := advise(&Report{Files: c.files, Figures: c.figures}, c.settings)
		ok := len(got) == len(c.want)
		for i := range min(len(got), len(c.want)) {
			ok = ok && len(got[i].Setting) >= len(c.want[i]) && got[i].Setting[:len(c.want[i])] == c.want[i] && got[i].Why != ""
		}
		if !ok {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// The folder to measure in lies on the repository's file system, and outside of it.
func TestScratch(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "repo")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := scratch(root)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if rel, err := filepath.Rel(root, dir); err != nil || filepath.IsLocal(rel) || !sameDevice(root, dir) {
		t.Errorf("%s for %s: %s, %v", dir, root, rel, err)
	}
}
