package execagent

import (
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/text"
)

// preset is how the output of a known program is read. What each is based on is in
// docs/agents.md: "run" was replayed from the real program, "docs" was not.
type preset struct {
	rows   []ralph.EventRow
	resume []string
	// failed finds the error in the output of a program that exits 0 on errors.
	failed func(output string) *ralph.AgentError
}

func presetOf(output string) (preset, bool) {
	switch output {
	case "opencode":
		return preset{rows: opencodeRows(), resume: []string{"--session", "{session}"}}, true
	case "gemini":
		return preset{rows: geminiRows()}, true
	case "copilot":
		return preset{rows: copilotRows(), resume: []string{"--resume={session}"}}, true
	case "cursor":
		return preset{rows: cursorRows(), resume: []string{"--resume", "{session}"}}, true
	case "aider":
		return preset{failed: aiderFailure}, true
	case "goose":
		return preset{}, true // its exit code and its text; newer ones have JSON, which nobody here has seen
	}
	return preset{}, false
}

func row(kind string, match, read map[string]string) ralph.EventRow {
	return ralph.EventRow{Match: match, Kind: kind, Read: read}
}

type fields = map[string]string

// opencodeRows: run, 1.18.33. Done is exit 0, the last step_finish with reason stop, and
// no error; a request that is rejected ends it with tool-calls, a full answer with length.
func opencodeRows() []ralph.EventRow {
	tool := fields{"id": "part.callID", "tool": "part.tool", "text": "part.state.title", "output": "part.state.output"}
	failed := fields{"id": "part.callID", "tool": "part.tool", "text": "part.state.input", "output": "part.state.error"}
	overflow := row(ralph.RowError, fields{"type": "error", "error.name": "ContextOverflowError"}, fields{"text": "error.data.message"})
	overflow.Class = ralph.ErrClassContext
	return []ralph.EventRow{
		row(ralph.RowSession, fields{"sessionID": "*", "type": "step_start"}, fields{"session": "sessionID"}),
		row(ralph.RowMessage, fields{"type": "text"}, fields{"text": "part.text"}),
		row(ralph.RowReasoning, fields{"type": "reasoning"}, fields{"text": "part.text"}),
		row(ralph.RowToolDone, fields{"type": "tool_use", "part.state.status": "completed"}, tool),
		row(ralph.RowToolFail, fields{"type": "tool_use", "part.state.status": "error"}, failed),
		row(ralph.RowUsage, fields{"type": "step_finish"}, fields{
			"input": "part.tokens.input", "out": "part.tokens.output",
			"cached": "part.tokens.cache.read", "cache_write": "part.tokens.cache.write", "cost": "part.cost",
		}),
		row(ralph.RowUndone, fields{"type": "step_finish"}, nil),
		row(ralph.RowDone, fields{"type": "step_finish", "part.reason": "stop"}, nil),
		row(ralph.RowError, fields{"type": "error"}, fields{"text": "error.data.message", "status": "error.data.statusCode", "session": "sessionID"}),
		overflow,
	}
}

// geminiRows: run, 0.61.0. SIGINT and SIGTERM end it with 0, and without a result.
func geminiRows() []ralph.EventRow {
	return []ralph.EventRow{
		row(ralph.RowSession, fields{"type": "init"}, fields{"session": "session_id"}),
		row(ralph.RowDelta, fields{"type": "message", "role": "assistant"}, fields{"text": "content"}),
		row(ralph.RowIgnore, fields{"type": "message", "role": "user"}, nil),
		row(ralph.RowTool, fields{"type": "tool_use"}, fields{"id": "tool_id", "tool": "tool_name", "text": "parameters"}),
		row(ralph.RowToolDone, fields{"type": "tool_result", "status": "success"}, fields{"id": "tool_id", "output": "output"}),
		row(ralph.RowToolFail, fields{"type": "tool_result", "status": "error"}, fields{"id": "tool_id", "output": "error.message"}),
		row(ralph.RowTotal, fields{"type": "result"}, fields{"input": "stats.input", "out": "stats.output_tokens", "cached": "stats.cached"}),
		row(ralph.RowDone, fields{"type": "result", "status": "success"}, nil),
		row(ralph.RowError, fields{"type": "result", "status": "error"}, fields{"text": "error.message"}),
	}
}

// copilotRows: run, 1.0.102. It reports neither tokens nor dollars.
func copilotRows() []ralph.EventRow {
	rows := []ralph.EventRow{
		row(ralph.RowMessage, fields{"type": "assistant.message"}, fields{"text": "data.content"}),
		row(ralph.RowReasoning, fields{"type": "assistant.reasoning"}, fields{"text": "data.content"}),
		row(ralph.RowTool, fields{"type": "tool.execution_start"}, fields{"id": "data.toolCallId", "tool": "data.toolName", "text": "data.arguments"}),
		row(ralph.RowToolDone, fields{"type": "tool.execution_complete", "data.success": "true"}, fields{"id": "data.toolCallId", "output": "data.result.content"}),
		row(ralph.RowToolFail, fields{"type": "tool.execution_complete", "data.success": "false"}, fields{"id": "data.toolCallId", "output": "data.error.message"}),
		row(ralph.RowRetry, fields{"type": "model.call_failure"}, fields{"text": "data.errorMessage", "status": "data.statusCode"}),
		row(ralph.RowError, fields{"type": "session.error"}, fields{"text": "data.message", "status": "data.statusCode"}),
		row(ralph.RowSession, fields{"type": "result"}, fields{"session": "sessionId"}),
		row(ralph.RowDone, fields{"type": "result", "exitCode": "0"}, nil),
	}
	for _, name := range []string{
		"session.skills_loaded", "session.mcp_servers_loaded", "session.tools_updated", "user.message",
		"assistant.turn_start", "assistant.turn_end", "assistant.turn_retry", "assistant.idle", "assistant.message_start",
		"assistant.message_delta", "assistant.tool_call_delta", "session.info", "session.background_tasks_changed",
		"tool.execution_partial_result", "model.call_start", "model.call_finished", "model.call_final_result",
	} {
		rows = append(rows, row(ralph.RowIgnore, fields{"type": name}, nil))
	}
	return rows
}

// cursorRows: docs and forum only. A failure prints no result line.
func cursorRows() []ralph.EventRow {
	return []ralph.EventRow{
		row(ralph.RowSession, fields{"type": "system", "subtype": "init"}, fields{"session": "session_id"}),
		row(ralph.RowMessage, fields{"type": "assistant"}, fields{"text": "message.content.*.text"}),
		row(ralph.RowIgnore, fields{"type": "user"}, nil),
		row(ralph.RowTool, fields{"type": "tool_call", "subtype": "started"}, fields{"id": "call_id", "text": "tool_call"}),
		row(ralph.RowToolDone, fields{"type": "tool_call", "subtype": "completed"}, fields{"id": "call_id", "output": "tool_call"}),
		row(ralph.RowDone, fields{"type": "result", "subtype": "success", "is_error": "false"}, nil),
		row(ralph.RowError, fields{"type": "result", "is_error": "true"}, fields{"text": "result"}),
	}
}

// litellmError is how aider names what its model's service refused.
var litellmError = lazyregexp.New(`\blitellm\.(?:exceptions\.)?([A-Za-z]+(?:Error|Timeout))\b`)

// aiderLines is how far from the end of the output an error counts: aider prints it, and
// then exits with 0. What it got over by trying again is followed by more output.
const aiderLines = 10

// aiderFailure: docs and forum only.
func aiderFailure(output string) *ralph.AgentError {
	end := wire.LastLines(strings.TrimSpace(output), aiderLines)
	m := litellmError.FindStringSubmatch(end)
	if m == nil {
		return nil
	}
	e := &ralph.AgentError{Class: ralph.ErrClassOther, Status: wire.StatusIn(end), Message: text.Tail(end, wire.MaxMessage)}
	switch m[1] {
	case "RateLimitError":
		e.Class = ralph.ErrClassLimit
	case "AuthenticationError", "PermissionDeniedError":
		e.Class = ralph.ErrClassAuth
	case "ContextWindowExceededError":
		e.Class = ralph.ErrClassContext
	case "BadRequestError", "NotFoundError", "UnsupportedParamsError", "BudgetExceededError":
		e.Class = ralph.ErrClassRequest
	case "APIConnectionError":
		e.Class = ralph.ErrClassNetwork
	case "InternalServerError", "ServiceUnavailableError", "BadGatewayError", "Timeout":
		e.Class = ralph.ErrClassServer
	}
	return e
}
