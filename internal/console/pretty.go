package console

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/termtext"
)

// The colours of a terminal line, as SGR parameters.
const (
	plainText = ""
	bold      = termtext.Bold
	dim       = termtext.Dim
	red       = "31"
	green     = "32"
	yellow    = termtext.Yellow
	cyan      = "36"
)

// pretty turns a log line into what a person sees on a terminal: the same words,
// with what repeats itself left out. "" is a line not worth showing.
func (c *Console) pretty(text string) string {
	head, rest, ok := strings.Cut(text, ": ")
	if !ok || head != strings.ToUpper(head) {
		return c.paint(dim, text)
	}
	mark, color := " ", cyan
	if strings.HasPrefix(head, "SLOT ") {
		return c.prettySlot(head, rest)
	}
	switch {
	case head == "FETCH" || head == "SPEC":
		return "\n" + c.paint(bold, rest)
	case head == "CONSTRUCT" && strings.HasPrefix(rest, "starting iteration"), head == "SIGNAL" && rest == "COMPLETE":
		return ""
	case head == "CHECK" && strings.HasPrefix(rest, "ok "):
		mark, color, rest = "✓", green, strings.TrimPrefix(rest, "ok ")
	case head == "CHECK":
		mark, color, rest = "✗", red, strings.TrimPrefix(rest, "failed ")
	case head == "COMMIT" && !strings.HasPrefix(rest, "failed"), head == "CONSTRUCT" && rest == "complete":
		mark, color = "✓", green
	case head == "TASK" && strings.Contains(rest, " done: "):
		mark, color = "✓", green
	case head == "TASK" && strings.Contains(rest, " pending: "): // given back, to be done again
	case head == "MERGE" && strings.Contains(rest, " merged as "), head == "LAND" && strings.Contains(rest, " is at "):
		mark, color = "✓", green
	case head == "MERGE" && (strings.Contains(rest, " conflicts in ") || strings.Contains(rest, " failed: ")):
		mark, color = "✗", red
	case head == "FAILED", head == "ERROR", head == "COMMIT", head == "TASK":
		mark, color = "✗", red
	case head == "NEEDS YOU", head == "NOTE", head == "LAND", head == "LIMIT", head == "STOP", head == "PAUSE", head == "ISSUE",
		head == "PAUSED", head == "RETRY", head == "AGENT", head == "BUDGET", head == "CONTEXT", head == "HOOK":
		mark, color = "!", yellow
	}
	return c.paint(color, mark+" "+pad(strings.ToLower(head), 12)) + rest
}

// prettySlot shows who takes a slot; that it is free shows by itself.
func (c *Console) prettySlot(head, rest string) string {
	if rest == "free" {
		return ""
	}
	return c.paint(bold, "["+strings.TrimPrefix(head, "SLOT ")+"] "+rest)
}

func pad(s string, width int) string {
	if n := width - len(s); n > 0 {
		return s + strings.Repeat(" ", n)
	}
	return s + " "
}

// paint colours text, unless the person wants none (NO_COLOR).
func (c *Console) paint(color, text string) string {
	if !c.color || color == plainText {
		return text
	}
	return termtext.Paint(color, text)
}
