package journal_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// Who shows a journal that it also writes sees what a person has saved before it is
// recorded, what another process records, and nothing that is over.
func TestShown(t *testing.T) {
	root, far := started(t)
	j := open(t, options(root))
	shown := func() *ralph.State {
		t.Helper()
		s, err := j.Shown()
		must(t, err)
		return s
	}
	name := func(s *ralph.State) string { return s.Task("t-1").Name }
	first := shown()
	if again := shown(); again != first {
		t.Error("nothing has changed, and it is another state")
	}
	must(t, update(far, note("a word"))) // touches no view
	if s := shown(); s.Seq != first.Seq+1 || name(s) != "n" {
		t.Errorf("after a fact of another process: at %d with %q", s.Seq, name(s))
	}
	rename := func(to string) {
		editLines(t, root, "ralph/plan.jsonl", func(list []string) []string {
			for i, line := range list {
				if strings.Contains(line, `"t-1"`) {
					list[i] = strings.Replace(line, `"name":"`+name(shown())+`"`, `"name":"`+to+`"`, 1)
				}
			}
			return list
		})
	}
	rename("a longer name")
	edited := shown()
	if name(edited) != "a longer name" || edited.Seq != first.Seq+1 {
		t.Errorf("saved and not recorded: %q at %d", name(edited), edited.Seq)
	}
	if s := j.State(); name(s) != "n" {
		t.Errorf("the facts say %q already", name(s))
	}
	must(t, update(far, note("it reads the view first")))
	if s := shown(); name(s) != "a longer name" || s.Seq != first.Seq+4 { // the edit, what was taken of the file, the note
		t.Errorf("recorded: %q at %d", name(s), s.Seq)
	}
	must(t, update(far, ralph.TaskEdited{Task: ralph.Task{ID: "t-1", Name: "by a command", Status: ralph.TaskPending}}))
	if s := shown(); name(s) != "by a command" {
		t.Errorf("what was saved once came back: %q", name(s))
	}
	rename("again by hand")
	must(t, update(j, note("its own Update reads it back too")))
	if s := shown(); name(s) != "again by hand" || name(j.State()) != "again by hand" {
		t.Errorf("its own Update: shown %q, recorded %q", name(s), name(j.State()))
	}
	write(t, root, "ralph/plan.jsonl", "no plan\n")
	if s, err := j.Shown(); err == nil || name(s) != "again by hand" {
		t.Errorf("a plan that cannot be read: %q, %v", name(s), err)
	}
}

// BenchmarkShown is what a page pays for the newest state after a fact that no view shows,
// with a plan of a thousand tasks.
func BenchmarkShown(b *testing.B) {
	root := b.TempDir()
	writer, err := journal.Open(options(root))
	must(b, err)
	facts := []ralph.Fact{ralph.PlanStarted{File: "a.md"}}
	for range 1000 {
		facts = append(facts, ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(newID("t")), Name: "Add the login form", Accept: "a wrong password shows an error", Status: ralph.TaskPending}})
	}
	must(b, update(writer, facts...))
	j, err := journal.Open(options(root))
	must(b, err)
	for b.Loop() {
		b.StopTimer()
		must(b, update(writer, note("a word")))
		b.StartTimer()
		if _, err := j.Shown(); err != nil {
			b.Fatal(err)
		}
	}
	must(b, j.Close())
	must(b, writer.Close())
}
