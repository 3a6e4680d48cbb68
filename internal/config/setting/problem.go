package setting

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Kind says which layer a setting comes from; later ones override earlier ones.
type Kind string

// The layers.
const (
	FromDefault Kind = "default"
	FromFile    Kind = "file"
	FromEnv     Kind = "env"
	FromFlag    Kind = "flag"
)

// Source is where a setting comes from. The zero Source is the default.
type Source struct {
	Kind Kind   `json:"kind"`
	File string `json:"file,omitempty"` // relative to the repository
	Line int    `json:"line,omitempty"` // from 1
	Name string `json:"name,omitempty"` // of the environment variable
}

// Given reports whether a person set the value.
func (s Source) Given() bool { return s.Kind != "" && s.Kind != FromDefault }

func (s Source) String() string {
	switch s.Kind {
	case FromFile:
		if s.Line == 0 {
			return s.File
		}
		return s.File + ":" + strconv.Itoa(s.Line)
	case FromEnv:
		return "environment variable " + s.Name
	case FromFlag:
		return "command line"
	}
	return string(FromDefault)
}

// Problem is one thing that is wrong with the settings.
type Problem struct {
	Source
	Key     string // dotted; "" when it is the file as a whole
	What    string // follows the key: "must be ..."
	Unknown bool   // there is no such key
	Nearest string // with Unknown: the key that was probably meant, "" for none
	Within  string // with Unknown: the key whose value is a mapping that this one belongs into
	Value   string // with Within: what it was to be; "" where it may be a secret
}

// Error returns the problem as one line that names the place and the way out.
func (p Problem) Error() string {
	switch {
	case p.Unknown && p.Kind == FromEnv:
		return fmt.Sprintf("unknown environment variable %s; did you mean %s?", p.Name, EnvName(p.Nearest))
	case p.Unknown:
		place := "at"
		if p.Kind == FromFlag {
			place = "on the"
		}
		out := fmt.Sprintf("unknown key %s %s %s", Quote(p.Key), place, p.Source)
		switch inner := strings.TrimPrefix(p.Key, p.Within+"."); {
		case p.Within != "":
			out += fmt.Sprintf("; %s is one value, set as a whole: %s", Quote(p.Within), Quote(p.Within+"={"+strings.ReplaceAll(inner, ".", ": {")+": "+cmp.Or(p.Value, "...")+strings.Repeat("}", strings.Count(inner, ".")+1)))
		case p.Nearest == p.Key && p.Key != "":
			out = fmt.Sprintf("%s on the %s is a section, not a value: set its keys one by one; `ralph config show` lists them", Quote(p.Key), p.Source)
		case p.Nearest != "":
			out += fmt.Sprintf("; did you mean %s?", Quote(p.Nearest))
		default:
			out += "; `ralph config show` lists the keys"
		}
		return out
	case p.Key == "":
		return fmt.Sprintf("%s: %s", p.Source, p.What)
	}
	return fmt.Sprintf("%s: %s %s", p.Source, Quote(p.Key), p.What)
}

// Error is everything that is wrong with the settings, not only the first thing.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// EnvName is the environment variable that overrides a key: RALPH_AGENT_PRIMARY for
// agent.primary.
func EnvName(path string) string {
	return "RALPH_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(path))
}

// Quote quotes what somebody wrote, short and without control characters: a
// file may come from anywhere, and the message goes to a terminal.
func Quote(s string) string {
	s = cut(s)
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == '`' }) {
		return strconv.Quote(s)
	}
	return "`" + s + "`"
}

// cut shortens s to what fits into a message.
func cut(s string) string {
	const most = 60
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "..."
		}
		n++
	}
	return s
}
