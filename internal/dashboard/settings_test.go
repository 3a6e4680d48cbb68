package dashboard

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// deskOn is the settings of a repository whose file has this text.
func deskOn(t *testing.T, text string, environ ...string) (*settingsStore, func() string) {
	t.Helper()
	root := t.TempDir()
	path := filepath.Join(root, "ralph/config.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	read := func() string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return &settingsStore{env: workspace.Env{Environ: environ}, root: root, now: func() time.Time { return at }}, read
}

func find(t *testing.T, f web.SettingsFile, key string) web.Setting {
	t.Helper()
	i := slices.IndexFunc(f.Settings, func(s web.Setting) bool { return s.Key == key })
	if i < 0 {
		t.Fatalf("no %s", key)
	}
	return f.Settings[i]
}

// Each kind of field takes what a person types, and shows it again as it was typed; the
// rest of the file stays byte for byte.
func TestSettingsRoundTrip(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ key, kind, typed, line string }{
		{"mode", "choice", "semi", "mode: semi"},
		{"agent.primary", "choice", "codex", "primary: codex"},
		{"agent.mcp", "check", "false", "mcp: false"},
		{"parallel", "whole", "4", "parallel: 4"},
		{"budget.tokens", "whole", "1125899906842624", "tokens: 1125899906842624"},
		{"scoring.retry", "whole", "-3", "retry: -3"},
		{"budget.cost", "number", "2.5", "cost: 2.5"},
		{"task.timeout", "text", "90s", "timeout: 1m30s"},
		{"quality.max_output", "text", "1MiB", "max_output: 1MiB"},
		{"test.command", "text", `make "a, b" # c`, `command: 'make "a, b" # c'`},
		{"base_branch", "text", "", `base_branch: ""`},
		{"quality.commands", "list", "make a, b\n[x]\n- y: <z>", `commands: ['make a, b', '[x]', '- y: <z>']`},
		{"agent.fallback", "list", "", "fallback: []"},
		{"agents.demo.env", "table", "A=1\nB=x=y z", `env: {A: "1", B: x=y z}`},
		{"notify.events", "table", "step-complete=none", "events: {step-complete: none}"},
		{"prices", "yaml", "{m: {cached: 0, input: 1, output: 2}}", "prices: {m: {cached: 0, input: 1, output: 2}}"},
		{"agents.aider.events", "yaml", "[{kind: message, match: {type: text}, text: a.b}]", "events: [{kind: message, match: {type: text}, text: a.b}]"},
	} {
		t.Run(tt.key+"="+tt.typed, func(t *testing.T) {
			t.Parallel()
			top := "# mine\nversion: 1\n\nmerge: {batch: 2}   # two\n# end\n"
			d, text := deskOn(t, top)
			f := d.Read()
			if s := find(t, f, tt.key); s.Kind != tt.kind {
				t.Errorf("it is shown as %s", s.Kind)
			}
			if err := d.Save(f.Hash, []web.SettingChange{{Key: tt.key, Value: tt.typed}}); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(text(), top) || !strings.Contains(text(), tt.line+"\n") {
				t.Errorf("the file is\n%s", text())
			}
			f = d.Read()
			want := tt.typed
			if tt.key == "task.timeout" {
				want = "1m30s" // as ralph writes it
			}
			if s := find(t, f, tt.key); s.Value != want || !s.InFile || !strings.HasPrefix(s.From, "ralph/config.yaml:") || len(f.Problems) > 0 {
				t.Errorf("%+v %v", s, f.Problems)
			}
			if err := d.Save(f.Hash, []web.SettingChange{{Key: tt.key, Reset: true}}); err != nil {
				t.Fatal(err)
			}
			if s := find(t, d.Read(), tt.key); s.Value != s.Default || s.InFile || !strings.HasPrefix(text(), top) {
				t.Errorf("after the reset %+v\n%s", s, text())
			}
		})
	}
}

// The panel's section has the nine fields of document A, and the form
// every key that `ralph config show` has, none twice.
func TestSettingsSections(t *testing.T) {
	t.Parallel()
	d, _ := deskOn(t, "")
	var autopilot, keys []string
	for _, s := range d.Read().Settings {
		keys = append(keys, s.Key)
		if s.Section == "Autopilot" {
			autopilot = append(autopilot, s.Key)
		}
		if s.Section == "" || s.Doc == "" || s.Kind == "choice" && len(s.Choices) < 1 {
			t.Errorf("%+v", s)
		}
	}
	want := autopilotSettings()
	slices.Sort(want)
	slices.Sort(autopilot)
	if !slices.Equal(want, autopilot) || len(want) != 9 {
		t.Errorf("below Autopilot: %v", autopilot)
	}
	var all []string
	for _, s := range config.Defaults().Set() {
		all = append(all, s.Key)
	}
	if !slices.Equal(all, keys) {
		t.Errorf("the form has %v", keys)
	}
}

// What is wrong is said in the words of `ralph config edit`, with its key, and nothing is
// written.
func TestSettingsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ key, value string }{
		{"errors.strategy", "burn"},
		{"errors.max_retries", "-1"},
		{"errors.retry_base", "30"},
		{"task.delay", "soon"},
		{"agent.primary", "nobody"},
		{"agent.recover_primary", "maybe"},
		{"task.no_progress_turns", "2"}, // below the warning: only the whole shows it
		{"gate.patterns", "["},
		{"agents.claude.env", "1X=2"},
		{"no.such", "1"},
	} {
		t.Run(tt.key, func(t *testing.T) {
			t.Parallel()
			text := "# mine\ntask:\n  stuck_threshold: 5\n"
			d, now := deskOn(t, text)
			err := d.Save(d.Read().Hash, []web.SettingChange{{Key: "parallel", Value: "2"}, {Key: tt.key, Value: tt.value}})
			wrong, ok := errors.AsType[*web.SettingsWrong](err)
			if !ok || len(wrong.Problems) != 1 {
				t.Fatalf("%v", err)
			}
			if p := wrong.Problems[0]; p.Key != tt.key {
				t.Errorf("it is about %q", p.Key)
			}
			if now() != text {
				t.Errorf("written:\n%s", now())
			}
			arg := tt.key + "=" + tt.value
			switch tt.key {
			case "gate.patterns":
				arg = tt.key + "=['[']"
			case "agents.claude.env":
				arg = tt.key + "={1X: 2}"
			}
			_, said := workspace.EditAll([]byte(text), []string{"parallel=2", arg})
			if said == nil || strings.TrimPrefix(said.Error(), "command line: ") != wrong.Problems[0].Text {
				t.Errorf("the form says %q, the command %v", wrong.Problems[0].Text, said)
			}
		})
	}
}

// A file that changed meanwhile is left alone; what was saved can be undone while nothing
// else changed it.
func TestSettingsMovedAndUndo(t *testing.T) {
	t.Parallel()
	d, text := deskOn(t, "parallel: 2 # mine\n")
	old := d.Read()
	if old.Undo != nil {
		t.Error("something to undo before anything was done")
	}
	if err := d.Save(old.Hash, []web.SettingChange{{Key: "parallel", Value: "3"}}); err != nil {
		t.Fatal(err)
	}
	for _, save := range []func() error{
		func() error { return d.Save(old.Hash, []web.SettingChange{{Key: "parallel", Value: "4"}}) },
		func() error { return d.SaveText(old.Hash, "parallel: 4\n") },
	} {
		if err := save(); !errors.Is(err, web.ErrSettingsMoved) || text() != "parallel: 3 # mine\n" {
			t.Errorf("%v\n%s", err, text())
		}
	}
	if err := d.Undo(old.Hash); err == nil {
		t.Error("an old page undoes")
	}
	f := d.Read()
	if f.Undo == nil || f.Undo.What != "parallel" {
		t.Fatalf("%+v", f.Undo)
	}
	if err := d.Undo(f.Hash); err != nil || text() != "parallel: 2 # mine\n" {
		t.Errorf("%v\n%s", err, text())
	}
	if f := d.Read(); f.Undo == nil || d.Undo(f.Hash) != nil || text() != "parallel: 3 # mine\n" {
		t.Errorf("the undo cannot be undone:\n%s", text())
	}
	path := filepath.Join(d.root, "ralph/config.yaml")
	if err := os.WriteFile(path, []byte("parallel: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := d.Read(); f.Undo != nil || d.Undo(f.Hash) == nil || text() != "parallel: 5\n" {
		t.Errorf("somebody's change is undone: %s", text())
	}
}

// Secrets reach neither the form nor the view of the file, and stay what they are when
// they are left alone (product.md 12).
func TestSettingsSecrets(t *testing.T) {
	t.Parallel()
	file := "agents:\n  demo:\n    env: {API_KEY: s3cret, LANG: C} # mine\nnotify:\n  webhooks: ['slack://tok-A@x']\n"
	d, text := deskOn(t, file, "RALPH_PARALLEL=2")
	f := d.Read()
	for _, s := range append(f.Settings, web.Setting{Value: f.Text}) {
		if strings.Contains(s.Value+s.Default+s.From, "s3cret") || strings.Contains(s.Value, "tok-A") {
			t.Errorf("%+v", s)
		}
	}
	if s := find(t, f, "parallel"); !s.Fixed || s.Value != "2" || !strings.Contains(s.From, "RALPH_PARALLEL") {
		t.Errorf("of the environment: %+v", s)
	}
	env := find(t, f, "agents.demo.env").Value
	if err := d.Save(f.Hash, []web.SettingChange{
		{Key: "agents.demo.env", Value: strings.Replace(env, "LANG=C", "LANG=D", 1)},
		{Key: "notify.webhooks", Value: "ntfy://new\n" + find(t, f, "notify.webhooks").Value},
	}); err != nil {
		t.Fatal(err)
	}
	want := "agents:\n  demo:\n    env: {API_KEY: s3cret, LANG: D} # mine\nnotify:\n  webhooks: ['ntfy://new', 'slack://tok-A@x']\n"
	if text() != want {
		t.Errorf("%s", text())
	}
	f = d.Read()
	if err := d.SaveText(f.Hash, strings.Replace(f.Text, "LANG: D", "LANG: E", 1)); err != nil || text() != strings.Replace(want, "LANG: D", "LANG: E", 1) {
		t.Errorf("%v\n%s", err, text())
	}
	f = d.Read()
	var wrong *web.SettingsWrong
	if err := d.SaveText(f.Hash, f.Text+"paralel: 2\n"); !errors.As(err, &wrong) || !strings.Contains(wrong.Error(), "did you mean `parallel`?") {
		t.Errorf("%v", err)
	}
	if err := d.Save(f.Hash, []web.SettingChange{{Key: "agents.demo.env", Value: "OTHER_KEY=***"}}); err == nil {
		t.Error("a secret from nowhere is taken")
	}
}

// A form ends its lines in its own way; the file keeps its own.
func TestSettingsTextKeepsLineEnds(t *testing.T) {
	t.Parallel()
	d, text := deskOn(t, "mode: step\r\nparallel: 2\r\n")
	f := d.Read()
	if err := d.SaveText(f.Hash, "mode: step\nparallel: 3\n"); err != nil || text() != "mode: step\r\nparallel: 3\r\n" {
		t.Errorf("%v %q", err, text())
	}
}

// A file that cannot be read is not shown, since it may hold secrets that were not found.
func TestSettingsBroken(t *testing.T) {
	t.Parallel()
	d, _ := deskOn(t, "agents:\n  a:\n    env:\n     API_KEY: s3cret\n    x: [\n")
	f := d.Read()
	if f.Text != "" || f.TextWhy == "" || len(f.Problems) != 1 || strings.Contains(f.TextWhy+f.Problems[0].Text, "s3cret") {
		t.Errorf("%+v", f)
	}
	if len(f.Settings) < 100 {
		t.Error("the form is gone")
	}
}
