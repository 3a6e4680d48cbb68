package view

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/keymap"
)

type link struct{ path, title, key string }

// links are the pages of the navigation, each with the key that follows g.
func links() []link {
	return []link{
		{"/", "Overview", "o"},
		{"/plan", "Plan", "p"},
		{"/threads", "Threads", "t"},
		{"/specs", "Specs", "i"},
		{"/gates", "Gates", "g"},
		{"/receipts", "Receipts", "r"},
		{"/history", "History", "h"},
		{"/services", "Services", "e"},
		{"/settings", "Settings", "s"},
		{"/doctor", "Doctor", "d"},
	}
}

// shown reports whether a page stands in the navigation: that of services where there are any.
func (f Frame) shown(l link) bool { return l.path != "/services" || f.Bar.Outside || f.Path == l.path }

// within reports whether a page belongs to an entry of the navigation: those of single
// tasks, specs and gates stand below their lists.
func within(path, entry string) bool {
	below := map[string][]string{"/plan": {"/task/"}, "/threads": {"/decisions"}, "/specs": {"/spec/"}, "/gates": {"/gate/"}, "/receipts": {"/receipt/"}, "/history": {"/report/", "/session/", "/log"}}
	if path == entry || entry != "/" && strings.HasPrefix(path, entry+"/") {
		return true
	}
	return slices.ContainsFunc(below[entry], func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// tabTitle is what a tab says: what needs somebody, how far it is, where.
func tabTitle(f Frame, p Page) string {
	parts := []string{f.Repository}
	if f.Path != "/" {
		parts = []string{p.Title, f.Repository}
	}
	if head := tabHead(f.Bar); head != "" {
		parts = append([]string{head}, parts...)
	}
	return strings.Join(parts, " · ")
}

// liveAttributes connect a page to the stream of its changes.
func liveAttributes(f Frame) templ.Attributes {
	a := templ.Attributes{"hx-headers": fmt.Sprintf(`{"X-CSRF-Token":%q}`, f.CSRF), "data-csrf": f.CSRF}
	for name, k := range f.Keys { // the page's own keys are those of the screen
		a["data-key-of-"+name] = k
	}
	if f.Live {
		a["sse-connect"] = "/live?of=" + f.Of + "&view=" + url.QueryEscape(f.Key) + "&have=" + f.Have
		a["data-worker"] = f.Worker
		a["sse-swap"] = "patch"
		a["hx-swap"] = "none"
	}
	return a
}

type backKey struct{}

// WithBack tells forms where a page without scripts goes after them.
func WithBack(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, backKey{}, address)
}

func backTo(ctx context.Context) string {
	p, _ := ctx.Value(backKey{}).(string)
	return p
}

// choice is an entry of a list; the empty one says so.
func choice(c string) string {
	if c == "" {
		return "–"
	}
	return c
}

// undoOf is the button that takes an action back: nobody is asked again.
func undoOf(c *action.Call) action.Available {
	o := action.Available{Action: c.Action, ID: c.Input.ID, Title: "Undo", Preset: c.Input}
	o.Preset.Sure = true
	return o
}

// moveKey is the key of what moves about on a page.
func moveKey(keys action.Keys, name string) string { return keymap.Of(keys, name)[0] }
