package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
)

// one task per open item.
func TestChecklist(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 50)
	tests := []struct {
		name, spec string
		want       []PlannedTask
	}{
		{"none", "# Spec\n\nText - [ ] inline\n", nil},
		{"open and done", "- [ ] a\n- [x] b\n- [X] c\n* [ ] d\n+ [ ] e\n1. [ ] f\n2) [ ] g\r\n", []PlannedTask{{Name: "a"}, {Name: "d"}, {Name: "e"}, {Name: "f"}, {Name: "g"}}},
		{"not boxes", "- [2024-01-01] a\n- [-] b\n- [] c\n- [ ](url) d\n-[ ] e\n- [ ]\n- \\[ ] g\n", nil},
		{"code fence", "```\n- [ ] a\n```\n~~~~\n```\n- [ ] b\n~~~~\n- [ ] c\n", []PlannedTask{{Name: "c"}}},
		{"unclosed fence", "- [ ] a\n\n```\n- [ ] b\n", []PlannedTask{{Name: "a"}}},
		{"indented code", "Text\n\n    - [ ] a\n\t- [ ] b\n", nil},
		{"indented code after a list", "- a\n\nText\n\n    - [ ] b\n", nil},
		{"comment", "<!-- - [ ] a -->\n<!--\n- [ ] b\n-->\n- [ ] c\n", []PlannedTask{{Name: "c"}}},
		{
			"nested", "- [ ] a\n  - [ ] one\n    goes on\n  - [x] old\n    of the old\n  - two\n    - deep\n\n  A paragraph.\n- [ ] b\n",
			[]PlannedTask{{Name: "a", Accept: "- one goes on", Notes: "- two\n  - deep\nA paragraph."}, {Name: "b"}},
		},
		{"name goes on", "- [ ] a long\n  name\nof three lines\n\n- [ ] b\n", []PlannedTask{{Name: "a long name of three lines"}, {Name: "b"}}},
		{"fence below an item", "- [ ] a\n  ```sh\n  - [ ] x\n    y\n  ```\n- [ ] b", []PlannedTask{{Name: "a", Notes: "```sh\n- [ ] x\n  y\n```"}, {Name: "b"}}},
		{"open below done", "- [x] a\n  - [ ] b\n    note\n\n    more\n  - [x] c\n", []PlannedTask{{Name: "b note", Notes: "more"}}},
		{"below a plain item", "- Group\n  - [ ] a\n    - [ ] criterion\n  - [ ] b\n", []PlannedTask{{Name: "a", Accept: "- criterion"}, {Name: "b"}}},
		{"heading ends an item", "- [ ] a\n# Head\ntext\n- [ ] b\n\nafter\n", []PlannedTask{{Name: "a"}, {Name: "b"}}},
		{"tabs", "- [ ] a\n\t- [ ] one\n\t\ttext\n", []PlannedTask{{Name: "a", Accept: "- one text"}}},
		{"long name", "- [ ] " + long, []PlannedTask{{Name: strings.TrimSpace(long[:199]) + "…", Notes: strings.TrimSpace(long)}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Checklist(tt.spec)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The names of a checklist are always fit for a plan.
func FuzzChecklist(f *testing.F) {
	f.Add("- [ ] a\n  - [x] b\n\t- c\n```\n- [ ] d")
	f.Add("- [ ] a\n\n  <!-- x\n- [ ] b -->\n1. [ ] c")
	f.Fuzz(func(t *testing.T, spec string) {
		open := strings.Count(spec, "[ ]")
		tasks := Checklist(spec)
		if len(tasks) > open {
			t.Errorf("%d tasks of %d boxes", len(tasks), open)
		}
		for _, task := range tasks {
			if n := len([]rune(task.Name)); n == 0 || n > maxName || strings.Contains(task.Name, "\n") {
				t.Errorf("bad name %q", task.Name)
			}
		}
	})
}

func TestNewTasks(t *testing.T) {
	t.Parallel()
	plan := []PlannedTask{
		{Name: "b", Deps: []string{"a", "t-0009", "a"}, Tags: []string{"critical"}, Priority: "high", Phase: "p"},
		{Name: "a", Notes: "n", Accept: "x"},
	}
	want := []ralph.Task{
		{
			ID: "t-0001", Kind: ralph.KindBuild, Spec: "s.md", Name: "b", Deps: []ralph.TaskID{"t-0002", "t-0009"}, Parent: "t-0005",
			Tags: []string{"critical"}, Priority: "high", Phase: "p", Status: ralph.TaskPending,
		},
		{ID: "t-0002", Kind: ralph.KindBuild, Spec: "s.md", Name: "a", Notes: "n", Accept: "x", Parent: "t-0005", Status: ralph.TaskPending},
	}
	if diff := cmp.Diff(want, NewTasks(plan, "s.md", "t-0005", []ralph.TaskID{"t-0001", "t-0002"})); diff != "" {
		t.Error(diff)
	}
}
