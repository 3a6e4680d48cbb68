package prompt

import "strings"

// TaskCommitMessage is the message of one task's own commit (task.auto_commit):
// its name, the spec it belongs to, and the trailers.
func TaskCommitMessage(name, specFile string, trailers []string) string {
	var b strings.Builder
	b.WriteString("ralph: " + strings.Join(strings.Fields(name), " ") + "\n\n")
	b.WriteString("Spec: ralph/specs/" + specFile + "\n")
	if len(trailers) > 0 {
		b.WriteString("\n" + strings.Join(trailers, "\n") + "\n")
	}
	return b.String()
}
