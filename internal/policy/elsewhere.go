package policy

import (
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// nextAway goes on with a commit that could not be made where the work began, since somebody has taken the checkout
// elsewhere (R-C2). It is asked for as long as it takes, and looked at meanwhile: who takes it back need not answer.
func nextAway(s *ralph.State, t *ralph.Task, commit ralph.Commit, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r, gate := t.Run, s.ApprovalOf(t.ID)
	again := r.LastAt.Add(min(Backoff(landPause, retryFactor, r.AwayTries), maxLandPause))
	switch {
	case r.Here:
		commit.Here = true
		return commit, ralph.Why{Rule: "R-C2", Text: "a person said: commit on what is checked out"}
	case r.Refused != "":
		return finish(ralph.TaskFailed, "R-C2", "not committed ("+r.Away+"): "+r.Refused)
	case len(r.Queue.Settings) > 0:
		return nextUnseen(s, t, commit, again, c, now)
	case s.Session.Want == ralph.WantStop:
		return release("D-051", "stopped while the checkout was elsewhere: "+r.Away)
	case gate == nil:
		return ralph.Ask{Kind: ralph.ApprovalCommit, Text: r.Away}, ralph.Why{Rule: "R-C2", Text: r.Away}
	case r.Lost != "" && !strings.Contains(gate.Text, r.Lost[:7]): // who answers the question before means something else
		return ralph.Emit{Fact: ralph.Answered{ID: gate.ID, Verdict: ralph.Withdrawn, Text: "the checkout stands otherwise now"}}, ralph.Why{Rule: "R-C2", Text: r.Away}
	case deserted(s, gate, c):
		return leave(gate)
	case now.Before(again):
		return ralph.Wait{Until: again}, ralph.Why{Rule: "R-C2", Text: r.Away}
	}
	return commit, ralph.Why{Rule: "R-C2", Text: "look whether the checkout is back"}
}

// nextUnseen waits for a person's eyes on settings that a commit would change (S2), and looks again meanwhile.
func nextUnseen(s *ralph.State, t *ralph.Task, commit ralph.Commit, again time.Time, c Config, now time.Time) (ralph.Step, ralph.Why) {
	r, gate := t.Run, s.ApprovalOf(t.ID)
	why := ralph.Why{Rule: "S2", Text: r.Away}
	switch {
	case s.Session.Want == ralph.WantStop:
		return release("D-051", "stopped before a person saw the settings that change")
	case gate == nil:
		return ralph.Ask{Kind: ralph.ApprovalCommit, Text: r.Away, Detail: settingsDetail(r.Queue.Settings, r.Queue.Shown)}, why
	case deserted(s, gate, c):
		return leave(gate)
	case now.Before(again):
		return ralph.Wait{Until: again}, why
	}
	return commit, ralph.Why{Rule: "S2", Text: "look whether the settings are as they were"}
}
