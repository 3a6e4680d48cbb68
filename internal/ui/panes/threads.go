package panes

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/ui/draw"
)

// autoTone is how the word of a thread's switch is drawn.
func autoTone(x screen.Thread) (tone draw.Style, sign string) {
	switch x.Auto {
	case screen.AutoPaused:
		return draw.Warn, "⏸"
	case screen.AutoStopped:
		if x.Stop == ralph.StopFinished {
			return draw.Good, "✓"
		}
		return draw.Bad, "■"
	case screen.AutoCut:
		return draw.Bad, "✗"
	case screen.AutoIdle:
		return draw.Dim, "○"
	case screen.AutoRunning:
	}
	if x.Turn.IsZero() {
		return draw.Accent, "○"
	}
	return draw.Good, "▶"
}

// threadRows are the agents that go on by themselves, with the word of each one's switch.
func threadRows(l Look) []Row {
	var out []Row
	for _, x := range screen.ThreadList(l.State, l.Engine, l.Now) {
		tone, sign := autoTone(x)
		r := Row{Key: "thread " + string(x.ID), About: action.Task, ID: string(x.ID), Task: x.ID}
		words := x.Doing
		if x.Words != "" {
			words = x.Words
		}
		r.Lines = []RowLine{
			{draw.Of(tone, sign+" ").Add(draw.Dim, string(x.ID)+" ").Add(draw.Strong, x.Name), draw.Of(tone, string(x.Auto))},
			{Left: draw.Of(draw.Dim, "    "+text.Line(words, 300)), Right: draw.Of(draw.Dim, turnsOf(x))},
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		out = append(out, Say("There are no threads:"), Say("agents that go on by themselves."), Say(": thread-add   begins one."))
	}
	return out
}

func turnsOf(x screen.Thread) string {
	if x.Limits.Turns > 0 {
		return fmt.Sprintf("%d/%d", x.Turns, x.Limits.Turns)
	}
	return text.Count(x.Turns, "turn")
}

func countThreads(l Look) string {
	n := 0
	for _, x := range screen.ThreadList(l.State, l.Engine, l.Now) {
		if x.Auto != screen.AutoStopped {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// threadDecided is what was decided after a turn of a thread: what, how sure, why, and the stop
// condition that was hit.
func threadDecided(at draw.Line, x screen.Happened) []RowLine {
	d := x.Thread
	tone := draw.Accent
	switch {
	case d.Stop == ralph.StopFinished:
		tone = draw.Good
	case d.Stop != "":
		tone = draw.Bad
	}
	return []RowLine{
		{at.Add(tone|draw.Bold, DecidedWords(*d)), draw.Of(draw.Dim, string(x.Task))},
		because(d.Reason, d.Rule),
	}
}

// DecidedWords are a decision on a thread in brief.
func DecidedWords(d ralph.ThreadDecision) string {
	words := fmt.Sprintf("%s (%d%%)", d.Action, int(d.Confidence*100+0.5))
	if d.Overridden {
		words += fmt.Sprintf(", not %s as %s advised", d.Advised, d.By)
	}
	if d.Stop != "" {
		words += ": " + screen.StopWords(d.Stop)
	}
	return words
}

// thread is what is known of a thread, for its view of why.
func (d *Reader) thread(x screen.Thread, w Wanted) []draw.Line {
	tone, sign := autoTone(x)
	out := []draw.Line{draw.Of(tone, sign+" "+string(x.Auto)+"  ").Add(draw.Strong, string(x.ID)+" "+x.Name)}
	if x.Doing != "" {
		out = append(out, draw.Of(draw.Plain, x.Doing))
	}
	if x.Stops != "" {
		out = append(out, draw.Of(draw.Warn, "Stopped: "+x.Stops))
	}
	out = append(out, nil)
	for _, u := range x.Uses {
		tone := draw.Plain
		if u.Part >= 0.8 {
			tone = draw.Warn
		}
		out = append(out, draw.Of(draw.Dim, fmt.Sprintf("%-12s ", u.What)).Add(tone, u.Words))
	}
	if x.Last != nil {
		words := fmt.Sprintf("turn %d", x.Last.Number)
		for _, more := range []string{screen.ItemWords(x.Last.Items), screen.DiffWords(x.Last.Diff)} {
			if more != "" {
				words += ", " + more
			}
		}
		out = append(out, draw.Of(draw.Dim, fmt.Sprintf("%-12s ", "last")).Add(draw.Plain, words))
	}
	decided := screen.Decisions{Most: 20}
	if _, err := d.since(w.Look.State, nil, func(e ralph.Event, after *ralph.State) { decided.Add(e, after) }); err != nil {
		return append(out, Failed(err)...)
	}
	if list := decided.List(screen.DecisionFilter{Thread: x.ID}); len(list) > 0 {
		out = append(out, nil, draw.Of(draw.Accent, "Decided"))
		for _, y := range list {
			out = append(out, draw.Of(draw.Dim, fmt.Sprintf("turn %-3d ", y.Turn)).Add(draw.Strong, DecidedWords(y.ThreadDecision)))
			out = append(out, draw.Of(draw.Plain, "         "+text.OneLine(y.Reason)).Add(draw.Dim, rule(y.Rule)))
		}
	}
	if goal := strings.TrimSpace(w.Look.State.Task(x.ID).Goal()); goal != "" {
		out = append(out, nil, draw.Of(draw.Accent, "What it is to reach"))
		out = append(out, Prose(goal)...)
	}
	return append(out, nil)
}
