package claude

import (
	"encoding/json"

	"github.com/ralph-loop/ralph"
)

// PreTool is what a PreToolUse hook of Claude Code answers: allow, deny or ask.
func PreTool(decision, why string) any {
	return map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": why,
	}}
}

// RequestOf is a tool call of Claude Code in ralph's words: the tool's name, its input
// as claude writes it, and the folder that claude is in. Its hooks tell of calls like this.
func RequestOf(tool string, input json.RawMessage, dir string) ralph.Request {
	q := request("", controlRequest{Tool: tool, Input: input})
	q.Dir = dir
	return q
}
