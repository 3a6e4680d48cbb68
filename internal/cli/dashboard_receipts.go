package cli

import (
	"context"
	"fmt"
	"iter"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// proofs decides again for the dashboard, which does not decide itself (web.Proofs).
type proofs struct{ env workspace.Env }

// Evidence is one receipt with what it saw, decided once more.
func (p proofs) Evidence(_ context.Context, from *ralph.State, seq int64, step func() error) (report.Evidence, error) {
	j, err := workspace.OpenReader(p.env, false, false)
	if err != nil {
		return report.Evidence{}, err
	}
	defer j.Close()
	return evidence(j, from, seq, step)
}

// Replay decides every receipt again.
func (p proofs) Replay(_ context.Context, session ralph.SessionID, current bool, step func() error) (report.Replay, error) {
	result, err := replayed(p.env, session, current, step)
	out := report.Replay{Sessions: result.Sessions, Receipts: result.Receipts, Differ: result.Differ}
	for _, d := range result.Differences {
		out.Differences = append(out.Differences, report.Difference{Seq: d.Seq, Task: d.Task, Was: d.Was, Now: d.Now, Rules: d.Rules})
	}
	return out, err
}

// Verify proves the history.
func (p proofs) Verify(ctx context.Context, step func() error) (report.Proof, error) {
	v, err := verify(ctx, p.env, step)
	out := report.Proof{
		Holds: v.Holds, Facts: v.Facts, Receipts: v.Receipts, Tasks: v.Tasks, ByHand: v.ByHand, Waived: v.Waived,
		Merges: v.Merges, Landings: v.Landings, Commits: v.Commits, Older: v.Older,
	}
	for _, p := range v.PassedOver {
		out.PassedOver = append(out.PassedOver, fmt.Sprintf("fact %d, %s: %s", p.Seq, p.Task, ralph.PassedOverWords([]ralph.PassedOver{p.PassedOver})))
	}
	for _, b := range v.Broken {
		out.Broken = append(out.Broken, report.BrokenLink{Seq: b.Seq, Task: b.Task, Link: b.Link, Why: b.Why})
	}
	return out, err
}

// replayed decides every receipt of a session again, or all with ""; step, if there is one,
// is called for each fact.
func replayed(env workspace.Env, session ralph.SessionID, current bool, step func() error) (policy.Replayed, error) {
	var none policy.Replayed
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return none, err
	}
	defer j.Close()
	opt := policy.ReplayOptions{Session: session}
	if current {
		c, err := workspace.SettingsOf(env)
		if err != nil {
			return none, err
		}
		pc := workspace.PolicyConfig(c)
		opt.Config = &pc
	}
	events := &eventReader{journal: j, step: step}
	result, err := policy.Replay(events.all(), opt)
	if events.err != nil {
		err = events.err
	}
	if err != nil {
		return none, err
	}
	if session != "" && result.Sessions == 0 {
		return none, &ralph.Refusal{Why: "no session " + string(session) + " in the journal", Hint: "`ralph log` shows the ids (Session new: ...)", Kind: ralph.ErrNotFound}
	}
	return result, nil
}

// all gives the events to whom wants a sequence.
func (r *eventReader) all() iter.Seq[ralph.Event] {
	return func(yield func(ralph.Event) bool) {
		err := r.journal.Each(0, func(e ralph.Event) error {
			r.hash = e.Hash
			if r.step != nil {
				if err := r.step(); err != nil {
					return err
				}
			}
			if !yield(e) {
				return errStop
			}
			return nil
		})
		r.note(err)
	}
}
