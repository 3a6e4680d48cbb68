package session

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/trust"
)

// trusted refuses an engine what nobody has said yes to, or asks where somebody is there.
func (x *Session) trusted(ctx context.Context) error {
	items, known, err := trust.Untrusted(ctx, x.Env, x.Root, x.Config, x.Repo)
	if err != nil || len(items) == 0 {
		return err
	}
	switch {
	case x.Trust:
		if err := person.Required(x.Env); err != nil {
			return err
		}
		err := trust.Open(x.Env.Environ).Trust(x.Root, items, time.Now())
		if errors.Is(err, trust.ErrNowhere) { // for this run
			x.Notices = append(x.Notices, err.Error()+": --trust holds for this run alone")
			return nil
		}
		return err
	case x.Env.Terminal && !x.DryRun:
		return trust.Ask(ctx, x.Env, x.Root, x.Config, false)
	}
	return &ralph.Refusal{Why: strings.TrimRight(trust.Words(x.Root, items, known), "\n") + "\nnobody has said yes to it", Hint: trust.How, Kind: ralph.ErrUsage}
}
