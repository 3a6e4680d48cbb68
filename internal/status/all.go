package status

import (
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/services"
)

// StatusJSON is `ralph status --json`: the record on top, the rest under names.
type StatusJSON struct {
	Version int `json:"version"`
	StatusRecord
	Engine Engine            `json:"engine"`
	Stage  Stage             `json:"stage"`
	Stats  Stats             `json:"stats"`
	Gates  []*ralph.Approval `json:"gates"`
	// Services are the outside services that were asked or sent something; absent when there are none.
	Services []services.Row `json:"services,omitempty"`
}

// All is all that there is to say about where the work stands.
func All(s *ralph.State, engine Engine, now time.Time) StatusJSON {
	return StatusJSON{1, Of(s, engine, now), engine, QueryStage(s), QueryStats(s, engine, now), QueryGates(s), services.Query(s, now)}
}

// QueryGates lists what waits for a person.
func QueryGates(s *ralph.State) []*ralph.Approval {
	if s.Approvals == nil {
		return []*ralph.Approval{}
	}
	return s.Approvals
}

// RuleRecord is a rule as `ralph rules --json` prints it.
type RuleRecord struct {
	ralph.AnswerRule
	What    string `json:"what"`             // in words
	Expired string `json:"lapsed,omitempty"` // why it does not hold now
}

// QueryRules lists the answers that hold, oldest first.
func QueryRules(s *ralph.State, now time.Time) []RuleRecord {
	rows := []RuleRecord{}
	for _, r := range s.Rules {
		rows = append(rows, RuleRecord{*r, report.RuleWords(r), s.Expired(r, now)})
	}
	return rows
}
