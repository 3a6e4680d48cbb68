package main

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// What packages do before main costs every command, and each call of a shim. Bytes are
// counted, not time: they are the same on any machine but for one or two in a hundred (when a map
// grows hangs on the seed of its hashes), and below 4 MiB no garbage is collected either. Less is
// welcome: write the new number down.
// What only the tests of this package are made of is not counted: users do not start that.
const (
	maxBeforeMain = 1_400_000 // all packages: goldmark 540 kB, huma 180, jsonschema 80, shoutrrr 150
	maxOfOurs     = 16_000    // a package of ours
)

// usersPackages are those that the program of users is made of.
var usersPackages = sync.OnceValues(func() ([]string, error) {
	deps, err := exec.Command("go", "list", "-deps", ".").Output()
	return strings.Fields(string(deps)), err
})

// initialised are the packages that a command initialises before it answers, with the bytes that
// each makes.
func initialised(t *testing.T, dir string, args ...string) (packages map[string]int, said string) {
	t.Helper()
	ralph, err := exec.LookPath("ralph")
	if err != nil {
		t.Fatal(err)
	}
	users, err := usersPackages()
	if err != nil {
		t.Fatalf("go list -deps: %v", err)
	}
	var out, trace strings.Builder
	cmd := exec.CommandContext(t.Context(), ralph, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), "GODEBUG=inittrace=1"), &out, &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, trace.String())
	}
	packages = map[string]int{}
	for line := range strings.Lines(trace.String()) {
		// init <package> @<ms> ms, <ms> ms clock, <bytes> bytes, <n> allocs
		f := strings.Fields(line)
		if len(f) != 11 || f[0] != "init" || f[8] != "bytes," || !slices.Contains(users, f[1]) {
			continue
		}
		bytes, err := strconv.Atoi(f[7])
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		packages[f[1]] = bytes
	}
	if len(packages) < 20 {
		t.Fatalf("the trace tells of %d packages only:\n%s", len(packages), trace.String())
	}
	return packages, out.String()
}

func sumOf(packages map[string]int) (sum int) {
	for _, n := range packages {
		sum += n
	}
	return sum
}

func TestBeforeMain(t *testing.T) {
	t.Parallel()
	packages, _ := initialised(t, t.TempDir(), "exit-codes")
	for name, bytes := range packages {
		ours := strings.HasPrefix(name, "github.com/ralph-loop/ralph") && !strings.HasSuffix(name, "/cmd/ralph") // which is these tests
		if ours && bytes > maxOfOurs {
			t.Errorf("%s makes %d bytes before main, at most %d: make it when it is first asked for, with lazyregexp.New or sync.OnceValue", name, bytes, maxOfOurs)
		}
	}
	if total := sumOf(packages); total > maxBeforeMain {
		t.Errorf("packages make %d bytes before main, at most %d: %v", total, maxBeforeMain, packages)
	}
}

// Issue 17, row 2: what people and scripts ask most is answered before the packages of other
// commands make their tables, with the words that main would have.
func TestBeforeOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := &counted{t: t, dir: dir, env: os.Environ()}
	x.run("git", "init", "-q")
	ralph, err := exec.LookPath("ralph")
	if err != nil {
		t.Fatal(err)
	}
	x.run(ralph, "init")
	for _, c := range []struct {
		args     []string
		packages int // at most
		bytes    int
	}{
		{[]string{"version"}, 110, 280_000},
		{[]string{"--version"}, 110, 280_000},
		{[]string{"status"}, 145, 450_000},
		{[]string{"status", "--json"}, 145, 450_000},
	} {
		packages, said := initialised(t, dir, c.args...)
		if sum := sumOf(packages); len(packages) > c.packages || sum > c.bytes {
			t.Errorf("%v: %d packages of %d bytes before it, at most %d of %d: %v", c.args, len(packages), sum, c.packages, c.bytes, packages)
		}
		all, want := initialised(t, dir, append([]string{"-C", dir}, c.args...)...) // which main answers
		if said != want || want == "" || len(all) < c.packages {
			t.Errorf("%v says\n%s\nafter %d packages, and main, after %d,\n%s", c.args, said, len(packages), len(all), want)
		}
	}
}
