package web

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/past"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/screen/history"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Proofs decide again, and look whether the record holds. Each walks over the whole
// journal and calls step for each fact that it reads; an error of step ends the past.Walk.
type Proofs interface {
	// Evidence begins with a state before seq, which it takes over.
	Evidence(ctx context.Context, from *ralph.State, seq int64, step func() error) (receipts.Evidence, error)
	// Replay decides again; current with the settings of now. "" is every session.
	Replay(ctx context.Context, session ralph.SessionID, current bool, step func() error) (receipts.Replay, error)
	Verify(ctx context.Context, step func() error) (receipts.Proof, error)
}

// receiptsPage lists decisions, newest first.
func receiptsPage(_ context.Context, r *request) (view.Page, error) {
	m, err := history.ReceiptsOf(r.State, r.server.index, r.server.opt.Source, r.URL.Query())
	if err != nil {
		return view.Page{}, err
	}
	return view.Page{Title: "Receipts", Sections: []view.Section{
		{ID: "filter", Body: view.ReceiptsFilter(m)},
		{ID: "list", Body: view.ReceiptsList(m)},
	}}, nil
}

// receipt is one decision with all that it was decided on.
func receipt(_ context.Context, r *request) (view.Page, error) {
	seq, err := strconv.ParseInt(r.PathValue("seq"), 10, 64)
	if err != nil || seq <= 0 || seq > r.State.Seq {
		return view.Page{}, &ralph.Refusal{Why: fmt.Sprintf("there is no receipt %s", r.PathValue("seq")), Hint: "/receipts lists the decisions", Kind: ralph.ErrNotFound}
	}
	m := view.ReceiptModel{Seq: seq}
	if r.server.opt.Proofs == nil {
		return view.Page{}, errNoProofs()
	}
	found := r.server.jobs.Of(fmt.Sprintf("receipt %d", seq), r.State.Seq, settled, func(ctx context.Context, step func() error) (any, error) {
		return r.server.opt.Proofs.Evidence(ctx, r.server.index.Before(seq), seq, step)
	})
	switch {
	case !found.Done:
		m.Walk = &view.Walk{What: "Folding the journal up to this decision", Read: found.Read, Total: found.Total}
	case found.Err != nil:
		return view.Page{}, found.Err
	default:
		e := found.Result.(receipts.Evidence) //nolint:forcetypeassert // as the work above returns it
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
func settled(w past.Walk) bool {
	e, ok := w.Result.(receipts.Evidence)
	return ok && (e.Outcome != nil || e.Cut)
}

// replay decides all again and shows what differs, and whether the chain of facts holds.
func replay(_ context.Context, r *request) (view.Page, error) {
	x := r.server
	if x.opt.Proofs == nil {
		return view.Page{}, errNoProofs()
	}
	session, current := ralph.SessionID(r.PathValue("session")), r.URL.Query().Get("settings") == "now"
	m := view.ReplayModel{Session: string(session), Current: current, Seq: r.State.Seq}
	total := r.State.Seq
	did := x.jobs.Of(fmt.Sprintf("replay %s %v", session, current), total, func(w past.Walk) bool { return w.Total == total && !current }, func(ctx context.Context, step func() error) (any, error) {
		result, err := x.opt.Proofs.Replay(ctx, session, current, step)
		return view.Replayed{Replay: result, Seq: total}, err
	})
	switch {
	case !did.Done:
		m.Walk = &view.Walk{What: "Deciding again", Read: did.Read, Total: did.Total}
	case did.Err != nil:
		return view.Page{}, did.Err
	default:
		result := did.Result.(view.Replayed) //nolint:forcetypeassert // as the work above returns it
		m.Replayed, m.At = &result, did.At
	}
	proof := x.jobs.Of("verify", 2*total, func(w past.Walk) bool { return w.Total == 2*total }, func(ctx context.Context, step func() error) (any, error) {
		result, err := x.opt.Proofs.Verify(ctx, step)
		return view.Proved{Proof: result, Seq: total}, err
	})
	switch {
	case !proof.Done:
		m.ProofWalk = &view.Walk{What: "Following the chain", Read: proof.Read, Total: proof.Total}
	case proof.Err != nil:
		m.ProofErr = proof.Err.Error()
	default:
		result := proof.Result.(view.Proved) //nolint:forcetypeassert // as the work above returns it
		m.Proved, m.ProofAt = &result, proof.At
	}
	return view.Page{Title: "Replay", Sections: []view.Section{
		{ID: "replayed", Class: "two-thirds", Body: view.ReplaySection(m)},
		{ID: "proved", Class: "third", Body: view.ProofSection(m)},
	}}, nil
}
