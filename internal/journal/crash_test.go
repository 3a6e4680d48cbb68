package journal_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// C-005, C-015: kill -9 at random moments of a process that appends, rotates and writes views:
// the chain is whole, every fact that was acknowledged is there, and the inbox is
// what the journal says (D-059).
func TestKilledWhileAppending(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	acked := int64(0)
	for range ralphtest.Rounds(6, 20) {
		c := startChild(t, "append", root)
		for range 1 + rand.IntN(30) {
			acked = ackedSeq(t, c.line())
		}
		_ = c.p.Kill()
		for { // what it had said before the kill came
			line, err := c.out.ReadString('\n')
			if err != nil {
				break
			}
			acked = ackedSeq(t, strings.TrimSuffix(line, "\n"))
		}
		c.kill()
		j := open(t, options(root))
		events := checkChain(t, j)
		if int64(len(events)) < acked {
			t.Fatalf("%d facts, but %d were acknowledged", len(events), acked)
		}
		must(t, update(j, note("after the crash")))
		checkChain(t, j)
		if n := len(lines(t, root, inboxPath)); n != len(j.State().Inbox) {
			t.Fatalf("%d records in the inbox, %d in the journal", n, len(j.State().Inbox))
		}
		must(t, j.Close())
	}
	j := open(t, options(root))
	for _, e := range checkChain(t, j) {
		if e.By == "file" {
			t.Fatalf("fact %d (%s): what a crash left was taken for an edit", e.Seq, e.Fact.Kind())
		}
	}
}

func ackedSeq(t *testing.T, line string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatalf("the child said %q", line)
	}
	return n
}

// A full disk: Update fails, the file is cut back to whole facts, and when there
// is room the same process goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := startChild(t, "full-disk", root)
	failedAt := ackedSeq(t, c.line())
	c.finish()
	j := open(t, options(root))
	events := checkChain(t, j)
	if int64(len(events)) != failedAt+1 || events[failedAt].Fact != note("room again") {
		t.Fatalf("%d facts, the write failed after %d", len(events), failedAt)
	}
}

// small makes every Update begin a new segment after about three facts.
const small = 700

// Rotation changes nothing that can be seen: state, order and chain stay.
func TestRotation(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	opt := options(root)
	opt.SegmentSize = small
	j := open(t, opt)
	follower := open(t, opt)
	c := startChild(t, "note", root)
	c.line()
	for i := range 60 {
		must(t, addSpec(j, "a.md"))
		if i%10 == 0 { // another process in between, with its own rotations
			must(t, writeLine(c, "outside"))
			c.line()
		}
		if got, want := follower.State().Seq, j.State().Seq; got != want {
			t.Fatalf("the follower is at %d, not %d", got, want)
		}
	}
	c.finish()
	segments, err := filepath.Glob(filepath.Join(root, "ralph/.state/journal-*.jsonl"))
	must(t, err)
	if len(segments) < 10 {
		t.Fatalf("only %d segments", len(segments))
	}
	events := checkChain(t, j)
	for after := range len(events) {
		var first int64
		n := 0
		must(t, j.Each(int64(after), func(e ralph.Event) error {
			if n == 0 {
				first = e.Seq
			}
			n++
			return nil
		}))
		if first != int64(after)+1 || n != len(events)-after {
			t.Fatalf("Each(%d) begins at %d and yields %d", after, first, n)
		}
	}
	again := open(t, opt)
	sameState(t, j.State(), again.State())
}

// Followers read without a lock while segments end under them.
func TestFollowersMeetRotations(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	opt := options(root)
	opt.SegmentSize = small
	j := open(t, opt)
	const n = 150
	done := make(chan error, 3)
	for i := range 3 {
		opt := opt
		opt.Read = i == 0
		f := open(t, opt)
		go func() {
			// One look a round: a second one may see the last fact, which nothing follows.
			for at := f.State().Seq; at < n; at = f.State().Seq {
				if err := f.Wait(t.Context(), at); err != nil {
					done <- err
					return
				}
				seen, now := int64(0), f.State().Seq
				err := f.Each(0, func(e ralph.Event) error { seen = e.Seq; return nil })
				if err == nil && seen < now {
					err = fmt.Errorf("Each ended at fact %d, the state was at %d", seen, now)
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range n {
		must(t, update(j, note("some words, so that the segment fills up soon")))
	}
	for range 3 {
		must(t, <-done)
	}
}

// Who observes is shown every fact once, in order, with the state after it, also
// when whole segments came and went between two looks.
func TestObserve(t *testing.T) {
	t.Parallel()
	opt := options(t.TempDir())
	opt.SegmentSize = small
	j := open(t, opt)
	must(t, addSpec(j, "before.md"))
	var seen []int64
	opt.Observe = func(e ralph.Event, s *ralph.State) {
		if s.Seq != e.Seq || s.Hash != e.Hash {
			t.Errorf("fact %d comes with the state of %d", e.Seq, s.Seq)
		}
		seen = append(seen, e.Seq)
	}
	f := open(t, opt)
	for _, burst := range []int{1, 2, 30, 0, 7} {
		for range burst {
			must(t, addSpec(j, "a.md"))
		}
		f.State()
	}
	must(t, update(f, note("own"), note("own")))
	want := j.State().Seq
	if int64(len(seen)) != want-1 || !slices.IsSorted(seen) || seen[0] != 2 || seen[len(seen)-1] != want {
		t.Fatalf("shown %v of %d", seen, want)
	}
}

// A crash at any step of a rotation, and a snapshot that is lost, cut, garbage
// or of another moment: the state is folded all the same.
func TestCrashInRotation(t *testing.T) {
	t.Parallel()
	type files map[string]string
	const snapshot = "snapshot.json"
	const current = "journal.jsonl"
	for name, damage := range map[string]func(before, after files) files{
		"before":                 func(b, _ files) files { return b },
		"snapshot, no rename":    func(b, a files) files { b[snapshot] = a[snapshot]; return b },
		"rename, no new segment": func(_, a files) files { delete(a, current); return a },
		"snapshot missing":       func(_, a files) files { delete(a, snapshot); return a },
		"snapshot cut":           func(_, a files) files { a[snapshot] = a[snapshot][:len(a[snapshot])/2]; return a },
		"snapshot garbage":       func(_, a files) files { a[snapshot] = "\x00\x01"; return a },
		"snapshot empty object":  func(_, a files) files { a[snapshot] = "{}"; return a },
		"snapshot of a newer ralph": func(_, a files) files {
			a[snapshot] = strings.Replace(a[snapshot], `"version":`, `"version":99`, 1)
			return a
		},
		"snapshot too old": func(b, a files) files { a[snapshot] = b[snapshot]; return a },
		"no snapshot between": func(b, a files) files {
			maps.DeleteFunc(a, func(name, _ string) bool { return strings.HasPrefix(name, "snapshot-") && b[name] == "" })
			return a
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			opt := options(root)
			opt.SegmentSize = small
			dir := filepath.Join(root, "ralph/.state")
			look := func() files {
				all := files{}
				entries, err := os.ReadDir(dir)
				must(t, err)
				for _, e := range entries {
					if !e.IsDir() {
						all[e.Name()] = read(t, dir, e.Name())
					}
				}
				return all
			}
			j := open(t, opt)
			for range 5 { // one rotation at least before the one under test
				must(t, addSpec(j, "a.md"))
			}
			must(t, update(j, note(strings.Repeat("x", small)))) // rotates: the segment is empty
			must(t, addSpec(j, "a.md"))
			opt.SegmentSize = 1 << 30
			must(t, j.Close())
			j = open(t, opt)
			must(t, addSpec(j, "b.md"))
			before, want := look(), j.State()
			must(t, j.Close())
			opt.SegmentSize = 1
			j = open(t, opt)
			must(t, addSpec(j, "c.md"))
			after := look()
			if len(after[current]) != 0 || len(after) != len(before)+2 { // a segment more, and its snapshot between
				t.Fatalf("no rotation: %d files, then %d", len(before), len(after))
			}
			newest := j.State()
			must(t, j.Close())

			left := damage(before, after)
			must(t, os.RemoveAll(dir))
			for file, text := range left {
				write(t, dir, file, text)
			}
			if name == "before" || name == "snapshot, no rename" {
				newest = want // c.md was not recorded in these
				// its record in inbox.jsonl would be read back as an edit
				must(t, os.Remove(filepath.Join(root, inboxPath)))
			}
			opt.Read = true
			sameState(t, newest, open(t, opt).State())
			opt.Read = false
			j = open(t, opt)
			sameState(t, newest, j.State())
			must(t, update(j, note("goes on")))
			checkChain(t, j)
			sameState(t, j.State(), open(t, opt).State())
		})
	}
}
