package cli

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph"
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
