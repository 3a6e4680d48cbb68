package model

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/text"
)

// Kind is what went wrong, by what can be done about it.
type Kind string

// The kinds of errors.
const (
	Limit       Kind = "limit"       // too many requests or tokens: later (RetryAfter)
	Billing     Kind = "billing"     // nothing left to pay with
	Overloaded  Kind = "overloaded"  // the provider cannot just now
	Unreachable Kind = "unreachable" // nobody answers, or not who should
	SignIn      Kind = "sign_in"     // no key, a wrong one, or one that may not
	NotFound    Kind = "not_found"   // no such model, or no such address
	TooLong     Kind = "too_long"    // more than the model can hold
	Rejected    Kind = "rejected"    // the provider does not take the request
	Refused     Kind = "refused"     // the model or its filter will not answer
	Truncated   Kind = "truncated"   // half an answer
	Malformed   Kind = "malformed"   // an answer that is none
	TimedOut    Kind = "timed_out"
)

// Error is why there is no answer.
type Error struct {
	Kind       Kind
	Spec       Spec
	Status     int           // of HTTP, 0 without an answer
	RetryAfter time.Duration // when the provider says so, 0 when not
	Text       string        // what the provider says: one line, without the key
	Tries      int
	Do         string // what a person can do, where Kind does not say it
	Err        error  // what it comes from, nil for an answer of the provider's
}

// Error says what happened, and what a person can do.
func (e *Error) Error() string {
	said := e.Text
	if said == "" && e.Err != nil {
		said = text.SafeLine(e.Err.Error())
	}
	if said != "" {
		said = ": " + said
	}
	if e.Status != 0 && e.Status != 200 {
		said = fmt.Sprintf(" (HTTP %d)%s", e.Status, said)
	}
	return fmt.Sprintf("%s %s%s. %s", e.Spec, e.what(), said, e.Next())
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) what() string {
	return map[Kind]string{
		Limit: "is at its rate limit", Billing: "is not paid for", Overloaded: "is overloaded", Unreachable: "cannot be reached",
		SignIn: "does not let ralph in", NotFound: "is not there", TooLong: "cannot hold that much", Rejected: "does not take the request",
		Refused: "refuses to answer", Truncated: "broke off in its answer", Malformed: "gave an answer that is none", TimedOut: "took too long",
	}[e.Kind]
}

// Next is what a person can do about it.
func (e *Error) Next() string {
	if e.Do != "" {
		return e.Do
	}
	switch e.Kind {
	case Limit:
		if e.RetryAfter > 0 {
			return fmt.Sprintf("Try again in %s.", e.RetryAfter.Round(time.Second))
		}
		return "Try again in a minute, or ask for less at once."
	case Billing:
		return "Look at the account's balance and quota with the provider."
	case Overloaded:
		return "Try again in a few minutes, or choose another model."
	case Unreachable:
		if e.Spec.Provider == Ollama {
			return "Start Ollama with `ollama serve`, or set its address (base_url)."
		}
		return "Look at the network and at the address (base_url)."
	case SignIn:
		if key := e.Spec.Key(); key != "" {
			return fmt.Sprintf("Put a key that is valid into the environment variable %s.", key)
		}
		return "Name the environment variable that holds the key (key_env)."
	case NotFound:
		if e.Spec.Provider == Ollama {
			return fmt.Sprintf("Get the model with `ollama pull %s`.", e.Spec.Model)
		}
		return "Look at the model's name and at the address (base_url)."
	case TooLong:
		return "Ask for less, or choose a model with a larger context."
	case Rejected:
		return "Choose a model that can do this: what it says tells what it lacks."
	case Refused:
		return "Put it in other words, or choose another model."
	case Truncated:
		return "Allow longer answers (max_tokens), or try again."
	case TimedOut:
		return "Try again, choose a faster model, or allow more time."
	}
	return "Try again; when it stays so, look whether base_url speaks the API of this provider."
}

// again reports whether asking again may help.
func (e *Error) again() bool {
	switch e.Kind {
	case Limit, Overloaded:
		return true
	case Unreachable:
		return !errors.Is(e.Err, errElsewhere)
	case Truncated:
		return e.Err != nil // the line broke; an answer at its token limit would be as long again
	}
	return false
}

// failure is what providers say of an error, in their words for it.
type failure struct {
	kind, code, param, text string
}

// kindOf tells an error by its status and, where that says too little, by the provider's own
// codes. Wording counts only where providers have no code.
func kindOf(status int, f failure) Kind {
	code := strings.ToLower(f.kind + " " + f.code)
	said := strings.ToLower(f.text)
	has := func(in string, words ...string) bool {
		for _, w := range words {
			if strings.Contains(in, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has(code, "insufficient_quota", "billing", "credit") || status == 402 || has(said, "credit balance is too low"):
		return Billing
	case has(code, "context_length_exceeded", "request_too_large") || status == 413 || has(said, "prompt is too long", "context window", "context length", "maximum context"):
		return TooLong
	case has(code, "content_policy", "content_filter", "invalid_prompt"):
		return Refused
	case has(code, "model_not_found", "not_found_error") || status == 404:
		return NotFound
	case has(code, "authentication", "permission", "invalid_api_key") || status == 401 || status == 403:
		return SignIn
	case has(code, "overloaded", "service_unavailable"):
		return Overloaded
	case has(code, "rate_limit", "usage_limit") || status == 429:
		return Limit
	case status >= 500 || has(code, "api_error", "server_error"):
		return Overloaded
	case status == 408:
		return TimedOut
	case status >= 400 || f.kind+f.code != "":
		return Rejected
	}
	return Malformed
}
