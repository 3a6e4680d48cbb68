package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// sending is one try of one entry.
type sending struct {
	*Outbox
	ctx     context.Context //nolint:containedctx // the life of one try
	service ralph.Service
	how     Service
	client  tracker.Client
	ref     tracker.Ref
	at      ralph.PushRef
	push    ralph.Push
	comment string // the id of the comment that is edited in place
	marker  string
}

// send tries one entry, and records what became of it. An error is one of the journal's.
func (o *Outbox) send(ctx context.Context, service ralph.Service, how Service, client func() (tracker.Client, error), r *ralph.RemoteItem, p *ralph.Push) error {
	x := &sending{Outbox: o, ctx: ctx, service: service, how: how, at: ralph.PushRef{ID: p.ID, Service: service, Item: r.Item}, push: *p, comment: r.Comment, marker: string(p.ID)}
	if p.Kind == ralph.PushStatus {
		x.marker = statusMarker(o.x.Journal.State())
	}
	var err error
	if x.client, err = client(); err != nil {
		return x.failed(tracker.NoAccess(service, err))
	}
	if x.ref, err = tracker.Parse(r.Item, o.x.Places); err != nil {
		return o.record(func(*ralph.State) []ralph.Fact {
			return []ralph.Fact{ralph.PushRefused{PushRef: x.at, Why: err.Error()}}
		})
	}
	may := false
	if err := o.record(func(s *ralph.State) (facts []ralph.Fact) {
		facts, may = breaker.Begin(s.Outside(service), Name, how.Breaker, o.x.Journal.Now())
		return facts
	}); err != nil || !may { // somebody else tries the service
		return err
	}
	switch {
	case p.Kind == ralph.PushChange:
		err = x.once(0, func() (tracker.Remote, error) { return tracker.Remote{}, x.client.Set(ctx, x.ref, p.Change) })
	case p.Kind == ralph.PushStatus && r.Comment != "":
		err = x.edit()
	default:
		err = x.create()
	}
	if errors.Is(err, errReplaced) {
		return nil
	}
	return err
}

// errReplaced is that an entry has gone from the outbox before it was sent: a newer one says it better,
// or a person took it out.
var errReplaced = errors.New("the entry is no longer wanted")

// tried says, before it is done, that the entry is sent; errReplaced when it is not to be any more.
// Once it is said, nothing takes its place until it is known what became of it.
func (x *sending) tried(rev int) error {
	wanted := false
	err := x.record(func(s *ralph.State) []ralph.Fact {
		r := s.Remote(x.service, x.at.Item)
		wanted = r != nil && slices.ContainsFunc(r.Pushes, func(p ralph.Push) bool { return p.ID == x.at.ID })
		if !wanted { // the one call that an open breaker lets through was none: the next one is
			return breaker.AfterCall(s.Outside(x.service), breaker.CallEnd{Refused: true}, x.how.Breaker, x.x.Journal.Now())
		}
		steady := x.x.Steady()
		return []ralph.Fact{ralph.PushTried{PushRef: x.at, Rev: rev, Boot: steady.Boot, UpMS: steady.Up.Milliseconds()}}
	})
	if err == nil && !wanted {
		return errReplaced
	}
	return err
}

// once sends what changes nothing when it arrives twice.
func (x *sending) once(rev int, call func() (tracker.Remote, error)) error {
	if err := x.tried(rev); err != nil {
		return err
	}
	remote, err := call()
	if err != nil {
		return x.failed(err)
	}
	return x.arrived(remote, false)
}

// edit puts the text in the place of the one before. A comment that somebody has deleted is
// written anew.
func (x *sending) edit() error {
	if err := x.tried(0); err != nil {
		return err
	}
	remote, err := x.client.Edit(x.ctx, x.ref, x.comment, x.text(0))
	e, is := errors.AsType[*tracker.Error](err)
	switch {
	case is && e.Gone():
		return x.create()
	case err != nil:
		return x.failed(err)
	case remote.ID == "":
		remote.ID = x.comment
	}
	return x.arrived(remote, false)
}

func (x *sending) text(rev int) tracker.Comment {
	return tracker.Comment{Marker: x.marker, Text: x.push.Text, Rev: rev}
}

// create writes a new comment. One that may have arrived in a try before is looked for first;
// where items have revisions the same write is tried again, which says whether it had.
func (x *sending) create() error {
	guarded, revisions := x.client.(tracker.Guarded)
	doubt, rev := !x.push.Tried.IsZero(), x.push.Rev
	gone := x.push.Kind == ralph.PushStatus && x.comment != "" // the one that was edited in place
	if doubt && (!revisions || rev == 0) || gone {
		if found, err := x.find(); found || err != nil {
			return err
		}
		rev = 0
	}
	for range 5 {
		if revisions && rev == 0 {
			var err error
			if rev, err = guarded.Revision(x.ctx, x.ref); err != nil {
				return x.failedBefore(err)
			}
		}
		if err := x.tried(rev); err != nil {
			return err
		}
		remote, err := x.client.Comment(x.ctx, x.ref, x.text(rev))
		if err == nil {
			return x.made(remote)
		}
		if !revisions || tracker.KindOf(err) != tracker.Conflict {
			return x.failed(err)
		}
		// The item has changed since: by the try before, or by somebody else.
		if found, err := x.find(); found || err != nil {
			return err
		}
		rev = 0
	}
	return x.failed(&tracker.Error{Service: x.service, Doing: "comment on " + x.ref.String(), Message: "the item changes all the time"})
}

// made records a new comment. What is edited in place later must have an id.
func (x *sending) made(remote tracker.Remote) error {
	if x.push.Kind == ralph.PushStatus && remote.ID == "" {
		found, err := x.client.Find(x.ctx, x.ref, x.marker, x.since())
		if err != nil {
			return x.failed(err)
		}
		if len(found) > 0 {
			remote = found[0]
		}
	}
	return x.arrived(remote, false)
}

// since bounds a search: an entry has arrived after it was made, by a clock that was set right since, or
// is the service's own.
func (x *sending) since() time.Time {
	const slack = 48 * time.Hour
	if x.push.Kind == ralph.PushStatus {
		return time.Time{} // it may be from a session before
	}
	return x.push.At.Add(-slack)
}

// find looks for the comment with the marker. Of two, which a service that is slower than it may
// be can leave, the older stays.
func (x *sending) find() (found bool, err error) {
	list, err := x.client.Find(x.ctx, x.ref, x.marker, x.since())
	if err != nil {
		return true, x.failedBefore(err)
	}
	if len(list) == 0 {
		return false, nil
	}
	if remover, can := x.client.(tracker.Remover); can {
		for _, twin := range list[1:] {
			if err := remover.Remove(x.ctx, x.ref, twin.ID); err != nil {
				return true, x.failedBefore(err)
			}
		}
	}
	if x.push.Kind == ralph.PushStatus { // it is there, and may say something older
		x.comment = list[0].ID
		if err := x.tried(0); err != nil {
			return true, err
		}
		if _, err := x.client.Edit(x.ctx, x.ref, x.comment, x.text(0)); err != nil {
			return true, x.failed(err)
		}
	}
	return true, x.arrived(list[0], true)
}

// arrived records that the entry is there.
func (x *sending) arrived(remote tracker.Remote, found bool) error {
	return x.record(func(s *ralph.State) []ralph.Fact {
		facts := []ralph.Fact{ralph.Pushed{PushRef: x.at, Remote: remote.ID, URL: remote.URL, Found: found}}
		return append(facts, breaker.AfterCall(s.Outside(x.service), breaker.CallEnd{}, x.how.Breaker, x.x.Journal.Now())...)
	})
}

// failedBefore records a call that came before the entry was sent: what was known of it stays.
func (x *sending) failedBefore(err error) error { return x.ended(err, true) }

// failed records a try that did not do what it was for.
func (x *sending) failed(err error) error { return x.ended(err, false) }

func (x *sending) ended(err error, before bool) error {
	if x.ctx.Err() != nil { // the end of this process: whether it arrived is for the next one to see
		return nil
	}
	e, is := errors.AsType[*tracker.Error](err)
	if !is {
		e = &tracker.Error{Service: x.service, Doing: "send", Message: err.Error(), Arrived: true, Cause: err}
	}
	return x.record(func(s *ralph.State) []ralph.Fact {
		now, why := x.x.Journal.Now(), e.Error()
		after := breaker.AfterCall(s.Outside(x.service), e.End(now), x.how.Breaker, now)
		if e.Ours() {
			return append([]ralph.Fact{ralph.PushRefused{PushRef: x.at, Why: why}}, after...)
		}
		fact := ralph.PushFailed{PushRef: x.at, Why: why, Arrived: e.Arrived, Heard: e.Arrived && e.Heard()}
		doubt := !x.push.Tried.IsZero()
		switch {
		case before: // nothing was sent by this try
			fact.Arrived, fact.Heard = doubt, doubt && x.push.Heard
		case doubt && x.push.Rev > 0: // this one did not arrive, and one before it still may
			fact.Arrived = true
		}
		return append([]ralph.Fact{fact}, after...)
	})
}

// statusMarker is that of the comment that is edited in place.
func statusMarker(s *ralph.State) string { return fmt.Sprintf("%s-status", s.Journal) }
