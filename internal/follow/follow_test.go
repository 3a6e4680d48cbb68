package follow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/follow"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

func TestMain(m *testing.M) { os.Exit(ralphtest.InMemory(m)) }

func options(root string) journal.Options { return journal.Options{Root: root} }

func open(t *testing.T, opt journal.Options) *journal.File {
	t.Helper()
	j, err := journal.Open(opt)
	must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func update(j *journal.File, facts ...ralph.Fact) error {
	return j.Update(context.Background(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil })
}

func note(text string) ralph.Fact { return ralph.Noted{Text: text} }

// receiver keeps the numbers of the facts that it got.
type receiver struct {
	mu     sync.Mutex
	got    []int64
	answer func(waiting []int64) (int, error) // nil: takes all
}

func (r *receiver) deliver(_ context.Context, waiting []int64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, err := len(waiting), error(nil)
	if r.answer != nil {
		n, err = r.answer(waiting)
	}
	r.got = append(r.got, waiting[:n]...)
	return n, err
}

func (r *receiver) list() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// each is what a follower of every fact sees; it holds the state against the fact.
func each(t testing.TB) func(ralph.Event, *ralph.State) []int64 {
	return func(e ralph.Event, s *ralph.State) []int64 {
		if s.Seq != e.Seq || s.Hash != e.Hash {
			t.Errorf("fact %d is shown with the state after %d", e.Seq, s.Seq)
		}
		return []int64{e.Seq}
	}
}

func start(t testing.TB, j *journal.File, from int64, r *receiver) *follow.Follower[int64] {
	t.Helper()
	f, err := follow.Start(j, follow.Options[int64]{Name: "test", From: from, See: each(t), Deliver: r.deliver, Note: func(words string) { t.Log(words) }})
	must(t, err)
	return f
}

func notes(t testing.TB, j *journal.File, n int) {
	t.Helper()
	for i := range n {
		must(t, update(j, note(fmt.Sprint("note ", i))))
	}
}

func closed[T any](f *follow.Follower[T]) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	return f.Close(ctx)
}

func numbers(from, to int64) []int64 {
	var list []int64
	for n := from; n <= to; n++ {
		list = append(list, n)
	}
	return list
}

// killed is a repository as a process leaves it that is killed at this instant.
func killed(t testing.TB, root string) string {
	t.Helper()
	next := t.TempDir()
	// The cursor first, as it may be behind the facts and never before them.
	for _, dir := range []string{"ralph/.state/followers", "ralph"} {
		from := filepath.Join(root, dir)
		must(t, filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
			rel, _ := filepath.Rel(root, path)
			to := filepath.Join(next, rel)
			if err != nil || d.IsDir() {
				return errors.Join(err, os.MkdirAll(to, 0o700))
			}
			if _, err := os.Stat(to); err == nil {
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(to, b, 0o600)
		}))
	}
	return next
}

// Issue 16.4: however often a process is killed, in the middle of a delivery or between two,
// with facts of others in between, segments that end and a receiver that fails, each fact
// comes at least once and in order, and none is left out.
func TestFollowAcrossKills(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dice, luck := rand.New(rand.NewPCG(seed, 16)), rand.New(rand.NewPCG(seed, 4)) // luck is the receiver's
				root, reached, twice := t.TempDir(), int64(0), 0
				for process := range 6 {
					opt := options(root)
					opt.SegmentSize = 2000
					j := open(t, opt)
					if process == 0 {
						notes(t, j, dice.IntN(5))
						reached = j.State().Seq
					}
					r := &receiver{}
					next := "" // what the kill leaves, when it is in a delivery
					kill := dice.IntN(30)
					last := process == 5
					if last {
						kill = -1
					}
					r.answer = func(waiting []int64) (int, error) {
						if kill--; kill == 0 {
							r.got = append(r.got, waiting[0]) // it was delivered, and that was not noted any more
							next = killed(t, root)
							return 0, errors.New("killed")
						}
						switch {
						case next != "":
							return 0, errors.New("killed")
						case luck.IntN(4) == 0:
							return luck.IntN(len(waiting)), errors.New("busy")
						}
						return 1 + luck.IntN(len(waiting)), nil
					}
					f := start(t, j, reached, r)
					other := open(t, opt)
					for range 1 + dice.IntN(20) {
						writer := j
						if dice.IntN(3) == 0 {
							writer = other
						}
						r.mu.Lock() // nobody writes while it is killed
						notes(t, writer, 1+dice.IntN(4))
						r.mu.Unlock()
						if dice.IntN(3) == 0 {
							time.Sleep(time.Duration(dice.IntN(int(10 * time.Second))))
						}
					}
					if last {
						r.mu.Lock()
						r.answer = nil
						r.mu.Unlock()
						closed(f)
						next = root
					}
					r.mu.Lock()
					if next == "" {
						next = killed(t, root)
					}
					got := slices.Clone(r.got)
					kill = -1
					r.answer = func([]int64) (int, error) { return 0, errors.New("killed") }
					r.mu.Unlock()
					closed(f)
					must(t, other.Close())
					newest := j.State().Seq
					must(t, j.Close())

					if len(got) > 0 && !slices.Equal(got, numbers(got[0], got[len(got)-1])) {
						t.Fatalf("process %d got %v: not one after the other", process, got)
					}
					if len(got) > 0 && got[0] > reached+1 {
						t.Fatalf("process %d begins with %d, and only %d had arrived", process, got[0], reached)
					}
					if len(got) > 0 {
						twice += int(reached + 1 - got[0])
						reached = max(reached, got[len(got)-1])
					}
					if last && reached != newest {
						t.Fatalf("%d of %d facts arrived", reached, newest)
					}
					root = next
				}
				t.Logf("%d facts, %d came twice", reached, twice)
			})
		})
	}
}

// A clean end leaves nothing to come twice, and a follower that is new begins where it is told.
func TestFollowGoesOn(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	notes(t, j, 3)
	for range 3 {
		r := &receiver{}
		from := j.State().Seq
		f := start(t, j, 3, r)
		notes(t, j, 4)
		if left := closed(f); left != 0 {
			t.Errorf("%d are left", left)
		}
		if diff := cmp.Diff(numbers(from+1, from+4), r.list()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	notes(t, j, 2) // while nobody follows
	r := &receiver{}
	closed(start(t, j, 0, r))
	if diff := cmp.Diff([]int64{16, 17}, r.list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// One process has a name: another is told so, and takes over when it has ended.
func TestFollowOnce(t *testing.T) {
	t.Parallel()
	j := open(t, options(t.TempDir()))
	notes(t, j, 1)
	f := start(t, j, 0, &receiver{})
	_, err := follow.Start(j, follow.Options[int64]{Name: "test"})
	if !errors.Is(err, ralph.ErrActive) {
		t.Errorf("the second of a name: %v", err)
	}
	must(t, follow.Forget(j, func(string) bool { return false }))
	if list := follow.Look(j); len(list) != 1 {
		t.Errorf("a live one was forgotten: %v", list)
	}
	closed(f)
	if want := []follow.Position{{Name: "test", Seq: 1}}; !slices.Equal(follow.Look(j), want) {
		t.Errorf("followers %v", follow.Look(j))
	}
	notes(t, j, 2)
	must(t, follow.Forget(j, func(string) bool { return false }))
	r := &receiver{}
	closed(start(t, j, j.State().Seq, r))
	if len(r.list()) > 0 {
		t.Errorf("a forgotten one begins with %v", r.list())
	}
}

// R-M2, issue 16.4: after a repair took facts away, what has their numbers by now is new.
func TestFollowAfterRepair(t *testing.T) {
	t.Parallel()
	for _, more := range []int{1, 8} { // fewer facts than there were, and as many
		root := t.TempDir()
		j := open(t, options(root))
		notes(t, j, 10)
		closed(start(t, j, 0, &receiver{}))
		must(t, j.Close())
		path := filepath.Join(root, "ralph/.state/journal.jsonl")
		b, err := os.ReadFile(path)
		must(t, err)
		lines := strings.SplitAfter(string(b), "\n")
		lines[6] = "broken\n" // the seventh fact and all behind it go
		must(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
		cut, err := journal.Repair(t.Context(), journal.Options{
			Root: root, Me: journal.Owner{Pid: os.Getpid(), Host: "here"}, Alive: func(int, string) bool { return false },
		})
		must(t, err)
		if cut == nil || cut.Lost != 7 {
			t.Fatalf("cut %+v", cut)
		}
		j = open(t, options(root))
		notes(t, j, more)
		r := &receiver{}
		closed(start(t, j, 0, r))
		if diff := cmp.Diff(numbers(7, int64(7+more)), r.list()); diff != "" {
			t.Errorf("with %d more (-want +got):\n%s", more, diff)
		}
	}
}

// A cursor that a loss of power left empty is no reason to leave anything out: it goes on
// where the process before began.
func TestFollowWithoutCursor(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	notes(t, j, 3)
	f := start(t, j, 2, &receiver{})
	notes(t, j, 2)
	closed(f)
	cursor := filepath.Join(root, "ralph/.state/followers/test")
	must(t, os.WriteFile(cursor, nil, 0o600))
	r := &receiver{}
	closed(start(t, j, 5, r))
	if diff := cmp.Diff(numbers(3, 5), r.list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A receiver that is slow holds nobody up, and what it does not take waits in the journal.
func TestFollowSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := open(t, options(t.TempDir()))
		most := 0
		r := &receiver{answer: func(waiting []int64) (int, error) {
			most = max(most, len(waiting))
			time.Sleep(time.Hour)
			return max(1, len(waiting)/2), nil
		}}
		began := time.Now()
		f := start(t, j, 0, r)
		for range 30 {
			facts := make([]ralph.Fact, 100)
			for i := range facts {
				facts[i] = note("x")
			}
			must(t, update(j, facts...))
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the writer waited for %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1000*time.Hour)
		defer cancel()
		f.Close(ctx)
		if diff := cmp.Diff(numbers(1, 3000), r.list()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if most > 1000+100 {
			t.Errorf("%d were read ahead", most)
		}
	})
}

// One that fails is tried again later and later, with all that has come meanwhile; the end
// tries once more and leaves the rest to the next process.
func TestFollowFailing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := open(t, options(t.TempDir()))
		began := time.Now()
		var tries []string
		r := &receiver{answer: func(waiting []int64) (int, error) {
			tries = append(tries, fmt.Sprint(time.Since(began), " ", len(waiting)))
			return 0, errors.New("nobody is there")
		}}
		f := start(t, j, 0, r)
		notes(t, j, 1)
		time.Sleep(2 * time.Second)
		notes(t, j, 1)
		time.Sleep(20 * time.Minute)
		r.mu.Lock()
		began = time.Now()
		r.mu.Unlock()
		if left := closed(f); left != 2 {
			t.Errorf("%d are left", left)
		}
		want := []string{"0s 1", "1s 1", "5s 2", "21s 2", "1m25s 2", "5m41s 2", "10m41s 2", "15m41s 2", "0s 2"}
		if diff := cmp.Diff(want, tries); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r = &receiver{}
		closed(start(t, j, 0, r))
		if diff := cmp.Diff(numbers(1, 2), r.list()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The end waits for one that has just begun to fail, within its limit.
func TestFollowEndWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := open(t, options(t.TempDir()))
		tries := 0
		r := &receiver{answer: func(waiting []int64) (int, error) {
			if tries++; tries == 1 {
				return 0, errors.New("busy")
			}
			return len(waiting), nil
		}}
		f := start(t, j, 0, r)
		notes(t, j, 1)
		began := time.Now()
		if left := closed(f); left != 0 || len(r.list()) != 1 {
			t.Errorf("%d are left, %v arrived", left, r.list())
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("the end took %s", took)
		}
	})
}

// What comes within a moment is delivered together, and the end does not wait for that.
func TestFollowGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := open(t, options(t.TempDir()))
		began := time.Now()
		var got []string
		f, err := follow.Start(j, follow.Options[int64]{
			Name: "test", See: each(t), Gather: 2 * time.Second,
			Deliver: func(_ context.Context, waiting []int64) (int, error) {
				got = append(got, fmt.Sprint(time.Since(began), " ", waiting))
				return len(waiting), nil
			},
		})
		must(t, err)
		notes(t, j, 1)
		time.Sleep(time.Second)
		notes(t, j, 2)
		time.Sleep(5 * time.Second)
		notes(t, j, 1)
		time.Sleep(time.Second)
		closed(f)
		if diff := cmp.Diff([]string{"2s [1 2 3]", "7s [4]"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Where nobody follows there is nothing of it on the disk, and no file is synced for it.
func TestNobodyFollows(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	notes(t, j, 3)
	must(t, follow.Forget(j, func(string) bool { return false }))
	if _, err := os.Stat(filepath.Join(root, "ralph/.state/followers")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a folder of followers: %v", err)
	}
	if list := follow.Look(j); len(list) > 0 {
		t.Errorf("followers %v", list)
	}
}
