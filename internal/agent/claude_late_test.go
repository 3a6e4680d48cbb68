package agent

import (
	"context"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
)

// What claude asks with its last words, when its turn is over, is asked of nobody.
func TestClaudeAsksTooLate(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	on := ralph.TurnHooks{Ask: func(_ context.Context, q ralph.Request) (ralph.Reply, error) {
		asked <- q.Dir
		return ralph.Reply{Allow: true}, nil
	}}
	turn := newTurn(ralph.TurnInput{Dir: "/w"}, on)
	c := newClaude(turn.emit, turn.said)
	k := openTalk(t.Context(), turn, c, on, 0)
	hear := func(line string) {
		turn.mu.Lock()
		defer turn.mu.Unlock()
		k.heard([]byte(line))
	}
	// The shell of claude keeps the folder of the command before: E-077 judges by it.
	hear(`{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"pre-tool-use","tool_use_id":"c1","input":{"session_id":"s","cwd":"/w/ralph"}}}`)
	hear(`{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"c1","input":{"command":"ls > hooks/x"}}}`)
	if dir := <-asked; dir != "/w/ralph" {
		t.Errorf("the folder is %q", dir)
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	hear(`{"type":"control_request","request_id":"2","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"c2","input":{"command":"ls"}}}`)
	k.waiting.Wait()
	if len(asked) > 0 || len(k.open) > 0 {
		t.Error("asked after the end of the turn")
	}
}

// E-077: a pattern that looks elsewhere is judged too.
func TestClaudeGlob(t *testing.T) {
	t.Parallel()
	q := claudeRequest("1", controlRequest{Tool: "Glob", Input: []byte(`{"path":"/w","pattern":"../../etc/*"}`)})
	if q.Op != ralph.OpRead || !slices.Equal(q.Paths, []string{"/w", "../../etc/*"}) {
		t.Errorf("%+v", q)
	}
}
