package language

import "strings"

// bats are tests in shell.
func bats() *Language {
	return &Language{
		Name:  "bats",
		globs: []string{"*.bats"},
		Syntax: Syntax{
			comment: []string{"#"}, apart: true, quotes: "'\"", heredoc: "<<",
		},
		Test: func(code, text string) (string, bool) {
			if !strings.HasPrefix(code, "@test ") {
				return "", false
			}
			return titled(code, text, "@test")
		},
		Function: func(code string) (string, bool) {
			name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(code), "function "), "()")
			return name, ok && name != "" && !strings.ContainsAny(name, " $(")
		},

		skip:   []string{"skip"},
		assert: []string{"assert", "assert_*", "refute", "refute_*"},
		starts: []string{"[ ", "[[ ", "(( ", "test ", "grep -q", "diff ", "cmp "},
		fail:   []string{"fail", "return 1", "exit 1"},
		exact:  []string{"-eq", "assert_success", "assert_failure", "assert_equal", "assert_output", "assert_line", "assert_file_contains", "diff", "cmp"},
		Equal:  []string{" = ", " == "},
		Differ: []string{" != ", " -ne "},
		Negate: []string{"refute"},
		present: []string{
			"-n", "-e", "-f",
		},
		truth: []string{"assert", "refute"},

		table: []string{"for"},
		soft:  []string{"echo", "printf"},
	}
}
