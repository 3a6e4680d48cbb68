package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/ralph-loop/ralph/internal/web/api"
	"github.com/ralph-loop/ralph/internal/web/view"
)

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
	x.write(w, r, http.StatusInternalServerError, x.watch.Look(), view.Failed(fmt.Errorf("%s: its terminal says more", why)))
}
