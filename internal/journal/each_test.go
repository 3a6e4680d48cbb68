package journal_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// Whoever asks for what comes after a fact gets each fact from there on, wherever in a long
// segment it lies, and the line of one that cannot be read (issue 16.4: who follows reads the
// end of the segment alone).
func TestEachFromAnywhere(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	path := filepath.Join(root, "ralph/.state/journal.jsonl")
	for fileSize(path) < 150<<10 {
		var facts []ralph.Fact
		for range 1 + rand.IntN(3) {
			facts = append(facts, note(strings.Repeat("x", rand.IntN(1500))))
		}
		must(t, update(j, facts...))
	}
	must(t, update(j, note(strings.Repeat("y", 40<<10)))) // more than the end that is looked at
	for range 10 {
		must(t, update(j, note("z")))
	}
	newest := j.State().Seq
	read := func(after int64) (first, last int64, err error) {
		err = j.Each(after, func(e ralph.Event) error {
			if first == 0 {
				first = e.Seq
			}
			last = e.Seq
			return nil
		})
		return first, last, err
	}
	for after := range newest {
		if first, last, err := read(after); first != after+1 || last != newest || err != nil {
			t.Fatalf("after %d: from %d to %d of %d, %v", after, first, last, newest, err)
		}
	}
	if first, _, err := read(newest); first != 0 || err != nil {
		t.Errorf("after the newest: %d, %v", first, err)
	}
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, append(b, `{"t":"noted","seq":`...), 0o600)) // torn
	if first, last, err := read(newest - 3); first != newest-2 || last != newest || err != nil {
		t.Errorf("a torn end: from %d to %d of %d, %v", first, last, newest, err)
	}
	lines := strings.SplitAfter(string(b), "\n")
	broken := len(lines) - 3
	lines[broken] = strings.Replace(lines[broken], "{", "[", 1)
	must(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
	for _, after := range []int64{1, newest - 4} {
		_, _, err := read(after)
		if corrupt, ok := errors.AsType[*ralph.CorruptError](err); !ok || corrupt.Line != broken+1 {
			t.Errorf("after %d: %v, want line %d", after, err, broken+1)
		}
	}
}

// BenchmarkEachNewest is what a follower pays for each fact, in a segment that is nearly full.
func BenchmarkEachNewest(b *testing.B) {
	j, err := journal.Open(options(b.TempDir()))
	must(b, err)
	defer j.Close()
	for range 200 {
		must(b, j.Update(context.Background(), "cli", func(*ralph.State) ([]ralph.Fact, error) {
			return []ralph.Fact{note(strings.Repeat("x", 1000))}, nil
		}))
	}
	newest := j.State().Seq
	for b.Loop() {
		must(b, j.Each(newest-1, func(ralph.Event) error { return nil }))
	}
}
