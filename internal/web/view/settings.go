package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/text"
)

// The kinds of settings, each with its control.
const (
	ChoiceSetting = "choice" // one of a few words
	CheckSetting  = "check"  // yes or no
	WholeSetting  = "whole"  // a whole number
	NumberSetting = "number"
	TextSetting   = "text"
	AreaSetting   = "area"  // a text of several lines
	ListSetting   = "list"  // one a line
	TableSetting  = "table" // NAME=value, one a line
	YAMLSetting   = "yaml"  // what no form can express
)

// Setting is one key of the settings as a form shows it.
type Setting struct {
	Key, Section, Doc string
	Kind              string
	Choices           []string
	Min, Max          string
	Example           string // of how a value is written
	Value             string // as the form has it: secrets are `***`
	Default           string
	From              string // file and line, environment variable, or what the default comes from
	InFile            bool   // the file has a line that can be taken out
	Fixed             bool   // it cannot be changed here: From says why
	Secret            bool
	Later             bool // has no effect yet
}

// SettingsProblem is one thing that is wrong, in the words of the command line.
type SettingsProblem struct {
	Key  string // "" when it is the file as a whole
	Text string
}

// SettingsFile is ralph/config.yaml as it is now, with the defaults and the environment.
type SettingsFile struct {
	Path     string
	Exists   bool
	Hash     string // of its text
	Settings []Setting
	Problems []SettingsProblem // what is wrong with it now
	Text     string            // with secrets hidden
	TextWhy  string            // why there is no Text
	Undo     *SettingsUndo     // what was saved last from here, while nothing else was
}

// SettingsUndo is a change that can be taken back.
type SettingsUndo struct {
	What string
	At   time.Time
}

// SettingsPage is the form.
type SettingsPage struct {
	File     SettingsFile
	Query    string // shows only what has these words
	Only     string // "changed": only what is not at its default
	Sections []SettingsSection
	Problems []SettingsProblem // of what was sent; nothing was saved
	Moved    bool              // the file changed after the form was made
	Kept     string            // what was done while other changes were kept in the form
	Shown    int
}

// SettingsSection is a part of the form.
type SettingsSection struct {
	ID, Title string
	Folded    bool
	Changed   int // how many are not at their defaults
	Fields    []SettingsField
}

// SettingsField is a setting with what a person made of it.
type SettingsField struct {
	Setting
	Typed  string // what the control shows
	Wrong  string
	Theirs bool // Value changed after the form was made
}

// TextPage is the file itself, to read and to edit.
type TextPage struct {
	File     SettingsFile
	Typed    string
	Problems []SettingsProblem
	Moved    bool
}

// Differs reports whether the value is not the default.
func (s Setting) Differs() bool { return s.Value != s.Default }

// Changed reports whether the control shows something else than what holds.
func (f SettingsField) Changed() bool { return f.Typed != f.Value }

func (f SettingsField) id() string { return "set-" + strings.ReplaceAll(f.Key, ".", "-") }

// described names the elements that say what the control is about.
func (f SettingsField) described() string {
	ids := f.id() + "-doc"
	if f.Wrong != "" {
		ids += " " + f.id() + "-wrong"
	}
	return ids
}

// rows is how tall a control of several lines stands.
func rows(text string) string {
	return fmt.Sprint(min(12, max(2, strings.Count(text, "\n")+2)))
}

// brief writes a value on one line.
func brief(s string) string {
	if s == "" {
		return "empty"
	}
	return text.Clip(strings.ReplaceAll(s, "\n", ", "), 120)
}

// piece is a part of a description: plain, or what stands in the file.
type piece struct {
	text string
	code bool
}

// pieces cuts a description at its backquotes.
func pieces(s string) []piece {
	var out []piece
	for i, part := range strings.Split(s, "`") {
		if part != "" {
			out = append(out, piece{part, i%2 == 1})
		}
	}
	return out
}

// yamlLine is a line of the file: what is a key, what a comment.
type yamlLine struct{ number, key, rest, comment string }

// yamlLines cuts the file for the eye; it need not be right in odd places.
func yamlLines(text string) []yamlLine {
	var out []yamlLine
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		l := yamlLine{number: fmt.Sprint(i + 1), rest: line}
		if at := commentAt(line); at >= 0 {
			l.rest, l.comment = line[:at], line[at:]
		}
		if colon := strings.Index(l.rest, ":"); colon > 0 && !strings.ContainsAny(l.rest[:colon], `"'[]{}`) {
			l.key, l.rest = l.rest[:colon], l.rest[colon:]
		}
		out = append(out, l)
	}
	return out
}

// commentAt is where a comment begins, -1 without one.
func commentAt(line string) int {
	var quote rune
	before := ' '
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '#' && (before == ' ' || before == '\t'):
			return i
		}
		before = r
	}
	return -1
}

// problemWord heads a list of problems.
func problemWord(n int) string {
	if n == 1 {
		return "One thing is wrong"
	}
	return fmt.Sprintf("%d things are wrong", n)
}
