package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workers"
)

// TaskLink is a task as it is named beside other things.
type TaskLink struct {
	ID     ralph.TaskID
	Name   string
	Status ralph.TaskStatus
	Reason string
	Offers []action.Available
}

// Need is one thing that waits for a person.
type Need struct {
	Kind   string
	Text   string
	Hint   string // what helps, where no button does
	Gate   *ralph.Approval
	Tasks  []TaskLink
	Offers []action.Available
}

// NeedsModel is what waits for a person, most pressing first.
type NeedsModel struct {
	List []Need
	More int // that are not in the list
}

// Count is how many things wait, listed or not.
func (m NeedsModel) Count() int { return len(m.List) + m.More }

// ID names a need in the page, the same as long as it waits.
func (n Need) ID() string {
	if n.Gate != nil {
		return "need-" + string(n.Gate.ID)
	}
	return "need-" + n.Kind
}

// Href is where all about a need stands.
func (n Need) Href() string {
	switch {
	case n.Gate != nil:
		return "/gate/" + string(n.Gate.ID)
	case len(n.Tasks) == 1:
		return "/task/" + string(n.Tasks[0].ID)
	}
	return "/plan"
}

// Asks is what a gate asks, without the command that code gives.
func (n Need) Asks() string {
	if n.Code() != "" {
		return "Run"
	}
	return text.Cut(n.Text, 600)
}

// Code is the command that a gate asks about, which is read as it is typed.
func (n Need) Code() string {
	if n.Gate == nil || n.Gate.Kind != "operation" {
		return ""
	}
	command, ok := strings.CutPrefix(n.Text, "run ")
	if !ok {
		return ""
	}
	return text.Cut(command, 600)
}

// Detail is the beginning of what a gate is decided by, where its text does not say it.
func (n Need) Detail() string {
	if n.Gate == nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(n.Gate.Detail)) {
		line = strings.TrimRight(line, "\r\n")
		if said, ok := strings.CutPrefix(line, "Command: "); !ok || said != n.Code() {
			lines = append(lines, line)
		}
		if len(lines) > 6 {
			lines[6] = "..."
			break
		}
	}
	return text.Cut(strings.TrimSpace(strings.Join(lines, "\n")), 800)
}

// SlotCard is one agent at work, or work that waits.
type SlotCard struct {
	Slot      int // 0: in the checkout, or without a slot while it waits
	Task      ralph.TaskID
	Name      string
	Kind      string // build, resolve, or the stage
	Thread    bool
	Agent     string
	Worker    string // of a fleet that it is on: "on north"; "" for this machine
	Iteration int
	Of        int
	Progress  int
	Note      string
	Since     time.Time // of the task
	Turn      time.Time // since when the turn runs; zero between turns
	Stuck     bool
	Unchanged int
	Context   int // percent of the agent's window
	Filling   bool
	Tokens    string
	Cost      float64
	Words     string
	Doing     string // for it, while no agent is at it
	Wait      *status.WaitRecord
	Gate      ralph.ApprovalID // that it waits for
	Offers    []action.Available
}

// State is the word and colour of a card.
func (c SlotCard) State() (status, word string) {
	switch {
	case c.Gate != "":
		return "waiting_user", "waits for you"
	case c.Wait != nil && c.Wait.Why == "limit":
		return "held", "at its limit"
	case c.Wait != nil:
		return "held", "retries"
	case c.Stuck:
		return "stuck", "may be stuck"
	case strings.HasPrefix(c.Doing, "checking"):
		return "checking", "checking"
	case c.Turn.IsZero():
		return "checking", "between turns"
	}
	return "working", "working"
}

// Place names where the work stands on the page: the slot, or what it is.
func (c SlotCard) Place() string {
	if c.Slot > 0 {
		return fmt.Sprintf("slot-%d", c.Slot)
	}
	return "work-" + string(c.Task) + c.Kind
}

// Where is the place of the work, what it is and who does it.
func (c SlotCard) Where() string {
	var parts []string
	if c.Slot > 0 {
		parts = append(parts, fmt.Sprintf("slot %d", c.Slot))
	}
	if c.Kind != "build" && c.Name != "" {
		parts = append(parts, c.Kind)
	}
	if c.Agent != "" {
		parts = append(parts, Titled(c.Agent))
	}
	if c.Worker != "" {
		parts = append(parts, c.Worker)
	}
	return strings.Join(parts, " · ")
}

// Title is what the slot works on.
func (c SlotCard) Title() string {
	if c.Name != "" {
		return c.Name
	}
	return Titled(c.Kind)
}

// Counted is what of the work is counted: a thread has turns.
func (c SlotCard) Counted() string {
	if c.Thread {
		return "turn"
	}
	return "iteration"
}

// Iterations is the iteration, with how many there may be where there is a limit.
func (c SlotCard) Iterations() string {
	if c.Of > 0 {
		return fmt.Sprintf("%d of %d", c.Iteration, c.Of)
	}
	return fmt.Sprint(c.Iteration)
}

// SlotsModel are the agents at work.
type SlotsModel struct {
	Alive    bool
	Parallel int
	Busy     int
	Cards    []SlotCard
	Fresh    bool // nothing was ever done here
	Queued   int  // specs that wait
	Planned  int  // tasks to be done
	Offers   []action.Available
	Resume   bool       // the bar asks whether the session goes on
	How      string     // it came to its end, a sentence
	Cut      []TaskLink // at work when it was
}

// Free is how many slots have no work.
func (m SlotsModel) Free() int { return max(0, m.Parallel-m.Busy) }

// WorkersModel are the workers of a fleet.
type WorkersModel struct {
	Fleet       bool // there is one
	Busy, Slots int
	Rows        []WorkerRow
	Waiting     []WaitingStep // steps that nobody carries out, or that did not work out before
}

// WorkerRow is one worker, with the tasks of this repository that it works on.
type WorkerRow struct {
	workers.Worker

	Tasks  []TaskLink
	Offers []action.Available
}

// Word is how the worker stands, with the colour for it.
func (w WorkerRow) Word() (status, word string) {
	switch {
	case w.State == workers.Lost:
		return "red", "lost"
	case w.State == workers.Draining:
		return "held", "draining"
	case len(w.Wrong) > 0:
		return "warn", "gets no steps"
	}
	return "ok", "ready"
}

// Facts are what is known of the worker beside how it stands.
func (w WorkerRow) Facts() string {
	parts := []string{fmt.Sprintf("%d of %s busy", w.Busy, text.Count(w.Slots, "slot"))}
	if w.State == workers.Lost {
		parts = nil
	}
	for _, list := range [][]string{w.Agents, w.Labels} {
		if len(list) > 0 {
			parts = append(parts, text.SafeLine(strings.Join(list, ", ")))
		}
	}
	return text.Cut(strings.Join(append(parts, "ralph "+text.SafeLine(w.Version)), " · "), 300)
}

// WaitingStep is a step that waits for a worker, or is tried again.
type WaitingStep struct {
	Task TaskLink
	Step workers.Step
}

// Words say how often it was tried, and why that did not work out.
func (x WaitingStep) Words() string {
	words := "waits for a worker"
	if x.Step.Missing != "" {
		words += ": " + text.OneLine(x.Step.Missing)
	}
	if x.Step.Worker != "" {
		words = "is tried again on " + text.SafeLine(x.Step.Worker)
	}
	if x.Step.Trouble != "" {
		words += fmt.Sprintf(", attempt %d; before: %s", x.Step.Attempt, text.Cut(text.SafeLine(x.Step.Trouble), 300))
	}
	return words
}

// FeedItem is one line of the feed: a decision with its rule and reason, or what came.
type FeedItem struct {
	Seq      int64
	At       time.Time
	Task     ralph.TaskID
	Stage    ralph.TaskID // where it is about one
	Label    string
	Text     string
	Decision bool
	Rule     string
	Why      string
}

// Tone is the colour of a line of the feed, by its label.
func (f FeedItem) Tone() string {
	switch f.Label {
	case "error", "failed", "stopped", "conflict":
		return "bad"
	case "needs you", "note", "retry", "limit", "paused", "stuck", "withdrawn", "context", "expired":
		return "warn"
	case "landed", "land", "complete", "done", "committed":
		return "good"
	case "merge":
		if strings.Contains(f.Text, "merged") {
			return "good"
		}
	case "task":
		if strings.Contains(f.Text, " done") {
			return "good"
		}
		if strings.Contains(f.Text, " failed") {
			return "bad"
		}
	}
	return "plain"
}

// Full is a line whole: on the page it is cut to what fits.
func (f FeedItem) Full() string { return text.Cut(strings.TrimSpace(f.Text+"\n"+f.Why), 600) }

// StatusCount is how many there are of a status.
type StatusCount struct {
	Status string
	Count  int
}

// PhaseBar is how far a phase of the plan is.
type PhaseBar struct {
	Name        string
	Done, Total int
}

// ProgressModel is how far the plan is.
type ProgressModel struct {
	File   string
	Total  int
	Counts []StatusCount
	Phases []PhaseBar
	Next   []NextTask // that would start now, the best first
	Ready  int        // of them in all
}

// NextTask is a task that would start now, with its score.
type NextTask struct {
	ID    ralph.TaskID
	Name  string
	Score int
}

// Part is a part of the bar of all tasks, in thousandths.
type Part struct {
	Status  string
	X, Wide float64
}

// Splits is the bar of all tasks, a part for each status.
func (m ProgressModel) Splits() []Part {
	var out []Part
	x := 0.0
	for _, c := range m.Counts {
		wide := 1000 * float64(c.Count) / float64(max(1, m.Total))
		out = append(out, Part{c.Status, x, wide})
		x += wide
	}
	return out
}

// Done is how many tasks are done, in percent.
func (m ProgressModel) Done() int {
	for _, c := range m.Counts {
		if c.Status == string(ralph.TaskDone) {
			return 100 * c.Count / max(1, m.Total)
		}
	}
	return 0
}

// MergesModel is the merge queue, and how the base branch follows it.
type MergesModel struct {
	Queue    []status.QueueRecord
	More     int
	Landing  *status.LandingRecord
	Clean    int
	Resolved int
}

// Lands says where the finished work is.
func (m MergesModel) Lands() (status, words string) {
	l := m.Landing
	base := l.Base
	if base == "" {
		base = "the checkout"
	}
	switch {
	case l.Moved != "":
		return "resolving", fmt.Sprintf("%s went on to %s: its commits are merged into %s first", base, text.ShortHash(l.Moved), l.Branch)
	case len(l.Held) > 0:
		return "held", fmt.Sprintf("%s waits at %s, finished work is on %s at %s", base, text.ShortHash(l.Landed), l.Branch, text.ShortHash(l.Tip))
	case l.Behind:
		return "merging", fmt.Sprintf("%s is at %s, %s at %s lands next", base, text.ShortHash(l.Landed), l.Branch, text.ShortHash(l.Tip))
	}
	return "landed", fmt.Sprintf("%s is at %s: all finished work has landed", base, text.ShortHash(l.Tip))
}

// InboxModel are the specs.
type InboxModel struct {
	Total  int
	Counts []StatusCount
	List   []*ralph.Spec
}

// StatisticsModel is what was counted.
type StatisticsModel struct {
	Stats   status.Stats
	Runtime time.Duration
	Since   time.Time
}

// IssuesModel is what was found and is no task yet.
type IssuesModel struct {
	List  []*ralph.Issue
	Total int
}

// Named reports whether the text of a line names its task.
func (f FeedItem) Named() bool { return f.Task == "" || strings.Contains(f.Text, string(f.Task)) }

// MorningModel is the short form of the morning report; nil where there is nothing to say.
type MorningModel struct {
	*status.Morning
	Still  []status.StillRow  // the longest
	Landed []status.LandedRow // the newest
	More   int                // that landed too
}
