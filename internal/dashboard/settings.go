package dashboard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/doctor"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// settingsStore is ralph/config.yaml as the dashboard sees it (web.Settings). It is safe
// for concurrent use.
type settingsStore struct {
	env  workspace.Env
	root string
	now  func() time.Time

	mu   sync.Mutex
	undo *undoSettings
}

// undoSettings is the last change made from the dashboard.
type undoSettings struct {
	was, hash string // the text before, the hash of the text after
	what      string
	at        time.Time
}

func (d *settingsStore) text() ([]byte, bool, error) {
	b, err := os.ReadFile(filepath.Join(d.root, "ralph/config.yaml"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	return b, true, err
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Read is the file as it is, with the defaults and the environment.
func (d *settingsStore) Read() web.SettingsFile {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := web.SettingsFile{Path: "ralph/config.yaml"}
	text, exists, err := d.text()
	if err != nil {
		f.Problems = append(f.Problems, web.SettingsProblem{Text: err.Error()})
	}
	f.Exists, f.Hash = exists, hashOf(text)
	c, err := config.Read(text, d.env.Environ)
	if err != nil {
		f.Problems = append(f.Problems, settingsProblems(err)...)
	}
	shown, err := config.Hide(text)
	if err != nil {
		f.TextWhy = err.Error()
	}
	f.Text = string(shown)
	detected := doctor.DetectedSettings(c, d.root, d.env.Environ)
	for _, field := range c.Fields() {
		f.Settings = append(f.Settings, settingModel(c, field, detected[field.Key]))
	}
	if d.undo != nil && d.undo.hash == f.Hash {
		f.Undo = &web.SettingsUndo{What: d.undo.what, At: d.undo.at}
	}
	return f
}

// Save makes all of the changes, or none.
func (d *settingsStore) Save(hash string, changes []web.SettingChange) error {
	var names []string
	for _, ch := range changes {
		name := ch.Key
		if ch.Reset {
			name += " back to its default"
		}
		names = append(names, name)
	}
	what := strings.Join(names, ", ")
	if len(names) > 4 {
		what = fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return d.change(hash, what, func(text []byte) ([]byte, error) {
		c, _ := config.Read(text, d.env.Environ) // of a file that is not valid, what could be read
		edits, err := editsOf(c, changes)
		if err != nil {
			return nil, err
		}
		return config.EditAll(text, edits)
	})
}

// SaveText replaces the file.
func (d *settingsStore) SaveText(hash, typed string) error {
	return d.change(hash, "the file", func(text []byte) ([]byte, error) {
		if bytes.Contains(text, []byte("\r\n")) { // a form ends its lines as it likes
			typed = strings.ReplaceAll(typed, "\n", "\r\n")
		}
		whole, err := config.Unhide([]byte(typed), text)
		if err != nil {
			return nil, err
		}
		_, err = config.Read(whole, nil)
		return whole, err
	})
}

// Undo takes back what was saved last.
func (d *settingsStore) Undo(hash string) error {
	d.mu.Lock()
	last := d.undo
	d.mu.Unlock()
	if last == nil || last.hash != hash {
		return &ralph.Refusal{Why: "there is nothing to undo", Hint: "only the last change made from this dashboard can be taken back, as long as nothing else changed the file"}
	}
	return d.change(hash, "undid: "+last.what, func([]byte) ([]byte, error) { return []byte(last.was), nil })
}

// change writes what make makes of the file, if it is what a form was made from.
func (d *settingsStore) change(hash, what string, edit func(text []byte) ([]byte, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var was, now []byte
	err := workspace.ChangeSettings(d.root, func(text []byte) ([]byte, error) {
		if hashOf(text) != hash {
			return nil, web.ErrSettingsMoved
		}
		out, err := edit(text)
		was, now = text, out
		return out, err
	})
	if err == nil {
		d.undo = &undoSettings{was: string(was), hash: hashOf(now), what: what, at: d.now()}
		return nil
	}
	if list := settingsProblems(err); list != nil && !errors.Is(err, web.ErrSettingsMoved) {
		return &web.SettingsWrong{Problems: list}
	}
	return err
}

// settingsProblems are the words of the command line, each with its key.
func settingsProblems(err error) []web.SettingsProblem {
	var list *setting.Error
	if !errors.As(err, &list) {
		return []web.SettingsProblem{{Text: err.Error()}}
	}
	var out []web.SettingsProblem
	for _, p := range list.Problems {
		// Here what was typed does not come from a command line.
		text := strings.TrimPrefix(p.Error(), setting.Source{Kind: setting.FromFlag}.String()+": ")
		out = append(out, web.SettingsProblem{Key: p.Key, Text: text})
	}
	return out
}

// editsOf turns what a form has into what the file may have.
func editsOf(c config.Config, changes []web.SettingChange) ([]config.Change, error) {
	fields := c.Fields()
	var out []config.Change
	var wrong []setting.Problem
	for _, ch := range changes {
		i := slices.IndexFunc(fields, func(f config.Field) bool { return f.Key == ch.Key })
		if i < 0 || ch.Reset {
			out = append(out, config.Change{Key: ch.Key, Value: ch.Value, Unset: ch.Reset})
			continue
		}
		value, err := written(c, fields[i], ch.Value)
		if list, ok := errors.AsType[*setting.Error](err); ok {
			wrong = append(wrong, list.Problems...)
		} else if err != nil {
			return nil, err
		}
		out = append(out, config.Change{Key: ch.Key, Value: value})
	}
	if len(wrong) > 0 {
		return nil, &setting.Error{Problems: wrong}
	}
	return out, nil
}

// written is what a person typed, as `ralph config edit` takes it.
func written(c config.Config, f config.Field, typed string) (string, error) {
	switch kindOf(f) {
	case "list":
		items := []string{}
		for line := range strings.Lines(typed) {
			if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" {
				items = append(items, line)
			}
		}
		if err := c.Unmask(f.Key, items); err != nil {
			return "", err
		}
		return jsonText(items)
	case "table":
		items := map[string]string{}
		for line := range strings.Lines(typed) {
			line = strings.TrimRight(line, "\n")
			if strings.TrimSpace(line) == "" {
				continue
			}
			name, value, ok := strings.Cut(line, "=")
			name = strings.TrimSpace(name)
			what := "must be lines of NAME=value, and one has no `=`"
			if _, twice := items[name]; twice {
				ok, what = false, "has "+strconv.Quote(name)+" twice"
			}
			if !ok {
				return "", &setting.Error{Problems: []setting.Problem{{Source: setting.Source{Kind: setting.FromFlag}, Key: f.Key, What: what}}}
			}
			items[name] = value
		}
		if err := c.Unmask(f.Key, items); err != nil {
			return "", err
		}
		return jsonText(items)
	case "yaml":
		if strings.TrimSpace(typed) == "" {
			if strings.HasSuffix(f.Key, ".events") {
				return "[]", nil
			}
			return "{}", nil
		}
	}
	return typed, nil
}

// jsonText writes a list or a map on one line; YAML reads JSON.
func jsonText(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode a setting: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// settingModel is a field as the dashboard shows it.
func settingModel(c config.Config, f config.Field, detected string) web.Setting {
	s := web.Setting{
		Key: f.Key, Section: sectionOf(f.Key), Doc: f.Doc, Kind: kindOf(f), Secret: f.Secret,
		InFile: f.From.Kind == setting.FromFile, From: f.From.String(), Fixed: f.From.Kind == setting.FromEnv,
	}
	s.Value, s.Default = formText(s.Kind, f.Value), formText(s.Kind, f.Default)
	switch s.Kind {
	case "choice":
		s.Choices, _ = f.Schema["enum"].([]string)
		if f.Key == "agent.primary" {
			s.Choices = c.AgentNames()
		}
		if !slices.Contains(s.Choices, s.Value) {
			s.Choices = append(slices.Clone(s.Choices), s.Value)
		}
	case "whole", "number":
		s.Min, s.Max = bound(f.Schema["minimum"]), bound(f.Schema["maximum"])
	case "list":
		s.Example = "one a line"
	case "table":
		s.Example = "NAME=value, one a line"
	case "yaml":
		s.Example = "as in the file"
	}
	if pattern, ok := f.Schema["pattern"].(string); ok {
		s.Example = "a size such as 64KiB or 1MiB"
		if strings.Contains(pattern, "ms|s|m|h") {
			s.Example = "a duration such as 500ms, 90s, 30m or 2h"
		}
	}
	switch {
	case f.Key == "version": // how the file is written is no choice
		s.Fixed, s.InFile = true, false
	case s.Fixed:
		s.From = "set by the " + s.From + ": what the file says does not count while it is"
	case !f.From.Given():
		s.From = detected
	}
	return s
}

func bound(v any) string {
	if v == nil {
		return ""
	}
	return formText("", v)
}

// kindOf is the control that a setting gets from its schema.
func kindOf(f config.Field) string {
	if _, ok := f.Schema["enum"]; ok || f.Key == "agent.primary" {
		return "choice"
	}
	types, _ := f.Schema["type"].([]string)
	if one, ok := f.Schema["type"].(string); ok {
		types = []string{one}
	}
	holds := func(what string) bool { return slices.Contains(types, what) }
	plain := func(key string) bool { // what it holds are texts without ends of lines, which have a line each
		of, _ := f.Schema[key].(map[string]any)
		return of["type"] != "object" && !multiline(f.Value)
	}
	switch {
	case holds("boolean"):
		return "check"
	case holds("array") && plain("items"):
		return "list"
	case holds("object") && plain("additionalProperties"):
		return "table"
	case holds("array"), holds("object"):
		return "yaml"
	case holds("string") && multiline(f.Value):
		return "area"
	case holds("string"):
		return "text"
	case holds("integer"):
		return "whole"
	}
	return "number"
}

// multiline reports whether a value has texts of several lines.
func multiline(v any) bool {
	several := func(s string) bool { return strings.ContainsAny(s, "\n\r") }
	switch v := v.(type) {
	case string:
		return several(v)
	case []string:
		return slices.ContainsFunc(v, several)
	case map[string]string:
		for _, s := range v {
			if several(s) {
				return true
			}
		}
	}
	return false
}

// formText is a value as the form has it.
func formText(kind string, v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []string:
		if kind == "list" {
			return strings.Join(v, "\n")
		}
	case map[string]string:
		if kind == "table" {
			var lines []string
			for name, value := range v {
				lines = append(lines, name+"="+value)
			}
			slices.Sort(lines)
			return strings.Join(lines, "\n")
		}
	}
	if kind == "" || kind == "whole" {
		return fmt.Sprint(v)
	}
	return config.Setting{Value: v}.Text()
}

// autopilotSettings are what the settings page has below "Autopilot", in this order.
func autopilotSettings() []string {
	return []string{
		"agent.primary", "agent.fallback", "errors.strategy", "errors.max_retries", "errors.retry_base",
		"errors.max_rate_limit_retries", "task.delay", "agent.recover_primary", "task.auto_commit",
	}
}

// sectionOf is the heading that a setting stands under.
func sectionOf(key string) string {
	if slices.Contains(autopilotSettings(), key) {
		return "Autopilot"
	}
	first, rest, below := strings.Cut(key, ".")
	if first == "agents" {
		name, _, _ := strings.Cut(rest, ".")
		return "Agent " + name
	}
	titles := map[string]string{
		"agent": "Agents", "prices": "Prices", "quality": "Quality checks", "test": "Tests", "gate": "Gates", "limits": "Rate limits",
		"budget": "Budgets", "agent_mode": "Agent mode", "merge": "Merge queue", "sync": "Trackers", "breakers": "Circuit breakers",
		"notify": "Notifications", "web": "Dashboard", "worktree": "Worktrees", "ui": "Terminal screen", "task": "Tasks", "construct": "Specs",
	}
	switch title := titles[first]; {
	case title != "":
		return title
	case !below:
		return "General"
	}
	return strings.ToUpper(first[:1]) + first[1:]
}
