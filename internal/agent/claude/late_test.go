package claude

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
)

// What claude asks with its last words, when its turn is over, is asked of nobody.
func TestClaudeAsksTooLate(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	on := ralph.TurnHooks{Ask: func(_ context.Context, q ralph.Request) (ralph.Reply, error) {
		asked <- q.Dir
		return ralph.Reply{Allow: true}, nil
	}}
	turn := wire.NewTurn(ralph.TurnInput{Dir: "/w"}, on)
	c := newReader(turn)
	k := openTalk(t.Context(), turn, c, on, 0)
	hear := func(line string) {
		turn.Mu.Lock()
		defer turn.Mu.Unlock()
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
	q := request("1", controlRequest{Tool: "Glob", Input: []byte(`{"path":"/w","pattern":"../../etc/*"}`)})
	if q.Op != ralph.OpRead || !slices.Equal(q.Paths, []string{"/w", "../../etc/*"}) {
		t.Errorf("%+v", q)
	}
}

// What ralph denies is denied in the hook before the tool: a person's PermissionRequest hook
// that says yes is faster than ralph's answer to can_use_tool where a person is asked. What
// it allows goes on to claude's rules, whose question about the same call is not judged
// again, unless a hook of the person's has changed the call meanwhile (C-034, X-77).
func TestClaudeIsDeniedBeforeItAsks(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		reply     ralph.Reply
		mode      string
		tool      string
		then      string // the command of can_use_tool, "" for none
		hook      string // what is said to the hook, in part
		asked     int
		interrupt bool
	}{
		"denied":            {ralph.Reply{Text: "no"}, "default", "Bash", "", `"permissionDecision":"deny","permissionDecisionReason":"no"`, 1, false},
		"turn stopped":      {ralph.Reply{Stop: true}, "default", "Bash", "", `"permissionDecision":"deny"`, 1, true},
		"allowed":           {ralph.Reply{Allow: true}, "bypassPermissions", "Bash", "ls", `"permissionDecision":"ask"`, 1, false},
		"changed by a hook": {ralph.Reply{Allow: true}, "default", "Bash", "rm -rf /", `"permissionDecision":"ask"`, 2, false},
		"claude denies":     {ralph.Reply{Allow: true}, "dontAsk", "Bash", "", `"permissionDecision":"ask"`, 0, false},
		"ralph's own tool":  {ralph.Reply{Allow: true}, "default", "mcp__ralph__signal", "", `"permissionDecision":"ask"`, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 10)
			on := ralph.TurnHooks{Ask: func(_ context.Context, q ralph.Request) (ralph.Reply, error) {
				asked <- q.Command
				return x.reply, nil
			}}
			turn := wire.NewTurn(ralph.TurnInput{Dir: "/w", MCP: []string{"ralph"}}, on)
			c := newReader(turn)
			k := openTalk(t.Context(), turn, c, on, 0)
			hear := func(line string) {
				turn.Mu.Lock()
				k.heard([]byte(line))
				turn.Mu.Unlock()
				k.waiting.Wait()
			}
			hear(`{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback","callback_id":"pre-tool-use","tool_use_id":"c1",` +
				`"input":{"session_id":"s","cwd":"/w","permission_mode":"` + x.mode + `","tool_name":"` + x.tool + `","tool_use_id":"c1","tool_input":{"command": "ls"}}}}`)
			if said := string(k.in.buf); !strings.Contains(said, x.hook) || strings.Contains(said, `"subtype":"interrupt"`) != x.interrupt {
				t.Errorf("the hook was told %s", said)
			}
			if x.then != "" {
				hear(`{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"c1","input":{"command":"` + x.then + `"}}}`)
				if said := string(k.in.buf); !strings.Contains(said, `"behavior":"allow"`) {
					t.Errorf("the question was told %s", said)
				}
			}
			if err := k.close(); err != nil {
				t.Fatal(err)
			}
			if len(asked) != x.asked {
				t.Errorf("%d asks, not %d", len(asked), x.asked)
			}
			if _, refused := c.refused["c1"]; refused == x.reply.Allow {
				t.Errorf("the call stands as refused: %t", refused)
			}
		})
	}
}
