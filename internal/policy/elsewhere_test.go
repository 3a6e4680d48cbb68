package policy

import (
	"slices"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// R-C2: a commit in a checkout that somebody took elsewhere is asked for once, looked at
// again by itself while nobody answers, and made, refused or released by what people say.
func TestCommitInACheckoutThatIsElsewhere(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const why = "your checkout is on side, the work began on main"
	for _, kind := range []ralph.TaskKind{ralph.KindLand, ralph.KindBuild} {
		only := kind == ralph.KindBuild
		asked := []*ralph.Approval{{ID: "g-1", Kind: ralph.ApprovalCommit, Task: "x"}}
		for _, tt := range []struct {
			name  string
			run   ralph.Run
			gates []*ralph.Approval
			want  ralph.Want
			later time.Duration
			step  ralph.Step
		}{
			{"asks", ralph.Run{Committing: ralph.Committing{Away: why, AwayTries: 1}}, nil, "", 0, ralph.Ask{Kind: ralph.ApprovalCommit, Text: why}},
			{"waits", ralph.Run{Committing: ralph.Committing{Away: why, AwayTries: 1}}, asked, "", landPause / 2, ralph.Wait{Until: at.Add(landPause)}},
			{"looks again", ralph.Run{Committing: ralph.Committing{Away: why, AwayTries: 1}}, asked, "", landPause, ralph.Commit{OnlyTask: only}},
			{"ever more rarely", ralph.Run{Committing: ralph.Committing{Away: why, AwayTries: 30}}, asked, "", maxLandPause - 1, ralph.Wait{Until: at.Add(maxLandPause)}},
			{"approved", ralph.Run{Committing: ralph.Committing{Away: why, AwayTries: 1, Here: true}}, nil, "", 0, ralph.Commit{OnlyTask: only, Here: true}},
			{"denied", ralph.Run{Committing: ralph.Committing{Away: why, AwayTries: 1, Refused: "no"}}, nil, "", 0, ralph.Finish{Status: ralph.TaskFailed}},
			{"stopped", ralph.Run{Committing: ralph.Committing{Away: why, AwayTries: 1}}, asked, ralph.WantStop, 0, ralph.Finish{Status: ralph.TaskPending}},
		} {
			tt.run.LastAt = at
			if only {
				tt.run.Last = &ralph.TurnEnded{Exit: ralph.ExitOK, Signal: ralph.Signal{Kind: ralph.SignalComplete}}
			}
			s := &ralph.State{Job: &ralph.Job{}, ApprovalState: ralph.ApprovalState{Approvals: tt.gates}, Session: ralph.Session{ID: "s", Want: tt.want}}
			task := &ralph.Task{ID: "x", Kind: kind, Status: ralph.TaskActive, Run: tt.run}
			if only {
				s.Plan.Tasks = []*ralph.Task{task}
			} else {
				s.Stages = []*ralph.Task{task}
			}
			if step, _ := Next(s, "x", Config{AutoCommit: only, Commit: !only, OnTimeout: "continue"}, at.Add(tt.later)); !ralph.SameStep(step, tt.step) {
				t.Errorf("%s, %s: %#v, want %#v", kind, tt.name, step, tt.step)
			}
		}
	}
}

// A stop while the commit waits ends the session: what was given back is not started again and again.
// One that has not looked yet looks once; what was committed is brought to its end (D-051).
func TestStopWhileACommitIsElsewhere(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, tt := range []struct {
		name string
		run  ralph.Run
		ends bool
	}{
		{"given back", ralph.Run{Committing: ralph.Committing{Away: "on side", AwayTries: 1}}, true},
		{"begun", ralph.Run{}, false},
		{"committed", ralph.Run{Committing: ralph.Committing{Away: "on side", Commit: "c"}}, false},
	} {
		tt.run.StartedAt = at
		s := &ralph.State{
			Job: &ralph.Job{ID: "q-1", Spec: "q-1"}, Session: ralph.Session{ID: "s", Mode: "agent", Want: ralph.WantStop, Cause: "Ctrl+C"},
			Stages: []*ralph.Task{{ID: "land:q-1", Kind: ralph.KindLand, Status: ralph.TaskPending, Run: tt.run}},
		}
		move := Schedule(s, nil, Config{Commit: true, Agents: []string{"me"}}, at)
		made, _ := move.(Record)
		given := slices.ContainsFunc(made.Facts, func(f ralph.Fact) bool { _, ended := f.(ralph.JobEnded); return ended })
		if given != tt.ends {
			t.Errorf("%s: %#v, and it ends: %v", tt.name, move, tt.ends)
		}
	}
}

// The journal's fold of it: a commit that is away is no commit and no failure, and a
// person's word counts for one try.
func TestAwayIsFolded(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &ralph.State{Job: &ralph.Job{Head: "h"}, Stages: []*ralph.Task{{ID: "x", Kind: ralph.KindLand, Status: ralph.TaskActive}}}
	apply := func(f ralph.Fact) ralph.Run {
		s.Apply(ralph.Event{Seq: s.Seq + 1, At: at, Fact: f})
		return s.Task("x").Run
	}
	r := apply(ralph.Committed{Task: "x", Away: "elsewhere"})
	if r.Away != "elsewhere" || r.AwayTries != 1 || r.StepFailures != 0 || r.Commit != "" || s.Totals.Commits != 0 || s.Job.Head != "h" {
		t.Errorf("away: %+v, %d commits, head %s", r, s.Totals.Commits, s.Job.Head)
	}
	apply(ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalCommit, Task: "x"}})
	if r = apply(ralph.Answered{ID: "g-1", Verdict: ralph.Approved}); !r.Here || r.Refused != "" {
		t.Errorf("approved: %+v", r)
	}
	if r = apply(ralph.Committed{Task: "x", Away: "a rebase"}); r.Here || r.AwayTries != 2 {
		t.Errorf("away once more: %+v", r)
	}
	apply(ralph.Asked{Approval: ralph.Approval{ID: "g-2", Kind: ralph.ApprovalCommit, Task: "x"}})
	if r = apply(ralph.Answered{ID: "g-2", Verdict: ralph.Denied}); r.Here || r.Refused == "" {
		t.Errorf("denied: %+v", r)
	}
	if r = apply(ralph.TaskStarted{ID: "x"}); r.Away != "" || r.Refused != "" {
		t.Errorf("started anew: %+v", r)
	}
}
