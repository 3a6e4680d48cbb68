package web

import (
	"context"

	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// outsideServices are the services that progress goes to, with what waits for them and what can be done.
func outsideServices(_ context.Context, r *request) (view.Page, error) {
	m := screen.ServicesOf(r.State, r.World(), r.Now)
	return view.Page{Title: "Services", Sections: []view.Section{{ID: "services", Body: view.Services(m)}}}, nil
}
