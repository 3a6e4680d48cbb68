package hook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/eventname"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// box is a repository's folder with ralph/hooks.
func box(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

func put(t *testing.T, root, name, script string) Hook {
	t.Helper()
	path := filepath.Join(root, Dir, name)
	ralphtest.Program(t, path, "#!/bin/sh\n"+script+"\n")
	return Hook{Name: name, Path: path}
}

// Executables that are called like an event, or pre- and a step, are hooks; what is
// not run is named with what mends it, and what nobody meant to be run is left alone.
func TestLook(t *testing.T) {
	t.Parallel()
	root := box(t)
	for _, name := range []string{"autopilot-step-complete", "step-complete", "turn.ended", "AGENT_BLOCKED", "engine-paused", "pre-turn", "step-complte", "hook.ran", "pre-push"} {
		put(t, root, name, "")
	}
	elsewhere := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ralphtest.Program(t, filepath.Join(root, "tool"), "#!/bin/sh\n")
	must(os.Symlink("../../tool", filepath.Join(root, Dir, "started")))
	must(os.Symlink(filepath.Join(elsewhere, "x"), filepath.Join(root, Dir, "paused")))
	must(os.Symlink("../../none", filepath.Join(root, Dir, "resumed")))
	must(os.Mkdir(filepath.Join(root, Dir, "aborted"), 0o755))
	must(os.WriteFile(filepath.Join(root, Dir, "complete"), nil, 0o644))
	for _, name := range []string{"README.md", ".gitkeep", "asked.sample", "asked~"} {
		put(t, root, name, "")
	}
	set, err := Look(root)
	must(err)
	var found []string
	for _, h := range set.Hooks {
		found = append(found, h.Name)
		if h.Path != filepath.Join(root, Dir, h.Name) {
			t.Errorf("%s is at %s", h.Name, h.Path)
		}
	}
	if want := []string{"AGENT_BLOCKED", "autopilot-step-complete", "engine-paused", "pre-turn", "started", "step-complete", "turn.ended"}; !slices.Equal(found, want) {
		t.Errorf("hooks %v, want %v", found, want)
	}
	flaws := map[string]string{
		"aborted":      "it is a folder",
		"complete":     "not executable, chmod +x ralph/hooks/complete",
		"hook.ran":     "no hook for what hooks do",
		"paused":       "leads out of the repository",
		"resumed":      "or to nothing",
		"step-complte": "no event has that name, step-complete",
		"pre-push":     "no event has that name",
	}
	for _, f := range set.Flaws {
		name := strings.TrimPrefix(f.File, Dir+"/")
		for want := range strings.SplitSeq(flaws[name], ", ") {
			if want == "" || !strings.Contains(f.Why+" -> "+f.Fix, want) {
				t.Errorf("%s: %s -> %s, want %q", f.File, f.Why, f.Fix, want)
			}
		}
		delete(flaws, name)
	}
	if len(flaws) > 0 {
		t.Errorf("not named: %v", flaws)
	}
}

// A folder that is not there is no error; one that is no folder or leads out is said.
func TestLookAtOddFolders(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]struct {
		make func(dir string) error
		want string
	}{
		"none": {func(string) error { return nil }, ""},
		"file": {func(dir string) error { return os.WriteFile(dir, nil, 0o755) }, "no folder"},
		"out":  {func(dir string) error { return os.Symlink(os.TempDir(), dir) }, "leads out"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			if err := os.Mkdir(filepath.Join(root, "ralph"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := odd.make(filepath.Join(root, Dir)); err != nil {
				t.Fatal(err)
			}
			set, err := Look(root)
			if err != nil || len(set.Hooks) > 0 {
				t.Fatalf("%v %v", set, err)
			}
			said := ""
			for _, f := range set.Flaws {
				said += f.Why
			}
			if (said == "") != (odd.want == "") || !strings.Contains(said, odd.want) {
				t.Errorf("it says %q, want %q", said, odd.want)
			}
		})
	}
}

// Every name of an event is the name of one hook; two names that differ only in
// their mark are two names of the same event.
func TestFileNames(t *testing.T) {
	t.Parallel()
	of := map[string][]string{}
	for _, name := range eventname.Known() {
		file := File(name)
		if file != filepath.Base(file) || strings.Contains(file, ":") || beside(file) || strings.HasPrefix(file, "pre-") {
			t.Errorf("%s cannot be the file of a hook: %s", name, file)
		}
		of[file] = append(of[file], name)
	}
	for file, names := range of {
		if len(names) > 1 && file != "agent-switched" { // autopilot:agent-switched in short, and agent:switched
			t.Errorf("%s is the hook of %v", file, names)
		}
	}
	set := Set{Hooks: []Hook{{Name: "agent-switched"}, {Name: "hook.ran"}}}
	if got := set.For([]string{"autopilot:agent-switched", "agent-switched", "agent:switched", "agent.switched"}); len(got) != 1 {
		t.Errorf("one event calls %v", got)
	}
	if got := set.For([]string{"hook.ran"}); got != nil {
		t.Errorf("hook.ran calls %v", got)
	}
}
