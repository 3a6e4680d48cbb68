package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Proofs decide again, and look whether the record holds. Each walks over the whole
// journal and calls step for each fact that it reads; an error of step ends the walk.
type Proofs interface {
	// Evidence begins with a state before seq, which it takes over.
	Evidence(ctx context.Context, from *ralph.State, seq int64, step func() error) (report.Evidence, error)
	// Replay decides again; current with the settings of now. "" is every session.
	Replay(ctx context.Context, session ralph.SessionID, current bool, step func() error) (report.Replay, error)
	Verify(ctx context.Context, step func() error) (report.Proof, error)
}

// maxReceipts are on one page.
const maxReceipts = 100

// errEnough ends a reading of the journal.
var errEnough = errors.New("enough was read")

// receipts lists decisions, newest first: ?task= ?session= ?q= choose, ?before= goes back.
// A page reads its own window of the journal alone.
func receipts(_ context.Context, r *request) (view.Page, error) {
	q := r.URL.Query()
	m := view.ReceiptsModel{Task: q.Get("task"), Session: q.Get("session"), Text: strings.TrimSpace(q.Get("q"))}
	end := r.state.Seq + 1
	if n, err := strconv.ParseInt(q.Get("before"), 10, 64); err == nil && n > 0 && n < end {
		end, m.Before = n, n
	}
	first, last := r.server.within(r.state, &m)
	end = min(end, last)
	m.From = max(first, end-1-window)
	list, err := r.server.decided(r.state, m.From, end, report.Receipts{Task: ralph.TaskID(m.Task), Session: ralph.SessionID(m.Session)})
	if err != nil {
		return view.Page{}, fmt.Errorf("read the decisions: %w", err)
	}
	slices.Reverse(list)
	for i := range list {
		if !says(&list[i], m.Text) {
			continue
		}
		if len(m.Rows) == maxReceipts {
			m.From = m.Rows[maxReceipts-1].Seq - 1
			break
		}
		m.Rows = append(m.Rows, list[i])
	}
	if m.From > first {
		m.Older = receiptsAt(&m, m.From+1)
	}
	if m.Before > 0 {
		m.Newest = receiptsAt(&m, 0)
	}
	return view.Page{Title: "Receipts", Sections: []view.Section{
		{ID: "filter", Body: view.ReceiptsFilter(m)},
		{ID: "list", Body: view.ReceiptsList(m)},
	}}, nil
}

// within narrows a choice to where the history says that it lies: after first, before last.
// What still goes on has no last.
func (x *Server) within(now *ralph.State, m *view.ReceiptsModel) (first, last int64) {
	task, session, caught := ralph.TaskID(m.Task), ralph.SessionID(m.Session), x.index.Progress().Caught
	last = math.MaxInt64
	if from, to, ok := x.index.Task(task); ok {
		first = from - 1
		if caught && now.Task(task) == nil {
			last = to + window // the merges of its work come after its own facts
		}
	}
	if s, ok := x.index.Session(session); ok {
		first = max(first, s.First-1)
		if caught && now.Session.ID != session {
			last = min(last, s.Last+1)
		}
	}
	return first, last
}

// sessionAt is the session at work after a fact, "" where that is not known.
func (x *Server) sessionAt(seq int64) ralph.SessionID {
	for _, s := range x.index.Sessions() {
		if s.First <= seq {
			return s.ID
		}
	}
	return ""
}

// receiptsAt is the address of another page of the same choice.
func receiptsAt(m *view.ReceiptsModel, before int64) string {
	q := url.Values{}
	for name, value := range map[string]string{"task": m.Task, "session": m.Session, "q": m.Text} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if before > 0 {
		q.Set("before", fmt.Sprint(before))
	}
	if len(q) == 0 {
		return "/receipts"
	}
	return "/receipts?" + q.Encode()
}

// says reports whether a receipt has all the words.
func says(x *report.Receipt, words string) bool {
	if words == "" {
		return true
	}
	all := strings.ToLower(strings.Join([]string{fmt.Sprint(x.Seq), string(x.Task), x.Name, x.Step, x.What, x.Rule, x.Why, view.Came(x)}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// decided are the decisions after a fact and before another, oldest first. Names are those of
// now; what came of the last ones is looked for a little further on.
func (x *Server) decided(now *ralph.State, after, before int64, ask report.Receipts) ([]report.Receipt, error) {
	s := *now
	s.Session.ID = x.sessionAt(after)
	err := x.opt.Source.Each(after, func(e ralph.Event) error {
		if e.Seq >= before+afterWindow {
			return errEnough
		}
		if s.Session.ID == "" && !e.At.Before(now.Session.StartedAt) {
			s.Session.ID = now.Session.ID
		}
		ask.Add(e, &s)
		if f, ok := e.Fact.(ralph.SessionStarted); ok {
			s.Session.ID = f.ID
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return slices.DeleteFunc(ask.List(), func(r report.Receipt) bool { return r.Seq >= before }), err
}

// receipt is one decision with all that it was decided on.
func receipt(_ context.Context, r *request) (view.Page, error) {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq <= 0 || seq > r.state.Seq {
		return view.Page{}, &ralph.Refusal{Why: fmt.Sprintf("there is no receipt %s", r.PathValue("seq")), Hint: "/receipts lists the decisions", Kind: ralph.ErrNotFound}
	}
	m := view.ReceiptModel{Seq: seq}
	if r.server.opt.Proofs == nil {
		return view.Page{}, errNoProofs()
	}
	found := r.server.jobs.of(fmt.Sprintf("receipt %d", seq), r.state.Seq, settled, func(ctx context.Context, step func() error) (any, error) {
		return r.server.opt.Proofs.Evidence(ctx, r.server.index.Before(seq), seq, step)
	})
	switch {
	case !found.done:
		m.Walk = &view.Walk{What: "Folding the journal up to this decision", Read: found.read, Total: found.total}
	case found.err != nil:
		return view.Page{}, found.err
	default:
		e := found.result.(report.Evidence) //nolint:forcetypeassert // as the work above returns it
		m.Evidence = &e
	}
	return view.Page{Title: fmt.Sprintf("Receipt %d", seq), Sections: []view.Section{
		{ID: "decision", Class: "two-thirds", Body: view.ReceiptDecision(m)},
		{ID: "again", Class: "third", Body: view.ReceiptAgain(m)},
		{ID: "saw", Class: "half", Body: view.ReceiptSaw(m)},
		{ID: "outcome", Class: "half", Body: view.ReceiptOutcome(m)},
		{ID: "settings", Body: view.ReceiptSettings(m)},
	}}, nil
}

func errNoProofs() error {
	return &ralph.Refusal{Why: "nothing can be decided again here", Hint: "`ralph replay` does it in a terminal", Kind: ralph.ErrUsage}
}

// settled reports whether nothing that comes can change the evidence: the step has its outcome.
func settled(w walk) bool {
	e, ok := w.result.(report.Evidence)
	return ok && (e.Outcome != nil || e.Cut)
}

// replay decides all again and shows what differs, and whether the chain of facts holds.
func replay(_ context.Context, r *request) (view.Page, error) {
	x := r.server
	if x.opt.Proofs == nil {
		return view.Page{}, errNoProofs()
	}
	session, current := ralph.SessionID(r.PathValue("session")), r.URL.Query().Get("settings") == "now"
	m := view.ReplayModel{Session: string(session), Current: current, Seq: r.state.Seq}
	total := r.state.Seq
	did := x.jobs.of(fmt.Sprintf("replay %s %v", session, current), total, func(w walk) bool { return w.total == total && !current }, func(ctx context.Context, step func() error) (any, error) {
		result, err := x.opt.Proofs.Replay(ctx, session, current, step)
		return view.Replayed{Replay: result, Seq: total}, err
	})
	switch {
	case !did.done:
		m.Walk = &view.Walk{What: "Deciding again", Read: did.read, Total: did.total}
	case did.err != nil:
		return view.Page{}, did.err
	default:
		result := did.result.(view.Replayed) //nolint:forcetypeassert // as the work above returns it
		m.Replayed, m.At = &result, did.at
	}
	proof := x.jobs.of("verify", 2*total, func(w walk) bool { return w.total == 2*total }, func(ctx context.Context, step func() error) (any, error) {
		result, err := x.opt.Proofs.Verify(ctx, step)
		return view.Proved{Proof: result, Seq: total}, err
	})
	switch {
	case !proof.done:
		m.ProofWalk = &view.Walk{What: "Following the chain", Read: proof.read, Total: proof.total}
	case proof.err != nil:
		m.ProofErr = proof.err.Error()
	default:
		result := proof.result.(view.Proved) //nolint:forcetypeassert // as the work above returns it
		m.Proved, m.ProofAt = &result, proof.at
	}
	return view.Page{Title: "Replay", Sections: []view.Section{
		{ID: "replayed", Class: "two-thirds", Body: view.ReplaySection(m)},
		{ID: "proved", Class: "third", Body: view.ProofSection(m)},
	}}, nil
}
