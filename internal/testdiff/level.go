package testdiff

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/testdiff/language"
)

// level is how much an assertion asks for. Only falls count, so what cannot be told
// apart is the same.
type level int

const (
	trivial level = iota // holds always
	vague                // holds for anything that is there, true, or an error
	partial              // holds for some values
	full                 // holds for one
)

// asks says how much an assertion asks for, and whether it is loose by a word.
func asks(x *language.Lexicon, code, text string, has language.Class) (level, bool) {
	if always(code) {
		return trivial, false
	}
	both := sides(code, text)
	same := len(both) == 2 && both[0] == both[1] && both[0] != ""
	if same || len(both) == 1 && isTrue(both[0]) {
		return trivial, false
	}
	differs, negated := contains(code, x.Differ), contains(code, x.Negate)
	fixed := slices.ContainsFunc(both, isConstant) || contains(code, x.Nothing)
	switch {
	case has&language.Present != 0 && has&language.Exact == 0 || has&language.Truth != 0 && contains(code, []string{" > 0)", " > 0 ", "!= 0)"}):
		return vague, false
	case fixed && (has&language.Exact != 0 || differs || contains(code, x.Equal) || contains(code, x.Nothing)):
		return vague, false
	case differs || negated:
		return vague, true
	case has&language.Exact != 0 || contains(code, x.Equal):
		return full, false
	case has&language.Truth == 0 || contains(code, []string{" < ", " > ", " <= ", " >= ", " in ", "isinstance"}):
		return partial, false
	}
	if len(both) > 0 && strings.Contains(both[0], "(") && !strings.Contains(both[0], "()") {
		return partial, false // what a function says about the argument
	}
	return vague, true
}

// asksForNothing reports whether an assertion holds for nothing, or for one of true
// and false, alone.
func asksForNothing(x *language.Lexicon, code, text string, has language.Class) bool {
	if contains(code, x.Differ) || contains(code, x.Negate) || contains(code, []string{"not ", "Not", "not_"}) {
		return false
	}
	return has&language.Present != 0 && contains(code, []string{"Null", "null", "Nil", "nil", "None", "none", "Undefined", "Empty"}) ||
		contains(code, x.Nothing) || slices.ContainsFunc(sides(code, text), isConstant)
}

// refuses says the same of a condition under which the test fails.
func refuses(x *language.Lexicon, code string, has language.Class) level {
	body := strings.Trim(strings.TrimSpace(code), "{}() :")
	body = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(body, "else "), "if"))
	body = strings.Trim(body, "() ")
	lower := strings.ToLower(body)
	switch {
	case lower == "false" || strings.HasPrefix(lower, "false &&") || strings.HasPrefix(lower, "false and"):
		return trivial
	case contains(code, x.Differ):
		if constant(code) {
			return vague
		}
		return full
	case has&language.Exact != 0:
		return full
	case contains(code, []string{" < ", " > ", " <= ", " >= "}):
		return partial
	case contains(code, x.Equal):
		return vague
	case strings.Contains(body, "("):
		return partial
	}
	return vague
}

// constant reports whether a condition compares with true, false or nothing.
func constant(code string) bool {
	found := false
	language.EachWord(code, func(from, end int) {
		found = found || isConstant(code[from:end]) && strings.HasSuffix(strings.TrimRight(code[:from], " "), "=")
	})
	return found
}

func isConstant(s string) bool {
	switch s {
	case "true", "True", "false", "False", "null", "nil", "None", "undefined", "nullptr":
		return true
	}
	return false
}

// always reports whether an assertion is told to hold whatever comes.
func always(code string) bool {
	return contains(strings.ToLower(code), []string{"|| true", " or true", "true or ", "true ||"})
}

func isTrue(s string) bool {
	return s == "true" || s == "True" || s == "1" || s == "not False" || s == "!false"
}
