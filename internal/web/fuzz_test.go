package web_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/web/guard"
)

// refusing is a kept that has neither an engine nor files.
type refusing struct {
	*fakeBackend
	ids *atomic.Int64
}

func (r refusing) Context() action.Context {
	w := r.fakeBackend.Context()
	w.ID = func(prefix string) string { return fmt.Sprintf("%s-%d", prefix, r.ids.Add(1)) } // a taken one is asked for again
	return w
}

func no() error { return &ralph.Refusal{Why: "not here"} }

func (refusing) Start(context.Context, action.Start) (string, error)    { return "", no() }
func (refusing) RollBack(context.Context, ralph.TaskID) (string, error) { return "", no() }
func (refusing) CleanUp(context.Context, ralph.TaskID) (string, error)  { return "", no() }
func (refusing) SpecFile(name, _ string) (string, error)                { return name, no() }

// FuzzDashboard: whatever is asked of the dashboard, by anybody or by who is in, with the
// token of its forms or without it, it neither breaks nor forgets its headers, and nothing
// is done without cookie and token (issue 15 point 9).
func FuzzDashboard(f *testing.F) {
	for _, s := range [][4]string{
		{"GET", "/", "", ""},
		{"GET", "/plan?q=a&page=-1", "", ""},
		{"GET", "/log?after=99999999999999999999", "", ""},
		{"GET", "/task/t-1", "", ""},
		{"GET", "/task/../../etc/passwd", "", ""},
		{"GET", "/spec/a.md", "", ""},
		{"GET", "/spec/..%2f..%2fx", "", ""},
		{"GET", "/gates/g-1", "", ""},
		{"POST", "/do/pause", "", "text=x"},
		{"POST", "/do/add", "", "name=x&notes=%00"},
		{"POST", "/do/edit", "HX-Request: true", "id=t-1&name="},
		{"POST", "/do/approve", "Origin: http://evil.example", "id=g-1"},
		{"POST", "/do/upload", "Content-Type: multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"../a.md\"\r\n\r\nx\r\n--x--"},
		{"GET", "/api/v1/state", "Authorization: Bearer x", ""},
		{"POST", "/api/v1/actions/pause", "Content-Type: application/json", "{"},
		{"PUT", "/", "", "x"},
		{"GET", "/enter/x", "Sec-Fetch-Mode: navigate", ""},
		{"GET", "/assets/../x", "", ""},
		{"GET", "/history?from=x", "Host: evil.example", ""},
		{"GET", "/search?q=%ff", "", ""},
		{"GET", "/receipts?task=t-1", "Cookie: ralph_7777=x", ""},
		{"GET", "/report?format=html", "", ""},
		{"\n", "*", "", ""},
		{"CONNECT", "//", "", ""},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	k := newKept(f)
	k.add("engine",
		ralph.SessionStarted{ID: "s", Mode: "autopilot", Auto: ralph.Autopilot}, ralph.PlanStarted{File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Spec: "a.md", Name: "One", Status: ralph.TaskPending}},
		ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalStart, Text: "start?"}})
	var broken strings.Builder
	backend := refusing{k, &atomic.Int64{}}
	x := web.New(web.Options{Source: k, Backend: backend, Root: "repo", Log: func(text string) { broken.WriteString(text) }})
	f.Cleanup(x.Close)
	instance, err := guard.Take(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	addr := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7777}
	g := guard.New(guard.Options{Next: x, Open: x.Open(), Lock: instance, Addr: addr, Style: x.Style(), WithCSRF: web.WithCSRF})
	ask := func(method, path, header, body string) *httptest.ResponseRecorder {
		ctx, cancel := context.WithCancel(context.Background())
		if strings.Contains(path, "live") || strings.Contains(path, "events") || strings.Contains(path, "stream") {
			cancel() // what never ends by itself
		}
		defer cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost:7777/", strings.NewReader(body))
		r.Method, r.Host = method, "localhost:7777"
		if u, err := url.ParseRequestURI(path); err == nil {
			r.URL, r.RequestURI = u, path
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for line := range strings.Lines(header) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && name == "Host" {
				r.Host = value
			} else if ok {
				r.Header.Add(name, value)
			}
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		return w
	}
	link := g.Link()
	_, token, _ := strings.Cut(link, "/enter/")
	in := ask("GET", "/enter/"+token, "", "")
	cookie := "Cookie: " + strings.SplitN(in.Header().Get("Set-Cookie"), ";", 2)[0]
	m := regexp.MustCompile(`name="csrf" value="([^"]+)"`).FindStringSubmatch(ask("GET", "/gates", cookie, "").Body.String())
	if m == nil {
		f.Fatalf("the link does not lead in: %d %s", in.Code, in.Body)
	}
	f.Fuzz(func(t *testing.T, method, path, header, body string) {
		before := k.State().Seq
		for _, who := range []struct{ header, body string }{{header, body}, {header + "\n" + cookie, body}, {cookie + "\nSec-Fetch-Site: same-origin\n" + header, body + "&csrf=" + m[1]}} {
			w := ask(method, path, who.header, who.body)
			if w.Code >= 500 || broken.Len() > 0 {
				t.Fatalf("%d %s", w.Code, broken.String())
			}
			if h := w.Header(); h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Fatalf("%d without its headers: %v", w.Code, h)
			}
			if !strings.Contains(who.body, m[1]) && !strings.Contains(who.header, m[1]) && k.State().Seq != before {
				t.Fatal("something was done without the token of a form")
			}
		}
	})
}
