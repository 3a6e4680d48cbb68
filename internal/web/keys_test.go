package web_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web"
)

// keyed is a repository whose person chose other keys.
type keyed struct {
	*planSource
	keys action.Keys
}

func (k keyed) Context() action.Context {
	w := k.planSource.Context()
	w.Keys = k.keys
	return w
}

// The dashboard has the keys that a person chose: on its buttons, in words that name one, for the
// keys of the page itself, and where it is shown as it was.
func TestChosenKeys(t *testing.T) {
	x := storytest.New()
	x.Begin(ralph.Task{ID: "t-0001", Name: "Read the header"})
	k := keyed{&planSource{state: x.S, engine: status.Engine{Alive: true}, events: x.Events}, action.Keys{"pause": "P", "resume": "P", "next": "n", "search": "F", "earlier": "Z"}}
	_, body := planAt(t, web.Options{Source: k, Backend: k}, x.S, "/plan")
	wantAll(t, body, `data-key="P" aria-keyshortcuts="P"`, `<kbd aria-hidden="true">P</kbd>`, `data-key-of-next="n"`, `<kbd aria-hidden="true">F</kbd>`, `data-key="Z"`)
	for _, gone := range []string{`data-key="p"`, `data-key=","`} {
		if strings.Contains(body, gone) {
			t.Errorf("the page still has %s", gone)
		}
	}
	_, body = planAt(t, web.Options{Source: k, Backend: k}, x.S, "/plan?at=3")
	wantAll(t, body, `data-key="Z"`, `data-key-of-next="n"`)
	_, usual := planAt(t, web.Options{Source: k.planSource, Backend: k.planSource}, x.S, "/plan")
	wantAll(t, usual, `data-key="p"`, `data-key=","`, `<kbd aria-hidden="true">/</kbd>`)
}
