package sessionreport

import (
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

// What people were asked and what they wanted.

func (d *draft) control(f ralph.Control, at time.Time) {
	d.endPause(at)
	if f.Want == ralph.WantPause {
		d.pauses = append(d.pauses, PauseRow{From: at, Cause: report.OneLine(f.Cause)})
	}
}

func (d *draft) endPause(at time.Time) {
	if n := len(d.pauses); n > 0 && d.pauses[n-1].To.IsZero() {
		p := &d.pauses[n-1]
		p.To, p.Seconds = at, at.Sub(p.From).Seconds()
	}
}

func (d *draft) asked(g ralph.Approval, at time.Time) {
	d.mark(g.Task, "asked", g.Text, at)
	who := g.About
	if who == "" {
		if r := d.work(g.Task); r != nil {
			who = r.ID
		}
	}
	d.gates = append(d.gates, GateRow{ID: g.ID, Kind: g.Kind, Task: who, Text: report.OneLine(g.Text), AskedAt: at, Outcome: "open"})
	if !g.InTurn { // there the turn goes on, and keeps its slot
		d.closeSpan(g.Task, outcomeWaiting, at)
	}
	if who != "" {
		d.member(who).note(at, "X-75", "a person was asked ("+string(g.ID)+"): "+g.Text)
	}
}

func (d *draft) answered(f ralph.Answered, at time.Time) {
	i := slices.IndexFunc(d.gates, func(g GateRow) bool { return g.ID == f.ID && g.Outcome == "open" })
	if i < 0 {
		return // answered already: the first answer wins
	}
	g := &d.gates[i]
	g.Answer = report.OneLine(f.Text)
	outcome := report.AnsweredAs(f)
	g.end(outcome, at)
	if g.Task != "" {
		words := outcome
		switch {
		case f.Rule != "":
			words += " by rule " + string(f.Rule)
		case f.Verdict != ralph.Expired && f.Verdict != ralph.Withdrawn:
			words = strings.TrimSpace(words + " by a person " + f.Who.Words())
		}
		if g.Answer != "" {
			words += ": " + g.Answer
		}
		d.member(g.Task).note(at, "X-75", words)
	}
}

func (g *GateRow) end(outcome string, at time.Time) {
	g.Outcome, g.EndedAt, g.WaitSeconds = outcome, at, at.Sub(g.AskedAt).Seconds()
}

// withdrawGates ends the gates that nobody answered and nobody waits for any more:
// their task or job has ended, says the state.
func (d *draft) withdrawGates(at time.Time) {
	for i := range d.gates {
		g := &d.gates[i]
		if g.Outcome == "open" && !slices.ContainsFunc(d.state.Approvals, func(x *ralph.Approval) bool { return x.ID == g.ID }) {
			g.end("withdrawn", at)
		}
	}
}
