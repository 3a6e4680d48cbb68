package proc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func env(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH")}, more...)
}

func sh(script string) Command {
	return Command{Args: []string{"sh", "-c", script}, Env: env()}
}

// bothWays runs a test untracked and tracked.
func bothWays(t *testing.T, test func(t *testing.T, r *Runner, tracked bool)) {
	t.Parallel()
	for _, tracked := range []bool{false, true} {
		t.Run("tracked="+strconv.FormatBool(tracked), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state", "procs")
			test(t, NewRunner(dir), tracked)
			if left, _ := os.ReadDir(dir); len(left) != 0 {
				t.Errorf("the registry still holds %v", left)
			}
		})
	}
}

// until is a writer that closes seen when it has what it waits for.
type until struct {
	ready func(string) bool
	seen  chan struct{}
	once  sync.Once
	mu    sync.Mutex
	buf   bytes.Buffer
}

func wait(text string) *until {
	return &until{seen: make(chan struct{}), ready: func(s string) bool { return strings.Contains(s, text) }}
}

func (u *until) Write(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.buf.Write(p)
	if u.ready(u.buf.String()) {
		u.once.Do(func() { close(u.seen) })
	}
	return len(p), nil
}

func (u *until) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.buf.String()
}

func TestRunReportsExitStreamsAndEnvironment(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		c := sh(`cat; echo "$FOO in $(pwd)"; echo oops >&2; exit 7`)
		c.Dir, _ = filepath.EvalSymlinks(t.TempDir())
		c.Env = env("FOO=bar", NonceVar+"=of an outer engine")
		c.Stdin, c.Tracked = strings.NewReader("in\n"), tracked
		out, errs, res, err := r.Output(t.Context(), c)
		if err != nil || res.Code != 7 || res.Signal != "" || res.Ended != EndedSelf || res.Took <= 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		if want := "in\nbar in " + c.Dir + "\n"; string(out) != want {
			t.Errorf("stdout %q, want %q", out, want)
		}
		if string(errs) != "oops\n" {
			t.Errorf("stderr %q", errs)
		}
	})
}

func TestNothingIsInherited(t *testing.T) {
	for _, given := range [][]string{nil, {"A=1"}} {
		c := Command{Args: []string{"/usr/bin/env"}, Env: given}
		out, _, _, err := NewRunner("").Output(t.Context(), c)
		if want := strings.Join(given, ""); err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("env %q, %v; want %q", out, err, want)
		}
	}
}

// A process that ignores SIGTERM dies by SIGKILL after its grace, with its group.
func TestCancelKillsWhatIgnoresTerm(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := wait("ready")
		c := sh(`trap "" TERM; sleep 300 & echo ready $!; while :; do sleep 300; done`)
		c.Stdout, c.Grace, c.Tracked = seen, 50*time.Millisecond, tracked
		go func() { <-seen.seen; cancel() }()
		res, err := r.Run(ctx, c)
		if err != nil || res.Ended != EndedCancelled || res.Signal != "SIGKILL" || res.Code != -1 {
			t.Fatalf("%+v, %v", res, err)
		}
		waitGone(t, strings.Fields(seen.String())[1])
	})
}

// A process that obeys at once does not save its child, which does not.
func TestCancelKillsTheWholeGroup(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := wait("\n")
		c := sh(`trap "exit 3" TERM; sh -c 'trap "" TERM; echo $$; while :; do sleep 300; done' & wait`)
		c.Stdout, c.Grace, c.Tracked = seen, 2*time.Second, tracked // time for the shell to obey, on a busy machine
		go func() { <-seen.seen; cancel() }()
		res, err := r.Run(ctx, c)
		if err != nil || res.Ended != EndedCancelled || res.Code != 3 {
			t.Fatalf("%+v, %v", res, err)
		}
		waitGone(t, seen.String())
	})
}

func TestTimeout(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		c := Command{Args: []string{"sleep", "300"}, Env: env(), Timeout: 50 * time.Millisecond, Tracked: tracked}
		res, err := r.Run(t.Context(), c)
		if err != nil || res.Ended != EndedTimeout || res.Signal != "SIGTERM" || res.Took < c.Timeout {
			t.Fatalf("%+v, %v", res, err)
		}
	})
}

// What a process says and answers after SIGTERM counts.
func TestCancelKeepsLastWords(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := wait("ready")
		c := sh(`trap "echo bye; exit 3" TERM; echo ready; sleep 300 & wait`)
		c.Stdout, c.Tracked = seen, tracked
		go func() { <-seen.seen; cancel() }()
		res, err := r.Run(ctx, c)
		if err != nil || res.Ended != EndedCancelled || res.Code != 3 || seen.String() != "ready\nbye\n" {
			t.Fatalf("%+v, %v, %q", res, err, seen)
		}
	})
}

// A program that ends better by INT gets that in place of TERM, and KILL all the same.
func TestInterruptInPlaceOfTerm(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		// ended runs c until it is ready, which is when its traps are set.
		ended := func(c Command) (Result, string) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := wait("ready\n")
			c.Stdout, c.Tracked, c.Interrupt = seen, tracked, true
			go func() { <-seen.seen; cancel() }()
			res, err := r.Run(ctx, c)
			if err != nil || res.Ended != EndedCancelled {
				t.Errorf("%+v, %v", res, err)
			}
			return res, seen.String()
		}
		c := sh(`trap "echo int; exit 3" INT; trap "echo term; exit 4" TERM; echo ready; sleep 300 & wait`)
		c.Grace = time.Minute
		if res, said := ended(c); res.Code != 3 || said != "ready\nint\n" {
			t.Errorf("%+v, %q", res, said)
		}
		deaf := sh(`trap "" INT; echo ready; sleep 300`)
		deaf.Grace = 50 * time.Millisecond
		if res, _ := ended(deaf); res.Signal != "SIGKILL" {
			t.Errorf("deaf: %+v", res)
		}
	})
}

func TestCancelledBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := NewRunner("").Run(ctx, Command{Args: []string{"no such program"}})
	if err != nil || res.Ended != EndedCancelled {
		t.Fatalf("%+v, %v", res, err)
	}
}

// A background process that holds stdout open must not hang Run. Tracked it is
// ended and counted; an untracked one (a daemon of git) may live on.
func TestBackgroundChildHoldsStdout(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		c := sh(`env -i sleep 300 & echo $!`) // in the group, but without the nonce
		c.Tracked = tracked
		out, _, res, err := r.Output(t.Context(), c)
		if err != nil || res.Code != 0 || res.Ended != EndedSelf {
			t.Fatalf("%+v, %v", res, err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		if tracked {
			waitGone(t, strconv.Itoa(pid))
			if res.Leftover != 1 {
				t.Errorf("%d leftovers, want 1", res.Leftover)
			}
			return
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil || res.Leftover != 0 {
			t.Errorf("an untracked run ended its background process: %v, %+v", err, res)
		}
	})
}

// What ends shortly after the main process (`cmd | tee`) may finish its words.
func TestLastWordsOfAChild(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		c := sh(`(sleep 0.02; echo late) &`)
		c.Tracked, r.pipes = tracked, time.Minute // a busy machine may take long to write a line
		out, _, res, err := r.Output(t.Context(), c)
		if err != nil || string(out) != "late\n" || res.Leftover != 0 {
			t.Errorf("%q, %+v, %v", out, res, err)
		}
	})
}

// slow takes its first chunk only when release is closed.
type slow struct {
	bytes.Buffer
	release chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.release
	return s.Buffer.Write(p)
}

// Bytes that the main process wrote arrive, however slow the writer and
// whoever still holds the pipe.
func TestNothingWrittenIsLost(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		to := &slow{release: make(chan struct{})}
		time.AfterFunc(2*pipeGrace, func() { close(to.release) })
		c := sh(`sleep 300 & echo $! >&2; head -c 90000 /dev/zero`)
		var pid bytes.Buffer
		c.Stdout, c.Stderr, c.Tracked = to, &pid, tracked
		res, err := r.Run(t.Context(), c)
		if err != nil || to.Len() != 90000 {
			t.Errorf("%d bytes, %+v, %v", to.Len(), res, err)
		}
		if !tracked {
			kill(t, pid.String())
		}
	})
}

func kill(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err == nil && n > 1 {
		err = syscall.Kill(n, syscall.SIGKILL)
	}
	if err != nil {
		t.Errorf("kill %q: %v", pid, err)
	}
}

func TestStdin(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		for name, script := range map[string]string{
			"exits before reading":  `exit 5`,
			"closes it":             `exec 0<&-; exit 5`,
			"leaves it to a child":  `sleep 300 <&0 >/dev/null 2>&1 & echo $!; exit 5`,
			"reads a bit of it":     `head -c 100 >/dev/null; exit 5`,
			"closes its own stdout": `exec >&-; cat; echo >&2; exit 5`,
		} {
			c := sh(script)
			c.Stdin, c.Tracked = bytes.NewReader(big), tracked
			out, _, res, err := r.Output(t.Context(), c)
			if err != nil || res.Code != 5 {
				t.Errorf("%s: %+v, %v", name, res, err)
			}
			if len(out) > 0 && !tracked {
				kill(t, string(out))
			}
		}
		echo := sh(`cat`)
		echo.Stdin, echo.Tracked = bytes.NewReader(big), tracked
		out, _, _, err := r.Output(t.Context(), echo)
		if err != nil || sha256.Sum256(out) != sha256.Sum256(big) {
			t.Errorf("cat gave %d of %d bytes, %v", len(out), len(big), err)
		}
	})
}

// A reader that blocks for ever does not hold Run (drivers feed from a pipe).
func TestStdinThatBlocks(t *testing.T) {
	t.Parallel()
	in, w := io.Pipe()
	c := sh(`read line; echo "$line"`)
	c.Stdin = in
	go func() { _, _ = io.WriteString(w, "hello\n") }()
	out, _, res, err := NewRunner("").Output(t.Context(), c)
	if err != nil || string(out) != "hello\n" {
		t.Fatalf("%q, %+v, %v", out, res, err)
	}
	in.Close() // as its owner has to
}

type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }
func (b broken) Read([]byte) (int, error)  { return 0, b.err }

func TestReaderAndWriterThatFail(t *testing.T) {
	bothWays(t, func(t *testing.T, r *Runner, tracked bool) {
		disk := broken{errors.New("disk full")}
		c := Command{Args: []string{"yes"}, Env: env(), Stdout: disk, Tracked: tracked}
		if res, err := r.Run(t.Context(), c); !errors.Is(err, disk.err) {
			t.Errorf("writer: %+v, %v", res, err)
		}
		c = Command{Args: []string{"cat"}, Env: env(), Stdin: disk, Tracked: tracked}
		if res, err := r.Run(t.Context(), c); !errors.Is(err, disk.err) {
			t.Errorf("reader: %+v, %v", res, err)
		}
	})
}

// Memory stays flat however much a process writes. Not parallel: it counts
// what the whole program allocates.
func TestFloodNeedsNoMemory(t *testing.T) {
	const flood = 200_000_000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var out count
	res, err := NewRunner("").Run(t.Context(), Command{
		Args: []string{"head", "-c", strconv.Itoa(flood), "/dev/zero"}, Env: env(), Stdout: &out, Tracked: true,
	})
	runtime.ReadMemStats(&after)
	if err != nil || res.Code != 0 || out != flood {
		t.Fatalf("%d bytes, %+v, %v", out, res, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 2<<20 {
		t.Errorf("moving %d bytes allocated %d", flood, used)
	}
}

func TestOutputIsBounded(t *testing.T) {
	out, _, _, err := NewRunner("").Output(t.Context(), Command{Args: []string{"cat", "/dev/zero"}, Env: env()})
	if !errors.Is(err, ErrTooMuch) || len(out) > outputLimit {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// Not parallel: a fork of another test could hold a script open for writing.
func TestStartErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "x", 0o644)
	for name, x := range map[string]struct {
		c    Command
		is   error
		says string
	}{
		"missing program":     {Command{Args: []string{"no-such-agent"}, Env: env()}, fs.ErrNotExist, "install it"},
		"missing path":        {Command{Args: []string{"./no-such"}, Dir: dir, Env: env()}, fs.ErrNotExist, dir + "/no-such"},
		"not executable":      {Command{Args: []string{"./plain"}, Dir: dir, Env: env()}, fs.ErrPermission, "chmod +x"},
		"not so in PATH":      {Command{Args: []string{"plain"}, Env: []string{"PATH=" + dir}}, fs.ErrPermission, "chmod +x"},
		"a folder":            {Command{Args: []string{dir}, Env: env()}, fs.ErrPermission, "is a folder"},
		"no PATH":             {Command{Args: []string{"sh"}, Env: []string{"A=1"}}, fs.ErrNotExist, "PATH is not set"},
		"no command":          {Command{}, nil, "no command given"},
		"empty name":          {Command{Args: []string{""}, Env: env()}, nil, "name is empty"},
		"missing dir":         {Command{Args: []string{"sh"}, Dir: dir + "/gone", Env: env()}, fs.ErrNotExist, "working folder"},
		"dir is a file":       {Command{Args: []string{"sh"}, Dir: plain, Env: env()}, syscall.ENOTDIR, "is no folder"},
		"missing interpreter": {Command{Args: []string{write("script", "#!/no/such/sh\n", 0o755)}, Env: env()}, fs.ErrNotExist, "interpreter"},
		"no first line":       {Command{Args: []string{write("bare", "echo hi\n", 0o755)}, Env: env()}, syscall.ENOEXEC, "#!/bin/sh"},
		"too long":            {Command{Args: []string{"sh", strings.Repeat("x", 8<<20)}, Env: env()}, syscall.E2BIG, "stdin or in a file"},
	} {
		for _, tracked := range []bool{false, true} {
			x.c.Tracked = tracked
			x.c.Stdout = io.Discard
			_, err := NewRunner(t.TempDir()).Run(t.Context(), x.c)
			var start *StartError
			if !errors.As(err, &start) || x.is != nil && !errors.Is(err, x.is) || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%s: %v", name, err)
			}
			lasting := []string{"not executable", "not so in PATH", "a folder", "missing interpreter", "no first line", "too long"}
			if start != nil && start.Lasting() != slices.Contains(lasting, name) { // row 30: what is tried again in vain
				t.Errorf("%s: lasting %v", name, start.Lasting())
			}
		}
	}
}

// A program that lies in the work tree is never taken for one of PATH.
func TestLookPathPassesOverRelativeEntries(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if path, err := LookPath("git", dir, []string{"PATH=.::bin"}); err == nil {
		t.Errorf("found %s", path)
	}
	if path, err := LookPath("./git", dir, nil); err != nil || path != filepath.Join(dir, "git") {
		t.Errorf("%s, %v", path, err)
	}
}

func TestRegistryThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := sh("exit 0")
	c.Tracked = true
	if _, err := NewRunner(filepath.Join(file, "procs")).Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "registry") {
		t.Errorf("err = %v", err)
	}
}

// A registry that goes away in between is made again: an agent that cleaned up
// too much must not stop the checks after it.
func TestRegistryThatVanishes(t *testing.T) {
	t.Parallel()
	procs := filepath.Join(t.TempDir(), "procs")
	r := NewRunner(procs)
	if err := r.ready(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(procs); err != nil {
		t.Fatal(err)
	}
	// It is registered a moment after its start.
	c := sh("i=0; until ls " + procs + "/*.json; do i=$((i+1)); test $i -lt 2000 || exit 1; done 2> /dev/null")
	c.Tracked = true
	stdout, _, _, err := r.Output(t.Context(), c)
	if err != nil || !strings.Contains(string(stdout), ".json") {
		t.Errorf("while it ran the registry held %q, err = %v", stdout, err)
	}
}

// A registry that cannot be written any more: the process is ended, not left unregistered.
func TestRegistryThatIsLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := NewRunner(filepath.Join(dir, "procs"))
	c := Command{Args: []string{"sleep", "300"}, Env: env(), Tracked: true, Stdin: strings.NewReader("x"), Stdout: io.Discard}
	if err := r.ready(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "procs")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "procs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "register sleep") {
		t.Errorf("err = %v", err)
	}
}

// hurried is a cause that leaves little time, as the second Ctrl+C does.
type hurried struct{}

func (hurried) Error() string        { return "at once" }
func (hurried) Grace() time.Duration { return 50 * time.Millisecond }

// D-112: the cause of a cancellation may shorten the grace of a process that
// ignores TERM.
func TestTheCauseOfACancellationShortensTheGrace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	ready := writerFunc(func(p []byte) (int, error) {
		cancel(hurried{})
		return len(p), nil
	})
	begin := time.Now()
	res, err := NewRunner("").Run(ctx, Command{
		Args: []string{"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"},
		Dir:  t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: ready, Grace: time.Minute,
	})
	if err != nil || res.Ended != EndedCancelled || res.Signal != "SIGKILL" {
		t.Fatalf("got %+v, %v; want it cancelled by SIGKILL", res, err)
	}
	if d := time.Since(begin); d > 50*time.Second {
		t.Errorf("it took %s: the minute of grace was waited for", d)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
