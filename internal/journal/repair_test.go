package journal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// alone is the options of a repair: no other process is alive.
func alone(root string) journal.Options {
	opt := options(root)
	opt.Me = journal.Owner{Pid: os.Getpid(), Host: "here"}
	opt.Alive = func(int, string) bool { return false }
	return opt
}

// worked leaves a journal of 8 facts, one a segment but the open one: a plan of two tasks,
// of which one is done, and a spec in the inbox.
func worked(t *testing.T, root string, segment int64) {
	t.Helper()
	opt := options(root)
	opt.SegmentSize = segment
	j := open(t, opt)
	must(t, update(j, ralph.PlanStarted{File: "a.md"}))
	must(t, update(j, ralph.TaskAdded{Task: ralph.Task{ID: "t-aaaa", Spec: "a.md", Name: "one", Status: ralph.TaskPending}}))
	must(t, update(j, ralph.TaskAdded{Task: ralph.Task{ID: "t-bbbb", Spec: "a.md", Name: "two", Status: ralph.TaskPending}}))
	must(t, update(j, ralph.TaskStarted{ID: "t-aaaa"}))
	must(t, update(j, note("half way")))
	must(t, update(j, ralph.TaskEnded{ID: "t-aaaa", Status: ralph.TaskDone}))
	must(t, update(j, ralph.SpecAdded{Spec: ralph.Spec{ID: "q-aaaa", File: "b.md", Status: ralph.SpecPending}}))
	must(t, update(j, note("last")))
	must(t, j.Close())
}

// R-M2: whatever stands in the middle of a journal, in the open segment or an ended one,
// Repair keeps what is before it, moves the rest aside, and the plan and the inbox stay as
// their files say. What it made can be read, is one chain, and is whole.
func TestRepair(t *testing.T) {
	t.Parallel()
	breaks := map[string]struct {
		edit  func(line []byte) []byte
		lost  int64
		until int64
	}{
		"rubbish":          {func([]byte) []byte { return []byte("{half a li\n") }, 5, 8},
		"a line taken out": {func([]byte) []byte { return nil }, 5, 8},
		"a line changed":   {func(line []byte) []byte { return bytes.Replace(line, []byte("half way"), []byte("whole way"), 1) }, 5, 8},
	}
	for where, segment := range map[string]int64{"open segment": 0, "ended segments": 1} {
		for what, c := range breaks {
			t.Run(where+", "+what, func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				worked(t, root, segment)
				plan, inbox := read(t, root, "ralph/plan.jsonl"), read(t, root, "ralph/inbox.jsonl")
				breakFact(t, root, 5, c.edit)

				cut, err := journal.Repair(context.Background(), alone(root))
				must(t, err)
				if cut == nil || cut.Lost != c.lost || cut.Until != c.until || cut.File != "ralph/.state/journal-broken-1.jsonl" {
					t.Fatalf("cut %+v, want the facts from %d to %d in journal-broken-1.jsonl", cut, c.lost, c.until)
				}
				if aside := read(t, root, cut.File); strings.Count(aside, "\n") != cut.Lines || !strings.Contains(aside, `"last"`) {
					t.Errorf("moved aside, said to be %d lines:\n%s", cut.Lines, aside)
				}
				if got := read(t, root, "ralph/plan.jsonl"); got != plan {
					t.Errorf("the plan is now\n%s\nwant\n%s", got, plan)
				}
				if got := read(t, root, "ralph/inbox.jsonl"); got != inbox {
					t.Errorf("the inbox is now\n%s\nwant\n%s", got, inbox)
				}
				j := open(t, options(root))
				if s := j.State(); s.Task("t-aaaa").Status != ralph.TaskDone || s.Task("t-bbbb") == nil || s.Spec("q-aaaa") == nil {
					t.Errorf("plan %+v, inbox %+v", s.Plan.Tasks, s.Inbox)
				}
				must(t, update(j, note("it goes on")))
				var seqs []int64
				must(t, j.Each(0, func(e ralph.Event) error { seqs = append(seqs, e.Seq); return nil }))
				for i, seq := range seqs {
					if seq != int64(i+1) {
						t.Fatalf("facts %v are not in one row", seqs)
					}
				}
				must(t, j.Close())
				if again, err := journal.Repair(context.Background(), alone(root)); again != nil || err != nil {
					t.Errorf("a second repair: %+v, %v", again, err)
				}
			})
		}
	}
}

// R-M2: a whole journal, one with a torn end and one of a newer ralph are left as they are.
func TestRepairLeavesAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		add string
		err string
	}{
		"whole":    {"", ""},
		"torn end": {`{"t":"noted","seq":9,"at"`, ""},
		"newer":    {"newer", "written by a newer ralph"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			worked(t, root, 0)
			path := filepath.Join(root, "ralph/.state/journal.jsonl")
			text := read(t, root, "ralph/.state/journal.jsonl")
			if c.add == "newer" {
				lines := strings.Split(strings.TrimSpace(text), "\n")
				c.add = fmt.Sprintf(`{"t":"task.dreamt","seq":9,"at":"2030-01-01T00:00:00Z","by":"engine","prev":%q,"fact":{}}`+"\n", ralph.LineHash([]byte(lines[len(lines)-1])))
			}
			text += c.add
			must(t, os.WriteFile(path, []byte(text), 0o600))
			cut, err := journal.Repair(context.Background(), alone(root))
			if cut != nil || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v, %v; want an error with %q", cut, err, c.err)
			}
			if got := read(t, root, "ralph/.state/journal.jsonl"); got != text {
				t.Errorf("the journal was changed:\n%s", got)
			}
		})
	}
}

// R-M2: while an engine works nothing is moved.
func TestRepairBesideAnEngine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	worked(t, root, 0)
	j := open(t, options(root))
	engine, _, err := j.Lock(journal.Owner{Pid: 1, Host: "here"}, func(int, string) bool { return true })
	must(t, err)
	breakFact(t, root, 5, func([]byte) []byte { return []byte("rubbish\n") })
	text := read(t, root, "ralph/.state/journal.jsonl")
	opt := alone(root)
	opt.Alive = func(int, string) bool { return true }
	if _, err := journal.Repair(context.Background(), opt); !errors.Is(err, ralph.ErrLocked) {
		t.Errorf("repaired beside an engine: %v", err)
	}
	if got := read(t, root, "ralph/.state/journal.jsonl"); got != text {
		t.Errorf("the journal was changed:\n%s", got)
	}
	must(t, engine.Unlock())
}

// R-M2: what was at work where the journal ends is pending again; the session is over.
func TestJournalCutEndsWhatWasAtWork(t *testing.T) {
	t.Parallel()
	s := &ralph.State{}
	for i, f := range []ralph.Fact{
		ralph.SessionStarted{ID: "s-1"},
		ralph.SpecAdded{Spec: ralph.Spec{ID: "q-aaaa", File: "a.md", Status: ralph.SpecPending}},
		ralph.JobStarted{Job: "j-1", ID: "q-aaaa", File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-aaaa", Name: "one", Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: "t-aaaa"},
		ralph.JournalCut{Lost: 6},
	} {
		s.Apply(ralph.Event{Seq: int64(i + 1), Fact: f})
	}
	if s.Session.Live() || s.Job != nil || s.Task("t-aaaa").Status != ralph.TaskPending || s.Spec("q-aaaa").Status != ralph.SpecPending {
		b, _ := json.Marshal(s) //nolint:errcheck // for the message alone
		t.Errorf("at work still: %s", b)
	}
}

// breakFact edits the line of one fact, in whichever segment it is.
func breakFact(t *testing.T, root string, seq int64, edit func([]byte) []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "ralph/.state/journal*.jsonl"))
	must(t, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		must(t, err)
		for line := range bytes.Lines(text) {
			if e, err := ralph.UnmarshalEvent(bytes.TrimSpace(line)); err == nil && e.Seq == seq {
				must(t, os.WriteFile(path, bytes.Replace(text, line, edit(line), 1), 0o600))
				return
			}
		}
	}
	t.Fatalf("no fact %d in %v", seq, files)
}
