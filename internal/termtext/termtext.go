// Package termtext owns how plain text is shown on a terminal: broken at its width, and coloured
// where the eye has to find something.
//
// It does NOT own the text (internal/status, internal/report), nor what stays on a terminal
// and changes there (internal/console, internal/ui). `ralph status` is shown before other
// packages are initialised, so its imports are few.
package termtext

import (
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/proc"
)

// Styles, as SGR parameters.
const (
	Bold   = "1"
	Dim    = "2"
	Yellow = "33"
)

// labels are the names in front of the lines of `ralph status`, and the columns in
// front of those of `ralph receipts`.
var labels = lazyregexp.New(`^([A-Z][a-z]*(?: [0-9]+)?:| *\d+  \d\d:\d\d:\d\d  \S+(?: t-\w+)?) *`)

// Size is the size of the terminal, 80 by 24 when it does not say.
func Size() (columns, rows int) {
	if w, h, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 20 && h > 1 {
		return w, h
	}
	return 80, 24
}

// Colored reports whether a terminal is to have colours (not with NO_COLOR).
func Colored(environ []string) bool {
	return proc.Getenv(environ, "NO_COLOR") == "" && proc.Getenv(environ, "TERM") != "dumb"
}

// Fit is text as it stands on this process's terminal.
func Fit(text string, environ []string) string {
	columns, _ := Size()
	return strings.Join(Lines(text, columns, Colored(environ)), "\n") + "\n"
}

// Lines makes text fit a terminal: what is longer goes on below its own beginning, and with
// color the eye finds what matters.
func Lines(text string, columns int, color bool) []string {
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
	switch {
	case needs && !strings.HasPrefix(line, "      "):
		return Paint(Bold+";"+Yellow, line)
	case needs, strings.HasPrefix(strings.TrimSpace(line), "> ") && first:
		return Paint(Dim, line)
	}
	if name := labels.FindString(line); first && name != "" {
		line = Paint(Dim, name) + line[len(name):]
	}
	for _, mark := range []string{"NEARLY USED UP", "USED UP", "MAY BE STUCK", "filling up", "at its limit", "when the engine died"} {
		if before, after, ok := strings.Cut(line, mark); ok {
			return before + Paint(Yellow, mark) + after
		}
	}
	return line
}

// Paint gives text a style.
func Paint(style, text string) string { return "\x1b[" + style + "m" + text + "\x1b[0m" }
