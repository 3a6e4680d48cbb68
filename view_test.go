package ralph_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
)

// X-106, R-C3, R-C4: each status that a task has against each that a file may ask for.
func TestTaskStatusAgainstAFile(t *testing.T) {
	t.Parallel()
	all := []ralph.TaskStatus{ralph.TaskPending, ralph.TaskActive, ralph.TaskDone, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskSkipped}
	for _, now := range all {
		for _, asked := range all {
			had := task("t-1")
			had.Status, had.RetryCount = now, 2
			wish := had
			wish.Status, wish.Notes, wish.RetryCount, wish.Line = asked, "wanted", 0, "as written"
			got, kept := had.EditedByFile(wish)
			holds := asked // what is pending may be cancelled, or said to be done
			if now != ralph.TaskPending || asked == ralph.TaskActive {
				holds = now
			}
			if got.Status != holds || got.Notes != "wanted" || got.RetryCount != 2 {
				t.Errorf("%s, the file says %s: %+v, want %s with the notes of the file", now, asked, got, holds)
			}
			if (kept != nil) != (holds != asked) {
				t.Errorf("%s, the file says %s: told %v", now, asked, kept)
			}
			if kept != nil && got.Line != "" {
				t.Errorf("%s, the file says %s: the line that is not so stays", now, asked)
			}
		}
	}
	for status, verb := range map[ralph.TaskStatus]string{
		ralph.TaskActive: "skipping it", ralph.TaskDone: "rejecting it", ralph.TaskFailed: "a retry", ralph.TaskBlocked: "a retry",
	} {
		had := task("t-1")
		had.Status = status
		if _, kept := had.EditedByFile(task("t-1")); kept == nil || !strings.Contains(kept.Why, verb) {
			t.Errorf("%s back to pending: %v does not say %q", status, kept, verb)
		}
	}
}

// the same for a spec of the inbox; a failed one may be queued again by hand.
func TestSpecStatusAgainstAFile(t *testing.T) {
	t.Parallel()
	all := []ralph.SpecStatus{ralph.SpecPending, ralph.SpecActive, ralph.SpecDone, ralph.SpecFailed}
	for _, now := range all {
		for _, asked := range all {
			had := spec("a", now).Spec
			wish := had
			wish.Status, wish.File = asked, "b.md"
			got, kept := had.EditedByFile(wish)
			holds := asked
			if now == ralph.SpecActive || now == ralph.SpecDone || asked == ralph.SpecActive {
				holds = now
			}
			if got.Status != holds || got.File != "b.md" || (kept != nil) != (holds != asked) {
				t.Errorf("%s, the file says %s: %+v, told %v; want %s", now, asked, got, kept, holds)
			}
		}
	}
}

// which lines may go, and that what was done before its line went comes back as done.
func TestLinesThatGoAndComeBack(t *testing.T) {
	t.Parallel()
	place := task("t-1")
	place.Status, place.Run.Worktree.Dir = ralph.TaskFailed, "ralph/.worktrees/1"
	queued := task("t-1")
	queued.Status, queued.Run.Queue.State = ralph.TaskDone, ralph.MergeWaiting
	active := task("t-1")
	active.Status = ralph.TaskActive
	done := task("t-1")
	done.Status = ralph.TaskDone
	pending := task("t-1")
	for name, c := range map[string]struct {
		task ralph.Task
		goes bool
	}{"at work": {active, false}, "not merged": {queued, false}, "with work": {place, false}, "done": {done, true}, "pending": {pending, true}} {
		if kept := c.task.KeepsTask(); (kept == nil) != c.goes {
			t.Errorf("%s: kept %v", name, kept)
		}
	}
	s := fold(ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: done}, spec("a", ralph.SpecDone))
	apply(s, ralph.TaskRemoved{ID: "t-1"}, ralph.SpecRemoved{ID: "q-a"})
	if got, kept := s.AddedByFile(pending); got.Status != ralph.TaskDone || kept == nil {
		t.Errorf("a done task came back as %s, told %v", got.Status, kept)
	}
	if got, kept := s.SpecAddedByFile(spec("a", ralph.SpecPending).Spec); got.Status != ralph.SpecDone || kept == nil {
		t.Errorf("a done spec came back as %s, told %v", got.Status, kept)
	}
	other := pending
	other.Name = "something else under the same id"
	if got, kept := s.AddedByFile(other); got.Status != ralph.TaskPending || kept != nil {
		t.Errorf("another task with its id is %s, told %v", got.Status, kept)
	}
	apply(s, ralph.PlanStarted{File: "b.md"})
	if got, _ := s.AddedByFile(pending); got.Status != ralph.TaskDone {
		t.Error("forgotten with the next plan")
	}
}

// whatever a file asks of a plan, what is at work or done is so afterwards.
func TestNoFileUndoesWhatHappened(t *testing.T) {
	t.Parallel()
	statuses := rapid.SampledFrom([]ralph.TaskStatus{ralph.TaskPending, ralph.TaskActive, ralph.TaskDone, ralph.TaskFailed, ralph.TaskSkipped})
	rapid.Check(t, func(t *rapid.T) {
		had, wish := task("t-1"), task("t-1")
		had.Status, wish.Status = statuses.Draw(t, "now"), statuses.Draw(t, "asked")
		s := fold(ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: had})
		if rapid.Bool().Draw(t, "removed first") && had.KeepsTask() == nil {
			apply(s, ralph.TaskRemoved{ID: "t-1"})
			got, _ := s.AddedByFile(wish)
			apply(s, ralph.TaskAdded{Task: got})
		} else {
			got, _ := s.Task("t-1").EditedByFile(wish)
			apply(s, ralph.TaskEdited{Task: got})
		}
		if is := s.Task("t-1").Status; (had.Status == ralph.TaskDone || had.Status == ralph.TaskActive) && is != had.Status {
			t.Fatalf("%s became %s", had.Status, is)
		}
	})
}
