package language

import "strings"

// The ways in which languages name a test or a function.

// after returns the name that follows a word of the code, as in `def name`.
func after(code, keyword string) (string, bool) {
	i := strings.Index(code, keyword+" ")
	if i < 0 || i > 0 && isWord(code[i-1]) || strings.ContainsAny(code[:i], "=.\"'") {
		return "", false
	}
	rest := strings.TrimLeft(code[i+len(keyword):], " &")
	if strings.HasPrefix(rest, "`") { // Kotlin
		name, _, ok := strings.Cut(rest[1:], "`")
		return name, ok
	}
	n := 0
	for n < len(rest) && isWord(rest[n]) {
		n++
	}
	return rest[:n], n > 0
}

// method returns the name of a method that a line of a class begins, as in
// `public void name(int a) {`: a word before a bracket, after at least one other.
func method(code string) (string, bool) {
	open := strings.IndexByte(code, '(')
	if open < 0 || strings.ContainsAny(code[:open], "=.;\"") {
		return "", false
	}
	from := open
	for from > 0 && isWord(code[from-1]) {
		from--
	}
	before := strings.TrimSpace(code[:from])
	if from == open || before == "" || !isWord(before[len(before)-1]) && before[len(before)-1] != '>' && before[len(before)-1] != ']' {
		return "", false
	}
	switch first, _, _ := strings.Cut(before, " "); first {
	case "return", "new", "throw", "else", "await", "yield", "case", "assert":
		return "", false
	}
	return code[from:open], true
}

// titled returns the first string of a call such as it("adds", ...) that a line
// begins with one of the words, also behind .skip, .only, .each(...) and the like.
func titled(code, text string, calls ...string) (string, bool) {
	i := len(code) - len(strings.TrimLeft(code, " \t"))
	rest := code[i:]
	for _, c := range calls {
		if !strings.HasPrefix(rest, c) {
			continue
		}
		end := i + len(c)
		for end < len(code) && (code[end] == '.' || isWord(code[end])) {
			if isWord(code[end]) && code[end-1] != '.' && !isWord(code[end-1]) {
				break
			}
			if code[end] != '.' && end == i+len(c) {
				break
			}
			end++
		}
		if end < len(code) && (end == i+len(c) || code[i+len(c)] == '.') {
			if name, ok := quoted(code, text, end); ok {
				return name, true
			}
		}
	}
	return "", false
}

// quoted returns the string that a call's bracket or a blank at i opens. A bracket
// before it may hold what goes before, as in it.each([1, 2])("adds %d", ...).
func quoted(code, text string, i int) (string, bool) {
	if code[i] != '(' && code[i] != ' ' {
		return "", false
	}
	for i < len(code) && (code[i] == '(' || code[i] == ' ') {
		i++
	}
	if i < len(code) && strings.IndexByte("\"'`", code[i]) < 0 {
		at := strings.Index(code[i:], ")(")
		if at < 0 {
			return "", false
		}
		i += at + 2
	}
	if i >= len(code) || strings.IndexByte("\"'`", code[i]) < 0 {
		return "", false
	}
	end := strings.IndexByte(code[i+1:], code[i])
	if end <= 0 {
		return "", false
	}
	return text[i+1 : i+1+end], true
}
