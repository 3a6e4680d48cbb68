package view

import "github.com/ralph-loop/ralph/internal/screen/history"

// What the log shows.
type (
	LogModel = history.Log
	LogLine  = history.LogLine
)

// sameFact counts the lines of the same fact that come after one in the list.
func sameFact(lines []LogLine, i int) int {
	n := 0
	for j := i + 1; j < len(lines) && lines[j].Seq == lines[i].Seq; j++ {
		n++
	}
	return n
}
