package proc

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// glance is how often we look whether something that was signalled is gone.
	glance = 5 * time.Millisecond
	// killGrace is how long KILL may take; longer means stuck in the kernel.
	killGrace = 2 * time.Second
)

// attributes puts every process into a group of its own. A tracked or tied one
// dies with the thread that started it, see starter.
func attributes(c Command) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	switch {
	case c.Tracked:
		a.Pdeathsig = syscall.SIGKILL
	case c.Tied:
		a.Pdeathsig = syscall.SIGTERM
	}
	return a
}

// innerGroup is the group of the program that another one (Command.Inner) has started, 0
// while there is none: then there is nobody yet who could end by himself.
func innerGroup(outer int) int {
	for _, pid := range children(outer) {
		if s, err := readStat(pid); err == nil && s.group != outer {
			return s.group
		}
	}
	return 0
}

// adoptOrphans makes this process the parent of every descendant whose own
// parent ends, daemons included. That is how hunt finds them.
func adoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// waitExit returns when the process has ended, and leaves it unreaped.
func (p *process) waitExit() {
	for {
		switch err := unix.Waitid(unix.P_PID, p.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil); err {
		case nil:
			return
		case unix.EINTR:
		default:
			_ = p.reap() // a sandbox without waitid: its end counts more than its pid
			return
		}
	}
}

// hunt ends what the main process left behind: after its end its descendants
// are ours (adoptOrphans), so most often one look at our own children shows
// that there is nothing. It returns how many it met and whether all are gone.
// A descendant that left the group and wiped its environment is not known.
func (p *process) hunt(grace time.Duration) (met int, gone bool) {
	if len(p.leftovers()) == 0 {
		return 0, true
	}
	time.Sleep(glance) // its streams close a moment before a process has ended
	found, gone := end(context.Background(), p.leftovers, grace)
	reapFound(found)
	return len(found), gone
}

// end signals what look finds, TERM and after grace KILL, until it finds
// nothing and all that it found has ended. It returns everything that was
// found, and whether it is gone.
func end(ctx context.Context, look func() []stat, grace time.Duration) (found map[int]stat, gone bool) {
	left := look()
	if len(left) == 0 {
		return nil, true
	}
	found = map[int]stat{}
	sig := syscall.SIGTERM
	deadline := time.Now().Add(grace)
	for ; len(left) > 0; left = withLiving(look(), found) {
		for _, s := range left {
			// Once each, TERM; what forks while it is killed comes up as new.
			if _, known := found[s.pid]; !known || sig == syscall.SIGKILL {
				s.signal(sig)
				found[s.pid] = s
			}
		}
		late := time.Now().After(deadline)
		if late || sig == syscall.SIGTERM && ctx.Err() != nil {
			if sig == syscall.SIGKILL {
				return found, false
			}
			sig, deadline = syscall.SIGKILL, time.Now().Add(killGrace)
			continue
		}
		time.Sleep(glance)
	}
	return found, true
}

// withLiving appends to left what was found before and still lives: a process
// without a mark of its own is known by its parent, which may have ended first,
// and KILL takes a busy machine a while.
func withLiving(left []stat, found map[int]stat) []stat {
	for pid, s := range found {
		if slices.ContainsFunc(left, func(l stat) bool { return l.pid == pid }) {
			continue
		}
		if now, err := readStat(pid); err == nil && now.start == s.start && !now.zombie {
			left = append(left, now)
		}
	}
	return left
}

// leftovers returns the living processes that p left behind, and reaps the
// dead ones.
func (p *process) leftovers() []stat {
	var left []stat
	for _, pid := range adopted() {
		if p.runner.isRunning(pid) {
			continue
		}
		s, err := readStat(pid)
		if err != nil {
			continue
		}
		if s.zombie {
			s.reapOrphan()
			continue
		}
		if s.group == p.pid() || hasNonce(settledEnviron(pid), p.nonce) {
			left = appendTree(left, s)
		}
	}
	return left
}

// settledEnviron is environ for a process that may be in the middle of an exec,
// when it reads as empty for a moment. One that has none at all stays empty.
func settledEnviron(pid int) []byte {
	for range 5 {
		if env := environ(pid); len(env) > 0 {
			return env
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// reapOrphan collects a dead child that nobody started here. A main process is
// waited for by its own Run, perhaps of another Runner: such a one is in our
// session and leads its group, which a daemon or a member of a group does not.
func (s stat) reapOrphan() {
	session, err := unix.Getsid(0)
	if err != nil || s.session == session && (s.group == s.pid || s.group == unix.Getpgrp()) {
		return
	}
	s.reap()
}

// reap goes by pid: a wait for any child would take os/exec's from it.
func (s stat) reap() { _, _ = unix.Wait4(s.pid, nil, unix.WNOHANG, nil) }

// reapFound collects what was ended, as far as it became ours.
func reapFound(found map[int]stat) {
	for _, s := range found {
		if now, err := readStat(s.pid); err == nil && now.start == s.start && now.zombie && now.parent == os.Getpid() {
			s.reap()
		}
	}
}

// appendTree appends s and its living descendants.
func appendTree(list []stat, s stat) []stat {
	list = append(list, s)
	for _, pid := range children(s.pid) {
		if child, err := readStat(pid); err == nil && !child.zombie {
			list = appendTree(list, child)
		}
	}
	return list
}

// Sweep ends what engines that are gone left behind: the group of each
// registered process if its leader is that very process, every process that
// carries its nonce, and their descendants. It never goes by a name or a bare
// pid, and never touches this process and those it runs in. The entries of a
// living engine are left alone.
func (r *Runner) Sweep(ctx context.Context) ([]Swept, error) {
	gone, err := r.registry.orphaned()
	if err != nil {
		return nil, err
	}
	// Whoever runs inside one of them (a terminal that an agent opened) would
	// end itself: that one waits for a sweep from outside.
	own := environ(os.Getpid())
	gone = slices.DeleteFunc(gone, func(e entry) bool { return hasNonce(own, e.Nonce) })
	if len(gone) == 0 {
		return nil, nil
	}
	var swept []Swept
	seen := map[int]bool{}
	look := func() []stat {
		left := remains(gone)
		for _, s := range left {
			if !seen[s.pid] {
				seen[s.pid] = true
				swept = append(swept, Swept{Pid: s.pid, Args: commandLine(s.pid), Since: s.since()})
			}
		}
		return left
	}
	found, all := end(ctx, look, leftoverGrace)
	reapFound(found)
	if !all {
		return swept, fmt.Errorf("some processes of an engine that is gone do not end (%s); look at them with `ps` and end them by hand", pids(remains(gone)))
	}
	for _, e := range gone {
		r.registry.remove(e.Nonce)
	}
	return swept, nil
}

func pids(list []stat) string {
	text := ""
	for i, s := range list {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("pid %d", s.pid)
	}
	return text
}

// remains returns the living processes of these entries.
func remains(entries []entry) []stat {
	all := allProcesses()
	byPid := make(map[int]stat, len(all))
	for _, s := range all {
		byPid[s.pid] = s
	}
	spared := map[int]bool{1: true}
	for s, ok := byPid[os.Getpid()]; ok && !spared[s.pid]; s, ok = byPid[s.parent] {
		spared[s.pid] = true
	}
	groups := map[int]bool{}
	for _, e := range entries {
		if leader, ok := byPid[e.Pid]; ok && leader.identity() == e.Start {
			groups[e.Pid] = true
		}
	}
	hit := make(map[int]bool, len(all))
	for _, s := range all {
		hit[s.pid] = !spared[s.pid] && (groups[s.group] || carries(s.pid, entries))
	}
	var left []stat
	for _, s := range all {
		if !s.zombie && !spared[s.pid] && descends(s, byPid, hit) {
			left = append(left, s)
		}
	}
	return left
}

// carries reports whether a process has the nonce of one of the entries.
func carries(pid int, entries []entry) bool {
	env := environ(pid)
	return slices.ContainsFunc(entries, func(e entry) bool { return hasNonce(env, e.Nonce) })
}

// descends reports whether s or one of its ancestors is a hit.
func descends(s stat, byPid map[int]stat, hit map[int]bool) bool {
	for steps := 0; steps <= len(byPid); steps++ { // bounded: pids read at different moments can form a ring
		if hit[s.pid] {
			return true
		}
		parent, ok := byPid[s.parent]
		if !ok {
			return false
		}
		s = parent
	}
	return false
}

// EndMarked ends the descendants of this process whose environment has exactly this
// K=V, and what they started: TERM, and KILL after grace. It is for what a process
// that goes on started for somebody who does not need it any more. It returns how
// many it met. A descendant that wiped its environment is not known.
func (r *Runner) EndMarked(ctx context.Context, kv string, grace time.Duration) int {
	if r.of != nil {
		return r.of.EndMarked(ctx, kv, grace)
	}
	found, _ := end(ctx, func() []stat { return marked(kv) }, grace)
	reapFound(found)
	return len(found)
}

// marked returns the living descendants of this process that carry a K=V.
func marked(kv string) []stat {
	all := descendants()
	byPid := make(map[int]stat, len(all))
	hit := map[int]bool{}
	for _, s := range all {
		byPid[s.pid] = s
		if !s.zombie {
			hit[s.pid] = hasVariable(environ(s.pid), kv)
		}
	}
	var left []stat
	for _, s := range all {
		if !s.zombie && descends(s, byPid, hit) {
			left = append(left, s)
		}
	}
	return left
}
