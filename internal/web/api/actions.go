package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/ralph-loop/ralph/internal/action"
)

// folders are what the addresses of a subject's actions begin with.
func folders() map[action.Subject]string {
	return map[action.Subject]string{
		action.Engine: "/engine/", action.Task: "/tasks/{id}/", action.Gate: "/gates/{id}/", action.Spec: "/inbox/{id}/",
		action.Inbox: "/inbox/", action.Rule: "/rules/{id}/", action.Plan: "/plan/", action.Service: "/services/{id}/", action.Worker: "/workers/{id}/",
	}
}

// said is the input of any action by its name.
type said struct {
	Action string        `path:"action" doc:"its name; docs/api.md lists them"`
	Body   *action.Input `doc:"what is said with it"`
}

// saidOf is the input of an action on what has the id in the address.
type saidOf struct {
	ID   string        `path:"id" doc:"what it is about"`
	Body *action.Input `doc:"what is said with it"`
}

// saidHere is the input of an action on what there is one of.
type saidHere struct {
	Body *action.Input `doc:"what is said with it"`
}

// actions adds each action of the table, under the address of what it is about; and all
// of them under their names.
func (x *API) actions() {
	do := func(ctx context.Context, name, id string, in *action.Input) (*body[action.Result], error) {
		if in == nil {
			in = &action.Input{}
		}
		if id != "" {
			in.ID = id
		}
		in.Sure = true // who writes this has decided
		done, err := action.Do(ctx, x.opt.Backend, name, *in)
		if err != nil {
			return nil, problemOf(err)
		}
		return &body[action.Result]{done}, nil
	}
	huma.Register(x.doc, x.operation(http.MethodPost, "/actions/{action}", "action", "Any action by its name"),
		func(ctx context.Context, in *said) (*body[action.Result], error) {
			return do(ctx, in.Action, "", in.Body)
		})
	spec := x.operation(http.MethodPost, "/specs", "add-spec", "Queues a spec: the action queue")
	spec.Description = "Of the input it uses file, text."
	huma.Register(x.doc, spec, func(ctx context.Context, in *saidHere) (*body[action.Result], error) {
		return do(ctx, "queue", "", in.Body)
	})
	for _, a := range action.Actions() {
		op := x.operation(http.MethodPost, folders()[a.About]+a.Name, "do-"+a.Name, strings.TrimSuffix(a.Doc, "."))
		if len(a.Uses) > 0 {
			op.Description = "Of the input it uses " + strings.Join(a.Uses, ", ") + "."
		}
		if a.About.Named() {
			huma.Register(x.doc, op, func(ctx context.Context, in *saidOf) (*body[action.Result], error) {
				return do(ctx, a.Name, in.ID, in.Body)
			})
			continue
		}
		huma.Register(x.doc, op, func(ctx context.Context, in *saidHere) (*body[action.Result], error) {
			return do(ctx, a.Name, "", in.Body)
		})
	}
}
