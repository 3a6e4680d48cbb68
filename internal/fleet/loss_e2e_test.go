//go:build fleet && linux

package fleet_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// lands waits until the session is over and looks at what came of it, with workers that end now.
func (l *land) lands(tasks int, workers ...string) {
	l.t.Helper()
	l.says("coordinator", "Session summary")
	_ = l.procs["coordinator"].Wait()
	for _, name := range workers {
		l.stop(name)
	}
	l.holds(tasks)
	l.alone()
}

// below are a process and all that it has started.
func below(t *testing.T, pid int) []int {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/stat")
	must(t, err)
	parent := map[int]int{}
	for _, name := range list {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			parent[child], _ = strconv.Atoi(f[1])
		}
	}
	out := []int{pid}
	for p := range parent {
		for up := p; up > 1; up = parent[up] {
			if parent[up] == pid {
				out = append(out, p)
			}
		}
	}
	return out
}

// A machine that sleeps while its agent works has lost the step when it wakes: another worker has
// had it, and what the sleeper brings counts for nothing.
func TestWorkerSleeps(t *testing.T) {
	l := newLand(t, "", 1, keyed)
	l.playsFor("20s")
	l.worker("w1")
	l.coordinator()
	l.until("the agent is at work", func() bool { return l.plays() == 1 })
	asleep := below(t, l.procs["w1"].Process.Pid)
	if len(asleep) < 2 {
		t.Fatalf("the worker has no agent: %v", asleep)
	}
	for _, pid := range asleep {
		must(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	l.playsFor("100ms")
	l.worker("w2")
	l.says("w2", "turn of t-")
	l.until("the other has done it", func() bool { return strings.Contains(l.said("w2"), "is done") })
	for _, pid := range asleep {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	l.says("w1", "is given up")
	l.lands(1, "w1", "w2")
	if n := l.plays(); n != 2 {
		t.Errorf("the agent was asked %d times, want once more", n)
	}
}

// A worker that reaches the server and no longer the git remote cannot bring what it has done. It
// tries for a while, as the turn is paid; then the step goes to another one, with the reason.
func TestPartitionFromGit(t *testing.T) {
	for _, comesBack := range []bool{true, false} {
		t.Run(fmt.Sprint("comes back ", comesBack), func(t *testing.T) { cutFromGit(t, comesBack) })
	}
}

func cutFromGit(t *testing.T, comesBack bool) {
	t.Helper()
	l := newLand(t, "", 1)
	l.playsFor("3s")
	reaches, err := os.ReadFile(l.path("gitconfig"))
	must(t, err)
	l.write("w1-gitconfig", string(reaches))
	env := l.env
	l.env = append(slices.Clone(env), "GIT_CONFIG_GLOBAL="+l.path("w1-gitconfig"))
	l.worker("w1")
	l.env = env
	l.coordinator()
	l.until("the agent is at work", func() bool { return l.plays() == 1 })
	l.write("w1-gitconfig", string(reaches)+fmt.Sprintf("[url %q]\ninsteadOf = %s\n", l.path("nowhere/"), l.dir+"/hub"))
	l.says("w1", "cannot be pushed")
	l.worker("w2")
	plays := 2
	if comesBack {
		l.write("w1-gitconfig", string(reaches))
		plays = 1
	} else {
		l.says("w2", "turn of t-")
	}
	l.lands(1, "w1", "w2")
	if n := l.plays(); n != plays {
		t.Errorf("the agent was asked %d times, want %d", n, plays)
	}
}

// A worker whose disk is full says so, and the step goes to another one.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a small disk can be made by root alone")
	}
	l := newLand(t, "", 1)
	l.playsFor("3s")
	disk := l.path("w1")
	must(t, os.MkdirAll(disk, 0o700))
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("no small disk can be made here: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	l.worker("w1")
	l.coordinator()
	l.until("the agent is at work", func() bool { return l.plays() == 1 })
	if err := os.WriteFile(filepath.Join(disk, "full"), make([]byte, 8<<20), 0o600); err == nil {
		t.Fatal("the disk takes twice its size")
	}
	l.says("w1", "no space left on device")
	l.worker("w2")
	l.says("coordinator", "Session summary")
	must(t, os.Remove(filepath.Join(disk, "full")))
	l.lands(1, "w1", "w2")
}

// A worker of another version of what travels is seen, with the reason, and gets no step; one of
// this version has it.
func TestOlderWorker(t *testing.T) {
	l := newLand(t, "", 1)
	l.playsFor("100ms")
	source, err := os.ReadFile("fleet.go")
	must(t, err)
	format := regexp.MustCompile(`(?m)^const format = [0-9]+$`)
	if !format.Match(source) {
		t.Fatal("fleet.go has no format any more")
	}
	l.write("older.go", format.ReplaceAllString(string(source), "const format = 0"))
	here, err := os.Getwd()
	must(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "fleet.go"): l.path("older.go")}})
	must(t, err)
	l.write("overlay.json", string(overlay))
	must(t, os.Mkdir(l.path("older"), 0o700))
	for _, name := range []string{"ralph", "ralph-fleet"} {
		build := exec.Command("go", "build", "-overlay", l.path("overlay.json"), "-o", l.path("older/"+name), "github.com/ralph-loop/ralph/cmd/"+name)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
	}
	bin := l.bin
	l.bin = l.path("older")
	l.worker("old")
	l.bin = bin
	l.says("old", "worker old:")
	l.coordinator()
	l.until("it is shown with the reason", func() bool {
		out := l.ralph("fleet", "workers")
		return strings.Contains(out, "old ") && strings.Contains(out, "version")
	})
	l.until("the step waits", func() bool { return strings.Contains(l.ralph("fleet", "status"), "waits for a worker") })
	l.worker("new")
	l.lands(1, "old", "new")
	if strings.Contains(l.said("old"), "begins") {
		t.Errorf("the older one has begun with a step: %s", l.said("old"))
	}
}
