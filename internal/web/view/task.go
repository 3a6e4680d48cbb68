package view

import (
	"net/url"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

// What the page of a task shows.
type (
	TaskModel      = page.TaskModel
	TaskEnd        = page.TaskEnd
	TaskWords      = page.TaskWords
	TaskNeighbours = page.TaskNeighbours
	LiveOutput     = page.LiveOutput
	TurnFeed       = page.TurnFeed
	TurnItem       = page.TurnItem
	FeedModel      = page.FeedModel
	TurnRow        = page.TurnRow
	FileModel      = page.FileModel
	DiffModel      = page.DiffModel
	ChecksModel    = page.ChecksModel
	CheckRow       = page.CheckRow
	MergeModel     = page.MergeModel
	Told           = page.Told
)

// TurnFileAddress is where a file of a turn is, whole and as text.
func TurnFileAddress(id ralph.TaskID, record, name string) string {
	return taskAddress(id) + "/file/" + url.PathEscape(record) + "/" + url.PathEscape(name)
}

// turnAddress shows a file of a turn on the task's page.
func turnAddress(id ralph.TaskID, record, name string) string {
	return taskAddress(id) + "?" + url.Values{"iteration": {record}, "file": {name}}.Encode() + "#task-file"
}

// mark is the sign of a step of an agent's own plan.
func mark(status string) (sign, tone string) {
	switch status {
	case "completed":
		return "✓", "tone-good"
	case "in_progress":
		return "●", "tone-busy"
	}
	return "○", "muted"
}

func tokens(u ralph.Usage) string {
	n := u.Input + u.Output + u.CacheRead + u.CacheWrite
	if n == 0 {
		return ""
	}
	return Amount(n)
}

func costOf(u ralph.Usage) string {
	if u.Cost == 0 && !u.Known {
		return "–"
	}
	return dollars(u.Cost)
}

func elapsedShort(d time.Duration) string { return page.Short(d) }

func bytesWords(n int64) string { return page.Bytes(n) }
