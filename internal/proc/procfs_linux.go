package proc

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// ticks is the unit of start times in /proc, USER_HZ: 100 for every
	// architecture that Go runs on.
	ticks = 100
	// environLimit is past what the kernel lets a process start with by default.
	environLimit = 4 << 20
)

// stat is what /proc/<pid>/stat says about a process.
type stat struct {
	pid, parent, group, session int
	start                       uint64 // ticks since boot
	zombie                      bool
}

// readProc reads a file of /proc. It goes without os.ReadFile, which would try
// each file with the poller, since it is on the path of every tracked run.
func readProc(path string, limit int) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, 0, 1024)
	for len(buf) < limit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			break
		}
		buf = buf[:len(buf)+n]
	}
	return buf, nil
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

func readStat(pid int) (stat, error) {
	b, err := readProc(procPath(pid, "stat"), 4096)
	if err != nil {
		return stat{}, err
	}
	// The name in parentheses may hold anything, so count from its end.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 20 {
		return stat{}, fmt.Errorf("%s has %d fields", procPath(pid, "stat"), len(f))
	}
	s := stat{pid: pid, zombie: f[0] == "Z" || f[0] == "X"}
	for i, to := range []*int{&s.parent, &s.group, &s.session} {
		if *to, err = strconv.Atoi(f[1+i]); err != nil {
			return stat{}, fmt.Errorf("%s: %w", procPath(pid, "stat"), err)
		}
	}
	if s.start, err = strconv.ParseUint(f[19], 10, 64); err != nil {
		return stat{}, fmt.Errorf("%s: %w", procPath(pid, "stat"), err)
	}
	return s, nil
}

// environ returns the environment that a process was started with, nil when
// it is gone or not ours to read.
func environ(pid int) []byte {
	env, err := readProc(procPath(pid, "environ"), environLimit)
	if err != nil {
		return nil
	}
	return env
}

// hasNonce reports whether an environment carries this nonce.
func hasNonce(env []byte, nonce string) bool { return hasVariable(env, NonceVar+"="+nonce) }

// hasVariable reports whether an environment has exactly this K=V.
func hasVariable(env []byte, kv string) bool {
	mark := append([]byte(kv), 0)
	return bytes.HasPrefix(env, mark) || bytes.Contains(env, append([]byte{0}, mark...))
}

// children returns the children of a process, zombies included.
func children(pid int) []int {
	task := procPath(pid, "task")
	dir, err := os.Open(task)
	if err != nil {
		return nil // gone
	}
	defer dir.Close()
	threads, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var found []int
	for _, thread := range threads {
		list, err := childrenOf(task + "/" + thread)
		if err != nil {
			if _, err := os.Stat(task + "/" + thread); err == nil {
				return childrenByScan(pid) // a kernel without CONFIG_PROC_CHILDREN
			}
			continue
		}
		found = append(found, list...)
	}
	return found
}

// childrenOf reads the children of one thread.
func childrenOf(thread string) ([]int, error) {
	b, err := readProc(thread+"/children", 1<<20)
	if err != nil {
		return nil, err
	}
	var found []int
	for _, f := range strings.Fields(string(b)) {
		if child, err := strconv.Atoi(f); err == nil {
			found = append(found, child)
		}
	}
	return found, nil
}

// adopted returns the children that came to this process when their parents ended.
// The kernel gives orphans to the first living thread, which in a Go program is
// the main one: its list is enough, and after every agent that saves a look at
// each thread. It holds children that the main thread started as well.
func adopted() []int {
	self := os.Getpid()
	list, err := childrenOf(procPath(self, "task/"+strconv.Itoa(self)))
	if err != nil {
		return children(self)
	}
	return list
}

func childrenByScan(parent int) []int {
	var found []int
	for _, s := range allProcesses() {
		if s.parent == parent {
			found = append(found, s.pid)
		}
	}
	return found
}

// descendants are the processes below this one, zombies included. Nearly always they are few, and
// those of a machine many. A list of children may miss one while another of them ends, so
// all are looked at until a look finds nothing new.
func descendants() []stat {
	known := map[int]stat{}
	for before := -1; len(known) > before; {
		before = len(known)
		seen := map[int]bool{os.Getpid(): true}
		for next := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
			for _, pid := range children(next[0]) {
				if seen[pid] {
					continue
				}
				seen[pid] = true
				if s, err := readStat(pid); err == nil {
					known[pid] = s
					next = append(next, pid)
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(known), func(a, b stat) int { return a.pid - b.pid })
}

// allProcesses reads /proc. What ends meanwhile is left out.
func allProcesses() []stat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var all []stat
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := readStat(pid); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// Identity names the process that has this pid now: "<boot id>/<start time>",
// which no other process ever has together with the same pid. A process that
// has ended but is not reaped still has one.
func Identity(pid int) (start string, err error) {
	s, err := readStat(pid)
	if err != nil {
		return "", fmt.Errorf("read the start time of process %d: %w", pid, err)
	}
	return s.identity(), nil
}

func (s stat) identity() string {
	boot := bootID()
	if boot == "" {
		boot = "-" // some sandboxes have none: the start time has to do
	}
	return boot + "/" + strconv.FormatUint(s.start, 10)
}

func bootID() string {
	boot, err := readProc("/proc/sys/kernel/random/boot_id", 128)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot))
}

// Machine names the boot of the kernel under this process, the same in all its
// containers, and the space that pids belong to, which each container has for
// itself. Both are "" where the system does not say.
func Machine() (boot, pidSpace string) {
	pidSpace, _ = os.Readlink("/proc/self/ns/pid") // none in some sandboxes
	return bootID(), pidSpace
}

// Uptime is how long ago the kernel was started, sleep included, and the name of that start: a time
// that nobody sets. "" where the system does not say.
func Uptime() (boot string, up time.Duration) {
	var at unix.Timespec
	if boot = bootID(); boot == "" || unix.ClockGettime(unix.CLOCK_BOOTTIME, &at) != nil {
		return "", 0
	}
	return boot, time.Duration(at.Nano())
}

// Alive reports whether the process of that pid and Identity still runs. One
// that has ended but is not reaped does not.
func Alive(pid int, start string) bool {
	s, err := readStat(pid)
	return err == nil && !s.zombie && s.identity() == start
}

// commandLine returns the arguments of a process for people to read.
func commandLine(pid int) string {
	b, err := readProc(procPath(pid, "cmdline"), 4096)
	if err != nil {
		return ""
	}
	const most = 300
	line := strings.ToValidUTF8(strings.TrimRight(strings.ReplaceAll(string(b), "\x00", " "), " "), "?")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}

// since returns when a process started.
func (s stat) since() time.Time {
	var now, up unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &now) != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return time.Time{}
	}
	age := time.Duration(up.Nano()) - time.Duration(s.start)*(time.Second/ticks)
	return time.Unix(0, now.Nano()).Add(-age)
}

// signal signals exactly this process: through a pidfd its number cannot come
// to mean another one between the check and the signal.
func (s stat) signal(sig syscall.Signal) {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	if now, statErr := readStat(s.pid); statErr != nil || now.start != s.start {
		return
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
	if err != nil && err != unix.ESRCH {
		_ = unix.Kill(s.pid, sig) // no pidfd: Linux before 5.3, or a sandbox
	}
}

func signalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(sig))
}
