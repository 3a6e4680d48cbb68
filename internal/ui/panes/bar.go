package panes

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/ui/draw"
)

// Bar is the control bar: how it stands, how far it is, what it costs, what needs somebody; as
// the dashboard has it, word for word. With a line more it has the newest decision.
func Bar(l Look, columns int, decided bool) []draw.Line {
	stands := l.Standing()
	x, stage := stands.Status, stands.Stage
	tone, sign := statusTone(x, l)
	words := titled(strings.ReplaceAll(x.Status, "_", " "))
	if x.Status == "waiting_user" {
		words = "Waits for you"
	}
	if x.Status == "completed" {
		words = "No engine runs"
	}
	if mode := cmp.Or(titled(string(stage.Autonomy)), titled(stage.Mode)); mode != "" && l.State.Session.Live() {
		words = mode + " " + words
	}
	first := draw.Of(tone|draw.Bold, " "+sign+" "+words)
	if l.Past {
		first = draw.Of(draw.Warn|draw.Bold, " AS IT WAS "+l.Now.Local().Format("Jan 2 15:04:05")).Add(draw.Dim, "  "+words)
	}
	if x.TotalSteps > 0 && l.State.Session.Live() {
		at := min(x.TotalSteps, x.CompletedSteps+x.FailedSteps+len(x.SkippedSteps)+1)
		first = first.Add(draw.Plain, fmt.Sprintf("  Step %d/%d", at, x.TotalSteps))
	}
	if spec := l.State.SpecFile(); spec != "" {
		first = first.Add(draw.Strong, "  "+spec)
	}
	first = first.Add(draw.Dim, "  "+stepWords(l, x))
	var right draw.Line
	if n := len(stands.Needs); n > 0 {
		right = draw.Of(draw.Warn|draw.Bold, "! "+NeedWords(n)+" ")
	}
	for _, o := range action.AllAvailable(l.State, l.Context, action.Engine, "") {
		if sign := map[string]string{"pause": "⏸", "resume": "▶", "stop": "⏹"}[o.Action]; sign != "" && o.Key != "" && columns >= 100 {
			right = right.Add(draw.Plain, " "+sign+" "+o.Title+" ").Add(draw.Key, o.Key+" ")
		}
	}
	out := []draw.Line{draw.Between(first, right, columns), second(l, x, stage, columns)}
	if decided {
		out = append(out, newest(l, x, columns))
	}
	return out
}

func titled(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// newest is the newest decision with its reason.
func newest(l Look, x status.StatusRecord, columns int) draw.Line {
	d := x.Decision
	if d == nil {
		return draw.Line(nil).Fit(columns)
	}
	what := d.Step
	if d.Agent != "" {
		what = fmt.Sprintf("%s turn %d of %s", d.Stage, d.Iteration, d.Agent)
	}
	if who := Called(d.Task); who != what {
		what = who + ": " + what
	}
	return draw.Of(draw.Dim, "   Decided: ").Add(draw.Plain, what).Add(draw.Dim, ": "+text.OneLine(d.Why.Text)+rule(d.Why.Rule)).Fit(columns)
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
		return report.Died(l.State) + "; what is shown is as it was then"
	case (x.Status == "pausing" || x.Status == "stopping") && l.State.Turning() > 0: // each ends its iteration first
		words := text.Plural(l.State.Turning(), "agent still works", "agents still work")
		if by := pausedBy(x.PauseCause); by != "" && x.PauseKind == ralph.PausePerson {
			words += ", paused " + by
		}
		return words
	case x.PauseKind == ralph.PausePerson:
		return cmp.Or(pausedBy(x.PauseCause), "by a person")
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

// pausedBy says where a person paused it: a surface is named by its command.
func pausedBy(cause string) string {
	if cause == "" {
		return ""
	}
	return "by " + cause
}

// second has the phase, the agent, its retries and limits, and what is used up.
func second(l Look, x status.StatusRecord, stage status.Stage, columns int) draw.Line {
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
	if x.CanResume && !l.Past {
		return resumeLine(l).Fit(columns)
	}
	agent := "Agent: " + cmp.Or(titled(x.ActiveAgent), "none")
	if x.FallbackReason != "" {
		agent += " (fallback: " + text.Line(x.FallbackReason, 60) + ")"
	}
	if l.State.Session.Live() {
		add(draw.Plain, "Phase: "+cmp.Or(x.CurrentPhase, titled(strings.ToLower(stage.Stage)), "none"))
		add(draw.Plain, agent)
		tone := draw.Plain
		if x.Retries > 0 {
			tone = draw.Warn
		}
		add(tone, fmt.Sprintf("Retries: %d", x.Retries))
	}
	add(draw.Dim, ralph.Elapsed(l.State.Running(status.At(l.Engine, l.State, l.Now))))
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

// resumeLine asks whether an interrupted session is to go on, with the names of what answers that.
func resumeLine(l Look) draw.Line {
	var out draw.Line
	for _, o := range action.AllAvailable(l.State, l.Context, action.Engine, "") {
		if o.Ask == "" {
			continue
		}
		if out == nil {
			out = draw.Of(draw.Warn, "   "+o.Ask)
		}
		out = out.Add(draw.Key, "  : "+o.Action).Add(draw.Dim, " "+strings.ToLower(o.Title))
	}
	return out
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
