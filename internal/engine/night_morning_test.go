package engine_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
)

// Issue 14, Proof: the morning report says a whole bad night on one page: all that landed,
// each standstill with when and why, and what needs a person.
func TestMorningAfterABadNight(t *testing.T) {
	t.Parallel()
	for session, tasks := range badNights() {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				n := newNight(t, root, session, tasks, badNight()...)
				if _, err := n.pass(12 * hour); err != nil {
					t.Fatal(err)
				}
				m := status.MorningOf(n.w.mem.Events(), status.Engine{}, n.began, n.began.Add(12*hour))
				for _, problem := range n.tells(m) {
					t.Error(problem)
				}
				var page bytes.Buffer
				if err := m.Text(&page, time.UTC); err != nil {
					t.Fatal(err)
				}
				if lines := strings.Count(page.String(), "\n"); lines > onePage {
					t.Errorf("%d lines are no page", lines)
				}
				if t.Failed() {
					t.Logf("%s", page.String())
				}
			})
		})
	}
}

const onePage = 60 // lines

// tells says what the report lacks, or has wrong.
func (n *night) tells(m *status.Morning) []string {
	var bad []string
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if got := len(m.Landed); got != n.good() {
		say("%d landed, want %d", got, n.good())
	}
	if got, want := len(m.Needs), n.tasks-n.good(); got != want {
		say("%d things need a person, want %d, one each of what is hopeless: %+v", got, want, m.Needs)
	}
	for _, i := range n.ills {
		if !slices.ContainsFunc(m.Still, func(r status.StillRow) bool { return n.names(r, i) }) {
			say("nothing tells of %s", i)
		}
	}
	for _, r := range m.Still {
		if r.Kind == ralph.StillStalled || r.Kind == ralph.StillBroken || r.What == "" || r.Why == "" && r.Kind != ralph.StillAsleep {
			say("a standstill without a reason: %+v", r)
		}
	}
	return bad
}

// names reports whether a row is about that trouble: of its kind and its agent, at its time.
// It is known when it is met, by the next turn, which is half an hour later at most.
func (n *night) names(r status.StillRow, i ill) bool {
	kinds := map[string][]ralph.StillKind{
		"limit": {ralph.StillLimit}, "limit untold": {ralph.StillLimit}, "network": {ralph.StillNetwork}, "overloaded": {ralph.StillBusy}, "login": {ralph.StillLogin},
		"disk": {ralph.StillDisk}, "sleep": {ralph.StillAsleep}, "crash": {ralph.StillCrash},
		"disk whole": {ralph.StillDisk, ralph.StillCrash}, // there was no room to record why
	}
	from := n.began.Add(i.From)
	return slices.Contains(kinds[i.Kind], r.Kind) && (i.Agent == "" || r.Agent == i.Agent) &&
		r.From.Before(from.Add(i.For+hour/2)) && r.To.After(from)
}
