package dashboard

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/verify"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Proofs decides again for the dashboard, which does not decide itself (web.Proofs).
type Proofs struct{ Env workspace.Env }

// Evidence is one receipt with what it saw, decided once more.
func (p Proofs) Evidence(_ context.Context, from *ralph.State, seq int64, step func() error) (receipts.Evidence, error) {
	j, err := workspace.OpenReader(p.Env, false, false)
	if err != nil {
		return receipts.Evidence{}, err
	}
	defer j.Close()
	return observe.Evidence(j, from, seq, step)
}

// Replay decides every receipt again.
func (p Proofs) Replay(_ context.Context, session ralph.SessionID, current bool, step func() error) (receipts.Replay, error) {
	result, err := verify.Replay(p.Env, session, current, step)
	out := receipts.Replay{Sessions: result.Sessions, Receipts: result.Receipts, Differ: result.Differ}
	for _, d := range result.Differences {
		out.Differences = append(out.Differences, receipts.Difference{Seq: d.Seq, Task: d.Task, Was: d.Was, Now: d.Now, Rules: d.Rules})
	}
	return out, err
}

// Verify proves the history.
func (p Proofs) Verify(ctx context.Context, step func() error) (receipts.Proof, error) {
	v, err := verify.History(ctx, p.Env, step)
	out := receipts.Proof{
		Holds: v.Holds, Facts: v.Facts, Receipts: v.Receipts, Tasks: v.Tasks, ByHand: v.ByHand, Waived: v.Waived,
		Merges: v.Merges, Landings: v.Landings, Commits: v.Commits, Older: v.Older,
	}
	for _, p := range v.PassedOver {
		out.PassedOver = append(out.PassedOver, fmt.Sprintf("fact %d, %s: %s", p.Seq, p.Task, ralph.PassedOverWords([]ralph.PassedOver{p.PassedOver})))
	}
	for _, b := range v.Broken {
		out.Broken = append(out.Broken, receipts.BrokenLink{Seq: b.Seq, Task: b.Task, Link: b.Link, Why: b.Why})
	}
	return out, err
}
