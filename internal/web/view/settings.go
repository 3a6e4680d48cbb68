package view

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/text"
)

// What the settings show.
type (
	Setting         = page.Setting
	SettingsProblem = page.SettingsProblem
	SettingsFile    = page.SettingsFile
	SettingsUndo    = page.SettingsUndo
	SettingsPage    = page.SettingsPage
	SettingsSection = page.SettingsSection
	SettingsField   = page.SettingsField
	TextPage        = page.SettingsTextPage
)

// The kinds of settings.
const (
	ChoiceSetting = page.ChoiceSetting
	CheckSetting  = page.CheckSetting
	WholeSetting  = page.WholeSetting
	NumberSetting = page.NumberSetting
	TextSetting   = page.TextSetting
	AreaSetting   = page.AreaSetting
	ListSetting   = page.ListSetting
	TableSetting  = page.TableSetting
	YAMLSetting   = page.YAMLSetting
)

// fieldID names the control of a setting.
func fieldID(f SettingsField) string { return "set-" + strings.ReplaceAll(f.Key, ".", "-") }

// described names the elements that say what the control is about.
func described(f SettingsField) string {
	ids := fieldID(f) + "-doc"
	if f.Wrong != "" {
		ids += " " + fieldID(f) + "-wrong"
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
