//go:build unix && !linux

package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ralph-loop/ralph/internal/text"
)

const glance = 10 * time.Millisecond

func attributes(Command) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// innerGroup is 0: only Linux has spaces of processes.
func innerGroup(int) int { return 0 }

// adoptOrphans does nothing: only Linux hands orphans to an ancestor. Here a
// leftover is known by its process group alone.
func adoptOrphans() error { return nil }

// waitExit reaps at once; there is no portable way to only look.
func (p *process) waitExit() { _ = p.reap() }

// hunt ends what is left of the group.
func (p *process) hunt(grace time.Duration) (met int, gone bool) {
	if !groupAlive(p.pid()) {
		return 0, true
	}
	met = max(1, len(groupOf(p.pid())))
	return met, endGroup(context.Background(), p.pid(), grace)
}

func groupAlive(group int) bool { return !errors.Is(unix.Kill(-group, 0), unix.ESRCH) }

// endGroup ends a group, TERM and after grace KILL.
func endGroup(ctx context.Context, group int, grace time.Duration) bool {
	for _, round := range []struct {
		sig  syscall.Signal
		wait time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, 2 * time.Second}} {
		_ = unix.Kill(-group, round.sig)
		for deadline := time.Now().Add(round.wait); time.Now().Before(deadline) && ctx.Err() == nil; time.Sleep(glance) {
			if !groupAlive(group) {
				return true
			}
		}
	}
	return false
}

// ps runs ps with these arguments in the C locale.
func ps(args ...string) (string, error) {
	cmd := exec.Command("/bin/ps", args...)
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=/bin:/usr/bin"}
	out, err := cmd.Output()
	return string(bytes.TrimSpace(out)), err
}

// groupOf returns "pid command" for each process of a group.
func groupOf(group int) map[int]string {
	out, err := ps("-axo", "pid=,pgid=,command=")
	if err != nil {
		return nil
	}
	members := map[int]string{}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 3 || f[1] != strconv.Itoa(group) {
			continue
		}
		if pid, err := strconv.Atoi(f[0]); err == nil {
			members[pid] = strings.Join(f[2:], " ")
		}
	}
	return members
}

// Identity names the process that has this pid now by its start time, in
// seconds: what `ps` tells on every system.
func Identity(pid int) (start string, err error) {
	out, err := ps("-o", "lstart=", "-p", strconv.Itoa(pid))
	if err != nil || out == "" {
		return "", fmt.Errorf("read the start time of process %d: no such process: %w", pid, errors.Join(err, unix.ESRCH))
	}
	return "ps/" + text.OneLine(out), nil
}

// Machine names the boot of this system's kernel, "" where it does not say. There
// are no spaces of pids here.
func Machine() (boot, pidSpace string) {
	boot, err := unix.Sysctl("kern.bootsessionuuid") // macOS
	if err != nil {
		return "", ""
	}
	return boot, ""
}

// Uptime is how long ago the kernel was started, sleep included, and the name of that start: a time
// that nobody sets. "" where the system does not say.
func Uptime() (boot string, up time.Duration) {
	var at unix.Timespec
	boot, _ = Machine()
	if boot == "" || unix.ClockGettime(unix.CLOCK_MONOTONIC, &at) != nil {
		return "", 0
	}
	return boot, time.Duration(at.Nano())
}

// Alive reports whether the process of that pid and Identity still runs.
func Alive(pid int, start string) bool {
	now, err := Identity(pid)
	if err != nil || now != start {
		return false
	}
	state, err := ps("-o", "state=", "-p", strconv.Itoa(pid))
	return err == nil && !strings.HasPrefix(state, "Z")
}

// Sweep ends the group of each process that an engine which is gone left
// behind, if the group's leader is that very process.
func (r *Runner) Sweep(ctx context.Context) ([]Swept, error) {
	gone, err := r.registry.orphaned()
	if err != nil {
		return nil, err
	}
	var swept []Swept
	for _, e := range gone {
		if e.Pid != 0 && Alive(e.Pid, e.Start) {
			for pid, args := range groupOf(e.Pid) {
				swept = append(swept, Swept{Pid: pid, Args: args})
			}
			if !endGroup(ctx, e.Pid, leftoverGrace) {
				return swept, fmt.Errorf("process group %d of an engine that is gone does not end; look at it with `ps` and end it by hand", e.Pid)
			}
		}
		r.registry.remove(e.Nonce)
	}
	return swept, nil
}

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(sig))
}

// EndMarked ends nothing: only Linux shows what environment a process has.
func (r *Runner) EndMarked(context.Context, string, time.Duration) int { return 0 }
