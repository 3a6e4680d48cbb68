package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

// What the overview shows.
type (
	TaskLink        = page.TaskLink
	Need            = page.Need
	NeedsModel      = page.NeedsModel
	SlotCard        = page.SlotCard
	SlotsModel      = page.SlotsModel
	WorkersModel    = page.WorkersModel
	FeedItem        = page.FeedItem
	StatusCount     = page.StatusCount
	PhaseBar        = page.PhaseBar
	ProgressModel   = page.ProgressModel
	NextTask        = page.NextTask
	MergesModel     = page.MergesModel
	InboxModel      = page.InboxModel
	StatisticsModel = page.StatisticsModel
	IssuesModel     = page.IssuesModel
)

// freeWords are the slots without work.
func freeWords(n int) string {
	if n == 1 {
		return "1 free slot"
	}
	return fmt.Sprintf("%d free slots", n)
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

// FeedLines are the lines of the feed, each sent by itself, once.
func FeedLines(items []FeedItem) (out []Section) {
	for i, x := range items {
		class := "feed-item"
		if x.Decision {
			class += " decision"
		}
		out = append(out, Section{ID: feedID(items, i), Class: class, Tone: x.Tone(), Part: true, Item: true, Body: feedLine(x)})
	}
	return out
}

// latest is the newest decision.
func latest(items []FeedItem) *FeedItem {
	for i := range items {
		if items[i].Decision {
			return &items[i]
		}
	}
	return nil
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

// tasksWord stands behind a number of tasks.
func tasksWord(n int) string {
	if n == 1 {
		return "task"
	}
	return "tasks"
}
