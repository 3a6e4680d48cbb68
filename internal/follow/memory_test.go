package follow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/follow"
)

// Who follows in memory reads, waits and reads again; what fails, a panic too, is told and
// tried again after a while, or ends it, as the receiver says.
func TestMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began, reads := time.Now(), 0
		var told []string
		tell := func(what any) { told = append(told, fmt.Sprint(time.Since(began), " ", what)) }
		m := follow.Memory{
			Read: func(context.Context) error {
				switch reads++; reads {
				case 2:
					return errors.New("no file")
				case 3:
					panic("oh")
				}
				tell("read")
				return nil
			},
			Wait: func(ctx context.Context) error {
				switch reads {
				case 4:
					return errors.New("no watch")
				case 6:
					cancel()
					return ctx.Err()
				}
				time.Sleep(time.Minute)
				return nil
			},
			Failed:   func(err error) bool { tell(err); return true },
			Panicked: func(what any) { tell(what) },
		}
		m.Run(ctx)
		want := []string{"0s read", "1m0s no file", "1m2s oh", "1m2s this is a mistake in ralph: oh", "1m4s read", "1m4s no watch", "1m6s read", "2m6s read"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		reads, m.Failed = 1, func(error) bool { return false }
		m.Run(t.Context()) // comes to its end
	})
}
