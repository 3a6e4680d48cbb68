package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// What the settings look like to the dashboard.
type (
	Setting         = view.Setting
	SettingsFile    = view.SettingsFile
	SettingsProblem = view.SettingsProblem
	SettingsUndo    = view.SettingsUndo
	SettingChange   = page.SettingChange
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
	return settingsPage(r.Look, &view.SettingsPage{File: file, Query: q.Get("q"), Only: q.Get("only")}, page.SettingsSent{}), nil
}

// settingsText is the file itself.
func settingsText(_ context.Context, r *request) (view.Page, error) {
	if r.server.opt.Settings == nil {
		return view.Page{}, noSettings()
	}
	file := r.server.opt.Settings.Read()
	return textPage(r.Look, view.TextPage{File: file, Typed: file.Text}), nil
}

// settingsPage puts the page together. The form is sent once: what somebody types must
// not be replaced under their hands.
func settingsPage(l *watch.Look, p *view.SettingsPage, in page.SettingsSent) view.Page {
	p.Sort(in)
	return view.Page{Title: "Settings", Sections: []view.Section{
		{ID: "settings-news", Body: view.SettingsNews(p.File.Hash, l.Engine.Alive)},
		{ID: "settings-head", Once: true, Body: view.SettingsHead(p.File, false)},
		{ID: "settings-form", Once: true, Body: view.SettingsForm(*p)},
	}}
}

func textPage(l *watch.Look, p view.TextPage) view.Page {
	return view.Page{Title: "Settings", Sections: []view.Section{
		{ID: "settings-news", Body: view.SettingsNews(p.File.Hash, l.Engine.Alive)},
		{ID: "settings-head", Once: true, Body: view.SettingsHead(p.File, true)},
		{ID: "settings-text", Once: true, Body: view.SettingsText(p)},
	}}
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
	in := page.SentOf(form, file)
	changes := in.Changes(file)
	reset := form.Get("reset")
	if reset != "" {
		changes = []SettingChange{{Key: reset, Reset: true}}
		delete(in.Typed, reset)
	}
	shown := &view.SettingsPage{File: file, Query: form.Get("q"), Only: form.Get("only")}
	if len(changes) == 0 {
		http.Redirect(w, r, shown.Address(), http.StatusSeeOther)
		return
	}
	err := x.opt.Settings.Save(hash, changes)
	shown.File = x.opt.Settings.Read() // it may have moved meanwhile
	var wrong *SettingsWrong
	status := http.StatusOK
	switch {
	case err == nil && reset != "" && len(in.Changes(file)) > 0:
		shown.Kept = reset + " has its default again."
	case err == nil:
		http.Redirect(w, r, shown.Address(), http.StatusSeeOther)
		return
	case errors.Is(err, ErrSettingsMoved):
		shown.Moved, status = true, http.StatusConflict
	case errors.As(err, &wrong):
		shown.Problems, status = wrong.Problems, http.StatusUnprocessableEntity
	default:
		shown.Problems, status = []SettingsProblem{{Text: err.Error()}}, http.StatusConflict
	}
	l := x.watch.Look()
	x.write(w, r, status, l, settingsPage(l, shown, in))
}

// saveSettingsText replaces the file by what a person typed.
func (x *Server) saveSettingsText(w http.ResponseWriter, r *http.Request) {
	form, ok := x.settingsSent(w, r)
	if !ok {
		return
	}
	text := strings.ReplaceAll(form.Get("text"), "\r\n", "\n")
	err := x.opt.Settings.SaveText(form.Get("hash"), text)
	shown := view.TextPage{File: x.opt.Settings.Read(), Typed: text}
	var wrong *SettingsWrong
	status := http.StatusUnprocessableEntity
	switch {
	case err == nil:
		http.Redirect(w, r, "/settings/file", http.StatusSeeOther)
		return
	case errors.Is(err, ErrSettingsMoved):
		shown.Moved, status = true, http.StatusConflict
	case errors.As(err, &wrong):
		shown.Problems = wrong.Problems
	default:
		shown.Problems = []SettingsProblem{{Text: err.Error()}}
	}
	l := x.watch.Look()
	x.write(w, r, status, l, textPage(l, shown))
}

// settingsSent reads a form about settings, or answers why it cannot.
func (x *Server) settingsSent(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
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
	x.write(w, r, statusOf(err), x.watch.Look(), view.Failed(err))
}
