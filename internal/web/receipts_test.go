package web_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/web"
)

// fakeProofs answers when it is let.
type fakeProofs struct {
	k       *fakeBackend
	hold    chan struct{} // closed: go on
	replays atomic.Int32
}

func (f *fakeProofs) Evidence(_ context.Context, _ *ralph.State, seq int64, step func() error) (receipts.Evidence, error) {
	e := receipts.Evidence{Line: strings.Repeat("ab", 32), Again: "finish as failed, X-1: " + nasty}
	ask := receipts.Receipts{Only: seq}
	s := &ralph.State{}
	err := f.k.Each(0, func(e ralph.Event) error {
		ask.Add(e, s)
		s.Apply(e)
		return step()
	})
	if list := ask.List(); len(list) == 1 {
		e.Receipt = list[0]
	}
	return e, err
}

func (f *fakeProofs) Replay(_ context.Context, session ralph.SessionID, _ bool, step func() error) (receipts.Replay, error) {
	f.replays.Add(1)
	if err := f.k.Each(0, func(ralph.Event) error { return step() }); err != nil {
		return receipts.Replay{}, err
	}
	if session == "s-none" {
		return receipts.Replay{}, &ralph.Refusal{Why: "no session s-none", Kind: ralph.ErrNotFound}
	}
	<-f.hold
	return receipts.Replay{Sessions: 1, Receipts: 7, Differ: 1, Differences: []receipts.Difference{{Seq: 5, Task: "t-0001", Was: "turn 1", Now: "pause " + nasty, Rules: 1}}}, nil
}

func (f *fakeProofs) Verify(_ context.Context, step func() error) (receipts.Proof, error) {
	err := f.k.Each(0, func(ralph.Event) error { return step() })
	return receipts.Proof{Facts: 12345, Broken: []receipts.BrokenLink{{Seq: 3, Link: "merge", Why: "no green " + nasty}}}, err
}

// decisions records n turns with their outcomes.
func decisions(k *fakeBackend, n int) {
	k.add("cli", ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-0001", Name: "Paint " + nasty, Status: ralph.TaskPending}},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-0002", Name: "Sweep", Status: ralph.TaskPending}})
	k.add("engine", ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Config: []byte(`{"parallel":2}`)})
	k.add("engine", ralph.JobStarted{Job: "a-1", File: "a.md"}, ralph.TaskStarted{ID: "t-0001"}, ralph.TaskStarted{ID: "t-0002"})
	for i := range n {
		id := ralph.TaskID("t-0001")
		if i%2 == 1 {
			id = "t-0002"
		}
		k.add("engine", ralph.StepStarted{Task: id, Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: i + 1}, Why: ralph.Why{Rule: "B-026", Text: fmt.Sprintf("no signal yet %d %s", i, nasty)}, BasedOnSeq: k.State().Seq, DecidedAt: k.Now()},
			ralph.RequestAnswered{Task: id, Request: ralph.Request{Kind: ralph.RequestApproval, Command: "ls"}, Verdict: ralph.Approved, Rule: "gate.approvals: policy"},
			ralph.TurnEnded{Task: id, Agent: "me", Stage: ralph.KindBuild, Iteration: i + 1, Exit: ralph.ExitOK, Usage: ralph.Usage{Input: 1200, Output: 30, Cost: 0.5}, Took: time.Second})
	}
	k.add("engine", ralph.TaskEnded{ID: "t-0001", Status: ralph.TaskFailed, Why: ralph.Why{Rule: "X-34", Text: "20 used", Stop: "task.max_iterations"}, BasedOnSeq: k.State().Seq, DecidedAt: k.Now()})
}

// E-092, E-094, E-095: every decision is listed, newest first, page by page, with what came of
// it and what stopped it; by task and by words.
func TestReceiptsPages(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	decisions(k, 150)
	x := k.server(web.Options{})
	html := pageOf(t, x, "/receipts", http.StatusOK)
	if n := strings.Count(html, `data-href="/receipt/`); n != 100 {
		t.Errorf("%d rows", n)
	}
	hasAll(t, "list", html, "build turn 150 of me", "B-026", "no signal, 1s, $0.50", "end as failed", `rel="next"`, "1 asked")
	if at := regexp.MustCompile(`data-kind="rule"[^>]*>[^<]*</span>[^<\s]`).FindString(html); at != "" {
		t.Errorf("a rule and the words behind it are one word: %s", at)
	}
	rows := strings.Split(html, `data-href="/receipt/`) // of the newest on: what came before it is the page's head
	for i, row := range rows[1:] {
		words := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(row, " ")
		if stop := regexp.MustCompile(`\bstop\b`).MatchString(words); stop != (i == 0) {
			t.Errorf("row %d says stop: %v, and only the end by max_iterations is one:\n%s", i+1, stop, words)
		}
		if !strings.Contains(row, `title="executed"`) && i > 0 {
			t.Errorf("row %d does not say that it was carried out", i+1)
		}
	}
	hasNone(t, "list", html, "<script>alert", "\x1b", "\u202e", `rel="first"`)
	_, rest, _ := strings.Cut(html, `<a href="/receipts?before=`)
	before, _, _ := strings.Cut(rest, `"`)
	older := pageOf(t, x, "/receipts?before="+before, http.StatusOK)
	if n := strings.Count(older, `data-href="/receipt/`); n != 51 {
		t.Errorf("%d older rows", n)
	}
	hasAll(t, "older", older, "build turn 1 of me", `rel="first"`)
	one := pageOf(t, x, "/receipts?task=t-0002&q=Sweep+me+x-none", http.StatusOK)
	hasAll(t, "not all words", one, "No decision here.")
	one = pageOf(t, x, "/receipts?task=t-0002&q=b-026+SWEEP", http.StatusOK)
	if n := strings.Count(one, `data-href="/receipt/`); n != 75 || strings.Contains(one, "task=t-0001") {
		t.Errorf("%d rows of t-0002", n)
	}
	hasAll(t, "none", pageOf(t, x, "/receipts?q=nothing-like-that", http.StatusOK), "No decision here.")
	hasAll(t, "a session that is none", pageOf(t, x, "/receipts?session=s-9", http.StatusOK), "No decision here.")
	for _, odd := range []string{"?before=x", "?before=-4", "?before=99999999999999999999", "?task=%00%ff&session=%3Cb%3E"} {
		pageOf(t, x, "/receipts"+odd, http.StatusOK)
	}
}

// E-096: one decision whole, decided again: the difference is shown.
func TestReceiptPage(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	decisions(k, 1)
	x := k.server(web.Options{Proofs: &fakeProofs{k: k}})
	last := fmt.Sprintf("/receipt/%d", k.State().Seq-3)
	html := waitPage(t, func() (string, bool) {
		html := pageOf(t, x, last, http.StatusOK)
		return html, strings.Contains(html, "Decided again today")
	})
	hasAll(t, "receipt", html, "build turn 1 of me", "different", `finish as failed, X-1: \x1b[31m&lt;script&gt;`, "abababab", "1,200 in, 30 out", "$0.50", "run ls", "gate.approvals: policy", "stop condition")
	hasNone(t, "receipt", html, "<script>alert", "\x1b")
	if at := regexp.MustCompile(`data-kind="rule"[^>]*>[^<]*</span>[^<\s]`).FindString(html); at != "" {
		t.Errorf("a rule and the words behind it are one word: %s", at)
	}
	for _, bad := range []string{"0", "-1", "x", "999999"} {
		pageOf(t, x, "/receipt/"+bad, http.StatusNotFound)
	}
	pageOf(t, k.server(web.Options{}), last, http.StatusUnprocessableEntity)
}

// E-096: a replay runs in the background, once for all who look; it says how far it is, then
// what differs, and whether the chain holds.
func TestReplayPage(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	decisions(k, 300)
	f := &fakeProofs{k: k, hold: make(chan struct{})}
	x := k.server(web.Options{Proofs: f})
	facts := k.State().Seq
	html := waitPage(t, func() (string, bool) {
		html := pageOf(t, x, "/replay", http.StatusOK)
		return html, strings.Contains(html, fmt.Sprintf(`value="%d"`, facts))
	})
	hasAll(t, "under way", html, "Deciding again: reading fact ", "<progress")
	close(f.hold)
	html = waitPage(t, func() (string, bool) {
		html := pageOf(t, x, "/replay", http.StatusOK)
		return html, strings.Contains(html, "1 differ") && strings.Contains(html, "12,345")
	})
	hasAll(t, "done", html, "7</strong> decisions of 1 session", `href="/receipt/5"`, "turn 1", `pause \x1b[31m&lt;script&gt;`, "rules of revision 1", "broken", `no green \x1b[31m`)
	hasNone(t, "done", html, "<script>alert", "\x1b", "have come since")
	if n := f.replays.Load(); n != 1 {
		t.Errorf("%d replays", n)
	}
	k.add("cli", ralph.Control{Want: ralph.WantRun})
	hasAll(t, "later", pageOf(t, x, "/replay", http.StatusOK), "1 fact has come since")
	if n := f.replays.Load(); n != 1 {
		t.Errorf("%d replays: a journal that grows is read all the time", n)
	}
	waitPage(t, func() (string, bool) {
		err := ""
		if w := get(x, "/replay/s-none"); w.Code != http.StatusOK {
			err = w.Body.String()
		}
		return err, strings.Contains(err, "No session s-none")
	})
}
