package watch

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
)

// Panics tells of mistakes in ralph itself, so that they end neither the dashboard nor
// an engine in the same process, and are not lost either.
type Panics struct {
	Log  func(string) // nil: nobody is told
	said atomic.Int64
}

// maxPanics are told: a page that breaks does so each time that somebody looks.
const maxPanics = 20

// Say tells of a panic, with where it was; it is called while that is being recovered.
func (x *Panics) Say(what any) {
	switch n := x.said.Add(1); {
	case x.Log == nil || n > maxPanics:
	case n == maxPanics:
		x.Log("The dashboard breaks again and again; no more is said of it.")
	default:
		x.Log(fmt.Sprintf("The dashboard broke, which is a mistake in ralph; please report it: %v\n%s", what, debug.Stack()))
	}
}

// Into is deferred round work in the background: its panic becomes its error.
func (x *Panics) Into(err *error) {
	if what := recover(); what != nil {
		x.Say(what)
		*err = fmt.Errorf("this is a mistake in ralph: %v", what)
	}
}
