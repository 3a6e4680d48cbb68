package wire

import (
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/testoutput"
	"github.com/ralph-loop/ralph/internal/text"
)

// What an error's text says of limits; one match is enough. The patterns are bounded
// by word borders, so that line 4291 or "anthropic ... generated" is no limit,
// and are matched only on the error text of a turn that failed: never on
// ordinary output, where a package named rate-limit would stop the work.
var (
	limitText = lazyregexp.New(`(?i)\brate[-_ ]limit|\btoo many requests\b|\b429\b|\bquota[-_ ]?exceeded\b|` +
		`\banthropic\b.*\brate\b|\bopenai\b.*\brate\b`)
	BusyText = lazyregexp.New(`(?i)\boverloaded(_error)?\b`)

	// Authentication errors are not tried again, so only what no agent
	// prints for another reason counts; git's "Authentication failed" does not.
	authText = lazyregexp.New(`(?i)\b401 unauthorized\b|\bnot logged in\b|\b(invalid|incorrect) (x-)?api[- _]key\b|\bauthentication_error\b`)
)

// MaxMessage bounds AgentError.Message, in bytes.
const MaxMessage = 2 << 10

// authLines is how far from the end of the error text a login error counts: it
// ends a program, so it stands last. Earlier ones are a test's, or a tool's.
const authLines = 5

// Classify types the error text of a turn that failed without a typed error.
func Classify(text string) ralph.ErrorClass {
	switch {
	case limitText.MatchString(text):
		return ralph.ErrClassLimit
	case BusyText.MatchString(text):
		return ralph.ErrClassBusy
	case authText.MatchString(LastLines(text, authLines)):
		return ralph.ErrClassAuth
	}
	return ralph.ErrClassOther
}

// Failure makes the error of a program that failed, from its stderr or, when
// that is blank, from the end of its stdout.
func Failure(stderr, stdout string) *ralph.AgentError {
	s := text.Tail(strings.TrimSpace(stderr), MaxMessage)
	if s == "" {
		s = text.Tail(strings.TrimSpace(stdout), MaxMessage)
	}
	class := Classify(s)
	return &ralph.AgentError{Class: class, Message: causeOf(s, class)}
}

const (
	// fewLines and fewBytes are an error text that people read as it is. Of a longer one,
	// such as a traceback, they get the cause: the whole is in the turn's output.
	fewLines = 3
	fewBytes = 400
)

// causeOf is the line of an error text that says what went wrong: what made it a limit or a
// login, else what testoutput takes for it, like the last line of a Python traceback.
func causeOf(s string, class ralph.ErrorClass) string {
	s = strings.TrimSpace(text.Plain(s))
	if strings.Count(s, "\n") < fewLines && len(s) <= fewBytes {
		return s
	}
	if pattern := patternOf(class); pattern != nil {
		for line := range strings.Lines(s) {
			if pattern.MatchString(line) {
				return text.Cut(strings.TrimSpace(line), fewBytes)
			}
		}
	}
	r := testoutput.New()
	_, _ = r.Stderr().Write([]byte(s))
	if head := r.Result().Headline; head != "" {
		return head
	}
	return text.Tail(s, fewBytes)
}

func patternOf(class ralph.ErrorClass) *lazyregexp.Regexp {
	switch class {
	case ralph.ErrClassLimit:
		return limitText
	case ralph.ErrClassBusy:
		return BusyText
	case ralph.ErrClassAuth:
		return authText
	}
	return nil
}

// LastLines are the last n lines of a text, all of it when it has no more.
func LastLines(text string, n int) string {
	at := len(text)
	for range n {
		i := strings.LastIndexByte(text[:at], '\n')
		if i < 0 {
			return text
		}
		at = i
	}
	return text[at+1:]
}

// StatusIn is the HTTP status that a text names, 0 for none.
func StatusIn(text string) int {
	m := statusText.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // three digits
	return n
}

// ClassOf types an error by its HTTP status, else by its text.
func ClassOf(status int, message string) ralph.ErrorClass {
	switch {
	case status == 429:
		return ralph.ErrClassLimit
	case status == 529:
		return ralph.ErrClassBusy
	case status == 401, status == 403:
		return ralph.ErrClassAuth
	case status >= 400 && status < 500:
		return ralph.ErrClassRequest
	case status >= 500:
		return ralph.ErrClassServer
	case offlineText.MatchString(message):
		return ralph.ErrClassNetwork
	}
	return Classify(message)
}

// statusText finds the HTTP status in an error's text.
var statusText = lazyregexp.New(`(?i)(?:http[ _]?status[ _]?code"?|"code"|last error|last status|status|http|rejected|api error)[":\s(]*([45]\d\d)\b`)

// offlineText is how the error of a request reads that nothing answered. It is only looked
// for where an agent itself reports an error, never in what a program printed: a command of
// the work may have met the same.
var offlineText = lazyregexp.New(`\b(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ConnectionRefused)\b|` +
	`(?i)\bunable to connect to (the )?API\b|\bcannot connect to API\b|\berror sending request\b|^connection failed\b`)
