package tracker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
)

// Kind is what an error means for the calls that come after.
type Kind string

// The kinds.
const (
	// Failure is the service's: no connection, no answer in time, 5xx, no JSON where it is due.
	Failure Kind = "failure"
	// Limited is a limit of the service's: it is well, and wants nothing before a time.
	Limited Kind = "limited"
	// Denied is about credentials or rights: without credentials nothing else would get through.
	Denied Kind = "denied"
	// Refused is about what was sent, and would be the same again: 400, 404, 410, 422.
	Refused Kind = "refused"
	// Conflict is a write that was made for another revision of the item.
	Conflict Kind = "conflict"
)

// Error is a call that did not do what it was for.
type Error struct {
	Service ralph.Service
	Doing   string // what was being done: "comment on o/r#1"
	Status  int    // of the answer, 0 for none
	// RetryAfter and Reset are when the service wants to be asked again; at most one is set.
	RetryAfter time.Duration
	Reset      time.Time
	Message    string
	Right      string // what right is missing, where the answer tells
	Moved      string // where the item is now, of a redirect
	limited    bool
	// Arrived says that the request may have reached the service: whether it did what it asks is
	// not known without looking.
	Arrived bool
	Cause   error
}

func (e *Error) Error() string {
	said := e.Message
	if e.Status != 0 {
		said = strings.TrimSuffix(fmt.Sprintf("%d %s: %s", e.Status, http.StatusText(e.Status), said), ": ")
	}
	if e.Right != "" {
		said += " (needs " + e.Right + ")"
	}
	return fmt.Sprintf("%s at %s: %s", e.Doing, e.Service.Title(), said)
}

func (e *Error) Unwrap() error { return e.Cause }

// Kind says what it means for the calls that come after. A limit is told by its headers, not by
// its status alone: GitHub sends 403 for a limit as well as for a right that is missing.
func (e *Error) Kind() Kind {
	switch {
	case e.Status == http.StatusTooManyRequests, e.limited:
		return Limited
	case e.Status == http.StatusConflict, e.Status == http.StatusPreconditionFailed:
		return Conflict
	case e.Status >= 500, e.Status == 0, e.Status == http.StatusRequestTimeout:
		return Failure
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden, e.Status == http.StatusProxyAuthRequired:
		return Denied
	case e.Status >= 400, e.Moved != "":
		return Refused
	}
	return Failure // an answer of 2xx or 3xx that is none
}

// Until is when a limit is over.
func (e *Error) Until(now time.Time) time.Time {
	switch {
	case e.Reset.After(now):
		return e.Reset
	case e.RetryAfter > 0:
		return now.Add(e.RetryAfter)
	}
	return now.Add(time.Minute) // what GitHub asks of who is told nothing
}

// Ours reports whether it is about what was asked, and says nothing of the service: the next call may
// well work. Rights are given one by one, for a project or for a kind of call, so one that is missing is ours too.
func (e *Error) Ours() bool {
	switch e.Kind() {
	case Refused, Conflict:
		return true
	case Denied:
		return e.Status == http.StatusForbidden
	}
	return false
}

// KindOf is the kind of any error of a call.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind()
	}
	return Failure
}

// End is what a call tells about its service, for the calls after it.
func (e *Error) End(now time.Time) breaker.CallEnd {
	end := breaker.CallEnd{Why: e.Error(), Refused: e.Ours()}
	if end.Refused {
		return end
	}
	switch e.Kind() {
	case Limited:
		end.Limited = e.Until(now)
	case Denied:
		end.Denied, end.Fix = true, "look at the token and its rights (docs/sync.md), then `[[breaker-retry "+string(e.Service)+"]]`"
	case Failure:
		end.Failed = true
	}
	return end
}

// maxBody bounds what is read of an answer.
const maxBody = 8 << 20

// Do sends a request and reads the JSON of its answer into out, unless that is nil.
func Do(client *http.Client, service ralph.Service, doing string, req *http.Request, out any) (Meta, error) {
	res, err := client.Do(req)
	if err != nil {
		return Meta{}, Unanswered(service, doing, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return Meta{}, Unanswered(service, doing, err)
	}
	return Read(service, doing, res, body, out)
}

// Unanswered is the error of a request without an answer.
func Unanswered(service ralph.Service, doing string, err error) *Error {
	e := &Error{Service: service, Doing: doing, Message: "no answer: " + err.Error(), Arrived: true, Cause: err}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		e.Message, e.Arrived = "no connection: "+op.Err.Error(), false
	}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Message = "no answer in time"
	}
	return e
}

// Read makes of an answer its meta data, its JSON in out, or an error.
func Read(service ralph.Service, doing string, res *http.Response, body []byte, out any) (Meta, error) {
	m := Meta{Status: res.StatusCode, ETag: res.Header.Get("ETag"), Next: nextOf(res.Header.Get("Link")), Remaining: -1}
	if n, err := strconv.Atoi(res.Header.Get("X-RateLimit-Remaining")); err == nil {
		m.Remaining = n
	}
	m.Wait = seconds(res.Header.Get("Retry-After"), time.Now())
	e := &Error{Service: service, Doing: doing, Status: res.StatusCode, Arrived: true}
	switch code := res.StatusCode; {
	case code == http.StatusNotModified:
		return m, nil
	case code == http.StatusNonAuthoritativeInfo, code == http.StatusFound, code == http.StatusSeeOther, isSignIn(res, body):
		e.Status, e.Message, e.Arrived = http.StatusUnauthorized, "a sign-in page came instead of an answer: the token is not known there", false
		return m, e
	case code >= 300 && code < 400:
		e.Moved, e.Arrived = res.Header.Get("Location"), false
		e.Message = "it has moved to " + e.Moved
		return m, e
	case code >= 400:
		fail(e, res, body, m)
		return m, e
	}
	if out == nil || res.StatusCode == http.StatusNoContent || len(bytes.TrimSpace(body)) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		e.Message, e.Cause = "the answer is no JSON as it is due: "+err.Error(), err
		return m, e
	}
	return m, nil
}

// isSignIn reports whether a good answer is a page for people.
func isSignIn(res *http.Response, body []byte) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return res.StatusCode < 300 && kind == "text/html" && bytes.Contains(bytes.ToLower(body), []byte("sign in"))
}

// fail reads an answer of 4xx or 5xx.
func fail(e *Error, res *http.Response, body []byte, m Meta) {
	h := res.Header
	e.Message = messageOf(body, h)
	now := time.Now()
	e.RetryAfter = m.Wait
	limit := res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusForbidden || res.StatusCode == http.StatusServiceUnavailable
	if limit && e.RetryAfter > 0 {
		e.limited = true
	}
	if limit && m.Remaining == 0 || res.StatusCode == http.StatusTooManyRequests {
		e.limited = true
		if reset := resetTime(h.Get("X-RateLimit-Reset")); e.RetryAfter == 0 && reset.After(now) {
			e.Reset = reset
		}
	}
	if res.StatusCode == http.StatusForbidden && strings.Contains(strings.ToLower(e.Message), "secondary rate limit") {
		e.limited = true
	}
	if e.limited {
		e.Arrived = false // what a limit refuses is not done
	}
	if need := h.Get("X-Accepted-GitHub-Permissions"); need != "" && e.Kind() == Denied {
		e.Right = need
	} else if need := h.Get("X-Accepted-OAuth-Scopes"); need != "" && e.Kind() == Denied {
		e.Right = "the scope " + need
	}
	if res.StatusCode < 500 {
		e.Arrived = false // it was heard and refused
	}
}

// seconds reads Retry-After: seconds, or a date.
func seconds(s string, now time.Time) time.Duration {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n > 0 && n < 7*86400 {
		return time.Duration(n * float64(time.Second))
	}
	if at, err := http.ParseTime(s); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// resetTime reads the time of a limit's end: seconds since 1970, or a date as Jira sends it.
func resetTime(s string) time.Time {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return time.Unix(n, 0)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at
		}
	}
	return time.Time{}
}

// nextOf is the address of the next page in a Link header.
func nextOf(link string) string {
	for part := range strings.SplitSeq(link, ",") {
		at, rest, ok := strings.Cut(part, ";")
		if ok && strings.Contains(rest, `rel="next"`) {
			return strings.Trim(strings.TrimSpace(at), "<>")
		}
	}
	return ""
}

// messageOf is what an answer says went wrong, in one line.
func messageOf(body []byte, h http.Header) string {
	var v struct {
		Message       string
		ErrorMessages []string
		Errors        json.RawMessage
	}
	said := ""
	if json.Unmarshal(body, &v) == nil {
		said = strings.Join(append([]string{v.Message}, v.ErrorMessages...), " ")
		var fields map[string]string
		if json.Unmarshal(v.Errors, &fields) == nil {
			for _, k := range slices.Sorted(maps.Keys(fields)) {
				said += " " + k + ": " + fields[k]
			}
		}
		var list []struct{ Message string } // GitHub
		if json.Unmarshal(v.Errors, &list) == nil {
			for _, x := range list {
				said += " " + x.Message
			}
		}
	}
	if said = strings.TrimSpace(said); said == "" {
		said = strings.TrimSpace(h.Get("RateLimit-Reason"))
	}
	said = strings.Join(strings.Fields(said), " ")
	if len(said) > 300 {
		said = strings.ToValidUTF8(said[:300], "") + "..."
	}
	return said
}

// Limit marks an error that turned out to be a limit.
func (e *Error) Limit(after time.Duration) {
	e.limited, e.Arrived = true, false
	if e.RetryAfter == 0 && e.Reset.IsZero() {
		e.RetryAfter = after
	}
}

// Gone reports whether what was asked for is not there.
func (e *Error) Gone() bool {
	return e.Status == http.StatusNotFound || e.Status == http.StatusGone
}

// Heard reports whether the service itself has answered, so that nothing is under way any more. A
// gateway answers for a service that may still be at work.
func (e *Error) Heard() bool {
	return e.Status != 0 && e.Status != http.StatusBadGateway && e.Status != http.StatusGatewayTimeout && e.Status != http.StatusRequestTimeout
}

// NoAccess is the error of a service that cannot be asked for want of credentials or of an address.
func NoAccess(service ralph.Service, err error) *Error {
	return &Error{Service: service, Doing: "reach it", Status: http.StatusUnauthorized, Message: err.Error(), Cause: err}
}
