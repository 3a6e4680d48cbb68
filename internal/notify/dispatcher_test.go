package notify

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/ralph-loop/ralph/internal/notice"
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
	last   Message
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
	r.got, r.last = append(r.got, r.at()+" "+what), m
	return nil
}

func (r *recorder) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// failures keeps the facts of a dispatcher.
type failures struct {
	mu   sync.Mutex
	list []string
}

func (f *failures) add(n ralph.NoticeFailed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, n.Sink+": "+n.Error)
}

// bureau is a dispatcher with sinks that record, and the journal that it follows.
type bureau struct {
	*Dispatcher
	failures
	t             *testing.T
	root          string
	journal       *journal.File
	follower      *follow.Follower[Notice]
	words, sounds *recorder
}

func newBureau(t *testing.T, answer func(try int) error) *bureau {
	t.Helper()
	b := &bureau{t: t, root: t.TempDir(), words: newRecorder(answer), sounds: newRecorder(nil)}
	b.begin()
	b.see(
		ralph.SessionStarted{ID: "s-1", Mode: "autopilot"}, ralph.PlanStarted{File: "shop.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "Make the basket", Status: ralph.TaskPending}},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-2", Name: "Pay", Status: ralph.TaskPending}},
	)
	return b
}

// begin is the start of a session.
func (b *bureau) begin() {
	b.t.Helper()
	sounds := newSounds(b.sounds, nil)
	b.Dispatcher = &Dispatcher{Sounds: sounds, Letters: []*Letter{newLetter(b.words, "shop")}}
	var err error
	if b.journal, err = journal.Open(journal.Options{Root: b.root, Observe: func(e ralph.Event, s *ralph.State) { b.Sounds.See(e, s) }}); err != nil {
		b.t.Fatal(err)
	}
	b.Start(b.add, func(id ralph.ApprovalID) bool {
		return slices.ContainsFunc(b.journal.State().Approvals, func(g *ralph.Approval) bool { return g.ID == id })
	})
	l := b.Letters[0]
	b.follower, err = follow.Start(b.journal, follow.Options[Notice]{
		Name: l.Name(), From: b.journal.State().Seq, See: l.See, Deliver: l.Deliver, Gather: Burst,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// Close is the end of a session.
func (b *bureau) Close(limit time.Duration) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if b.follower.Close(ctx) > 0 {
		b.Letters[0].Left()
	}
	b.Sounds.Close(limit)
	if err := b.journal.Close(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bureau) see(facts ...ralph.Fact) {
	b.t.Helper()
	for _, f := range facts {
		if err := b.journal.Update(context.Background(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil }); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bureau) same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func ask(id ralph.ApprovalID) ralph.Fact {
	return ralph.Asked{Approval: ralph.Approval{ID: id, Kind: "question", Task: "t-1", Text: "How?"}}
}

func fail(id ralph.TaskID) ralph.Fact { return ralph.TaskEnded{ID: id, Status: ralph.TaskFailed} }

// One notice for each need, and one message for a burst; sounds are heard at once,
// each of them, one after the other.
func TestBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBureau(t, nil)
		b.sounds.took = 300 * time.Millisecond
		b.see(ask("g-1"), ask("g-2"), ask("g-1"), ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone})
		time.Sleep(time.Second)
		b.see(ask("g-3"))
		time.Sleep(5 * time.Second)
		b.see(ask("g-3"), ask("g-4"))
		time.Sleep(5 * time.Second)
		b.same(t, "messages", b.words.list(), "2s 3 things need you", "8s An agent asks: Make the basket")
		b.same(t, "sounds", b.sounds.list(), "300ms notification", "600ms notification", "900ms aiComplete", "1.3s notification", "6.3s notification")
		b.Close(time.Second)
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
		b.see(ask("g-3"), ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}) // nobody waits for an answer
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
		b.Sounds.events = soundsOf(map[string]string{"autopilot:step-start": "aiComplete", "needs-human": "sectorViolation", "step-failed": "none", "resumed": ""})
		b.see(ralph.TaskStarted{ID: "t-1"}, ask("g-1"), fail("t-2"), ralph.Control{Want: ralph.WantRun}, ralph.TaskEnded{ID: "t-2", Status: ralph.TaskDone})
		b.Close(time.Second)
		b.same(t, "sounds", b.sounds.list(), "0s aiComplete", "0s sectorViolation", "0s aiComplete")
		b.same(t, "messages", b.words.list(), "0s 1 thing needs you, and 2 more happened")
	})
}

// A sink that does not take a message is tried again, later and later, with all that has come
// meanwhile; after some tries one fact says so until it works again. Nothing is left out (16.4).
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := func(try int) error {
			if try == 2 || try == 7 {
				return nil
			}
			return fmt.Errorf("it answered 503 (%d)", try)
		}
		b := newBureau(t, busy)
		for range 3 {
			b.see(fail("t-2"))
			time.Sleep(time.Minute)
		}
		b.see(fail("t-2"))
		time.Sleep(time.Minute)
		b.Close(time.Second)
		// 1 fails, 2 works; 3, at 1m2s, to 6 fail and 7, at 2m27s, brings two together; 8 fails, to the end.
		b.same(t, "messages", b.words.list(), "3s Task failed: Pay", "2m27s 2 things happened")
		b.same(t, "facts", b.failures.list, "slack: it answered 503 (5)", "slack: it answered 503 (10)")
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

// Where too many sounds wait, news go first and needs never.
func TestQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(nil)
		x := newSounds(r, nil)
		x.most = 3
		for i, u := range []Urgency{Info, Needs, Trouble, Info, Needs, Needs, Needs, Trouble} {
			x.push(fmt.Sprint(i), Message{Sound: notice.Sound(fmt.Sprint(i, " ", u)), Urgency: u})
		}
		x.start(func(f ralph.NoticeFailed) { t.Error(f) })
		x.Close(time.Second)
		x.push("9", Message{Sound: "after the end"})
		want := []string{"0s 1 needs-you", "0s 4 needs-you", "0s 5 needs-you", "0s 6 needs-you"}
		if diff := cmp.Diff(want, r.list()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The end of an engine sends what is left, but waits for nobody beyond its limit: the next
// start sends the rest, without what needs nobody any more, and says when it was (16.4).
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBureau(t, nil)
		b.words.took = time.Second
		b.see(ask("g-1"))
		began := time.Now()
		b.Close(3 * time.Second)
		b.same(t, "messages", b.words.list(), "1s An agent asks: Make the basket")
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %s", took)
		}
		b.begin()
		b.Close(time.Second)
		if n := len(b.words.list()); n != 1 {
			t.Errorf("%d messages, and nothing was new", n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBureau(t, nil)
		b.words.took = time.Hour
		b.see(ask("g-1"), ask("g-2"))
		time.Sleep(3 * time.Second)
		b.see(fail("t-2"), ask("g-3"))
		began := time.Now()
		b.Close(3 * time.Second)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		b.same(t, "facts", b.failures.list, "slack: not all could be sent before the end; the next start sends what is left")

		time.Sleep(8 * time.Hour)
		b.words.took = 0
		b.begin()
		b.see(ralph.Answered{ID: "g-1", Text: "so"})
		time.Sleep(3 * time.Second)
		b.Close(time.Second)
		b.same(t, "messages", b.words.list(), "8h0m8s 2 things need you, and 1 more happened")
		m := b.words.last
		b.same(t, "body", strings.Split(m.Body, "\n"),
			"• Task t-1 asks: How? [00:00 UTC]", "  ralph answer g-2 \"...\"",
			"• Task t-1 asks: How? [00:00 UTC]", "  ralph answer g-3 \"...\"",
			"• Task t-2 failed: [00:00 UTC]", "  ralph task retry t-2")
		if seqs := []int64{m.Notices[0].Seq, m.Notices[1].Seq, m.Notices[2].Seq, m.Seq}; !slices.Equal(seqs, []int64{6, 8, 7, 8}) {
			t.Errorf("of the facts %v", seqs)
		}
	})
}

// A sink that was gone for a night gets all of it, in several messages (16.4).
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := true
		b := newBureau(t, func(int) error {
			if gone {
				return errors.New("no route to host")
			}
			return nil
		})
		for range 250 {
			b.see(fail("t-2"))
		}
		time.Sleep(8 * time.Hour)
		b.words.mu.Lock()
		gone = false
		b.words.mu.Unlock()
		time.Sleep(time.Hour)
		b.Close(time.Second)
		var got []string
		for _, m := range b.words.list() {
			_, title, _ := strings.Cut(m, " ")
			got = append(got, title)
		}
		b.same(t, "messages", got, "100 things happened", "100 things happened", "50 things happened")
	})
}

// A dispatcher without sinks costs nothing.
func TestNothingIsSet(t *testing.T) {
	t.Parallel()
	c, err := Open(Options{Root: "/shop", Environ: []string{"PATH=/nowhere"}, Sounds: true, Desktop: true})
	if err != nil {
		t.Fatal(err)
	}
	if c.Sounds != nil || len(c.Letters) != 0 {
		t.Errorf("%d sinks without a player and a session bus", len(c.Letters))
	}
	c.Start(func(f ralph.NoticeFailed) { t.Error(f) }, nil)
}
