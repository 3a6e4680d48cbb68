package journal_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
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
			if s["version"] != float64(ralph.FoldVersion) || s["shape"] != journal.StateShape {
				t.Errorf("after a write the snapshot is of version %v and shape %v", s["version"], s["shape"])
			}
			sameState(t, j.State(), open(t, opt).State())
		})
	}
}

var anew = flag.Bool("update", false, "write the shape of State into shape.go")

// F-06: the shape in a snapshot's key is that of State as it is.
func TestShapeOfState(t *testing.T) {
	t.Parallel()
	is := shape(reflect.TypeFor[ralph.State]())
	if *anew {
		text, err := os.ReadFile("shape.go")
		must(t, err)
		before, _, found := strings.Cut(string(text), "const stateShape = ")
		if !found {
			t.Fatal("shape.go has no place for it")
		}
		must(t, os.WriteFile("shape.go", fmt.Appendf(nil, "%sconst stateShape = %q\n", before, is), 0o644))
		t.Skip("written; the next run compares")
	}
	if is != journal.StateShape {
		t.Errorf("State has the shape %s, shape.go says %s: run `go generate ./internal/journal`", is, journal.StateShape)
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
	base := shape(reflect.TypeFor[of[leaf]]())
	if again := shape(reflect.TypeFor[of[leaf]]()); again != base {
		t.Errorf("the shape of one type is %s, then %s", base, again)
	}
	for name, other := range map[string]reflect.Type{
		"another type":  reflect.TypeFor[of[wideLeaf]](),
		"another field": reflect.TypeFor[of[longLeaf]](),
		"another tag":   reflect.TypeFor[of[emptyLeaf]](),
	} {
		if shape(other) == base {
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
	if shape(reflect.TypeFor[kept]()) != shape(reflect.TypeFor[alone]()) {
		t.Error("a field that is not written changes the shape")
	}
}

func segments(t *testing.T, root string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "ralph/.state/journal-*.jsonl"))
	must(t, err)
	return found
}

// shape is a name for how a type is written as JSON: its fields with their types and
// tags, at any depth.
func shape(t reflect.Type) string {
	sum := sha256.Sum256(describe(make([]byte, 0, 32<<10), t, map[reflect.Type]bool{}))
	return hex.EncodeToString(sum[:16])
}

// describe adds the words on a type to b.
func describe(b []byte, t reflect.Type, seen map[reflect.Type]bool) []byte {
	b = append(append(b, t.Kind().String()...), '(')
	switch t.Kind() {
	case reflect.Struct:
		if seen[t] {
			b = append(b, t.String()...)
			break
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			tag := f.Tag.Get("json")
			if tag == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			b = append(append(b, f.Name...), ' ')
			b = append(strconv.AppendQuote(b, tag), ' ')
			b = describe(b, f.Type, seen)
		}
	case reflect.Map:
		b = describe(b, t.Key(), seen)
		b = describe(b, t.Elem(), seen)
	case reflect.Array:
		b = append(strconv.AppendInt(b, int64(t.Len()), 10), ' ')
		b = describe(b, t.Elem(), seen)
	case reflect.Pointer, reflect.Slice:
		b = describe(b, t.Elem(), seen)
	}
	return append(b, ')')
}
