package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph/internal/fleet/note"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/carry"
	"github.com/ralph-loop/ralph/internal/git/push"
)

// Small work travels as a parcel, in the payload of the step itself: no remote is asked on the way there or back.
// That is for a fleet with a key alone, as whoever looks at the server may see its payloads.

const (
	maxParcel   = 96 << 10 // with all that is around it, a parcel stays well below maxPayload
	freshParcel = 24 << 10 // from where on, without its note, a newer base is worth a push
)

// lateError is that of a step which was sent when its coordinator was no more certain to have the lease.
const lateError = "late"

// intime refuses a step whose parcel passed the fence by being late: another coordinator may have had the lease
// already when it was begun. Both times are the server's.
func intime(ctx workflow.Context, in In) error {
	if begun := workflow.GetInfo(ctx).WorkflowStartTime; !in.Until.IsZero() && begun.After(in.Until) {
		return temporal.NewNonRetryableApplicationError(fmt.Sprintf("it was sent %s after lease %d may have ended", begun.Sub(in.Until).Round(time.Millisecond), in.Lease), lateError, nil)
	}
	return nil
}

func isLate(err error) bool {
	var a *temporal.ApplicationError
	return errors.As(err, &a) && a.Type() == lateError
}

// parcel puts the work of a step into it, where that may be. over ends the need of its base.
func (d *Doer) parcel(ctx context.Context, repo *git.Repo, at carry.Snapshot, n note.Note, sealed []byte, in *In) (over func()) {
	none := func() {}
	if d.seal.Off() {
		return none
	}
	tree, err := repo.TreeOf(ctx, at.Head)
	if err != nil {
		return none
	}
	from, known, over, ok := d.bases.Use()
	if !ok {
		d.bases.Renew(at.Head, tree)
		return none
	}
	until, ahead := d.hold.certain()
	if time.Now().Add(-ahead).After(until) { // its lease may have ended: the fence at the remote decides
		over()
		return none
	}
	b, err := carry.Wrap(ctx, repo, carry.Snapshot{Head: from.Commit, Tree: from.Tree}, known, at, sealed, maxParcel, n.MayTravel(d.in.Parts.Redact))
	if err != nil || len(b)-len(sealed) > freshParcel {
		d.bases.Renew(at.Head, tree)
	}
	if err != nil {
		over()
		return none
	}
	in.Parcel, in.From, in.Until = b, from, until
	return over
}

// receive takes what came of a step into the repository.
func (d *Doer) receive(ctx context.Context, repo *git.Repo, out Out) (carry.Snapshot, []byte, error) {
	if len(out.Parcel) > 0 {
		return carry.Open(ctx, repo, out.Parcel)
	}
	if err := d.refs().Bring(ctx, out.Ref, out.Commit); err != nil {
		return carry.Snapshot{}, nil, err
	}
	return carry.Unpack(ctx, repo, out.Commit)
}

// receive takes a step into the clone.
func (c *clone) receive(ctx context.Context, in In) (carry.Snapshot, []byte, error) {
	refs := push.Refs{Repo: c.repo, URL: c.url}
	if c.cut.Load() { // a step that it has already needs no remote to begin; but what would come of it may
		if _, err := refs.List(ctx, in.Ref); err != nil {
			return carry.Snapshot{}, nil, err
		}
		c.cut.Store(false)
	}
	if len(in.Parcel) > 0 {
		if err := refs.Bring(ctx, in.From.Ref, in.From.Commit); err != nil {
			return carry.Snapshot{}, nil, err
		}
		return carry.Open(ctx, c.repo, in.Parcel)
	}
	if err := refs.Bring(ctx, in.Ref, in.Commit); err != nil {
		return carry.Snapshot{}, nil, err
	}
	return carry.Unpack(ctx, c.repo, in.Commit)
}
