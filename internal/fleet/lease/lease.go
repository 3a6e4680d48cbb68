// Package lease decides who may be the coordinator of a repository: one at a time, under a number that only
// grows. It does NOT own where that is kept, nor how it is asked for (internal/fleet).
package lease

import (
	"fmt"
	"time"
)

// Claim is what a coordinator asks for: the lease, that it may keep it, or that it is free again.
type Claim struct {
	By      string        // a word that only this process has
	Who     string        // for people
	Of      string        // what is claimed, for people: the repository's address and the branch
	Journal string        // of its checkout, "" for one that has none yet
	Number  int64         // that it holds; 0: it wants the lease
	Leave   bool          // it is done
	Place   string        // where its checkout is
	Locked  bool          // it has the session lock there: whoever had the lease from there is dead
	Least   int64         // what the number has to be at least: the remote has seen the ones below
	Lasts   time.Duration // how long nothing may be heard of it
}

// Tenure is who has the lease.
type Tenure struct {
	Number  int64  // grows with each that gets it, and never becomes less
	By      string // "": nobody
	Who     string
	Of      string
	Journal string
	Place   string
	Before  Checkout // of who had it before
	Since   time.Time
	Heard   time.Time
	Lasts   time.Duration

	At time.Time // the server's time of this answer
}

// Checkout is one that a coordinator works in.
type Checkout struct{ Journal, Place string }

// Is reports whether it is that of a claim: the very folder, or its journal seen from another machine.
func (b Checkout) Is(c Claim) bool {
	return b.Place != "" && b.Place == c.Place || b.Journal != "" && b.Journal == c.Journal
}

// Take decides on a claim. The answer is who has the lease then.
func (t *Tenure) Take(c Claim, now time.Time) Tenure {
	mine := t.By == c.By && c.Number <= t.Number
	free := t.By == "" || now.Sub(t.Heard) > t.Lasts
	switch {
	case mine && t.By != "": // also late: nobody was there in between
		t.Heard, t.Lasts = now, c.Lasts
	case c.Number > t.Number && free: // the server has lost its data, and nobody has come since
		t.to(c, c.Number, now)
		mine = true
	case c.Number == 0 && !c.Leave && (free || c.Locked && t.Place == c.Place):
		t.to(c, max(t.Number+1, c.Least), now)
	}
	if mine && c.Leave {
		t.By = ""
	}
	out := *t
	out.At = now
	return out
}

// to gives the lease to a claim.
func (t *Tenure) to(c Claim, number int64, now time.Time) {
	*t = Tenure{Number: number, By: c.By, Who: c.Who, Of: c.Of, Journal: c.Journal, Place: c.Place, Before: Checkout{t.Journal, t.Place}, Since: now, Heard: now, Lasts: c.Lasts}
}

// Has reports whether this is the answer to who has the lease.
func (t Tenure) Has(c Claim) bool {
	return t.By == c.By && t.By != "" && (c.Number == 0 || c.Number == t.Number)
}

// Words say who has the lease.
func (t Tenure) Words() string {
	if t.By == "" {
		return fmt.Sprintf("lease %d has ended", t.Number)
	}
	return fmt.Sprintf("%s has it since %s (lease %d, last heard of %s ago)", t.Who, t.Since.Local().Format("2006-01-02 15:04:05"), t.Number, t.At.Sub(t.Heard).Round(time.Second))
}
