package proc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Play is the second process of a test: an engine that is going to be killed,
// or a sweep from inside a process that was left behind.
func Play(role, dir string) int {
	r := NewRunner(dir)
	switch role {
	case "engine":
		c := sh(`setsid sh -c 'env -i sleep 300 & echo daemon $$ bare $!; wait' &
sleep 300 & echo leader $$ member $!; wait`)
		c.Stdout, c.Tracked = os.Stdout, true
		fmt.Println("engine", os.Getpid())
		_, err := r.Run(context.Background(), c)
		fmt.Println("not killed:", err)
	case "sweep":
		swept, err := r.Sweep(context.Background())
		fmt.Println(len(swept), err)
	}
	return 0
}

// again runs this test binary in a role, untracked.
func again(t *testing.T, role, dir string, out *until, more ...string) (Result, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return NewRunner("").Run(t.Context(), Command{
		Args: []string{self}, Stdout: out, Stderr: os.Stderr,
		Env: env(append(more, "PROC_TEST_ROLE="+role, "PROC_TEST_DIR="+dir)...),
	})
}

// waitGone waits until a process, ours or not, has ended.
func waitGone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatalf("pid %q", pid)
	}
	fd, err := unix.PidfdOpen(n, 0)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	for {
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || ready == 0 {
			t.Errorf("process %d still runs (%v)", n, err)
		}
		return
	}
}

func field(t *testing.T, text, name string) string {
	t.Helper()
	f := strings.Fields(text)
	for i := range len(f) - 1 {
		if f[i] == name {
			return f[i+1]
		}
	}
	t.Fatalf("no %s in %q", name, text)
	return ""
}

// A daemon that left its group and session, with its parent gone, is found,
// ended and reaped, and so are its children that wiped their environment.
func TestDaemonsOfATrackedProcessEnd(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	c := sh(`(setsid sh -c 'trap "" TERM; env -i sleep 300 & echo daemon $$ bare $! >"$FIFO"; wait; sleep 300' </dev/null >/dev/null 2>&1 &)
read line <"$FIFO"; echo $line; exit 3`)
	c.Env, c.Tracked, c.Grace = env("FIFO="+fifo), true, 50*time.Millisecond
	out, _, res, err := NewRunner(t.TempDir()).Output(t.Context(), c)
	if err != nil || res.Code != 3 || res.Leftover < 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, name := range []string{"daemon", "bare"} {
		pid, _ := strconv.Atoi(field(t, string(out), name))
		if s, err := readStat(pid); err == nil {
			t.Errorf("%s is still there: %+v", name, s)
		}
	}
}

// A child that wiped its environment and ignores TERM is ended also when the
// daemon that it was known by has obeyed and is gone.
func TestWhatIsKnownByItsParentEndsAfterIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, deaf := filepath.Join(dir, "fifo"), filepath.Join(dir, "deaf")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.WriteFile(deaf, []byte("trap '' TERM\necho bare $$ >\"$1\"\nwhile :; do sleep 300; done\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c := sh(`(setsid sh -c 'env -i sh "$DEAF" "$FIFO" & wait' </dev/null >/dev/null 2>&1 &)
read line <"$FIFO"; echo $line`)
	c.Env, c.Tracked, c.Grace = env("FIFO="+fifo, "DEAF="+deaf), true, 50*time.Millisecond
	out, _, res, err := NewRunner(t.TempDir()).Output(t.Context(), c)
	if err != nil || res.Leftover < 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	pid, _ := strconv.Atoi(field(t, string(out), "bare"))
	if s, err := readStat(pid); err == nil {
		t.Errorf("it is still there: %+v", s)
	}
}

// An orphan that leads a group of its own looks like a main process; it is
// reaped all the same, for a long session must not gather zombies.
func TestBackgroundJobIsReaped(t *testing.T) {
	t.Parallel()
	if _, err := LookPath("bash", "", env()); err != nil {
		t.Skip("needs bash for job control: ", err)
	}
	c := Command{Args: []string{"bash", "-c", "set -m; sleep 300 & echo $!"}, Env: env(), Tracked: true}
	out, _, res, err := NewRunner("").Output(t.Context(), c)
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || convErr != nil || res.Leftover != 1 {
		t.Fatalf("%q, %+v, %v", out, res, err)
	}
	if s, err := readStat(pid); err == nil {
		t.Errorf("it is still there: %+v", s)
	}
}

// Many tracked processes at once each end only their own leftovers.
func TestParallelRunsEndOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	r := NewRunner(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := wait("pid")
	var keeper sync.WaitGroup
	keeper.Go(func() {
		c := sh(`setsid sleep 300 & echo daemon $! pid; wait`)
		c.Stdout, c.Tracked = seen, true
		if res, err := r.Run(ctx, c); err != nil || res.Ended != EndedCancelled {
			t.Errorf("keeper: %+v, %v", res, err)
		}
	})
	<-seen.seen
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() {
			c := sh(`setsid sleep 300 & sleep 300 & echo ok`)
			c.Tracked = true
			if out, _, res, err := r.Output(t.Context(), c); err != nil || res.Leftover != 2 || string(out) != "ok\n" {
				t.Errorf("%+v, %v, %q", res, err, out)
			}
		})
	}
	others.Wait()
	daemon, _ := strconv.Atoi(field(t, seen.String(), "daemon"))
	if s, err := readStat(daemon); err != nil || s.zombie {
		t.Errorf("the keeper's daemon was ended by another run: %+v, %v", s, err)
	}
	cancel()
	keeper.Wait()
	waitGone(t, strconv.Itoa(daemon))
}

// kill -9 of the engine: the main process dies with it, and a sweep ends all
// the rest: daemons, members of the group, children without environment.
func TestSweepAfterTheEngineWasKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out := &until{seen: make(chan struct{}), ready: func(s string) bool {
		return strings.Contains(s, "member") && strings.Contains(s, "bare") && strings.HasSuffix(s, "\n")
	}}
	done := make(chan Result, 1)
	go func() {
		res, err := again(t, "engine", dir, out)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	<-out.seen
	said := out.String()
	kill(t, field(t, said, "engine"))
	if res := <-done; res.Signal != "SIGKILL" {
		t.Errorf("engine: %+v, %s", res, said)
	}
	waitGone(t, field(t, said, "leader"))

	swept, err := NewRunner(dir).Sweep(t.Context())
	if err != nil || len(swept) != 3 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	for _, name := range []string{"daemon", "bare", "member"} {
		waitGone(t, field(t, said, name))
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("the registry still holds %v", left)
	}
}

func TestSweepLeavesALivingEngineAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := wait("ready")
	c := sh("echo ready; exec sleep 300")
	c.Stdout, c.Tracked = seen, true
	done := make(chan Result, 1)
	go func() {
		res, err := NewRunner(dir).Run(ctx, c)
		if err != nil && !errors.Is(err, syscall.ECHILD) { // a sweep in this very process may have reaped it first
			t.Error(err)
		}
		done <- res
	}()
	<-seen.seen
	if swept, err := NewRunner(dir).Sweep(t.Context()); err != nil || len(swept) != 0 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the entry of a living engine is gone: %v", left)
	}
	cancel()
	if res := <-done; res.Ended != EndedCancelled {
		t.Errorf("it had ended: %+v", res)
	}
}

// register writes an entry of an engine that is gone.
func register(t *testing.T, dir string, e entry) string {
	t.Helper()
	e.EnginePid, e.EngineStart = os.Getpid(), "another boot/1"
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, e.Nonce+".json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sleeper starts a process that a sweep may or may not end.
func sleeper(t *testing.T, more ...string) (pid int, start string, ended func() Result) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	seen := wait("\n")
	done := make(chan Result, 1)
	c := sh("echo $$; exec sleep 300")
	c.Env, c.Stdout = env(more...), seen
	go func() {
		res, err := NewRunner("").Run(ctx, c)
		if err != nil && !errors.Is(err, syscall.ECHILD) { // a sweep in this very process may have reaped it first
			t.Error(err)
		}
		done <- res
	}()
	<-seen.seen
	pid, err := strconv.Atoi(strings.TrimSpace(seen.String()))
	if err != nil {
		t.Fatal(err)
	}
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C { // it has said its pid, but not yet become sleep
		if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.HasPrefix(line, []byte("sleep")) {
			tick.Stop()
			break
		}
	}
	if start, err = Identity(pid); err != nil {
		t.Fatal(err)
	}
	ended = sync.OnceValue(func() Result { cancel(); return <-done })
	t.Cleanup(func() { ended() })
	return pid, start, ended
}

// A pid that means another process by now is never touched.
func TestSweepSparesAReusedPid(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pid, start, ended := sleeper(t)
	boot, _, _ := strings.Cut(start, "/")
	file := register(t, dir, entry{Pid: pid, Start: boot + "/1", Nonce: "REUSED", Program: "sleep"})
	if Alive(pid, boot+"/1") || !Alive(pid, start) {
		t.Error("Alive does not tell processes apart")
	}
	swept, err := NewRunner(dir).Sweep(t.Context())
	if err != nil || len(swept) != 0 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the entry stays: %v", err)
	}
	if res := ended(); res.Ended != EndedCancelled {
		t.Errorf("the innocent process was ended: %+v", res)
	}
}

// The leader itself, when it lives, is known without its nonce.
func TestSweepEndsTheVeryProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pid, start, ended := sleeper(t)
	register(t, dir, entry{Pid: pid, Start: start, Nonce: "LEADER", Program: "sleep"})
	swept, err := NewRunner(dir).Sweep(t.Context())
	if err != nil || len(swept) != 1 || swept[0].Pid != pid || !strings.HasSuffix(swept[0].Args, "sleep 300") {
		t.Fatalf("swept %+v, %v", swept, err)
	}
	if age := time.Since(swept[0].Since); age < -time.Second || age > time.Minute {
		t.Errorf("since %v", swept[0].Since)
	}
	if Alive(pid, start) {
		t.Error("Alive after its end")
	}
	if res := ended(); res.Signal != "" && res.Signal != "SIGTERM" { // none: the sweep reaped it
		t.Errorf("it ended so: %+v", res)
	}
}

// A sweep that runs inside what was left behind ends neither itself nor what
// it runs in.
func TestSweepFromInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mark := NonceVar + "=INSIDE"
	_, _, ended := sleeper(t, mark)
	file := register(t, dir, entry{Pid: 1 << 22, Start: "x/1", Nonce: "INSIDE", Program: "sh"})
	out := wait("\n")
	if res, err := again(t, "sweep", dir, out, mark); err != nil || res.Code != 0 || out.String() != "0 <nil>\n" {
		t.Errorf("%+v, %v, %q", res, err, out)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the entry is gone: %v", err)
	}
	if res := ended(); res.Ended != EndedCancelled {
		t.Errorf("its neighbour was ended: %+v", res)
	}
}

func TestSweepDropsBrokenEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"EMPTY.json": "", "TORN.json": `{"pid":12`, "OTHER.json": `{"pid":1,"nonce":"X"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := filepath.Join(dir, "OLD.tmp")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if swept, err := NewRunner(dir).Sweep(t.Context()); err != nil || len(swept) != 0 {
		t.Errorf("swept %+v, %v", swept, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if swept, err := NewRunner(filepath.Join(dir, "none")).Sweep(t.Context()); err != nil || swept != nil {
		t.Errorf("no registry: %+v, %v", swept, err)
	}
}

func TestHasNonceMatchesWholeValues(t *testing.T) {
	for text, want := range map[string]bool{
		"RALPH_PROC=AB\x00":           true,
		"X=1\x00RALPH_PROC=AB\x00Y=2": true,
		"RALPH_PROC=ABC\x00":          false,
		"OLD_RALPH_PROC=AB\x00":       false,
		"X=RALPH_PROC=AB\x00":         false,
		"":                            false,
		"RALPH_PROC=\x00RALPH_PROC=A": false,
	} {
		if got := hasNonce([]byte(text), "AB"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// The kernel may lack the cheap list; the scan finds the same.
func TestChildren(t *testing.T) {
	pid, _, _ := sleeper(t)
	for name, list := range map[string][]int{"list": children(os.Getpid()), "scan": childrenByScan(os.Getpid())} {
		if !bytes.Contains([]byte(fmt.Sprint(list)), []byte(strconv.Itoa(pid))) {
			t.Errorf("%s: %v without %d", name, list, pid)
		}
	}
}

// An engine may be killed in the moment after it has started a process, when all that is known of
// it is the nonce in its environment. So the nonce is written down before: bubblewrap, killed with
// the engine right after its fork, leaves a child that waits for it for ever.
func TestRegisteredBeforeItStarts(t *testing.T) {
	dir := t.TempDir()
	r := NewRunner(dir)
	r.starter.hold()
	defer r.starter.letGo()
	busy, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = r.starter.do(func() error { close(busy); <-free; return nil })
	}()
	<-busy
	ended := make(chan error, 1)
	go func() {
		c := sh("true")
		c.Tracked = true
		_, err := r.Run(t.Context(), c)
		ended <- err
	}()
	var list []string
	for end := time.Now().Add(10 * time.Second); len(list) == 0 && time.Now().Before(end); {
		list, _ = filepath.Glob(filepath.Join(dir, "*.json"))
	}
	if len(list) != 1 {
		t.Errorf("%d entries before the start, want 1", len(list))
	}
	close(free)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "*")); len(list) != 0 {
		t.Errorf("left in the registry: %v", list)
	}
}

// What cannot be started leaves no entry.
func TestNotStartedIsNotRegistered(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/nowhere/at/all\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := NewRunner(filepath.Join(dir, "procs")).Run(t.Context(), Command{Args: []string{script}, Env: env(), Tracked: true})
	if err == nil {
		t.Error("a script without its interpreter was run")
	}
	if list, _ := filepath.Glob(filepath.Join(dir, "procs/*")); len(list) != 0 {
		t.Errorf("left in the registry: %v", list)
	}
}
