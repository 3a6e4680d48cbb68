package journal_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// told are the facts about what was taken from files.
func told(t *testing.T, j *journal.File) (read []ralph.ViewRead, bad []ralph.ViewUnreadable) {
	t.Helper()
	for _, e := range checkChain(t, j) {
		switch f := e.Fact.(type) {
		case ralph.ViewRead:
			read = append(read, f)
		case ralph.ViewUnreadable:
			bad = append(bad, f)
		}
	}
	return read, bad
}

// R-C3, R-C4, X-106: git puts an old plan.jsonl back while a task is at work and another
// is done (stash, checkout, switch): neither becomes pending, what commands edited stays,
// and one line says so. It is not written over before something happens, so that
// `git stash pop` works; and what it says then is no edit either.
func TestAnOldFileUndoesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{planPath, inboxPath} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			root, j := started(t)
			old := read(t, root, name)
			must(t, update(j, ralph.JobStarted{Job: "j", ID: "q-1", File: "a.md"}, ralph.TaskStarted{ID: "t-1"}, ralph.TaskStarted{ID: "t-2"}))
			must(t, update(j, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.SpecRemoved{ID: "q-3"},
				ralph.TaskEdited{Task: ralph.Task{ID: "t-3", Name: "by a command", Status: ralph.TaskPending}}))
			must(t, j.Flush(t.Context()))
			newest := read(t, root, name)
			before := j.State()

			write(t, root, name, old)
			must(t, update(j, note("x")))
			sameWork(t, before, j.State())
			wantText(t, read(t, root, name), old)
			write(t, root, name, newest) // git stash pop
			must(t, update(j, note("y")))
			sameWork(t, before, j.State())
			if list, _ := told(t, j); len(list) != 1 || !list[0].Older || list[0].File != name {
				t.Fatalf("told %+v, want once that the file is an older one", list)
			}
			write(t, root, name, old) // git checkout -- .; then an engine in another process
			again := open(t, options(root))
			must(t, update(again, note("z")))
			sameWork(t, before, again.State())
		})
	}
}

func sameWork(t *testing.T, want, got *ralph.State) {
	t.Helper()
	words := func(s *ralph.State) string {
		var b strings.Builder
		for _, x := range s.Plan.Tasks {
			b.WriteString(string(x.ID) + " " + string(x.Status) + " " + x.Name + "\n")
		}
		for _, x := range s.Inbox {
			b.WriteString(string(x.ID) + " " + string(x.Status) + "\n")
		}
		return b.String()
	}
	wantText(t, words(got), words(want))
}

// what a person changed in a file and changes back, with nothing in between, is
// taken both times, although the file is as it once was.
func TestAnEditTakenBackByHand(t *testing.T) {
	t.Parallel()
	root, j := started(t)
	first := read(t, root, planPath)
	write(t, root, planPath, strings.Replace(first, `"id":"t-2","name":"n"`, `"id":"t-2","name":"better"`, 1))
	must(t, update(j, note("x")))
	if name := j.State().Task("t-2").Name; name != "better" {
		t.Fatalf("the edit was not taken: %q", name)
	}
	write(t, root, planPath, first)
	must(t, update(j, note("y")))
	if name := j.State().Task("t-2").Name; name != "n" {
		t.Fatalf("the edit was not taken back: %q", name)
	}
}

// a file merged of old and new asks for what is wanted and for what cannot be: the
// first is taken, the second kept, and both are told (R-C3).
func TestAFileOfOldAndNew(t *testing.T) {
	t.Parallel()
	root, j := started(t)
	must(t, update(j, ralph.TaskStarted{ID: "t-1"}, ralph.TaskStarted{ID: "t-2"}))
	must(t, update(j, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}))
	must(t, j.Flush(t.Context()))
	editLines(t, root, planPath, func(l []string) []string {
		for i := range l {
			l[i] = strings.NewReplacer(`"done"`, `"pending"`, `"active"`, `"pending"`).Replace(l[i])
		}
		return append(l, taskLine("t-new", "pending"))
	})
	must(t, update(j, note("x")))
	s := j.State()
	if s.Task("t-1").Status != ralph.TaskDone || s.Task("t-2").Status != ralph.TaskActive || s.Task("t-new") == nil {
		t.Fatalf("t-1 %s, t-2 %s, t-new %v", s.Task("t-1").Status, s.Task("t-2").Status, s.Task("t-new"))
	}
	list, _ := told(t, j)
	if len(list) != 1 || list[0].Added != 1 || list[0].Edited != 0 || len(list[0].Kept) != 2 {
		t.Fatalf("told %+v", list)
	}
	if text := read(t, root, planPath); !strings.Contains(text, `"id":"t-1","name":"n","status":"done"`) {
		t.Fatalf("the file still says otherwise:\n%s", text)
	}
	// The plan of another spec does not take the place of one that is at work.
	must(t, update(j, ralph.SessionStarted{ID: "s"}, ralph.JobStarted{Job: "j", ID: "q-1", File: "a.md"}))
	write(t, root, planPath, `{"t":"spec","spec":"b.md"}`+"\n"+taskLine("t-b", "pending")+"\n")
	must(t, update(j, note("y")))
	if s := j.State(); s.Plan.File != "a.md" || s.Task("t-b") != nil {
		t.Fatalf("the plan is that of %s", s.Plan.File)
	}
}

// R-C5, F-21, D-080: while an engine works, a line that does not parse ends nothing: the
// last good reading holds, the fact says file and line once, nobody writes over the file,
// and it is taken when it parses. Before that, and for others, it is an error as ever.
func TestAnEngineToleratesACorruptView(t *testing.T) {
	t.Parallel()
	for _, name := range []string{planPath, inboxPath} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			root, j := started(t)
			j.Tolerate()
			good := read(t, root, name)
			line := strings.Count(good, "\n") + 1
			broken := good + "<<<<<<< HEAD\n"
			save(t, root, name, broken)
			must(t, update(j, ralph.TaskStarted{ID: "t-1"}))
			must(t, update(j, note("still at work")))
			must(t, j.Flush(t.Context()))
			wantText(t, read(t, root, name), broken)
			_, bad := told(t, j)
			if len(bad) != 1 || bad[0].File != name || bad[0].Line != line || !strings.Contains(bad[0].Why, "conflict marker") {
				t.Fatalf("told %+v, want line %d once", bad, line)
			}
			if u := j.State().Unreadable(name); u == nil || u.Since.IsZero() {
				t.Fatalf("the state does not say so: %+v", u)
			}
			wantCorrupt(t, update(open(t, options(root)), note("a start")), name, line)

			extra := taskLine("t-late", "pending")
			if name == inboxPath {
				extra = specLine("q-late", "pending", "")
			}
			save(t, root, name, good+extra+"\n")
			must(t, update(j, note("x")))
			s := j.State()
			if s.Unreadable(name) != nil || s.Task("t-late") == nil && s.Spec("q-late") == nil {
				t.Fatalf("it was not taken again: %+v", s.Unread)
			}
			if s.Task("t-1").Status != ralph.TaskActive {
				t.Fatal("what happened meanwhile is undone")
			}
			if list, _ := told(t, j); len(list) != 1 || !list[0].Again || list[0].Added != 1 {
				t.Fatalf("told %+v", list)
			}
		})
	}
}

// save writes a view as one that was saved a while ago: an engine lets a file rest before
// it reads it.
func save(t *testing.T, root, name, text string) {
	t.Helper()
	write(t, root, name, text)
	ago := time.Now().Add(-time.Minute)
	must(t, os.Chtimes(filepath.Join(root, name), ago, ago))
}

// R-C5: an editor empties a file before it fills it. What an engine finds in between is
// nobody's wish.
func TestAnEngineWaitsForAnEditor(t *testing.T) {
	t.Parallel()
	root, j := started(t)
	j.Tolerate()
	write(t, root, planPath, "") // at this moment
	must(t, update(j, note("x")))
	if n := len(j.State().Plan.Tasks); n != 3 {
		t.Fatalf("a half saved file took tasks away: %d are left", n)
	}
	wantText(t, read(t, root, planPath), "")
}

// An engine that waits takes what a person saves.
func TestAWaitingEngineReadsFiles(t *testing.T) {
	t.Parallel()
	root, j := started(t)
	j.Tolerate()
	seq := j.State().Seq
	save(t, root, planPath, strings.Join(slices.Concat(lines(t, root, planPath), []string{taskLine("t-9", "pending")}), "\n")+"\n")
	must(t, j.Wait(t.Context(), seq))
	if j.State().Task("t-9") == nil {
		t.Fatal("it woke up without the new task")
	}
}
