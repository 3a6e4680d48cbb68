package testdiff

import "strings"

// bats are tests in shell.
func bats() *language {
	return &language{
		name:  "bats",
		globs: []string{"*.bats"},
		syntax: syntax{
			comment: []string{"#"}, apart: true, quotes: "'\"", heredoc: "<<",
		},
		test: func(code, text string) (string, bool) {
			if !strings.HasPrefix(code, "@test ") {
				return "", false
			}
			return titled(code, text, "@test")
		},
		function: func(code string) (string, bool) {
			name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(code), "function "), "()")
			return name, ok && name != "" && !strings.ContainsAny(name, " $(")
		},

		skip:   []string{"skip"},
		assert: []string{"assert", "assert_*", "refute", "refute_*"},
		starts: []string{"[ ", "[[ ", "(( ", "test ", "grep -q", "diff ", "cmp "},
		fail:   []string{"fail", "return 1", "exit 1"},
		exact:  []string{"-eq", "assert_success", "assert_failure", "assert_equal", "assert_output", "assert_line", "assert_file_contains", "diff", "cmp"},
		equal:  []string{" = ", " == "},
		differ: []string{" != ", " -ne "},
		negate: []string{"refute"},
		present: []string{
			"-n", "-e", "-f",
		},
		truth: []string{"assert", "refute"},

		table: []string{"for"},
		soft:  []string{"echo", "printf"},
	}
}
