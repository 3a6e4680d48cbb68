// Package web owns the dashboard: its addresses, its pages, the forms that act, and
// how pages stay live. What may come in at all is internal/web/guard's, how a page
// looks is internal/web/view's, what an action does is internal/action's, what the
// state means is internal/report's. It starts no process and writes no file.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/observe/past"
	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/web/api"
	"github.com/ralph-loop/ralph/internal/web/asset"
	"github.com/ralph-loop/ralph/internal/web/index"
	"github.com/ralph-loop/ralph/internal/web/live"
	"github.com/ralph-loop/ralph/internal/web/markup"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Source is the repository as the dashboard sees it.
type Source = watch.Source

// Options are what the dashboard needs from outside.
type Options struct {
	Source  Source
	Backend action.Backend
	Gates   Gates  // nil: pages of gates show what the state has
	Proofs  Proofs // nil: nothing is decided again
	// Whole reads what the state has in brief of a task's outputs; nil: that is all.
	Whole   func(*ralph.Task) *ralph.Task
	Root    string // the repository
	Version string // of ralph
	Build   string // changes with every build of ralph
	// Trouble says which file of the repository cannot be read, and why: pages show what
	// there was before. "" for none; nil: nobody knows.
	Trouble func() string
	// Log is told of mistakes in ralph itself that a page or work for one ran into; nil:
	// nobody is.
	Log func(text string)

	Turns    Turns    // what agents were told and printed; nil: pages leave it out
	Schedule Schedule // how the scheduler sees the plan; nil: pages leave it out
	// Next are the tasks that would start now; nil: nobody knows.
	Next func(*ralph.State) ([]screen.Ready, error)
	// Past is the state after a fact; nil: the whole journal up to it is folded.
	Past func(seq int64) (*ralph.State, error)
	// Settings may be changed from here; nil where they may not.
	Settings Settings
	// Doctor looks whether all is in order; nil where it cannot.
	Doctor Doctor
	// Specs are the files in ralph/specs; nil: pages show what the state knows of them.
	Specs Specs
}

// Server is the dashboard of one repository.
type Server struct {
	opt    Options
	of     string // the repository, for streams
	routes *http.ServeMux
	pages  *http.ServeMux // addresses that people look at, all of them GET
	assets *asset.Set
	watch  *watch.Watcher
	hub    *live.Hub
	index  *index.Index
	panics *watch.Panics

	// What was made of the past, for whoever looks next.
	gatesPast past.Gates            // gates that are decided
	tasksPast past.Tasks            // facts of tasks
	feed      past.Feed             // what happened last
	windows   past.Windows          // pages of the log
	docs      past.Kept[markup.Doc] // specs as they are shown
	reports   *past.Reports         // of sessions
	histories *past.Histories       // of moments of the past

	// What goes on in the background, for all who look.
	jobs   *past.Jobs // replays and proofs
	doctor *doctorJob // the doctor's looks
}

// beat is how often a stream says that it lives, so that a page can say when it is stale.
const beat = 3 * time.Second

// New returns the dashboard. Close ends what it does in the background.
func New(opt Options) *Server {
	opt.Source = watch.NewRecent(opt.Source)
	x := &Server{opt: opt, of: nameOf(opt.Root), pages: http.NewServeMux(), routes: http.NewServeMux(), assets: asset.Load()}
	x.panics, x.histories = &watch.Panics{Log: opt.Log}, &past.Histories{}
	x.index = index.New(index.Options{Journal: opt.Source, Work: past.Work, Rest: past.Rest, Panicked: x.panics.Say})
	looks := watch.Options{Source: opt.Source, World: opt.Backend.Context, Index: x.index, Schedule: opt.Schedule, Trouble: opt.Trouble, Panics: x.panics}
	if opt.Turns != nil {
		looks.Grown = opt.Turns.Grown
	}
	x.watch = watch.New(looks)
	x.jobs = past.NewJobs(x.watch.Context(), x.panics)
	x.reports = past.NewReports(opt.Source, x.index.Before, x.watch.Nudge, x.panics)
	x.doctor = &doctorJob{panics: x.panics, ctx: x.watch.Context(), doctor: opt.Doctor, now: opt.Source.Now}
	x.watch.Stirs(func() bool { return x.jobs.Busy() || x.doctor.busy() })
	x.hub = live.New(live.Options{Render: x.parts, Changed: x.watch.Changed, Beat: beat, Build: opt.Build, Panicked: x.panics.Say})
	x.route()
	return x
}

// route says who answers which address.
func (x *Server) route() {
	for pattern, page := range pages() {
		x.pages.HandleFunc("GET "+pattern, x.make(page))
	}
	x.routes.HandleFunc("GET /", x.show)
	opt := x.opt
	json := api.New(api.Options{
		Source: opt.Source, Backend: opt.Backend, Version: opt.Version, Beat: beat,
		Index: x.index, Report: x.reportOf, Gates: opt.Gates, Proofs: opt.Proofs, Next: opt.Next, Panicked: x.panics.Say,
	})
	for _, below := range []string{"/api", "/api/"} {
		x.routes.Handle("GET "+below, json)
		x.routes.Handle("POST "+below, json)
	}
	x.routes.HandleFunc("GET /live", x.stream)
	x.routes.HandleFunc("GET /assets/{version}/{name}", x.assets.Serve)
	x.routes.HandleFunc("GET /session/{id}/agent.log", x.agentLog)
	x.routes.HandleFunc("GET /session/{id}/{file}", x.sessionFile)
	x.routes.HandleFunc("GET /task/{id}/file/{n}/{name}", x.turnFile)
	x.routes.HandleFunc("POST /do/{action}", x.do)
	x.routes.HandleFunc("POST /doctor", x.examine)
	x.routes.HandleFunc("POST /settings", x.saveSettings)
	x.routes.HandleFunc("POST /settings/file", x.saveSettingsText)
}

// Close ends what the dashboard does in the background.
func (x *Server) Close() {
	x.watch.Close()
	x.reports.Close()
	x.histories.Close()
	x.index.Close()
}

// Style is the address of the style sheet, for pages that are not this package's.
func (x *Server) Style() string { return x.assets.Style }

// ServeHTTP answers one request, which the guard has let in.
func (x *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := &began{ResponseWriter: w}
	defer func() {
		if what := recover(); what != nil {
			x.panics.Say(what)
			x.broke(out, r)
		}
	}()
	x.routes.ServeHTTP(out, r)
}

// Open is what everybody may read, without having come in: style and scripts, which are
// the same in every ralph. It knows nothing of the repository, not for an error either.
func (x *Server) Open() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /assets/{version}/{name}", x.assets.Serve)
	return mux
}

// request is what a page may know of who asks: its address alone, so that all who look
// at the same address share one rendering.
type request struct {
	*http.Request
	*watch.Look
	server *Server
}

// pageFunc makes a page as it is now. Its error is shown with the status of statusOf.
type pageFunc func(ctx context.Context, r *request) (view.Page, error)

// made carries a page out of the mux, which finds its function and its path's values.
type made struct {
	found bool
	look  *watch.Look
	page  view.Page
	err   error
}

type madeKey struct{}

// make answers a request inside the mux.
func (x *Server) make(page pageFunc) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		if m, ok := r.Context().Value(madeKey{}).(*made); ok {
			m.found = true
			server := x
			if m.look.Past {
				server = x.asThen(m.look)
			}
			m.page, m.err = page(r.Context(), &request{r, m.look, server})
		}
	}
}

// page makes the page of an address of this dashboard.
func (x *Server) page(ctx context.Context, address string, l *watch.Look) (view.Page, error) {
	m := &made{look: l}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, madeKey{}, m), http.MethodGet, address, http.NoBody)
	if err == nil && !r.URL.IsAbs() && r.URL.Host == "" {
		x.pages.ServeHTTP(discard{}, r)
	}
	if !m.found {
		return view.Page{}, &ralph.Refusal{Why: "there is no page " + address, Hint: "the overview leads everywhere", Kind: ralph.ErrNotFound}
	}
	return m.page, m.err
}

// discard takes what the mux itself would answer.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// show answers a whole page.
func (x *Server) show(w http.ResponseWriter, r *http.Request) {
	defer x.index.Start() // the history is read after the first page has gone out
	now, status := x.watch.Look(), http.StatusOK
	var page view.Page
	l, err := x.lookFor(r.Context(), r.URL.RequestURI(), now)
	if err == nil {
		if last := x.asLast(r.Context(), r.URL, l); last != "" {
			http.Redirect(w, r, last, http.StatusSeeOther)
			return
		}
		page, err = x.page(r.Context(), r.URL.RequestURI(), l)
	} else {
		l = now
	}
	if err != nil {
		status, page = statusOf(err), view.Failed(err)
	}
	x.write(w, r, status, l, page)
}

// write sends a page in its frame.
func (x *Server) write(w http.ResponseWriter, r *http.Request, status int, l *watch.Look, page view.Page) {
	frame := view.Frame{
		Path: r.URL.Path, Key: r.URL.RequestURI(), Live: status == http.StatusOK && r.Method == http.MethodGet && !l.Past, Of: x.of, Worker: x.assets.Worker,
		Repository: filepath.Base(x.opt.Root), Version: x.opt.Version, Build: x.opt.Build,
		Style: x.assets.Style, Early: x.assets.Early, Scripts: x.assets.Scripts, CSRF: csrfOf(r.Context()), Bar: l.Bar(), Keys: l.World().Keys,
	}
	if status == http.StatusOK {
		frame.Past = x.pastOf(r.URL, l)
	}
	if frame.Live { // its stream needs to send only what has changed since
		if parts, err := partsOf(x.watch.Context(), frame.Key, l, page); err == nil {
			frame.Have = x.hub.Have(parts)
		}
	}
	var b bytes.Buffer
	if err := view.Document(frame, page).Render(view.WithBack(view.WithCSRF(r.Context(), frame.CSRF), here(r)), &b); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	html := []byte(l.World().Keys.Buttons(b.String()))
	if l.Past {
		html = keepAt(html, l.State.Seq)
	}
	_, _ = w.Write(html)
}

// stream answers the changes of the pages that are the query's `view`s. Pages of another repository, which was served at
// this address before, get none of this one's.
func (x *Server) stream(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	keys := q["view"]
	if len(keys) == 0 {
		keys = []string{""} // which is no page
	}
	if q.Has("of") && q.Get("of") != x.of {
		keys = slices.Repeat([]string{elsewhere}, len(keys))
	}
	x.hub.Serve(w, r, keys...)
}

// elsewhere is the key of a page of another repository.
const elsewhere = "elsewhere"

// nameOf tells a repository from others, which may be served at the same address one day.
func nameOf(root string) string {
	sum := sha256.Sum256([]byte(root))
	return hex.EncodeToString(sum[:8])
}

// parts renders the parts of a page that change, and those of the frame; nil when the page
// is as it was at a version, the last one that it was rendered at.
func (x *Server) parts(ctx context.Context, key string, last int64) ([]live.Part, error) {
	if key == elsewhere {
		return nil, live.Gone("another repository is served here now")
	}
	if last >= 0 && x.watch.Unchanged(key, last) {
		return nil, nil
	}
	l, err := x.lookFor(ctx, key, x.watch.NewestLook())
	if err != nil {
		return nil, live.Gone(err.Error())
	}
	page, err := x.page(ctx, key, l)
	if errors.Is(err, ralph.ErrNotFound) {
		return nil, live.Gone(err.Error())
	}
	if err != nil {
		return nil, err
	}
	return partsOf(ctx, key, l, page)
}

// partsOf renders the parts of a page that change.
func partsOf(ctx context.Context, key string, l *watch.Look, page view.Page) ([]live.Part, error) {
	sections := append([]view.Section{{ID: view.BarID, Body: view.Bar(l.Bar())}}, page.Sections...)
	out := make([]live.Part, 0, len(sections))
	for _, s := range sections {
		if s.Once {
			continue
		}
		for _, part := range append([]view.Section{s}, s.Inner...) { // where one stands is sent before what it is
			var b bytes.Buffer
			if err := view.Alone(part).Render(view.WithBack(ctx, key), &b); err != nil {
				return nil, fmt.Errorf("render %s of %s: %w", part.ID, key, err)
			}
			out = append(out, live.Part{ID: part.ID, HTML: []byte(l.World().Keys.Buttons(b.String()))})
		}
	}
	return out, nil
}

// statusOf is the HTTP status of an error.
func statusOf(err error) int {
	switch {
	case errors.Is(err, ralph.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, ralph.ErrUsage):
		return http.StatusUnprocessableEntity
	}
	var refusal *ralph.Refusal
	if errors.As(err, &refusal) {
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

type csrfKey struct{}

// WithCSRF gives a request the token that its forms have to carry.
func WithCSRF(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, csrfKey{}, token)
}

func csrfOf(ctx context.Context) string {
	token, _ := ctx.Value(csrfKey{}).(string)
	return token
}
