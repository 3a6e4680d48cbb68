// Package view owns how the dashboard looks: templates that make HTML from models, and
// nothing else. It reads no state and decides nothing; a model has what its template
// shows. The .templ files are the source, `make generate` makes the Go beside them.
package view

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/text"
)

// Page is what stands in the frame.
type Page struct {
	Title    string
	Quiet    bool // its title is for the tab and for readers of screens only
	Sections []Section
}

// Section is a part of a page that is replaced as a whole when it changes: the list of
// a page's sections is the same as long as somebody looks at it. A section stands
// alone, but for those in its list, which come and go: its body says with Inner, or At, where they stand.
type Section struct {
	ID    string
	Class string // of its element: how wide it stands, say
	Once  bool   // it is sent with the page alone, not when it changes: somebody types in it
	Body  templ.Component
	Inner []Section // parts of it that are sent by themselves
	Part  bool      // it is such a part
	Item  bool      // and an item of a list
	Row   bool      // or a row of a table
	Tone  string    // of an item
}

// class is the class of its element.
func (s Section) class() string {
	if s.Part {
		return s.Class
	}
	return strings.TrimSpace("section " + s.Class)
}

type placeKey struct{}

// In is a part of a page whose forms have names of their own: the same action may stand in the bar, too.
func In(where string, part templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return part.Render(context.WithValue(ctx, placeKey{}, where+"-"), w)
	})
}

// askID names the form of an action on the page.
func askID(ctx context.Context, o action.Available) string {
	where, _ := ctx.Value(placeKey{}).(string)
	return "ask-" + where + o.Action + "-" + o.ID
}

type innerKey struct{}

// inner are the sections inside the one that is rendered, and whether their bodies belong to it: in
// a page they do, in a patch each has its own.
type inner struct {
	list  []Section
	whole bool
}

// Whole is a section as a page has it, with those inside it.
func Whole(s Section) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return Patch(s).Render(context.WithValue(ctx, innerKey{}, inner{s.Inner, true}), w)
	})
}

// Alone is a section as it is sent when it changes: of those inside it only where they stand. A row
// is sent inside a template: outside of a table browsers drop its tags.
func Alone(s Section) templ.Component {
	part := Patch(s)
	if s.Row {
		part = apart(s)
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return part.Render(context.WithValue(ctx, innerKey{}, inner{s.Inner, false}), w)
	})
}

// Inner stands in the body of a section for those inside it.
func Inner() templ.Component { return insides(func(Section) bool { return true }) }

// At stands in the body of a section for one of those inside it.
func At(id string) templ.Component { return insides(func(s Section) bool { return s.ID == id }) }

func insides(which func(Section) bool) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		in, _ := ctx.Value(innerKey{}).(inner)
		for _, s := range in.list {
			if !which(s) {
				continue
			}
			part := place(s)
			if in.whole {
				part = Patch(s)
			}
			if err := part.Render(ctx, w); err != nil {
				return fmt.Errorf("render %s: %w", s.ID, err)
			}
		}
		return nil
	})
}

// Frame is what stands round every page.
type Frame struct {
	Path       string // of the page, for the navigation
	Key        string // path and query: what its stream of changes is asked for
	Live       bool   // it has such a stream
	Have       string // what the page is made with, for that stream
	Of         string // tells the repository from others, for that stream
	Worker     string // address of the script that shares the stream among tabs
	Repository string
	Version    string
	Build      string
	Style      string   // address
	Early      string   // address of the script that runs before anything is shown
	Scripts    []string // addresses, in order
	CSRF       string
	Bar        BarModel
	Keys       action.Keys // that a person chose
	Past       *PastModel  // the way through time; nil: the page has none
}

// PastModel is the way through time on a page that is a function of the state.
type PastModel struct {
	Path   string        // of the page
	Hidden []action.Pair // its other parameters
	Now    string        // the address of the page as it is now
	Past   bool          // it shows what was then
	At     int64         // the fact after which it is shown
	When   time.Time     // of that fact
	First  int64         // the slider's ends: the facts of a session
	Last   int64
	Newest int64 // how many facts there are
	// Session is the one in whose time the slider moves, "" for all of the journal.
	Session string
	Back    string // one fact earlier, "" for none
	On      string // one fact later
	Keys    action.Keys
}

// BarID is the control bar's section.
const BarID = "bar"

type csrfKey struct{}

// WithCSRF gives forms the token that they have to carry where there is no script. What
// is rendered for many at once has none: there a script sends it.
func WithCSRF(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, csrfKey{}, token)
}

func csrf(ctx context.Context) string {
	token, _ := ctx.Value(csrfKey{}).(string)
	return token
}

// Failed is the page of an error.
func Failed(err error) Page {
	hint := ""
	why := err.Error()
	var refusal *ralph.Refusal
	if errors.As(err, &refusal) {
		why, hint = refusal.Why, refusal.Hint
	}
	return Page{Title: "That did not work", Sections: []Section{{ID: "failed", Body: failed(text.Sentence(why), text.Sentence(hint))}}}
}

// stamp is a time as machines read it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// clock is a time as people read it where there is no script: the server's own zone.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// hour is the time of day, likewise.
func hour(t time.Time) string { return t.Local().Format("15:04:05") }

// dollars writes a cost.
func dollars(v float64) string { return page.Dollars(v) }

// Amount writes a large number shortly: `1.2M`.
func Amount(n int64) string { return page.Amount(n) }

// titled writes a word with a capital letter.
func titled(s string) string { return page.Titled(s) }
