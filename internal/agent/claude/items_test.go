package claude

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
)

// streamed is the normalised stream of some lines of claude's.
func streamed(t *testing.T, lines ...string) []ralph.StreamEvent {
	t.Helper()
	var out []ralph.StreamEvent
	c := newReader(wire.NewTurn(ralph.TurnInput{}, ralph.TurnHooks{Event: func(e ralph.StreamEvent) { out = append(out, e) }}))
	e := &wire.Events{Line: c.line}
	e.Write([]byte(strings.Join(lines, "\n")))
	e.Close()
	return out
}

func recordedLines(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "claude", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func only(events []ralph.StreamEvent, kind ralph.StreamKind) []ralph.StreamEvent {
	return slices.DeleteFunc(slices.Clone(events), func(e ralph.StreamEvent) bool { return e.Kind != kind })
}

// E-012, E-013: calls and their results are one item; a subagent's are marked.
func TestClaudeItems(t *testing.T) {
	t.Parallel()
	one := 1
	got := only(streamed(
		t,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"go test"}}]},"parent_tool_use_id":null}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"b","name":"Write","input":{"file_path":"/r/x.go","content":"x"}}]},"parent_tool_use_id":"p"}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"b","content":"written"}]},"parent_tool_use_id":"p"}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"Exit code 1\nFAIL"}]},"parent_tool_use_id":null}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"late","content":[{"type":"text","text":"who?"}]}]},"parent_tool_use_id":null}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"sub"}]},"parent_tool_use_id":"p"}`,
	), ralph.StreamItemDone)
	want := []ralph.Item{
		{ID: "b", Kind: ralph.ItemEdit, Type: "Write", Files: []string{"/r/x.go"}, Output: "written", Status: ralph.ItemCompleted, Parent: "p"},
		{ID: "a", Kind: ralph.ItemCommand, Type: "Bash", Text: "go test", Output: "Exit code 1\nFAIL", Exit: &one, Status: ralph.ItemFailed},
		{ID: "late", Kind: ralph.ItemOther, Output: "who?", Status: ralph.ItemCompleted},
		{ID: "message-1", Kind: ralph.ItemMessage, Text: "sub", Status: ralph.ItemCompleted, Parent: "p"},
	}
	for i, e := range got {
		if i >= len(want) || !reflect.DeepEqual(e.Item, want[i]) {
			t.Errorf("%d: %+v", i, e.Item)
		}
		if said, ok := e.Words(); ok && e.Item.Parent != "" {
			t.Errorf("a subagent's word is said: %+v", said)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d items", len(got))
	}
}

// E-097: claude's own list, as TodoWrite has it and as the calls of the recording of
// 2.1.197 build it up.
func TestClaudePlan(t *testing.T) {
	t.Parallel()
	plans := only(streamed(t, recordedLines(t, "197-tasks")), ralph.StreamPlan)
	var got []string
	for _, p := range plans {
		got = append(got, p.Plan[0].Text+" "+p.Plan[0].Status)
	}
	if want := []string{"Write code pending", "Write code in_progress", "Write code completed"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	plans = only(streamed(t, `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"TodoWrite","input":{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}}]}}`), ralph.StreamPlan)
	if len(plans) != 1 || !slices.Equal(plans[0].Plan, []ralph.PlanStep{{Text: "a", Status: "completed"}, {Text: "b", Status: "pending"}}) {
		t.Errorf("%+v", plans)
	}
}

// What is not known is kept and never fatal (E-015); what is tried again says so.
func TestClaudeOtherEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*wire.MaxRaw)
	unknown := only(streamed(t, `{"type":"weather","sun":true}`, `{"type":"system","subtype":"tide","n":1}`, `{"type":"poem","text":"`+long+`"}`), ralph.StreamUnknown)
	if len(unknown) != 3 || unknown[0].Method != "weather" || string(unknown[0].Raw) != `{"type":"weather","sun":true}` || unknown[1].Method != "system/tide" || len(unknown[2].Raw) > wire.MaxRaw {
		t.Errorf("%+v", unknown)
	}
	errs := only(streamed(t, recordedLines(t, "197-err-429-then-ok")), ralph.StreamError)
	if len(errs) == 0 || !errs[0].WillRetry || errs[0].Err.Class != ralph.ErrClassLimit || errs[0].Err.Status != 429 {
		t.Errorf("%+v", errs)
	}
	events := streamed(t, recordedLines(t, "329-compact-auto"))
	if usage := only(events, ralph.StreamUsage); len(only(events, ralph.StreamCompacted)) != 1 || !usage[len(usage)-1].Usage.Known {
		t.Errorf("%+v", usage)
	}
	for _, e := range only(events, ralph.StreamUnknown) {
		t.Errorf("unknown: %s", e.Method)
	}
}

// No recording of the real programs has an event that is not known.
func TestClaudeKnowsItsEvents(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../testdata/claude/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, e := range only(streamed(t, recordedLines(t, strings.TrimSuffix(filepath.Base(file), ".jsonl"))), ralph.StreamUnknown) {
			t.Errorf("%s: %s", file, e.Method)
		}
	}
}
