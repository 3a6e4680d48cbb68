package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/markup"
)

// TaskModel is the head of a task's page.
type TaskModel struct {
	Card      Card
	Thread    bool
	Kind      string // "" is a task of the plan
	Spec      string
	Accepted  bool
	Unneeded  bool // it was done before: nothing to change
	Assigned  bool
	Skip      string
	Usage     ralph.Usage
	Context   ralph.ContextUse
	Branch    string
	Worktree  string
	Commit    string
	Stash     string
	Retries   int
	Unchanged int
	StepError string
	Conflicts []string
	StartedAt time.Time
	EndedAt   time.Time
	RetryAt   time.Time
	Gate      *ralph.Approval // that waits for a person
	Why       Why
	HasWhy    bool
	End       TaskEnd
	Offers    []action.Available
	Engine    []action.Available
}

// TaskEnd is how a task's last attempt ended, and by which rule.
type TaskEnd struct {
	At             time.Time
	Status         ralph.TaskStatus
	Rule, Text, By string
}

// TaskWords is what people wrote; Notes and Accept are HTML of internal/web/markup.
type TaskWords struct {
	Notes, Accept string
	Rejects       []string
	Answers       []ralph.QA
}

// TaskNeighbours are the tasks before and behind one.
type TaskNeighbours struct {
	Deps, Heirs         []Card
	MoreDeps, MoreHeirs int
	Graph               string
}

// LiveOutput is what the agent at work prints; HTML is of internal/web/markup.
type LiveOutput struct {
	Running bool
	ID      ralph.TaskID
	Record  string
	Since   time.Time
	HTML    string
	Before  int64 // bytes before it
	Records bool  // it is JSON, a line each: for programs
}

// TurnFeed is what an agent does in a turn, as internal/step writes it down.
type TurnFeed struct {
	Plan  []ralph.PlanStep `json:"plan"`
	Diff  string           `json:"diff"`
	Cut   int              `json:"cut"`
	More  int              `json:"more"`
	Items []TurnItem       `json:"items"`
	Usage ralph.Usage      `json:"usage"`
}

// TurnItem is one thing that an agent did.
type TurnItem struct {
	Kind   ralph.ItemKind `json:"kind"`
	Type   string         `json:"type"`
	Text   string         `json:"text"`
	Files  []string       `json:"files"`
	Exit   *int           `json:"exit"`
	Status string         `json:"status"`
}

// FeedModel is the feed of the turn under way, or of the last one.
type FeedModel struct {
	Running bool
	Feed    *TurnFeed
	Beside  bool // what it does stands in the place of its output, which people cannot read
}

// TurnRow is one turn of a task.
type TurnRow struct {
	Record    string // its folder, "" when there is none
	Iteration int
	Agent     string
	Stage     string
	At        time.Time
	Took      time.Duration
	Usage     ralph.Usage
	Signal    string
	Words     string
	Checks    string // green, red, ""
	Exit      string
	Changed   bool
}

// FileModel is a file of a turn.
type FileModel struct {
	Shown   bool
	Missing bool
	ID      ralph.TaskID
	Record  string
	Name    string
	Names   []string
	HTML    string // of internal/web/markup
	Block   bool   // HTML is blocks, not text of a terminal
	Patch   markup.Patch
	Checks  ChecksModel
	Cut     int64 // bytes that are left out
	FromEnd bool  // of the beginning
	Raw     string
}

// DiffModel is a patch with its title.
type DiffModel struct {
	Shown bool
	Title string
	Patch markup.Patch
	Cut   int64
	Raw   string
}

// ChecksModel is one run of the checks.
type ChecksModel struct {
	Ran, Pass bool
	Took      time.Duration
	// PassedOver tells of red checks that did not count, "" for none.
	PassedOver string
	Rows       []CheckRow
	More       int
	Findings   []ralph.Finding
}

// CheckRow is one check; HTML is its output, of internal/web/markup.
type CheckRow struct {
	Result ralph.CheckResult
	Known  bool // it is red, and does not count
	Waived bool // as a person said
	HTML   string
}

// MergeModel is where a task's work is on its way to the base branch.
type MergeModel struct {
	State, Commit, GaveUp string
	Resolves              int
	Files                 []ralph.ConflictFile
	MoreFiles             int
}

// Told is a line of a task's history.
type Told struct {
	Seq  int64
	At   time.Time
	By   string
	Text string
}

// Counted is what of the task is counted: a thread has turns.
func (m TaskModel) Counted() string { return CountedWord(m.Thread) }

// Status is the word that the head shows.
func (m TaskModel) Status() Stand { return m.Card.Stand }

// Words say how the last attempt ended.
func (e TaskEnd) Words() string {
	if e.Text == "" && e.Rule == "" {
		return ""
	}
	text := e.Text
	if e.Rule != "" {
		text = strings.TrimSpace(text + " (rule " + e.Rule + ")")
	}
	return strings.TrimSuffix(report.EndedWord(e.Status)+": "+text, ": ")
}

// Line is the words of an item, in one line.
func (x TurnItem) Line() string {
	s, _, _ := strings.Cut(strings.TrimSpace(x.Text), "\n")
	if x.Kind == ralph.ItemEdit && len(x.Files) > 0 {
		s = strings.Join(x.Files, ", ")
	}
	return text.Visible(s)
}

// Outcome is how an item ended, where that is not well.
func (x TurnItem) Outcome() string {
	switch {
	case x.Exit != nil && *x.Exit != 0:
		return fmt.Sprintf("exit %d", *x.Exit)
	case x.Status != "" && x.Status != ralph.ItemCompleted:
		return x.Status
	}
	return ""
}

// Word is what kind of thing an item is.
func (x TurnItem) Word() string {
	switch x.Kind {
	case ralph.ItemMessage:
		return "says"
	case ralph.ItemReasoning:
		return "thinks"
	case ralph.ItemCommand:
		return "runs"
	case ralph.ItemEdit:
		return "edits"
	}
	if x.Type != "" {
		return text.Visible(x.Type)
	}
	return string(x.Kind)
}

// End is the end of a turn as a status: word and colour.
func (t TurnRow) End() (word, tone string) {
	switch t.Exit {
	case "running":
		return "running", "running"
	case "ok":
		return "ok", "ok"
	case "unknown":
		return "cut off", "interrupted"
	}
	return t.Exit, "failed"
}

// Status is the colour of a check.
func (c CheckRow) Status() string {
	if c.Result.Pass {
		return "green"
	}
	return "red"
}

// Words say how a check went.
func (c CheckRow) Words() string {
	var out []string
	r := c.Result
	if !r.Pass && (r.Why != "" || r.Exit > 0) {
		out = append(out, r.WhyRed())
	} else if r.Why != "" {
		out = append(out, r.Why)
	}
	if r.Took > 0 {
		out = append(out, Short(r.Took))
	}
	if r.Reused {
		out = append(out, "as on this tree before")
	}
	if r.Tries > 1 {
		out = append(out, fmt.Sprintf("%d runs", r.Tries))
	}
	switch {
	case c.Waived:
		out = append(out, "a person let it pass")
	case c.Known:
		out = append(out, "red in the same way before the work: passed over")
	}
	if !r.Pass && len(r.Failed) > 0 {
		out = append(out, text.List(r.Failed, 5))
	}
	if r.Coverage != nil {
		out = append(out, fmt.Sprintf("%.1f %% covered", r.Coverage.Percent))
	}
	return strings.Join(out, ", ")
}

// Iteration is the one at work, else how many there were.
func (m TaskModel) Iteration() int {
	if m.Card.Stand == StandActive {
		return m.Card.Iterations + 1
	}
	return m.Card.Iterations
}

// CountedWord is what is counted of a task, or of a thread.
func CountedWord(thread bool) string {
	if thread {
		return "Turn"
	}
	return "Iteration"
}

// TurnsTitle is the title of a table of turns.
func TurnsTitle(thread bool) string { return CountedWord(thread) + "s" }

// Short is a time that may be very short.
func Short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return ralph.Elapsed(d)
}

// Bytes are a number of bytes in words.
func Bytes(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
