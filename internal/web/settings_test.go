package web_test

import (
	"context"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web"
)

// quiet is a repository in which nothing happens.
type quiet struct {
	action.Backend // nil: what is not below is never called
	s              ralph.State
}

func (q *quiet) State() *ralph.State                       { return &q.s }
func (q *quiet) Engine(*ralph.State) status.Engine         { return status.Engine{} }
func (q *quiet) Wait(ctx context.Context, _ int64) error   { <-ctx.Done(); return ctx.Err() }
func (q *quiet) Each(int64, func(ralph.Event) error) error { return nil }
func (q *quiet) Now() time.Time                            { return time.Unix(1767323045, 0) }
func (q *quiet) Context() action.Context                   { return action.Context{} }

// fakeSettings remembers what it was asked to save.
type fakeSettings struct {
	file  web.SettingsFile
	saved []web.SettingChange
	text  string
	undid string
	err   error
}

func (f *fakeSettings) Read() web.SettingsFile { return f.file }
func (f *fakeSettings) Save(hash string, changes []web.SettingChange) error {
	if hash != f.file.Hash {
		return web.ErrSettingsMoved
	}
	if f.err == nil {
		f.saved = changes
	}
	return f.err
}

func (f *fakeSettings) SaveText(hash, text string) error {
	if hash != f.file.Hash {
		return web.ErrSettingsMoved
	}
	f.text = text
	return f.err
}
func (f *fakeSettings) Undo(hash string) error { f.undid = hash; return f.err }

func someSettings() *fakeSettings {
	return &fakeSettings{file: web.SettingsFile{Path: "ralph/config.yaml", Exists: true, Hash: "h1", Text: "mode: step # <b>\n", Settings: []web.Setting{
		{Key: "mode", Section: "General", Doc: "how `much`", Kind: "choice", Choices: []string{"step", "semi"}, Value: "step", Default: "semi", From: "ralph/config.yaml:1", InFile: true},
		{Key: "agent.recover_primary", Section: "Autopilot", Kind: "check", Value: "true", Default: "true"},
		{Key: "errors.max_retries", Section: "Autopilot", Kind: "whole", Min: "0", Max: "100", Value: "2", Default: "2"},
		{Key: "quality.commands", Section: "Checks", Kind: "list", Value: "a\nb", Default: ""},
		{Key: "parallel", Section: "General", Kind: "whole", Value: "7", Default: "1", Fixed: true, From: "RALPH_PARALLEL"},
		{Key: "test.command", Section: "Checks", Doc: "<script>alert(1)</script>", Kind: "text", Value: `"><script>alert(2)</script>`, Default: ""},
	}}}
}

// settingsServer is a dashboard with these settings.
func settingsServer(t *testing.T, s web.Settings) *web.Server {
	t.Helper()
	q := &quiet{}
	x := web.New(web.Options{Source: q, Backend: q, Root: t.TempDir(), Version: "1", Build: "1", Settings: s})
	t.Cleanup(x.Close)
	return x
}

func get(x http.Handler, address string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, http.NoBody))
	return w
}

func post(x http.Handler, address string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	x.ServeHTTP(w, r)
	return w
}

// asSent is what a browser sends of the form as it is shown.
func asSent(f *fakeSettings) url.Values {
	form := url.Values{"hash": {f.file.Hash}}
	for _, s := range f.file.Settings {
		if s.Fixed {
			continue
		}
		form.Set("was."+s.Key, strings.ReplaceAll(s.Value, "\n", "\r\n"))
		if s.Kind != "check" || s.Value == "true" {
			form.Set("set."+s.Key, strings.ReplaceAll(s.Value, "\n", "\r\n"))
		}
	}
	return form
}

// Every setting is on the page with its control; what comes from files is escaped
//
func TestSettingsPage(t *testing.T) {
	t.Parallel()
	s := someSettings()
	x := settingsServer(t, s)
	w := get(x, "/settings")
	body := w.Body.String()
	if w.Code != http.StatusOK || strings.Contains(body, "<script>alert") {
		t.Fatalf("%d, or hostile text is not escaped", w.Code)
	}
	for _, want := range []string{
		`<h2 id="section-autopilot-title">Autopilot</h2>`, `<option value="step" selected>step</option>`, `value="true" checked`,
		`name="set.errors.max_retries" value="2" min="0" max="100"`, "\na\nb</textarea>", `name="set.parallel" value="7" disabled`,
		`name="reset" value="mode"`, `how <code>much</code>`, `name="hash" value="h1"`, "ralph/config.yaml:1", html.EscapeString(`"><script>alert(2)`),
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(body, `name="was.parallel"`) || strings.Count(body, `name="reset"`) != 1 {
		t.Error("what cannot be changed can be sent")
	}
	body = get(x, "/settings?q=auto+RETRIES").Body.String()
	if !strings.Contains(body, "errors.max_retries") || strings.Contains(body, "quality.commands") {
		t.Error("the search shows something else")
	}
	if body = get(x, "/settings?only=changed").Body.String(); !strings.Contains(body, "quality.commands") || strings.Contains(body, "recover_primary") {
		t.Error("what is at its default is shown as changed")
	}
	body = get(x, "/settings/file").Body.String()
	if !strings.Contains(body, "# &lt;b&gt;") || !strings.Contains(body, "\nmode: step # &lt;b&gt;\n</textarea>") {
		t.Error("the file is not shown")
	}
	if w := get(settingsServer(t, nil), "/settings"); w.Code != http.StatusNotFound {
		t.Errorf("without settings: %d", w.Code)
	}
}

// Only what a person changed is saved; a box that is not ticked counts.
func TestSettingsSave(t *testing.T) {
	t.Parallel()
	s := someSettings()
	x := settingsServer(t, s)
	if w := post(x, "/settings", asSent(s)); w.Code != http.StatusSeeOther || s.saved != nil {
		t.Errorf("nothing was changed: %d, %v", w.Code, s.saved)
	}
	form := asSent(s)
	form.Set("set.mode", "semi")
	form.Del("set.agent.recover_primary")
	form.Set("set.quality.commands", "a\r\nb\r\nc\r\n")
	form.Set("set.parallel", "9")
	form.Set("q", "x y")
	w := post(x, "/settings", form)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/settings?q=x+y" {
		t.Errorf("%d %s", w.Code, w.Header())
	}
	want := []web.SettingChange{{Key: "mode", Value: "semi"}, {Key: "agent.recover_primary", Value: "false"}, {Key: "quality.commands", Value: "a\nb\nc"}}
	if len(s.saved) != len(want) {
		t.Fatalf("saved %v", s.saved)
	}
	for i := range want {
		if s.saved[i] != want[i] {
			t.Errorf("saved %v, want %v", s.saved[i], want[i])
		}
	}
	if w := post(x, "/settings/file", url.Values{"hash": {"h1"}, "text": {"mode: semi\r\n# x\r\n"}}); w.Code != http.StatusSeeOther || s.text != "mode: semi\n# x\n" {
		t.Errorf("%d %q", w.Code, s.text)
	}
	if w := post(x, "/settings", url.Values{"hash": {"h1"}, "undo": {"yes"}}); w.Code != http.StatusSeeOther || s.undid != "h1" {
		t.Errorf("%d %q", w.Code, s.undid)
	}
}

// A setting goes back to its default alone; what else was typed is kept in the form.
func TestSettingsReset(t *testing.T) {
	t.Parallel()
	s := someSettings()
	x := settingsServer(t, s)
	form := asSent(s)
	form.Set("reset", "mode")
	if w := post(x, "/settings", form); w.Code != http.StatusSeeOther || len(s.saved) != 1 || s.saved[0] != (web.SettingChange{Key: "mode", Reset: true}) {
		t.Errorf("%d %v", w.Code, s.saved)
	}
	form.Set("set.errors.max_retries", "9")
	w := post(x, "/settings", form)
	if w.Code != http.StatusOK || len(s.saved) != 1 || !strings.Contains(w.Body.String(), `name="set.errors.max_retries" value="9"`) {
		t.Errorf("%d %v", w.Code, s.saved)
	}
}

// What is wrong is said at its field and on top, and what was typed stays.
func TestSettingsRefused(t *testing.T) {
	t.Parallel()
	s := someSettings()
	s.err = &web.SettingsWrong{Problems: []web.SettingsProblem{{Key: "mode", Text: "`mode` must be <one>"}}}
	x := settingsServer(t, s)
	form := asSent(s)
	form.Set("set.mode", "burn")
	form.Set("set.errors.max_retries", "9")
	form.Del("set.agent.recover_primary")
	w := post(x, "/settings", form)
	body := w.Body.String()
	if w.Code != http.StatusUnprocessableEntity || strings.Count(body, "must be &lt;one&gt;") != 2 {
		t.Errorf("%d, said %d times", w.Code, strings.Count(body, "must be &lt;one&gt;"))
	}
	for _, want := range []string{`<option value="burn" selected>`, `name="set.errors.max_retries" value="9"`, `name="was.errors.max_retries" value="2"`, `href="#set-mode"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(body, `value="true" checked`) || strings.Contains(body, "sse-connect") {
		t.Error("the form is not what was sent")
	}
	w = post(x, "/settings/file", url.Values{"hash": {"h1"}, "text": {"mode: burn\n"}})
	if body = w.Body.String(); w.Code != http.StatusUnprocessableEntity || !strings.Contains(body, "\nmode: burn\n</textarea>") || !strings.Contains(body, "must be &lt;one&gt;") {
		t.Errorf("%d", w.Code)
	}
}

// When the file changed since the form was made, nothing is saved and both are shown.
func TestSettingsMoved(t *testing.T) {
	t.Parallel()
	s := someSettings()
	x := settingsServer(t, s)
	form := asSent(s)
	form.Set("set.errors.max_retries", "9")
	form.Set("set.test.command", "mine")
	s.file.Hash = "h2"
	s.file.Settings[0].Value = "semi" // of which the person knows nothing
	s.file.Settings[2].Value = "5"    // which both changed
	w := post(x, "/settings", form)
	body := w.Body.String()
	if w.Code != http.StatusConflict || s.saved != nil {
		t.Errorf("%d, saved %v", w.Code, s.saved)
	}
	for _, want := range []string{
		`name="hash" value="h2"`, `name="set.errors.max_retries" value="9"`, "The file now says <code>5</code>",
		`<option value="semi" selected>`, `name="set.test.command" value="mine"`, `name="was.errors.max_retries" value="5"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Count(body, "The file now says") != 1 {
		t.Error("what only one side changed is shown as both's")
	}
	w = post(x, "/settings/file", url.Values{"hash": {"h1"}, "text": {"mine: 1\n"}})
	if body = w.Body.String(); w.Code != http.StatusConflict || !strings.Contains(body, "mine: 1") || !strings.Contains(body, "# &lt;b&gt;") {
		t.Errorf("%d", w.Code)
	}
}

// The form is not replaced while somebody types in it; that the file changed is told.
func TestSettingsAreNotPatched(t *testing.T) {
	t.Parallel()
	x := settingsServer(t, someSettings())
	ctx, cancel := context.WithCancel(t.Context())
	w := &firstWrite{httptest.NewRecorder(), cancel}
	x.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/live?view=%2Fsettings", http.NoBody).WithContext(ctx))
	body := w.Body.String()
	if !strings.Contains(body, `data-settings-hash`) || strings.Contains(body, "settings-form") {
		t.Errorf("%s", body)
	}
}

// firstWrite ends the request once the news of the page have come.
type firstWrite struct {
	*httptest.ResponseRecorder
	cancel func()
}

func (w *firstWrite) Write(p []byte) (int, error) {
	defer func() {
		if strings.Contains(w.Body.String(), "data-settings-hash") {
			w.cancel()
		}
	}()
	return w.ResponseRecorder.Write(p)
}
