package doctor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// serviceLimit bounds the call to one service.
const serviceLimit = 10 * time.Second

// services proves the credentials of each service that is in use, with a call that changes nothing.
func (x *examination) services(ctx context.Context, env workspace.Env, root string, c config.Config) {
	t := bootstrap.Trackers{Env: env, Root: root, Config: c, Procs: proc.NewRunner("")}
	for _, service := range ralph.Services() {
		asked := slices.ContainsFunc(c.Inbox.Sources, func(s setting.IssueSource) bool { return s.Service == string(service) })
		if pulls := service == ralph.GitHub && c.Land.How == string(ralph.LandPull); !t.On(service) && !asked && !pulls {
			continue
		}
		client, err := t.Client(service)
		if err != nil {
			x.problem(string(service), err.Error(), "docs/sync.md says which rights it needs")
			continue
		}
		call, cancel := context.WithTimeout(ctx, serviceLimit)
		who, err := client.Check(call)
		cancel()
		e, _ := errors.AsType[*tracker.Error](err)
		switch {
		case err == nil:
			x.ok(string(service), "%s takes the token of %s", service.Title(), who)
		case e != nil && e.Kind() == tracker.Denied && e.Right != "":
			x.problem(string(service), err.Error(), "give the token the right "+e.Right+" (docs/sync.md), then `ralph breaker retry "+string(service)+"`")
		case e != nil && e.Kind() == tracker.Denied:
			x.problem(string(service), err.Error(), "look at the token and its rights (docs/sync.md), then `ralph breaker retry "+string(service)+"`")
		case e != nil && (e.Kind() == tracker.Limited || e.Kind() == tracker.Failure):
			x.note(string(service), err.Error(), "what is to be sent waits for it; `ralph breaker list` shows what")
		default:
			x.problem(string(service), err.Error(), "look at the address and the repository or project under `sync` in ralph/config.yaml")
		}
	}
}
