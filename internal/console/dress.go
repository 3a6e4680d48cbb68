package console

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// labels are the names in front of the lines of `ralph status`, and the columns in
// front of those of `ralph receipts`.
var labels = lazyregexp.New(`^([A-Z][a-z]*(?: [0-9]+)?:| *\d+  \d\d:\d\d:\d\d  \S+(?: t-\w+)?) *`)

// Dress makes lines fit a terminal: what is longer goes on below its own beginning, and
// the eye finds what matters (not with NO_COLOR).
func Dress(env workspace.Env, text string, columns int) []string {
	color := colored(env)
	var out []string
	needs := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "Needs you:":
			needs = true
		case line == "":
			needs = false
		}
		for i, part := range wrap(line, columns) {
			if color {
				part = tint(part, needs, i == 0)
			}
			out = append(out, part)
		}
	}
	return out
}

func colored(env workspace.Env) bool {
	return env.Terminal && proc.Getenv(env.Environ, "NO_COLOR") == "" && proc.Getenv(env.Environ, "TERM") != "dumb"
}

// wrap breaks a line at spaces. Parts after the first stand below what follows the name.
func wrap(line string, columns int) []string {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if m := labels.FindString(line); m != "" {
		indent = len(m)
	} else if indent > 0 {
		indent += 2
	}
	indent = min(indent, columns/2)
	var out []string
	rest := []rune(line)
	for len(rest) > columns {
		cut := columns
		for cut > indent+1 && rest[cut] != ' ' {
			cut--
		}
		if cut <= indent+1 { // one word, longer than the line
			cut = columns
		}
		out = append(out, strings.TrimRight(string(rest[:cut]), " "))
		rest = append([]rune(strings.Repeat(" ", indent)), []rune(strings.TrimLeft(string(rest[cut:]), " "))...)
	}
	return append(out, string(rest))
}

// tint colours one line: names are dim, what needs a person or is nearly used up is not.
func tint(line string, needs, first bool) string {
	c := Console{color: true}
	switch {
	case needs && !strings.HasPrefix(line, "      "):
		return c.paint(bold+";"+yellow, line)
	case needs, strings.HasPrefix(strings.TrimSpace(line), "> ") && first:
		return c.paint(dim, line)
	}
	if name := labels.FindString(line); first && name != "" {
		line = c.paint(dim, name) + line[len(name):]
	}
	for _, mark := range []string{"NEARLY USED UP", "USED UP", "MAY BE STUCK", "filling up", "at its limit", "when the engine died"} {
		if before, after, ok := strings.Cut(line, mark); ok {
			return before + c.paint(yellow, mark) + after
		}
	}
	return line
}
