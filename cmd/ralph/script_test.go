package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long a script waits for a fact that must come, on whatever machine.
const patience = 10 * time.Minute

// cmdRepo: repo <scenario> [name.md ...] [key=value ...] makes $WORK/repo a git
// repository with one commit that holds whatever the script put there, the
// specs named, and settings under which the scenario's agent does the work.
func cmdRepo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: repo <scenario> [name.md ...] [key=value ...]")
	}
	dir := ts.MkAbs("repo")
	ts.Check(os.MkdirAll(filepath.Join(dir, "ralph/specs"), 0o755))
	ts.Check(ts.Chdir("repo"))
	// The defaults that people have, but for these, which only cost time. With their defaults
	// run limits_same_agent.txtar (task.delay) and the tests of the engine, in a clock of
	// their own (the two bases of waits).
	config := "version: 1\nagent:\n  primary: me\n  fallback: []\nagents:\n  me: {driver: scripted, scenario: " + args[0] + ", pass_env: [GORACE]}\n" +
		"task: {delay: 0s}\nerrors: {retry_base: 10ms, rate_limit_base: 10ms}\nquality: {commands: [\"true\"]}\n"
	if _, err := os.Stat(filepath.Join(dir, "ralph/config.yaml")); errors.Is(err, fs.ErrNotExist) {
		ts.Check(os.WriteFile(filepath.Join(dir, "ralph/config.yaml"), []byte(config), 0o644))
	}
	ts.Check(ts.Exec("git", "init", "-q", "-b", "main"))
	for _, arg := range args[1:] {
		if strings.Contains(arg, "=") {
			cmdRalph(ts, false, []string{"config", "edit", arg})
			continue
		}
		path := filepath.Join(dir, "ralph/specs", arg)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			ts.Check(os.WriteFile(path, []byte("# "+strings.TrimSuffix(arg, ".md")+"\n\nSomething to do.\n"), 0o644))
		}
	}
	ts.Check(ts.Exec("git", "add", "-A"))
	ts.Check(ts.Exec("git", "-c", "maintenance.auto=false", "commit", "-q", "-m", "start"))
}

// cmdExits: exits <code> <program> [args ...] wants exactly this exit code.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits <code> <program> [args ...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if args[1] == "ralph" {
		got, err = inProcess(ts, args[2:])
	} else {
		got, err = exitCode(ts.Exec(args[1], args[2:]...))
	}
	ts.Check(err)
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdWaitFile: waitfile <path> [regexp] waits until there is such a
// file, and until it has such text: a line, where its name says that it holds one. A shell
// makes the file before what it writes.
func cmdWaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: waitfile <path> [regexp]")
	}
	text := strings.Join(args[1:], "")
	if text == "" && (strings.HasSuffix(args[0], ".txt") || strings.HasSuffix(args[0], "pid")) {
		text = `.\n`
	}
	re := regexp.MustCompile("(?m)" + text)
	until(ts, strings.Join(args, " "), func() bool {
		matches, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, m := range matches {
			if b, err := os.ReadFile(m); err == nil && re.Match(b) {
				return true
			}
		}
		return false
	})
}

// cmdWaitGone: waitgone <pidfile> waits until the process has ended. One of an agent may
// have its number in the agent's own space of processes.
func cmdWaitGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitgone <pidfile>")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	until(ts, "process "+strconv.Itoa(pid)+" to end", func() bool {
		return !runs(pid) && !runsInside(pid, ts.Getenv("WORK")) || boxed(pid) && !runsInside(pid, ts.Getenv("WORK"))
	})
}

// boxed: the number is of a space of processes other than this one, where it is taken by
// something that runs no script of ours.
func boxed(pid int) bool {
	at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return pid < 300 && (err != nil || !strings.Contains(at, "script-"))
}

// runsInside reports whether a process that works below dir has this number in a space of
// processes of its own.
func runsInside(pid int, dir string) bool {
	for _, proc := range processes() {
		b, err := os.ReadFile(filepath.Join(proc, "status"))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), "\nNSpid:")
		line, _, _ := strings.Cut(rest, "\n")
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[len(fields)-1] != strconv.Itoa(pid) || strings.Contains(string(b), "\nState:\tZ") {
			continue
		}
		if at, err := os.Readlink(filepath.Join(proc, "cwd")); err == nil && strings.HasPrefix(at, dir) {
			return true
		}
	}
	return false
}

// runs: a process whose parent has not yet asked for its end has ended all the same.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) || !isDir("/proc/self")
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func until(ts *testscript.TestScript, what string, fact func() bool) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !fact(); <-tick.C {
		if time.Now().After(deadline) {
			ts.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

// cmdSignal: signal SIGINT sends it to the engine that holds the session lock.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGKILL": syscall.SIGKILL, "SIGSTOP": syscall.SIGSTOP, "SIGCONT": syscall.SIGCONT}
	if neg || len(args) != 1 || signals[args[0]] == 0 {
		ts.Fatalf("usage: signal SIGINT|SIGTERM|SIGKILL|SIGSTOP|SIGCONT")
	}
	var lock struct{ Pid int }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("ralph/.state/session.lock")), &lock))
	if lock.Pid < 2 {
		ts.Fatalf("the lock names no process")
	}
	ts.Check(syscall.Kill(lock.Pid, signals[args[0]]))
}

// locksKey is where a script has the locks that it holds.
type locksKey struct{}

// cmdHoldLock: holdlock <file> takes the kernel's lock of a file, as another process would, until freelock <file> or
// the end of the script.
func cmdHoldLock(ts *testscript.TestScript, neg bool, args []string) {
	locks, _ := ts.Value(locksKey{}).(map[string]*flock.Flock)
	if neg || len(args) != 1 || locks[args[0]] != nil {
		ts.Fatalf("usage: holdlock <file>")
	}
	lock := flock.New(ts.MkAbs(args[0]))
	ts.Check(lock.Lock())
	ts.Defer(func() { _ = lock.Unlock() })
	locks[args[0]] = lock
}

// cmdFreeLock: freelock <file> gives it back.
func cmdFreeLock(ts *testscript.TestScript, neg bool, args []string) {
	locks, _ := ts.Value(locksKey{}).(map[string]*flock.Flock)
	if neg || len(args) != 1 || locks[args[0]] == nil {
		ts.Fatalf("usage: freelock <file>")
	}
	ts.Check(locks[args[0]].Unlock())
	delete(locks, args[0])
}

// cmdJSON: json <file or stdout> <path> <regexp> looks at one value, whole: a
// path is like 0.status, len is the length, a .jsonl file is an array.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: [!] json <file or stdout> <path> <regexp>")
	}
	got := lookup(ts, args[0], args[1])
	if ok := regexp.MustCompile("^(?:" + args[2] + ")$").MatchString(got); ok == neg {
		ts.Fatalf("%s %s is %q, want %s%q", args[0], args[1], got, map[bool]string{true: "not "}[neg], args[2])
	}
}

// cmdLet: let NAME <file or stdout> <path> sets a variable to a value of JSON.
func cmdLet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: let NAME <file or stdout> <path>")
	}
	ts.Setenv(args[0], lookup(ts, args[1], args[2]))
}

// lookup finds a value; "null" also stands for one that is not there.
func lookup(ts *testscript.TestScript, file, path string) string {
	text := ts.ReadFile(file)
	if strings.HasSuffix(file, ".jsonl") {
		text = "[" + strings.ReplaceAll(strings.TrimSpace(text), "\n", ",") + "]"
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		ts.Fatalf("%s is no JSON: %v", file, err)
	}
	for part := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case []any:
			i, err := strconv.Atoi(part)
			switch {
			case part == "len":
				v = len(at)
			case err != nil || i >= len(at):
				return "null"
			default:
				v = at[i]
			}
		case map[string]any:
			v = at[part]
			if part == "len" {
				v = len(at)
			}
		default:
			return "null"
		}
	}
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	ts.Check(err)
	return string(b)
}

// cmdAgo: ago NAME 2h sets a variable to the time so long ago.
func cmdAgo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ago NAME <duration>")
	}
	d, err := time.ParseDuration(args[1])
	ts.Check(err)
	ts.Setenv(args[0], time.Now().Add(-d).UTC().Format(time.RFC3339))
}

// cmdExpand: expand <from> <to> copies a file and fills in its $VARIABLES.
func cmdExpand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: expand <from> <to>")
	}
	text := regexp.MustCompile(`\$[A-Z][A-Z0-9]*`).ReplaceAllStringFunc(ts.ReadFile(args[0]), func(name string) string { return ts.Getenv(name[1:]) })
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(text), 0o644))
}

// cmdSame: same <file> <copy> wants the same bytes and the same time of change
// (a copy made by cp -p).
func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same <file> <copy>")
	}
	if ts.ReadFile(args[0]) != ts.ReadFile(args[1]) {
		ts.Fatalf("%s changed", args[0])
	}
	a, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if !a.ModTime().Equal(b.ModTime()) {
		ts.Fatalf("%s was written again", args[0])
	}
}
