package observe

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/wanted"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// An output that is followed is told once, whole. Another file under its name is another attempt at
// the turn, which is told from its beginning, also where it is longer than the one before.
func TestStreamOfATurnThatIsLost(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	task := &ralph.Task{ID: "t-1"}
	task.Run.TurnAt = time.Now()
	path := step.OutputOf(root, task.ID, 1)
	write := func(words string, flag int) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(words); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	write("one\ntw", 0)
	turns := NewTurns(workspace.Env{}, root)
	s := turns.Follow(task, turns.Output(task))
	read := func() []string {
		t.Helper()
		pieces, err := s.Read()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, p := range pieces {
			out = append(out, strings.TrimSpace(p.Text))
		}
		return out
	}
	again := "… this turn was lost, and has begun again …"
	for _, now := range []struct {
		do   func()
		want []string
	}{
		{func() {}, []string{"one"}},
		{func() { write("o\n", os.O_APPEND) }, []string{"two"}},
		{func() {}, nil},
		{func() { // of another worker, longer, and its file has another one's place
			old := path
			path += ".new"
			write("three\nfour\nfive\nsix\n", 0)
			path = old
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		}, []string{again, "three", "four", "five", "six"}},
		{func() { write("seven\n", os.O_APPEND) }, []string{"seven"}},
		{func() { write("", os.O_TRUNC) }, []string{again}},
		{func() { write("eight\n", os.O_APPEND) }, []string{"eight"}},
	} {
		now.do()
		if got := read(); !slices.Equal(got, now.want) {
			t.Fatalf("it tells %q, want %q", got, now.want)
		}
	}
}

// Whoever looks at agents at work asks for what those on other machines print; of a turn that is not
// under way nobody does, nor while no engine works.
func TestWhoLooksAsks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	working := &ralph.Task{ID: "t-1"}
	working.Run.TurnAt = time.Now()
	s := &ralph.State{}
	s.Plan.Tasks = []*ralph.Task{working, {ID: "t-2"}}
	one, two := wanted.Of(root, "t-1"), wanted.Of(root, "t-2")
	if err := errors.Join(one.Begin(), two.Begin()); err != nil {
		t.Fatal(err)
	}
	tail := NewOutputTail(workspace.Env{}, root)
	tail.Words(s, status.Engine{})
	if one.Asked() {
		t.Error("asked while no engine works")
	}
	tail.Words(s, status.Engine{Alive: true})
	if !one.Asked() || two.Asked() {
		t.Error("what is looked at is not asked for, or what is not is")
	}
}
