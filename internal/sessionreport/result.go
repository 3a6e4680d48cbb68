package sessionreport

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
)

// ResultVersion is the version of Result's JSON. A field is only ever added to it.
const ResultVersion = 1

// Result is `ralph report` as JSON, and what its markdown and HTML are made from.
// Times are UTC, `_seconds` are seconds, costs US dollars; lists are never null.
// Names, reasons and questions are the words of agents and of repositories:
// whoever shows them escapes them.
type Result struct {
	Version  int           `json:"version"`
	Scope    string        `json:"scope"` // session, all
	Sessions []SessionHead `json:"sessions"`
	Facts    FactRange     `json:"facts"` // what it was folded from
	Figures  Figures       `json:"figures"`
	Tasks    []TaskRow     `json:"tasks"` // in plan order; plans that were replaced come first
	Spans    []Span        `json:"timeline"`
	Marks    []Mark        `json:"marks"`
	Merges   []MergeRow    `json:"merges"`
	Landings []LandingRow  `json:"landings"`
	Outside  []OutsideRow  `json:"outside,omitempty"`
	Services []ServiceRow  `json:"services,omitempty"` // as they stood at the end
	Gates    []GateRow     `json:"gates"`
	Pauses   []PauseRow    `json:"pauses"`
	Limits   []LimitRow    `json:"limits"`
	Errors   []ErrorRow    `json:"errors"`
	Rules    []RuleRow     `json:"decisions"`
	Spending []Point       `json:"spending"` // cumulative, thinned to at most maxPoints
	Needs    []NeedRow     `json:"needs_you"`
}

// FactRange is the part of the journal that a result was folded from.
type FactRange struct {
	First int64     `json:"first"`
	Last  int64     `json:"last"`
	Hash  string    `json:"hash"` // of the last one's line: `ralph verify` holds it against the journal
	From  time.Time `json:"from,omitzero"`
	To    time.Time `json:"to,omitzero"`
}

// SessionHead is one session.
type SessionHead struct {
	ID             ralph.SessionID  `json:"id"`
	Mode           string           `json:"mode"`
	Autonomy       ralph.Autonomy   `json:"autonomy,omitempty"`
	Version        string           `json:"ralph,omitempty"`
	StartedAt      time.Time        `json:"started_at"`
	EndedAt        time.Time        `json:"ended_at,omitzero"`
	Ended          ralph.Reason     `json:"ended,omitempty"` // "" while it goes on, and after a crash
	Detail         string           `json:"detail,omitempty"`
	Resumed        int              `json:"resumed,omitempty"` // times it went on after a cut
	RuntimeSeconds float64          `json:"runtime_seconds"`   // without the time between its stretches
	Parallel       int              `json:"parallel,omitempty"`
	Agents         []string         `json:"agents,omitempty"`
	Branch         string           `json:"branch,omitempty"` // the integration branch
	Base           string           `json:"base,omitempty"`
	Settings       []report.Setting `json:"settings,omitempty"`

	since time.Time // start of the stretch that runs
}

// Figures are the statistics.
type Figures struct {
	status.Counts
	RuntimeSeconds  float64        `json:"runtime_seconds"`
	Tasks           int            `json:"tasks"` // in all
	TasksByStatus   map[string]int `json:"tasks_by_status"`
	TasksRemaining  int            `json:"tasks_remaining"`
	MergesPending   int            `json:"merges_pending"`
	PerTask         status.PerTask `json:"iterations_per_task"`
	Retries         int            `json:"retries"`
	IterationsCut   int            `json:"iterations_cut"`     // by an error or a limit
	BusySeconds     float64        `json:"busy_seconds"`       // sum over the slots
	SlotUse         float64        `json:"slot_use"`           // busy / (slots x runtime), 0 to 1
	MergeWaitMedian float64        `json:"merge_wait_seconds"` // from done to merged, median
}

// TaskRow is one task and what became of it in the time told of.
type TaskRow struct {
	ID          ralph.TaskID     `json:"id"`
	Name        string           `json:"name"`
	Spec        string           `json:"spec,omitempty"`
	Phase       string           `json:"phase,omitempty"`
	Status      ralph.TaskStatus `json:"status"`
	Reason      string           `json:"reason,omitempty"`
	Rule        string           `json:"rule,omitempty"` // of its end
	Iterations  int              `json:"iterations"`
	Retries     int              `json:"retries"`
	Resolves    int              `json:"resolves,omitempty"` // tries of an agent to mend its merge
	WorkSeconds float64          `json:"work_seconds"`       // in steps, also those of its resolves
	Cost        float64          `json:"cost"`
	Tokens      int64            `json:"tokens"`
	Slot        int              `json:"slot,omitempty"` // the last one
	StartedAt   time.Time        `json:"started_at,omitzero"`
	EndedAt     time.Time        `json:"ended_at,omitzero"`
	RedChecks   int              `json:"red_checks,omitempty"` // runs of its checks that were red
	// PassedOver are the checks that were red when it was done, and held nothing up.
	PassedOver  []ralph.PassedOver `json:"passed_over,omitempty"`
	Commit      string             `json:"commit,omitempty"`
	Worktree    string             `json:"worktree,omitempty"` // that it still has
	Branch      string             `json:"branch,omitempty"`
	Merge       ralph.MergeState   `json:"merge,omitempty"`
	MergeHow    string             `json:"merge_how,omitempty"` // clean, resolved, fast-forward
	MergedAt    time.Time          `json:"merged_at,omitzero"`
	MergeCommit string             `json:"merge_commit,omitempty"`
	Conflicts   []string           `json:"conflicts,omitempty"` // files, of all attempts
	Findings    []ralph.Finding    `json:"findings,omitempty"`
	// NothingToChange: it was done before, the checks say so as well as its agent.
	NothingToChange bool `json:"nothing_to_change,omitempty"`

	Why   string  `json:"why"`             // why it is as it is, in a sentence
	Trail []Event `json:"trail,omitempty"` // what happened on the way, but for what always does
}

// Event is one thing that happened to a task, in words, with the rule behind it.
type Event struct {
	At   time.Time `json:"at"`
	Rule string    `json:"rule,omitempty"`
	Text string    `json:"text"`
}

// The outcomes of spans that are no task status.
const (
	outcomeActive   = "active"   // not over when the report was made
	outcomeCut      = "cut"      // the engine ended or died
	outcomeRetry    = "retry"    // pending again, with a try counted
	outcomeReleased = "released" // pending again, by a person or at a stop
	outcomeWaiting  = "waiting"  // it went out of its slot to wait for a person
	outcomeMerged   = "merged"
	outcomeConflict = "conflict"
	outcomeRed      = "red"
)

// Span is a stretch of work. Lane "slot" has a number; "in place" is work without
// slots, "merge" the merge queue.
type Span struct {
	Lane    string         `json:"lane"`
	Slot    int            `json:"slot,omitempty"`
	Kind    ralph.TaskKind `json:"kind"`
	Task    ralph.TaskID   `json:"task"` // for a resolve the task whose merge it mends, for a merge the first
	Members []ralph.TaskID `json:"members,omitempty"`
	From    time.Time      `json:"from"`
	To      time.Time      `json:"to"`
	Outcome string         `json:"outcome"`

	stage ralph.TaskID // the task or stage that it is of
}

// Mark is something at one instant of the timeline.
type Mark struct {
	At   time.Time    `json:"at"`
	Lane string       `json:"lane"`
	Slot int          `json:"slot,omitempty"`
	Kind string       `json:"kind"` // red, merged, conflict, error, landed, asked
	Task ralph.TaskID `json:"task,omitempty"`
	Text string       `json:"text,omitempty"`
}

// MergeRow is one merge that counts, or one attempt that did not work.
type MergeRow struct {
	At          time.Time          `json:"at"`
	Members     []ralph.TaskID     `json:"members"` // none: the base's own commits
	Outcome     string             `json:"outcome"` // clean, resolved, fast-forward, conflict, red, error
	Commit      string             `json:"commit,omitempty"`
	Misfit      ralph.TaskID       `json:"conflict_at,omitempty"` // the member that conflicts
	Files       []string           `json:"files,omitempty"`       // in conflict
	Checks      []string           `json:"red,omitempty"`         // checks that were red
	PassedOver  []ralph.PassedOver `json:"passed_over,omitempty"` // and those that held nothing up
	WaitSeconds float64            `json:"wait_seconds"`          // the longest of its members in the queue
	TookSeconds float64            `json:"took_seconds"`          // merging and checking
	Error       string             `json:"error,omitempty"`
}

// LandingRow is one time that the base branch moved, or a stretch in which it could not.
type LandingRow struct {
	At    time.Time `json:"at"`
	To    time.Time `json:"until,omitzero"` // of a wait
	From  string    `json:"from,omitempty"`
	Tip   string    `json:"tip,omitempty"`
	How   string    `json:"how,omitempty"` // fast-forward, branch
	Tasks int       `json:"tasks,omitempty"`
	Held  []string  `json:"held,omitempty"`
}

// GateRow is a question or decision that waited for a person.
type GateRow struct {
	ID          ralph.ApprovalID `json:"id"`
	Kind        string           `json:"kind"`
	Task        ralph.TaskID     `json:"task,omitempty"` // of the plan, where there is one
	Text        string           `json:"text"`
	AskedAt     time.Time        `json:"asked_at"`
	EndedAt     time.Time        `json:"ended_at,omitzero"`
	WaitSeconds float64          `json:"wait_seconds"`
	Outcome     string           `json:"outcome"` // open, answered, approved, denied, withdrawn
	Answer      string           `json:"answer,omitempty"`
}

// PauseRow is a stretch in which nothing new was started.
type PauseRow struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to,omitzero"`
	Seconds float64   `json:"seconds"`
	Cause   string    `json:"cause,omitempty"`
}

// LimitRow is an agent at its limit.
type LimitRow struct {
	At    time.Time `json:"at"`
	Agent string    `json:"agent"`
	Until time.Time `json:"until"`
}

// ErrorRow is one class of errors of one agent.
type ErrorRow struct {
	Agent   string       `json:"agent"`
	Class   string       `json:"class"`
	Times   int          `json:"times"`
	First   time.Time    `json:"first"`
	Last    time.Time    `json:"last"`
	Task    ralph.TaskID `json:"task"`    // of the last one
	Message string       `json:"message"` // of the last one
}

// RuleRow counts the decisions that follow one rule, with the words of the last.
type RuleRow struct {
	Rule  string `json:"rule"`
	Text  string `json:"text"`
	Times int    `json:"times"`
}

// Point is what was spent up to an instant.
type Point struct {
	At         time.Time `json:"at"`
	Cost       float64   `json:"cost"`
	Tokens     int64     `json:"tokens"`
	Iterations int       `json:"iterations"`
}

// NeedRow is one thing that waits for a person, with what helps.
type NeedRow struct {
	What    string `json:"what"`
	Command string `json:"command"`
}

// JSON writes the result, indented.
func (r *Result) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("report: encode JSON: %w", err)
	}
	return nil
}
