package config

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/config/setting"
)

// what goes back to its default leaves the file with its line, and nothing else does.
func TestUnset(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, file, key, want string }{
		{"a line", "mode: step\nparallel: 2\n# end\n", "parallel", "mode: step\n# end\n"},
		{"the last line", "mode: step\nparallel: 2", "parallel", "mode: step\n"},
		{"its comment stays", "task:\n  delay: 1s  # slow\n  timeout: 1h\n", "task.delay", "task:\n  # slow\n  timeout: 1h\n"},
		{"the only one of a section", "task:\n  delay: 1s\nmode: step\n", "task.delay", "task:\nmode: step\n"},
		{"quotes", "base_branch: 'a # b' # c\n", "base_branch", "# c\n"},
		{"a list in lines", "quality:\n  commands: # all\n    - a\n    - b\n  timeout: 1m\n", "quality.commands", "quality:\n  # all\n  timeout: 1m\n"},
		{"a list over lines in brackets", "quality:\n  commands: [a,\n    b]\n  timeout: 1m\n", "quality.commands", "quality:\n  timeout: 1m\n"},
		{"first in brackets", "budget: {tokens: 5, cost: 2} # $\n", "budget.tokens", "budget: {cost: 2} # $\n"},
		{"last in brackets", "budget: {tokens: 5, cost: 2} # $\n", "budget.cost", "budget: {tokens: 5} # $\n"},
		{"alone in brackets", "budget: {tokens: 5}\n", "budget.tokens", "budget: {}\n"},
		{"not there", "mode: step\n", "task.delay", "mode: step\n"},
		{"carriage returns", "mode: step\r\nparallel: 2\r\n", "parallel", "mode: step\r\n"},
		{"no value", "task:\n  delay: # ?\nmode: step\n", "task.delay", "task:\n  # ?\nmode: step\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := EditAll([]byte(tt.file), []Change{{Key: tt.key, Unset: true}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, tt := range []struct{ file, key, want string }{
		{"quality:\n  commands:\n    - a # why\n    - b\n", "quality.commands", "by hand"},
		{"base_branch: |\n  x\n", "base_branch", "by hand"},
		{"mode: step\n", "mod", "did you mean `mode`?"},
		{"agents:\n  mine:\n    driver: acp\n    command: [x]\n", "agents.mine.driver", "must be set"},
	} {
		if _, err := EditAll([]byte(tt.file), []Change{{Key: tt.key, Unset: true}}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s out of\n%s: %v", tt.key, tt.file, err)
		}
	}
}

// Values that are right only together may change together; nothing changes when one is wrong.
func TestEditAll(t *testing.T) {
	t.Parallel()
	file := "construct: {context_warn: 0.2, context_compact: 0.3} # low\n"
	got, err := EditAll([]byte(file), []Change{{Key: "construct.context_warn", Value: "0.8"}, {Key: "construct.context_compact", Value: "0.9"}})
	if want := "construct: {context_warn: 0.8, context_compact: 0.9} # low\n"; err != nil || string(got) != want {
		t.Errorf("%s%v", got, err)
	}
	got, err = EditAll(nil, []Change{{Key: "agent.primary", Value: "mine"}, {Key: "agents.mine.driver", Value: "exec"}, {Key: "agents.mine.command", Value: "x"}})
	if c, wrong := Read(got, nil); err != nil || wrong != nil || c.Agent.Primary != "mine" {
		t.Errorf("%s%v %v", got, err, wrong)
	}
	_, err = EditAll([]byte(file), []Change{{Key: "parallel", Value: "1001"}, {Key: "mode", Value: "fast"}, {Key: "task.delay", Value: "1s"}})
	list, ok := errors.AsType[*setting.Error](err)
	if !ok || len(list.Problems) != 2 || list.Problems[0].Key != "parallel" || list.Problems[1].Key != "mode" {
		t.Errorf("%v", err)
	}
}

// Every key of the schema is a field, with the words and the default of the schema.
func TestFields(t *testing.T) {
	t.Parallel()
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema any
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]any{}
	var walk func(path string, o map[string]any)
	walk = func(path string, o map[string]any) {
		if fields, ok := o["properties"].(map[string]any); ok && path != "agents" {
			for name, f := range fields {
				walk(setting.Join(path, name), f.(map[string]any))
			}
			return
		}
		if path == "agents" {
			for _, a := range o["patternProperties"].(map[string]any) {
				walk("agents.claude", a.(map[string]any))
			}
			return
		}
		want[path] = o
	}
	walk("", schema.(map[string]any))
	got := map[string]Field{}
	for _, f := range Defaults().Fields() {
		got[f.Key] = f
	}
	if len(want) < 100 {
		t.Fatalf("only %d keys in the schema", len(want))
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		f, ok := got[key]
		if !ok || f.Doc != want[key]["description"] {
			t.Errorf("%s: %v %q, want %q", key, ok, f.Doc, want[key]["description"])
		}
		if yamlText(f.Value) != yamlText(f.Default) {
			t.Errorf("%s: value %s, default %s", key, yamlText(f.Value), yamlText(f.Default))
		}
	}
	c := mustLoad(t, "agents: {mine: {driver: exec, model: x}}\nfleet: {task_queue: mine}\n", nil, nil)
	for _, f := range c.Fields() {
		switch f.Key {
		case "agents.mine.model":
			if f.Value != "x" || f.Default != "" || f.From.Line != 1 {
				t.Errorf("%+v", f)
			}
		case "fleet.task_queue":
			if f.Value != "mine" {
				t.Errorf("%+v", f)
			}
		}
	}
}

// Secrets are not shown, and come back where they were left alone (product.md 12).
func TestHide(t *testing.T) {
	t.Parallel()
	file := `# top
agents:
  mine: {driver: exec, command: [x], env: {API_KEY: s3cret, LANG: C}} # end
  other:
    driver: exec
    env:
      MY_TOKEN: "a # b" # why
notify:
  webhooks:
    - slack://tok-A@one
    - slack://tok-B@two # second
    - https://host/hook?key=9
`
	shown, err := Hide([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"s3cret", "a # b", "tok-A", "tok-B", "key=9"} {
		if strings.Contains(string(shown), s) {
			t.Errorf("%s is shown:\n%s", s, shown)
		}
	}
	for _, s := range []string{"LANG: C", "# why", "# second", "slack://***"} {
		if !strings.Contains(string(shown), s) {
			t.Errorf("%s is gone:\n%s", s, shown)
		}
	}
	back, err := Unhide(shown, []byte(file))
	if err != nil || string(back) != file {
		t.Errorf("%v\n%s", err, cmp.Diff(file, string(back)))
	}
	edited := strings.Replace(string(shown), "    - 'slack://***'\n", "    - slack://new@x\n    - 'slack://***'\n", 1)
	edited = strings.Replace(edited, "env: {API_KEY: '***', LANG: C}", "env: {API_KEY: other}", 1)
	back, err = Unhide([]byte(edited), []byte(file))
	want := strings.Replace(file, "    - slack://tok-A", "    - slack://new@x\n    - slack://tok-A", 1)
	want = strings.Replace(want, "env: {API_KEY: s3cret, LANG: C}", "env: {API_KEY: other}", 1)
	if err != nil || string(back) != want {
		t.Errorf("%v\n%s", err, cmp.Diff(want, string(back)))
	}
	_, err = Unhide([]byte("agents: {mine: {env: {NEW_KEY: '***'}}}\n"), []byte(file))
	if err == nil || !strings.Contains(err.Error(), "write it out") {
		t.Errorf("a secret from nowhere: %v", err)
	}
	for _, odd := range []string{"agents: {a: {env: {KEY: *x}}}", "agents:\n  a:\n    env:\n      KEY: |\n        s3cret\n", "a: [", "agents: {a: {env: {KEY: [s3cret]}}}"} {
		if out, err := Hide([]byte(odd)); err == nil {
			t.Errorf("%s is shown as %s", odd, out)
		}
	}
}

// What is left hidden in a form is what the file has.
func TestUnmask(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, "agents: {demo: {env: {A_KEY: one, B: two}}}\nnotify: {webhooks: ['slack://a@x', 'slack://b@x']}\n", nil, nil)
	env := map[string]string{"A_KEY": "***", "B": "three"}
	if err := c.Unmask("agents.demo.env", env); err != nil || env["A_KEY"] != "one" || env["B"] != "three" {
		t.Errorf("%v %v", env, err)
	}
	hooks := []string{"slack://***", "ntfy://t", "slack://***"}
	if err := c.Unmask("notify.webhooks", hooks); err != nil || hooks[0] != "slack://a@x" || hooks[2] != "slack://b@x" {
		t.Errorf("%v %v", hooks, err)
	}
	if err := c.Unmask("notify.webhooks", []string{"ntfy://***"}); err == nil {
		t.Error("a secret from nowhere")
	}
	if err := c.Unmask("agents.demo.env", map[string]string{"C_KEY": "***"}); err == nil {
		t.Error("a secret from nowhere")
	}
}
