package agent

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

const (
	maxSaidTool   = 200      // a tool call, shortened to one line
	maxSaidResult = 2 << 10  // what a tool returned
	maxDenied     = 100      // denied calls kept
	maxText       = 1 << 20  // TurnResult.Text
	maxToolOutput = 64 << 10 // of a tool, kept in its item
	maxErrors     = 4 << 10  // stderr kept for the error's message
)

// ownServer is the name of ralph's MCP server among an agent's, and ownTools what
// claude calls its tools.
const (
	ownServer = "ralph"
	ownTools  = "mcp__" + ownServer + "__"
)

// startLine returns the first line of s, at most max bytes.
func startLine(s string, max int) string {
	s = strings.TrimSpace(s)
	if line, _, more := strings.Cut(s, "\n"); more {
		s = strings.TrimRight(line, "\r") + " …"
	}
	return cutBack(s, max)
}

// flatten makes one line of text for people.
func flatten(s string) string {
	return strings.Join(strings.Fields(escapes.ReplaceAllString(s, "")), " ")
}

// escapes are the sequences by which programs colour text and steer terminals.
var escapes = lazyregexp.New(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-_])`)

// lastLine is the last line of a text with anything to read in it.
func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(escapes.ReplaceAllString(text, "")) {
		if i := strings.LastIndexByte(strings.TrimRight(line, "\r\n"), '\r'); i >= 0 {
			line = line[i+1:] // a progress bar writes over itself
		}
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "```") {
			last = line
		}
	}
	return cutBack(last, maxSaidTool)
}

func orLast(s, last string) string {
	if s == "" {
		return last
	}
	return s
}
