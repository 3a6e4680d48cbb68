package ralph

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// RuleScopes are the scopes of rules, narrow to wide.
func RuleScopes() []RuleScope {
	return []RuleScope{ScopeTask, ScopeSpec, ScopeSession, ScopeRepository}
}

// Always makes an answer to an open approval hold from now on: facts are those of
// ApproveGate, DenyGate or AnswerGate, and a rule.added follows them. Of r it takes the
// id, the scope, Until, At and By; the rest comes from the gate. Refused is what no rule
// may decide: what is on the never list, what did not come from an agent in the middle
// of its turn, and what is too long to be recognised.
func (s *State) Always(id ApprovalID, facts []Fact, r AnswerRule) ([]Fact, error) {
	g, err := s.findApproval(id)
	if err != nil {
		return nil, err
	}
	once := "answer it without --always"
	switch {
	case g.Never:
		return nil, &Refusal{Why: fmt.Sprintf("%s is never decided by a rule (%s): a person decides each time", id, g.Rule), Hint: once, Kind: ErrUsage}
	case g.Request == nil:
		return nil, &Refusal{Why: fmt.Sprintf("%s is a gate of kind %s: only what an agent asks in the middle of its turn can be answered for later", id, g.Kind), Hint: once, Kind: ErrUsage}
	case g.Request.Cut:
		return nil, &Refusal{Why: fmt.Sprintf("what %s asks is too long to be known again", id), Hint: once, Kind: ErrUsage}
	}
	i := slices.IndexFunc(facts, func(f Fact) bool { _, ok := f.(Answered); return ok })
	if i < 0 {
		return nil, fmt.Errorf("make a rule of %s: nobody answered it", id)
	}
	word := facts[i].(Answered) //nolint:forcetypeassert // found by its type
	r.Verdict, r.Text, r.Request, r.From = word.Verdict, strings.TrimSpace(word.Text), *g.Request, id
	r.Request.ID = ""
	if r.Request.Kind == RequestQuestion {
		r.Request.Options = g.Options
	}
	if r.Of, err = s.ruleOf(r.Scope, g); err != nil {
		return nil, err
	}
	return append(facts, RuleAdded{Rule: r}), nil
}

// ruleOf is what a scope means for an approval: the task, the spec's file, the session.
func (s *State) ruleOf(scope RuleScope, g *Approval) (string, error) {
	of := ""
	switch scope {
	case ScopeRepository:
		return "", nil
	case ScopeTask:
		of = string(g.Task)
	case ScopeSpec:
		of = s.SpecFile()
	case ScopeSession:
		if s.Session.Live() {
			of = string(s.Session.ID)
		}
	default:
		return "", &Refusal{Why: fmt.Sprintf("there is no scope %q", scope), Hint: "use task, spec, session or repository", Kind: ErrUsage}
	}
	if of == "" || g.By != "" && scope != ScopeRepository {
		return "", &Refusal{Why: fmt.Sprintf("%s belongs to no %s of ralph", g.ID, scope), Hint: "use --scope repository", Kind: ErrUsage}
	}
	return of, nil
}

// Expired says why a rule does not hold at all at a time, "" when it does. Whether it
// holds for a task is policy.Standing's.
func (s *State) Expired(r *AnswerRule, now time.Time) string {
	switch {
	case !r.Until.IsZero() && !now.Before(r.Until):
		return "expired"
	case r.Scope == ScopeSession && (r.Of != string(s.Session.ID) || !s.Session.Live()):
		return "its session has ended"
	case r.Scope == ScopeSpec && r.Of != s.SpecFile():
		return "another spec is at work"
	case r.Scope == ScopeTask && (s.Task(TaskID(r.Of)) == nil || s.Task(TaskID(r.Of)).Status.Ended()):
		return "its task has ended"
	}
	return ""
}

// RevokeRule ends a rule.
func (s *State) RevokeRule(id RuleID, why string) ([]Fact, error) {
	if !slices.ContainsFunc(s.Rules, func(r *AnswerRule) bool { return r.ID == id }) {
		return nil, &Refusal{Why: fmt.Sprintf("there is no rule %s", id), Hint: "`[[rules]]` lists them", Kind: ErrNotFound}
	}
	return []Fact{RuleRevoked{ID: id, Why: strings.TrimSpace(why)}}, nil
}

// Facts around approvals and what agents tell in the middle of a turn.

// RuleAdded is a person's answer that is to hold from now on.
type RuleAdded struct {
	Rule AnswerRule `json:"rule"`
}

// Kind implements Fact.
func (RuleAdded) Kind() string { return "rule.added" }

// About implements Fact.
func (RuleAdded) About() TaskID { return "" }

func (f RuleAdded) fold(s *State, _ Event) {
	rule := f.Rule
	s.Rules = append(s.Rules[:len(s.Rules):len(s.Rules)], &rule)
}

// RuleRevoked ends a rule.
type RuleRevoked struct {
	ID  RuleID `json:"id"`
	Why string `json:"why,omitempty"`
}

// Kind implements Fact.
func (RuleRevoked) Kind() string { return "rule.revoked" }

// About implements Fact.
func (RuleRevoked) About() TaskID { return "" }

func (f RuleRevoked) fold(s *State, _ Event) {
	s.Rules = slices.DeleteFunc(slices.Clone(s.Rules), func(r *AnswerRule) bool { return r.ID == f.ID })
}

// ApprovalOperation is the kind of an approval before an operation that the rules hold: one of
// gate.patterns, or of the list that nothing ever approves by itself.
const ApprovalOperation = "operation"

// ApprovalTest is the kind of an approval before work whose checks stay red after every retry, or
// whose diff needs a person's eye: tests, coverage, weakened tests, secrets (C-063).
const ApprovalTest = "test"

// ApprovalCommit is the kind of an approval before a commit in a checkout that somebody has taken
// to another branch, or into a rebase, while agents worked in it.
const ApprovalCommit = "commit"

// ApprovalPush is the kind of an approval before ralph pushes the branch of a spec, where gate.patterns hold
// a push.
const ApprovalPush = "push"

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
	ID      RuleID     `json:"id"`
	Verdict Verdict    `json:"verdict,omitempty"` // approved or denied; "" answers a question
	Text    string     `json:"text,omitempty"`    // the answer, or why not
	Request Request    `json:"request"`           // what it answers, paths relative to the work tree
	Scope   RuleScope  `json:"scope"`
	Of      string     `json:"of,omitempty"`   // the task, spec or session of the scope
	Until   time.Time  `json:"until,omitzero"` // zero: no end
	From    ApprovalID `json:"from,omitempty"` // the approval whose answer it is
	At      time.Time  `json:"at,omitzero"`    // when it was made
	By      string     `json:"by,omitempty"`   // cli, web, ...
}
