package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// mostForm bounds what a form may send, in bytes: a spec is the longest thing.
const mostForm = 1 << 20

// do carries out the action of a form. A page with scripts gets what was done as a
// message, one without is sent back to where it came from.
func (x *Server) do(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	if err := r.ParseForm(); err != nil {
		x.answer(w, r, action.Done{}, err)
		return
	}
	name := r.PathValue("action")
	in, err := action.ReadForm(r.PostForm)
	if err != nil {
		x.answer(w, r, action.Done{}, err)
		return
	}
	l := x.watch.look()
	if o, ok := action.OfferOf(l.state, x.opt.Desk.World(), name, in.ID); ok && o.Confirm != "" && !in.Sure {
		x.write(w, r, http.StatusOK, l, view.Page{Title: o.Title, Sections: []view.Section{{ID: "confirm", Body: view.Confirm(o, in, back(r))}}})
		return
	}
	done, err := action.Do(r.Context(), x.opt.Desk, name, in)
	x.answer(w, r, done, err)
}

// answer says what came of an action.
func (x *Server) answer(w http.ResponseWriter, r *http.Request, done action.Done, err error) {
	scripted := r.Header.Get("HX-Request") == "true"
	switch {
	case err != nil && !scripted:
		x.write(w, r, statusOf(err), x.watch.look(), view.Failed(err))
		return
	case !scripted:
		http.Redirect(w, r, back(r), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err != nil {
		_ = view.Toast(action.Done{Said: err.Error()}, true).Render(r.Context(), w)
		return
	}
	_ = view.Toast(done, false).Render(r.Context(), w)
}

// back is the page that a form was on: an address of this dashboard, never another's.
func back(r *http.Request) string {
	u, err := url.Parse(r.PostFormValue("back"))
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") {
		return "/"
	}
	return u.RequestURI()
}
