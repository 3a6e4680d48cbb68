package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// Clip shortens a text to at most n runes.
func Clip(s string, n int) string { return text.Clip(OneLine(s), n) }

// Many writes a large number: 950, 12.3k, 4.5M.
func Many(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// Cents leaves out what adding up has left of fractions: nobody pays less than a
// millionth of a dollar.
func Cents(dollars float64) float64 { return math.Round(dollars*1e6) / 1e6 }

// Tokens are all tokens of a usage, those of caches too.
func Tokens(u ralph.Usage) int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// LeftWords is how long a gate still waits.
func LeftWords(deadline, now time.Time) string {
	if !now.Before(deadline) {
		return "its time is over"
	}
	return ralph.Elapsed(deadline.Sub(now)) + " left"
}

// ClockWords says when something ends: the time of day, and how long that is.
func ClockWords(t, now time.Time) string {
	layout := "15:04:05"
	if t.Local().Format(time.DateOnly) != now.Local().Format(time.DateOnly) {
		layout = "Jan 2 15:04"
	}
	words := t.Local().Format(layout)
	if left := t.Sub(now); left > 0 {
		words += fmt.Sprintf(" (in %s)", strings.TrimSuffix(ralph.Elapsed(left+time.Second-1), " 0s"))
	}
	return words
}

// ErrorWords says how a turn failed.
func ErrorWords(f *ralph.TurnEnded) string {
	switch {
	case f.Err != nil:
		return fmt.Sprintf("%s: %s", f.Err.Class, OneLine(f.Err.Message))
	case f.Code != 0:
		return fmt.Sprintf("%s: exit code %d", f.Exit, f.Code)
	}
	return string(f.Exit)
}

// InPercent is a part of one in whole percent.
func InPercent(part float64) int { return int(math.Round(100 * part)) }

// MergesPending counts the done tasks whose work is not merged yet.
func MergesPending(s *ralph.State) int {
	n := 0
	for _, t := range s.Plan.Tasks {
		if q := t.Run.Queue.State; q != "" && q != ralph.MergeMerged {
			n++
		}
	}
	return n
}

// TaskCounts are how many tasks there are of each status: "2 pending, 1 done".
func TaskCounts(s *ralph.State) string {
	var parts []string
	for _, status := range []ralph.TaskStatus{ralph.TaskPending, ralph.TaskActive, ralph.TaskDone, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskSkipped} {
		n := s.CountTasks(status)
		if n > 0 || status == ralph.TaskPending || status == ralph.TaskDone {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	return strings.Join(parts, ", ")
}

// EndedWord is a status as it stands in a sentence.
func EndedWord(s ralph.TaskStatus) string {
	if s == ralph.TaskTimeout {
		return "timed out"
	}
	return string(s)
}

// OrEmpty is the list, never null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// StepWords says what a step does.
func StepWords(step ralph.Step) string {
	switch x := step.(type) {
	case ralph.Turn:
		return fmt.Sprintf("%s turn %d of %s", x.Stage, x.Iteration, x.Agent)
	case ralph.Finish:
		switch {
		case x.Status == ralph.TaskPending && x.Retry:
			return "give back, to be tried again"
		case x.Status == ralph.TaskPending:
			return "give back"
		}
		return "end as " + string(x.Status)
	case ralph.Compact:
		return "compact the session of " + x.Agent
	case ralph.Check:
		return "run the checks"
	case ralph.Baseline:
		return "run the checks before the work, at " + text.ShortHash(x.Commit)
	case ralph.Decide:
		return "decide what comes next"
	case ralph.Guide:
		return "guidance: " + string(x.Part)
	case ralph.Prepare:
		return "make the place of work ready"
	case ralph.Merge:
		return "merge " + IDs(x.Members)
	case ralph.Advance:
		return "move the integration branch to " + text.ShortHash(x.To)
	case ralph.Land:
		return "land"
	case ralph.Publish:
		return "push " + x.Branch + " to " + x.Remote
	case ralph.Shelve:
		return "put the changes away: " + x.How
	case ralph.Ask:
		return "ask a person"
	}
	return step.StepName()
}

// AnsweredAs is the outcome of a gate in one word.
func AnsweredAs(f ralph.Answered) string {
	if f.Verdict == "" {
		return "answered"
	}
	return string(f.Verdict)
}
