package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/a-h/templ"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
)

// BarModel is the control bar.
type BarModel = page.BarModel

// working reports whether a session is at work: else there is no bar.
func working(m BarModel) bool { return m.Engine.Alive && m.Stage.ID != "" && m.Stage.Ended == "" }

// stateSign is the sign of a state of the engine.
func stateSign(status string) string {
	switch status {
	case "pausing", "paused":
		return "⏸"
	case "stopping", "completed":
		return "⏹"
	case "waiting_user":
		return "●"
	case "idle":
		return "○"
	}
	return "▶"
}

// barState is the first word of the bar: `▶ Autopilot Running`. What runs is
// named by how much it asks of a person.
func barState(m BarModel) string {
	mode := cmp.Or(titled(string(m.Stage.Autonomy)), titled(m.Stage.Mode))
	return text.OneLine(stateSign(m.Status.Status) + " " + mode + " " + stateWord(m.Status.Status))
}

func stateWord(status string) string {
	if status == "waiting_user" {
		return "Waits for you"
	}
	return titled(strings.ReplaceAll(status, "_", " "))
}

// steps is how far the plan is: the step at work, or the next one, of all.
func steps(m BarModel) (at, of int) {
	of = m.Status.TotalSteps
	return min(of, m.Status.CompletedSteps+m.Status.FailedSteps+len(m.Status.SkippedSteps)+1), of
}

// barStep is `Step 3/12`.
func barStep(m BarModel) string {
	at, of := steps(m)
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("Step %d/%d", at, of)
}

// barPhase is the phase of the plan, or the stage of the loop.
func barPhase(m BarModel) string {
	return cmp.Or(m.Status.CurrentPhase, titled(strings.ToLower(m.Stage.Stage)), "none")
}

func barAgent(m BarModel) string { return cmp.Or(titled(m.Status.ActiveAgent), "none") }

// barRetries is `Retries: 0`: of the task that is tried most often, while it waits
// for its next try and while that runs.
func barRetries(m BarModel) string { return fmt.Sprintf("Retries: %d", m.Status.Retries) }

// barCause says why nothing new begins, and what helps.
func barCause(m BarModel) (why, helps string) {
	s := m.Status
	switch s.Status {
	case "pausing":
		return fmt.Sprintf("%s still at work: each ends its iteration first", agents(m.At)), ""
	case "stopping":
		return fmt.Sprintf("%s still at work: each ends its iteration first", agents(m.At)), ""
	case "waiting_user":
		return "It waits for your word", "see what needs you"
	case "paused":
		switch s.PauseKind {
		case ralph.PauseFailures:
			return fmt.Sprintf("%d tasks failed in a row", len(m.Stage.Failures)), "retry them, or resume and it counts anew"
		case ralph.PauseLimits:
			for _, l := range atLimit(m) {
				if l.Words != "" {
					return "No agent can be used now", "resume tries again at once"
				}
			}
			return "Every agent is at its limit", "resume tries again at once"
		}
		return "Paused by a person", "resume lets it go on"
	}
	return "", ""
}

func agents(n int) string {
	if n == 1 {
		return "1 agent is"
	}
	return fmt.Sprintf("%d agents are", n)
}

// barOffers are the buttons of the bar, with their signs.
func barOffers(m BarModel) []action.Available {
	signs := map[string]string{"pause": "⏸", "stop": "⏹", "resume": "▶", "start": "▶", "recover": "▶", "continue": "▶", "stop-now": "⏹"}
	out := make([]action.Available, 0, len(m.Offers))
	for _, o := range m.Offers {
		if sign := signs[o.Action]; sign != "" {
			o.Title = sign + " " + o.Title
		}
		out = append(out, o)
	}
	return out
}

// fullAuto is the word of the switch: running, paused, stopped.
func fullAuto(m BarModel) string {
	switch {
	case !working(m), m.Status.Status == "stopping":
		return "stopped"
	case m.Status.Status == "paused", m.Status.Status == "pausing":
		return "paused"
	}
	return "running"
}

func barElapsed(m BarModel) string { return ralph.Elapsed(m.Running) }

// barCost is what the session has cost; `+` where an agent did not say.
func barCost(m BarModel) string {
	if m.Usage.Unmetered > 0 {
		return dollars(m.Usage.Cost) + "+"
	}
	return dollars(m.Usage.Cost)
}

// atLimit are the agents that cannot be used now.
func atLimit(m BarModel) []status.LimitRecord {
	var out []status.LimitRecord
	for _, l := range m.Status.Limits {
		if !l.Over {
			out = append(out, l)
		}
	}
	return out
}

// barBudgets are the budgets of the session and the spec.
func barBudgets(m BarModel) []status.BudgetRecord {
	var out []status.BudgetRecord
	for _, b := range m.Status.Budgets {
		if b.Scope != "task" {
			out = append(out, b)
		}
	}
	return out
}

// tabHead is what a tab says first: `(2) ▶ 3/12`.
func tabHead(m BarModel) string {
	var parts []string
	if m.Needs > 0 {
		parts = append(parts, fmt.Sprintf("(%d)", m.Needs))
	}
	if working(m) {
		parts = append(parts, stateSign(m.Status.Status))
		if at, of := steps(m); of > 0 {
			parts = append(parts, fmt.Sprintf("%d/%d", at, of))
		}
	}
	return strings.Join(parts, " ")
}

// tone is the colour of the whole: what needs a person comes before what runs.
func tone(m BarModel) string {
	switch {
	case working(m) && m.Status.PauseKind == ralph.PauseFailures:
		return "bad"
	case m.Needs > 0, working(m) && m.Status.Status != "running":
		return "warn"
	case working(m):
		return "good"
	}
	return "idle"
}

// iconOf is the picture of a tab: a dot in the colour of the state.
func iconOf(m BarModel) string {
	colour := map[string]string{"good": "2da160", "warn": "e0982a", "bad": "d64545", "idle": "8a929c"}[tone(m)]
	return "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Ccircle cx='8' cy='8' r='7' fill='%23" + colour + "'/%3E%3C/svg%3E"
}

// needsWords is the number of what needs a person, in words.
func needsWords(n int) string {
	if n == 1 {
		return "1 needs you"
	}
	return fmt.Sprintf("%d need you", n)
}

// barData is what scripts read of the bar: the tab's title and picture, the gates.
func barData(m BarModel) templ.Attributes {
	return templ.Attributes{"data-head": tabHead(m), "data-icon": iconOf(m), "data-gates": fmt.Sprint(m.Gates), "data-auto": fullAuto(m), "data-services": m.Outside}
}

// signName is what a sign is drawn as.
func signName(sign string) string {
	return map[string]string{"▶": "play", "⏸": "pause", "⏹": "stop", "●": "dot", "○": "ring"}[sign]
}

// reserved is what the turns under way may still use of a budget.
func reserved(b status.BudgetRecord) string {
	if b.What == "cost" {
		return dollars(b.Reserved)
	}
	return Amount(int64(b.Reserved))
}
