package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/text"
)

// PlanHead is what stands over every picture of the plan.
type PlanHead struct {
	File    string
	Total   int
	Shares  []Share // of the progress, in the order of the bar
	Cost    float64
	Elapsed time.Duration
	Phase   string // that is open
	Offers  []action.Available
	Tabs    []Tab
}

// Share is one part of the progress bar.
type Share struct {
	Stand Stand
	Count int
}

// Tab is one way to look at the plan.
type Tab struct {
	Title, Address, Key string
	Here                bool
}

// Stand is where a task stands as people see it: its status, with ready and waiting told
// apart, and with what is done and not merged yet.
type Stand string

// The stands.
const (
	StandWaiting Stand = "waiting"
	StandReady   Stand = "ready"
	StandActive  Stand = "active"
	StandMerging Stand = "merging"
	StandDone    Stand = "done"
	StandFailed  Stand = "failed"
	StandBlocked Stand = "blocked"
	StandTimeout Stand = "timeout"
	StandSkipped Stand = "skipped"
)

// Card is a task on the board, in the table, and in lists of tasks.
type Card struct {
	ID         ralph.TaskID
	Name       string
	Stand      Stand
	Phase      string
	Priority   string
	Tags       []string
	Line       string // why it waits, what it says, why it ended: one line
	Needs      bool   // it waits for a person
	Stuck      bool
	Scored     bool // it is ready, and Rank and Score are known
	Rank       int
	Score      int
	Iterations int
	Counted    string // what Iterations is a number of: iterations, or turns
	Most       int    // iterations, 0 when not known
	Cost       float64
	Spent      time.Duration
	Progress   int
	Merge      string
	Agent      string
	Slot       int
	TurnAt     time.Time
	Offers     []action.Available
}

// Column is a column of the board.
type Column struct {
	Key, Title string
	Total      int
	Cards      []Card
	More       string // address of the rest, "" when all are shown
}

// PlanTable is the plan as a table, a page of it.
type PlanTable struct {
	Rows         []Card
	From, Total  int // Rows[0] is number From, from 1
	Before, Next string
	Sorts        map[string]string // address that sorts by a column
	Sorted       string
}

// PlanFilter is the filter, as the address has it, with what one can choose.
type PlanFilter struct {
	Status, Phase, Tag, Query, View string
	Phases, Tags                    []string
	Shown, Total                    int
	Clear                           string
}

// Record is an issue or a reject.
type Record struct {
	ID, Text string
	Task     bool // ID is a task's
}

// Why is how the scheduler sees a task: what `ralph why` says.
type Why struct {
	Words string
	Waits []string
	Ready bool
	Rank  int
	Score int
	Parts []ScorePart
}

// ScorePart is one of the parts of a score.
type ScorePart struct {
	Points int
	Reason string
}

// Stands are what the filter offers.
func Stands() []Stand {
	return []Stand{StandWaiting, StandReady, StandActive, StandMerging, StandDone, StandFailed, StandBlocked, StandTimeout, StandSkipped}
}

// Meta is the second line of a card.
func (c Card) Meta() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if c.Scored {
		add("%s · score %d", ordinal(c.Rank), c.Score)
	}
	if c.Slot > 0 {
		add("slot %d", c.Slot)
	}
	if c.Agent != "" && c.Stand == StandActive {
		add("%s", c.Agent)
	}
	if n := c.iterations(); n != "" {
		add("%s", n)
	}
	if c.Cost > 0 {
		add("%s", Dollars(c.Cost))
	}
	return strings.Join(parts, " · ")
}

func ordinal(n int) string {
	if n == 1 {
		return "next"
	}
	return "number " + strconv.Itoa(n)
}

// iterations is `iteration 2 of 25`, or how many there were.
func (c Card) iterations() string {
	switch {
	case c.Stand == StandActive && c.Most > 0:
		return fmt.Sprintf("%s %d of %d", c.Counted, c.Iterations+1, c.Most)
	case c.Stand == StandActive:
		return fmt.Sprintf("%s %d", c.Counted, c.Iterations+1)
	case c.Iterations > 0:
		return text.Count(c.Iterations, c.Counted)
	}
	return ""
}

// Words of the progress: `12 of 40 done, 2 failed`.
func (h PlanHead) Words() string {
	var out []string
	for _, s := range h.Shares {
		if s.Count > 0 {
			out = append(out, fmt.Sprintf("%d %s", s.Count, s.Stand))
		}
	}
	return strings.Join(out, ", ")
}

// Percent of the tasks that are done.
func (h PlanHead) Percent() int {
	for _, s := range h.Shares {
		if s.Stand == StandDone && h.Total > 0 {
			return 100 * s.Count / h.Total
		}
	}
	return 0
}

// BarShare is a part of the bar, in thousandths of its width.
type BarShare struct {
	Stand       string
	From, Width string
}

// Bar is how tasks stand, as parts of one bar; those with none are left out.
func (h PlanHead) Bar() []BarShare {
	var out []BarShare
	at := 0
	for _, s := range h.Shares {
		if s.Count > 0 {
			from, to := 1000*at/h.Total, 1000*(at+s.Count)/h.Total
			out = append(out, BarShare{string(s.Stand), strconv.Itoa(from), strconv.Itoa(to - from)})
			at += s.Count
		}
	}
	return out
}

// Dollars writes a cost.
func Dollars(v float64) string {
	if v > 0 && v < 0.01 {
		return "<$0.01"
	}
	return fmt.Sprintf("$%.2f", v)
}

// Amount writes a large number shortly: `1.2M`.
func Amount(n int64) string {
	switch {
	case n >= 9_950_000:
		return fmt.Sprintf("%dM", (n+500_000)/1_000_000)
	case n >= 999_500:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 9_950:
		return fmt.Sprintf("%dk", (n+500)/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// Titled writes a word with a capital letter.
func Titled(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
