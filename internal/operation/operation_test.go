package operation_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/operation"
)

func command(text string) ralph.Request {
	return ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: text, Dir: "/home/me/repo/sub"}
}

// lines are the commands of a corpus.
func lines(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			out = append(out, strings.ReplaceAll(line, "⏎", "\n"))
		}
	}
	return out
}

func held(found []operation.Found) bool {
	return slices.ContainsFunc(found, func(f operation.Found) bool { return f.Never || f.Unknown })
}

// C-008, C-034, C-036, X-79: none of the ways around the never list works, with no patterns at all.
func TestEvasions(t *testing.T) {
	t.Parallel()
	list := lines(t, "evasions.txt")
	if len(list) < 200 {
		t.Errorf("%d evasions, want 200 at least", len(list))
	}
	for _, home := range []string{"/home/me", ""} {
		for _, text := range list {
			if found := (operation.Patterns{}).Look(command(text), home); !held(found) {
				t.Errorf("home %q: %q is not held: %+v", home, text, found)
			}
		}
	}
}

// C-042, C-043, X-80: messages, plain variables and paths that are not everything are not held.
func TestHarmless(t *testing.T) {
	t.Parallel()
	list := lines(t, "harmless.txt")
	if len(list) < 80 {
		t.Errorf("%d harmless commands, want 80 at least", len(list))
	}
	for _, text := range list {
		if found := (operation.Patterns{}).Look(command(text), "/home/me"); held(found) {
			t.Errorf("%q is held: %+v", text, found)
		}
	}
}

// A call that is too big to be looked at is for a person, and takes no time.
func TestHugeTool(t *testing.T) {
	t.Parallel()
	var none operation.Patterns
	long := strings.Repeat("long ", 1<<18)
	for name, q := range map[string]ralph.Request{
		"name":  {Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: long, Dir: "/w"},
		"words": {Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: "x", Detail: `{"a":["` + strings.Repeat(`b","`, 5000) + `"]}`, Dir: "/w"},
	} {
		if found := none.Look(q, "/home/me"); len(found) != 1 || !found[0].Unknown {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// C-034, C-036: words that only may be commands do not use up the looks that are left for
// one that is.
func TestWordsDoNotHideAnother(t *testing.T) {
	t.Parallel()
	text := "git " + strings.Repeat("-c a.b='c d' ", 400) + "rebase --exec 'git push -f' main"
	if found := (operation.Patterns{}).Look(command(text), "/home/me"); !held(found) {
		t.Errorf("is not held: %+v", found)
	}
}
