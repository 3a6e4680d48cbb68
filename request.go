package ralph

import (
	"time"
)

// A Request is what an agent wants to know in the middle of a turn: may it do this, or
// what shall it do. ralph answers by policy, or a person does at a gate.
type Request struct {
	ID   string      `json:"id,omitempty"` // the agent's own id of the request
	Kind RequestKind `json:"kind,omitempty"`
	// Op is what would be done, where Kind is RequestApproval.
	Op      Operation `json:"op,omitempty"`
	Tool    string    `json:"tool,omitempty"`    // the agent's name of the tool
	Command string    `json:"command,omitempty"` // OpCommand: shell text
	Dir     string    `json:"dir,omitempty"`     // OpCommand: where it would run, "" is the turn's folder
	Paths   []string  `json:"paths,omitempty"`   // OpEdit, OpRead: absolute, or relative to Dir
	Text    string    `json:"text,omitempty"`    // one line for a person; of a question, its words
	Detail  string    `json:"detail,omitempty"`  // what to decide by: a patch, the tool's input; at most 64 KiB
	Options []string  `json:"options,omitempty"` // RequestQuestion: answers to choose from; other words may do as well
	// Shown: the agent's own rules would let it pass. It is asked so that the never list
	// and the patterns can hold it; gate.approvals: ask then lets pass what is known to be safe.
	Shown bool `json:"shown,omitempty"`
	// Questions are the parts of a question that has several, each with its own
	// options; Text then lists them all.
	Questions []Question `json:"questions,omitempty"`
	// Red is how checks are red that were so before the work, of OpCheck: no agent asks
	// that, ralph does.
	Red []RedCheck `json:"red,omitempty"`
	// Cut: in an approval, what says which request it is was too long to be kept whole.
	Cut bool `json:"cut,omitempty"`
}

// RequestKind tells a yes or no from words.
type RequestKind string

// The kinds of requests.
const (
	RequestApproval RequestKind = "approval"
	RequestQuestion RequestKind = "question"
)

// Operation classes what an agent wants to do.
type Operation string

// The operations.
const (
	OpCommand     Operation = "command"     // run a shell command
	OpEdit        Operation = "edit"        // change files
	OpRead        Operation = "read"        // read files, search
	OpTool        Operation = "tool"        // call another tool: Tool and Detail say which and how
	OpCheck       Operation = "check"       // let red checks pass that were red before
	OpPermissions Operation = "permissions" // more rights for itself: network, folders
)

// Question is one of several questions asked at once.
type Question struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
}

// Reply answers a Request.
type Reply struct {
	Allow bool   // RequestApproval
	Text  string // RequestQuestion: the answer; else why not, for the agent to read
	Stop  bool   // end the turn: nobody answered in time, and that ends it
}

// ApprovalRequest is the kind of an approval before something that an agent wants to do in
// the middle of a turn.
const ApprovalRequest = "approval"

// Verdicts on approvals in the middle of a turn, beside approved and denied.
const (
	Expired   Verdict = "expired"   // nobody answered in time; that never approves
	Withdrawn Verdict = "withdrawn" // the agent does not need an answer any more, or is gone
)

// dropTurnApprovals takes back what was asked in the middle of turns of a task, or of
// all with "": those turns are over, and nobody waits for the answers. What a hook of a
// person's own session asks is none of the engine's.
func (s *State) dropTurnApprovals(task TaskID) {
	kept := s.Approvals[:0:0]
	for _, g := range s.Approvals {
		if !g.InTurn || g.By != "" || task != "" && g.Task != task {
			kept = append(kept, g)
		}
	}
	s.Approvals = kept
}

// approvalsBeside are the approvals that no engine asked for: they outlive its jobs, but not
// their own time. Whoever asked may have died without a word.
func (s *State) approvalsBeside(now time.Time) []*Approval {
	var kept []*Approval
	for _, g := range s.Approvals {
		if g.By != "" && g.Answerable(false, now) {
			kept = append(kept, g)
		}
	}
	return kept
}

// answeredInTurn keeps the answer for the turn that waits for it. What a person said
// to a question stays with the task: the next iteration may begin without memory.
func (s *State) answeredInTurn(g *Approval, f Answered) {
	s.editTask(g.Task, func(t *Task) {
		t.Run.PendingReplies = append(t.Run.PendingReplies[:len(t.Run.PendingReplies):len(t.Run.PendingReplies)], f)
		if g.Kind == ApprovalQuestion && f.Text != "" && f.Verdict == "" {
			t.Run.Answers = append(t.Run.Answers[:len(t.Run.Answers):len(t.Run.Answers)], QA{g.Text, f.Text})
		}
	})
}

// Reply returns the answer to an approval in the middle of a turn, nil while there is none.
func (s *State) Reply(task TaskID, id ApprovalID) *Answered {
	t := s.Task(task)
	if t == nil {
		return nil
	}
	for i := range t.Run.PendingReplies {
		if t.Run.PendingReplies[i].ID == id {
			return &t.Run.PendingReplies[i]
		}
	}
	return nil
}
