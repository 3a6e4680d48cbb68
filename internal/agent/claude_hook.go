package agent

import (
	"encoding/json"

	"github.com/ralph-loop/ralph"
)

// ClaudePreTool is what a PreToolUse hook of Claude Code answers: allow, deny or ask.
func ClaudePreTool(decision, why string) any {
	return map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": why,
	}}
}

// ClaudeRequest is a tool call of Claude Code in ralph's words: the tool's name, its input
// as claude writes it, and the folder that claude is in. Its hooks tell of calls like this.
func ClaudeRequest(tool string, input json.RawMessage, dir string) ralph.Request {
	q := claudeRequest("", controlRequest{Tool: tool, Input: input})
	q.Dir = dir
	return q
}
