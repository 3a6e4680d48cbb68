package journal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

func specLine(id, status, rest string) string {
	return fmt.Sprintf(`{"t":"inbox","id":"%s","spec":"a.md","added_at":"2025-01-20T10:30:00Z","status":"%s"%s}`, id, status, rest)
}

func taskLine(id, status string) string {
	return fmt.Sprintf(`{"t":"task","id":"%s","name":"n","status":"%s"}`, id, status)
}

// editLines rewrites a view as an editor would.
func editLines(t *testing.T, root, name string, edit func([]string) []string) {
	t.Helper()
	write(t, root, name, strings.Join(edit(lines(t, root, name)), "\n")+"\n")
}

// kinds lists the facts that people's edits became.
//
// What people are told of them (view.read) has tests of its own.
func kinds(t *testing.T, j *journal.File) []string {
	t.Helper()
	var out []string
	for _, e := range checkChain(t, j) {
		if e.By == "file" && e.Fact.Kind() != "view.read" {
			out = append(out, e.Fact.Kind())
		}
	}
	return out
}

// started is a journal with three specs and three tasks, as ralph wrote them.
func started(t *testing.T) (root string, j *journal.File) {
	t.Helper()
	root = t.TempDir()
	j = open(t, options(root))
	at := time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC)
	s := &ralph.State{}
	task := func(id ralph.TaskID) ralph.Fact {
		return ralph.TaskAdded{Task: ralph.Task{ID: id, Name: "n", Status: ralph.TaskPending}}
	}
	must(t, update(j, slices.Concat(s.AddSpec("q-1", "a.md", at), s.AddSpec("q-2", "a.md", at), s.AddSpec("q-3", "a.md", at), []ralph.Fact{
		ralph.PlanStarted{File: "a.md"}, task("t-1"), task("t-2"), task("t-3"), ralph.IssueAdded{Issue: ralph.Issue{ID: "i-1", Desc: "d"}},
	})...))
	return root, j
}

// What a person changes in a view becomes facts, and the file stays as the
// person left it (product.md 2: the file wins).
func TestEditsAreReadBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file  string
		edit  func([]string) []string
		facts []string
		after []string // lines of the file, nil: as edited
	}{
		"spec edited": {inboxPath, func(l []string) []string { l[1] = specLine("q-2", "done", ""); return l }, []string{"spec.edited"}, nil},
		"spec respelled": {inboxPath, func(l []string) []string {
			l[1] = strings.ReplaceAll(l[1], ":", " : ")
			l[1] = strings.ReplaceAll(l[1], "10 : 30 : 00", "10:30:00")
			return l
		}, []string{"spec.edited"}, nil},
		"spec added last":  {inboxPath, func(l []string) []string { return append(l, specLine("q-4", "pending", `,"x":1`)) }, []string{"spec.added"}, nil},
		"spec added first": {inboxPath, func(l []string) []string { return append([]string{specLine("q-4", "pending", "")}, l...) }, []string{"spec.added", "inbox.ordered"}, nil},
		"spec removed":     {inboxPath, func(l []string) []string { return slices.Delete(l, 0, 1) }, []string{"spec.removed"}, nil},
		"specs moved":      {inboxPath, func(l []string) []string { l[0], l[2] = l[2], l[0]; return l }, []string{"inbox.ordered"}, nil},
		"all at once": {inboxPath, func(l []string) []string {
			return []string{specLine("q-9", "pending", ""), specLine("q-3", "failed", `,"error":"x"`), l[0]}
		}, []string{"spec.added", "spec.edited", "spec.removed", "inbox.ordered"}, nil},
		"inbox emptied":     {inboxPath, func([]string) []string { return nil }, []string{"spec.removed", "spec.removed", "spec.removed"}, []string{""}},
		"blank lines, CRLF": {inboxPath, func(l []string) []string { return []string{"", l[0] + "\r", "  ", l[1] + " \r", l[2]} }, nil, []string{specLine("q-1", "pending", ""), specLine("q-2", "pending", ""), specLine("q-3", "pending", "")}},
		"task edited":       {planPath, func(l []string) []string { l[2] = taskLine("t-2", "skipped"); return l }, []string{"task.edited"}, nil},
		"task added":        {planPath, func(l []string) []string { return slices.Insert(l, 4, taskLine("t-4", "pending")) }, []string{"task.added"}, nil},
		"task put between":  {planPath, func(l []string) []string { return slices.Insert(l, 2, taskLine("t-4", "pending")) }, []string{"task.added", "plan.ordered"}, nil},
		"task removed":      {planPath, func(l []string) []string { return slices.Delete(l, 1, 2) }, []string{"task.removed"}, nil},
		"tasks moved":       {planPath, func(l []string) []string { l[1], l[3] = l[3], l[1]; return l }, []string{"plan.ordered"}, nil},
		"issue added":       {planPath, func(l []string) []string { return append(l, `{"t":"issue","id":"i-2","desc":"e"}`) }, []string{"issue.added"}, nil},
		"issue removed":     {planPath, func(l []string) []string { return l[:4] }, []string{"issue.removed"}, nil},
		"issue edited":      {planPath, func(l []string) []string { l[4] = `{"t":"issue","id":"i-1","desc":"e"}`; return l }, []string{"issue.removed", "issue.added"}, nil},
		"reject added":      {planPath, func(l []string) []string { return append(l, `{"t":"reject","id":"t-1","reason":"e"}`) }, []string{"reject.added"}, nil},
		"another plan":      {planPath, func([]string) []string { return []string{`{"t":"spec","spec":"b.md"}`, taskLine("t-1", "pending")} }, []string{"plan.started", "task.added"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, j := started(t)
			editLines(t, root, c.file, c.edit)
			want := c.after
			if want == nil {
				want = lines(t, root, c.file)
			}
			must(t, update(j, note("x")))
			if d := cmp.Diff(c.facts, kinds(t, j)); d != "" {
				t.Fatal(d)
			}
			if d := cmp.Diff(want, lines(t, root, c.file)); d != "" {
				t.Fatal(d)
			}
			must(t, update(j, note("x"))) // once only
			again := open(t, options(root))
			must(t, update(again, note("x")))
			if d := cmp.Diff(c.facts, kinds(t, j)); d != "" {
				t.Fatalf("read back twice: %s", d)
			}
			sameState(t, j.State(), again.State())
		})
	}
}

// Tasks and issues written without an id get one, once, and keep the rest; an
// id that is taken is not given (product.md 2).
func TestHandWrittenTaskGetsAnID(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, planPath, `{"t":"spec","spec":"a.md"}
{"t":"task","name":"first","points":3}
{"t":"task","name":"second"}
{"t":"task","id":"t-taken","name":"third"}
{"t":"issue","desc":"odd"}`)
	next := []string{"t-taken", "t-aaaa", "t-aaaa", "t-bbbb", "i-cccc"}
	opt := options(root)
	opt.NewID = func(string) string { id := next[0]; next = next[1:]; return id }
	j := open(t, opt)
	must(t, update(j, note("x")))
	want := `{"t":"spec","spec":"a.md"}
{"t":"task","id":"t-aaaa","name":"first","status":"pending","points":3}
{"t":"task","id":"t-bbbb","name":"second","status":"pending"}
{"t":"task","id":"t-taken","name":"third"}
{"t":"issue","id":"i-cccc","desc":"odd"}
`
	wantText(t, read(t, root, planPath), want)
	must(t, update(open(t, options(root)), note("x")))
	wantText(t, read(t, root, planPath), want)
}

// An edit made while the journal moved on takes back nothing: what the person
// did not touch is as the facts say.
func TestEditBesideNewFacts(t *testing.T) {
	t.Parallel()
	root, j := started(t)
	oldInbox, oldPlan := lines(t, root, inboxPath), lines(t, root, planPath)
	must(t, update(j, ralph.JobStarted{Job: "j", ID: "q-1", File: "a.md"}, ralph.TaskStarted{ID: "t-1"}, ralph.TaskStarted{ID: "t-2"},
		ralph.SpecRemoved{ID: "q-3"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-5", Name: "new", Status: ralph.TaskPending}}))
	must(t, update(j, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}))
	must(t, j.Flush(t.Context()))
	// The views and their copies as they were before: the person's editor still
	// had the old text, and a crash had kept ralph from writing the new one.
	putBack(t, root, inboxPath, oldInbox)
	putBack(t, root, planPath, oldPlan)
	editLines(t, root, inboxPath, func(l []string) []string {
		l[0] = strings.Replace(l[0], "a.md", "b.md", 1)
		l[2] = strings.Replace(l[2], "a.md", "c.md", 1) // of a record that is gone
		return append(l, specLine("q-4", "pending", ""))
	})
	editLines(t, root, planPath, func(l []string) []string {
		l[1] = strings.Replace(l[1], `"name":"n"`, `"name":"better","notes":"mine"`, 1)
		return slices.Delete(l, 3, 4)
	})
	must(t, j.Close())

	j = open(t, options(root))
	must(t, update(j, note("x")))
	s := j.State()
	if x := s.Spec("q-1"); x.Status != ralph.SpecActive || x.File != "b.md" || x.StartedAt.IsZero() {
		t.Fatalf("q-1 = %+v", x)
	}
	if s.Spec("q-3") != nil || s.Spec("q-4") == nil {
		t.Fatal("q-3 came back or q-4 is missing")
	}
	if x := s.Task("t-1"); x.Status != ralph.TaskDone || x.Name != "better" || x.Notes != "mine" || x.Run.StartedAt.IsZero() {
		t.Fatalf("t-1 = %+v", x)
	}
	if s.Task("t-2").Status != ralph.TaskActive || s.Task("t-3") != nil || s.Task("t-5") == nil {
		t.Fatal("t-2, t-3 or t-5 is wrong")
	}
	if d := cmp.Diff([]string{"spec.added", "spec.edited", "task.edited", "task.removed"}, kinds(t, j)); d != "" {
		t.Fatal(d)
	}
}

func putBack(t *testing.T, root, name string, text []string) {
	t.Helper()
	for _, file := range []string{name, filepath.Join("ralph/.state/views", filepath.Base(name))} {
		write(t, root, file, strings.Join(text, "\n")+"\n")
	}
}

// A view that a crash left behind the facts is no edit, and is written anew.
func TestStaleViewIsNoEdit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{inboxPath, planPath} {
		for _, lost := range []string{"view and base", "base"} {
			t.Run(filepath.Base(name)+" "+lost, func(t *testing.T) {
				t.Parallel()
				root, j := started(t)
				old := lines(t, root, name)
				must(t, update(j, ralph.JobStarted{Job: "j", ID: "q-1", File: "a.md"}, ralph.TaskStarted{ID: "t-1"}))
				must(t, j.Close())
				want := read(t, root, name)
				if want == strings.Join(old, "\n")+"\n" {
					t.Fatal("nothing changed: the test shows nothing")
				}
				putBack(t, root, name, old)
				if lost == "base" {
					write(t, root, name, want)
				}
				j = open(t, options(root))
				must(t, update(j)) // also when there is nothing new to record
				if k := kinds(t, j); len(k) != 0 {
					t.Fatalf("taken for edits: %v", k)
				}
				wantText(t, read(t, root, name), want)
				wantText(t, read(t, root, filepath.Join("ralph/.state/views", filepath.Base(name))), want)
			})
		}
	}
}

// What another ralph has written into a view a moment ago is nobody's half saved edit: an engine goes on from
// there, and when it ends at once the view says how (D-037).
func TestViewsOfAnotherProcessAreTakenAtOnce(t *testing.T) {
	t.Parallel()
	root, engine := started(t)
	engine.Tolerate()
	must(t, update(engine, ralph.JobStarted{Job: "j", ID: "q-1", File: "a.md"}))
	other := open(t, options(root))
	must(t, update(other, ralph.SpecRemoved{ID: "q-3"}, ralph.IssueAdded{Issue: ralph.Issue{ID: "i-2", Desc: "d"}}))
	now := time.Now()
	for _, name := range []string{inboxPath, planPath} {
		must(t, os.Chtimes(filepath.Join(root, name), now, now))
	}
	must(t, update(engine, ralph.JobEnded{Status: ralph.SpecDone}, ralph.TaskRemoved{ID: "t-3"}))
	must(t, engine.Close())
	if l := lines(t, root, inboxPath); len(l) != 2 || !strings.Contains(l[0], `"status":"done"`) {
		t.Errorf("the inbox says %q", l)
	}
	if l := lines(t, root, planPath); len(l) != 5 || strings.Contains(strings.Join(l, ""), "t-3") {
		t.Errorf("the plan says %q", l)
	}
}

// A view that is not there says nothing: it is written again.
func TestDeletedViewIsWrittenAgain(t *testing.T) {
	t.Parallel()
	root, j := started(t)
	want := read(t, root, inboxPath)
	must(t, os.Remove(filepath.Join(root, inboxPath)))
	must(t, update(j))
	wantText(t, read(t, root, inboxPath), want)
	if k := kinds(t, j); len(k) != 0 {
		t.Fatalf("taken for edits: %v", k)
	}
}

// A line that does not parse stops ralph with its file and line; nothing on disk
// changes, and when it is mended no other edit is lost (D-080).
func TestCorruptViews(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, bad string
		line      int
	}{
		"garbage":            {inboxPath, "garbage", 4},
		"cut line":           {inboxPath, `{"t":"inbox","id":"q-9"`, 4},
		"two objects":        {inboxPath, specLine("q-9", "pending", "") + specLine("q-8", "pending", ""), 4},
		"brace behind":       {inboxPath, specLine("q-9", "pending", "") + "}", 4},
		"array":              {inboxPath, "[]", 4},
		"another kind":       {inboxPath, strings.Replace(specLine("q-9", "pending", ""), "inbox", "task", 1), 4},
		"unknown status":     {inboxPath, specLine("q-9", "waiting", ""), 4}, // D-010
		"no id":              {inboxPath, strings.Replace(specLine("", "pending", ""), `"id":"",`, "", 1), 4},
		"id twice":           {inboxPath, specLine("q-2", "pending", ""), 4},
		"field twice":        {inboxPath, specLine("q-9", "pending", `,"status":"done"`), 4},
		"leaves the folder":  {inboxPath, strings.Replace(specLine("q-9", "pending", ""), "a.md", "../a.md", 1), 4},
		"no time":            {inboxPath, strings.Replace(specLine("q-9", "pending", ""), "2025-01-20T10:30:00Z", "yesterday", 1), 4},
		"not UTF-8":          {inboxPath, specLine("q-9", "pending", ",\"x\":\"\xff\""), 4},
		"task id twice":      {planPath, taskLine("t-1", "pending"), 6},
		"issue id twice":     {planPath, `{"t":"issue","id":"i-1","desc":"e"}`, 6},
		"task without name":  {planPath, `{"t":"task","id":"t-9"}`, 6},
		"task status":        {planPath, taskLine("t-9", "ready"), 6},
		"unknown record":     {planPath, `{"t":"tusk"}`, 6},
		"negative count":     {planPath, `{"t":"task","id":"t-9","name":"n","retry_count":-1}`, 6},
		"id with a space":    {planPath, taskLine("t 9", "pending"), 6},
		"deps are no list":   {planPath, `{"t":"task","id":"t-9","name":"n","deps":"t-1"}`, 6},
		"dep that is absent": {planPath, `{"t":"task","id":"t-9","name":"n","deps":["t-0"]}`, 0},
		"cycle":              {planPath, `{"t":"task","id":"t-9","name":"n","deps":["t-9"]}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, j := started(t)
			good := lines(t, root, c.file)
			// A good edit of the inbox comes before the bad one.
			editLines(t, root, inboxPath, func(l []string) []string { l[0] = specLine("q-1", "done", ""); return l })
			if c.file == inboxPath {
				good = lines(t, root, c.file)
			}
			editLines(t, root, c.file, func(l []string) []string { return append(l, c.bad, "") })
			before := picture(t, root)
			for range 2 { // the second time it is no less corrupt
				wantCorrupt(t, update(j, note("x")), c.file, c.line)
			}
			fresh := open(t, options(root))
			wantCorrupt(t, addSpec(fresh, "b.md"), c.file, c.line)
			opt := options(root)
			opt.Read = true
			_, err := journal.Open(opt)
			wantCorrupt(t, err, c.file, c.line)
			if d := cmp.Diff(before, picture(t, root)); d != "" {
				t.Fatalf("something was changed: %s", d)
			}
			editLines(t, root, c.file, func([]string) []string { return good })
			must(t, update(j, note("x")))
			if k := kinds(t, j); !slices.Equal(k, []string{"spec.edited"}) || j.State().Spec("q-1").Status != ralph.SpecDone {
				t.Fatalf("after mending: %v", k)
			}
		})
	}
}

// A reader sees an edit that leaves the plan as long as it was, wherever in a long plan it is.
func TestReadersSeeAnEditOfTheSameLength(t *testing.T) {
	t.Parallel()
	const tasks = 300 // more than is compared at a time
	for _, at := range []int{0, tasks / 2, tasks - 1} {
		root := t.TempDir()
		j := open(t, options(root))
		var plan []ralph.Fact
		for i := range tasks {
			plan = append(plan, ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(fmt.Sprint("t-", i)), Name: "one of many lines", Status: ralph.TaskPending}})
		}
		must(t, update(j, plan...))
		must(t, j.Close())
		opt := options(root)
		opt.Read = true
		id := ralph.TaskID(fmt.Sprint("t-", at))
		before := read(t, root, planPath)
		if got := open(t, opt).State().Task(id).Name; got != "one of many lines" {
			t.Fatalf("%s is %q before the edit", id, got)
		}
		editLines(t, root, planPath, func(l []string) []string {
			l[at] = strings.Replace(l[at], "one of", "two of", 1)
			return l
		})
		if after := read(t, root, planPath); len(after) != len(before) || after == before {
			t.Fatalf("%d bytes for %d, or no edit", len(after), len(before))
		}
		if got := open(t, opt).State().Task(id).Name; got != "two of many lines" {
			t.Errorf("a reader sees %s as %q", id, got)
		}
	}
}

// picture holds every file of the folder: text and time of change.
func picture(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || filepath.Base(path) == "journal.lock" {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = info.ModTime().String() + "\n" + string(b)
		return err
	}))
	return all
}

// construct neither reads nor changes the inbox, whatever is in it (D-122).
func TestConstructLeavesTheInboxAlone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, inboxPath, "garbage\n")
	before := picture(t, root)[filepath.Join(root, inboxPath)]
	opt := options(root)
	opt.Inbox = false
	j := open(t, opt)
	must(t, update(j, ralph.SessionStarted{ID: "s-1", Mode: "construct"}, ralph.JobStarted{Job: "j", File: "a.md"},
		ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "n", Status: ralph.TaskPending}}))
	must(t, update(j, ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}, ralph.JobEnded{Status: ralph.SpecDone}, ralph.SessionEnded{Reason: ralph.ReasonComplete}))
	must(t, j.Close())
	if after := picture(t, root)[filepath.Join(root, inboxPath)]; after != before {
		t.Fatalf("before %s\nafter %s", before, after)
	}
	if !strings.Contains(read(t, root, planPath), `"done"`) {
		t.Fatal("the plan was not written")
	}
}

// A command that does not read the plan does not write over it either.
func TestUnreadPlanIsNotWritten(t *testing.T) {
	t.Parallel()
	root, j := started(t)
	must(t, j.Close())
	editLines(t, root, planPath, func(l []string) []string { l[1] = taskLine("t-1", "skipped"); return l })
	want := read(t, root, planPath)
	opt := options(root)
	opt.Plan = false
	j = open(t, opt)
	must(t, update(j, ralph.SessionStarted{ID: "s"}, ralph.IssueAdded{Issue: ralph.Issue{ID: "i-2", Desc: "d"}}, ralph.TaskStarted{ID: "t-3"}))
	must(t, j.Close())
	wantText(t, read(t, root, planPath), want)
	j = open(t, options(root))
	must(t, update(j))
	if s := j.State(); s.Task("t-1").Status != ralph.TaskSkipped || s.Task("t-3").Status != ralph.TaskActive || len(s.Plan.Issues) != 2 {
		t.Fatalf("the edit or a fact is lost: %s", read(t, root, planPath))
	}
	if n := len(lines(t, root, planPath)); n != 6 {
		t.Fatalf("plan.jsonl has %d lines", n)
	}
}

// An edit that cannot be recorded for now (the journal is full) is not undone by
// the next write.
func TestEditSurvivesAFailedWrite(t *testing.T) {
	t.Parallel()
	root, j := started(t)
	editLines(t, root, inboxPath, func(l []string) []string { return append(l, specLine("q-4", "pending", "")) })
	path := filepath.Join(root, "ralph/.state/views")
	must(t, os.Rename(path, path+".away"))
	write(t, root, "ralph/.state/views", "no folder: the copies cannot be written")
	if err := update(j, note("x")); err == nil {
		t.Fatal("no error")
	}
	must(t, os.Remove(path))
	must(t, os.Rename(path+".away", path))
	must(t, update(j, note("x")))
	if j.State().Spec("q-4") == nil || len(lines(t, root, inboxPath)) != 4 {
		t.Fatalf("the edit is lost:\n%s", read(t, root, inboxPath))
	}
}

// A line that a person wrote without an id is one task, whenever the engine that read
// it back dies, and however often the person saves before its id stands in the file.
func TestHandWrittenLineIsReadOnce(t *testing.T) {
	t.Parallel()
	const plan, base = "ralph/plan.jsonl", "ralph/.state/views/plan.jsonl"
	const hand, issue = `{"t":"task","name":"by hand"}`, `{"t":"issue","desc":"by hand too"}`
	for name, c := range map[string]struct {
		file, base func(before, saved string) string
	}{
		"it dies before the base is written": {
			func(_, saved string) string { return saved },
			func(before, _ string) string { return before },
		},
		"it dies before the view is written": {
			func(_, saved string) string { return saved },
			func(_, saved string) string { return saved },
		},
		"the person saves again before the view is written": {
			func(_, saved string) string { return saved + `{"t":"task","name":"by hand, later"}` + "\n" },
			func(_, saved string) string { return saved },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, j := started(t)
			before := read(t, root, base)
			saved := read(t, root, plan) + hand + "\n" + issue + "\n"
			write(t, root, plan, saved)
			must(t, update(j, note("it is read")))
			must(t, j.Close())
			write(t, root, plan, c.file(before, saved))
			write(t, root, base, c.base(before, saved))
			j = open(t, options(root))
			for range 2 {
				must(t, update(j, note("it is read again")))
			}
			s := j.State()
			tasks, issues := 0, 0
			for _, x := range s.Plan.Tasks {
				if x.Name == "by hand" {
					tasks++
				}
			}
			for _, x := range s.Plan.Issues {
				if x.Desc == "by hand too" {
					issues++
				}
			}
			if tasks != 1 || issues != 1 || strings.Count(read(t, root, plan), `"by hand"`) != 1 {
				t.Errorf("%d tasks and %d issues in\n%s", tasks, issues, read(t, root, plan))
			}
		})
	}
}

// Two lines with the same words are two tasks all the same.
func TestHandWrittenTwins(t *testing.T) {
	t.Parallel()
	root, j := started(t)
	editLines(t, root, "ralph/plan.jsonl", func(l []string) []string {
		return append(l, `{"t":"task","name":"twin"}`, `{"t":"task","name":"twin"}`)
	})
	must(t, update(j, note("read")))
	editLines(t, root, "ralph/plan.jsonl", func(l []string) []string { return append(l, `{"t":"task","name":"twin"}`) })
	must(t, update(j, note("read")))
	if got := len(j.State().Plan.Tasks); got != 6 {
		t.Errorf("%d tasks", got)
	}
}
