package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// TestMain puts ralph into PATH. For the race detector it is this test binary: under that name it
// runs the very function that main runs.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "ralph" {
		main()
	}
	os.Exit(installed(func() int { return ralphtest.InMemory(m) }))
}

// TestScripts runs what a person would type, in repositories of their own. Each
// script names the requirements it covers in its first lines. These are the scripts of every
// day: with the tests beside packages they name all that any script names (TestEveryRequirementIsNamed).
func TestScripts(t *testing.T) {
	t.Parallel()
	scripts(t, "testdata/script", "")
}

// TestScriptsThorough runs all other scripts, which take three times as long: more ways to the same
// requirements.
func TestScriptsThorough(t *testing.T) {
	ralphtest.NeedsTime(t)
	t.Parallel()
	scripts(t, "testdata/thorough", "")
}

// TestScriptsThoroughOnDisk runs those that cannot be in memory: a sandboxed agent may write to
// devices, and /dev/shm lies among them.
func TestScriptsThoroughOnDisk(t *testing.T) {
	ralphtest.NeedsTime(t)
	t.Parallel()
	scripts(t, "testdata/thorough_disk", disk(t))
}

// disk is a folder that is not in memory.
func disk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ralph-disk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func scripts(t *testing.T, dir, work string) {
	t.Helper()
	files := chosen(t, dir)
	if len(files) == 0 {
		t.Skip("nothing in them for the race detector")
	}
	testscript.Run(t, scriptParams(t, files, work))
}

// scriptParams are how scripts run.
func scriptParams(t *testing.T, files []string, work string) testscript.Params {
	t.Helper()
	return testscript.Params{
		Files: files, WorkdirRoot: work,
		RequireUniqueNames:  true,
		RequireExplicitExec: false,
		Setup:               isolate,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ralph": cmdRalph,
			"repo":  cmdRepo, "exits": cmdExits, "waitfile": cmdWaitFile, "waitgone": cmdWaitGone,
			"signal": cmdSignal, "json": cmdJSON, "let": cmdLet, "ago": cmdAgo, "expand": cmdExpand, "same": cmdSame,
			"holdlock": cmdHoldLock, "freelock": cmdFreeLock,
			"http": cmdHTTP, "crawl": cmdCrawl, "webhook": cmdWebhook, "model": cmdModel, "answering": cmdAnswering, "hub": cmdHub(t),
		},
	}
}

// several is what a script has in it whose ralph does several things at a time: more than one
// slot or thread, a dashboard with its readers, a person's signal that comes in between.
var several = regexp.MustCompile(`(?m)\bralph (.* )?(serve|demo --parallel|autopilot .*--parallel|auto .*--threads)\b|^(http|crawl) |^signal SIGINT|\bparallel=[2-9]`)

// chosen are the scripts of a folder; under the race detector those with several. One agent
// after the other is one goroutine after the other, and a program built for the detector
// takes five times as long to start: .ci/run has all scripts in its step without it.
func chosen(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	if !raceEnabled {
		return files
	}
	return slices.DeleteFunc(files, func(name string) bool {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		commands, _, _ := strings.Cut(string(text), "\n-- ")
		return !several.MatchString(commands)
	})
}

// isolate keeps the person's own settings and git configuration out.
func isolate(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return err
	}
	env.Vars = append(env.Vars,
		"HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
		"TZ=UTC", "NO_COLOR=1",
		// Agents, checks and hooks of scripts tell what they do in files beside the repository.
		// For their sandbox, which is on as users have it, that is a temporary folder.
		"TMPDIR="+env.WorkDir,
		"GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"), // else each program waits a second at its end under -race
	)
	env.Vars = append(env.Vars, ralphtest.Sandbox()...)
	var names []string
	for _, v := range env.Vars {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	env.Values[locksKey{}] = map[string]*flock.Flock{}
	env.Values[namesKey{}] = slices.Compact(names)
	env.Defer(func() { endLeftovers(env.WorkDir) })
	env.Defer(func() {
		if left := linksLeft(env.WorkDir); left != "" {
			env.T().Log("a link that no surface has written: " + left)
			env.T().FailNow()
		}
	})
	return nil
}

// endLeftovers ends what still runs in a script's folder: a script that failed
// half way may leave an engine and its agent behind.
func endLeftovers(dir string) {
	for _, proc := range processes() {
		if at, err := os.Readlink(filepath.Join(proc, "cwd")); err != nil || !strings.HasPrefix(at, dir+string(filepath.Separator)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(proc)); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself meanwhile
		}
	}
}

// processes are the folders of all processes, none on systems without /proc. The pattern ends
// with them: one that goes on would list each of the folders.
func processes() []string {
	list, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil // the pattern is a constant
	}
	return list
}

// condition adds [root], a person whom no permission stops, [landlock] and [bubblewrap],
// a system that has it.
func condition(name string) (bool, error) {
	switch name {
	case "landlock":
		return sandbox.ABI() > 0, nil
	case "bubblewrap":
		return ralphtest.Bubblewrap(), nil
	}
	if name == "root" {
		return os.Geteuid() == 0, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// aLink is what no person is to read.
var aLink = regexp.MustCompile(`\[\[([a-z-]+)[^\[\]\n]*\]\]`)

// linksLeft is a link in what a script's ralph has left in files for people, "" for none.
func linksLeft(dir string) string {
	found := ""
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(name, "/ralph/") && !strings.Contains(name, "ralph-logs") && !strings.Contains(name, "hook") {
			return nil //nolint:nilerr // what is gone meanwhile has none
		}
		text, _ := os.ReadFile(name)
		for _, m := range aLink.FindAllSubmatch(text, -1) {
			if action.Known(string(m[1])) {
				found = name + ": " + string(m[0])
			}
		}
		return nil
	})
	return found
}
