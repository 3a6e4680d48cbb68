package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
)

// TestMain keeps these tests off the network: what is not on loopback is refused,
// but for the hosts that a test has put there.
func TestMain(m *testing.M) {
	http.DefaultTransport = &detour{real: http.DefaultTransport, hosts: map[string]*httptest.Server{}}
	os.Exit(m.Run())
}

// detour is a transport that leads hosts to servers on loopback.
type detour struct {
	real  http.RoundTripper
	mu    sync.Mutex
	hosts map[string]*httptest.Server // by host, or host with path
}

func (d *detour) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Hostname() == "127.0.0.1" {
		return d.real.RoundTrip(req)
	}
	d.mu.Lock()
	to := d.hosts[req.URL.Host+req.URL.Path]
	if to == nil {
		to = d.hosts[req.URL.Host]
	}
	d.mu.Unlock()
	if to == nil {
		return nil, fmt.Errorf("tests do not go to %s", req.URL.Host)
	}
	at, _ := url.Parse(to.URL)
	there := req.Clone(req.Context())
	there.URL.Scheme, there.URL.Host = at.Scheme, at.Host
	return d.real.RoundTrip(there)
}

// letter is a request that a server got.
type letter struct {
	path, title, kind, body string
}

// letters is a server that answers with one status after the other, the last one
// for ever.
type letters struct {
	*httptest.Server
	mu     sync.Mutex
	status []int
	got    []letter
}

func newLetters(t *testing.T, host string, status ...int) *letters {
	t.Helper()
	l := &letters{status: status}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.got = append(l.got, letter{r.URL.Path, r.Header.Get("Title"), r.Header.Get("Content-Type"), string(body)})
		code := http.StatusOK
		if len(l.status) > 0 {
			code = l.status[0]
			l.status = l.status[min(1, len(l.status)-1):]
		}
		w.WriteHeader(code)
		switch {
		case code != http.StatusOK:
		case host == "hooks.slack.com":
			_, _ = io.WriteString(w, "ok")
		default:
			_, _ = io.WriteString(w, "{}")
		}
	}))
	t.Cleanup(l.Close)
	if host != "" {
		d := http.DefaultTransport.(*detour)
		d.mu.Lock()
		d.hosts[host] = l.Server
		d.mu.Unlock()
	}
	return l
}

func sinkOf(t *testing.T, setting string) Sink {
	t.Helper()
	sinks, err := webhooks([]string{setting})
	if err != nil {
		t.Fatal(err)
	}
	return sinks[0]
}

func question() Message {
	return Message{
		Title: "An agent asks: Pay", Body: "Task t-1 asks: <!channel> @everyone how?", Event: "gate", Urgency: Needs,
		Command: "ralph answer g-1 \"...\"", Session: "s-1", Repository: "shop", At: noon(),
	}
}

// A plain address gets JSON with these fields.
func TestPlainWebhook(t *testing.T) {
	t.Parallel()
	l := newLetters(t, "")
	if err := sinkOf(t, l.URL+"/hook?key=sekret").Send(t.Context(), question()); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(l.got[0].body), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"title": "An agent asks: Pay", "body": "Task t-1 asks: <!channel> @everyone how?", "event": "gate", "urgency": "needs-you",
		"command": "ralph answer g-1 \"...\"", "session": "s-1", "repository": "shop", "at": "2026-01-02T12:00:00Z",
	}
	if diff := cmp.Diff(want, got); diff != "" || l.got[0].kind != "application/json" {
		t.Errorf("%s (-want +got):\n%s", l.got[0].kind, diff)
	}
}

// Slack, ntfy and Discord get it in their own form, from the addresses that people
// paste. Nobody is called by what an agent wrote. The second message has its own
// title.
func TestServices(t *testing.T) {
	t.Parallel()
	ntfy := newLetters(t, "")
	for _, tt := range []struct {
		setting, path string
		l             *letters
		body          []string
	}{
		{
			"https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX", "/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
			newLetters(t, "hooks.slack.com"),
			[]string{`"text":"ralph in shop: An agent asks: Pay"`, `Task t-1 asks: ‹!channel› @ everyone how?`, `ralph answer g-1 \"...\"`},
		},
		{
			"https://discord.com/api/webhooks/123456/abcdefabcdef", "/api/webhooks/123456/abcdefabcdef",
			newLetters(t, "discord.com", 204),
			[]string{`"title":"ralph in shop: An agent asks: Pay"`, `Task t-1 asks: ‹!channel› @ everyone how?`},
		},
		{"ntfy://" + strings.TrimPrefix(ntfy.URL, "http://") + "/topic?scheme=http", "/topic", ntfy, []string{"Task t-1 asks: ‹!channel› @ everyone how?\nralph answer g-1 \"...\""}},
	} {
		sink := sinkOf(t, tt.setting)
		second := question()
		second.Title = "Another one"
		for _, m := range []Message{question(), second} {
			if err := sink.Send(t.Context(), m); err != nil {
				t.Errorf("%s: %v", sink.Name(), err)
			}
		}
		if len(tt.l.got) != 2 || tt.l.got[0].path != tt.path {
			t.Errorf("%s: %+v", sink.Name(), tt.l.got)
			continue
		}
		for _, part := range tt.body {
			if !strings.Contains(tt.l.got[0].body, part) {
				t.Errorf("%s: %q lacks %q", sink.Name(), tt.l.got[0].body, part)
			}
		}
		if again := tt.l.got[1]; !strings.Contains(again.title+again.body, "Another one") {
			t.Errorf("%s: the second message is %+v", sink.Name(), again)
		}
	}
}

// What an answer means: 429 and 5xx pass, 4xx and a redirect stay.
func TestAnswers(t *testing.T) {
	t.Parallel()
	hook := func(status ...int) (*letters, Sink) {
		l := newLetters(t, "", status...)
		return l, sinkOf(t, l.URL+"/hook")
	}
	for _, tt := range []struct {
		status  int
		want    string
		passing bool
	}{
		{200, "", false},
		{204, "", false},
		{429, "it answered 429 Too Many Requests", true},
		{408, "it answered 408 Request Timeout", true},
		{500, "it answered 500 Internal Server Error", true},
		{503, "it answered 503 Service Unavailable", true},
		{301, "it answered 301 Moved Permanently", false},
		{404, "it answered 404 Not Found", false},
	} {
		l, sink := hook(tt.status)
		err := sink.Send(t.Context(), question())
		var never permanent
		got, passing := "", false
		if err != nil {
			got, passing = err.Error(), !errors.As(err, &never)
		}
		if got != tt.want || passing != tt.passing || len(l.got) != 1 {
			t.Errorf("%d: %q, passes %v, %d requests", tt.status, got, passing, len(l.got))
		}
	}
}

// Discord's service tries again by itself, for minutes: that is switched off, ours
// are counted.
func TestDiscordOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []int{429, 503, 404} {
		path := fmt.Sprintf("/api/webhooks/%d/abcdefabcdef", status)
		l := newLetters(t, "discord.com"+path, status)
		err := sinkOf(t, "https://discord.com"+path).Send(t.Context(), question())
		var never permanent
		if err == nil || len(l.got) != 1 || errors.As(err, &never) != (status == 404) {
			t.Errorf("%d: %v after %d requests", status, err, len(l.got))
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	bound{over}.Sleep(time.Hour)
	if time.Since(began) > time.Minute {
		t.Error("it slept on")
	}
}

// A webhook that is busy is to be tried again, and gets the same message then.
func TestWebhookTriesAgain(t *testing.T) {
	t.Parallel()
	l := newLetters(t, "", 429, 503, 200)
	c := &Dispatcher{Letters: []*Letter{newLetter(sinkOf(t, l.URL+"/sekret"), "shop")}}
	c.Start(func(f ralph.NoticeFailed) { t.Error(f) }, func(ralph.ApprovalID) bool { return true })
	x := c.Letters[0]
	items := x.See(ralph.Event{Seq: 1, At: noon(), Fact: ask("g-1")}, plan())
	for try, want := range []int{0, 0, 1} {
		if n, err := x.Deliver(t.Context(), items); n != want || (err == nil) != (n == 1) {
			t.Errorf("try %d: done %d, %v", try, n, err)
		}
	}
	if len(l.got) != 3 {
		t.Errorf("%d requests, want 3", len(l.got))
	}
}

// A server that does not answer is left behind when the time is over, also by the
// services of the library, and no secret is in what is said of it.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(silent.CloseClientConnections)
	host := strings.TrimPrefix(silent.URL, "http://")
	for _, setting := range []string{silent.URL + "/sekret-token", "ntfy://ada:sekret-token@" + host + "/sekret-topic?scheme=http"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := sinkOf(t, setting).Send(ctx, question())
		cancel()
		if err == nil || strings.Contains(err.Error(), "sekret") {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
