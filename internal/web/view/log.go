package view

import (
	"time"

	"github.com/ralph-loop/ralph"
)

// LogModel is a page of the log, of all sessions or of one.
type LogModel struct {
	Read    Reading
	Session ralph.SessionID // "" is all
	LogFile bool
	Path    string // of the page, for its form
	Task    string
	Text    string
	Kind    string
	Kinds   []string
	Lines   []LogLine // the newest first
	Live    bool      // new lines come by themselves
	Note    string    // of what these are
	Older   string
	Newer   string
	Newest  string
}

// LogLine is one line.
type LogLine struct {
	At   time.Time
	Seq  int64
	Task string // of the plan, "" for none
	Rule string
	Text string
	Tone string // good, bad, warn, or ""
	Head bool   // a session begins
}

// sameFact counts the lines of the same fact that come after one in the list.
func sameFact(lines []LogLine, i int) int {
	n := 0
	for j := i + 1; j < len(lines) && lines[j].Seq == lines[i].Seq; j++ {
		n++
	}
	return n
}
