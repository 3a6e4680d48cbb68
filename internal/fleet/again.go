package fleet

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// pause is how long is waited before the server is asked again.
const pause = time.Second

// again does something at the server until it has an outcome. A server that is away, or too busy,
// is none: who asked waits until it is back, and nothing is lost.
func again(ctx context.Context, do func() error) error { return tryAgain(ctx, pause, do, away) }

// tryAgain does something until it succeeds, ctx ends, or its error is one after which more is
// false. Between two tries it waits.
func tryAgain(ctx context.Context, wait time.Duration, do func() error, more func(error) bool) error {
	for {
		err := do()
		if err == nil || ctx.Err() != nil || !more(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// away reports that the server did not get to say anything.
func away(err error) bool {
	var ran *temporal.WorkflowExecutionError
	if errors.As(err, &ran) {
		return false // what the workflow says
	}
	var gone *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	var much *serviceerror.ResourceExhausted
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &gone) || errors.As(err, &late) || errors.As(err, &much)
}

// outcome is what a workflow comes to.
func outcome(ctx context.Context, run client.WorkflowRun, out any) error {
	return again(ctx, func() error { return run.Get(ctx, out) })
}
