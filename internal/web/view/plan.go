package view

import (
	"net/url"
	"strconv"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

// Where a task stands.
const (
	StandWaiting = page.StandWaiting
	StandReady   = page.StandReady
	StandActive  = page.StandActive
	StandMerging = page.StandMerging
	StandDone    = page.StandDone
	StandFailed  = page.StandFailed
	StandBlocked = page.StandBlocked
	StandTimeout = page.StandTimeout
	StandSkipped = page.StandSkipped
)

// What pages of the plan show.
type (
	PlanHead   = page.PlanHead
	Share      = page.Share
	Tab        = page.Tab
	Stand      = page.Stand
	Card       = page.Card
	Column     = page.Column
	PlanTable  = page.PlanTable
	PlanFilter = page.PlanFilter
	Record     = page.Record
	Why        = page.Why
	ScorePart  = page.ScorePart
)

// cardAt is the ID of the part of the board that is a task's card.
func cardAt(c Card) string { return "at-card-" + string(c.ID) }

// Cards are the cards of a board, each sent by itself: of a hundred tasks that are worked on only those that change.
func Cards(columns []Column) (out []Section) {
	for _, c := range columns {
		for _, t := range c.Cards {
			out = append(out, Section{ID: cardAt(t), Class: "contents", Part: true, Body: TaskCard(t)})
		}
	}
	return out
}

// Rows are the rows of the table, each sent by itself, as the cards of a board are.
func Rows(t PlanTable) (out []Section) {
	for _, c := range t.Rows {
		out = append(out, Section{ID: "row-" + string(c.ID), Part: true, Row: true, Body: planRow(c)})
	}
	return out
}

func taskAddress(id ralph.TaskID) string { return "/task/" + url.PathEscape(string(id)) }

func elapsed(d time.Duration) string { return ralph.Elapsed(d) }

func itoa(n int) string { return strconv.Itoa(n) }
