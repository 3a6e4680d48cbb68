package ralphtest

import (
	"context"
	"testing"
)

// BothEnds tests what ends with a context twice: with of(ctx) as it is, and as one sees it who is quick. The end of
// that is there for who waits for it, and those who are to be called then (context.AfterFunc) are not called yet.
func BothEnds(t *testing.T, test func(t *testing.T, of func(context.Context) context.Context)) {
	t.Helper()
	for name, of := range map[string]func(context.Context) context.Context{
		"in time": func(ctx context.Context) context.Context { return ctx },
		"late":    func(ctx context.Context) context.Context { return late{ctx} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, of)
		})
	}
}

type late struct{ context.Context }

func (late) Value(any) any                { return nil }
func (late) AfterFunc(func()) func() bool { return func() bool { return true } }
