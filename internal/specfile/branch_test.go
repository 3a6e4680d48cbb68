package specfile

import (
	"os/exec"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBranch(t *testing.T) {
	at := time.Date(2026, 11, 25, 23, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ template, file, want string }{
		{"ralph/{spec}", "feature-x.md", "ralph/feature-x"},
		{"ralph/{spec}", "sub/feature x.md", "ralph/sub/feature-x"},
		{"{date}-{id}", "a.md", "2026-11-25-q-a1b2"},
		{"ralph/{spec}", "a..b~^:?*[\\.md", "ralph/a.b"},
		{"{spec}", "HEAD.md", "ralph/spec"},
		{"ralph/{spec}", "größe.md", "ralph/größe"},
		{"ralph/{spec}", "x.lock.md", "ralph/x"},
	} {
		if got := Branch(tt.template, tt.file, "q-a1b2", at); got != tt.want {
			t.Errorf("%s of %s is %q, want %q", tt.template, tt.file, got, tt.want)
		}
	}
}

func TestTaskBranches(t *testing.T) {
	at := time.Date(2026, 11, 25, 23, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ template, file, want string }{
		{"ralph/{spec}", "feature-x.md", "ralph/feature-x-{id}"},
		{"ralph/{spec}/{id}", "feature x.md", "ralph/feature-x/{id}"},
		{"ralph/{id}", "a.md", "ralph/task-{id}"},
		{"{date}-{id}", "a.md", "2026-11-25-{id}"},
	} {
		if got := TaskBranches(tt.template, tt.file, at); got != tt.want {
			t.Errorf("%s of %s is %q, want %q", tt.template, tt.file, got, tt.want)
		}
	}
}

// Whatever a spec is called, git takes the name, and to make it twice changes nothing.
func TestBranchNameIsOneForGit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := BranchName(rapid.StringOfN(rapid.SampledFrom([]rune("ab/.-@{~^: \\\u202elock\x00é")), 0, 12, -1).Draw(rt, "name"))
		if again := BranchName(name); again != name {
			rt.Errorf("%q becomes %q", name, again)
		}
		if out, err := exec.Command("git", "check-ref-format", "--branch", name).CombinedOutput(); err != nil {
			rt.Errorf("git does not take %q: %v %s", name, err, out)
		}
	})
}
