// Package page owns what the dashboard's pages show: models that are pure functions of State, time and
// the filters that an address has.
//
// It does NOT own how they look (web/view), or which page an address is (web).
package page

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
)

const (
	// Window is how many facts a page of the past looks at; older ones are on the next page.
	Window = 5000
	// AfterWindow are the facts behind a window in which the outcomes of its last decisions are.
	AfterWindow = 500
)

// Look is what pages are made from at one moment.
type Look struct {
	State    *ralph.State
	Engine   status.Engine
	Now      time.Time
	Past     bool                  // it is the state after a fact that is not the newest
	World    func() action.Context // what may be done
	Trouble  string                // what cannot be read, so that an older state is shown; "" for nothing
	Schedule Schedule              // how the scheduler sees the plan; nil: pages leave it out
}
