package ralph

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/text"
)

// StreamKind names an event of an agent's turn, after the Codex app-server, whichever
// agent it is.
type StreamKind string

// The events of the normalised stream.
const (
	StreamSession   StreamKind = "session.started"    // Thread is known from here on
	StreamTurn      StreamKind = "turn.started"       //
	StreamItem      StreamKind = "item.started"       // Item, as far as it is known
	StreamDelta     StreamKind = "item.delta"         // Item.ID and Item.Kind, and Delta: more of its text
	StreamItemDone  StreamKind = "item.completed"     // Item, whole; what it says outweighs the deltas
	StreamPlan      StreamKind = "plan.updated"       // Plan: all steps, each time
	StreamDiff      StreamKind = "diff.updated"       // Diff: all of it, each time
	StreamUsage     StreamKind = "usage.updated"      // Usage of this turn so far, and Context
	StreamCompacted StreamKind = "compacted"          // the agent made its history shorter by itself
	StreamApproval  StreamKind = "approval.requested" // Request
	StreamInput     StreamKind = "input.requested"    // Request
	StreamResolved  StreamKind = "request.resolved"   // Request.ID: nobody needs to answer it any more
	StreamError     StreamKind = "error"              // Err; with WillRetry the turn goes on
	StreamTurnDone  StreamKind = "turn.completed"     // Status and Err; the only end of a turn
	StreamUnknown   StreamKind = "unknown"            // Method and Raw; kept, never fatal
	StreamOutput    StreamKind = "output"             // Delta: what is printed beside any protocol, a line or (More) a piece of one
)

// StreamEvent is one event of an agent's turn. What its kind does not use is zero.
type StreamEvent struct {
	Kind      StreamKind      `json:"kind"`
	Thread    string          `json:"thread,omitempty"` // the agent's own session
	Turn      string          `json:"turn,omitempty"`   // the agent's own name of the turn, where it has one
	Item      Item            `json:"item,omitzero"`
	Delta     string          `json:"delta,omitempty"`
	Plan      []PlanStep      `json:"plan,omitempty"`
	Diff      string          `json:"diff,omitempty"`
	Usage     Usage           `json:"usage,omitzero"`
	Context   ContextUse      `json:"context,omitzero"`
	Request   Request         `json:"request,omitzero"`
	Err       *AgentError     `json:"error,omitempty"`
	WillRetry bool            `json:"will_retry,omitempty"`
	Status    TurnStatus      `json:"status,omitempty"`
	Stderr    bool            `json:"stderr,omitempty"` // output: of stderr, not of stdout
	More      bool            `json:"more,omitempty"`   // output: the line goes on
	Method    string          `json:"method,omitempty"` // unknown: the agent's own name of the event
	Raw       json.RawMessage `json:"raw,omitempty"`    // unknown: what came, at most 4 KiB of it
}

// ItemKind classes what an agent does in a turn.
type ItemKind string

// The kinds of items. An agent's kind that is none of these is ItemOther.
const (
	ItemMessage   ItemKind = "message"   // the agent's words
	ItemReasoning ItemKind = "reasoning" // its thinking
	ItemCommand   ItemKind = "command"   // a shell command
	ItemEdit      ItemKind = "edit"      // a change of files
	ItemTool      ItemKind = "tool"      // any other call of a tool
	ItemOther     ItemKind = "other"
)

// Item is one thing an agent did in a turn.
type Item struct {
	ID     string   `json:"id,omitempty"` // unique in its turn
	Kind   ItemKind `json:"kind,omitempty"`
	Type   string   `json:"type,omitempty"`   // the agent's own word for it: Bash, fileChange, webSearch
	Text   string   `json:"text,omitempty"`   // words, command or call, in that order of what there is
	Output string   `json:"output,omitempty"` // what a command or tool gave back
	Files  []string `json:"files,omitempty"`  // edit: paths as the agent names them
	Exit   *int     `json:"exit,omitempty"`   // command: its exit code, nil when unknown
	// Status is completed, failed or declined; empty while it is under way.
	Status string `json:"status,omitempty"`
	// Final marks the message that the agent itself calls its answer.
	Final bool `json:"final,omitempty"`
	// Parent is the item that this one belongs to: what a subagent says is not the
	// agent's word.
	Parent string `json:"parent,omitempty"`
}

// The statuses of items that are over.
const (
	ItemCompleted = "completed"
	ItemFailed    = "failed"
	ItemDeclined  = "declined" // nobody allowed it
)

// PlanStep is a step of the plan that an agent keeps for itself within a turn; it is
// shown as it is and never mixed into plan.jsonl.
type PlanStep struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending, in_progress, completed
}

// TurnStatus is how an agent says that its turn ended.
type TurnStatus string

// The ends of a turn.
const (
	TurnCompleted   TurnStatus = "completed"
	TurnInterrupted TurnStatus = "interrupted"
	TurnFailed      TurnStatus = "failed"
)

// ItemCount is how many items of a kind a turn had.
type ItemCount struct {
	Kind ItemKind `json:"kind"`
	N    int      `json:"n"`
}

// TurnSummary is what a turn was, in short: for the receipt and for people.
// Its lists are cut to the last few; Items counts all.
type TurnSummary struct {
	Items    []ItemCount   `json:"items,omitempty"`
	Plan     []PlanStep    `json:"plan,omitempty"`   // the last one
	Files    []string      `json:"files,omitempty"`  // that the agent says it changed; git knows better
	Errors   []string      `json:"errors,omitempty"` // also those it got over by trying again
	Compacts int           `json:"compacts,omitempty"`
	Requests int           `json:"requests,omitempty"` // approvals and questions
	Unknown  int           `json:"unknown,omitempty"`  // events of kinds that ralph does not know
	Waited   time.Duration `json:"waited,omitempty"`   // for answers; no part of the turn's time limit
	Diff     *DiffSummary  `json:"diff,omitempty"`     // nil where nobody told one
}

// DiffSummary is the diff of a turn in numbers.
type DiffSummary struct {
	Files   int    `json:"files"`
	Added   int64  `json:"added"` // lines
	Deleted int64  `json:"deleted"`
	By      string `json:"by"` // git, or agent: as the agent told it
}

// Words is what the event says to people; false when it says nothing. Items speak once,
// when they are whole: an agent's words are read for signals by line. What a subagent
// says is not the agent's word.
func (e StreamEvent) Words() (Words, bool) {
	i := e.Item
	switch e.Kind {
	case StreamOutput:
		if e.Stderr {
			return Words{WordsStderr, e.Delta, e.More}, true
		}
		return Words{WordsOutput, e.Delta, e.More}, true
	case StreamItem:
		if i.Kind == ItemCommand || i.Kind == ItemTool || i.Kind == ItemEdit {
			return Words{Kind: WordsTool, Text: i.Line()}, true
		}
	case StreamItemDone:
		switch {
		case i.Parent != "":
		case i.Kind == ItemMessage && i.Text != "":
			return Words{Kind: WordsMessage, Text: i.Text}, true
		case i.Kind == ItemReasoning && i.Text != "":
			return Words{Kind: WordsReasoning, Text: i.Text}, true
		case i.Output != "":
			return Words{Kind: WordsResult, Text: text.Cut(i.Output, maxResultWords)}, true
		}
	case StreamError:
		if e.Err != nil {
			return Words{Kind: WordsError, Text: e.Err.Message}, true
		}
	}
	return Words{}, false
}

// Line is a command, edit or call of a tool in one line.
func (i Item) Line() string {
	s := i.Text
	if s == "" {
		s = strings.Join(i.Files, ", ")
	}
	if i.Type != "" && i.Kind != ItemCommand {
		s = strings.TrimSpace(i.Type + " " + s)
	}
	return text.Cut(text.OneLine(s), maxToolWords)
}
