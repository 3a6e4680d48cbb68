package fleet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"go.temporal.io/api/serviceerror"

	"github.com/ralph-loop/ralph"
)

// A server that is away or too busy is waited for; what it says is what counts, also a refusal.
func TestServerIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		says := []error{
			serviceerror.NewUnavailable("connection refused"), fmt.Errorf("get: %w", context.DeadlineExceeded),
			serviceerror.NewResourceExhausted(0, "busy"), &serviceerror.DeadlineExceeded{}, errors.New("no such thing"),
		}
		asked := 0
		err := again(t.Context(), func() error { asked++; return says[asked-1] })
		if asked != len(says) || err == nil || err.Error() != "no such thing" {
			t.Errorf("asked %d times: %v", asked, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		over := &ralph.Refusal{Why: "over"}
		asked = 0
		err = again(ctx, func() error {
			if asked++; asked == 2 {
				cancel(over)
			}
			return says[0]
		})
		if asked != 2 || err == nil {
			t.Errorf("after the end it was asked %d times: %v", asked, err)
		}
	})
}
