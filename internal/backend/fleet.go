package backend

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/proc"
)

var _ action.Fleet = (*Repository)(nil)

// Drain runs `ralph fleet drain` for the fleet of the coordinator at work. It is a process of its own, as only the program
// with the fleet reaches the server; so it works whether or not the coordinator gets to do anything, and says at once
// what came of it.
func (b *Repository) Drain(ctx context.Context, worker string) (string, error) {
	if err := person.Required(b.env); err != nil {
		return "", err
	}
	m := b.fleet.Now(b.journal.Holder(), b.root, b.journal.Now())
	if m == nil {
		return "", &ralph.Refusal{Why: "no coordinator of a fleet is at work here", Hint: "`ralph fleet drain " + worker + "` asks the server itself", Kind: ralph.ErrNotFound}
	}
	args := []string{b.env.Self, "fleet", "drain", "--fleet=" + m.Address, "--namespace=" + m.Namespace, "--queue=" + m.Queue, "--", worker}
	// A browser that goes away does not leave it half asked.
	out, said, res, err := proc.NewRunner(filepath.Join(b.root, "ralph/.state/procs")).Output(context.WithoutCancel(ctx), proc.Command{Args: args, Dir: b.root, Env: b.env.Environ})
	if err != nil {
		return "", err
	}
	if res.Ended != proc.EndedSelf || res.Code != 0 {
		return "", &ralph.Refusal{Why: string(bytes.TrimPrefix(bytes.TrimSpace(said), []byte("ralph: "))), Kind: ralph.ErrNotFound}
	}
	return strings.TrimSpace(string(out)), nil
}
