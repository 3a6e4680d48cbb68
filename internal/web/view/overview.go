package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
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
	Gate   *ralph.Gate
	Tasks  []TaskLink
	Offers []action.Available
}

// NeedsModel is what waits for a person, most pressing first.
type NeedsModel struct {
	List []Need
	More int // that are not in the list
}

func (m NeedsModel) count() int { return len(m.List) + m.More }

// id names a need in the page, the same as long as it waits.
func (n Need) id() string {
	if n.Gate != nil {
		return "need-" + string(n.Gate.ID)
	}
	return "need-" + n.Kind
}

// href is where all about a need stands.
func (n Need) href() string {
	switch {
	case n.Gate != nil:
		return "/gate/" + string(n.Gate.ID)
	case len(n.Tasks) == 1:
		return "/task/" + string(n.Tasks[0].ID)
	}
	return "/plan"
}

// asks is what a gate asks, without the command that code gives.
func (n Need) asks() string {
	if n.code() != "" {
		return "Run"
	}
	return text.Cut(n.Text, 600)
}

// code is the command that a gate asks about, which is read as it is typed.
func (n Need) code() string {
	if n.Gate == nil || n.Gate.Kind != "operation" {
		return ""
	}
	command, ok := strings.CutPrefix(n.Text, "run ")
	if !ok {
		return ""
	}
	return text.Cut(command, 600)
}

// detail is the beginning of what a gate is decided by, where its text does not say it.
func (n Need) detail() string {
	if n.Gate == nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(n.Gate.Detail)) {
		line = strings.TrimRight(line, "\r\n")
		if said, ok := strings.CutPrefix(line, "Command: "); !ok || said != n.code() {
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
	Agent     string
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
	Gate      ralph.GateID // that it waits for
	Offers    []action.Available
}

// state is the word and colour of a card.
func (c SlotCard) state() (status, word string) {
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

func (c SlotCard) id() string {
	if c.Slot > 0 {
		return fmt.Sprintf("slot-%d", c.Slot)
	}
	return "work-" + string(c.Task) + c.Kind
}

// where is the place of the work, what it is and who does it.
func (c SlotCard) where() string {
	var parts []string
	if c.Slot > 0 {
		parts = append(parts, fmt.Sprintf("slot %d", c.Slot))
	}
	if c.Kind != "build" && c.Name != "" {
		parts = append(parts, c.Kind)
	}
	if c.Agent != "" {
		parts = append(parts, titled(c.Agent))
	}
	return strings.Join(parts, " · ")
}

func (c SlotCard) title() string {
	if c.Name != "" {
		return c.Name
	}
	return titled(c.Kind)
}

func (c SlotCard) iteration() string {
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
	Resume   bool       // the session was cut; the bar asks whether it goes on
	Cut      []TaskLink // at work when it was
}

// freeWords are the slots without work.
func freeWords(n int) string {
	if n == 1 {
		return "1 free slot"
	}
	return fmt.Sprintf("%d free slots", n)
}

func (m SlotsModel) free() int { return max(0, m.Parallel-m.Busy) }

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

// feedID is the id of a line of the feed: one fact may have several that are called alike.
func feedID(items []FeedItem, i int) string {
	n := 0
	for _, x := range items[:i] {
		if x.Seq == items[i].Seq {
			n++
		}
	}
	return fmt.Sprintf("f%d-%d", items[i].Seq, n)
}

// tone is the colour of a line of the feed, by its label.
func (f FeedItem) tone() string {
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

// full is a line whole: on the page it is cut to what fits.
func (f FeedItem) full() string { return text.Cut(strings.TrimSpace(f.Text+"\n"+f.Why), 600) }

// latest is the newest decision.
func latest(items []FeedItem) *FeedItem {
	for i := range items {
		if items[i].Decision {
			return &items[i]
		}
	}
	return nil
}

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

// part is a part of the bar of all tasks, in thousandths.
type part struct {
	status  string
	x, wide float64
}

func (m ProgressModel) splits() []part {
	var out []part
	x := 0.0
	for _, c := range m.Counts {
		wide := 1000 * float64(c.Count) / float64(max(1, m.Total))
		out = append(out, part{c.Status, x, wide})
		x += wide
	}
	return out
}

// done is how many tasks are done, in percent.
func (m ProgressModel) done() int {
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

// landing says where the finished work is.
func (m MergesModel) landing() (status, words string) {
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

// specAt is when a spec came to its status.
func specAt(x *ralph.Spec) time.Time {
	switch {
	case x.Status == ralph.SpecActive && !x.StartedAt.IsZero():
		return x.StartedAt
	case !x.EndedAt.IsZero():
		return x.EndedAt
	}
	return x.AddedAt
}

// seconds writes how long something took.
func seconds(v float64) string {
	d := time.Duration(v * float64(time.Second))
	if d > 0 && d < 10*time.Second {
		return fmt.Sprintf("%.1fs", v)
	}
	return ralph.Elapsed(d)
}

// needWord is what kind of thing waits.
func needWord(kind string) string {
	switch kind {
	case "failures":
		return "failures in a row"
	case "limits":
		return "limits"
	case "assign":
		return "your choice"
	}
	return kind
}

func waitingWords(m SlotsModel) string {
	n, what := m.Planned, "task"
	if n == 0 {
		n, what = m.Queued, "spec"
	}
	if n == 1 {
		return "1 " + what + " waits, nobody works"
	}
	return fmt.Sprintf("%d %ss wait, nobody works", n, what)
}

func startCommand(m SlotsModel) string {
	if m.Planned > 0 && m.Queued == 0 {
		return "ralph autopilot"
	}
	return "ralph agent"
}

// feedHref is where all of a fact stands: a decision has a receipt.
func feedHref(x FeedItem) string {
	switch {
	case x.Decision:
		return fmt.Sprintf("/receipt/%d", x.Seq)
	case x.Task != "":
		return "/task/" + string(x.Task)
	}
	return "/history"
}

func joinLines(list []string) string { return strings.Join(list, "\n") }

// named reports whether the text of a line names its task.
func (f FeedItem) named() bool { return f.Task == "" || strings.Contains(f.Text, string(f.Task)) }

// split divides actions into those with these names, in this order, and the others.
func split(offers []action.Available, names ...string) (first, rest []action.Available) {
	for _, name := range names {
		for _, o := range offers {
			if o.Action == name {
				first = append(first, o)
			}
		}
	}
	for _, o := range offers {
		if !slices.Contains(names, o.Action) {
			rest = append(rest, o)
		}
	}
	if len(rest) == 1 { // one alone takes no more room than the word for it
		return append(first, rest[0]), nil
	}
	return first, rest
}
