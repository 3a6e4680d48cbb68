package main

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// What packages do before main costs every command, and each call of a shim. Bytes are
// counted, not time: they are the same on any machine, and below 4 MiB no garbage is
// collected either. Less is welcome: write the new number down (issue 17, 2).
const (
	maxBeforeMain = 1_500_000 // all packages: goldmark 540 kB, huma 180, jsonschema 80, go-version 80, shoutrrr 150
	maxOfOurs     = 16_000    // a package of ours
)

func TestBeforeMain(t *testing.T) {
	t.Parallel()
	ralph, err := exec.LookPath("ralph")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), ralph, "version")
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	total, packages := 0, 0
	for line := range strings.Lines(string(out)) {
		// init <package> @<ms> ms, <ms> ms clock, <bytes> bytes, <n> allocs
		f := strings.Fields(line)
		if len(f) != 11 || f[0] != "init" || f[8] != "bytes," {
			continue
		}
		bytes, err := strconv.Atoi(f[7])
		if err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		packages++
		total += bytes
		ours := strings.HasPrefix(f[1], "github.com/ralph-loop/ralph") && !strings.HasSuffix(f[1], "/cmd/ralph") // which is these tests
		if ours && bytes > maxOfOurs {
			t.Errorf("%s makes %d bytes before main, at most %d: make it when it is first asked for, with lazyregexp.New or sync.OnceValue", f[1], bytes, maxOfOurs)
		}
	}
	if packages < 20 {
		t.Fatalf("the trace tells of %d packages only:\n%s", packages, out)
	}
	if total > maxBeforeMain {
		t.Errorf("packages make %d bytes before main, at most %d:\n%s", total, maxBeforeMain, out)
	}
}
