package fleet

import (
	"crypto/sha256"
	"encoding/hex"

	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph/internal/fleet/lease"
)

// The lease: who may be the coordinator of a repository and a branch. One workflow holds it for good, and
// answers whoever claims it; it has no timer and no activity, and its clock is the server's. So nothing has to
// happen when a coordinator or the server dies: who comes next finds that nothing was heard for too long.

// leaseWorkflow and claimUpdate are known to the server by these names.
const (
	leaseWorkflow = "ralph.lease"
	claimUpdate   = "claim"
	whoQuery      = "who"
)

// claims is how many answers one run of the workflow gives, before the next run goes on: the server
// bounds them.
const claims = 500

// leaseOf is the workflow of a lease, and its queue: every coordinator that has or wants it reads it.
func leaseOf(base, repo, branch string) string {
	sum := sha256.Sum256([]byte(repo + "\n" + branch))
	return base + "/lease/" + hex.EncodeToString(sum[:8])
}

// holdLease is the workflow.
func holdLease(ctx workflow.Context, t lease.Tenure) error {
	answered := 0
	err := workflow.SetUpdateHandler(ctx, claimUpdate, func(ctx workflow.Context, c lease.Claim) (lease.Tenure, error) {
		answered++
		return t.Take(c, workflow.Now(ctx)), nil
	})
	if err == nil {
		err = workflow.SetQueryHandler(ctx, whoQuery, func() (lease.Tenure, error) { return t, nil })
	}
	if err != nil {
		return err
	}
	err = workflow.Await(ctx, func() bool {
		return (answered >= claims || workflow.GetInfo(ctx).GetContinueAsNewSuggested()) && workflow.AllHandlersFinished(ctx)
	})
	if err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, leaseWorkflow, t)
}
