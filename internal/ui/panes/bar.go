package panes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/ui/draw"
)

// Bar is the control bar: how it stands, how far it is, what it costs, what needs somebody.
func Bar(l Look, columns int) []draw.Line {
	x := status.Of(l.State, l.Engine, l.Now)
	tone, sign := statusTone(x, l)
	first := draw.Of(tone, " "+sign+" "+strings.ReplaceAll(x.Status, "_", " "))
	if l.Past {
		first = draw.Of(draw.Warn|draw.Bold, " AS IT WAS "+l.Now.Local().Format("Jan 2 15:04:05")).Add(draw.Dim, "  "+x.Status)
	}
	stage := status.QueryStage(l.State)
	if stage.Mode != "" {
		mode := stage.Mode
		if stage.Autonomy != "" && string(stage.Autonomy) != mode {
			mode += " · " + string(stage.Autonomy)
		}
		first = first.Add(draw.Dim, "  "+mode)
	}
	if spec := l.State.SpecFile(); spec != "" {
		first = first.Add(draw.Strong, "  "+spec)
	}
	if x.TotalSteps > 0 {
		first = first.Add(draw.Dim, fmt.Sprintf(" %d/%d", x.CompletedSteps, x.TotalSteps))
	}
	first = first.Add(draw.Plain, "  "+stepWords(l, x))
	var right draw.Line
	if n := len(status.Needs(l.State, l.Engine, l.Now)); n > 0 {
		right = draw.Of(draw.Warn|draw.Bold, "! "+NeedWords(n)+" ")
	}
	return []draw.Line{draw.Between(first, right, columns), second(l, x, columns)}
}

// statusTone is how a status is drawn.
func statusTone(x status.StatusRecord, l Look) (draw.Style, string) {
	switch {
	case l.State.Session.Live() && !l.Engine.Alive:
		return draw.Bad, "✗"
	case x.Status == "running":
		return draw.Good, "▶"
	case x.Status == "paused", x.Status == "pausing":
		return draw.Warn, "⏸"
	case x.Status == "waiting_user":
		return draw.Warn, "?"
	case x.Status == "stopping":
		return draw.Warn, "■"
	}
	return draw.Dim, "○"
}

// stepWords are what is at work now, or why nothing is.
func stepWords(l Look, x status.StatusRecord) string {
	s := l.State.Session
	switch {
	case s.Live() && !l.Engine.Alive && !l.Past:
		words := "the engine died; what is shown is as it was then"
		if x.CanResume {
			words += " (: resume)"
		}
		return words
	case x.PauseCause != "":
		return x.PauseCause
	case x.CurrentStep != nil:
		if t := l.State.Task(*x.CurrentStep); t != nil {
			words := cmp.Or(t.Name, string(t.Kind))
			if n := status.IterationOf(t); n > 0 {
				words += fmt.Sprintf(", iteration %d", n)
			}
			return words
		}
	case !s.Live() && s.Ended != "":
		words := "ended: " + string(s.Ended)
		if s.Detail != "" && s.Detail != string(s.Ended) {
			words += " (" + s.Detail + ")"
		}
		return words
	}
	return ""
}

// second has the agent, its retries and limits, and what is used up.
func second(l Look, x status.StatusRecord, columns int) draw.Line {
	out := draw.Of(draw.Plain, "   ")
	add := func(tone draw.Style, words string) {
		if words != "" {
			if len(out) > 1 {
				out = out.Add(draw.Border, " │ ")
			}
			out = out.Add(tone, words)
		}
	}
	if broken := cmp.Or(l.Broken, l.Trouble); broken != "" {
		since := ""
		if l.Broken != "" {
			since = "stale: "
		}
		return out.Add(draw.Bad, since+text.OneLine(broken)).Fit(columns)
	}
	agent := x.ActiveAgent
	if x.FallbackReason != "" {
		agent += " (fallback: " + text.Line(x.FallbackReason, 60) + ")"
	}
	add(draw.Accent, agent)
	add(draw.Dim, ralph.Elapsed(l.State.Running(l.Now)))
	cost := ralph.Dollars(l.State.Session.Usage.Cost)
	if l.State.Session.Usage.Unmetered > 0 {
		cost += "+"
	}
	for _, b := range x.Budgets {
		if b.Scope == "task" {
			continue
		}
		tone := draw.Dim
		if b.Warn {
			tone = draw.Warn
		}
		add(tone, fmt.Sprintf("%s %s (%d%%)", b.Scope, b.Words(), b.Percent))
		if b.What == "cost" {
			cost = ""
		}
	}
	add(draw.Dim, cost)
	u := l.State.Session.Usage
	if n := u.Input + u.Output; n > 0 {
		add(draw.Dim, many(n)+" tokens")
	}
	if x.Retries > 0 {
		add(draw.Warn, text.Count(x.Retries, "retry"))
	}
	for _, limit := range x.Limits {
		if !limit.Over {
			add(draw.Warn, limit.Agent+" "+cmp.Or(limit.Words, "at its limit until "+limit.Until.Local().Format("15:04")))
		}
	}
	for _, w := range x.Waiting {
		if w.Why == "retry" {
			add(draw.Warn, fmt.Sprintf("%s retries in %s", w.Task, ralph.Elapsed(max(0, w.Until.Sub(l.Now).Round(time.Second)))))
		}
	}
	return out.Fit(columns)
}

func many(n int64) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// NeedWords say how much needs somebody.
func NeedWords(n int) string { return text.Plural(n, "needs you", "need you") }
