package journal_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// redTests leaves a journal whose snapshot holds a task with one red run of its tests.
func redTests(t *testing.T, root string) {
	t.Helper()
	opt := options(root)
	opt.SegmentSize = 1 // a snapshot after each write
	j := open(t, opt)
	must(t, update(j, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}}))
	must(t, update(j, ralph.ChecksRan{Task: "t-1", Results: []ralph.CheckResult{{Name: "test", Test: true}}}))
	must(t, j.Close())
}

// F-06: a snapshot is believed when it was written with State as it is now and by the
// fold as it is now. Any other is folded anew, by readers too; the first write makes a
// snapshot that is believed, so that not every start folds all.
func TestSnapshotOfAnotherBuild(t *testing.T) {
	t.Parallel()
	const snapshot = "ralph/.state/snapshot.json"
	for name, c := range map[string]struct {
		key      map[string]any // nil values are taken out
		believed bool
	}{
		"this build":                    {nil, true},
		"State had another shape":       {map[string]any{"shape": "5e1f"}, false},
		"without a shape, as the first": {map[string]any{"version": 1, "shape": nil}, false},
		"Apply meant something else":    {map[string]any{"version": ralph.FoldVersion - 1}, false},
		"a newer ralph":                 {map[string]any{"version": ralph.FoldVersion + 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			redTests(t, root)
			var s map[string]any
			lines := strings.SplitAfter(read(t, root, snapshot), "\n") // the head, the state, the tasks
			var tasks []map[string]any
			must(t, json.Unmarshal([]byte(lines[0]), &s))
			must(t, json.Unmarshal([]byte(lines[2]), &tasks))
			run := tasks[0]["run"].(map[string]any)
			if run["test_reds"] != 1.0 {
				t.Fatalf("the snapshot does not hold what this test takes away: %v", run)
			}
			delete(run, "test_reds") // as if the field had not been there
			for key, value := range c.key {
				s[key] = value
				if value == nil {
					delete(s, key)
				}
			}
			b, err := json.Marshal(s)
			must(t, err)
			line, err := json.Marshal(tasks)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(root, snapshot), slices.Concat(b, []byte("\n"+lines[1]), line), 0o600))

			want := 1
			if c.believed {
				want = 0
			}
			opt := options(root)
			opt.Read = true
			reds := func(s *ralph.State) int { return s.Task("t-1").Run.TestReds }
			if got := reds(open(t, opt).State()); got != want {
				t.Errorf("a reader sees %d red runs of the tests, want %d", got, want)
			}
			opt.Read = false
			j := open(t, opt)
			must(t, update(j, note("a write"), note("another")))
			before := segments(t, root)
			must(t, update(j, note("one more")))
			if after := segments(t, root); len(after) != len(before) {
				t.Errorf("segment after segment: %v, then %v", before, after)
			}
			if got := reds(j.State()); got != want {
				t.Errorf("a writer sees %d red runs of the tests, want %d", got, want)
			}
			head, _, _ := strings.Cut(read(t, root, snapshot), "\n")
			must(t, json.Unmarshal([]byte(head), &s))
			if s["version"] != float64(ralph.FoldVersion) || s["shape"] != journal.StateShape() {
				t.Errorf("after a write the snapshot is of version %v and shape %v", s["version"], s["shape"])
			}
			sameState(t, j.State(), open(t, opt).State())
		})
	}
}

// Whatever changes how a type is written changes its shape, at any depth; what is not
// written does not.
func TestShape(t *testing.T) {
	t.Parallel()
	type leaf struct {
		N int `json:"n"`
	}
	type wideLeaf struct {
		N int64 `json:"n"`
	}
	type longLeaf struct {
		N int `json:"n"`
		M int `json:"m,omitempty"`
	}
	type emptyLeaf struct {
		N int `json:"n,omitempty"`
	}
	type of[T any] struct {
		At   time.Time         `json:"at"`
		List []*T              `json:"list"`
		Map  map[string]T      `json:"map"`
		Back []*of[T]          `json:"back"` // must not walk for ever
		Raw  json.RawMessage   `json:"raw"`
		Any  func() (any, T)   `json:"-"`
		Self *struct{ X [2]T } `json:"self"`
	}
	base := journal.Shape(reflect.TypeFor[of[leaf]]())
	if again := journal.Shape(reflect.TypeFor[of[leaf]]()); again != base {
		t.Errorf("the shape of one type is %s, then %s", base, again)
	}
	for name, other := range map[string]reflect.Type{
		"another type":  reflect.TypeFor[of[wideLeaf]](),
		"another field": reflect.TypeFor[of[longLeaf]](),
		"another tag":   reflect.TypeFor[of[emptyLeaf]](),
	} {
		if journal.Shape(other) == base {
			t.Errorf("%s deep inside: the same shape", name)
		}
	}
	type kept struct {
		A     int  `json:"a"`
		Aside *int `json:"-"`
	}
	type alone struct {
		A int `json:"a"`
	}
	if journal.Shape(reflect.TypeFor[kept]()) != journal.Shape(reflect.TypeFor[alone]()) {
		t.Error("a field that is not written changes the shape")
	}
}

func segments(t *testing.T, root string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "ralph/.state/journal-*.jsonl"))
	must(t, err)
	return found
}
