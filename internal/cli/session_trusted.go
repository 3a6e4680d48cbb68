package cli

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
func (x *session) trusted(ctx context.Context) error {
	items, known, err := untrusted(ctx, x.env, x.root, x.config, x.repo)
	if err != nil || len(items) == 0 {
		return err
	}
	switch {
	case x.trust:
		if err := person.Required(x.env); err != nil {
			return err
		}
		err := trust.Open(x.env.Environ).Trust(x.root, items, time.Now())
		if errors.Is(err, trust.ErrNowhere) { // for this run
			x.notices = append(x.notices, err.Error()+": --trust holds for this run alone")
			return nil
		}
		return err
	case x.env.Terminal && !x.dryRun:
		return askTrust(ctx, x.env, x.root, x.config, false)
	}
	return &ralph.Refusal{Why: strings.TrimRight(trustWords(x.root, items, known), "\n") + "\nnobody has said yes to it", Hint: trustHow, Kind: ralph.ErrUsage}
}
