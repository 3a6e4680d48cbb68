package dashboard

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// TestTurnFiles: names of tasks, turns and files come from outside; none leads out of the
// folders of the turns, by no path and by no link.
func TestTurnFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(name, text string) {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range []string{"1", "2", "2.2", "10"} {
		put("ralph/.state/tasks/t-1/"+n+"/output.log", "turn "+n)
	}
	put("ralph/.state/tasks/t-1/2/other.txt", "no")
	put("ralph/.state/tasks/t-1/diff.patch", "whole")
	put("ralph/.state/tasks/plan-a-s/1/prompt.md", "stage")
	put("output.log", "outside")
	if err := os.Symlink(filepath.Join(root, "output.log"), filepath.Join(root, "ralph/.state/tasks/t-1/2/prompt.md")); err != nil {
		t.Skip("no links here:", err)
	}
	if err := os.Symlink(root, filepath.Join(root, "ralph/.state/tasks/t-1/3")); err != nil {
		t.Fatal(err)
	}
	f := turnFiles{root}
	list, err := f.List("t-1")
	if err != nil || len(list) != 4 || list[1].Name != "2" || list[2].Name != "2.2" || list[2].Try != 2 || list[3].Iteration != 10 {
		t.Errorf("%v %v", list, err)
	}
	for _, c := range []struct{ id, record, name, want string }{
		{"t-1", "2.2", "output.log", "turn 2.2"},
		{"t-1", "", "diff.patch", "whole"},
		{"plan:a:s", "1", "prompt.md", "stage"},
		{"t-1", "2", "other.txt", ""},
		{"t-1", "2", "prompt.md", ""},
		{"t-1", "3", "output.log", ""},
		{"t-1", "../t-1/2", "output.log", ""},
		{"..", "1", "output.log", ""},
		{"../../..", "", "output.log", ""},
		{"", "1", "output.log", ""},
		{"t-1/2", "", "output.log", ""},
		{"t-2", "1", "output.log", ""},
		{"t-1", "2", "../2/output.log", ""},
		{"t-1", "1", "diff.patch", ""},
	} {
		in, size, err := f.Open(ralph.TaskID(c.id), c.record, c.name)
		if c.want == "" {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v: opened, or %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		b, _ := io.ReadAll(in)
		if string(b) != c.want || size != int64(len(b)) {
			t.Errorf("%v: %q, %d", c, b, size)
		}
		_ = in.Close()
	}
	s := &ralph.State{}
	s.Plan.Tasks = []*ralph.Task{{ID: "t-1", Run: ralph.Run{Turns: ralph.Turns{Iterations: 9, TurnAt: time.Unix(1, 0)}}}, {ID: "t-2"}, {ID: "../x", Run: ralph.Run{Turns: ralph.Turns{TurnAt: time.Unix(1, 0)}}}}
	before := f.Grown(s)
	put("ralph/.state/tasks/t-1/10/output.log", "turn 10 says more")
	if after := f.Grown(s); len(before) != 1 || before["t-1"] == after["t-1"] {
		t.Errorf("%v, %v", before, after)
	}
}

// A second run of a turn's checks has a file of its own: the newest is shown.
func TestNewestChecks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "ralph/.state/tasks/t-1/1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"checks-0123456789abcdef.json", "checks.json", "checks-fedcba9876543210.json", "checks-other.json"} {
		at := time.Unix(int64(1000+i), 0)
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600), os.Chtimes(filepath.Join(dir, name), at, at)); err != nil {
			t.Fatal(err)
		}
	}
	in, _, err := turnFiles{root}.Open("t-1", "1", "checks.json")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if b, err := io.ReadAll(in); err != nil || string(b) != "checks-fedcba9876543210.json" {
		t.Errorf("%s %v", b, err)
	}
}
