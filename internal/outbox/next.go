package outbox

import (
	"cmp"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
)

// Steady is the time since the machine was started, which no clock that is set moves, with the name of
// that start. Without a name it is not known.
type Steady struct {
	Boot string
	Up   time.Duration
}

// settles is when nothing of a try can be under way any more; zero is now. It is measured by the time
// since the machine was started: the clock may have been set meanwhile. A try of a start before
// this one is at least as old as this one.
func settles(p ralph.Push, settle time.Duration, now time.Time, steady Steady) time.Time {
	if p.Tried.IsZero() || p.Heard || p.Rev != 0 {
		return time.Time{}
	}
	ago := now.Sub(p.Tried)
	switch {
	case steady.Boot == "" || p.Boot == "":
	case steady.Boot == p.Boot:
		ago = steady.Up - time.Duration(p.UpMS)*time.Millisecond
	default:
		ago = steady.Up
	}
	if ago >= settle {
		return time.Time{}
	}
	return now.Add(settle - ago)
}

// NextPush is the entry of the outbox that is to be sent to a service next, and when: zero is
// now. Entries of one item go out in their order, those of others do not wait for them; what is
// parked is passed over. An entry that may have arrived waits until nothing of it can be under way
// any more: settle, unless its answer came or it was sent for a revision, which another try tells by.
func NextPush(s *ralph.State, service ralph.Service, settle time.Duration, now time.Time, steady Steady) (r *ralph.RemoteItem, p *ralph.Push, at time.Time) {
	type candidate struct {
		r  *ralph.RemoteItem
		p  *ralph.Push
		at time.Time
	}
	var all []candidate
	for _, item := range s.Remotes {
		i := slices.IndexFunc(item.Pushes, func(p ralph.Push) bool { return !p.Refused })
		if item.Service != service || i < 0 {
			continue
		}
		all = append(all, candidate{item, &item.Pushes[i], settles(item.Pushes[i], settle, now, steady)})
	}
	if len(all) == 0 {
		return nil, nil, time.Time{}
	}
	next := slices.MinFunc(all, func(a, b candidate) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.p.Seq, b.p.Seq)) })
	if may, _ := breaker.MayCall(s.Outside(service), Name, now); may.After(next.at) {
		next.at = may
	}
	return next.r, next.p, next.at
}
