// Package api owns the JSON API of the dashboard under /api/v1: what the commands print
// with --json, each action of internal/action, and the facts as a stream. Its OpenAPI
// document is made from this code. Who may call it is the guard's; what an action means
// and what the state says is decided elsewhere.
package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// Options are what the API needs from outside.
type Options struct {
	Source  watch.Source
	Backend action.Backend
	Version string
	Beat    time.Duration // between two comments of a quiet stream

	// Index is what is known of the past.
	Index *index.Index
	// Report makes reports; it is asked with sessions of the index.
	Report Reporter
	Gates  Gates  // nil: of gates only what the state has
	Proofs Proofs // nil: nothing is decided again
	// Next are the tasks that would start now; nil: nobody knows.
	Next func(*ralph.State) ([]screen.Ready, error)
	// Patience is how long a reader of a stream may take nothing; 0: half a minute.
	Patience time.Duration
	// Panicked is told of a panic in the background; nil: nobody is.
	Panicked func(what any)
}

// Gates says what only git and files know of a gate.
type Gates interface {
	Detail(ctx context.Context, s *ralph.State, g *ralph.Approval) gates.Detail
}

// Proofs decide once more: of one receipt, beginning with a state before it.
type Proofs interface {
	Evidence(ctx context.Context, from *ralph.State, seq int64, step func() error) (receipts.Evidence, error)
}

const patience = 30 * time.Second

// API answers the requests under /api/v1/.
type API struct {
	opt   Options
	mux   *http.ServeMux
	doc   huma.API
	feed  *feed
	fold  chan struct{} // has room for the one request that reads much of the journal
	stand standing
}

// Prefix is what every address of the API begins with.
const Prefix = "/api/v1"

// New returns the API.
func New(opt Options) *API {
	if opt.Patience == 0 {
		opt.Patience = patience
	}
	x := &API{opt: opt, mux: http.NewServeMux(), fold: make(chan struct{}, 1)}
	x.feed = newFeed(opt.Source, opt.Panicked)
	schemas := huma.NewMapRegistry("#/components/schemas/", schemaName)
	x.doc = humago.New(x.mux, huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "ralph", Version: opt.Version,
				Description: "What ralph knows and does in one repository. docs/api.md says how to call it.",
			},
			Components: &huma.Components{
				Schemas:         schemas,
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}},
			},
			Security: []map[string][]string{{"token": {}}},
		},
		Transformers: []huma.Transformer{func(_ huma.Context, _ string, v any) (any, error) {
			if e, ok := v.(*huma.ErrorModel); ok { // what did not fit, before an operation was asked
				return unfit(e), nil
			}
			return v, nil
		}},
		OpenAPIPath: Prefix + "/openapi", // and no page of documentation: it would come from other hosts
		Formats:     map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
	})
	x.queries()
	x.histories()
	x.actions()
	x.streams()
	nullable(schemas)
	return x
}

// nullable says in the document which objects may be null: those behind a pointer that
// are written also when there are none.
func nullable(schemas huma.Registry) {
	for name, schema := range schemas.Map() {
		t := schemas.TypeFromRef("#/components/schemas/" + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if p := schema.Properties[key]; p != nil && p.Ref != "" && f.Type.Kind() == reflect.Pointer && !strings.Contains(options, "omit") {
				schema.Properties[key] = &huma.Schema{AnyOf: []*huma.Schema{p, {Type: "null"}}}
			}
		}
	}
}

// ServeHTTP answers one request, which the guard has let in.
func (x *API) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	w := &linked{ResponseWriter: to, links: action.NewWriter(to, action.Commands)}
	defer func() { _ = w.links.Flush() }()
	if !strings.HasSuffix(r.URL.Path, "/events") {
		w.Header().Set("Cache-Control", "no-store")
	}
	if _, pattern := x.mux.Handler(r); pattern == "" {
		x.nowhere(w, r)
		return
	}
	x.mux.ServeHTTP(w, r)
}

// linked answers with commands in the place of links: who asks an API works with commands.
type linked struct {
	http.ResponseWriter
	links *action.Writer
}

func (l *linked) Write(p []byte) (int, error) { return l.links.Write(p) }

// Unwrap is for http.ResponseController.
func (l *linked) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// nowhere answers what no operation is for.
func (x *API) nowhere(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := x.mux.Handler(other); pattern != "" {
			w.Header().Set("Allow", method)
			Refuse(w, http.StatusMethodNotAllowed, r.Method+" is no way to ask for "+r.URL.Path, "use "+method)
			return
		}
	}
	Refuse(w, http.StatusNotFound, "the API has no "+r.URL.Path, Prefix+"/openapi.json lists all that it has")
}

// Refuse answers with a problem.
func Refuse(w http.ResponseWriter, status int, why, hint string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: why, Hint: hint})
}

// Document is the OpenAPI document.
func (x *API) Document() *huma.OpenAPI { return x.doc.OpenAPI() }

// published are the names that types have in the document since they were first in it, by
// what Go calls them now: clients are made from them, so a name is a promise.
func published() map[string]string {
	return map[string]string{"action.Available": "Offer", "action.Result": "Done", "ralph.CheckResult": "GateResult", "ralph.Approval": "Gate", "ralph.Worktree": "Place", "screen.Decision": "DecisionOnThread", "gates.Detail": "ReportGateDetail", "gates.End": "ReportGateEnd"}
}

// schemaName names a type in the document; the same word in another package is another type.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	of := path.Base(t.PkgPath())
	if first := published()[t.String()]; first != "" {
		return first
	}
	if t.Name() != "" && slices.Contains([]string{"report", "receipts", "gates", "status"}, of) { // one package at first, and a name is a promise
		return "Report" + name
	}
	return name
}

// body is an answer.
type body[T any] struct{ Body T }

// get adds a query.
func get[In, Out any](x *API, path, id, summary string, answer func(ctx context.Context, in *In) (Out, error)) {
	huma.Register(x.doc, x.operation(http.MethodGet, path, id, summary), func(ctx context.Context, in *In) (*body[Out], error) {
		out, err := answer(ctx, in)
		if err != nil {
			return nil, problemOf(err)
		}
		return &body[Out]{out}, nil
	})
}

func (x *API) operation(method, path, id, summary string) huma.Operation {
	problem := x.doc.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "Problem")
	return huma.Operation{
		Method: method, Path: Prefix + path, OperationID: id, Summary: summary, MaxBodyBytes: maxBody,
		Responses: map[string]*huma.Response{"default": {
			Description: "Why it may not be, and what to do instead", Content: map[string]*huma.MediaType{"application/problem+json": {Schema: problem}},
		}},
	}
}

// maxBody bounds a request: a spec is the longest thing, and JSON may write each of its
// bytes as six.
const maxBody = 6<<20 + 1<<10

// none is the input of an operation that takes nothing.
type none struct{}

// Problem is an error as RFC 9457 has it.
type Problem struct {
	Type   string `json:"type" doc:"always about:blank"`
	Title  string `json:"title" doc:"the words of the status"`
	Status int    `json:"status"`
	Detail string `json:"detail" doc:"why, in words"`
	Hint   string `json:"hint,omitempty" doc:"what to do instead"`
	// Errors say it for programs, where what was sent does not fit.
	Errors []Misfit `json:"errors,omitempty" doc:"each part of a request that does not fit"`
}

// Misfit is a part of a request that does not fit.
type Misfit struct {
	Location string `json:"location" doc:"as body.name, query.limit"`
	Message  string `json:"message"`
}

func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType says what kind of JSON it is.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// problemOf is an error as the API answers it.
func problemOf(err error) error {
	p := &Problem{Type: "about:blank", Status: http.StatusInternalServerError, Detail: err.Error()}
	var refusal *ralph.Refusal
	if errors.As(err, &refusal) {
		p.Status, p.Detail, p.Hint = http.StatusConflict, refusal.Why, refusal.Hint
	}
	switch {
	case errors.Is(err, ralph.ErrNotFound):
		p.Status = http.StatusNotFound
	case errors.Is(err, ralph.ErrUsage):
		p.Status = http.StatusUnprocessableEntity
	}
	if p.Title = http.StatusText(p.Status); p.Hint == "" {
		p.Hint = hintFor(p.Status)
	}
	return p
}

// hintFor is what helps with a status where nobody knows better.
func hintFor(status int) string {
	switch status {
	case http.StatusBadRequest:
		return `send one JSON object, such as {"text": "..."}`
	case http.StatusUnsupportedMediaType:
		return "send JSON, with Content-Type: application/json"
	case http.StatusNotFound:
		return Prefix + "/openapi.json lists all that it has"
	case http.StatusUnprocessableEntity:
		return Prefix + "/openapi.json says what each address takes"
	case http.StatusRequestEntityTooLarge:
		return fmt.Sprintf("send at most %d bytes", maxBody)
	}
	return ""
}

// maxMisfits bounds what is told of a request that does not fit.
const maxMisfits = 10

// unfit is what did not fit as a problem: where, and why, but never what was sent, which may be long
// and may hold a secret.
func unfit(e *huma.ErrorModel) *Problem {
	p := &Problem{Type: "about:blank", Title: http.StatusText(e.Status), Status: e.Status, Detail: e.Detail, Hint: hintFor(e.Status)}
	var parts []string
	for _, x := range e.Errors[:min(len(e.Errors), maxMisfits)] {
		m := Misfit{Location: text.Line(cmp.Or(x.Location, "request"), 60), Message: text.Line(x.Message, 200)}
		p.Errors, parts = append(p.Errors, m), append(parts, m.Location+": "+m.Message)
	}
	if len(parts) > 0 {
		p.Detail = text.Few(parts, 3, "; ")
	}
	return p
}

func notFound(format string, args ...any) error {
	return &ralph.Refusal{Why: fmt.Sprintf(format, args...), Kind: ralph.ErrNotFound}
}
