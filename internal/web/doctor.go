package web

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Finding is one thing that the doctor looked at.
type Finding = view.Finding

// Doctor looks whether all is in order, as `ralph doctor` does. It starts programs and
// may take seconds; say is told what it looks at.
type Doctor interface {
	Run(ctx context.Context, say func(what string)) ([]Finding, error)
}

// longestLook bounds one look.
const longestLook = 2 * time.Minute

// doctorJob is where the doctor works: one look at a time, in the background, and the last
// one is kept. A look is begun by a person alone, never by a page that is shown.
type doctorJob struct {
	panics *watch.Panics
	ctx    context.Context //nolint:containedctx // the server's own life
	doctor Doctor
	now    func() time.Time

	mu    sync.Mutex
	page  view.DoctorPage
	ended time.Time // by this program's clock
}

// busy reports whether a look goes on, or has just ended.
func (d *doctorJob) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.page.Running || !d.ended.IsZero() && time.Since(d.ended) < 2*watch.QuietEvery
}

func (d *doctorJob) seen() view.DoctorPage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.page
}

// look begins a look, unless one goes on.
func (d *doctorJob) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.page.Running {
		return
	}
	began := d.now()
	d.page.Running, d.page.Looking, d.page.Step, d.page.Began = true, "the repository", 0, began
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, longestLook)
		defer cancel()
		clock := time.Now()
		found, err := d.run(ctx)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ended = time.Now()
		d.page = view.DoctorPage{At: began, Took: d.ended.Sub(clock), Findings: found}
		if err != nil {
			d.page.Failed = "The look could not be finished: " + err.Error()
		}
	}()
}

// run looks; a panic is its error.
func (d *doctorJob) run(ctx context.Context) (found []Finding, err error) {
	defer d.panics.Into(&err)
	return d.doctor.Run(ctx, d.say)
}

func (d *doctorJob) say(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.page.Looking = what
	d.page.Step++
}

// doctor is the page of the last look.
func doctor(_ context.Context, r *request) (view.Page, error) {
	if r.server.opt.Doctor == nil {
		return view.Page{}, noDoctor()
	}
	seen := r.server.doctor.seen()
	return view.Page{Title: "Doctor", Sections: []view.Section{
		{ID: "doctor-head", Body: view.DoctorHead(seen)},
		{ID: "doctor-found", Body: view.DoctorFindings(seen)},
	}}, nil
}

func noDoctor() error {
	return &ralph.Refusal{Why: "this dashboard has no doctor", Hint: "`ralph doctor` looks at the same things", Kind: ralph.ErrNotFound}
}

// examine begins a look. It starts programs, so no GET does it.
func (x *Server) examine(w http.ResponseWriter, r *http.Request) {
	if x.opt.Doctor == nil {
		x.answer(w, r, action.Result{}, noDoctor())
		return
	}
	x.doctor.look()
	if scripted(r) {
		x.answer(w, r, action.Result{Said: "The doctor looks; the page shows what it finds."}, nil)
		return
	}
	http.Redirect(w, r, "/doctor", http.StatusSeeOther)
}
