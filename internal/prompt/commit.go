package prompt

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// CommitInfo is what the commit message of a spec is made from.
type CommitInfo struct {
	SpecFile string // relative to ralph/specs
	Tasks    int    // tasks done
	Duration time.Duration
	Usage    ralph.Usage
	Trailers []string // "Key: value", in order
}

// CommitMessage returns the message of a completed spec: subject,
// four lines of what it took and, in a paragraph of their own as git wants
// them, the trailers.
func CommitMessage(in CommitInfo) string {
	var b strings.Builder
	file := text.OneLine(in.SpecFile)
	fmt.Fprintf(&b, "ralph: complete %s\n\n", strings.TrimSuffix(file, ".md"))
	fmt.Fprintf(&b, "Spec: ralph/specs/%s\n", file)
	fmt.Fprintf(&b, "Tasks completed: %d\n", in.Tasks)
	fmt.Fprintf(&b, "Duration: %s\n", ralph.Elapsed(in.Duration))
	fmt.Fprintf(&b, "Cost: %s\n", in.Usage.Dollars())
	gap := "\n"
	for _, t := range in.Trailers {
		if t = text.OneLine(t); t != "" { // a newline inside would end the trailer block
			b.WriteString(gap + t + "\n")
			gap = ""
		}
	}
	return b.String()
}
