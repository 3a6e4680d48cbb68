package panes

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/workers"
)

// workerTone is how a worker is drawn, with the word for how it stands.
func workerTone(w workers.Worker) (tone draw.Style, sign, word string) {
	switch {
	case w.State == workers.Lost:
		return draw.Bad, "✗", "lost"
	case w.State == workers.Draining:
		return draw.Warn, "◷", "draining"
	case len(w.Wrong) > 0:
		return draw.Warn, "!", "gets no steps"
	}
	return draw.Good, "✓", "ready"
}

// workerRows are the workers of the fleet below the slots; none where there is no fleet.
func workerRows(l Look) []Row {
	m := l.Engine.Fleet
	if m == nil || !l.Engine.Alive {
		return nil
	}
	busy, all := m.Slots()
	out := []Row{Say(""), Say(fmt.Sprintf("%s, %d of %s busy", text.Count(len(m.Workers), "worker"), busy, text.Count(all, "slot")))}
	for _, w := range m.Workers {
		tone, sign, word := workerTone(w)
		slots := fmt.Sprintf("%d/%d", w.Busy, w.Slots)
		if w.State == workers.Lost {
			slots = "since " + w.Heard.Local().Format("15:04:05")
		}
		out = append(out, Row{Key: "worker " + w.Name, About: action.Worker, ID: w.Name, Lines: []RowLine{
			{draw.Of(tone, sign+" ").Add(draw.Strong, text.SafeLine(w.Name)), draw.Of(tone, word).Add(draw.Dim, " "+slots)},
		}})
	}
	return out
}

// worker is what is known of a worker: how it stands, what it has, and what it is at.
func worker(name string, l Look) []draw.Line {
	m := l.Engine.Fleet
	if m == nil {
		return []draw.Line{draw.Of(draw.Dim, "No coordinator of a fleet is at work.")}
	}
	for _, w := range m.Workers {
		if w.Name != name {
			continue
		}
		tone, sign, word := workerTone(w)
		out := []draw.Line{draw.Of(tone, sign+" "+word+"  ").Add(draw.Strong, text.SafeLine(w.Name)), nil}
		fact := func(name string, tone draw.Style, words string) {
			if words != "" {
				out = append(out, draw.Of(draw.Dim, fmt.Sprintf("%-10s ", name)).Add(tone, text.SafeLine(words)))
			}
		}
		fact("Slots", draw.Plain, fmt.Sprintf("%d busy, %d free, %d in all", w.Busy, w.Free(), w.Slots))
		fact("Agents", draw.Plain, strings.Join(w.Agents, ", "))
		fact("Labels", draw.Plain, strings.Join(w.Labels, ", "))
		fact("Version", draw.Plain, "ralph "+w.Version)
		heard, quiet := draw.Plain, max(0, l.Now.Sub(w.Heard))
		if w.State == workers.Lost {
			heard = draw.Bad
		}
		fact("Heard of", heard, w.Heard.Local().Format("Jan 2 15:04:05")+", "+ralph.Elapsed(quiet)+" ago")
		for _, x := range w.Wrong {
			fact("Wrong", draw.Warn, "it "+x)
		}
		if w.State == workers.Lost {
			out = append(out, nil, draw.Of(draw.Plain, "Its steps begin again on other workers. Start it again on its machine, or look there."))
		}
		for _, s := range m.Steps {
			if s.Worker == w.Name {
				name := ""
				if t := l.State.Task(s.Task); t != nil {
					name = "  " + text.SafeLine(t.Name)
				}
				out = append(out, nil, draw.Of(draw.Accent, string(s.Task)).Add(draw.Strong, name).Add(draw.Dim, "  for "+ralph.Elapsed(max(0, l.Now.Sub(s.Since)))))
				if s.Trouble != "" {
					out = append(out, draw.Of(draw.Warn, fmt.Sprintf("  attempt %d; before: %s", s.Attempt, text.Cut(text.SafeLine(s.Trouble), 300))))
				}
			}
		}
		return append(out, nil)
	}
	return []draw.Line{draw.Of(draw.Dim, "Nothing is known of worker "+text.SafeLine(name)+" any more.")}
}
