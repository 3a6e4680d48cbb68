package ralphtest

import "context"

// Late is ctx as one sees it who is quick: its end is there for who waits for it, and those who are to be called then
// (context.AfterFunc) are not called yet.
func Late(ctx context.Context) context.Context { return late{ctx} }

type late struct{ context.Context }

func (late) Value(any) any                { return nil }
func (late) AfterFunc(func()) func() bool { return func() bool { return true } }
