package web

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// do carries out the action of a form. A page with scripts gets what was done as a
// message, one without is sent back to where it came from. What has to be confirmed is
// asked first, with everything that the form said.
func (x *Server) do(w http.ResponseWriter, r *http.Request) {
	if err := readForm(r); err != nil {
		x.answer(w, r, action.Result{}, &ralph.Refusal{Why: "the form cannot be read: " + err.Error(), Kind: ralph.ErrUsage})
		return
	}
	name := r.PathValue("action")
	in, err := action.ReadForm(firstOf(r.PostForm))
	if err == nil && name == "queue" {
		err = uploaded(r, &in)
	}
	if err != nil {
		x.answer(w, r, action.Result{}, err)
		return
	}
	if o, ok := action.AvailableAs(x.opt.Source.State(), x.opt.Backend.Context(), name, in.ID); ok && o.Confirm != "" && !in.Sure {
		x.confirm(w, r, o, in)
		return
	}
	done, err := action.Do(r.Context(), x.opt.Backend, name, in)
	x.answer(w, r, done, err)
}

// confirm asks whether a person means it: in the dialog of a page with scripts, else on a
// page of its own.
func (x *Server) confirm(w http.ResponseWriter, r *http.Request, o action.Available, in action.Input) {
	ask := view.Confirm(o, in, back(r))
	if !scripted(r) {
		x.write(w, r, http.StatusOK, x.watch.Look(), view.Page{Title: o.Title, Sections: []view.Section{{ID: "confirm", Body: ask}}})
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("HX-Retarget", "#dialog")
	w.Header().Set("HX-Reswap", "innerHTML")
	x.send(r.Context(), w, ask)
}

// scripted reports whether the form was sent by the page's script.
func scripted(r *http.Request) bool { return r.Header.Get("HX-Request") == "true" }

// answer says what came of an action.
func (x *Server) answer(w http.ResponseWriter, r *http.Request, done action.Result, err error) {
	switch {
	case err != nil && !scripted(r):
		x.write(w, r, statusOf(err), x.watch.Look(), view.Failed(err))
		return
	case !scripted(r):
		http.Redirect(w, r, back(r), http.StatusSeeOther)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err != nil {
		x.send(r.Context(), w, view.Toast(action.Result{Said: err.Error()}, true))
		return
	}
	x.send(r.Context(), w, view.Toast(done, false))
}

// send writes a part of a page, with links as pages show them.
func (x *Server) send(ctx context.Context, w io.Writer, part templ.Component) {
	links := action.NewWriter(w, x.opt.Backend.Context().Keys.Buttons)
	_ = part.Render(ctx, links)
	_ = links.Flush()
}

// back is the page that a form was on: an address of this dashboard, never another's.
func back(r *http.Request) string {
	u, err := url.Parse(r.PostFormValue("back"))
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") {
		return "/"
	}
	return u.RequestURI()
}

// here is where a form of a page goes back to: the page itself, and from the answer of a
// form to where that one came from.
func here(r *http.Request) string {
	if r.Method == http.MethodPost {
		return back(r)
	}
	return r.URL.RequestURI()
}

// firstOf is a form with one value for each field.
func firstOf(form url.Values) map[string]string {
	out := make(map[string]string, len(form))
	for name := range form {
		out[name] = form.Get(name)
	}
	return out
}
