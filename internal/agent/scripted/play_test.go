package scripted

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// play runs a scenario in this process.
func play(t *testing.T, dir, scenario, prompt string, env ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	code = Play(t.Context(), strings.NewReader(prompt), &stdout, &stderr, env, dir, scenario)
	return stdout.String(), stderr.String(), code
}

func scenarioFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestActions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := scenarioFile(t, `
about: every action that ends by itself
rules:
  - do:
    - write: {"a/x.sh": "#!/bin/sh\necho {{.Task}}\n", b.txt: "one\n", old/c: gone}
    - append: {b.txt: "two\n"}
    - delete: [old]
    - mkdir: d/e
    - run: cat b.txt >copy; echo hidden
    - show: a/x.sh
    - say: "{{.Stage}} {{.Spec}} {{.TaskName}} {{.Iteration}} {{.Phase}}"
    - signal: "BLOCKED: no {{.Task}}"
    - answer: {tasks: [{name: "for {{.Task}}"}], resolved: $issues, verdicts: $accept, no: [$reject too thin]}
    - cost: 0.02
    - usage: {input: 3, cost: 0.5}
    - think: 1ms
    - echo: true
    - stderr: oops
    - raw: "ff 0a"
    - flood: {bytes: 10, line: 5}
    - exit: 7
    - say: never
`)
	prompt := "- i-1a2b: x\n- t-3c4d and t-3c4d\n```\ni-code\n```\n    t-zzzz example\n~~~~\nt-aaaa\n~~~\nt-bbbb\n~~~~\nsemi-auto\n"
	out, errs, code := play(t, dir, file, prompt, "RALPH_STAGE=build", "RALPH_SPEC=x.md", "RALPH_TASK=t-1", "RALPH_TASK_NAME=Do it", "RALPH_ITERATION=2", "RALPH_PHASE=p")
	want := "t-1\nbuild x.md Do it 2 p\n<ralph>BLOCKED: no t-1</ralph>\n```json\n{\n" +
		`  "no": [
    [
      {
        "reason": "too thin",
        "task": "t-3c4d",
        "verdict": "reject"
      }
    ]
  ],
  "resolved": [
    "i-1a2b"
  ],
  "tasks": [
    {
      "name": "for t-1"
    }
  ],
  "verdicts": [
    {
      "task": "t-3c4d",
      "verdict": "accept"
    }
  ]
}` + "\n```\n<ralph-usage>{\"cost\":0.02}</ralph-usage>\n<ralph-usage>{\"cost\":0.5,\"input\":3}</ralph-usage>\n" + prompt + "\xff\nxxxx\nxxxx\n\n"
	if out != want || errs != "oops\n" || code != 7 {
		t.Errorf("code %d, stderr %q, stdout\n%s\nwant\n%s", code, errs, out, want)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "copy")); string(b) != "one\ntwo\n" {
		t.Errorf("copy %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); err == nil {
		t.Error("old is still there")
	}
	if info, err := os.Stat(filepath.Join(dir, "d", "e")); err != nil || !info.IsDir() {
		t.Error("no folder d/e")
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	calls := filepath.Join(t.TempDir(), "calls")
	file := scenarioFile(t, `
counter: `+calls+`
rules:
  - {when: {prompt: magic words}, do: [say: prompt]}
  - {when: {exists: there}, do: [say: exists]}
  - {when: {stage: verify, call: 2+}, do: [say: verified again]}
  - {when: {stage: build, task: "Say *", spec: "g*.md", iteration: 2-3}, do: [say: mid]}
  - {when: {task: t-7}, do: [say: by id]}
  - {when: {stage: build}, do: [say: build]}
  - {when: {stage: verify}, do: [say: "verified {{.Call}}"]}
`)
	dir := t.TempDir()
	build := func(iteration string, more ...string) []string {
		return append(more, "RALPH_STAGE=build", "RALPH_SPEC=g.md", "RALPH_ITERATION="+iteration)
	}
	for i, c := range []struct {
		env          []string
		prompt, want string
	}{
		{build("1", "RALPH_TASK_NAME=Say hi"), "", "build\n"},
		{build("3", "RALPH_TASK_NAME=Say hi"), "", "mid\n"},
		{build("4", "RALPH_TASK_NAME=Say hi"), "", "build\n"},
		{build("3", "RALPH_TASK_NAME=Do not Say hi"), "", "build\n"},
		{build("3", "RALPH_TASK_NAME=Say hi"), "the magic words", "prompt\n"},
		{build("3", "RALPH_TASK=t-7"), "", "by id\n"},
		{[]string{"RALPH_STAGE=verify", "RALPH_SPEC=g.md"}, "", "verified 1\n"},
		{[]string{"RALPH_STAGE=verify", "RALPH_SPEC=h.md"}, "", "verified 1\n"},
		{[]string{"RALPH_STAGE=verify", "RALPH_SPEC=g.md"}, "", "verified again\n"},
	} {
		if out, errs, code := play(t, dir, file, c.prompt, c.env...); out != c.want || code != 0 {
			t.Errorf("%d: %q %q %d, want %q", i, out, errs, code, c.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, _ := play(t, dir, file, "", build("3")...); out != "exists\n" {
		t.Errorf("exists: %q", out)
	}
	if err := os.Remove(filepath.Join(dir, "there")); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := play(t, dir, file, "", "RALPH_STAGE=plan"); code != 2 || !strings.Contains(errs, `no rule for stage "plan"`) {
		t.Errorf("no rule: %d %q", code, errs)
	}
}

func TestScenarioErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "is empty"},
		"not yaml":        {"rules: [", "yaml"},
		"no rules":        {"about: x\n", "no rules"},
		"top key":         {"rule: []\n", `line 1: unknown key "rule"; known are about, counter, rules`},
		"rule key":        {"rules:\n  - dos: []\n", `line 2: unknown key "dos"`},
		"when key":        {"rules:\n  - when:\n      stages: x\n", `line 3: unknown key "stages"`},
		"action":          {"rules:\n  - do:\n    - sya: x\n", `line 3: sya: unknown action "sya"`},
		"template":        {"rules:\n  - do:\n    - say: \"{{.Nothing}}\"\n", "line 3: say"},
		"duration":        {"rules:\n  - do:\n    - think: soon\n", "line 3: think"},
		"span":            {"rules:\n  - when: {iteration: 0}\n", `line 2: iteration: "0" is none of N, N-M, N+`},
		"call alone":      {"rules:\n  - when: {call: 1}\n", "needs a counter"},
		"usage member":    {"rules:\n  - do:\n    - usage: {inputs: 3}\n", `line 3: unknown key "inputs"`},
		"twice":           {"rules:\n  - do: []\n    do: []\n", "twice"},
		"background":      {"rules:\n  - do:\n    - background: {runs: x}\n", `unknown key "runs"`},
		"flood":           {"rules:\n  - do:\n    - flood: {bytes: -1}\n", "line 3: flood: want bytes"},
		"context":         {"rules:\n  - do:\n    - context: much\n", `line 3: context: "much" is no percentage, such as 86%`},
		"context member":  {"rules:\n  - do:\n    - context: {use: 3}\n", `line 3: unknown key "use"`},
		"context figures": {"rules:\n  - do:\n    - context: {used: -3}\n", "line 3: context: want used >= 0"},
		"class":           {"rules:\n  - do:\n    - error: spawn\n", `line 3: error: "spawn" is no class of errors; there are [rate_limit`},
		"error member":    {"rules:\n  - do:\n    - error: {kind: server}\n", `line 3: unknown key "kind"`},
		"reset":           {"rules:\n  - do:\n    - error: {class: server, reset: soon}\n", "line 3: error: "},
		"compact":         {"rules:\n  - when: {compact: yes}\n", `line 2: compact is true or false, not "yes"`},
		"list for a text": {"rules:\n  - do:\n    - say: [a]\n", "line 3: want a text"},
	} {
		_, err := parseScenario("s.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	dir := t.TempDir()
	if _, errs, code := play(t, dir, "nosuch", ""); code != 2 || !strings.Contains(errs, "complete, demo") {
		t.Errorf("unknown name: %d %q", code, errs)
	}
	if _, errs, code := play(t, dir, "nosuch.yaml", ""); code != 2 || !strings.Contains(errs, "read scenario") {
		t.Errorf("missing file: %d %q", code, errs)
	}
	for action, want := range map[string]string{"write: {../x: y}": "not within", "run: exit 3": "exit 3", "delete: /etc": "not within"} {
		if _, errs, code := play(t, dir, scenarioFile(t, "rules:\n  - do:\n    - "+action+"\n"), ""); code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %q", action, code, errs)
		}
	}
	var out bytes.Buffer
	if code := Play(t.Context(), iotest.ErrReader(os.ErrClosed), &out, &out, nil, dir, "complete"); code != 1 {
		t.Errorf("unreadable prompt: %d", code)
	}
}

func TestScenarioFromTheMainCheckout(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "s.yaml"), []byte("rules: [{do: [say: found]}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, _ := play(t, t.TempDir(), "s.yaml", "", "RALPH_ROOT="+root); out != "found\n" {
		t.Errorf("%q %q", out, errs)
	}
}

// The whole demo, with the order that ralph runs it in: red, mended, reviewed,
// an issue, a task from it, reviewed again.
func TestDemo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, demo) // it pauses as an agent would
}

func demo(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "test.sh"), []byte(`test "$(sh greet.sh World)" = "Hello, World!" || exit 1
test ! -f farewell.sh || test "$(sh farewell.sh World)" = "Goodbye, World!" || exit 1
test ! -f tests/usage || { sh farewell.sh 2>/dev/null; test $? -eq 2; }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	complete := `(?m)^<ralph>COMPLETE</ralph>$`
	for i, c := range []struct {
		stage, spec, task, iteration, prompt, want string
		red                                        bool
	}{
		{stage: "plan", spec: "greeting.md", want: `"Say hello by name"(.|\n)*"Document greet.sh in the README"`, red: true},
		{stage: "investigate", spec: "greeting.md", want: `"tasks": \[\]`, red: true},
		{stage: "build", spec: "greeting.md", task: "Say hello by name", iteration: "1", want: complete, red: true},
		{stage: "build", spec: "greeting.md", task: "Say hello by name", iteration: "2", want: complete},
		{stage: "build", spec: "greeting.md", task: "Document greet.sh in the README", iteration: "1", want: complete},
		{stage: "verify", spec: "greeting.md", prompt: "### t-1a2b\n### t-2b3c\n", want: `"t-1a2b"(.|\n)*"t-2b3c"`},
		{stage: "plan", spec: "farewell.md", want: "Say goodbye by name"},
		{stage: "investigate", spec: "farewell.md", want: `"resolved": \[\]`},
		{stage: "build", spec: "farewell.md", task: "Say goodbye by name", iteration: "1", want: complete},
		{stage: "verify", spec: "farewell.md", prompt: "### t-1a2b\n", want: "prints an odd greeting instead of help"},
		{stage: "investigate", spec: "farewell.md", prompt: "- i-9z8y: farewell.sh without a name prints an odd greeting instead of help\n", want: `"i-9z8y"(.|\n)*Explain the usage when no name is given`},
		{stage: "build", spec: "farewell.md", task: "Explain the usage when no name is given", iteration: "1", want: complete},
		{stage: "verify", spec: "farewell.md", prompt: "### t-1a2b\n### t-5e6f Explain the usage when no name is given\n", want: `"issues": \[\](.|\n)*"t-5e6f"`},
	} {
		out, errs, code := play(t, dir, "demo", c.prompt, "RALPH_STAGE="+c.stage, "RALPH_SPEC="+c.spec, "RALPH_TASK_NAME="+c.task, "RALPH_ITERATION="+c.iteration)
		if code != 0 || !regexp.MustCompile(c.want).MatchString(out) || !strings.Contains(out, `"cost":0.0`) {
			t.Errorf("turn %d (%s): code %d, %s%s", i, c.stage, code, out, errs)
		}
		if _, _, code := play(t, dir, scenarioFile(t, "rules: [{do: [run: sh test.sh]}]"), ""); (code != 0) != c.red {
			t.Errorf("turn %d (%s %s): the check's code is %d", i, c.stage, c.task, code)
		}
	}
}
