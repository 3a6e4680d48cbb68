package receipts

import "github.com/ralph-loop/ralph"

// Replay is what deciding everything again came to, for surfaces that do not decide.
type Replay struct {
	Sessions    int          `json:"sessions"`
	Receipts    int          `json:"receipts"`
	Differ      int          `json:"differ"`
	Differences []Difference `json:"differences,omitempty"`
}

// Difference is one decision that comes out differently.
type Difference struct {
	Seq   int64        `json:"seq"` // of the receipt
	Task  ralph.TaskID `json:"task"`
	Was   string       `json:"was"`
	Now   string       `json:"now"`
	Rules int          `json:"rules,omitempty"` // the revision of the rules that decided, when it is not today's
}

// Proof is what `ralph verify` found: whether every link from decisions over checks to
// commits holds.
type Proof struct {
	Holds    bool         `json:"holds"`
	Facts    int64        `json:"facts"`
	Receipts int          `json:"receipts"`
	Tasks    int          `json:"tasks"` // done by signal and checks
	ByHand   int          `json:"by_hand"`
	Waived   int          `json:"waived"`
	Merges   int          `json:"merges"`
	Landings int          `json:"landings"`
	Commits  int          `json:"commits"` // held against git
	Older    int          `json:"older"`   // decided by the rules of an earlier ralph
	Broken   []BrokenLink `json:"broken"`
	// PassedOver are red checks that held up no task that was done, and no merge, in words.
	PassedOver []string `json:"passed_over,omitempty"`
}

// BrokenLink is a link that does not hold.
type BrokenLink struct {
	Seq  int64        `json:"seq"`
	Task ralph.TaskID `json:"task,omitempty"`
	Link string       `json:"link"`
	Why  string       `json:"why"`
}
