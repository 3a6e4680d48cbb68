package ralph

import "time"

// GateOperation is the kind of a gate before an operation that the rules hold: one of
// gate.patterns, or of the list that nothing ever approves by itself (C-030 to C-041).
const GateOperation = "operation"

// GateTest is the kind of a gate before work whose checks stay red after every retry, or
// whose diff needs a person's eye: tests, coverage, weakened tests, secrets (C-063).
const GateTest = "test"

// GateCommit is the kind of a gate before a commit in a checkout that somebody has taken
// to another branch, or into a rebase, while agents worked in it.
const GateCommit = "commit"

// RuleID names a rule that a person made of an answer.
type RuleID string

// RuleScope is how far a rule reaches.
type RuleScope string

// The scopes of rules, narrow to wide.
const (
	ScopeTask       RuleScope = "task"
	ScopeSpec       RuleScope = "spec"
	ScopeSession    RuleScope = "session"
	ScopeRepository RuleScope = "repository"
)

// AnswerRule is a person's answer that holds for every later request that asks the very
// same. It never approves what is on the never list.
type AnswerRule struct {
	ID      RuleID    `json:"id"`
	Verdict Verdict   `json:"verdict,omitempty"` // approved or denied; "" answers a question
	Text    string    `json:"text,omitempty"`    // the answer, or why not
	Request Request   `json:"request"`           // what it answers, paths relative to the work tree
	Scope   RuleScope `json:"scope"`
	Of      string    `json:"of,omitempty"`   // the task, spec or session of the scope
	Until   time.Time `json:"until,omitzero"` // zero: no end
	From    GateID    `json:"from,omitempty"` // the gate whose answer it is
	At      time.Time `json:"at,omitzero"`    // when it was made
	By      string    `json:"by,omitempty"`   // cli, web, ...
}
