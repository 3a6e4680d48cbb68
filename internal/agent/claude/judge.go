package claude

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/text"
)

// conclude settles the turn. The last result decides (its is_error and subtype,
// as "success" is also the subtype of an API error), the exit code only where
// there is none. A result also outweighs our own timeout, when claude was only slow
// to leave: not one that says that it was interrupted. A person's stop outweighs
// the result.
func (c *reader) conclude(res *ralph.TurnResult, over bool) {
	res.Text = c.answerText()
	res.Session = c.session
	res.Denied = c.denied
	res.Usage = c.usage.total(c.open || c.results == 0)
	if res.Compacts = c.fill.own; c.fill.use.Used > 0 {
		res.Context = c.fill.use
	}
	finished := c.results > 0 && !c.open
	switch {
	case res.Exit == ralph.ExitUser && !over:
		return
	case finished:
		c.judge(res)
		return
	case res.Exit == ralph.ExitTimeout, res.Exit == ralph.ExitCrashed:
		return
	case res.Code == 129 || res.Code == 143:
		// claude catches HUP and TERM and leaves with these codes.
		res.Exit = ralph.ExitCrashed
		return
	}
	res.Exit = ralph.ExitFailed
	res.Err = wire.Failure(c.errs.String(), c.noise.String())
	if res.Code == 0 {
		res.Err.Class = ralph.ErrClassOutput
	}
	if res.Err.Message == "" {
		res.Err.Message = fmt.Sprintf("claude ended with exit code %d without a result event; "+
			"is it Claude Code (`claude --version`), and do args leave --output-format alone?", res.Code)
	}
}

// judge settles a turn that has a result.
func (c *reader) judge(res *ralph.TurnResult) {
	r := &c.last
	if !r.IsError && r.Subtype == "success" {
		res.Exit = ralph.ExitOK
		if len(r.Structured) > 0 && string(r.Structured) != "null" {
			res.Answer = slices.Clone(r.Structured)
		}
		return
	}
	out := res.Exit == ralph.ExitTimeout
	res.Exit = ralph.ExitFailed
	if strings.HasPrefix(r.Terminal, "aborted_") {
		if res.Exit = ralph.ExitCrashed; out {
			res.Exit = ralph.ExitTimeout // our own SIGINT; somebody else's is as good as a kill
		}
		return
	}
	res.Err = c.apiError()
	if strings.HasPrefix(res.Err.Message, noConversation) {
		res.Session = "" // so that the next try does not ask for it again
	}
}

// obeys is the longest retry-after that claude waits for by itself. At a longer one
// it ends at once, and does not say how long it is (2.1.197, 2.1.329).
const obeys = time.Minute

// offline is what claude says when nothing answers it.
var offline = lazyregexp.New(`^API Error: (Unable to connect|Connection (refused|error|failed))|\b(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ConnectionRefused)\b`)

// noConversation is how claude refuses to resume a session it does not have.
const noConversation = "No conversation found"

// apiError types the error of the last result: structured fields first, in the
// order of how much they say, the error's text last.
func (c *reader) apiError() *ralph.AgentError {
	r := &c.last
	e := &ralph.AgentError{Status: r.Status, Message: r.Result}
	if e.Message == "" {
		e.Message = strings.Join(r.Errors, "\n")
	}
	if e.Message == "" {
		e.Message = "claude: " + r.Subtype
	}
	e.Message = text.Cut(e.Message, wire.MaxMessage)
	if e.Status == 0 && r.Kind == "" {
		e.Status = c.retryStatus // 2.1.197 says 529 only in its retries
	}
	e.Class = c.class(e)
	if e.Class == ralph.ErrClassLimit {
		e.ResetAt, e.Limit = c.resetAt, c.limit
		if !c.retried {
			e.Wait = obeys // it would have tried again by itself
		}
	}
	return e
}

func (c *reader) class(e *ralph.AgentError) ralph.ErrorClass {
	r := &c.last
	switch r.Subtype {
	case "error_max_turns", "error_max_budget_usd":
		return ralph.ErrClassBudget
	case "error_max_structured_output_retries":
		return ralph.ErrClassOutput
	case "error_during_execution":
		return ralph.ErrClassOther
	}
	switch {
	case r.Terminal == "prompt_too_long", r.Terminal == "rapid_refill_breaker":
		return ralph.ErrClassContext
	case r.Stop == "refusal":
		return ralph.ErrClassRefusal
	case e.Status == 429, c.apiErr == "rate_limit", r.Kind == "rate_limit_error":
		return ralph.ErrClassLimit
	case e.Status == 529, r.Kind == "overloaded_error":
		return ralph.ErrClassBusy
	case e.Status == 401, e.Status == 403, c.apiErr == "authentication_failed":
		return ralph.ErrClassAuth
	case c.apiErr == "billing_error", c.apiErr == "model_not_found", e.Status >= 400 && e.Status < 500,
		c.apiErr == "invalid_request":
		return ralph.ErrClassRequest
	case c.apiErr == "server_error" && wire.BusyText.MatchString(e.Message):
		return ralph.ErrClassBusy // a stream that broke off overloaded has no field for it
	case c.apiErr == "server_error" && e.Status == 0 && offline.MatchString(e.Message):
		return ralph.ErrClassNetwork
	case c.apiErr == "server_error", e.Status >= 500:
		return ralph.ErrClassServer
	}
	return ralph.ErrClassOther
}
