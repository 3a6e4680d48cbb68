package live

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// message is an event of a stream.
type message struct{ name, id, data string }

// changing is a source of views that tests change.
type changing struct {
	mu      sync.Mutex
	version int64
	moved   chan struct{}
	text    map[string]string // by key; a key that is not there is gone
}

func newChanging(text map[string]string) *changing {
	return &changing{version: 1, moved: make(chan struct{}), text: text}
}

func (c *changing) set(key, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text[key] = text
	c.version++
	close(c.moved)
	c.moved = make(chan struct{})
}

func (c *changing) changed(ctx context.Context, version int64) (int64, error) {
	for {
		c.mu.Lock()
		now, moved := c.version, c.moved
		c.mu.Unlock()
		if now > version {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case <-moved:
		}
	}
}

func (c *changing) render(_ context.Context, key string, _ int64) ([]Part, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch text := c.text[key]; text {
	case "":
		return nil, Gone("no page " + key)
	case "trouble":
		return nil, errors.New("read the journal")
	default:
		return []Part{{"same", []byte("<i>same</i>")}, {"x", []byte("<b>" + text + "</b>")}}, nil
	}
}

// many is a hub behind a server.
type many struct {
	*changing
	hub *Hub
	url string
}

func newMany(t *testing.T, text map[string]string) *many {
	t.Helper()
	m := &many{changing: newChanging(text)}
	m.hub = New(Options{Changed: m.changed, Render: m.render, Beat: time.Hour})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { m.hub.Serve(w, r, r.URL.Query()["view"]...) }))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	m.url = server.URL
	return m
}

// listen opens a stream of pages, each `key` or `key have`, and answers what gives its events one after another.
func (m *many) listen(t *testing.T, pages ...string) (next func() message, over func()) {
	t.Helper()
	q := url.Values{}
	for _, p := range pages {
		key, have, _ := strings.Cut(p, " ")
		q.Add("view", key)
		q.Add("have", have)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/?"+q.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	next = func() (e message) {
		t.Helper()
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			switch {
			case lines.Text() == "":
				return e
			case name == "event":
				e.name = value
			case name == "id":
				e.id = value
			case name == "data":
				e.data += value
			}
		}
		return message{name: "end"}
	}
	if e := next(); e.name != "hello" {
		t.Fatalf("a stream begins with %v", e)
	}
	return next, cancel
}

// wait has the next events, which may come in any order of pages.
func wait(t *testing.T, next func() message, want ...string) (last map[string]string) {
	t.Helper()
	left := map[string]bool{}
	for _, w := range want {
		left[w] = true
	}
	last = map[string]string{}
	for range want {
		e := next()
		places, at, _ := strings.Cut(e.id, " ")
		got := strings.TrimSpace(fmt.Sprintf("%s %s %s", e.name, places, e.data))
		if !left[got] {
			t.Fatalf("the stream says %q, and should say one of %v", got, left)
		}
		delete(left, got)
		for p := range strings.SplitSeq(places, ",") {
			last[p] = at
		}
	}
	return last
}

// One stream carries several pages. Two of the same address are sent a patch once; what is gone, or in trouble, ends
// no other page; a stream that takes over goes on where the one before was.
func TestManyPagesInOneStream(t *testing.T) {
	t.Parallel()
	m := newMany(t, map[string]string{"/": "one", "/plan": "p1"})
	next, _ := m.listen(t, "/", "/plan", "/", "/nowhere")
	wait(t, next, "patch 0 <i>same</i><b>one</b>", "patch 2 <i>same</i><b>one</b>", "patch 1 <i>same</i><b>p1</b>", "gone 3 no page /nowhere")
	m.set("/", "two")
	at := wait(t, next, "patch 0,2 <b>two</b>")
	if at["0"] == "" || at["0"] != at["2"] || !strings.HasSuffix(at["0"], ".1") {
		t.Errorf("the pages are at %v", at)
	}
	m.set("/plan", "p2")
	plan := wait(t, next, "patch 1 <b>p2</b>")["1"]

	// Another stream takes over: one page more, and none twice.
	m.set("/", "three")
	wait(t, next, "patch 0,2 <b>three</b>")
	second, _ := m.listen(t, "/ "+at["0"], "/plan "+plan, "/ "+m.hub.Have([]Part{{"same", []byte("<i>same</i>")}, {"x", []byte("<b>three</b>")}}), "/plan another-1.7", "/plan "+strings.TrimSuffix(plan, "1")+"9")
	wait(t, second, "patch 0 <b>three</b>", "at 2", "patch 3 <i>same</i><b>p2</b>", "patch 4 <i>same</i><b>p2</b>")
	m.set("/", "four")
	wait(t, second, "patch 0,2 <b>four</b>")

	m.set("/", "trouble")
	wait(t, second, "trouble 0,2 read the journal")
	m.set("/plan", "p3")
	wait(t, second, "patch 1,3,4 <b>p3</b>")
	m.set("/", "five")
	m.set("/plan", "")
	wait(t, second, "gone 1,3,4 no page /plan", "end")
}

// Who was away for too many patches gets all parts, once.
func TestTooMuchWasMissed(t *testing.T) {
	t.Parallel()
	m := newMany(t, map[string]string{"/": "one"})
	next, _ := m.listen(t, "/")
	at := wait(t, next, "patch 0 <i>same</i><b>one</b>")["0"]
	for i := range kept + 1 {
		text := fmt.Sprint("n", i)
		m.set("/", text)
		wait(t, next, "patch 0 <b>"+text+"</b>")
	}
	second, _ := m.listen(t, "/ "+at)
	if now := wait(t, second, fmt.Sprintf("patch 0 <i>same</i><b>n%d</b>", kept))["0"]; !strings.HasSuffix(now, fmt.Sprint(".", kept+1)) {
		t.Errorf("it is at %s", now)
	}
}

// A page that comes back after its view ended is told all, also when as many patches were sent since.
func TestAnotherLifeOfAView(t *testing.T) {
	t.Parallel()
	m := newMany(t, map[string]string{"/": "one"})
	next, leave := m.listen(t, "/")
	at := wait(t, next, "patch 0 <i>same</i><b>one</b>")["0"]
	leave()
	for gone := false; !gone; {
		m.hub.mu.Lock()
		gone = len(m.hub.views) == 0
		m.hub.mu.Unlock()
	}
	m.set("/", "two")
	second, _ := m.listen(t, "/ "+at)
	wait(t, second, "patch 0 <i>same</i><b>two</b>")
}
