package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// Nobody's record gets lost when many add at once (D-005, D-016, X-11).
func TestManyProcessesAdd(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const n = 40
	var all []*child
	for range n {
		all = append(all, startChild(t, "add", root))
	}
	for _, c := range all {
		c.line() // open and ready
	}
	for _, c := range all {
		_ = c.stdin.Close() // go
	}
	for _, c := range all {
		c.finish()
	}
	j := open(t, options(root))
	if got := len(checkChain(t, j)); got != n {
		t.Fatalf("%d facts, want %d", got, n)
	}
	checkInbox(t, j, root, n)
}

// 1000 adds: every id fits q-[a-z0-9]{4}, none twice (D-006, D-007), and the
// order is that of adding (D-014).
func TestThousandAdds(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	const n = 1000
	var order []ralph.SpecID
	for range n / 10 {
		// Ten in one Update: each must see those before it.
		err := j.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
			var facts []ralph.Fact
			for range 10 {
				id := freshSpecID(s)
				fact := s.AddSpec(id, "x.md", time.Now())
				s.Apply(ralph.Event{Fact: fact[0]})
				facts, order = append(facts, fact...), append(order, id)
			}
			return facts, nil
		})
		must(t, err)
	}
	checkInbox(t, j, root, n)
	for i, x := range j.State().Inbox {
		if x.ID != order[i] {
			t.Fatalf("record %d is %s, want %s", i, x.ID, order[i])
		}
	}
}

func checkInbox(t *testing.T, j *journal.File, root string, n int) {
	t.Helper()
	shape := regexp.MustCompile(`^q-[a-z0-9]{4}$`)
	seen := map[string]bool{}
	text := lines(t, root, inboxPath)
	for _, line := range text {
		var r struct{ T, ID string }
		must(t, json.Unmarshal([]byte(line), &r))
		if r.T != "inbox" || !shape.MatchString(r.ID) || seen[r.ID] || j.State().Spec(ralph.SpecID(r.ID)) == nil {
			t.Fatalf("bad or double record %s", line)
		}
		seen[r.ID] = true
	}
	if len(text) != n || len(j.State().Inbox) != n {
		t.Fatalf("%d lines, %d in the journal, want %d", len(text), len(j.State().Inbox), n)
	}
}

// A refused command leaves no trace, and its error is the caller's own.
func TestRefusalRecordsNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, addSpec(j, "a.md"))
	before := read(t, root, journalPath) + read(t, root, inboxPath)
	want := errors.New("refused")
	err := j.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		return s.AddSpec("q-zzzz", "b.md", time.Now()), want
	})
	if !errors.Is(err, want) || read(t, root, journalPath)+read(t, root, inboxPath) != before {
		t.Fatalf("err = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = j.Update(ctx, "cli", func(*ralph.State) ([]ralph.Fact, error) { t.Error("asked"); return nil, nil })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
	must(t, j.Close())
	if err := update(j, note("x")); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("after Close: %v", err)
	}
}

// C-040, X-75: a gate takes its first answer, from whichever process; a second one at the
// same time is refused. Who waits sees it in a handle of its own.
func TestFirstAnswerWins(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	waits := open(t, options(root))
	must(t, update(waits, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskActive}},
		ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalOperation, Task: "t-1", InTurn: true, Text: "run make deploy"}}))
	seq := waits.State().Seq
	answers := []func(*ralph.State) ([]ralph.Fact, error){
		func(s *ralph.State) ([]ralph.Fact, error) { return s.Approve("g-1") },
		func(s *ralph.State) ([]ralph.Fact, error) { return s.Deny("g-1", "no") },
	}
	errs := make([]error, len(answers))
	var both sync.WaitGroup
	for i, answer := range answers {
		j := open(t, options(root))
		both.Go(func() { errs[i] = j.Update(context.Background(), "cli", answer) })
	}
	both.Wait()
	refused := 0
	for _, err := range errs {
		if refusal := (*ralph.Refusal)(nil); errors.As(err, &refusal) && errors.Is(err, ralph.ErrNotFound) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	must(t, waits.Wait(t.Context(), seq))
	word := waits.State().Reply("t-1", "g-1")
	switch {
	case refused != 1 || word == nil || len(waits.State().Approvals) != 0:
		t.Fatalf("%d of two refused, the answer is %+v", refused, word)
	case (word.Verdict == ralph.Approved) != (errs[0] == nil):
		t.Errorf("%s won, but the errors are %v", word.Verdict, errs)
	}
}

// A clock that goes back does not disorder the facts.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	opt := options(t.TempDir())
	now := time.Date(2025, 1, 20, 10, 30, 0, 0, time.UTC)
	opt.Now = func() time.Time { now = now.Add(-time.Hour); return now }
	j := open(t, opt)
	for range 3 {
		must(t, update(j, note("x")))
	}
	events := checkChain(t, j)
	for i := 1; i < len(events); i++ {
		if events[i].At.Before(events[i-1].At) {
			t.Fatalf("fact %d is older than the one before it", i+1)
		}
	}
}

// State is a picture: it does not move with the journal, also under load.
func TestStateDoesNotMove(t *testing.T) {
	t.Parallel()
	j := open(t, options(t.TempDir()))
	must(t, addSpec(j, "a.md"))
	was := j.State()
	before, err := json.Marshal(was)
	must(t, err)
	id := was.Inbox[0].ID
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if err := update(j, ralph.JobStarted{Job: "j-1", ID: id, File: "a.md"}, ralph.JobEnded{Status: ralph.SpecFailed, Error: "x"}); err != nil {
					t.Error(err)
				}
				_ = j.State().CountInbox(ralph.SpecFailed)
			}
		})
	}
	wg.Wait()
	after, err := json.Marshal(was)
	must(t, err)
	if d := cmp.Diff(string(before), string(after)); d != "" {
		t.Fatal(d)
	}
	checkChain(t, j)
}

// The last line torn at any byte: opening works, the next Update cuts it, and
// nothing else is lost (architecture 2.8).
func TestTornLastLine(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	j := open(t, options(src))
	must(t, update(j, note("one")))
	must(t, update(j, note("two")))
	must(t, j.Close())
	whole := read(t, src, journalPath)
	keep := strings.Index(whole, "\n") + 1
	root := t.TempDir()
	for cut := keep; cut < len(whole); cut++ {
		must(t, os.RemoveAll(filepath.Join(root, "ralph")))
		write(t, root, journalPath, whole[:cut])
		j, err := journal.Open(options(root))
		must(t, err)
		if got := j.State().Seq; got != 1 {
			t.Fatalf("cut at %d: state at %d", cut, got)
		}
		must(t, update(j, note("three")))
		events := checkChain(t, j)
		if len(events) != 2 || events[1].Fact != note("three") {
			t.Fatalf("cut at %d: %v", cut, events)
		}
		must(t, j.Close())
	}
}

// A journal that was tampered with or rotted stops ralph, names the place, and
// is left as it is.
func TestCorruptJournal(t *testing.T) {
	t.Parallel()
	src := t.TempDir()
	j := open(t, options(src))
	for i := range 5 {
		must(t, update(j, note(fmt.Sprint("note ", i))))
	}
	must(t, j.Close())
	good := lines(t, src, journalPath)
	for name, c := range map[string]struct {
		edit func([]string) []string
		line int
	}{
		"garbage":        {func(l []string) []string { l[2] = "garbage"; return l }, 3},
		"text changed":   {func(l []string) []string { l[1] = strings.Replace(l[1], "note 1", "note 9", 1); return l }, 3},
		"line taken out": {func(l []string) []string { return append(l[:3:3], l[4]) }, 4},
		"line twice":     {func(l []string) []string { return []string{l[0], l[1], l[1], l[2]} }, 3},
		"first gone":     {func(l []string) []string { return l[1:] }, 1},
		"empty line":     {func(l []string) []string { l[3] = ""; return l }, 4},
		"unknown kind":   {func(l []string) []string { l[4] = strings.Replace(l[4], `"noted"`, `"dreamt"`, 1); return l }, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			text := strings.Join(c.edit(append([]string(nil), good...)), "\n") + "\n"
			write(t, root, journalPath, text)
			_, err := journal.Open(options(root))
			wantCorrupt(t, err, journalPath, c.line)
			if read(t, root, journalPath) != text {
				t.Fatal("the file was changed")
			}
			opt := options(root)
			opt.Read = true
			_, err = journal.Open(opt)
			wantCorrupt(t, err, journalPath, c.line)
		})
	}
}

// Corruption that comes while the journal is open stops the next Update.
func TestCorruptWhileOpen(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	must(t, update(j, note("one")))
	f, err := os.OpenFile(filepath.Join(root, journalPath), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("{}\n")
	must(t, errors.Join(err, f.Close()))
	before := read(t, root, journalPath)
	wantCorrupt(t, update(j, note("two")), journalPath, 2)
	wantCorrupt(t, j.Wait(t.Context(), 1), journalPath, 2)
	if read(t, root, journalPath) != before {
		t.Fatal("the file was changed")
	}
}

func wantCorrupt(t *testing.T, err error, file string, line int) {
	t.Helper()
	var corrupt *ralph.CorruptError
	if !errors.As(err, &corrupt) || corrupt.File != file || corrupt.Line != line || corrupt.Why == "" {
		t.Fatalf("err = %v, want %s:%d", err, file, line)
	}
}

// Wait wakes at once for a fact of its own process, and within 200 ms for one
// of another (architecture 2.8).
func TestWait(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	c := startChild(t, "note", root)
	c.line()
	must(t, j.Wait(t.Context(), -1)) // past already

	best := time.Hour // of so many: the machine may be busy
	for range 100 {
		if best <= 200*time.Millisecond {
			break
		}
		seq := j.State().Seq
		woken := make(chan time.Time, 1)
		go func() {
			if err := j.Wait(t.Context(), seq); err != nil {
				t.Error(err)
			}
			woken <- time.Now()
		}()
		must(t, writeLine(c, "from outside"))
		c.line() // it is written now
		written := time.Now()
		best = min(best, (<-woken).Sub(written))
		if j.State().Seq != seq+1 {
			t.Fatal("woke for nothing")
		}
	}
	if best > 200*time.Millisecond {
		t.Fatalf("woke %s late", best)
	}

	// The fastest of many: the machine may be busy, but a poll would never be fast.
	fastest := time.Hour
	for range 300 {
		if fastest <= 10*time.Millisecond {
			break
		}
		seq := j.State().Seq
		waiting, woken := make(chan struct{}), make(chan time.Time, 1)
		go func() {
			close(waiting)
			if err := j.Wait(t.Context(), seq); err != nil {
				t.Error(err)
			}
			woken <- time.Now()
		}()
		<-waiting
		must(t, update(j, note("own")))
		done := time.Now()
		fastest = min(fastest, (<-woken).Sub(done))
	}
	if fastest > 10*time.Millisecond {
		t.Fatalf("its own fact wakes it after %s at best", fastest)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Wait(ctx, j.State().Seq); !errors.Is(err, context.Canceled) {
		t.Fatalf("err = %v", err)
	}
}

// A reader sees people's edits, records nothing, and follows what others record
// - the same edits included, which count once.
func TestReader(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	opt := options(root)
	opt.Read = true
	r := open(t, opt)
	if s := r.State(); s.Seq != 0 || exists(root, "ralph") {
		t.Fatal("reading an empty folder made something")
	}
	j := open(t, options(root))
	must(t, addSpec(j, "a.md"))
	must(t, r.Wait(t.Context(), 0)) // although there was no file when it was opened
	write(t, root, inboxPath, read(t, root, inboxPath)+`{"t":"inbox","id":"q-hand","spec":"b.md","added_at":"2025-01-20T10:30:00Z","status":"pending"}`)
	for range 2 {
		if n := len(r.State().Inbox); n != 2 || r.State().Seq != 1 {
			t.Fatalf("the reader sees %d records", n)
		}
	}
	must(t, update(j, note("x"))) // reads the edit back
	must(t, r.Wait(t.Context(), 2))
	if n := len(r.State().Inbox); n != 2 {
		t.Fatalf("the reader sees %d records", n)
	}
	if err := update(r, note("x")); err == nil {
		t.Fatal("a reader wrote")
	}
}
