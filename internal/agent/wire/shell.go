package wire

import (
	"path"
	"slices"
	"strings"
)

// IsShell reports whether a program is a shell of the system. One elsewhere may be
// anything, whatever its name is: codex lets its model choose the shell.
func IsShell(program string) bool {
	dir, name := path.Split(program)
	return slices.Contains([]string{"bash", "sh", "zsh"}, name) &&
		slices.Contains([]string{"", "/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/run/current-system/sw/bin/"}, dir)
}

// UnwrapShell takes the shell off a command that codex wraps: /bin/bash -lc 'ls -l'
// is ls -l. Anything else stays as it is, so that rules see all of what would run.
func UnwrapShell(command string) string {
	shell, rest, ok := strings.Cut(command, " ")
	if !ok || !IsShell(shell) {
		return command
	}
	flag, script, ok := strings.Cut(rest, " ")
	if !ok || flag != "-lc" && flag != "-c" {
		return command
	}
	if inner, ok := unquoteWord(script); ok {
		return inner
	}
	return command
}

// unquoteWord undoes the quotes of a word of the shell; false when the text is more
// than one word, or says something that only a shell can know.
func unquoteWord(s string) (string, bool) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\'':
			end := strings.IndexByte(s[i+1:], '\'')
			if end < 0 {
				return "", false
			}
			out.WriteString(s[i+1 : i+1+end])
			i += end + 1
		case '"':
			for i++; i < len(s) && s[i] != '"'; i++ {
				if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
					i++
				} else if s[i] == '$' || s[i] == '`' || s[i] == '\\' {
					return "", false
				}
				out.WriteByte(s[i])
			}
			if i >= len(s) {
				return "", false
			}
		case '\\':
			if i++; i >= len(s) {
				return "", false
			}
			out.WriteByte(s[i])
		default:
			if strings.IndexByte(" \t\n;&|<>()$`*?[]{}~#!", c) >= 0 {
				return "", false
			}
			out.WriteByte(c)
		}
	}
	return out.String(), out.Len() > 0
}
