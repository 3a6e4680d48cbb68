// Package tracker is what ralph knows of trackers as such: items and how people write them
// down, comments, what can go wrong with a call. The clients are in packages of their own
// below it, one for each service, and are the only ones to know its address and its JSON.
//
// It does NOT own what is sent, nor when (outbox), nor what an answer means for the calls after
// it (policy).
package tracker

import (
	"context"
	"net/http"
	"time"

	"github.com/ralph-loop/ralph"
)

// Access is how one service is reached.
type Access struct {
	URL     string // of the API; "": the public one of the service
	Project string // GitHub: owner/name; Jira: the key; Azure DevOps: the name
	User    string // Jira Cloud: whose the token is; without one the token is sent as a bearer's
	Token   string
	HTTP    *http.Client // nil: one with a time limit
}

// Client is one tracker. Errors of calls are *Error.
type Client interface {
	// Check proves the credentials with one call that changes nothing, and says whose they are.
	Check(ctx context.Context) (who string, err error)
	// Item reads an item. With the etag of an answer before, Unchanged may be all that it says.
	Item(ctx context.Context, ref Ref, etag string) (Item, error)
	// Comment writes a new comment. Where items have revisions, it is refused when the item has
	// another one than c.Rev by now: see Guarded.
	Comment(ctx context.Context, ref Ref, c Comment) (Remote, error)
	// Edit puts another text in the place of that of a comment. To do it twice changes nothing.
	Edit(ctx context.Context, ref Ref, id string, c Comment) (Remote, error)
	// Find looks for the comments with a marker, the oldest first. since bounds the search.
	Find(ctx context.Context, ref Ref, marker string, since time.Time) ([]Remote, error)
	// Set brings state, labels and fields to what is wanted. To do it twice changes nothing.
	Set(ctx context.Context, ref Ref, c Change) error
}

// Guarded is a client of a service that refuses a write when the item has changed since a
// revision: what was sent twice arrives once, without a search.
type Guarded interface {
	Revision(ctx context.Context, ref Ref) (int, error)
}

// Remover is a client that can take a comment away again.
type Remover interface {
	Remove(ctx context.Context, ref Ref, id string) error
}

// Searcher is a client that can list items by a query in the service's own words.
type Searcher interface {
	Search(ctx context.Context, query, etag string) (Page, error)
}

// Reader is a client that can read what people wrote on an item, the oldest first.
type Reader interface {
	Comments(ctx context.Context, ref Ref) ([]Said, error)
}

// Renamer is a client that follows what was renamed, and says what is called otherwise by now.
type Renamer interface {
	Renames() map[string]string // the name now, by the name that was asked for
}

// Said is what somebody wrote: a comment on an item or on a line of a pull request, or a review.
type Said struct {
	ID          int64
	Text        string
	Author      string
	Association string // as of an item
	At          time.Time
	Path        string // on a line
	Line        int
	State       string // of a review
}

// Attachment is a file that is attached to an item.
type Attachment struct{ Name, URL string }

// Item is an item of a tracker: an issue, a ticket, a work item.
type Item struct {
	Ref         Ref
	Title       string
	Body        string // Markdown or plain text
	URL         string // for people
	Author      string
	Association string // GitHub: OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE, ...
	// Names are what the author is known by, beside Author: an address, the id of the account. A name
	// for people is none, as everybody chooses that himself.
	Names     []string
	Member    bool // Jira, Azure DevOps: the author is one of the site's own people, no customer and no program
	Attached  []Attachment
	State     string // as the service calls it: open, closed, In Progress, ...
	Closed    bool
	Pull      bool // GitHub: it is a pull request
	Labels    []string
	Comments  int
	Updated   time.Time
	Rev       int // Azure DevOps
	ETag      string
	Unchanged bool // since the answer with the etag
}

// Page is what a search found.
type Page struct {
	Items     []Item
	ETag      string
	Unchanged bool // since the answer with the etag
	More      bool // there are more than it lists
}

// Comment is a comment to be written.
type Comment struct {
	Marker string // by which it is found again; not empty
	Text   string // Markdown
	Rev    int    // the revision that the item must have; 0: any
}

// Remote is a comment that is there.
type Remote struct {
	ID  string
	URL string // for people; may be empty
}

// Change is what an item is to be like.
type Change = ralph.ItemChange

// Meta is what an answer says beside its body.
type Meta struct {
	Status    int
	ETag      string
	Next      string        // the address of the next page
	Remaining int           // calls that are left, -1 where it is not said
	Wait      time.Duration // before the next call, asked for in a good answer
}

// Timeout is how long one call may take.
const Timeout = 30 * time.Second

// HTTPClient is a.HTTP, or one that ends a call in time and follows no address that changes
// what a request asks: those are answers that people must see.
func (a Access) HTTPClient() *http.Client {
	if a.HTTP != nil {
		return a.HTTP
	}
	return &http.Client{Timeout: Timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Ref names an item.
type Ref struct {
	Service ralph.Service
	Key     string // GitHub: owner/name#12; Jira: PROJ-7; Azure DevOps: 123
}
