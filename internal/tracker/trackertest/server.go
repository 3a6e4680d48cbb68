package trackertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
)

// Server is a tracker in this process.
type Server struct {
	*httptest.Server
	Service ralph.Service

	mu     sync.Mutex
	items  map[string]*Item
	nextID int
	script []Step
	moved  map[string]string // repositories of GitHub that were renamed
	calls  []Call
	slow   func() time.Duration
	report func(where, what string)
	fake   http.Handler
	doc    *contract
	over   chan struct{}  // closed at the end
	extra  *http.ServeMux // what the cut document does not have
}

// Item is an item as the server has it.
type Item struct {
	Key      string
	Title    string
	Body     string
	State    string
	Labels   []string
	Fields   map[string]any
	Comments []Comment
	Rev      int
	Author   string    // a name for people, and an address at example.com; "": Ben
	Kind     string    // Jira: of the author's account; "": atlassian
	Updated  time.Time // zero: in 2021
	Attached []string  // names of files
}

// author is who wrote the item.
func (x *Item) author() string { return cmp.Or(x.Author, "Ben") }

// address is how a person is known.
func address(name string) string { return strings.ToLower(name) + "@example.com" }

// updated is when the item was changed last.
func (x *Item) updated() time.Time {
	if x.Updated.IsZero() {
		return time.Date(2021, 1, 17, 12, 34, 0, 0, time.UTC)
	}
	return x.Updated
}

// Comment is a comment as the server has it.
type Comment struct {
	Author string // "": Ben
	ID     int
	Text   string // as it was sent; a document as JSON
	Marker string // Jira: the property
	At     time.Time
	Edits  int
}

// Call is a request that came.
type Call struct {
	Method, Path string
	Status       int
}

// Step is what happens to the next request that it matches, instead of what it asks.
type Step struct {
	On      string // "POST", or "POST /part/of/the/path"; "": any request
	Status  int
	Header  map[string]string
	Body    string
	Times   int  // 0: once
	Hang    bool // no answer until the client goes
	Cut     bool // the connection is closed without an answer, and nothing is done
	CutDone bool // it is done, and the connection closed without an answer
}

// Start makes a server of a service. What is not as its document has it fails the test.
func Start(t testing.TB, service ralph.Service) *Server {
	t.Helper()
	s := &Server{Service: service, items: map[string]*Item{}, nextID: 100, over: make(chan struct{}), extra: http.NewServeMux(), report: func(where, what string) {
		t.Errorf("%s: %s", where, strings.Join(strings.Fields(what), " "))
	}}
	mux := http.NewServeMux()
	var err error
	switch service {
	case ralph.GitHub:
		s.doc, err = ofGitHub()
		s.github(mux)
	case ralph.Jira:
		s.doc, err = ofJira()
		s.jira(mux)
	case ralph.AzureDevOps:
		s.doc, err = ofADO()
		s.ado(mux)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.fake = mux
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() { close(s.over); s.CloseClientConnections(); s.Close() })
	return s
}

// Access is the address that clients are given: of an organization, for Azure DevOps.
func (s *Server) Access() string {
	if s.Service == ralph.AzureDevOps {
		return s.URL + "/org"
	}
	return s.URL
}

func (s *Server) serve(w http.ResponseWriter, q *http.Request) {
	rec := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, Call{q.Method, q.URL.Path, rec.status})
	}()
	step, found := s.next(q)
	switch {
	case !found:
	case step.Hang:
		_, _ = io.Copy(io.Discard, q.Body) // only then is it seen that the client goes
		select {
		case <-q.Context().Done():
		case <-s.over:
		}
		return
	case step.Cut:
		rec.status = 0
		cut(w)
		return
	case step.CutDone:
		rec.status = 0
		s.answer(httptest.NewRecorder(), q)
		cut(w)
		return
	default:
		for k, v := range step.Header {
			w.Header().Set(k, v)
		}
		rec.WriteHeader(step.Status)
		_, _ = rec.Write([]byte(step.Body))
		return
	}
	s.answer(rec, q)
}

func (s *Server) answer(w http.ResponseWriter, q *http.Request) {
	if s.elsewhere(w, q) {
		return
	}
	if _, pattern := s.extra.Handler(q); pattern != "" {
		s.extra.ServeHTTP(w, q)
		return
	}
	s.doc.serve(w, q, s.fake, s.report)
}

func cut(w http.ResponseWriter) {
	if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = c.Close()
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(code int) {
	w.status = code
	w.ResponseWriter.WriteHeader(code)
}

// next takes the first step of the script that is for a request.
func (s *Server) next(q *http.Request) (Step, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.script {
		step := &s.script[i]
		method, path, _ := strings.Cut(step.On, " ")
		if method != "" && method != q.Method || path != "" && !strings.Contains(q.URL.Path, path) {
			continue
		}
		out := *step
		if step.Times--; step.Times <= 0 {
			s.script = slices.Delete(s.script, i, i+1)
		}
		return out, true
	}
	return Step{}, false
}

// Rename has a repository of GitHub answer with a redirect, to where it is under its new name.
func (s *Server) Rename(from, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.moved == nil {
		s.moved = map[string]string{}
	}
	s.moved[from] = to
	for key, x := range s.items {
		if repo, n, _ := strings.Cut(key, "#"); repo == from {
			delete(s.items, key)
			x.Key = to + "#" + n
			s.items[x.Key] = x
		}
	}
}

// elsewhere redirects what asks for the old name, and finds what asks by the repository's id.
func (s *Server) elsewhere(w http.ResponseWriter, q *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for from, to := range s.moved {
		if rest, ok := strings.CutPrefix(q.URL.Path, "/repos/"+from); ok {
			at := s.URL + "/repositories/17" + rest
			if q.URL.RawQuery != "" {
				at += "?" + q.URL.RawQuery
			}
			code := http.StatusMovedPermanently
			if q.Method != http.MethodGet {
				code = http.StatusTemporaryRedirect
			}
			w.Header().Set("Location", at)
			w.WriteHeader(code)
			return true
		}
		if rest, ok := strings.CutPrefix(q.URL.Path, "/repositories/17"); ok {
			q.URL.Path = "/repos/" + to + rest
		}
	}
	return false
}

// Script has the next requests answered otherwise.
func (s *Server) Script(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, steps...)
}

// Unscript takes back what is left of the script.
func (s *Server) Unscript() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = nil
}

// Slow has each write take a while before it is done, which goes on when the client is gone.
func (s *Server) Slow(f func() time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = f
}

// dawdle is how long a write takes.
func (s *Server) dawdle() {
	s.mu.Lock()
	f := s.slow
	s.mu.Unlock()
	if f != nil {
		time.Sleep(f()) // the time that a service takes is what the test is about
	}
}

// Add puts an item there.
func (s *Server) Add(x Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x.Rev = max(x.Rev, 1)
	if x.Fields == nil {
		x.Fields = map[string]any{}
	}
	s.items[x.Key] = &x
}

// Change changes an item, as a person does: it has another time then.
func (s *Server) Change(key string, change func(x *Item)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.items[key]
	change(x)
	x.Rev++
	x.Updated = x.updated().Add(time.Minute)
}

// Item is a copy of an item.
func (s *Server) Item(key string) Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.items[key]
	if x == nil {
		return Item{}
	}
	out := *x
	out.Comments, out.Labels = slices.Clone(x.Comments), slices.Clone(x.Labels)
	return out
}

// Calls are the requests that came, by methods; all without any.
func (s *Server) Calls(methods ...string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if len(methods) == 0 || slices.Contains(methods, c.Method) {
			out = append(out, c)
		}
	}
	return out
}

// edit changes an item, and answers 404 where there is none.
func (s *Server) edit(w http.ResponseWriter, key string, change func(x *Item) (code int, answer any)) {
	s.mu.Lock()
	x := s.items[key]
	if x == nil {
		s.mu.Unlock()
		reply(w, http.StatusNotFound, map[string]any{"message": "Not Found", "documentation_url": "https://example.com", "status": "404"})
		return
	}
	code, answer := change(x)
	s.mu.Unlock()
	reply(w, code, answer)
}

func (s *Server) newID() int {
	s.nextID++
	return s.nextID
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	if v != nil {
		_ = json.NewEncoder(w).Encode(v)
	}
}

func read(q *http.Request, v any) {
	if err := json.NewDecoder(q.Body).Decode(v); err != nil {
		panic(fmt.Sprintf("the contract let pass a body that is no JSON: %v", err))
	}
}
