package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	// MaxBody is how long an answer may be, unpacked.
	MaxBody = 16 << 20
	// MaxRaw is how much of it is kept in Response.Raw.
	MaxRaw = 256 << 10
	// longestWait is how long is waited before asking again; more is the caller's to plan.
	longestWait = time.Minute
)

// Environment is what a client needs of the world. The zero value is the machine's own.
type Environment struct {
	Getenv  func(string) string                            // nil: os.Getenv
	Timeout time.Duration                                  // of one try; 0: ten minutes
	Tries   int                                            // at most; 0: four
	Wait    func(context.Context, time.Duration) error     // between tries; nil waits
	Now     func() time.Time                               // nil: time.Now
	HTTP    http.RoundTripper                              // nil: one of this client's own
	Tried   func(err *Error, attempt int, d time.Duration) // told before each wait; may be nil
}

// wire is the format of one provider.
type wire interface {
	// request is the path below the base address, headers, and the body.
	request(s Spec, key string, r Request, how fallback) (path string, header map[string]string, body any)
	// response reads the body of an answer whose status is 200.
	response(body []byte, r Request, how fallback) (Response, error)
}

// client asks one model over its wire.
type client struct {
	spec   Spec
	base   string
	key    string
	wire   wire
	env    Environment
	http   *http.Client
	redact *redact.Redactor
	how    atomic.Int32 // fallback: what the server turned out to lack
}

// Open returns a client of the model. It asks nothing yet. An error is one of settings, or an
// *Error when the variable that should hold the key is empty.
func Open(spec Spec, env Environment) (Client, error) {
	wires := map[Provider]wire{OpenAI: chat{}, Responses: responses{}, Anthropic: messages{}, Ollama: ollama{}}
	w, known := wires[spec.Provider]
	if !known || spec.Model == "" {
		_, err := Parse(spec.String())
		return nil, err
	}
	base, err := spec.address()
	if err != nil {
		return nil, err
	}
	c := &client{spec: spec, base: base, wire: w, env: env.whole()}
	if name := spec.Key(); name != "" {
		c.key = strings.TrimSpace(c.env.Getenv(name))
		if c.key == "" {
			return nil, &Error{Kind: SignIn, Spec: spec, Text: name + " is empty"}
		}
		c.redact = redact.New([]redact.Secret{{Name: name, Value: c.key}}, nil)
	}
	c.http = &http.Client{Transport: c.env.HTTP, CheckRedirect: stay}
	return c, nil
}

func (e Environment) whole() Environment {
	if e.Getenv == nil {
		e.Getenv = os.Getenv
	}
	if e.Timeout <= 0 {
		e.Timeout = 10 * time.Minute
	}
	if e.Tries <= 0 {
		e.Tries = 4
	}
	if e.Wait == nil {
		e.Wait = wait
	}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.HTTP == nil {
		e.HTTP = transport()
	}
	return e
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// transport goes through the proxy of the environment only where it cannot read along.
func transport() http.RoundTripper {
	return &http.Transport{
		Proxy: func(r *http.Request) (*url.URL, error) {
			if r.URL.Scheme != "https" || loopback(r.URL.Hostname()) {
				return nil, nil
			}
			return http.ProxyFromEnvironment(r)
		},
		ForceAttemptHTTP2:   true,
		TLSHandshakeTimeout: 20 * time.Second,
		MaxIdleConnsPerHost: 4,
		IdleConnTimeout:     90 * time.Second,
	}
}

// errElsewhere is met where a server sends requests on.
var errElsewhere = errors.New("it sends on, which is not followed")

// stay follows redirects to the same server alone: keys and prompts are for nobody else.
func stay(r *http.Request, via []*http.Request) error {
	first := via[0].URL
	if r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return fmt.Errorf("%w: to %s", errElsewhere, text.SafeLine(r.URL.Host))
	}
	if r.Method != via[0].Method || len(via) > 3 {
		return errElsewhere
	}
	return nil
}

// Complete asks, waits and asks again: the one place where that is decided.
func (c *client) Complete(ctx context.Context, r Request) (Response, error) {
	for try := 1; ; try++ {
		res, err := c.adapt(ctx, r)
		if err == nil {
			res.Tries = try
			return res, nil
		}
		e, ours := errors.AsType[*Error](err)
		if !ours {
			return Response{}, err
		}
		e.Tries, res.Tries = try, try
		d := pause(try, e)
		if !e.again() || try >= c.env.Tries || d > longestWait {
			return res, e
		}
		if c.env.Tried != nil {
			c.env.Tried(e, try, d)
		}
		if err := c.env.Wait(ctx, d); err != nil {
			return res, err
		}
	}
}

// pause is how long is waited after the nth try: what the provider says, else twice as long each
// time, half of it by chance, so that many who were refused at once do not come back at once.
func pause(try int, e *Error) time.Duration {
	if e.RetryAfter > 0 {
		return e.RetryAfter
	}
	d := time.Second << min(try-1, 5)
	return d/2 + rand.N(d/2+1)
}

// once asks once and reads the answer.
func (c *client) once(ctx context.Context, r Request, how fallback) (Response, error) {
	within, cancel := context.WithTimeout(ctx, c.env.Timeout)
	defer cancel()
	path, header, body := c.wire.request(c.spec, c.key, r, how)
	payload, err := encode(body)
	if err != nil {
		return Response{}, &Error{Kind: Rejected, Spec: c.spec, Err: fmt.Errorf("write the request: %w", err)}
	}
	q, err := http.NewRequestWithContext(within, http.MethodPost, c.base+path, bytes.NewReader(payload))
	if err != nil {
		return Response{}, &Error{Kind: Unreachable, Spec: c.spec, Err: err}
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json")
	q.Header.Set("User-Agent", "ralph")
	for k, v := range header {
		q.Header.Set(k, v)
	}
	a, err := c.http.Do(q)
	if err != nil {
		return Response{}, c.broken(ctx, within, Unreachable, err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(io.LimitReader(a.Body, MaxBody+1))
	if err != nil {
		return Response{}, c.broken(ctx, within, Truncated, err)
	}
	if len(b) > MaxBody {
		return Response{}, &Error{Kind: Malformed, Spec: c.spec, Text: fmt.Sprintf("more than %d MiB", MaxBody>>20)}
	}
	return c.read(a, b, r, how)
}

// broken is an error of the line, or of the time limit. What a person ended stays that.
func (c *client) broken(ctx, within context.Context, kind Kind, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	if within.Err() != nil {
		kind = TimedOut
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the address, which may have more in it than people should read
	}
	return &Error{Kind: kind, Spec: c.spec, Err: err}
}

// read tells answers from errors, which some servers send with a status of 200.
func (c *client) read(a *http.Response, body []byte, r Request, how fallback) (Response, error) {
	fail := func(kind Kind, said string) *Error {
		return &Error{Kind: kind, Spec: c.spec, Status: a.StatusCode, RetryAfter: c.later(a.Header), Text: text.Line(text.SafeLine(c.redact.String(text.Head(said, 4000))), 400)}
	}
	f, failed := failureIn(body)
	if a.StatusCode != http.StatusOK || failed {
		if f.text == "" && f.code == "" && a.StatusCode != http.StatusOK {
			f.text = string(text.Head(body, 400))
		}
		e := fail(kindOf(a.StatusCode, f), f.text)
		e.Err = rejection{f}
		return Response{}, e
	}
	res, err := c.wire.response(body, r, how)
	res.Raw = []byte(c.redact.String(string(text.Head(body, MaxRaw))))
	switch {
	case err != nil:
		e := fail(Malformed, err.Error())
		return Response{Raw: res.Raw, Usage: res.Usage}, e
	case r.Schema != nil && res.Stop == Length:
		return res, fail(Truncated, "the answer reached its limit of tokens")
	case r.Schema != nil && res.Stop == Refusal:
		return res, fail(Refused, res.Text)
	}
	return res, nil
}

// rejection keeps what the provider said for who adapts to it.
type rejection struct{ failure }

func (r rejection) Error() string { return strings.TrimSpace(r.kind + " " + r.code) }

// failureIn reads the error in a body: OpenAI's and Anthropic's {"error":{...}}, Ollama's
// {"error":"..."}.
func failureIn(body []byte) (failure, bool) {
	var b struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &b) != nil || len(b.Error) == 0 || string(b.Error) == "null" {
		return failure{}, false
	}
	var said string
	if json.Unmarshal(b.Error, &said) == nil {
		return failure{text: said}, said != ""
	}
	var e struct {
		Type, Message string
		Code, Param   any // a name, or a number
	}
	if json.Unmarshal(b.Error, &e) != nil {
		return failure{text: string(b.Error)}, true
	}
	f := failure{kind: e.Type, text: e.Message}
	f.code, _ = e.Code.(string)
	f.param, _ = e.Param.(string)
	return f, true
}

// later is how long the provider wants to be left alone.
func (c *client) later(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		if s > 0 && s < 1e9 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(c.env.Now()))
	}
	return 0
}

// encode is JSON with < and > as they are, which models read better.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
