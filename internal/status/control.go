package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// What `ralph status` says of modes, pauses, retries, limits and the context window.

// waitAsk is limits.wait: ask, under which a person ends the pause of limits.
const waitAsk = "ask"

// pauseKind is what a wanted pause comes from. Journals of earlier versions
// tell it by the failures in a row alone.
func pauseKind(s *ralph.State) ralph.PauseKind {
	x := s.Session
	most := report.SettingsOf(x.Config).MaxConsecutive
	switch {
	case x.Want != ralph.WantPause:
		return ""
	case x.Pause == ralph.PauseFailures, most > 0 && x.TaskFailures >= most:
		return ralph.PauseFailures
	case x.Pause == ralph.PauseLimits:
		return ralph.PauseLimits
	}
	return ralph.PausePerson
}

// controlStatus names the cause of a pause and the mode, each with the way out.
func controlStatus(line writer, s *ralph.State, now time.Time) {
	if words := pauseWords(s, now); words != "" {
		line("Pause", "%s", words)
	}
	if x := s.Session; x.Auto != "" && x.Auto != ralph.Autopilot {
		line("Mode", "%s; `[[autopilot]]` leaves it", autonomyWords(x.Auto))
	}
	for _, w := range waits(s, now) {
		line("Waits", "%s", w.words(now))
	}
	if pauseKind(s) != ralph.PauseLimits {
		return
	}
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskPending && t.Run.Iterations > 0 && t.Run.Reason != "" {
			line("Waits", "%s: given back: %s", t.ID, report.OneLine(t.Run.Reason))
		}
	}
}

// autonomyWords says what a mode asks of a person.
func autonomyWords(mode ralph.Autonomy) string {
	switch mode {
	case ralph.Manual:
		return "manual: at full speed, ends at the first error"
	case ralph.Stepwise:
		return "step: each task waits for `[[approve]]`"
	case ralph.Semi:
		return "semi: `[[assign]]` chooses what comes next"
	}
	return string(mode)
}

func pauseWords(s *ralph.State, now time.Time) string {
	x := s.Session
	switch pauseKind(s) {
	case ralph.PausePerson:
		return "by a person; `[[resume]]` lets it go on"
	case ralph.PauseFailures:
		return fmt.Sprintf("%s in a row failed; `[[resume]]` lets it go on", text.Count(x.TaskFailures, "task"))
	case ralph.PauseLimits:
		if away := awayWords(s, now); away != "" {
			return away
		}
		words := report.LimitedWords(s)
		if first := firstFree(s, now); !first.IsZero() {
			words += ", the first until " + report.ClockWords(first, now)
		}
		if report.SettingsOf(x.Config).LimitWait == waitAsk {
			return words + "; `[[resume]]` tries again"
		}
		return words + "; then it goes on by itself, with `[[resume]]` at once"
	}
	return ""
}

// awayWords say which agents are not logged in or have no connection, "" for none.
func awayWords(s *ralph.State, now time.Time) string {
	var words []string
	for _, l := range s.Limits {
		if l.Away() && !l.Over(now) {
			words = append(words, l.Words(func(t time.Time) string { return t.Local().Format("15:04:05") }))
		}
	}
	return strings.Join(words, "; ")
}

// firstFree is when the first of the limited agents may be used again, zero when
// none is at its limit.
func firstFree(s *ralph.State, now time.Time) time.Time {
	var first time.Time
	for _, l := range s.Limits {
		if !l.Over(now) && l.Class != ralph.ErrClassAuth && (first.IsZero() || l.Until.Before(first)) {
			first = l.Until
		}
	}
	return first
}

// StillLimited are lines for a session that begins while agents are at limits of before: of those
// that make it wait, and not pause, which it says itself.
func StillLimited(s *ralph.State, chain []string, now time.Time) []string {
	var lines []string
	for _, l := range s.Limits {
		if !l.Hard && !l.Away() && !l.Over(now) && slices.Contains(chain, l.Agent) {
			lines = append(lines, fmt.Sprintf("%s is at its limit until %s, as it said before: what needs it waits till then", l.Agent, report.ClockWords(l.Until, now)))
		}
	}
	return lines
}

// WaitRecord is a task that lets time pass before its next turn.
type WaitRecord struct {
	Task    ralph.TaskID `json:"task"`
	Why     string       `json:"why"` // retry: after an error; limit: its agent is at its limit
	Agent   string       `json:"agent,omitempty"`
	Attempt int          `json:"attempt"`      // which retry, or which hit of the limit in a row
	Of      int          `json:"of,omitempty"` // errors.max_retries
	Until   time.Time    `json:"until"`
	Error   string       `json:"error"`
	Away    string       `json:"away,omitempty"` // limit: it is not logged in, or has no connection
}

// waits are the tasks that wait for time, not for a person or a slot: the backoff
// after an error, and that of a limit.
func waits(s *ralph.State, now time.Time) []WaitRecord {
	out := []WaitRecord{}
	for _, list := range [][]*ralph.Task{s.Stages, s.Plan.Tasks} {
		for _, t := range list {
			if w, ok := waitOf(s, t, now); ok {
				out = append(out, w)
			}
		}
	}
	return out
}

// waitOf is what a task at work waits for, between two turns.
func waitOf(s *ralph.State, t *ralph.Task, now time.Time) (WaitRecord, bool) {
	r := t.Run
	if t.Status != ralph.TaskActive || r.InFlight != 0 || s.ApprovalOf(t.ID) != nil {
		return WaitRecord{}, false
	}
	w := WaitRecord{Task: t.ID, Agent: cmp.Or(r.Agent, s.Session.Agent)}
	if r.Last != nil && r.Last.Failed() {
		w.Error = report.ErrorWords(r.Last)
	}
	if until := s.LimitedUntil(w.Agent, now); !until.IsZero() {
		w.Why, w.Attempt, w.Until = "limit", r.Hits(w.Agent), until
		if l := s.Limit(w.Agent); l.Away() {
			w.Away = l.Words(func(t time.Time) string { return report.ClockWords(t, now) })
		}
		return w, true
	}
	w.Why, w.Attempt, w.Of, w.Until = "retry", r.Told, report.SettingsOf(s.Session.Config).MaxRetries, r.RetryAt
	return w, w.Error != "" && w.Until.After(now)
}

func (w WaitRecord) words(now time.Time) string {
	if w.Away != "" {
		return fmt.Sprintf("%s: %s", w.Task, w.Away)
	}
	if w.Why == "limit" && w.Attempt == 0 {
		return fmt.Sprintf("%s: %s is at its limit until %s", w.Task, w.Agent, report.ClockWords(w.Until, now))
	}
	if w.Why == "limit" {
		return fmt.Sprintf("%s: %s is asked again at %s, hit %d of its limit", w.Task, w.Agent, report.ClockWords(w.Until, now), w.Attempt)
	}
	return fmt.Sprintf("%s: retry %d of %d at %s after %s", w.Task, w.Attempt, w.Of, report.ClockWords(w.Until, now), report.Clip(w.Error, 160))
}

// LimitRecord is an agent at its limit, or one that has to show that it is not any more.
type LimitRecord struct {
	Agent   string    `json:"agent"`
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Over    bool      `json:"over"`           // it may be tried again, and has not been yet
	Hard    bool      `json:"hard,omitempty"` // waiting a little does not help: other agents take over
	Message string    `json:"message,omitempty"`
	// Where it is no limit: authentication or connection, what to say of it, the command
	// that logs in, and since when it has been so.
	Class ralph.ErrorClass `json:"class,omitempty"`
	Words string           `json:"words,omitempty"`
	Login string           `json:"login,omitempty"`
	First time.Time        `json:"first,omitzero"`
}

func limits(s *ralph.State, now time.Time) []LimitRecord {
	out := make([]LimitRecord, 0, len(s.Limits))
	for _, l := range s.Limits {
		r := LimitRecord{Agent: l.Agent, Since: l.Since, Until: l.Until, Over: l.Over(now), Hard: l.Hard, Message: report.OneLine(l.Message)}
		if l.Away() {
			r.Class, r.Login, r.First = l.Class, l.Login, l.First
			r.Words = l.Words(func(t time.Time) string { return t.Local().Format("15:04:05") })
		}
		out = append(out, r)
	}
	return out
}

// agentStatus says which agents are at their limits until when, who works instead,
// and why.
func agentStatus(line writer, s *ralph.State, now time.Time) {
	x, c := s.Session, report.SettingsOf(s.Session.Config)
	if x.Live() && x.Fallback != "" && len(c.Agents) > 0 && x.Agent != c.Agents[0] {
		words := fmt.Sprintf("%s instead of %s, which is %s", x.Agent, c.Agents[0], x.Fallback)
		if c.RecoverPrimary {
			words += "; it gets the next task that starts after its limit"
		}
		line("Agent", "%s", words)
	}
	for _, l := range s.Limits {
		if l.Over(now) {
			continue
		}
		words := l.Words(func(t time.Time) string { return report.ClockWords(t, now) })
		if other := instead(s, c, l.Agent, now); l.Hard && other != "" && x.Live() {
			words += "; " + other + " works instead"
		}
		if l.Message != "" {
			words += "  (" + report.Clip(l.Message, 120) + ")"
		}
		head := "Limit"
		if l.Away() {
			head = "Away"
		}
		line(head, "%s", words)
	}
}

// instead is the first agent of the chain that is free.
func instead(s *ralph.State, c report.Settings, agent string, now time.Time) string {
	i := slices.IndexFunc(c.Agents, func(a string) bool { return a != agent && s.LimitedUntil(a, now).IsZero() })
	if i < 0 {
		return ""
	}
	return c.Agents[i]
}

// contextWords says how full the window of a task's agent is, where that is known.
func contextWords(r ralph.Run) []string {
	return fullWords(report.InPercent(r.Context.Part()), slices.Contains(r.Alerts, ralph.AlertContext))
}

func fullWords(percent int, filling bool) []string {
	switch {
	case percent > 0 && filling:
		return []string{fmt.Sprintf("context %d%%, filling up", percent)}
	case percent > 0:
		return []string{fmt.Sprintf("context %d%%", percent)}
	case filling:
		return []string{"context filling up"}
	}
	return nil
}
