package api_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/sessionreport"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/api"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// place is a repository with a journal, and nothing else; it is the Source and the Backend.
type place struct {
	t      testing.TB
	j      *journal.File
	engine atomic.Bool
	ids    atomic.Int64
}

func (p *place) State() *ralph.State { return p.j.State() }
func (p *place) Engine(*ralph.State) status.Engine {
	return status.Engine{Alive: p.engine.Load()}
}
func (p *place) Wait(ctx context.Context, seq int64) error { return p.j.Wait(ctx, seq) }
func (p *place) Each(after int64, visit func(ralph.Event) error) error {
	return p.j.Each(after, visit)
}
func (p *place) Now() time.Time { return p.j.Now() }

func (p *place) Context() action.Context {
	return action.Context{Engine: p.engine.Load(), Now: p.j.Now(), Usual: ralph.Allowance{Iterations: 50, Time: 30 * time.Minute}, By: "web", ID: p.id}
}

func (p *place) id(prefix string) string { return fmt.Sprintf("%s-%04d", prefix, p.ids.Add(1)) }

func (p *place) Update(ctx context.Context, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	return p.j.Update(ctx, "web", decide)
}

func (p *place) Start(context.Context, action.Start) (string, error) {
	return "", &ralph.Refusal{Why: "the engine did not start: no config", Hint: "mend it"}
}

func (p *place) RollBack(context.Context, ralph.TaskID) (string, error) { return "rolled back", nil }
func (p *place) CleanUp(context.Context, ralph.TaskID) (string, error)  { return "cleaned up", nil }
func (p *place) SpecFile(name, _ string) (string, error)                { return name, nil }
func (p *place) Closed(id ralph.ApprovalID) error                       { return gates.NotOpen(id, p.j.Each) }

func (p *place) Detail(_ context.Context, s *ralph.State, g *ralph.Approval) gates.Detail {
	d := gates.DetailOf(s, g)
	d.Folder = "/where/it/works"
	return d
}

func (p *place) Evidence(_ context.Context, s *ralph.State, seq int64, step func() error) (e receipts.Evidence, err error) {
	ask := receipts.Receipts{Only: seq}
	err = p.j.Each(s.Seq, func(x ralph.Event) error {
		ask.Add(x, s)
		s.Apply(x)
		return step()
	})
	if list := ask.List(); len(list) == 1 {
		return receipts.Evidence{Receipt: list[0], State: receipts.SeenOf(s, list[0].Task), Again: "the same", Same: true}, err
	}
	return e, &ralph.Refusal{Why: "that is no decision", Kind: ralph.ErrNotFound}
}

func (p *place) next(s *ralph.State) (list []screen.Ready, err error) {
	for _, t := range s.Plan.Tasks {
		list = append(list, screen.Ready{Task: status.QueryTask(t), Score: 30, Parts: policy.Points{Unblocks: 30}})
	}
	return list, nil
}

func (p *place) record(facts ...ralph.Fact) {
	p.t.Helper()
	if err := p.j.Update(p.t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		p.t.Fatal(err)
	}
}

// open serves the API of a new place.
func open(t testing.TB, segment int64) (*place, string) {
	t.Helper()
	p := &place{t: t}
	j, err := journal.Open(journal.Options{Root: t.TempDir(), Inbox: true, Plan: true, NewID: p.id, SegmentSize: segment})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	p.j = j
	p.record(
		ralph.SessionStarted{ID: "s", Mode: "autopilot", Auto: ralph.Autopilot}, ralph.PlanStarted{File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Spec: "a.md", Name: "One", Status: ralph.TaskPending}},
		ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "b.md", Status: ralph.SpecPending}},
		ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalStart, Text: "start?"}},
		ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Agent: "claude"}, Why: ralph.Why{Rule: "B-006", Text: "next"}},
	)
	p.engine.Store(true)
	past := index.New(index.Options{Journal: p})
	t.Cleanup(past.Close)
	server := httptest.NewServer(api.New(api.Options{
		Source: p, Backend: p, Version: "1", Beat: time.Minute, Index: past, Gates: p, Proofs: p, Next: p.next,
		Report: func(_ context.Context, s index.Session, write func(*sessionreport.Result) error) error {
			r, state := sessionreport.NewReport(sessionreport.ReportOptions{Session: s.ID}), past.Before(s.First)
			if err := p.Each(state.Seq, func(e ralph.Event) error {
				state.Apply(e)
				r.Add(e, state)
				return nil
			}); err != nil {
				return err
			}
			result, err := r.Result()
			if err != nil {
				return err
			}
			return write(result)
		},
	}))
	t.Cleanup(server.Close)
	return p, server.URL + api.Prefix
}

func call(t *testing.T, method, url, body string) (status int, kind, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Content-Type"), b.String()
}

// Each query answers what its command prints.
func TestQueries(t *testing.T) {
	t.Parallel()
	_, base := open(t, 0)
	for path, want := range map[string]string{
		"/status":                     `"status":"waiting_user"`,
		"/tasks":                      `"name":"One"`,
		"/tasks/t-1":                  `"name":"One"`,
		"/inbox":                      `"spec":"b.md"`,
		"/issues":                     `[]`,
		"/stage":                      `"mode":"autopilot"`,
		"/stats":                      `"specs_completed":0`,
		"/gates":                      `"id":"g-1"`,
		"/gates/g-1":                  `"how":["ralph approve g-1"`,
		"/next":                       `"score":30,"parts":{"unblocks":30`,
		"/rules":                      `[]`,
		"/offers?subject=gate&id=g-1": `"action":"approve"`,
		"/offers?subject=engine":      `"key":"p"`,
		"/receipts?limit=1":           `"task":"t-1"`,
		"/receipts?task=t-1&before=1": `"receipts":[]`,
		"/receipts?session=s&limit=1": `"session_id":"s"`,
		"/receipts?session=none":      `"receipts":[]`,
		"/receipts/6":                 `"same":true,"again":"the same"`,
		"/sessions":                   `"starts":1`,
		"/report":                     `"scope":"session"`,
		"/report?session=s":           `"scope":"session"`,
		"/report?all=true":            `"scope":"all"`,
		"/openapi.json":               `"openapi":"3.1.0"`,
		"/openapi.yaml":               `openapi: 3.1.0`,
	} {
		status, _, text := call(t, http.MethodGet, base+path, "")
		if status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.300s", path, status, text)
		}
		if !strings.HasPrefix(path, "/openapi") {
			fits(t, path, text)
		}
	}
}

// fits reports an answer that is not as the document says.
func fits(t *testing.T, path, text string) {
	t.Helper()
	const file = "../../../docs/openapi.json"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("file:///openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	path, _, _ = strings.Cut(path, "?")
	one := regexp.MustCompile(`^/(tasks|threads|gates|receipts)/[^/]+$`).FindStringSubmatch(path)
	if one != nil {
		path = map[string]string{"tasks": "/tasks/%7Bid%7D", "threads": "/threads/%7Bid%7D", "gates": "/gates/%7Bid%7D", "receipts": "/receipts/%7Bseq%7D"}[one[1]]
	}
	schema, err := c.Compile("file:///openapi.json#/paths/" + strings.ReplaceAll(api.Prefix+path, "/", "~1") + "/get/responses/200/content/application~1json/schema")
	if err != nil {
		t.Fatal(err)
	}
	got, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(got)
	}
	if err != nil {
		t.Errorf("%s is not as the document says: %v", path, err)
	}
}

// Actions are done under the address of what they are about and under their names; what
// is refused says why and what to do instead, as RFC 9457 has it.
func TestActions(t *testing.T) {
	t.Parallel()
	p, base := open(t, 0)
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/gates/g-1/approve", "", 200, `"said":"Approved"`},
		{"/gates/g-1/deny", `{"text":"no"}`, 404, `"hint":"the first answer wins"`},
		{"/engine/pause", "", 200, `"undo":{"action":"resume"`},
		{"/engine/pause", "{}", 422, `"hint":"` + "`ralph resume` lets it go on"},
		{"/actions/resume", "{}", 200, `"said":"Going on"`},
		{"/tasks/t-1/edit", `{"name":"Two","tags":["critical"]}`, 200, `"name":"One"`}, // its undo
		{"/tasks/t-9/edit", `{"name":"Two"}`, 404, `"detail":"no task t-9 in the plan"`},
		{"/actions/skip", `{"id":"t-1","text":"later"}`, 200, `"said":"Left out"`},
		{"/tasks/t-1/retry", "", 200, `"said":"Pending again`},
		{"/plan/add", `{"name":"More"}`, 200, `"said":"Added t-`},
		{"/inbox/queue", `{"file":"c.md"}`, 200, `"said":"Queued c.md"`},
		{"/specs", `{"file":"d.md","text":"# D"}`, 200, `"said":"Queued d.md"`},
		{"/specs", `{"files":"d.md"}`, 422, `"location":"body.files"`},
		{"/inbox/q-1/remove", "", 200, `"said":"Removed: q-1 b.md"`},
		{"/inbox/clear", "", 200, `"said":"Cleared 2 pending specs"`},
		{"/rules/r-1/revoke", "", 404, `"detail":"there is no rule r-1"`},
		{"/engine/start", `{"mode":"agent"}`, 409, `"detail":"an engine is at work here"`},
		{"/actions/nonsense", "{}", 404, `"detail":"there is no action`},
		{"/plan/add", `{"nam":"typo"}`, 422, `"location":"body.nam"`},
		{"/engine/mode", `{"autonomy":"fast"}`, 422, `"location":"body.autonomy"`},
		{"/plan/add", `{"name":`, 400, `"status":400`},
	} {
		before := p.j.State().Seq
		status, kind, text := call(t, http.MethodPost, base+tt.path, tt.body)
		if status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, status, text)
		}
		if good := status == http.StatusOK; good != (p.j.State().Seq > before) || !good && kind != "application/problem+json" {
			t.Errorf("%s: %s, facts %d", tt.path, kind, p.j.State().Seq-before)
		}
	}
	if status, _, _ := call(t, http.MethodGet, base+"/engine/pause", ""); status != http.StatusMethodNotAllowed && status != http.StatusNotFound {
		t.Errorf("a GET that changes something: %d", status)
	}
}

// Each action of the table has an address.
func TestEveryActionHasAnAddress(t *testing.T) {
	t.Parallel()
	_, base := open(t, 0)
	_, _, doc := call(t, http.MethodGet, base+"/openapi.json", "")
	for _, a := range action.Actions() {
		if !strings.Contains(doc, `"operationId":"do-`+a.Name+`"`) {
			t.Errorf("%s has none", a.Name)
		}
	}
}

var update = flag.Bool("update", false, "write docs/openapi.json anew")

// The document in docs is the one that the code makes, and its schemas are such.
func TestDocument(t *testing.T) {
	t.Parallel()
	x := api.New(api.Options{Source: &place{}, Backend: &place{}, Version: "1"})
	b, err := json.MarshalIndent(x.Document(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	const file = "../../../docs/openapi.json"
	if *update {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, b) {
		t.Errorf("docs/openapi.json is not the document that the code makes: go test ./internal/web/api -update (%v)", err)
	}
	if strings.Contains(string(b), "https://") || strings.Contains(string(b), "http://") {
		t.Error("the document names another host")
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("file:///openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	var parts struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(b, &parts); err != nil || len(parts.Components.Schemas) < 20 {
		t.Fatalf("%v, %d schemas", err, len(parts.Components.Schemas))
	}
	for name := range parts.Components.Schemas {
		if _, err := c.Compile("file:///openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
}

// message is one server-sent event.
type message struct{ id, event, data string }

// listen opens a stream; each call of the function it returns is the next event.
func listen(t *testing.T, url, last string) (next func() message, cut func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("%d, %s", res.StatusCode, got)
	}
	lines := bufio.NewReader(res.Body)
	return func() message {
		t.Helper()
		var m message
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal("the stream ended:", err)
			}
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "id":
				m.id = value
			case "event":
				m.event = value
			case "data":
				m.data = value
			case "":
				if m.data != "" {
					return m
				}
			}
		}
	}, cancel
}

// A stream that is cut goes on after the last event that was read: no fact is lost, none
// comes twice, also over segments of the journal that have ended. What comes is what
// `ralph log --json` prints.
func TestEventsResume(t *testing.T) {
	t.Parallel()
	p, base := open(t, 2<<10)
	want := int64(0)
	take := func(next func() message, n int) {
		t.Helper()
		for range n {
			m := next()
			want++
			var e struct {
				T     string   `json:"t"`
				Seq   int64    `json:"seq"`
				Names []string `json:"event"`
			}
			if err := json.Unmarshal([]byte(m.data), &e); err != nil || e.Seq != want || m.id != strconv.FormatInt(want, 10) || m.event != e.T || len(e.Names) == 0 {
				t.Fatalf("event %d: %v, %+v", want, err, m)
			}
		}
	}
	next, cut := listen(t, base+"/events?after=0", "")
	take(next, 5)
	cut()
	for i := range 60 { // meanwhile
		p.record(ralph.TaskAdded{Task: ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-x%d", i)), Name: strings.Repeat("x", 90), Status: ralph.TaskPending}})
	}
	next, cut = listen(t, base+"/events", "5")
	take(next, 61)
	for i := range 20 { // live
		p.record(ralph.TaskMessaged{ID: "t-1", Text: strconv.Itoa(i)})
	}
	take(next, 20)
	cut()
	next, _ = listen(t, base+"/events?after=86", "")
	p.record(ralph.TaskMessaged{ID: "t-1", Text: "last"})
	take(next, 1)
	// Without a number it begins now; a number that the journal has not reached is of
	// another journal: then all is new.
	now, _ := listen(t, base+"/events", "")
	p.record(ralph.TaskMessaged{ID: "t-1", Text: "now"})
	if m := now(); m.id != "88" {
		t.Errorf("from now on: %+v", m)
	}
	other, _ := listen(t, base+"/events", "100000")
	if m := other(); m.id != "1" {
		t.Errorf("of another journal: %+v", m)
	}
	if status, _, text := call(t, http.MethodGet, base+"/events?after=x", ""); status != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", status, text)
	}
}

// autopilotStatus comes after each change, without asking again.
func TestLiveState(t *testing.T) {
	t.Parallel()
	p, base := open(t, 0)
	next, _ := listen(t, base+"/live-state", "")
	seen := func(word string) {
		t.Helper()
		for range 10 {
			m := next()
			if m.event != "autopilotStatus" {
				t.Fatalf("%+v", m)
			}
			if strings.Contains(m.data, `"status":"`+word+`"`) {
				return
			}
		}
		t.Errorf("never %s", word)
	}
	seen("waiting_user")
	p.record(ralph.Control{Want: ralph.WantPause})
	seen("pausing")
}
