package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// What the settings look like to the dashboard.
type (
	Setting         = view.Setting
	SettingsFile    = view.SettingsFile
	SettingsProblem = view.SettingsProblem
	SettingsUndo    = view.SettingsUndo
)

// Settings are the settings of the repository. What is written depends on the hash of
// the text that a form was made from: SettingsMoved when the file is another by now.
type Settings interface {
	// Read is the file as it is.
	Read() SettingsFile
	// Save makes all of the changes, or none: SettingsWrong says why.
	Save(hash string, changes []SettingChange) error
	// SaveText replaces the file.
	SaveText(hash, text string) error
	// Undo takes back what was saved last from here.
	Undo(hash string) error
}

// SettingChange is what a person made of one setting.
type SettingChange struct {
	Key   string
	Value string // as in the form
	Reset bool   // its line is taken out
}

// SettingsWrong is all that is wrong with what was to be saved.
type SettingsWrong struct{ Problems []SettingsProblem }

func (e *SettingsWrong) Error() string {
	var lines []string
	for _, p := range e.Problems {
		lines = append(lines, p.Text)
	}
	return strings.Join(lines, "\n")
}

// ErrSettingsMoved says that the file is no longer what the form was made from.
var ErrSettingsMoved = errors.New("the settings have changed since")

// noSettings is the answer of a dashboard that has none.
func noSettings() error {
	return &ralph.Refusal{Why: "this dashboard cannot change settings", Hint: "`ralph config edit` can", Kind: ralph.ErrNotFound}
}

// settings is the form of all settings.
func settings(_ context.Context, r *request) (view.Page, error) {
	if r.server.opt.Settings == nil {
		return view.Page{}, noSettings()
	}
	q := r.URL.Query()
	file := r.server.opt.Settings.Read()
	return settingsPage(r.snapshot, &view.SettingsPage{File: file, Query: q.Get("q"), Only: q.Get("only")}, sent{}), nil
}

// settingsText is the file itself.
func settingsText(_ context.Context, r *request) (view.Page, error) {
	if r.server.opt.Settings == nil {
		return view.Page{}, noSettings()
	}
	file := r.server.opt.Settings.Read()
	return textPage(r.snapshot, view.TextPage{File: file, Typed: file.Text}), nil
}

// settingsPage puts the page together. The form is sent once: what somebody types must
// not be replaced under their hands.
func settingsPage(l *snapshot, p *view.SettingsPage, in sent) view.Page {
	p.Sections = sectionsOf(p, in)
	return view.Page{Title: "Settings", Sections: []view.Section{
		{ID: "settings-news", Body: view.SettingsNews(p.File.Hash, l.engine.Alive)},
		{ID: "settings-head", Once: true, Body: view.SettingsHead(p.File, false)},
		{ID: "settings-form", Once: true, Body: view.SettingsForm(*p)},
	}}
}

func textPage(l *snapshot, p view.TextPage) view.Page {
	return view.Page{Title: "Settings", Sections: []view.Section{
		{ID: "settings-news", Body: view.SettingsNews(p.File.Hash, l.engine.Alive)},
		{ID: "settings-head", Once: true, Body: view.SettingsHead(p.File, true)},
		{ID: "settings-text", Once: true, Body: view.SettingsText(p)},
	}}
}

// sectionsOf sorts the settings into sections, in the order of the file, and shows those
// that are asked for, and those that a person has just changed.
func sectionsOf(p *view.SettingsPage, in sent) []view.SettingsSection {
	var out []view.SettingsSection
	wrong := map[string]string{}
	for _, w := range p.Problems {
		if wrong[w.Key] == "" {
			wrong[w.Key] = w.Text
		}
	}
	for _, s := range p.File.Settings {
		f := view.SettingsField{Setting: s, Typed: s.Value, Wrong: wrong[s.Key]}
		if v, ok := in.typed[s.Key]; ok && v != in.was[s.Key] {
			f.Typed = v
			f.Theirs = p.Moved && s.Value != in.was[s.Key] && s.Value != v
			if s.Kind == view.ChoiceSetting && !slices.Contains(s.Choices, v) {
				f.Choices = append(slices.Clone(s.Choices), v)
			}
		}
		if !f.Changed() && f.Wrong == "" && (!matches(s, p.Query) || p.Only == "changed" && !s.Differs()) {
			continue
		}
		p.Shown++
		i := slices.IndexFunc(out, func(o view.SettingsSection) bool { return o.Title == s.Section })
		if i < 0 {
			i = len(out)
			out = append(out, view.SettingsSection{ID: "section-" + slug(s.Section), Title: s.Section, Folded: strings.HasPrefix(s.Key, "agents.")})
		}
		out[i].Fields = append(out[i].Fields, f)
		if s.Differs() {
			out[i].Changed++
		}
		if s.Differs() || f.Changed() || f.Wrong != "" || p.Query != "" {
			out[i].Folded = false
		}
	}
	return out
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

// sent is what a form brought: what it was made with, and what a person made of it.
type sent struct{ was, typed map[string]string }

// changes are the settings that a person changed, in the order of the file.
func (in sent) changes(file SettingsFile) []SettingChange {
	var out []SettingChange
	for _, s := range file.Settings {
		if v, ok := in.typed[s.Key]; ok && v != in.was[s.Key] {
			out = append(out, SettingChange{Key: s.Key, Value: v})
		}
	}
	return out
}

// sentOf reads the form. A box that is not ticked is not sent, so what a form was made
// with says which settings it had.
func sentOf(form url.Values, file SettingsFile) sent {
	in := sent{was: map[string]string{}, typed: map[string]string{}}
	for _, s := range file.Settings {
		if !form.Has("was." + s.Key) {
			continue
		}
		in.was[s.Key] = lines(form.Get("was." + s.Key))
		switch {
		case form.Has("set." + s.Key):
			in.typed[s.Key] = lines(form.Get("set." + s.Key))
		case s.Kind == view.CheckSetting:
			in.typed[s.Key] = "false"
		}
	}
	return in
}

// lines undoes what browsers do to the ends of lines, and to those at the end.
func lines(s string) string {
	return strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
}

// saveSettings saves what a person changed, takes one setting back to its default, or
// takes the last change back.
func (x *Server) saveSettings(w http.ResponseWriter, r *http.Request) {
	form, ok := x.settingsSent(w, r)
	if !ok {
		return
	}
	hash := form.Get("hash")
	if form.Has("undo") {
		if err := x.opt.Settings.Undo(hash); err != nil {
			x.settingsRefused(w, r, err)
			return
		}
		http.Redirect(w, r, "/settings", http.StatusSeeOther)
		return
	}
	file := x.opt.Settings.Read()
	in := sentOf(form, file)
	changes := in.changes(file)
	reset := form.Get("reset")
	if reset != "" {
		changes = []SettingChange{{Key: reset, Reset: true}}
		delete(in.typed, reset)
	}
	page := &view.SettingsPage{File: file, Query: form.Get("q"), Only: form.Get("only")}
	if len(changes) == 0 {
		http.Redirect(w, r, settingsAddress(page), http.StatusSeeOther)
		return
	}
	err := x.opt.Settings.Save(hash, changes)
	page.File = x.opt.Settings.Read() // it may have moved meanwhile
	var wrong *SettingsWrong
	status := http.StatusOK
	switch {
	case err == nil && reset != "" && len(in.changes(file)) > 0:
		page.Kept = reset + " has its default again."
	case err == nil:
		http.Redirect(w, r, settingsAddress(page), http.StatusSeeOther)
		return
	case errors.Is(err, ErrSettingsMoved):
		page.Moved, status = true, http.StatusConflict
	case errors.As(err, &wrong):
		page.Problems, status = wrong.Problems, http.StatusUnprocessableEntity
	default:
		page.Problems, status = []SettingsProblem{{Text: err.Error()}}, http.StatusConflict
	}
	l := x.watch.look()
	x.write(w, r, status, l, settingsPage(l, page, in))
}

// saveSettingsText replaces the file by what a person typed.
func (x *Server) saveSettingsText(w http.ResponseWriter, r *http.Request) {
	form, ok := x.settingsSent(w, r)
	if !ok {
		return
	}
	text := strings.ReplaceAll(form.Get("text"), "\r\n", "\n")
	err := x.opt.Settings.SaveText(form.Get("hash"), text)
	page := view.TextPage{File: x.opt.Settings.Read(), Typed: text}
	var wrong *SettingsWrong
	status := http.StatusUnprocessableEntity
	switch {
	case err == nil:
		http.Redirect(w, r, "/settings/file", http.StatusSeeOther)
		return
	case errors.Is(err, ErrSettingsMoved):
		page.Moved, status = true, http.StatusConflict
	case errors.As(err, &wrong):
		page.Problems = wrong.Problems
	default:
		page.Problems = []SettingsProblem{{Text: err.Error()}}
	}
	l := x.watch.look()
	x.write(w, r, status, l, textPage(l, page))
}

// settingsSent reads a form about settings, or answers why it cannot.
func (x *Server) settingsSent(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	r.Body = http.MaxBytesReader(w, r.Body, 2*maxForm) // the file may have a mebibyte, and its form more
	err := r.ParseForm()
	if err == nil && x.opt.Settings == nil {
		err = noSettings()
	}
	if err != nil {
		x.settingsRefused(w, r, err)
		return nil, false
	}
	return r.PostForm, true
}

func (x *Server) settingsRefused(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, ErrSettingsMoved) {
		err = &ralph.Refusal{Why: "the settings have changed since; nothing was undone", Hint: "look at them, and change what you mean"}
	}
	x.write(w, r, statusOf(err), x.watch.look(), view.Failed(err))
}

// settingsAddress is where a form was.
func settingsAddress(p *view.SettingsPage) string {
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
