package view

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/chart"
)

// HistoryModel is the page of past sessions.
type HistoryModel struct {
	Read     Reading
	Ranges   []Choice
	Figures  []FigureRow
	Session  ralph.SessionID // whose figures stand beside those of all
	Live     bool
	Since    time.Time // what a clock counts from; zero: it does not go on
	Charts   []chart.Chart
	Sessions []SessionRow
	From, Of int // the rows shown, of all
	Newer    string
	Older    string
}

// Reading is how far the history has been read.
type Reading struct {
	Read, Of int64
	Done     bool
	Trouble  string
}

// Choice is a link of several, one of which holds.
type Choice struct {
	Name, Href string
	On         bool
}

// FigureRow is one figure, of the session and of all time.
type FigureRow struct {
	Name, This, All string
	Clock           bool          // both are times that go on
	Before          time.Duration // what All has beside This
}

// SessionRow is one session in the list.
type SessionRow struct {
	ID         ralph.SessionID
	Mode       string
	Started    time.Time
	Status     string // of the badge
	Ended      string // its word
	Detail     string
	Ran        string
	Done       int
	Failed     int // and timed out
	Iterations int
	Merges     int
	Cost       string
	Tokens     string
}

// of counts: `n of m`.
func ofAll(read, all int64) string { return fmt.Sprintf("%s of %s", thousands(read), thousands(all)) }

func rowsShown(m HistoryModel) string {
	return fmt.Sprintf("%d to %d of %d", m.From, m.From+len(m.Sessions)-1, m.Of)
}

// drawnFirst divides charts into those that show something and those that are empty.
func drawnFirst(list []chart.Chart) (drawn, empty []chart.Chart) {
	for _, c := range list {
		if c.Empty == "" {
			drawn = append(drawn, c)
		} else {
			empty = append(empty, c)
		}
	}
	return drawn, empty
}
