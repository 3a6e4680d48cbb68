package config

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// an edit keeps comments, order and everything else.
func TestEdit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, key, value, want string
	}{
		{"a value", "# top\nparallel: 2   # slots\n\nmode: step\n", "parallel", "3", "# top\nparallel: 3   # slots\n\nmode: step\n"},
		{"a quoted value", "base_branch: 'it''s' # x\n", "base_branch", "main", "base_branch: main # x\n"},
		{"a value in double quotes", `base_branch: "a\"b"` + "\n", "base_branch", "main", "base_branch: main\n"},
		{"a value that needs quotes", "test:\n  command: make\n", "test.command", "sh -c 'a: #b'", "test:\n  command: 'sh -c ''a: #b'''\n"},
		{"a value that looks like a number", "base_branch: x\n", "base_branch", "1.10", "base_branch: \"1.10\"\n"},
		{"several lines in one", "test:\n  command: make\n", "test.command", "a\nb", "test:\n  command: \"a\\nb\"\n"},
		{"in brackets", "budget: {tokens: 5, cost: 1.5} # $\n", "budget.cost", "2", "budget: {tokens: 5, cost: 2} # $\n"},
		{"new in brackets", "budget: {tokens: 5}\n", "budget.cost", "2", "budget: {cost: 2, tokens: 5}\n"},
		{"new in empty brackets", "budget: {}\n", "budget.cost", "2", "budget: {cost: 2}\n"},
		{"new deep in brackets", "sync: {every_tasks: 2}\n", "sync.github.enabled", "true", "sync: {github: {enabled: true}, every_tasks: 2}\n"},
		{"a list in brackets", "quality:\n  commands: ['a]', b, \"c]\"] # all\n", "quality.commands", "[x, 'y, z']", "quality:\n  commands: [x, 'y, z'] # all\n"},
		{"a list over lines in brackets", "quality:\n  commands: [a,\n    b]\n  timeout: 1m\n", "quality.commands", "c", "quality:\n  commands: [c]\n  timeout: 1m\n"},
		{"a list in lines", "quality:\n  commands: # in order\n    - a\n    - b\n\n  timeout: 1m\n", "quality.commands", "c,d", "quality:\n  commands: [c, d] # in order\n\n  timeout: 1m\n"},
		{"a list in lines not indented", "agent:\n  fallback:\n  - codex\n  - aider\nmode: step\n", "agent.fallback", "aider", "agent:\n  fallback: [aider]\nmode: step\n"},
		{"a list in the last lines", "agent:\n  fallback:\n  - codex\n  - aider", "agent.fallback", "aider", "agent:\n  fallback: [aider]\n"},
		{"new in a section", "task:\n  # long\n  timeout: 1h\nmode: step\n", "task.delay", "0", "task:\n  delay: 0s\n  # long\n  timeout: 1h\nmode: step\n"},
		{"new in a section of wide indent", "task:\n     timeout: 1h\n", "task.delay", "1s", "task:\n     delay: 1s\n     timeout: 1h\n"},
		{"new below its comment", "task:\n  timeout: 1h\n  # delay: 500ms\n  progress: commit\n", "task.delay", "1s", "task:\n  timeout: 1h\n  # delay: 500ms\n  delay: 1s\n  progress: commit\n"},
		{"new in an empty section", "task:   # limits\n  # timeout: 30m\n", "task.timeout", "1h", "task:   # limits\n  # timeout: 30m\n  timeout: 1h\n"},
		{"new in an empty last section", "task:", "task.timeout", "1h", "task:\n  timeout: 1h\n"},
		{"new section", "mode: step", "task.timeout", "1h", "mode: step\ntask:\n  timeout: 1h\n"},
		{"new top key below its comment", "# parallel: 1\nmode: step\n", "parallel", "2", "# parallel: 1\nparallel: 2\nmode: step\n"},
		{"empty file", "", "parallel", "2", "parallel: 2\n"},
		{"only comments", "# hello\n", "parallel", "2", "# hello\nparallel: 2\n"},
		{"carriage returns", "mode: step\r\n", "parallel", "2", "mode: step\r\nparallel: 2\r\n"},
		{"wide characters before it", "budget: {cost: 1, tokens: 2}\ndecision: {model: 'openai:ü', history: 3}\n", "decision.history", "4", "budget: {cost: 1, tokens: 2}\ndecision: {model: 'openai:ü', history: 4}\n"},
		{"no value", "# x\ntask:\n  timeout:   # ?\n", "task.timeout", "1h", "# x\ntask:\n  timeout: 1h   # ?\n"},
		{"a wrong value", "parallel: two # oops\n", "parallel", "2", "parallel: 2 # oops\n"},
		{"a new agent", "agents:\n  claude: {model: x}\n", "agents.mine.driver", "exec", "agents:\n  mine:\n    driver: exec\n  claude: {model: x}\n"},
		{"another name of an agent (X-85)", "", "agents.gpt.model", "o", "agents:\n  codex:\n    model: o\n"},
		{"another name of the first agent (F-30, A-124)", string(Template()), "agent.primary", "gpt", strings.Replace(string(Template()), "  # primary: claude\n", "  # primary: claude\n  primary: codex\n", 1)},
		{"another name of the first agent, over one", "agent: {primary: aider}\n", "agent.primary", "gpt", "agent: {primary: codex}\n"},
		{"another name among the others (F-30, A-124)", "agent:\n  primary: claude\n", "agent.fallback", "[gpt, aider]", "agent:\n  fallback: [codex, aider]\n  primary: claude\n"},
		{"a name that a person wrote stays", "agent: {primary: gpt}\n", "parallel", "2", "agent: {primary: gpt}\nparallel: 2\n"},
		{"JSON", `{"parallel": 2}`, "parallel", "3", `{"parallel": 3}`},
		{"the same value again", "parallel: 2\n", "parallel", "2", "parallel: 2\n"},
		{"a map", "prices: {a: {input: 1}} # $\n", "prices", "{b: {output: 2}}", "prices: {b: {cached: 0, input: 0, output: 2}} # $\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := Edit([]byte(tt.file), tt.key, tt.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, file, key, value, want string }{
		{"unknown key", "", "paralel", "2", "unknown key `paralel` on the command line; did you mean `parallel`?"},
		{"unknown key, nothing near (message 16)", "", "colour", "red", "unknown key `colour` on the command line; `ralph config show` lists the keys"},
		{"one of a mapping (message 16)", "", "agents.claude.env.VAR", "1", "unknown key `agents.claude.env.VAR` on the command line; `agents.claude.env` is one value, set as a whole: `agents.claude.env={VAR: 1}`"},
		{"one of a mapping of a new agent", "", "agents.x.env.VAR", "1", "unknown key `agents.x.env.VAR` on the command line; `agents.x.env` is one value, set as a whole: `agents.x.env={VAR: 1}`"},
		{"what may be a secret is not said again", "", "agents.x.env.TOKEN", "ghp_0123456789abcdef", "unknown key `agents.x.env.TOKEN` on the command line; `agents.x.env` is one value, set as a whole: `agents.x.env={TOKEN: ...}`"},
		{"a section", "", "agents.codex", "{command: [codex]}", "`agents.codex` on the command line is a section, not a value: set its keys one by one; `ralph config show` lists them"},
		{"one price", "", "prices.m", "2", "unknown key `prices.m` on the command line; `prices` is one value, set as a whole: `prices={m: 2}`"},
		{"bad value", "", "parallel", "two", "command line: `parallel` must be a whole number from 1 to 1000, not `two`"},
		{"broken file", "a: [", "parallel", "2", "ralph/config.yaml:1: is no valid YAML: did not find expected node content"},
		{"other problems of the file", "mode: x\n", "parallel", "2", "ralph/config.yaml:1: `mode` must be one of manual, step, semi, autopilot, not `x`"},
		{"a value that breaks a rule", "", "task.stuck_threshold", "20", "ralph/config.yaml:2: `task.no_progress_turns` must not be below `task.stuck_threshold` (20), or 0 for never, not 5: the warning comes before the stop"},
		{"comments in a list", "quality:\n  commands:\n  - a # first\n  - b\n", "quality.commands", "c", "set `quality.commands` in ralph/config.yaml: line 3: the lines of this value hold comments or more than it; change them by hand"},
		{"comments in brackets", "quality:\n  commands: [a, # first\n    b]\n", "quality.commands", "c", "set `quality.commands` in ralph/config.yaml: line 2: this way to write a value cannot be edited; change it by hand"},
		{"text over lines", "test:\n  command: |\n    make\n", "test.command", "c", "set `test.command` in ralph/config.yaml: line 2: this way to write a value cannot be edited; change it by hand"},
		{"section that is none", "task: 5\n", "task.delay", "1s", "set `task.delay` in ralph/config.yaml: line 1: `task` must be a section"},
		{"list", "- a\n", "task.delay", "1s", "set `task.delay` in ralph/config.yaml: line 1: the file must hold keys with values"},
		{"version", "", "version", "1", "command line: `version` is a matter of the file alone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Edit([]byte(tt.file), tt.key, tt.value); errText(err) != tt.want {
				t.Errorf("error\n%q, want\n%q", errText(err), tt.want)
			}
		})
	}
}

// Any key of any of our files can be edited; the result has the value, says
// otherwise the same, and every line with a comment is still there.
func TestEditAnyKey(t *testing.T) {
	t.Parallel()
	design, err := os.ReadFile("testdata/design.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d := Defaults()
	values := map[string][]string{
		"integer": {"1", "30", "7"}, "number": {"0.9", "1"}, "boolean": {"true", "false"},
		"array": {"[a, 'b #c']", "[]", "[codex]"}, "string": {"a", "codex", "ollama:x", "http://h/x", "127.0.0.1:80"},
	}
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SampledFrom([][]byte{design, template, nil}).Draw(t, "file")
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			k := rapid.SampledFrom(d.keys()).Draw(t, "key")
			s := k.v.Schema()
			kind, _ := s["type"].(string)
			choices := values[kind]
			if words, ok := s["enum"].([]string); ok {
				choices = words
			}
			if choices == nil {
				choices = []string{"3s", "64KiB", "{}", "{a: b}"}
			}
			v := rapid.SampledFrom(choices).Draw(t, "value")
			out, err := Edit(file, k.path, v)
			if err != nil {
				if strings.Contains(err.Error(), "by hand") {
					t.Fatalf("%s=%s: %v\n%s", k.path, v, err, file)
				}
				continue // the value is not right for the key
			}
			for line := range bytes.Lines(file) {
				if i := bytes.Index(line, []byte("# ")); i >= 0 && !bytes.Contains(out, bytes.TrimSpace(line[i:])) {
					t.Fatalf("%s=%s lost %q", k.path, v, line[i:])
				}
			}
			if !onlyChanged(file, out, []Change{{Key: k.path}}) {
				t.Fatalf("%s=%s changed more:\n%s", k.path, v, out)
			}
			file = out
		}
	})
}
