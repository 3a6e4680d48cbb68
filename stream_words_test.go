package ralph_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// What people read of a turn is read of its events, whichever agent it is: each thing
// once, a subagent's words never.
func TestWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3000)
	done := func(i ralph.Item) ralph.StreamEvent { return ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: i} }
	for _, c := range []struct {
		name  string
		event ralph.StreamEvent
		want  ralph.Words
	}{
		{"a line", ralph.StreamEvent{Kind: ralph.StreamOutput, Delta: "a"}, ralph.Words{Kind: ralph.WordsOutput, Text: "a"}},
		{"a piece of one", ralph.StreamEvent{Kind: ralph.StreamOutput, Delta: "a", More: true}, ralph.Words{Kind: ralph.WordsOutput, Text: "a", More: true}},
		{"stderr", ralph.StreamEvent{Kind: ralph.StreamOutput, Delta: "a", Stderr: true}, ralph.Words{Kind: ralph.WordsStderr, Text: "a"}},
		{"a command begins", ralph.StreamEvent{Kind: ralph.StreamItem, Item: ralph.Item{Kind: ralph.ItemCommand, Type: "Bash", Text: "go\ntest"}}, ralph.Words{Kind: ralph.WordsTool, Text: "go test"}},
		{"an edit begins", ralph.StreamEvent{Kind: ralph.StreamItem, Item: ralph.Item{Kind: ralph.ItemEdit, Type: "Edit", Files: []string{"a", "b"}}}, ralph.Words{Kind: ralph.WordsTool, Text: "Edit a, b"}},
		{"a message begins", ralph.StreamEvent{Kind: ralph.StreamItem, Item: ralph.Item{Kind: ralph.ItemMessage, Text: "a"}}, ralph.Words{}},
		{"a message", done(ralph.Item{Kind: ralph.ItemMessage, Text: "a"}), ralph.Words{Kind: ralph.WordsMessage, Text: "a"}},
		{"a subagent's", done(ralph.Item{Kind: ralph.ItemMessage, Text: "a", Parent: "p"}), ralph.Words{}},
		{"thinking", done(ralph.Item{Kind: ralph.ItemReasoning, Text: "a"}), ralph.Words{Kind: ralph.WordsReasoning, Text: "a"}},
		{"a result", done(ralph.Item{Kind: ralph.ItemCommand, Output: long}), ralph.Words{Kind: ralph.WordsResult, Text: long[:2048] + "…"}},
		{"no result", done(ralph.Item{Kind: ralph.ItemCommand}), ralph.Words{}},
		{"an error", ralph.StreamEvent{Kind: ralph.StreamError, Err: &ralph.AgentError{Message: "a"}}, ralph.Words{Kind: ralph.WordsError, Text: "a"}},
		{"a piece of a message", ralph.StreamEvent{Kind: ralph.StreamDelta, Delta: "a"}, ralph.Words{}},
	} {
		if got, ok := c.event.Words(); got != c.want || ok != (c.want != ralph.Words{}) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}
