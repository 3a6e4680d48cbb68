package ralph

// Facts around gates and what agents tell in the middle of a turn.

// RuleAdded is a person's answer that is to hold from now on.
type RuleAdded struct {
	Rule AnswerRule `json:"rule"`
}

// RuleRevoked ends a rule.
type RuleRevoked struct {
	ID  RuleID `json:"id"`
	Why string `json:"why,omitempty"`
}

// Signalled is a signal that an agent gave by `ralph signal` or a tool instead of in its
// words. It counts for the turn under way, like a tag in the final message.
type Signalled struct {
	Task   TaskID `json:"task"`
	Signal Signal `json:"signal"`
	Via    string `json:"via"` // command, mcp
}

// The names of these facts, "t" in the file.
func (RuleAdded) Kind() string   { return "rule.added" }
func (RuleRevoked) Kind() string { return "rule.revoked" }
func (Signalled) Kind() string   { return "signalled" }
