package ralph

import (
	"fmt"
	"slices"
	"time"
)

// What is sent to trackers, and how these are: an outbox of entries in the order of each item,
// and for each service its breaker and its limit. All of it is folded from facts, so that a
// kill at any moment loses nothing of it.

// PushID names an entry of the outbox. It is made of the journal's name and the number of the
// fact that the entry tells of, so it is the same whenever it is made, and another one in every
// repository: comments carry it as their marker.
type PushID string

// PushKind is what an entry does to its item.
type PushKind string

// The kinds of entries.
const (
	PushStatus  PushKind = "status"  // the one comment that says how things stand, edited in place
	PushComment PushKind = "comment" // a new comment
	PushChange  PushKind = "change"  // state, labels, fields
)

// ItemChange is what an item is to be like. What is empty stays as it is.
type ItemChange struct {
	State  string            `json:"state,omitempty"`  // GitHub: open, closed, completed, not_planned; Jira, Azure DevOps: the name of a state
	Add    []string          `json:"add,omitempty"`    // labels, tags
	Remove []string          `json:"remove,omitempty"` // labels, tags
	Fields map[string]string `json:"fields,omitempty"` // GitHub: of a project; Jira, Azure DevOps: by name
}

// Empty reports whether it changes nothing.
func (c ItemChange) Empty() bool {
	return c.State == "" && len(c.Add)+len(c.Remove)+len(c.Fields) == 0
}

// Push is an entry of the outbox that is not done.
type Push struct {
	ID     PushID     `json:"id"`
	Kind   PushKind   `json:"kind"`
	Seq    int64      `json:"seq"` // of the fact that it tells of
	Text   string     `json:"text,omitempty"`
	Change ItemChange `json:"change,omitzero"`
	At     time.Time  `json:"at"`

	// Tried is when it was sent last, with nothing known of what became of it; zero: it is not
	// on its way. Rev is the revision that it was sent for, Heard that its answer came, so that
	// nothing of it is under way any more.
	Tried time.Time `json:"tried,omitzero"`
	Boot  string    `json:"boot,omitempty"` // as in PushTried
	UpMS  int64     `json:"up_ms,omitempty"`
	Rev   int       `json:"rev,omitempty"`
	Heard bool      `json:"heard,omitempty"`

	Tries   int    `json:"tries,omitempty"`
	Why     string `json:"why,omitempty"`     // of the last try that failed
	Refused bool   `json:"refused,omitempty"` // it is parked: the service does not take it
}

// RemoteItem is an item of a tracker that is kept up to date, with what is still to be sent to it.
type RemoteItem struct {
	Service Service `json:"service"`
	Item    string  `json:"item"` // as people write it
	Spec    string  `json:"spec,omitempty"`
	Upto    int64   `json:"upto,omitempty"` // the newest fact that entries were made of
	Pushes  []Push  `json:"pushes,omitempty"`

	Comment string    `json:"comment,omitempty"` // the id of the comment that is edited in place
	URL     string    `json:"url,omitempty"`
	Sent    int       `json:"sent,omitempty"`
	SentAt  time.Time `json:"sent_at,omitzero"`
}

// BreakerState is one of three: calls go out, none do, one is tried.
type BreakerState string

// The states of a breaker.
const (
	BreakerClosed   BreakerState = "closed"
	BreakerOpen     BreakerState = "open"
	BreakerHalfOpen BreakerState = "half-open"
)

// Breaker keeps calls from a service that fails.
type Breaker struct {
	State     BreakerState `json:"state,omitempty"`     // "" is closed
	Failures  []time.Time  `json:"failures,omitempty"`  // closed: those that count
	Successes int          `json:"successes,omitempty"` // half-open: in a row
	Opened    time.Time    `json:"opened_at,omitzero"`
	Until     time.Time    `json:"until,omitzero"`  // open: no call before; half-open: no other call before
	Trial     string       `json:"trial,omitempty"` // half-open: who is trying a call; "" for nobody
	Why       string       `json:"why,omitempty"`   // the failure that moved it
}

// Now is the state, of an empty one as well.
func (b Breaker) Now() BreakerState {
	if b.State == "" {
		return BreakerClosed
	}
	return b.State
}

// OutsideService is how a service is.
type OutsideService struct {
	Service Service   `json:"service"`
	Breaker Breaker   `json:"breaker,omitzero"`
	Until   time.Time `json:"until,omitzero"` // its limit, or until it is asked again what it denied
	Why     string    `json:"why,omitempty"`
	Fix     string    `json:"fix,omitempty"` // what a person can do
	Trips   int       `json:"trips,omitempty"`
	// Retried is when a person wanted it tried last.
	Retried time.Time `json:"retried_at,omitzero"`
}

// OutsideState is what is known of trackers.
type OutsideState struct {
	Remotes  []*RemoteItem    `json:"remotes,omitempty"`
	Outsides []OutsideService `json:"outside,omitempty"`
	Renames  []RepoRenamed    `json:"renames,omitempty"`
}

// Outside is how a service is.
func (s *OutsideState) Outside(service Service) OutsideService {
	for _, x := range s.Outsides {
		if x.Service == service {
			return x
		}
	}
	return OutsideService{Service: service}
}

// Remote is an item that is kept up to date, nil where nothing was ever to be sent to it.
func (s *OutsideState) Remote(service Service, item string) *RemoteItem {
	for _, r := range s.Remotes {
		if r.Service == service && r.Item == item {
			return r
		}
	}
	return nil
}

// Waiting counts the entries of a service that wait, and those that are parked.
func (s *OutsideState) Waiting(service Service) (waiting, parked int) {
	for _, r := range s.Remotes {
		for _, p := range r.Pushes {
			switch {
			case r.Service != service:
			case p.Refused:
				parked++
			default:
				waiting++
			}
		}
	}
	return waiting, parked
}

func (s *OutsideState) editOutside(service Service, edit func(*OutsideService)) {
	s.Outsides = slices.Clone(s.Outsides)
	i := slices.IndexFunc(s.Outsides, func(x OutsideService) bool { return x.Service == service })
	if i < 0 {
		s.Outsides = append(s.Outsides, OutsideService{Service: service})
		i = len(s.Outsides) - 1
	}
	edit(&s.Outsides[i])
}

func (s *OutsideState) editRemote(service Service, item string, edit func(*RemoteItem)) {
	s.Remotes = slices.Clone(s.Remotes)
	i := slices.IndexFunc(s.Remotes, func(r *RemoteItem) bool { return r.Service == service && r.Item == item })
	c := RemoteItem{Service: service, Item: item}
	if i >= 0 {
		c = *s.Remotes[i]
		c.Pushes = slices.Clone(c.Pushes)
	}
	edit(&c)
	if i < 0 {
		s.Remotes = append(s.Remotes, &c)
		return
	}
	s.Remotes[i] = &c
}

// editPush changes an entry that is there.
func (s *OutsideState) editPush(at PushRef, edit func(*RemoteItem, *Push)) {
	r := s.Remote(at.Service, at.Item)
	if r == nil || !slices.ContainsFunc(r.Pushes, func(p Push) bool { return p.ID == at.ID }) {
		return
	}
	s.editRemote(at.Service, at.Item, func(r *RemoteItem) {
		edit(r, &r.Pushes[slices.IndexFunc(r.Pushes, func(p Push) bool { return p.ID == at.ID })])
	})
}

// PushRef names an entry, in facts.
type PushRef struct {
	ID      PushID  `json:"id"`
	Service Service `json:"service"`
	Item    string  `json:"item"`
}

// PushWanted puts an entry into the outbox. One that is to say how things stand takes the place
// of an older one that nobody has tried yet.
type PushWanted struct {
	PushRef
	What   PushKind   `json:"kind"`
	Seq    int64      `json:"for"` // the fact that it tells of
	Spec   string     `json:"spec,omitempty"`
	Text   string     `json:"text,omitempty"`
	Change ItemChange `json:"change,omitzero"`
}

// Kind implements Fact.
func (PushWanted) Kind() string { return "push.wanted" }

// About implements Fact.
func (PushWanted) About() TaskID { return "" }

func (f PushWanted) fold(s *State, e Event) {
	s.editRemote(f.Service, f.Item, func(r *RemoteItem) {
		r.Upto, r.Spec = max(r.Upto, f.Seq), f.Spec
		if f.What == PushStatus {
			r.Pushes = slices.DeleteFunc(r.Pushes, func(p Push) bool { return p.Kind == PushStatus && p.Tried.IsZero() && !p.Refused })
		}
		r.Pushes = append(r.Pushes, Push{ID: f.ID, Kind: f.What, Seq: f.Seq, Text: f.Text, Change: f.Change, At: e.At})
	})
}

// PushTried says that an entry is about to be sent. Written before it is, it is what a process
// after a kill knows of it: it may have arrived.
type PushTried struct {
	PushRef
	Rev int `json:"rev,omitempty"` // the revision of the item that it is sent for
	// Boot and UpMS are which start of the machine it was, and how long ago: a clock can be set. "" is
	// not known.
	Boot string `json:"boot,omitempty"`
	UpMS int64  `json:"up_ms,omitempty"`
}

// Kind implements Fact.
func (PushTried) Kind() string { return "push.tried" }

// About implements Fact.
func (PushTried) About() TaskID { return "" }

func (f PushTried) fold(s *State, e Event) {
	s.editPush(f.PushRef, func(_ *RemoteItem, p *Push) {
		p.Tried, p.Boot, p.UpMS, p.Rev, p.Heard = e.At, f.Boot, f.UpMS, f.Rev, false
		p.Tries++
	})
}

// Pushed says that an entry has arrived.
type Pushed struct {
	PushRef
	Remote string `json:"remote,omitempty"` // the id of the comment
	URL    string `json:"url,omitempty"`
	Found  bool   `json:"found,omitempty"` // it was there already, from a try before
}

// Kind implements Fact.
func (Pushed) Kind() string { return "pushed" }

// About implements Fact.
func (Pushed) About() TaskID { return "" }

func (f Pushed) fold(s *State, e Event) {
	s.editPush(f.PushRef, func(r *RemoteItem, p *Push) {
		if p.Kind == PushStatus {
			r.Comment = f.Remote
		}
		if f.URL != "" {
			r.URL = f.URL
		}
		r.Sent++
		r.SentAt = e.At
		r.Pushes = slices.DeleteFunc(r.Pushes, func(p Push) bool { return p.ID == f.ID })
	})
	s.editOutside(f.Service, func(x *OutsideService) { x.Until, x.Why, x.Fix = time.Time{}, "", "" })
}

// PushFailed says that a try came to nothing, as far as is known.
type PushFailed struct {
	PushRef
	Why     string `json:"why"`
	Arrived bool   `json:"arrived,omitempty"` // it may have arrived all the same
	Heard   bool   `json:"heard,omitempty"`   // there was an answer: nothing is under way any more
}

// Kind implements Fact.
func (PushFailed) Kind() string { return "push.failed" }

// About implements Fact.
func (PushFailed) About() TaskID { return "" }

func (f PushFailed) fold(s *State, _ Event) {
	s.editPush(f.PushRef, func(_ *RemoteItem, p *Push) {
		p.Why, p.Heard = f.Why, f.Heard
		if !f.Arrived {
			p.Tried, p.Rev = time.Time{}, 0
		}
	})
}

// PushRefused parks an entry that the service does not take, and would not take later. What
// comes after it goes on.
type PushRefused struct {
	PushRef
	Why string `json:"why"`
}

// Kind implements Fact.
func (PushRefused) Kind() string { return "push.refused" }

// About implements Fact.
func (PushRefused) About() TaskID { return "" }

func (f PushRefused) fold(s *State, _ Event) {
	s.editPush(f.PushRef, func(_ *RemoteItem, p *Push) { p.Why, p.Refused, p.Tried, p.Rev = f.Why, true, time.Time{}, 0 })
}

// PushDropped takes an entry that is parked out of the outbox, because a person says so.
type PushDropped struct {
	PushRef
}

// Kind implements Fact.
func (PushDropped) Kind() string { return "push.dropped" }

// About implements Fact.
func (PushDropped) About() TaskID { return "" }

func (f PushDropped) fold(s *State, _ Event) {
	s.editPush(f.PushRef, func(r *RemoteItem, _ *Push) {
		r.Pushes = slices.DeleteFunc(r.Pushes, func(p Push) bool { return p.ID == f.ID })
	})
}

// ServiceLimited says that nothing is sent to a service before a time: it is at a limit, or has
// denied what it was asked.
type ServiceLimited struct {
	Service Service   `json:"service"`
	Until   time.Time `json:"until"`
	Why     string    `json:"why"`
	Fix     string    `json:"fix,omitempty"` // what a person can do
}

// Kind implements Fact.
func (ServiceLimited) Kind() string { return "service.limited" }

// About implements Fact.
func (ServiceLimited) About() TaskID { return "" }

func (f ServiceLimited) fold(s *State, _ Event) {
	s.editOutside(f.Service, func(x *OutsideService) { x.Until, x.Why, x.Fix = f.Until, f.Why, f.Fix })
}

// ServiceRetried says that a person wants what waits for a service to be sent now: a limit and
// the wait of an open breaker are over, and what is parked is tried again.
type ServiceRetried struct {
	Service Service `json:"service"`
}

// Kind implements Fact.
func (ServiceRetried) Kind() string { return "service.retried" }

// About implements Fact.
func (ServiceRetried) About() TaskID { return "" }

func (f ServiceRetried) fold(s *State, e Event) {
	s.editOutside(f.Service, func(x *OutsideService) {
		x.Until, x.Why, x.Fix, x.Retried = time.Time{}, "", "", e.At
		if x.Breaker.Now() == BreakerOpen {
			x.Breaker.Until = e.At
		}
	})
	for _, p := range s.Pulls {
		if f.Service == GitHub && p.Request.Parked {
			s.editPull(p.Branch, func(p *Pull) { p.Request.Parked = false })
		}
	}
	for _, r := range s.Remotes {
		if r.Service == f.Service && slices.ContainsFunc(r.Pushes, func(p Push) bool { return p.Refused }) {
			s.editRemote(r.Service, r.Item, func(r *RemoteItem) {
				for i := range r.Pushes {
					r.Pushes[i].Refused = false
				}
			})
		}
	}
}

// BreakerMoved is a breaker after something has moved it, also a failure that it only counts.
type BreakerMoved struct {
	Service Service      `json:"service"`
	From    BreakerState `json:"from"`
	Breaker Breaker      `json:"breaker"`
}

// Kind implements Fact.
func (BreakerMoved) Kind() string { return "breaker.moved" }

// About implements Fact.
func (BreakerMoved) About() TaskID { return "" }

func (f BreakerMoved) fold(s *State, _ Event) {
	s.editOutside(f.Service, func(x *OutsideService) {
		if f.Breaker.Now() == BreakerOpen && f.From != BreakerOpen {
			x.Trips++
		}
		x.Breaker = f.Breaker
	})
}

// RepoRenamed says that a repository answers under another name by now. It is followed there; what
// names it should be changed.
type RepoRenamed struct {
	Service Service `json:"service"`
	From    string  `json:"from"`
	To      string  `json:"to"`
}

// Kind implements Fact.
func (RepoRenamed) Kind() string { return "repo.renamed" }

// About implements Fact.
func (RepoRenamed) About() TaskID { return "" }

func (f RepoRenamed) fold(s *State, _ Event) {
	s.Renames = slices.DeleteFunc(slices.Clone(s.Renames), func(r RepoRenamed) bool { return r.Service == f.Service && r.From == f.From })
	s.Renames = append(s.Renames, f)
}

// Renamed is what a repository is called now; "" for one that is not known to have another name.
func (s *OutsideState) Renamed(service Service, repo string) string {
	for _, r := range s.Renames {
		if r.Service == service && r.From == repo {
			return r.To
		}
	}
	return ""
}

// serviceNamed is the service with a name.
func serviceNamed(name string) (Service, error) {
	for _, s := range Services() {
		if string(s) == name {
			return s, nil
		}
	}
	return "", &Refusal{Why: fmt.Sprintf("there is no service %q", name), Hint: "use github, jira or ado", Kind: ErrUsage}
}

// ResetBreaker closes the breaker of a service.
func (s *State) ResetBreaker(name string) ([]Fact, error) {
	service, err := serviceNamed(name)
	if err != nil {
		return nil, err
	}
	b := s.Outside(service).Breaker
	if b.Now() == BreakerClosed && len(b.Failures) == 0 {
		return nil, &Refusal{Why: fmt.Sprintf("the breaker of %s is closed", service.Title()), Hint: "`[[breakers]]` shows them", Kind: ErrUsage}
	}
	return []Fact{BreakerMoved{Service: service, From: b.Now(), Breaker: Breaker{State: BreakerClosed}}}, nil
}

// DropParked takes what a service has refused out of its outbox: it is never sent.
func (s *State) DropParked(name string) ([]Fact, error) {
	service, err := serviceNamed(name)
	if err != nil {
		return nil, err
	}
	var facts []Fact
	for _, r := range s.Remotes {
		for _, p := range r.Pushes {
			if r.Service == service && p.Refused {
				facts = append(facts, PushDropped{PushRef{ID: p.ID, Service: service, Item: r.Item}})
			}
		}
	}
	if len(facts) == 0 {
		return nil, &Refusal{Why: "nothing is parked for " + service.Title(), Hint: "`[[breakers]]` shows what waits", Kind: ErrUsage}
	}
	return facts, nil
}

// RetryService has what waits for a service sent now.
func (s *State) RetryService(name string) ([]Fact, error) {
	service, err := serviceNamed(name)
	if err != nil {
		return nil, err
	}
	x := s.Outside(service)
	waiting, parked := s.Waiting(service)
	held := !x.Until.IsZero() || x.Breaker.Now() == BreakerOpen
	pulls := service == GitHub && slices.ContainsFunc(s.Pulls, func(p *Pull) bool { return p.Request.Error != "" })
	if waiting+parked == 0 && !held && !pulls {
		return nil, &Refusal{Why: "nothing waits for " + service.Title(), Hint: "`[[breakers]]` shows what waits", Kind: ErrUsage}
	}
	return []Fact{ServiceRetried{Service: service}}, nil
}
