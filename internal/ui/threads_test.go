package ui

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
)

// threads is a session of two threads: one at work, one that a person paused.
func threads(t testing.TB) *repository {
	t.Helper()
	x := storytest.New()
	x.Begin()
	for _, n := range []ralph.NewThread{
		{ID: "t-0001", Name: "Make the tests pass", Prompt: "Make the tests pass, all of them.", Limits: ralph.ThreadLimits{Turns: 20}},
		{ID: "t-0002", Name: "Write the docs", Prompt: "Write the docs."},
	} {
		facts, err := x.S.AddThread(n)
		if err != nil {
			t.Fatal(err)
		}
		x.Add(facts...)
	}
	x.Add(ralph.ThreadWanted{Task: "t-0002", Want: ralph.ThreadPause})
	return &repository{story: x, root: t.TempDir(), alive: true, moved: make(chan struct{})}
}

// The switch of what goes on by itself: its word, and space changes it, and back; the word of one that
// is over (E-086).
func TestThreadSwitch(t *testing.T) {
	t.Parallel()
	p := play(t, threads(t), 120, 40).press("6")
	p.want("Make the tests pass", "0/20", "What it is to reach")
	word := func(name, want string) {
		t.Helper()
		for line := range strings.Lines(p.text()) {
			if row, _, _ := strings.Cut(strings.TrimPrefix(line, "│"), "│"); strings.Contains(row, name) {
				if !strings.HasSuffix(row, " "+want) {
					t.Errorf("the switch of %q does not say %s: %s", name, want, row)
				}
				return
			}
		}
		t.Errorf("%q is not in the list:\n%s", name, p.text())
	}
	wanted := func(want ralph.ThreadWant) {
		t.Helper()
		if f, ok := newest(p.r).(ralph.ThreadWanted); !ok || f.Task != "t-0002" || f.Want != want {
			t.Fatalf("space made %#v", newest(p.r))
		}
		p.look()
	}
	word("Make the tests pass", "running")
	word("Write the docs", "paused")
	p.press("g", "space")
	wanted(ralph.ThreadRun)
	word("Write the docs", "running")
	p.press("space")
	wanted(ralph.ThreadPause)
	word("Write the docs", "paused")

	p.r.add(ralph.TaskEnded{ID: "t-0001", Status: ralph.TaskTimeout, Why: ralph.Why{Rule: "E-070", Text: "20 turns used"}})
	p.look()
	word("Make the tests pass", "stopped")
	word("Write the docs", "paused")
}
