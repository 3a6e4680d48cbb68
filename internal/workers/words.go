package workers

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// Tell writes what `ralph status` says of a fleet, line by line; nothing without one.
func (m *Moment) Tell(line func(name, format string, args ...any), now time.Time) {
	if m == nil {
		return
	}
	busy, all := m.Slots()
	line("Fleet", "%s, %d of %s busy", text.Count(len(m.Workers), "worker"), busy, text.Count(all, "slot"))
	for _, w := range m.Workers {
		line("", "  %s", w.words(now))
	}
	for _, s := range m.Steps {
		if missing := m.Missing(s.Task); missing != "" {
			line("", "  %s waits: %s", s.Task, missing)
		}
		if s.Trouble != "" {
			line("", "  %s: attempt %d; before: %s", s.Task, s.Attempt, text.Cut(text.SafeLine(s.Trouble), 300))
		}
	}
}

// Beside is Where as it stands behind other words: "" for this machine.
func (m *Moment) Beside(task ralph.TaskID) string {
	if where := m.Where(task); where != "" {
		return ", " + text.SafeLine(where)
	}
	return ""
}

// words say in one line how a worker stands.
func (w Worker) words(now time.Time) string {
	parts := []string{text.SafeLine(w.Name) + " " + string(w.State), fmt.Sprintf("%d of %s busy", w.Busy, text.Count(w.Slots, "slot"))}
	if w.State == Lost {
		parts[1] = fmt.Sprintf("not heard of since %s (%s)", w.Heard.Local().Format(time.TimeOnly), ralph.Elapsed(now.Sub(w.Heard)))
	}
	for _, list := range [][]string{w.Agents, w.Labels} {
		if len(list) > 0 {
			parts = append(parts, text.SafeLine(strings.Join(list, " ")))
		}
	}
	parts = append(parts, "ralph "+text.SafeLine(w.Version))
	for _, x := range w.Wrong {
		parts = append(parts, "it "+text.SafeLine(x))
	}
	return strings.Join(parts, ", ")
}
