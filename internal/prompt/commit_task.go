package prompt

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/text"
)

// TaskCommitMessage is the message of one task's own commit: its name, the spec
// it belongs to where there is one, and the trailers.
func TaskCommitMessage(name, specFile string, trailers []string) string {
	body := ""
	if specFile != "" {
		body = "Spec: ralph/specs/" + text.OneLine(specFile)
	}
	return message(text.OneLine(name), body, trailers)
}

// MergeMessage is the message of a merge commit: what is merged, a line about it,
// and the trailers (B-006).
func MergeMessage(what, about string, trailers []string) string {
	return message("merge "+text.OneLine(what), text.OneLine(about), trailers)
}

func message(subject, body string, trailers []string) string {
	paragraphs := []string{"ralph: " + subject}
	for _, p := range []string{body, strings.Join(trailers, "\n")} {
		if p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	return strings.Join(paragraphs, "\n\n") + "\n"
}
