package page

import (
	"net/url"
	"slices"
	"strings"
	"time"
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

// SettingsTextPage is the file itself, to read and to edit.
type SettingsTextPage struct {
	File     SettingsFile
	Typed    string
	Problems []SettingsProblem
	Moved    bool
}

// Differs reports whether the value is not the default.
func (s Setting) Differs() bool { return s.Value != s.Default }

// Changed reports whether the control shows something else than what holds.
func (f SettingsField) Changed() bool { return f.Typed != f.Value }

// SettingChange is what a person made of one setting.
type SettingChange struct {
	Key   string
	Value string // as in the form
	Reset bool   // its line is taken out
}

// Sort sorts the settings into sections, in the order of the file, and shows those
// that are asked for, and those that a person has just changed.
func (p *SettingsPage) Sort(in SettingsSent) {
	var out []SettingsSection
	wrong := map[string]string{}
	for _, w := range p.Problems {
		if wrong[w.Key] == "" {
			wrong[w.Key] = w.Text
		}
	}
	for _, s := range p.File.Settings {
		f := SettingsField{Setting: s, Typed: s.Value, Wrong: wrong[s.Key]}
		if v, ok := in.Typed[s.Key]; ok && v != in.Was[s.Key] {
			f.Typed = v
			f.Theirs = p.Moved && s.Value != in.Was[s.Key] && s.Value != v
			if s.Kind == ChoiceSetting && !slices.Contains(s.Choices, v) {
				f.Choices = append(slices.Clone(s.Choices), v)
			}
		}
		if !f.Changed() && f.Wrong == "" && (!matches(s, p.Query) || p.Only == "changed" && !s.Differs()) {
			continue
		}
		p.Shown++
		i := slices.IndexFunc(out, func(o SettingsSection) bool { return o.Title == s.Section })
		if i < 0 {
			i = len(out)
			out = append(out, SettingsSection{ID: "section-" + slug(s.Section), Title: s.Section, Folded: strings.HasPrefix(s.Key, "agents.")})
		}
		out[i].Fields = append(out[i].Fields, f)
		if s.Differs() {
			out[i].Changed++
		}
		if s.Differs() || f.Changed() || f.Wrong != "" || p.Query != "" {
			out[i].Folded = false
		}
	}
	p.Sections = out
}

func slug(s string) string { return strings.ToLower(strings.ReplaceAll(s, " ", "-")) }

// matches reports whether a setting has all words that are looked for.
func matches(s Setting, query string) bool {
	text := strings.ToLower(s.Key + " " + s.Section + " " + s.Doc)
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// SettingsSent is what a form brought: what it was made with, and what a person made of it.
type SettingsSent struct{ Was, Typed map[string]string }

// Changes are the settings that a person changed, in the order of the file.
func (in SettingsSent) Changes(file SettingsFile) []SettingChange {
	var out []SettingChange
	for _, s := range file.Settings {
		if v, ok := in.Typed[s.Key]; ok && v != in.Was[s.Key] {
			out = append(out, SettingChange{Key: s.Key, Value: v})
		}
	}
	return out
}

// SentOf reads the form. A box that is not ticked is not sent, so what a form was made
// with says which settings it had.
func SentOf(form url.Values, file SettingsFile) SettingsSent {
	in := SettingsSent{Was: map[string]string{}, Typed: map[string]string{}}
	for _, s := range file.Settings {
		if !form.Has("was." + s.Key) {
			continue
		}
		in.Was[s.Key] = formLines(form.Get("was." + s.Key))
		switch {
		case form.Has("set." + s.Key):
			in.Typed[s.Key] = formLines(form.Get("set." + s.Key))
		case s.Kind == CheckSetting:
			in.Typed[s.Key] = "false"
		}
	}
	return in
}

// formLines undoes what browsers do to the ends of lines, and to those at the end.
func formLines(s string) string {
	return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
}

// Address is where a form was.
func (p *SettingsPage) Address() string {
	q := url.Values{}
	if p.Query != "" {
		q.Set("q", p.Query)
	}
	if p.Only != "" {
		q.Set("only", p.Only)
	}
	if len(q) == 0 {
		return "/settings"
	}
	return "/settings?" + q.Encode()
}
