package proc

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// AdoptOrphans makes this process the parent of every descendant whose own parent ends,
// whatever it does to its session, its group or its environment: from then on all that
// agents start stays below this process. Tracked runs do it by themselves.
func AdoptOrphans() error { return adoptOrphans() }

// Lineage is a process and those that it descends from, nearest first, as far as this
// process sees them. The error is that there is no such process, or no /proc.
func Lineage(pid int) ([]Process, error) {
	var line []Process
	for seen := map[int]bool{}; pid > 0 && !seen[pid]; {
		seen[pid] = true
		s, err := readStat(pid)
		if err != nil {
			if len(line) > 0 { // it ended while we looked: where its child is now is seen in another look
				return Lineage(line[0].Pid)
			}
			return nil, fmt.Errorf("look at process %d: %w", pid, err)
		}
		line = append(line, s.process())
		pid = s.parent
	}
	return line, nil
}

// process adds what else there is to know of a process.
func (s stat) process() Process {
	p := Process{Pid: s.pid, Start: s.identity(), Session: s.session, Inner: s.pid, Terminal: terminalOf(s.pid)}
	if leader, err := readStat(s.session); err == nil && s.session > 0 {
		p.SessionStart = leader.identity()
	}
	p.Space, _ = os.Readlink(procPath(s.pid, "ns/pid")) // not of other users' processes
	p.Dir, _ = os.Readlink(procPath(s.pid, "cwd"))
	if b, err := readProc(procPath(s.pid, "cmdline"), 64<<10); err == nil {
		p.Args = strings.Split(strings.TrimRight(string(b), "\x00"), "\x00")
	}
	b, err := readProc(procPath(s.pid, "status"), 64<<10)
	if err != nil {
		return p
	}
	for line := range strings.Lines(string(b)) {
		if pids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			if f := strings.Fields(pids); len(f) > 0 {
				p.Inner, _ = strconv.Atoi(f[len(f)-1])
			}
		}
	}
	return p
}

// terminalOf is the name of a process's terminal, "" for none.
func terminalOf(pid int) string {
	b, err := readProc(procPath(pid, "stat"), 4096)
	if err != nil {
		return ""
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 5 {
		return ""
	}
	n, err := strconv.Atoi(f[4])
	if err != nil || n == 0 {
		return ""
	}
	major, minor := (n>>8)&0xfff, n&0xff|(n>>12)&0xfff00
	switch {
	case major >= 136 && major <= 143:
		return fmt.Sprintf("pts/%d", minor+(major-136)<<8)
	case major == 4:
		return fmt.Sprintf("tty%d", minor)
	}
	return fmt.Sprintf("terminal %d:%d", major, minor)
}

// SessionsBelow are the sessions, other than its own, that descendants of this process are
// in: what left the session in which it was started.
func SessionsBelow() []Session {
	self, err := readStat(os.Getpid())
	if err != nil {
		return nil
	}
	var out []Session
	for _, s := range descendants() {
		if s.session == self.session {
			continue
		}
		x := Session{ID: s.session}
		if leader, err := readStat(s.session); err == nil && s.session > 0 {
			x.Start = leader.identity()
		}
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b Session) int { return a.ID - b.ID })
	return out
}

// PeersOf are the processes of this machine that have the client's end of a TCP connection.
// The error is ErrGone when a client of this machine has closed it, ErrUntold when it is
// none of this machine, or nobody is to be seen.
func PeersOf(client, server netip.AddrPort) (Peers, error) {
	client, server = unmapped(client), unmapped(server)
	inode := clientSocket(client, server)
	switch {
	case inode == "" && !client.Addr().IsLoopback():
		return Peers{}, ErrUntold
	case inode == "" || inode == "0":
		return Peers{}, ErrGone
	}
	var have, shut Peers
	for _, s := range allProcesses() {
		switch has, seen := hasSocket(s.pid, "socket:["+inode+"]"); {
		case has:
			have.Pids = append(have.Pids, s.pid)
		case !seen && !s.zombie:
			shut.Pids = append(shut.Pids, s.pid)
		}
	}
	switch {
	case len(have.Pids) > 0:
		have.Sure = true
		return have, nil
	case clientSocket(client, server) != inode:
		return Peers{}, ErrGone
	case len(shut.Pids) > 0:
		return shut, nil
	}
	return Peers{}, ErrUntold
}

// clientSocket is the number of the client's socket, "0" where it is closed and "" where
// it is not on this machine.
func clientSocket(client, server netip.AddrPort) string {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := readProc(file, 64<<20)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) > 9 && address(f[1]) == client && address(f[2]) == server {
				return f[9]
			}
		}
	}
	return ""
}

// hasSocket reports whether a process has a socket, and whether it lets one see that.
func hasSocket(pid int, name string) (has, seen bool) {
	dir := procPath(pid, "fd")
	d, err := os.Open(dir)
	if err != nil {
		return false, os.IsNotExist(err)
	}
	defer d.Close()
	fds, err := d.Readdirnames(-1)
	if err != nil {
		return false, os.IsNotExist(err)
	}
	return slices.ContainsFunc(fds, func(fd string) bool {
		to, err := os.Readlink(filepath.Join(dir, fd))
		return err == nil && to == name
	}), true
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// address reads an address of /proc/net/tcp: hexadecimal, each word of four bytes in the
// order of the machine, which on all that Go runs on with /proc is little-endian or told so.
func address(text string) netip.AddrPort {
	host, port, ok := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	if !ok || err != nil || len(b)%4 != 0 {
		return netip.AddrPort{}
	}
	if littleEndian() {
		for i := 0; i < len(b); i += 4 {
			slices.Reverse(b[i : i+4])
		}
	}
	n, err := strconv.ParseUint(port, 16, 16)
	addr, fits := netip.AddrFromSlice(b)
	if err != nil || !fits {
		return netip.AddrPort{}
	}
	return unmapped(netip.AddrPortFrom(addr, uint16(n)))
}

// littleEndian reports how this machine keeps its numbers.
func littleEndian() bool {
	return binary.NativeEndian.Uint16([]byte{1, 0}) == 1
}

// EndSessions ends what still runs in sessions that a turn began, TERM and KILL after a
// moment: nobody waits for it any more. Git's own daemons are the user's: processes of the
// very program that `git` is here, whatever others are called.
func (r *Runner) EndSessions(ctx context.Context, sessions []Session) []Swept {
	if len(sessions) == 0 {
		return nil
	}
	var swept []Swept
	seen := map[int]bool{}
	path, _ := LookPath("git", "/", os.Environ())
	git, _ := os.Stat(path) // nil where there is none
	look := func() []stat {
		var left []stat
		all := allProcesses()
		byPid := make(map[int]stat, len(all))
		for _, s := range all {
			byPid[s.pid] = s
		}
		spared := map[int]bool{}
		for s, ok := byPid[os.Getpid()]; ok && !spared[s.pid]; s, ok = byPid[s.parent] {
			spared[s.pid] = true
		}
		for _, s := range all {
			p := Process{Session: s.session}
			if leader, ok := byPid[s.session]; ok {
				p.SessionStart = leader.identity()
			}
			program, _ := os.Stat(procPath(s.pid, "exe"))
			if s.zombie || spared[s.pid] || git != nil && program != nil && os.SameFile(git, program) || !slices.ContainsFunc(sessions, func(x Session) bool { return x.Within(p) }) {
				continue
			}
			left = append(left, s)
			if !seen[s.pid] {
				seen[s.pid] = true
				swept = append(swept, Swept{Pid: s.pid, Args: commandLine(s.pid), Since: s.since()})
			}
		}
		return left
	}
	found, _ := end(ctx, look, leftoverGrace)
	reapFound(found)
	return swept
}
