package step

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
)

// A flood fills neither memory nor disk: the head is kept, then the end, with a
// line between them that says how much is missing. Any cut of the stream into
// writes gives the same file.
func TestOutputFileKeepsHeadAndEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		head, end := int64(rapid.IntRange(1, 64).Draw(t, "head")), rapid.IntRange(1, 32).Draw(t, "end")
		text := rapid.SliceOfN(rapid.ByteRange('a', 'z'), 0, 300).Draw(t, "text")
		path := filepath.Join(dir, "o")
		o, err := openOutput(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.maxHead, o.maxEnd = head, end
		for rest := text; len(rest) > 0; {
			k := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			if _, err := o.Write(rest[:k]); err != nil {
				t.Fatal(err)
			}
			rest = rest[k:]
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		dropped := o.dropped()
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := max(0, int64(len(text))-head-int64(end)); dropped != want {
			t.Fatalf("dropped %d of %d bytes, want %d", dropped, len(text), want)
		}
		if int64(len(text)) <= head {
			if string(got) != string(text) {
				t.Fatalf("a short output is kept as it is: %q, not %q", got, text)
			}
			return
		}
		kept := text[head:]
		kept = kept[max(0, len(kept)-end):]
		if !strings.HasPrefix(string(got), string(text[:head])) || !strings.HasSuffix(string(got), "\n"+string(kept)) {
			t.Fatalf("head %d, end %d of %q: kept %q", head, end, text, got)
		}
	})
}

// F-17: an answer after which a task would wait for a later phase is asked for again, like
// one with a cycle; the parts of a task are of its phase, so that what waits for it can.
func TestAnswersKeepPhasesInOrder(t *testing.T) {
	t.Parallel()
	s := &ralph.State{
		Job: &ralph.Job{File: "a.md"},
		Plan: ralph.Plan{File: "a.md", Tasks: []*ralph.Task{
			{ID: "t-big", Name: "Big", Phase: "P1", Status: ralph.TaskTimeout},
			{ID: "t-next", Name: "Next", Phase: "P2", Status: ralph.TaskPending, Deps: []ralph.TaskID{"t-big"}},
		}},
	}
	n := 0
	x := &Executor{NewID: func(string) string { n++; return fmt.Sprint("t-", n) }}
	empty := &ralph.State{Job: s.Job, Plan: ralph.Plan{File: "a.md"}}
	const inverted = `{"verdicts":[],"tasks":[{"name":"One","phase":"P1","deps":["Two"]},{"name":"Two","phase":"P2"}]}`
	_, planned := x.planned(empty, ralph.TurnResult{Text: inverted})
	_, investigated := x.investigated(s, ralph.TurnResult{Text: inverted})
	_, verified := x.verified(s, ralph.TurnResult{Text: inverted})
	split := &ralph.Task{ID: "decompose:q-1:t-big", Kind: ralph.KindDecompose, Parent: "t-big"}
	_, decomposed := x.decomposed(s, split, ralph.TurnResult{Text: `{"tasks":[{"name":"Late","phase":"P3"}]}`})
	for name, err := range map[string]error{"planned": planned, "investigated": investigated, "verified": verified, "decomposed": decomposed} {
		var mismatch *prompt.Mismatch
		if !errors.As(err, &mismatch) || !strings.Contains(mismatch.Why, "which comes later") {
			t.Errorf("%s: %v", name, err)
		}
	}
	facts, err := x.decomposed(s, split, ralph.TurnResult{Text: `{"tasks":[{"name":"One"},{"name":"Two"}]}`})
	if err != nil {
		t.Fatal(err)
	}
	if part := facts[0].(ralph.TaskAdded).Task; part.Phase != "P1" {
		t.Errorf("the first part is %+v", part)
	}
}

// What waited for a task that is split waits for all of its parts (DECOMPOSE).
func TestDecomposedTasksTakeThePlaceOfTheirParent(t *testing.T) {
	t.Parallel()
	s := &ralph.State{
		Job: &ralph.Job{File: "a.md"},
		Plan: ralph.Plan{File: "a.md", Tasks: []*ralph.Task{
			{ID: "t-big", Name: "Big", Status: ralph.TaskTimeout},
			{ID: "t-next", Name: "Next", Status: ralph.TaskPending, Deps: []ralph.TaskID{"t-other", "t-big"}},
			{ID: "t-other", Name: "Other", Status: ralph.TaskDone},
		}},
	}
	ids := []string{"t-big", "t-aaaa", "t-bbbb"} // the first is taken: another is made
	x := &Executor{NewID: func(string) string {
		id := ids[0]
		ids = ids[1:]
		return id
	}}
	split := &ralph.Task{ID: "decompose:q-1:t-big", Kind: ralph.KindDecompose, Parent: "t-big"}
	facts, err := x.decomposed(s, split, ralph.TurnResult{Text: `{"tasks":[{"name":"One"},{"name":"Two","deps":["One"]}]}`})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		s.Apply(ralph.Event{Fact: f})
	}
	if deps := s.Task("t-next").Deps; !slices.Equal(deps, []ralph.TaskID{"t-other", "t-aaaa", "t-bbbb"}) {
		t.Errorf("what waited for the task waits for %v", deps)
	}
	if two := s.Task("t-bbbb"); two == nil || two.Parent != "t-big" || !slices.Equal(two.Deps, []ralph.TaskID{"t-aaaa"}) {
		t.Errorf("the second part is %+v", two)
	}
	if big := s.Task("t-big"); big.Status != ralph.TaskSkipped || big.Run.Reason != "split into 2 smaller tasks" {
		t.Errorf("the task itself is %s (%s)", big.Status, big.Run.Reason)
	}
}
