package prompt

import (
	"fmt"
	"strings"
	"time"
)

// CommitInfo is what the commit message of a spec is made from.
type CommitInfo struct {
	SpecFile string // relative to ralph/specs
	Tasks    int    // tasks done
	Duration time.Duration
	Cost     float64  // US dollars
	Trailers []string // "Key: value", in order
}

// CommitMessage returns the message of a completed spec: subject (D-047,
// D-069), the four lines of D-070 and, in a paragraph of their own as git wants
// them, the trailers.
func CommitMessage(in CommitInfo) string {
	var b strings.Builder
	file := oneLine(in.SpecFile)
	fmt.Fprintf(&b, "ralph: complete %s\n\n", strings.TrimSuffix(file, ".md"))
	fmt.Fprintf(&b, "Spec: ralph/specs/%s\n", file)
	fmt.Fprintf(&b, "Tasks completed: %d\n", in.Tasks)
	fmt.Fprintf(&b, "Duration: %s\n", Duration(in.Duration))
	fmt.Fprintf(&b, "Cost: %s\n", Money(in.Cost))
	gap := "\n"
	for _, t := range in.Trailers {
		if t = oneLine(t); t != "" { // a newline inside would end the trailer block
			b.WriteString(gap + t + "\n")
			gap = ""
		}
	}
	return b.String()
}

// Duration returns d in the words of D-057, D-070 and D-090: "32s", "15m 32s",
// "1h 23m". What is smaller than the last unit shown is dropped, not rounded.
func Duration(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh %dm", s/3600, s%3600/60)
}

// Money returns dollars with two decimals: "$0.82".
func Money(c float64) string {
	return fmt.Sprintf("$%.2f", c)
}
