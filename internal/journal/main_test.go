package journal_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// TestMain lets the test binary be the other processes: each mode of childModes
// works on the journal of the folder it is given.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "journal-child" {
		if err := childMode(os.Args[2])(os.Args[3]); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(ralphtest.InMemory(m))
}

func childMode(name string) func(root string) error {
	switch name {
	case "add":
		return childAdd
	case "append":
		return childAppend
	case "engine":
		return childEngine
	case "full-disk":
		return childFullDisk
	case "lock":
		return childLock
	case "note":
		return childNote
	}
	return func(string) error { return fmt.Errorf("no mode %q", name) }
}

// childAdd queues one spec when its stdin ends, so that many start at once.
func childAdd(root string) error {
	j, err := journal.Open(options(root))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	if err := addSpec(j, fmt.Sprintf("spec-%d.md", os.Getpid())); err != nil {
		return err
	}
	return j.Close()
}

// childAppend appends until it is killed, and says each seq that is safe. Lines
// are of very different length, and segments small, so that a kill finds every place.
func childAppend(root string) error {
	opt := options(root)
	opt.SegmentSize = 200 << 10
	j, err := journal.Open(opt)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		err := j.Update(context.Background(), "test", func(s *ralph.State) ([]ralph.Fact, error) {
			if n%7 == 0 {
				return s.AddSpec(freshSpecID(s), "a.md", time.Now()), nil
			}
			return []ralph.Fact{note(strings.Repeat("x", rand.IntN(30_000)))}, nil
		})
		if err != nil {
			return err
		}
		fmt.Println(j.State().Seq)
	}
}

// childFullDisk meets a limit on file size as it would a full disk, and goes on
// when there is room again.
func childFullDisk(root string) error {
	signal.Ignore(syscall.SIGXFSZ)
	j, err := journal.Open(options(root))
	if err != nil {
		return err
	}
	if err := limitFiles(64 << 10); err != nil {
		return err
	}
	path := filepath.Join(root, journalPath)
	for {
		before, was := fileSize(path), j.State().Seq
		err := update(j, note(strings.Repeat("x", 5000)))
		if err == nil {
			continue
		}
		if !errors.Is(err, unix.EFBIG) {
			return fmt.Errorf("the cause is lost: %w", err)
		}
		if after, is := fileSize(path), j.State().Seq; after != before || is != was {
			return fmt.Errorf("a write that failed left traces: size %d -> %d, seq %d -> %d", before, after, was, is)
		}
		break
	}
	failed := j.State().Seq
	if err := limitFiles(unix.RLIM_INFINITY); err != nil {
		return err
	}
	if err := update(j, note("room again")); err != nil {
		return err
	}
	fmt.Println(failed)
	return j.Close()
}

func limitFiles(size uint64) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
		return err
	}
	l.Cur = min(size, l.Max)
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &l)
}

// childLock is an engine that holds the session lock until its stdin ends.
func childLock(root string) error {
	j, err := journal.Open(options(root))
	if err != nil {
		return err
	}
	lock, _, err := j.Lock(owner(), alive)
	if err != nil {
		return err
	}
	fmt.Println("locked")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return errors.Join(lock.Unlock(), j.Close())
}

// childNote appends a fact for each line of its stdin.
func childNote(root string) error {
	opt := options(root)
	opt.SegmentSize = 1000
	j, err := journal.Open(opt)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if err := update(j, note(in.Text())); err != nil {
			return err
		}
		fmt.Println(j.State().Seq)
	}
	return j.Close()
}

// child is a process that runs this test binary in a mode.
type child struct {
	t     *testing.T
	p     *os.Process
	stdin *os.File
	out   *bufio.Reader
	ended bool
}

// startChild starts a process; it is gone when the test ends.
func startChild(t *testing.T, mode, root string) *child {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	inR, inW, err := os.Pipe()
	must(t, err)
	outR, outW, err := os.Pipe()
	must(t, err)
	p, err := os.StartProcess(exe, []string{exe, "journal-child", mode, root}, &os.ProcAttr{
		Env:   []string{"HOME=" + root},
		Files: []*os.File{inR, outW, os.Stderr},
	})
	must(t, err)
	must(t, errors.Join(inR.Close(), outW.Close()))
	c := &child{t: t, p: p, stdin: inW, out: bufio.NewReader(outR)}
	t.Cleanup(func() {
		c.kill()
		_ = outR.Close()
	})
	return c
}

// line returns the next line the child says.
func (c *child) line() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("the child process said no more: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// kill ends the child as a crash would and waits until it is gone.
func (c *child) kill() {
	if c.ended {
		return
	}
	c.ended = true
	_ = c.p.Kill()
	_, _ = c.p.Wait()
	_ = c.stdin.Close()
}

// finish closes the child's stdin and expects a good end.
func (c *child) finish() {
	c.t.Helper()
	c.ended = true
	_ = c.stdin.Close()
	rest, _ := io.ReadAll(c.out)
	state, err := c.p.Wait()
	must(c.t, err)
	if !state.Success() {
		c.t.Fatalf("the child process failed: %v\n%s", state, rest)
	}
}

const (
	journalPath = "ralph/.state/journal.jsonl"
	inboxPath   = "ralph/inbox.jsonl"
	planPath    = "ralph/plan.jsonl"
)

func options(root string) journal.Options {
	return journal.Options{Root: root, Inbox: true, Plan: true, NewID: newID}
}

const idLetters = "abcdefghijklmnopqrstuvwxyz0123456789"

func newID(prefix string) string {
	b := []byte(prefix + "-")
	for range 4 {
		b = append(b, idLetters[rand.IntN(len(idLetters))])
	}
	return string(b)
}

func freshSpecID(s *ralph.State) ralph.SpecID {
	for {
		if id := ralph.SpecID(newID("q")); s.Spec(id) == nil {
			return id
		}
	}
}

func addSpec(j *journal.File, file string) error {
	return j.Update(context.Background(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		return s.AddSpec(freshSpecID(s), file, time.Now()), nil
	})
}

// update appends the facts, whatever the state.
func update(j *journal.File, facts ...ralph.Fact) error {
	return j.Update(context.Background(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil })
}

func note(text string) ralph.Fact { return ralph.Noted{Text: text} }

func open(t *testing.T, opt journal.Options) *journal.File {
	t.Helper()
	j, err := journal.Open(opt)
	must(t, err)
	t.Cleanup(func() {
		_ = j.Close()
		if given, _ := journal.LockWait(j); given != nil {
			<-given // a wait that was given up would make its file again while the folder is removed
		}
	})
	return j
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

func read(t *testing.T, root, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	must(t, err)
	return string(b)
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func exists(root, name string) bool {
	_, err := os.Stat(filepath.Join(root, name))
	return err == nil
}

func lines(t *testing.T, root, name string) []string {
	t.Helper()
	return strings.Split(strings.TrimSuffix(read(t, root, name), "\n"), "\n")
}

// checkChain reads every fact of the journal and fails unless they are 1, 2, 3 ...
// in a whole chain. It returns them.
func checkChain(t *testing.T, j *journal.File) []ralph.Event {
	t.Helper()
	var events []ralph.Event
	prev := ""
	err := j.Each(0, func(e ralph.Event) error {
		if e.Seq != int64(len(events))+1 || e.Prev != prev {
			return fmt.Errorf("fact %d stands at place %d", e.Seq, len(events)+1)
		}
		prev = e.Hash
		events = append(events, e)
		return nil
	})
	must(t, err)
	if s := j.State(); s.Seq != int64(len(events)) || s.Hash != prev {
		t.Fatalf("state is at fact %d, the journal has %d", s.Seq, len(events))
	}
	return events
}

func writeLine(c *child, text string) error {
	_, err := fmt.Fprintln(c.stdin, text)
	return err
}

// sameState compares by the form that a snapshot has.
func sameState(t *testing.T, want, got *ralph.State) {
	t.Helper()
	a, err := json.MarshalIndent(want, "", " ")
	must(t, err)
	b, err := json.MarshalIndent(got, "", " ")
	must(t, err)
	if d := cmp.Diff(string(a), string(b)); d != "" {
		t.Fatal(d)
	}
}
