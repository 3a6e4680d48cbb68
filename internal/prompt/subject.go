package prompt

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/text"
)

// Subject is what a commit's subject is made from, by the template of commit.message.
type Subject struct {
	Template string // "": as ralph words it
	Spec     string // the spec's file
	Task     string // the task's name, "" for the commit of a spec
	ID       string // of the task, or of the spec
}

// Title gives a message of ralph's the subject that the template says. The rest stays.
func (s Subject) Title(message string) string {
	old, rest, _ := strings.Cut(message, "\n")
	if s.Template == "" {
		return message
	}
	summary := strings.TrimPrefix(old, "ralph: ")
	subject := strings.NewReplacer("{summary}", summary, "{spec}", strings.TrimSuffix(s.Spec, ".md"), "{task}", s.Task, "{id}", s.ID).Replace(s.Template)
	if subject = text.OneLine(subject); subject == "" {
		subject = old
	}
	return subject + "\n" + rest
}
