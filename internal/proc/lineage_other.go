//go:build unix && !linux

package proc

import (
	"context"
	"net/netip"
)

// AdoptOrphans does nothing: only Linux hands orphans to an ancestor.
func AdoptOrphans() error { return nil }

// Lineage is told by Linux alone.
func Lineage(int) ([]Process, error) { return nil, ErrUntold }

// SessionsBelow is told by Linux alone.
func SessionsBelow() []Session { return nil }

// PeersOf is told by Linux alone.
func PeersOf(netip.AddrPort, netip.AddrPort) (Peers, error) { return Peers{}, ErrUntold }

// EndSessions knows none: only Linux tells them.
func (r *Runner) EndSessions(context.Context, []Session) []Swept { return nil }
