package prompt

import "strings"

// fencePart says where a line stands with respect to fenced code blocks.
type fencePart int

const (
	outside fencePart = iota
	opens
	inside
	closes
)

// fence follows the code fences of a markdown text, line by line, by the rules
// of CommonMark: a fence closes only by one of the same character that is at
// least as long, and one that never closes runs to the end.
type fence struct {
	char byte // '`' or '~', 0 when no fence is open
	size int
}

// next takes the next line. The info string is that of a line that opens.
func (f *fence) next(line string) (fencePart, string) {
	char, size, rest := fenceMark(line)
	switch {
	case f.char == 0 && size > 0 && (char == '~' || !strings.Contains(rest, "`")):
		f.char, f.size = char, size
		return opens, strings.TrimSpace(rest)
	case f.char == 0:
		return outside, ""
	case char == f.char && size >= f.size && strings.TrimSpace(rest) == "":
		f.char, f.size = 0, 0
		return closes, ""
	}
	return inside, ""
}

// fenceMark returns the run of three or more backticks or tildes that a line
// begins with, and what follows it; size 0 when there is none. Four spaces of
// indent make a line code of another kind.
func fenceMark(line string) (char byte, size int, rest string) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || text == "" || (text[0] != '`' && text[0] != '~') {
		return 0, 0, ""
	}
	rest = strings.TrimLeft(text, text[:1])
	if size = len(text) - len(rest); size < 3 {
		return 0, 0, ""
	}
	return text[0], size, rest
}

// fenced puts text into a code fence that nothing inside it can close, so that
// foreign text in a prompt is neither taken for instructions of ours nor, when
// an agent echoes it, for a signal or an answer.
func fenced(info, text string) string {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	mark := strings.Repeat("`", max(3, longest+1))
	return mark + info + "\n" + strings.Trim(text, "\n") + "\n" + mark
}
