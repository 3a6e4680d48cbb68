package language

import "strings"

// Syntax is how a language writes what is no code. It is read line by line, since a
// hunk begins anywhere.
type Syntax struct {
	comment []string    // to the end of the line
	Block   bool        // /* */
	quotes  string      // each opens and closes a string within a line
	long    [][2]string // open and close a string that may have many lines
	plain   bool        // a backslash means nothing in long strings
	runes   bool        // ' is for a single character, or is no quote at all
	apart   bool        // a comment's sign stands at the start or after a blank, as # in $#
	heredoc string      // what opens one, as << or <<<
}

// What stands in code for what was taken out of it. Neither is a word.
const (
	InString  = '\x01'
	inComment = ' '
)

// Blank takes strings and comments out of a line, byte for byte, and says what is
// still open at its end: the closing mark, "" for nothing. The quotes stay.
func (s *Syntax) Blank(text, open string) (code, still string) {
	if open == "" && !strings.ContainsAny(text, "\"'`/#<") {
		return text, ""
	}
	b := []byte(text)
	for i := 0; i < len(b); {
		switch {
		case open != "":
			i, open = s.inside(b, text, i, open)
		case !special(text[i]):
			i++
		case s.startsComment(text, i):
			fill(b, i, len(b), inComment)
			return string(b), ""
		case s.Block && strings.HasPrefix(text[i:], "/*"):
			fill(b, i, i+2, inComment)
			i, open = i+2, "*/"
		default:
			i, open = s.code(b, text, i)
		}
	}
	return string(b), open
}

// special reports whether a byte can begin a string or a comment in any language; r
// does in Rust.
func special(c byte) bool {
	switch c {
	case '"', '\'', '`', '/', '#', '<', 'r':
		return true
	}
	return false
}

// inside fills from i on until what is open is closed.
func (s *Syntax) inside(b []byte, text string, i int, open string) (int, string) {
	with := byte(InString)
	if open == "*/" {
		with = inComment
	}
	if word, ok := strings.CutPrefix(open, "<<"); ok { // a heredoc ends on a line of its own
		fill(b, i, len(b), InString)
		if strings.TrimRight(strings.TrimSpace(text), ";,)") == word {
			return len(b), ""
		}
		return len(b), open
	}
	for j := i; j < len(text); j++ {
		switch {
		case strings.HasPrefix(text[j:], open):
			end := j + len(open)
			if open == "*/" {
				j = end
			}
			fill(b, i, j, with)
			return end, ""
		case text[j] == '\\' && !s.plain && with == InString:
			j++
		}
	}
	fill(b, i, len(b), with)
	return len(b), open
}

// code passes one byte of code, or a string that closes in its line.
func (s *Syntax) code(b []byte, text string, i int) (next int, open string) {
	for _, l := range s.long {
		if strings.HasPrefix(text[i:], l[0]) {
			return i + len(l[0]), l[1]
		}
	}
	if s.heredoc != "" && strings.HasPrefix(text[i:], s.heredoc) {
		word := strings.TrimLeft(text[i+len(s.heredoc):], "-~'\"")
		n := 0
		for n < len(word) && isWord(word[n]) {
			n++
		}
		if n > 0 && word[0] >= 'A' { // no shift by a number
			return len(b), "<<" + word[:n]
		}
	}
	c := text[i]
	if strings.IndexByte(s.quotes, c) < 0 {
		return i + 1, ""
	}
	end := i + 1
	for end < len(text) && text[end] != c {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if c == '\'' && s.runes && (end >= len(text) || end > i+12 || end > i+6 && text[i+1] != '\\') {
		return i + 1, "" // a lifetime
	}
	end = min(end, len(text))
	fill(b, i+1, end, InString)
	return end + 1, ""
}

func (s *Syntax) startsComment(text string, i int) bool {
	for _, c := range s.comment {
		if strings.HasPrefix(text[i:], c) {
			if s.apart && i > 0 && text[i-1] != ' ' && text[i-1] != '\t' {
				return false
			}
			return c != "#" || !strings.HasPrefix(text[i:], "#[") // an attribute
		}
	}
	return false
}

func fill(b []byte, from, to int, with byte) {
	for i := max(from, 0); i < min(to, len(b)); i++ {
		b[i] = with
	}
}

// Begins guesses what is open where lines from the middle of a file begin: nothing, or
// a long string or a comment whose end comes before any start.
func (s *Syntax) Begins(lines []string) string {
	for i, l := range lines {
		if s.Block && strings.Contains(l, "/*") {
			break
		}
		if trimmed := strings.TrimSpace(l); s.Block && strings.HasPrefix(trimmed, "*") && strings.HasSuffix(trimmed, "*/") {
			return "*/"
		} else if s.Block && i > 0 && strings.HasPrefix(trimmed, "*/") {
			return "*/"
		}
	}
	for _, d := range s.long {
		if d[0] != d[1] {
			continue
		}
		for i, l := range lines {
			if strings.Count(l, d[0])%2 == 0 {
				continue
			}
			if closes(lines, i, d[0]) {
				return d[1]
			}
			return ""
		}
	}
	return ""
}

// closes guesses whether the one mark of a long string in line i ends it: what
// opens a string stands after an operator, a bracket or a tag, or begins the
// documentation below a head.
func closes(lines []string, i int, mark string) bool {
	before, after, _ := strings.Cut(lines[i], mark)
	before, after = strings.TrimSpace(before), strings.TrimSpace(after)
	if before == "" {
		if after != "" {
			return strings.ContainsRune(")],;.}+", rune(after[0]))
		}
		for i--; i >= 0; i-- {
			if above := strings.TrimSpace(lines[i]); above != "" {
				return !strings.ContainsRune(":(=,[{+", rune(above[len(above)-1]))
			}
		}
		return true
	}
	if strings.ContainsRune("(=,:{[+>?|&!", rune(before[len(before)-1])) {
		return false
	}
	tag := before[strings.LastIndexAny(before, " \t.(=,:[{+")+1:]
	switch strings.ToLower(tag) {
	case "r", "f", "b", "u", "rb", "br", "fr", "rf", "return", "each", "gql", "css", "html", "sql", "raw", "in", "yield":
		return false
	}
	return true
}

// EachWord calls f with the bounds of each word of a code.
func EachWord(code string, f func(from, end int)) {
	for i := 0; i < len(code); {
		if !isWord(code[i]) {
			i++
			continue
		}
		from := i
		for i < len(code) && isWord(code[i]) {
			i++
		}
		f(from, i)
	}
}

// isWord reports whether c is part of a name. Letters beyond ASCII are.
func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
