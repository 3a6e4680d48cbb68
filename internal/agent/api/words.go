package api

import (
	"errors"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/text"
)

// system is what the model is told before anything else.
func system(dir string) string {
	return `You are a software engineer who works alone in the folder ` + dir + ` by means of one tool, ` + toolName + `, which runs shell commands.
Read before you change. Write files with the shell (cat <<'EOF' > file, or a patch for git apply). Keep outputs short: grep, sed -n, head.
When work has several steps, begin with a plan as lines "- [ ] step", and repeat it with "- [x] step" as steps are done.
Prove what you did by running the checks. A command that may not run was refused by a person or by a rule: do without it, and do not try to get round it.
End your turn by a message without a call of the tool. Signals that you are asked to give go into that message, each on a line of its own.`
}

// says tells what the model said.
func (l *loop) says(r model.Response) {
	if r.Text == "" {
		return
	}
	item := ralph.Item{ID: l.id("item"), Kind: ralph.ItemMessage, Text: r.Text, Status: ralph.ItemCompleted, Final: len(r.Calls) == 0}
	l.event(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: l.Session, Item: item})
	if plan := planIn(r.Text); len(plan) > 0 {
		l.event(ralph.StreamEvent{Kind: ralph.StreamPlan, Thread: l.Session, Plan: plan})
	}
}

var planLine = lazyregexp.New(`(?m)^\s*[-*] \[([ xX])\] (\S.*)$`)

// maxPlan bounds a plan.
const maxPlan = 100

// planIn is the plan in a message: its lines with boxes. The first that is open is under way.
func planIn(said string) []ralph.PlanStep {
	var plan []ralph.PlanStep
	working := false
	for _, m := range planLine.FindAllStringSubmatch(said, maxPlan) {
		step := ralph.PlanStep{Text: text.Line(m[2], 200), Status: "completed"}
		if m[1] == " " {
			step.Status = "pending"
			if !working {
				step.Status, working = "in_progress", true
			}
		}
		plan = append(plan, step)
	}
	return plan
}

// failure is an end of the turn that is the agent's own.
type failure struct{ ralph.AgentError }

func (f *failure) Error() string { return f.Message }

func failed(class ralph.ErrorClass, message string) error {
	return &failure{ralph.AgentError{Class: class, Message: message}}
}

// agentError is an error in the words that policy knows.
func agentError(err error) *ralph.AgentError {
	if e, ours := errors.AsType[*failure](err); ours {
		return &e.AgentError
	}
	e, ours := errors.AsType[*model.Error](err)
	if !ours {
		return &ralph.AgentError{Class: ralph.ErrClassOther, Message: err.Error()}
	}
	out := &ralph.AgentError{Status: e.Status, Message: e.Error(), Retried: e.Tries > 1}
	switch e.Kind {
	case model.Limit:
		out.Class = ralph.ErrClassLimit
		if e.RetryAfter > 0 {
			out.ResetAt = time.Now().Add(e.RetryAfter).UTC()
		}
	case model.Overloaded:
		out.Class = ralph.ErrClassServer
		if e.Status == 503 || e.Status == 529 {
			out.Class = ralph.ErrClassBusy
		}
	case model.Unreachable, model.TimedOut:
		out.Class = ralph.ErrClassNetwork
	case model.SignIn:
		out.Class = ralph.ErrClassAuth
	case model.NotFound, model.Rejected, model.Billing:
		out.Class = ralph.ErrClassRequest
	case model.TooLong:
		out.Class = ralph.ErrClassContext
	case model.Refused:
		out.Class = ralph.ErrClassRefusal
	default:
		out.Class = ralph.ErrClassOutput
	}
	return out
}

func orElse(s, other string) string {
	if s = strings.TrimSpace(s); s == "" {
		return other
	}
	return s
}

func cut(s string, most int) string { return text.Head(s, most) + " [...]" }

// withoutFence takes a Markdown fence off, which models put around JSON.
func withoutFence(s string) string {
	s = strings.TrimSpace(s)
	if rest, fenced := strings.CutPrefix(s, "```"); fenced {
		_, rest, _ = strings.Cut(rest, "\n")
		s = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
	}
	return s
}
