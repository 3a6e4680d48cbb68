package view

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/screen/history"
)

// What the page of past sessions shows.
type (
	HistoryModel = history.Model
	Reading      = history.Reading
	Choice       = history.Choice
	FigureRow    = history.FigureRow
	SessionRow   = history.SessionRow
)

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
