package codex

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/text"
)

// turnError is a TurnError of the app-server (0.169.0).
type turnError struct {
	Message string          `json:"message"`
	Info    json.RawMessage `json:"codexErrorInfo"` // a word, or an object with one member
	Details string          `json:"additionalDetails"`
}

// What the errors say that codex itself has no word for ("other").
var (
	stream  = lazyregexp.New(`^stream disconnected before completion`)
	offline = lazyregexp.New(`^Connection failed|^error sending request`)
	key     = lazyregexp.New(`^Missing environment variable|\b401 Unauthorized\b`)
	request = lazyregexp.New(`"type": ?"invalid_request_error"|^unexpected status 4\d\d`)
	reset   = lazyregexp.New(`try again at ([A-Z][a-z]{2} \d{1,2})(?:st|nd|rd|th), (\d{4} \d{1,2}:\d{2} [AP]M)`)
	billing = lazyregexp.New(`(?i)\bbilling\b`)
)

// apiError is the error of a turn that failed; the lock is held.
func (t *turn) apiError() *ralph.AgentError { return t.failure.typed(t.server) }

// typed classes an error: by the word and the status that codex has for it, by the
// message where it has none.
func (e *turnError) typed(s *appServer) *ralph.AgentError {
	word, status := e.info()
	out := &ralph.AgentError{Status: status, Message: strings.TrimSpace(e.Message)}
	if e.Details != "" {
		out.Message += "\n" + e.Details
	}
	if out.Message == "" {
		out.Message = "codex: " + cmp.Or(word, "the turn failed without a reason")
	}
	out.Message = text.Cut(out.Message, wire.MaxMessage)
	out.Class = e.class(word, status)
	if word == "usageLimitExceeded" {
		s.mu.Lock()
		out.ResetAt, out.Limit = s.limits.reached()
		s.mu.Unlock()
		if out.ResetAt.Before(time.Now()) {
			out.ResetAt, out.Limit = says(e.Message), "" // that was of an earlier window
		}
		if out.Limit == "" && out.ResetAt.IsZero() && billing.MatchString(e.Message) {
			out.Class = ralph.ErrClassRequest // nothing left to pay with: waiting does not mend it
		}
	}
	return out
}

// says is when a limit ends by the words of the error, where nothing else says so:
// in the time of this machine, to the minute. Zero when they do not say.
func says(message string) time.Time {
	m := reset.FindStringSubmatch(message)
	if m == nil {
		return time.Time{}
	}
	at, err := time.ParseInLocation("Jan 2 2006 3:04 PM", m[1]+" "+m[2], time.Local)
	if err != nil {
		return time.Time{}
	}
	return at.UTC()
}

// info reads codexErrorInfo. Its words are open: new versions bring new ones.
func (e *turnError) info() (word string, status int) {
	if word = wire.Text(e.Info); word != "" {
		return word, 0
	}
	wire.Members(e.Info, func(key, value []byte) {
		var v struct {
			Status int `json:"httpStatusCode"`
		}
		if word = string(key); json.Unmarshal(value, &v) == nil {
			status = v.Status
		}
	})
	return word, status
}

func (e *turnError) class(word string, status int) ralph.ErrorClass {
	switch word {
	case "usageLimitExceeded", "rateLimitExceeded":
		return ralph.ErrClassLimit
	case "serverOverloaded":
		return ralph.ErrClassBusy
	case "contextWindowExceeded":
		return ralph.ErrClassContext
	case "modelNotFound", "badRequest":
		return ralph.ErrClassRequest
	case "unauthorized":
		return ralph.ErrClassAuth
	case "internalServerError":
		return ralph.ErrClassServer
	case "cyberPolicy", "misalignment":
		return ralph.ErrClassRefusal
	}
	switch {
	case status == 429:
		return ralph.ErrClassLimit
	case status == 401, status == 403:
		return ralph.ErrClassAuth
	case status == 503, status == 529:
		return ralph.ErrClassBusy
	case status >= 500:
		return ralph.ErrClassServer
	case status >= 400:
		return ralph.ErrClassRequest
	case word != "" && (offline.MatchString(e.Message) || offline.MatchString(e.Details)):
		return ralph.ErrClassNetwork
	case word != "" && word != "other": // a connection, or retries, without a status
		return connectionClass(word)
	case offline.MatchString(e.Message):
		return ralph.ErrClassNetwork
	case stream.MatchString(e.Message):
		return ralph.ErrClassServer
	case key.MatchString(e.Message):
		return ralph.ErrClassAuth
	case request.MatchString(e.Message):
		return ralph.ErrClassRequest
	}
	return wire.Classify(e.Message)
}

func connectionClass(word string) ralph.ErrorClass {
	switch word {
	case "httpConnectionFailed", "responseStreamConnectionFailed", "responseStreamDisconnected", "responseTooManyFailedAttempts":
		return ralph.ErrClassServer
	}
	return ralph.ErrClassOther
}
