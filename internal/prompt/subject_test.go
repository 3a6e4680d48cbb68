package prompt

import (
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// R-H7: the subject is the person's, the rest of the message ralph's: the trailers stay.
func TestSubjects(t *testing.T) {
	t.Parallel()
	message := TaskCommitMessage("add x", "a.md", []string{"Ralph-Task: t-1"})
	rest := "\n\nSpec: ralph/specs/a.md\n\nRalph-Task: t-1\n"
	for _, tt := range []struct{ template, bad, want string }{
		{"", "must be one line, such as \"PROJ-123 {summary}\"", "ralph: add x"},
		{"ralph: {summary}", "", "ralph: add x"},
		{"PROJ-123 {task} of {spec} ({id})", "", "PROJ-123 add\tx{id} of a (t-1)"},
		{"{spec}{nothing}", "has the field {nothing}: there are {summary}, {spec}, {task}, {id}", ""},
		{"a\nb", "must be one line, such as \"PROJ-123 {summary}\"", ""},
	} {
		if got := ralph.BadSubject(tt.template); got != tt.bad {
			t.Errorf("%q: %s", tt.template, got)
		}
		s := Subject{Template: tt.template, Spec: "a.md", Task: "add\tx{id}", ID: "t-1"}
		if tt.want == "" {
			continue
		}
		want := text.OneLine(tt.want) + rest // what a name says is no field
		if got := s.Title(message); got != want {
			t.Errorf("%q: %q, wanted %q", tt.template, got, want)
		}
	}
	if got := (Subject{Template: "{task}"}).Title("ralph: complete a\n\nb\n"); got != "ralph: complete a\n\nb\n" {
		t.Errorf("an empty subject: %q", got)
	}
}
