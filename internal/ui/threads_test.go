package ui

import (
	"testing"
	"time"

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

// The switch of what goes on by itself: its word, and space changes it, and back (E-086).
func TestThreadSwitch(t *testing.T) {
	t.Parallel()
	p := play(t, threads(t), 120, 40).press("6")
	p.want("Make the tests pass", "running", "paused", "0/20", "What it is to reach")
	p.r.story.Now = p.r.story.Now.Add(time.Second)
	p.press("G", "space")
	if f, ok := newest(p.r).(ralph.ThreadWanted); !ok || f.Want == ralph.ThreadStop {
		t.Fatalf("space made %#v", newest(p.r))
	}
}
