package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ralph-loop/ralph/internal/cli"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/version"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// ofOneProcess are the commands that scripts run in the process of the test: they look at the
// repository, or write facts, and end. Starting a program costs more than most of them do.
// What runs an engine, an agent or a server, ends processes, is sent signals or reads its
// input is a process as users have it, and so are `ralph status`, which is answered before
// main, and whatever a script says exec before.
func ofOneProcess() []string {
	return []string{
		"answer", "approve", "config", "deny", "gates", "guidance", "inbox", "init", "log", "mode", "pause", "query",
		"receipts", "replay", "report", "resume", "rules", "task", "trust", "verify", "why",
	}
}

// cmdRalph: ralph <args> runs the program's own main function on what a script's process
// would have been given.
func cmdRalph(ts *testscript.TestScript, neg bool, args []string) {
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "&") {
		ts.Fatalf("write exec before what runs in the background")
	}
	code, err := inProcess(ts, args)
	ts.Check(err)
	if code != 0 {
		ts.Logf("[exit status %d]", code)
	}
	if ok := code == 0; ok == neg {
		ts.Fatalf("unexpected command %s", map[bool]string{true: "success", false: "failure"}[ok])
	}
}

// inProcess runs one command line and returns its exit code.
func inProcess(ts *testscript.TestScript, args []string) (int, error) {
	if !alone(args) {
		return exitCode(ts.Exec("ralph", args...))
	}
	return cli.Main(context.Background(), workspace.Env{
		Args: args, Stdin: strings.NewReader(""), Stdout: ts.Stdout(), Stderr: ts.Stderr(), Dir: ts.MkAbs("."),
		Environ: environ(ts), Self: program(), Version: version.Text(),
	}), nil
}

// exitCode is the code that a program has ended with, if that is all that went wrong.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func alone(args []string) bool {
	for len(args) > 1 && args[0] == "-C" {
		args = args[2:]
	}
	return len(args) > 0 && slices.Contains(ofOneProcess(), args[0]) && !slices.Contains(args, "-")
}

// environ is the environment of a script, which testscript tells only name by name.
func environ(ts *testscript.TestScript) []string {
	names, _ := ts.Value(namesKey{}).([]string)
	var out []string
	for _, name := range slices.Concat(names, namesInScripts()) {
		if value := ts.Getenv(name); value != "" {
			out = append(out, name+"="+value)
		}
	}
	return append(out, "PWD="+ts.MkAbs("."))
}

// namesKey is where isolate leaves the names of the variables that a script begins with.
type namesKey struct{}

// namesInScripts are the variables that scripts set, by a command of testscript or of ours.
var namesInScripts = sync.OnceValue(func() []string {
	names := []string{"MODEL", "HUB", "GITHUB_TOKEN", "WEBHOOK"}
	line := regexp.MustCompile(`(?m)^(?:\[\S+\] )?(?:env|let|ago) (.+)$`)
	files, _ := filepath.Glob("testdata/*/*.txtar") // the pattern is a constant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			for word := range strings.FieldsSeq(m[1]) {
				name, _, _ := strings.Cut(word, "=")
				names = append(names, strings.Trim(name, `'"`))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// program is where the ralph lies that scripts, agents and hooks start.
var program = sync.OnceValue(func() string {
	path, err := exec.LookPath("ralph")
	if err != nil {
		panic(err)
	}
	return path
})

// installed runs the tests with the program as the first ralph in PATH: as users have it, which
// costs less at each of hundreds of starts than this test binary, with all that only tests are made of. For the race
// detector it is this binary.
func installed(run func() int) int {
	dir, err := os.MkdirTemp("", "ralph-program")
	if err == nil {
		defer os.RemoveAll(dir)
		install := ralphtest.Build
		if raceEnabled {
			install = copyProgram
		}
		err = errors.Join(install(filepath.Join(dir, "ralph")), os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "put ralph into PATH:", err)
		return 1
	}
	return run()
}

// copyProgram links this program, or copies it to another disk: called by another name it is
// ralph (TestMain).
func copyProgram(to string) error {
	self, err := os.Executable()
	if err != nil || os.Link(self, to) == nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, from)
	return errors.Join(err, out.Close())
}
