package wire

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/text"
)

const (
	MaxSaidTool   = 200      // a tool call, shortened to one line
	MaxSaidResult = 2 << 10  // what a tool returned
	MaxDenied     = 100      // denied calls kept
	MaxText       = 1 << 20  // TurnResult.Text
	MaxToolOutput = 64 << 10 // of a tool, kept in its item
	MaxErrors     = 4 << 10  // stderr kept for the error's message
)

// ownServer is the name of ralph's MCP server among an agent's, and ownTools what
// claude calls its tools.
const (
	OwnServer = "ralph"
	OwnTools  = "mcp__" + OwnServer + "__"
)

// StartLine returns the first line of s, at most max bytes.
func StartLine(s string, max int) string {
	s = strings.TrimSpace(s)
	if line, _, more := strings.Cut(s, "\n"); more {
		s = strings.TrimRight(line, "\r") + " …"
	}
	return text.Cut(s, max)
}

// Flatten makes one line of text for people.
func Flatten(s string) string {
	return text.OneLine(text.Plain(s))
}

// LastLine is the last line of a text with anything to read in it.
func LastLine(s string) string {
	last := ""
	for line := range strings.Lines(text.Plain(s)) { // a progress bar that writes over itself is many lines
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "```") {
			last = line
		}
	}
	return text.Cut(last, MaxSaidTool)
}
