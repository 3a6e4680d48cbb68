package person

import (
	"context"
	"errors"
	"net/netip"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// errTurn refuses a request of the dashboard that a turn's process makes.
var errTurn = errors.New("this comes from inside a turn of ralph, and a person decides this")

// Visitors looks at who sends the dashboard a request that would change something: not what it
// carries, which a turn may have read somewhere, but which process of this machine has the
// other end of its connection. Where the system does not tell, as of another user or
// another machine, the cookie or the token has to do, and the answer's fact says so.
func Visitors(env workspace.Env, root string) func(ctx context.Context, client, server netip.AddrPort, program bool) (context.Context, error) {
	return func(ctx context.Context, client, server netip.AddrPort, program bool) (context.Context, error) {
		w := ralph.Witness{Way: ralph.WayDashboard}
		if program {
			w.Way = ralph.WayToken
		}
		if err := Required(env); err != nil {
			return nil, errTurn
		}
		peers, err := proc.PeersOf(client, server)
		switch {
		case errors.Is(err, proc.ErrGone):
			return nil, err
		case err != nil:
			w.Unknown = err.Error()
		case !peers.Sure:
			w.Unknown = proc.ErrUntold.Error()
		}
		for _, pid := range peers.Pids {
			why, err := comesFromTurn(root, pid)
			switch {
			case why != "":
				return nil, errTurn
			case err == nil && peers.Sure:
				w.Pid = pid
			case err != nil && peers.Sure:
				w.Unknown = proc.ErrUntold.Error()
			}
		}
		return withWitness(ctx, w), nil
	}
}
