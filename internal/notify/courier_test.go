package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
)

// recorder is a sink that keeps what it gets, with the time since its making.
type recorder struct {
	name string
	took time.Duration // that it works on each
	since

	mu     sync.Mutex
	answer func(try int) error
	tries  int
	got    []string
}

type since struct{ began time.Time }

func (s since) at() string { return time.Since(s.began).String() }

func newRecorder(answer func(try int) error) *recorder {
	return &recorder{name: "slack", since: since{time.Now()}, answer: answer}
}

func (r *recorder) Name() string { return r.name }

func (r *recorder) Send(ctx context.Context, m Message) error {
	if r.took > 0 {
		select {
		case <-time.After(r.took):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries++
	if r.answer != nil {
		if err := r.answer(r.tries); err != nil {
			return err
		}
	}
	what := m.Title
	if m.Sound != "" {
		what = string(m.Sound)
	}
	r.got = append(r.got, r.at()+" "+what)
	return nil
}

func (r *recorder) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// failures keeps the facts of a courier.
type failures struct {
	mu   sync.Mutex
	list []string
}

func (f *failures) add(n ralph.NoticeFailed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, n.Sink+": "+n.Error)
}

// bureau is a courier with sinks that record.
type bureau struct {
	*Courier
	failures
	words, sounds *recorder
	seq           int64
}

func newBureau(t *testing.T, answer func(try int) error) *bureau {
	t.Helper()
	b := &bureau{words: newRecorder(answer), sounds: newRecorder(nil)}
	b.Courier = &Courier{
		repository: "shop", sound: newLine(b.sounds, mostSounds),
		lines: []*line{newLine(b.words, mostQueued, firstWait, lastWait)},
	}
	b.Start(b.add)
	return b
}

func (b *bureau) see(facts ...ralph.Fact) {
	for _, f := range facts {
		b.seq++
		b.See(ralph.Event{Seq: b.seq, At: time.Now(), By: "engine", Fact: f}, plan())
	}
}

func (b *bureau) same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func ask(id ralph.GateID) ralph.Fact {
	return ralph.Asked{Gate: ralph.Gate{ID: id, Kind: "question", Task: "t-1", Text: "How?"}}
}

func fail(id ralph.TaskID) ralph.Fact { return ralph.TaskEnded{ID: id, Status: ralph.TaskFailed} }

// One notice for each need, and one message for a burst; sounds are heard at once,
// each of them, one after the other.
func TestBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBureau(t, nil)
		b.sounds.took = 300 * time.Millisecond
		b.see(ask("g-1"), ask("g-2"), ask("g-1"), ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone})
		time.Sleep(time.Second)
		b.see(ask("g-3"))
		time.Sleep(5 * time.Second)
		b.see(ask("g-3"), ask("g-4"))
		time.Sleep(5 * time.Second)
		b.same(t, "messages", b.words.list(), "2s 3 things need you", "8s An agent asks: Make the basket")
		b.same(t, "sounds", b.sounds.list(), "300ms notification", "600ms notification", "900ms aiComplete", "1.3s notification", "6.3s notification")
		b.Close(time.Second)
		b.see(ask("g-5"))
		b.same(t, "after the end", b.words.list()[2:], []string{}...)
	})
}

// A question that is answered before the message went out needs nobody any more.
func TestAnsweredInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBureau(t, nil)
		b.see(ask("g-1"), fail("t-2"), ralph.Answered{ID: "g-1", Text: "so"})
		time.Sleep(3 * time.Second)
		b.see(ask("g-2"), ralph.Answered{ID: "g-2", Text: "so"})
		time.Sleep(3 * time.Second)
		b.Close(time.Second)
		b.same(t, "messages", b.words.list(), "2s Task failed: Pay")
	})
}

// The settings give events other sounds, by any name of the event, or none.
func TestOwnSounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBureau(t, nil)
		b.events = soundsOf(map[string]string{"autopilot:step-start": "aiComplete", "needs-human": "sectorViolation", "step-failed": "none", "resumed": ""})
		b.see(ralph.TaskStarted{ID: "t-1"}, ask("g-1"), fail("t-1"), ralph.Control{Want: ralph.WantRun}, ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone})
		b.Close(time.Second)
		b.same(t, "sounds", b.sounds.list(), "0s aiComplete", "0s sectorViolation", "0s aiComplete")
		b.same(t, "messages", b.words.list(), "0s 1 thing needs you, and 2 more happened")
	})
}

// A sink that does not take a message is tried again a bounded number of times;
// then one fact says so until it works again.
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := func(try int) error {
			if try == 2 || try == 8 {
				return nil
			}
			return fmt.Errorf("it answered 503 (%d)", try)
		}
		b := newBureau(t, busy)
		for range 5 {
			b.see(fail("t-2"))
			time.Sleep(time.Minute)
		}
		b.see(fail("t-2"))
		time.Sleep(time.Minute)
		b.Close(time.Second)
		// 1 fails, 2 works; 3, 4, 5 fail; 6 and 7 are one try each; 8 works; 9, 10, 11 fail.
		b.same(t, "messages", b.words.list(), "3s Task failed: Pay", "4m2s Task failed: Pay")
		b.same(t, "facts", b.failures.list, "slack: it answered 503 (5)", "slack: it answered 503 (11)")
	})
}

// What another try does not mend is not tried again.
func TestNotAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBureau(t, func(int) error { return permanent{errors.New("it answered 404")} })
		b.see(fail("t-2"))
		time.Sleep(time.Minute)
		b.Close(time.Second)
		if b.words.tries != 1 {
			t.Errorf("%d tries, want 1", b.words.tries)
		}
		b.same(t, "facts", b.failures.list, "slack: it answered 404")
	})
}

// Where too much waits for a sink, news go first and needs never.
func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(nil)
		l := newLine(r, 3)
		for i, u := range []Urgency{Info, Needs, Trouble, Info, Needs, Needs, Needs, Trouble} {
			l.push(Message{Title: fmt.Sprint(i, " ", u), Urgency: u})
		}
		l.close()
		l.run(t.Context(), func(f ralph.NoticeFailed) { t.Error(f) })
		want := []string{"0s 1 needs-you", "0s 4 needs-you", "0s 5 needs-you", "0s 6 needs-you"}
		if diff := cmp.Diff(want, r.list()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The end of an engine sends what is left, but waits for nobody beyond its limit.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBureau(t, nil)
		b.words.took = time.Second
		b.see(ask("g-1"))
		began := time.Now()
		b.Close(3 * time.Second)
		b.Close(3 * time.Second) // for nothing
		b.same(t, "messages", b.words.list(), "1s An agent asks: Make the basket")
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBureau(t, nil)
		b.words.took = time.Hour
		b.see(ask("g-1"))
		time.Sleep(3 * time.Second)
		b.see(ask("g-2"))
		began := time.Now()
		b.Close(3 * time.Second)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		if len(b.failures.list) != 1 || b.failures.list[0] != "slack: a notice could not be sent before the end" {
			t.Errorf("facts: %q", b.failures.list)
		}
	})
}

// A courier without sinks costs nothing, and one that was never started ends.
func TestNothingIsSet(t *testing.T) {
	t.Parallel()
	c, err := Open(Options{Root: "/shop", Environ: []string{"PATH=/nowhere"}, Sounds: true, Desktop: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.all()) != 0 {
		t.Errorf("%d sinks without a player and a session bus", len(c.all()))
	}
	c.Close(time.Second)
	c.Start(func(f ralph.NoticeFailed) { t.Error(f) })
	c.See(ralph.Event{Fact: ask("g-1")}, plan())
	c.Close(time.Second)
}
