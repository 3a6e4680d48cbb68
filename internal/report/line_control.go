package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workers"
)

// controlLines are the lines of modes, pauses, backoffs, limits, budgets, windows and hooks.
func controlLines(e ralph.Event, s *ralph.State) []string {
	one := func(format string, args ...any) []string { return []string{OneLine(fmt.Sprintf(format, args...))} }
	switch f := e.Fact.(type) {
	case ralph.Control:
		return control(f, s)
	case ralph.ModeSet:
		return one("MODE: %s", modeWords(f.Autonomy()))
	case ralph.Retrying:
		line := fmt.Sprintf("RETRY: %s: %d of %d in %s", stageOr(s, f.Task), f.Attempt, f.Of, time.Duration(f.BackoffMS)*time.Millisecond)
		if times(s, f.Task) == 0 { // else the line before says it all
			line += " after " + Clip(f.Error, 80)
		}
		return one("%s", line)
	case ralph.AgentLimited:
		if f.Class != "" {
			l := ralph.Limit{Agent: f.Agent, Class: f.Class, Login: f.Login, First: f.Since, Until: f.Until}
			if known := s.Limit(f.Agent); known != nil && known.Class == f.Class {
				l.First = known.First
			}
			return one("AWAY: %s: %s", l.Words(func(t time.Time) string { return t.UTC().Format(time.RFC3339) }), f.Message)
		}
		wait := "it is not asked before that"
		if f.BackoffMS > 0 {
			wait = "asked again then"
		}
		return one("LIMIT: %s until %s, %s (hit %d): %s", f.Agent, f.Until.UTC().Format(time.RFC3339), wait, max(1, f.Try), f.Message)
	case ralph.AgentRetries:
		return one("AGENT: %s tries again by itself: %s (%s), for %s", f.Agent, f.Class, f.Message, stageOr(s, f.Task))
	case ralph.AgentSwitched:
		return one("AGENT: %s -> %s (%s), for %s", f.From, f.To, f.Reason, stageOr(s, f.Task))
	case ralph.BudgetWarned:
		return one("BUDGET: %s", strings.TrimSpace(strings.Join([]string{string(f.Task), f.Text}, " ")))
	case ralph.ContextWarned:
		return one("CONTEXT: %s: %.0f %% of the window of %s is used (%d of %d tokens)", Called(s, f.Task), 100*f.Use.Part(), f.Agent, f.Use.Used, f.Use.Window)
	case ralph.Compacted:
		how := fmt.Sprintf("%s made its session shorter: %d of %d tokens", f.Agent, f.After.Used, f.Before.Used)
		if f.How == ralph.CompactHandover {
			how = "the next turn begins a new session of " + f.Agent + " with a summary"
		}
		return append(workers.Did(f), one("COMPACT: %s: %s", Called(s, f.Task), how)...)
	case ralph.RequestAnswered:
		return one("%s", requestAnswered(f))
	case ralph.SandboxRefused:
		return one("SANDBOX: %s", RefusedWords(f))
	case ralph.RuleAdded:
		return one("RULE: %s: %s", f.Rule.ID, RuleWords(&f.Rule))
	case ralph.RuleRevoked:
		return one("RULE: %s is revoked", f.ID)
	case ralph.Signalled:
		return one("SIGNAL: %s: %s", f.Task, OneLine(string(f.Signal.Kind)+" "+f.Signal.Text))
	case ralph.HookRan:
		return one("HOOK: %s", hookWords(f))
	case ralph.NoticeFailed:
		return one("NOTICE: %s does not work: %s", f.Sink, f.Error)
	}
	if f, ok := e.Fact.(ralph.Stalled); ok {
		return []string{"WATCHDOG: " + f.Words(func(t time.Time) string { return t.UTC().Format(time.RFC3339) })}
	}
	return viewLines(e, s)
}

// control says what a person, or the engine, wants now; a pause that is reached at
// once is one.
func control(f ralph.Control, s *ralph.State) []string {
	switch {
	case f.Want == ralph.WantStop && f.Immediate:
		return []string{"STOP: at once (" + f.Cause + ")"}
	case f.Want == ralph.WantStop:
		return []string{"STOP: finishing the current iteration (" + f.Cause + ")"}
	case f.Want == ralph.WantPause && s.Mode() == "paused":
		return []string{"PAUSED: " + OneLine(f.Cause)}
	case f.Want == ralph.WantPause:
		return []string{"PAUSE: at the end of the current iteration (" + OneLine(f.Cause) + ")"}
	case f.Cause == "":
		return []string{"RESUMED"}
	}
	return []string{"RESUMED: " + OneLine(f.Cause)}
}

// requestAnswered is an answer that nobody gave: by the settings, or by a person's rule.
func requestAnswered(f ralph.RequestAnswered) string {
	switch f.Verdict {
	case "":
		return fmt.Sprintf("ANSWERED: %s of %s asks %s: %s (%s)", f.Agent, f.Task, RequestWords(f.Request), Clip(f.Text, 300), f.Rule)
	case ralph.Denied:
		return fmt.Sprintf("DENIED: %s of %s may not %s (%s)", f.Agent, f.Task, RequestWords(f.Request), f.Rule)
	}
	return fmt.Sprintf("%s: %s of %s may %s (%s)", strings.ToUpper(string(f.Verdict)), f.Agent, f.Task, RequestWords(f.Request), f.Rule)
}

// RefusedWords says what the sandbox kept an agent from. What let the call pass did not open
// the sandbox: who reads "approved" should not think so.
func RefusedWords(f ralph.SandboxRefused) string {
	words := fmt.Sprintf("%s of %s may not write %s", f.Agent, f.Task, Clip(f.Path, 300))
	switch {
	case f.Call != "" && f.Allowed != "":
		words += fmt.Sprintf(": %q was approved (%s), and then refused by %s", Clip(f.Call, 200), f.Allowed, f.Sandbox)
	case f.Call != "":
		words += fmt.Sprintf(": %q was refused by %s", Clip(f.Call, 200), f.Sandbox)
	default:
		words += ": refused by " + f.Sandbox
	}
	return words + " (sandbox.extra_write opens a folder)"
}

// RuleWords says what a rule answers, and how.
func RuleWords(r *ralph.AnswerRule) string {
	what := RequestWords(r.Request)
	if r.Verdict == "" {
		return "answered from now on: " + what + ": " + Clip(r.Text, 300)
	}
	words := string(r.Verdict) + " from now on: " + what
	if r.Text != "" {
		words += " (" + Clip(r.Text, 300) + ")"
	}
	return words
}

// RuleReach says where and how long a rule holds.
func RuleReach(r *ralph.AnswerRule) string {
	where := "in this repository"
	if r.Scope != ralph.ScopeRepository {
		where = fmt.Sprintf("for %s %s", r.Scope, r.Of)
	}
	if r.Until.IsZero() {
		return where + ", without end"
	}
	return where + ", until " + r.Until.Local().Format("2006-01-02 15:04:05")
}

// RequestWords says what an agent asked for.
func RequestWords(q ralph.Request) string {
	switch {
	case q.Command != "":
		return "run " + Clip(q.Command, 300)
	case q.Op == ralph.OpEdit:
		return "change " + text.List(q.Paths, 5)
	case q.Op == ralph.OpRead:
		return "read " + text.List(q.Paths, 5)
	case q.Op == ralph.OpTool && q.Tool != "":
		return strings.TrimSuffix("use "+q.Tool+": "+Clip(cmp.Or(q.Text, q.Detail), 300), ": ")
	case q.Text != "":
		return Clip(q.Text, 300)
	}
	return "use " + q.Tool
}

func hookWords(f ralph.HookRan) string {
	words := f.Hook + ": "
	switch {
	case f.Stop:
		words += "says stop"
	case f.Error != "":
		words += f.Error
	default:
		words += "ran in " + f.Took.Round(time.Millisecond).String()
	}
	if out := strings.TrimSpace(f.Output); out != "" {
		words += ": " + out
	}
	return words
}

// LimitedWords say which agents a session pauses for, as policy said it: what follows the colon is until when.
func LimitedWords(s *ralph.State) string {
	words, _, _ := strings.Cut(s.Session.Cause, ": ")
	return words
}
