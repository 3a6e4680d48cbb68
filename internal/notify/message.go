package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/notice"
)

// Message is what goes to a sink: one notice, or several that came together. Its
// JSON is what a plain https webhook gets.
type Message struct {
	Title      string          `json:"title"`
	Body       string          `json:"body"`
	Event      string          `json:"event"`
	Urgency    Urgency         `json:"urgency"`
	Command    string          `json:"command,omitempty"`
	Session    ralph.SessionID `json:"session,omitempty"`
	Repository string          `json:"repository"`    // the name of its folder
	At         time.Time       `json:"at"`            // of the newest notice
	Seq        int64           `json:"seq,omitempty"` // of its fact, likewise
	Notices    []Notice        `json:"notices,omitempty"`

	Sound notice.Sound `json:"-"` // for the sink that plays sounds
}

// Text is the message below its title, for people.
func (m Message) Text() string {
	if m.Command == "" || len(m.Notices) > 0 { // of several each has its own
		return m.Body
	}
	return m.Body + "\n" + m.Command
}

// Head is the title with the repository that it is about: one person may have
// engines in several.
func (m Message) Head() string { return "ralph in " + m.Repository + ": " + m.Title }

// maxLines bounds how many notices a message of several spells out.
const maxLines = 10

// together makes one message of the notices of a burst, what needs a person first.
func together(list []Notice, repository string) Message {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Notice) int { return rank(b.Urgency) - rank(a.Urgency) })
	first := list[0]
	m := Message{
		Title: first.Title, Body: first.Body, Event: first.Event, Urgency: first.Urgency, Command: first.Command,
		Session: first.Session, Repository: repository, At: first.At, Seq: first.Seq,
	}
	if len(list) == 1 {
		return m
	}
	needs, gates := 0, true
	var lines []string
	for i, n := range list {
		if n.Urgency == Needs {
			needs++
			gates = gates && n.Event == notice.Gate
		}
		if n.Seq >= m.Seq {
			m.At, m.Seq = n.At, n.Seq
		}
		if i < maxLines {
			lines = append(lines, lineOf(n))
		}
	}
	if more := len(list) - maxLines; more > 0 {
		lines = append(lines, fmt.Sprintf("... and %d more", more))
	}
	m.Title, m.Command = fmt.Sprintf("%d things happened", len(list)), "ralph status"
	if needs > 0 {
		m.Title = fmt.Sprintf("%d things need you", needs)
		if needs == 1 {
			m.Title = "1 thing needs you"
		}
		if other := len(list) - needs; other > 0 {
			m.Title += fmt.Sprintf(", and %d more happened", other)
		}
		if gates {
			m.Command = "ralph gates"
		}
	}
	m.Body, m.Notices = strings.Join(lines, "\n"), list
	return m
}

func lineOf(n Notice) string {
	line := "• " + n.Body
	if n.Command != "" {
		line += "\n  " + n.Command
	}
	return line
}

func rank(u Urgency) int {
	switch u {
	case Needs:
		return 2
	case Trouble:
		return 1
	}
	return 0
}
