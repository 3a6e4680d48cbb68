package web

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/ralph-loop/ralph/internal/web/api"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// panicLog tells of mistakes in ralph itself, so that they end neither the dashboard nor
// an engine in the same process, and are not lost either.
type panicLog struct {
	log  func(string)
	said atomic.Int64
}

// maxPanics are told: a page that breaks does so each time that somebody looks.
const maxPanics = 20

// say tells of a panic, with where it was; it is called while that is being recovered.
func (x *panicLog) say(what any) {
	switch n := x.said.Add(1); {
	case x.log == nil || n > maxPanics:
	case n == maxPanics:
		x.log("The dashboard breaks again and again; no more is said of it.")
	default:
		x.log(fmt.Sprintf("The dashboard broke, which is a mistake in ralph; please report it: %v\n%s", what, debug.Stack()))
	}
}

// into is deferred round work in the background: its panic becomes its error.
func (x *panicLog) into(err *error) {
	if what := recover(); what != nil {
		x.say(what)
		*err = fmt.Errorf("this is a mistake in ralph: %v", what)
	}
}

// began knows whether an answer has begun.
type began struct {
	http.ResponseWriter
	yes bool
}

func (b *began) WriteHeader(status int) {
	b.yes = true
	b.ResponseWriter.WriteHeader(status)
}

func (b *began) Write(p []byte) (int, error) {
	b.yes = true
	return b.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (b *began) Unwrap() http.ResponseWriter { return b.ResponseWriter }

// broke answers a request that ran into a mistake, as well as it still can.
func (x *Server) broke(w *began, r *http.Request) {
	const why = "this page broke, which is a mistake in ralph"
	if w.yes {
		panic(http.ErrAbortHandler) // so that nobody takes the half for the whole
	}
	if strings.HasPrefix(r.URL.Path, api.Prefix) {
		api.Refuse(w, http.StatusInternalServerError, why, "the terminal of ralph says more")
		return
	}
	defer func() {
		if recover() != nil { // what broke is in the frame
			http.Error(w, why, http.StatusInternalServerError)
		}
	}()
	x.write(w, r, http.StatusInternalServerError, x.watch.look(), view.Failed(fmt.Errorf("%s: its terminal says more", why)))
}
