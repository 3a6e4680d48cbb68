package prompt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func wantMismatch(t *testing.T, err error, want string) {
	t.Helper()
	var m *Mismatch
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected: %v", err)
	case want != "" && !errors.As(err, &m):
		t.Errorf("got %v, want the mismatch %q", err, want)
	case want != "" && m.Why != want:
		t.Errorf("got  %s\nwant %s", m.Why, want)
	}
}

// product.md 4b: what does not fit is refused with its path.
func TestReadPlanMismatch(t *testing.T) {
	t.Parallel()
	names := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"name":"n%d"}`, i)
		}
		return `{"tasks":[` + strings.Join(list, ",") + `]}`
	}
	tests := []struct{ name, answer, want string }{
		{"fits", `{"tasks":[{"name":"a"},{"name":"b","deps":["a","t-0001"],"priority":"low"}],"more":1}`, ""},
		{"null is absent", `{"tasks":[{"name":"a","notes":null,"deps":null,"priority":null}]}`, ""},
		{"most tasks", names(maxTasks), ""},
		{"too many tasks", names(maxTasks + 1), `tasks: has 501 tasks, at most 500 are allowed`},
		{"longest name", `{"tasks":[{"name":"` + strings.Repeat("ä", maxName) + `"}]}`, ""},
		{"name too long", `{"tasks":[{"name":"` + strings.Repeat("ä", maxName+1) + `"}]}`, `tasks[0].name: has 201 characters, at most 200 are allowed: put the rest into notes`},
		{"no task", `{"tasks":[]}`, `tasks: a plan needs at least one task`},
		{"no list", `{}`, `tasks: is missing`},
		{"list of a wrong type", `{"tasks":"a"}`, `tasks: must be an array, not a string`},
		{"array", `[{"name":"a"}]`, `the structured answer must be one JSON object, not an array`},
		{"task of a wrong type", `{"tasks":[{"name":"a"},"b"]}`, `tasks[1]: must be an object, not a string`},
		{"only task of a wrong type", `{"tasks":[1]}`, `tasks[0]: must be an object, not a number`},
		{"no name", `{"tasks":[{"notes":"x"}]}`, `tasks[0].name: is missing`},
		{"blank name", `{"tasks":[{"name":"  "}]}`, `tasks[0].name: is empty`},
		{"name of two lines", `{"tasks":[{"name":"a\nb"}]}`, `tasks[0].name: must be one line`},
		{"name of a wrong type", `{"tasks":[{"name":5}]}`, `tasks[0].name: must be a string, not a number`},
		{"accept of a wrong type", `{"tasks":[{"name":"a","accept":["x"]}]}`, `tasks[0].accept: must be a string, not an array`},
		{"tag of a wrong type", `{"tasks":[{"name":"a","tags":["x",true]}]}`, `tasks[0].tags[1]: must be a string, not a boolean`},
		{"priority", `{"tasks":[{"name":"a","priority":"urgent"}]}`, `tasks[0].priority: must be high, medium or low, not "urgent"`},
		{"same name twice", `{"tasks":[{"name":"a"},{"name":"b"},{"name":" a"}]}`, `tasks[2].name: "a" is the name of tasks[0] too, names must differ`},
		{"unknown dep", `{"tasks":[{"name":"a"},{"name":"b","deps":["t-zzzz"]}]}`, `tasks[1].deps: "t-zzzz" is neither a task of this answer nor of the plan`},
		{"two unknown deps", `{"tasks":[{"name":"a","deps":["x","y"]}]}`, `tasks[0].deps: "x" is neither a task of this answer nor of the plan; tasks[0].deps: "y" is neither a task of this answer nor of the plan`},
		{"one fault per place", `{"tasks":[{"name":5,"notes":6}]}`, `tasks[0].name: must be a string, not a number; tasks[0].notes: must be a string, not a number`},
		{"cycle", `{"tasks":[{"name":"x"},{"name":"a","deps":["x","b"]},{"name":"b","deps":["a"]}]}`, `tasks form a cycle: a -> b -> a`},
		{"cycle of one", `{"tasks":[{"name":"a","deps":["a"]}]}`, `tasks form a cycle: a -> a`},
		{"cycle behind a tail", `{"tasks":[{"name":"a","deps":["b"]},{"name":"b","deps":["c"]},{"name":"c","deps":["b"]}]}`, `tasks form a cycle: b -> c -> b`},
		{"diamond is no cycle", `{"tasks":[{"name":"a"},{"name":"b","deps":["a"]},{"name":"c","deps":["a"]},{"name":"d","deps":["b","c"]}]}`, ""},
		{"several faults", `{"tasks":[{"name":""},{"name":"b","priority":"x"}]}`, `tasks[0].name: is empty; tasks[1].priority: must be high, medium or low, not "x"`},
		{"not JSON", "{\"tasks\":\n[}", `the structured answer is not valid JSON: line 2: invalid character '}' looking for beginning of value`},
		{"cut off", `{"tasks":[`, `the structured answer is not valid JSON: it ends too early`},
		{"something behind", `{"tasks":[{"name":"a"}]} x`, `the structured answer is not valid JSON: something follows the object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadPlan("", json.RawMessage(tt.answer), []ralph.TaskID{"t-0001"})
			wantMismatch(t, err, tt.want)
		})
	}
}

// A plan in which each task waits on two others has more paths than can be walked.
func TestFindCycleIsQuick(t *testing.T) {
	t.Parallel()
	plan := []PlannedTask{{Name: "0"}, {Name: "1"}}
	for i := 2; i < maxTasks; i++ {
		plan = append(plan, PlannedTask{Name: fmt.Sprint(i), Deps: []string{fmt.Sprint(i - 1), fmt.Sprint(i - 2)}})
	}
	slices.Reverse(plan)
	if cycle := findCycle(plan); cycle != nil {
		t.Errorf("got %v", cycle)
	}
	plan[maxTasks-1].Deps = []string{"499"}
	if cycle := findCycle(plan); len(cycle) < 3 || cycle[0] != cycle[len(cycle)-1] {
		t.Errorf("got %v", cycle)
	}
}

// product.md 4b: where the answer is looked for.
func TestReadPlanFindsTheAnswer(t *testing.T) {
	t.Parallel()
	const a, b = `{"tasks":[{"name":"a"}]}`, `{"tasks":[{"name":"b"}]}`
	const nothing = "there is no answer: end the reply with one fenced code block marked json that holds the object"
	tests := []struct{ name, text, answer, want, why string }{
		{"structured wins", "```json\n" + a + "\n```", b, "b", ""},
		{"structured null is none", "```json\n" + a + "\n```", "null", "a", ""},
		{"block", "Here:\n```json\n" + a + "\n```\nDone.", "", "a", ""},
		{"last block", "```json\n" + a + "\n```\n```json\n" + b + "\n```\n```go\nx\n```", "", "b", ""},
		{"tilde block, word after", "~~~JSON answer\r\n" + a + "\r\n~~~\r\n", "", "a", ""},
		{"unclosed block", "```json\n" + a, "", "a", ""},
		{"bare object", "\n " + a + "\n", "", "a", ""},
		{"block inside a longer fence is a quote", "````markdown\n```json\n" + b + "\n```\n````\n```json\n" + a + "\n```", "", "a", ""},
		{"only inside a longer fence", "````markdown\n```json\n" + b + "\n```\n````", "", "", nothing},
		{"no block", "I made a plan.", "", "", nothing},
		{"other language", "```go\n" + a + "\n```", "", "", nothing},
		{"bare array", "[" + a + "]", "", "", nothing},
		{"empty block", "```json\n```", "", "", "tasks: is missing"},
		{"bad last block", "```json\n" + a + "\n```\n```json\nnot\n```", "", "", "the last json block is not valid JSON: line 1: invalid character 'o' in literal null (expecting 'u')"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			plan, err := ReadPlan(tt.text, json.RawMessage(tt.answer), nil)
			wantMismatch(t, err, tt.why)
			if tt.why == "" && (len(plan.Tasks) != 1 || plan.Tasks[0].Name != tt.want) {
				t.Errorf("got %+v, want %q", plan, tt.want)
			}
		})
	}
}

func TestReadInvestigation(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, answer, why string }{
		{"nothing to do", `{"tasks":[]}`, ""},
		{"resolved", `{"tasks":[],"resolved":["i-0001","i-0001"]}`, ""},
		{"unknown issue", `{"tasks":[],"resolved":["i-9999"]}`, `resolved[0]: "i-9999" is not an open issue`},
		{"any object is no answer", `{"id":1}`, `tasks: is missing`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in, err := ReadInvestigation("", json.RawMessage(tt.answer), nil, []ralph.IssueID{"i-0001"})
			wantMismatch(t, err, tt.why)
			if len(in.Resolved) > 1 {
				t.Errorf("resolved twice: %v", in.Resolved)
			}
		})
	}
}

func TestReadVerification(t *testing.T) {
	t.Parallel()
	full := `{"verdicts":[{"task":"t-1","verdict":"accept"},{"task":"t-2","verdict":"reject","reason":"no test"}],
		"tasks":[{"name":"n","deps":["t-1"]}],"issues":[{"desc":" slow "}]}`
	got, err := ReadVerification("", json.RawMessage(full), []ralph.TaskID{"t-1", "t-2"})
	if err != nil {
		t.Fatal(err)
	}
	want := Verification{
		Verdicts: []Verdict{{"t-1", "accept", ""}, {"t-2", "reject", "no test"}},
		Tasks:    []PlannedTask{{Name: "n", Deps: []string{"t-1"}}},
		Issues:   []string{"slow"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !got.Verdicts[0].Accepted() || got.Verdicts[1].Accepted() {
		t.Error("Accepted is wrong")
	}
	tests := []struct{ name, answer, why string }{
		{"verdicts only", `{"verdicts":[],"tasks":null}`, ""},
		{"no verdicts", `{"tasks":[]}`, `verdicts: is missing`},
		{"unknown task", `{"verdicts":[{"task":"t-9","verdict":"accept"}]}`, `verdicts[0].task: "t-9" is not a task of the plan`},
		{"two verdicts", `{"verdicts":[{"task":"t-1","verdict":"accept"},{"task":"t-1","verdict":"accept"}]}`, `verdicts[1].task: "t-1" has a verdict already`},
		{"unknown verdict", `{"verdicts":[{"task":"t-1","verdict":"ok"}]}`, `verdicts[0].verdict: must be accept or reject, not "ok"`},
		{"reject without a reason", `{"verdicts":[{"task":"t-1","verdict":"reject","reason":" "}]}`, `verdicts[0].reason: a rejected task needs a reason`},
		{"empty issue", `{"verdicts":[],"issues":[{"desc":""}]}`, `issues[0].desc: an issue needs a description`},
		{"issue of a wrong type", `{"verdicts":[],"issues":["x"]}`, `issues[0]: must be an object, not a string`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadVerification("", json.RawMessage(tt.answer), []ralph.TaskID{"t-1"})
			wantMismatch(t, err, tt.why)
		})
	}
}

// Many faults must not make a prompt of their own.
func TestMismatchIsBounded(t *testing.T) {
	t.Parallel()
	answer := `{"tasks":[` + strings.TrimSuffix(strings.Repeat(`{},`, 400), ",") + `]}`
	_, err := ReadPlan("", json.RawMessage(answer), nil)
	if err == nil || len(err.Error()) > 1000 || !strings.HasSuffix(err.Error(), "; and 390 more") {
		t.Errorf("got %v", err)
	}
}

// Strict endpoints take a schema only when each object requires each of its
// members and allows no others; and what fits the schema must be readable.
func TestSchema(t *testing.T) {
	t.Parallel()
	task := `{"name":"a","notes":null,"accept":"x","deps":[],"tags":null,"priority":null,"phase":null}`
	tests := []struct {
		stage  ralph.TaskKind
		answer string
		read   func(json.RawMessage) error
	}{
		{ralph.KindPlan, `{"tasks":[` + task + `]}`, func(b json.RawMessage) error { _, err := ReadPlan("", b, nil); return err }},
		{ralph.KindDecompose, `{"tasks":[` + task + `]}`, func(b json.RawMessage) error { _, err := ReadPlan("", b, nil); return err }},
		{ralph.KindInvestigate, `{"tasks":[` + task + `],"resolved":[]}`, func(b json.RawMessage) error { _, err := ReadInvestigation("", b, nil, nil); return err }},
		{ralph.KindVerify, `{"verdicts":[{"task":"t","verdict":"accept","reason":null}],"tasks":[],"issues":[{"desc":"d"}]}`, func(b json.RawMessage) error {
			_, err := ReadVerification("", b, []ralph.TaskID{"t"})
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(string(tt.stage), func(t *testing.T) {
			t.Parallel()
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(tt.stage)))
			if err != nil {
				t.Fatal(err)
			}
			checkStrict(t, "", doc)
			c := jsonschema.NewCompiler()
			if err := c.AddResource("schema.json", doc); err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.answer))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.MustCompile("schema.json").Validate(value); err != nil {
				t.Error(err)
			}
			if err := tt.read(json.RawMessage(tt.answer)); err != nil {
				t.Error(err)
			}
		})
	}
	if Schema(ralph.KindBuild) != nil {
		t.Error("build answers with a signal")
	}
}

func checkStrict(t *testing.T, path string, node any) {
	t.Helper()
	switch n := node.(type) {
	case []any:
		for _, x := range n {
			checkStrict(t, path, x)
		}
	case map[string]any:
		props, _ := n["properties"].(map[string]any)
		required, _ := n["required"].([]any)
		if n["type"] == "object" && (n["additionalProperties"] != false || len(required) != len(props)) {
			t.Errorf("%s: not strict", path)
		}
		for _, r := range required {
			if props[r.(string)] == nil {
				t.Errorf("%s: required %v is no property", path, r)
			}
		}
		for k, x := range n {
			checkStrict(t, path+"/"+k, x)
		}
	}
}

func FuzzReadAnswers(f *testing.F) {
	f.Add("```json\n{\"tasks\":[{\"name\":\"a\",\"deps\":[\"a\"]}]}\n```")
	f.Add(`{"verdicts":[{"task":"t","verdict":"accept"}],"issues":[{"desc":"x"}],"tasks":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		plan, err := ReadPlan(text, nil, nil)
		if m := (*Mismatch)(nil); err != nil && !errors.As(err, &m) {
			t.Errorf("not a mismatch: %v", err)
		}
		if err == nil && (len(plan.Tasks) == 0 || findCycle(plan.Tasks) != nil) {
			t.Errorf("accepted %+v", plan)
		}
		_, _ = ReadInvestigation(text, nil, nil, nil)
		_, _ = ReadVerification(text, json.RawMessage(text), nil)
	})
}
