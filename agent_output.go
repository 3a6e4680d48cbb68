package ralph

// EventRow says what a line of JSON that an exec agent prints means. Every row that
// matches a line counts, in their order; a line that none matches is kept as unknown.
type EventRow struct {
	// Match is what the line must hold, by dotted path; "*" is any value but none.
	Match map[string]string `json:"match"`
	Kind  string            `json:"kind"`
	// Class is the kind of error, where Kind is error and its text does not tell.
	Class ErrorClass `json:"class,omitempty"`
	// Read is where the parts of the event stand, by dotted path: text, id, tool, output,
	// session, input, cached, cache_write, out, cost, status. A number in a path is the
	// place in a list, * all of it.
	Read map[string]string `json:"read,omitempty"`
}

// ExecOutputs are the words that AgentSpec.Output may be, besides none: text and jsonl,
// then the presets.
func ExecOutputs() []string {
	return []string{"text", "jsonl", "aider", "copilot", "cursor", "gemini", "goose", "opencode"}
}

// The kinds of rows in a table of events, with the parts that each reads.
const (
	RowSession   = "session"   // session
	RowMessage   = "message"   // text: a whole message of the agent
	RowDelta     = "delta"     // text: more of a message, until a line that is none
	RowReasoning = "reasoning" // text
	RowTool      = "tool"      // id, tool, text: a call begins
	RowToolDone  = "tool_done" // id, tool, text, output: it has ended
	RowToolFail  = "tool_fail" // the same, and it failed
	RowUsage     = "usage"     // tokens and cost of one step, which add up
	RowTotal     = "total"     // tokens and cost of the whole turn
	RowError     = "error"     // text, status: the turn has failed
	RowRetry     = "retry"     // text, status: the agent tries again by itself
	RowDone      = "done"      // the agent has done its turn
	RowUndone    = "undone"    // it has not, or not yet
	RowIgnore    = "ignore"    // known, and of no interest
)

// RowKinds are the kinds of rows that a table of events may have.
func RowKinds() []string {
	return []string{
		RowSession, RowMessage, RowDelta, RowReasoning, RowTool, RowToolDone, RowToolFail, RowUsage,
		RowTotal, RowError, RowRetry, RowDone, RowUndone, RowIgnore,
	}
}

// RowReads are the parts of an event that a row may say the place of.
func RowReads() []string {
	return []string{"text", "id", "tool", "output", "session", "input", "cached", "cache_write", "out", "cost", "status"}
}

// RowClasses are the kinds of errors that a row may name.
func RowClasses() []ErrorClass {
	return []ErrorClass{
		ErrClassLimit, ErrClassBusy, ErrClassAuth, ErrClassNetwork, ErrClassRequest, ErrClassContext, ErrClassServer,
		ErrClassRefusal, ErrClassBudget, ErrClassOther,
	}
}
