package journal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// F-06, issue 13: journals of older builds fold to what those builds folded them to, with
// their snapshots and without, for readers and writers. Only what the older build had is
// compared: State may have got fields since.
//
// When this fails, a fact of old has another meaning now. Mostly that is a mistake: people's
// journals are full of old facts. Where it is meant, edit state.json by hand, and
// raise ralph.FoldVersion.
func TestOldJournals(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob("testdata/journals/*/*/state.json")
	must(t, err)
	if len(found) < 5 {
		t.Fatalf("only %d journals: %v", len(found), found)
	}
	for _, golden := range found {
		dir := filepath.Dir(golden)
		for _, with := range []string{"snapshot", "no snapshot"} {
			t.Run(strings.TrimPrefix(dir, "testdata/journals/")+" "+with, func(t *testing.T) {
				t.Parallel()
				root := t.TempDir()
				must(t, os.CopyFS(filepath.Join(root, "ralph/.state"), os.DirFS(dir)))
				if with == "no snapshot" {
					must(t, os.Remove(filepath.Join(root, "ralph/.state/snapshot.json")))
				}
				opt := options(root)
				for _, opt.Read = range []bool{true, false} {
					for _, d := range missing("state", parsed(t, read(t, ".", golden)), stateJSON(t, open(t, opt).State())) {
						t.Errorf("read only %v: %s", opt.Read, d)
					}
				}
				j := open(t, opt)
				must(t, update(j, note("written by the build of today")))
				checkChain(t, j)
				sameState(t, j.State(), open(t, opt).State())
			})
		}
	}
}

func parsed(t *testing.T, text string) any {
	t.Helper()
	var v any
	must(t, json.Unmarshal([]byte(text), &v))
	return v
}

func stateJSON(t *testing.T, s *ralph.State) any {
	t.Helper()
	b, err := json.Marshal(s)
	must(t, err)
	return parsed(t, string(b))
}

// missing lists what want has and got has not, or has otherwise.
func missing(at string, want, got any) []string {
	var out []string
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
		}
		for key, value := range w {
			out = append(out, missing(at+"."+key, value, g[key])...)
		}
		slices.Sort(out)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return []string{fmt.Sprintf("%s is %v, want %v", at, got, want)}
		}
		for i := range w {
			out = append(out, missing(fmt.Sprintf("%s[%d]", at, i), w[i], g[i])...)
		}
	default:
		if want != got {
			out = append(out, fmt.Sprintf("%s is %v, want %v", at, got, want))
		}
	}
	return out
}
