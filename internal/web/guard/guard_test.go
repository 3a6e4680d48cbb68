package guard

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

type tokenKey struct{}

// place is a guard with a dashboard behind it that writes down what came through.
type place struct {
	*Guard
	instance *InstanceLock
	mu       sync.Mutex
	now      time.Time
	took     int    // requests
	csrf     string // what the last request was given
	hold     chan struct{}
	in       chan struct{} // has something for each stream that is open
}

func (p *place) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.Guard.ServeHTTP(w, r) }

func (p *place) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *place) later(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = p.now.Add(d)
}

// dashboard is what lies behind.
func (p *place) dashboard(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.took++
	p.csrf, _ = r.Context().Value(tokenKey{}).(string)
	p.mu.Unlock()
	if isStream(r) {
		p.in <- struct{}{}
		select {
		case <-p.hold:
		case <-r.Context().Done():
		}
		return
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	fmt.Fprintf(w, "inside %s %s", r.FormValue("text"), b)
}

// assets are what everybody may read.
func (p *place) assets(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/assets/1/ralph.css" && r.URL.Path != "/assets/1/x" {
		http.NotFound(w, r)
	}
}

func newPlace(t *testing.T, address string, names ...string) *place {
	t.Helper()
	instance, err := Take(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return placeOf(t, instance, address, names...)
}

func placeOf(t *testing.T, instance *InstanceLock, address string, names ...string) *place {
	t.Helper()
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p := &place{instance: instance, now: time.Now(), hold: make(chan struct{}), in: make(chan struct{}, 2*maxStreams)}
	p.Guard = New(Options{
		Next: http.HandlerFunc(p.dashboard), Open: http.HandlerFunc(p.assets), Lock: instance, Addr: addr, Names: names, Style: "/assets/1/ralph.css", Now: p.clock,
		WithCSRF: func(ctx context.Context, token string) context.Context {
			return context.WithValue(ctx, tokenKey{}, token)
		},
	})
	return p
}

// got is an answer.
type got struct {
	status  int
	text    string
	header  http.Header
	cookies []*http.Cookie
}

// ask sends one request; "name: value" pairs are headers.
func (p *place) ask(method, path, body string, headers ...string) got {
	r := httptest.NewRequest(method, "http://localhost:7777/", strings.NewReader(body))
	r.URL, _ = url.Parse(path)
	if r.URL == nil {
		r.URL = &url.URL{Path: path}
	}
	r.Host = "localhost:7777"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	a := w.Result()
	defer a.Body.Close()
	return got{a.StatusCode, w.Body.String(), a.Header, a.Cookies()}
}

// comeIn opens a link and returns the header with the cookie, and the token of its forms.
func (p *place) comeIn(t *testing.T) (cookie, csrf string) {
	t.Helper()
	r := p.ask("GET", "/enter/"+token(p.Link()), "")
	if r.status != http.StatusOK || len(r.cookies) != 1 {
		t.Fatalf("the link: %d, cookies %v", r.status, r.cookies)
	}
	c := r.cookies[0]
	return "Cookie: " + c.Name + "=" + c.Value, p.Guard.csrf(p.idOf(c.Value))
}

func token(link string) string { return link[strings.LastIndexByte(link, '/')+1:] }

const form = "Content-Type: application/x-www-form-urlencoded"

// Product 12: the way in, and what one may do then.
func TestComeIn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "127.0.0.1:7777")
	link := p.Link()
	if !strings.HasPrefix(link, "http://127.0.0.1:7777/enter/") {
		t.Errorf("the link is %s", link)
	}
	r := p.ask("GET", "/enter/"+token(link), "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")
	if r.status != http.StatusOK || !strings.Contains(r.text, `<meta http-equiv="refresh" content="0; url=/">`) || !strings.Contains(r.text, `<a href="/">`) {
		t.Fatalf("%d %s", r.status, r.text)
	}
	c := r.cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Name != "ralph_7777" || c.MaxAge != 30*24*3600 || c.Domain != "" {
		t.Errorf("the cookie is %+v", c)
	}
	cookie := "Cookie: " + c.Name + "=" + c.Value
	if r := p.ask("GET", "/plan", "", cookie); r.status != http.StatusOK || p.csrf == "" {
		t.Errorf("a page: %d, token %q", r.status, p.csrf)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	for _, good := range [][]string{
		{"csrf=" + p.csrf + "&text=hello", form, cookie, "Origin: http://localhost:7777", "Sec-Fetch-Site: same-origin"},
		{"text=hello", form, cookie, "X-CSRF-Token: " + p.csrf},
		{"csrf=" + p.csrf + "&text=hello", form, cookie}, // an old browser says nothing of where it comes from
	} {
		r := p.ask("POST", "/do/pause", good[0], good[1:]...)
		if r.status != http.StatusOK || !strings.HasPrefix(r.text, "inside hello") {
			t.Errorf("%v: %d %s", good, r.status, r.text)
		}
	}
	if r := p.ask("POST", "/api/v1/pause", `{"text":"x"}`, "Authorization: Bearer "+p.token, "Content-Type: application/json"); r.status != http.StatusOK {
		t.Errorf("a program: %d", r.status)
	}
	if r := p.ask("GET", "/assets/1/ralph.css", ""); r.status != http.StatusOK {
		t.Errorf("the style: %d", r.status)
	}
	// a link in a chat: the strict cookie is not there, the way on is the dashboard's own
	r = p.ask("GET", "/task/t-1?a=1&b=%22%3E", "", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")
	if r.status != http.StatusUnauthorized || !strings.Contains(r.text, `content="0; url=/task/t-1?a=1&amp;b=%22%3E"`) {
		t.Errorf("a link elsewhere: %d %s", r.status, r.text)
	}
}

// Product 12, issue 7 point 5: each attack, and what keeps it out. None of them reaches
// the dashboard.
func TestAttacks(t *testing.T) {
	t.Parallel()
	p, other := newPlace(t, "127.0.0.1:7777"), newPlace(t, "127.0.0.1:7777")
	cookie, csrf := p.comeIn(t)
	_, foreignCSRF := p.comeIn(t)
	foreign, _ := other.comeIn(t)
	id, rest, _ := strings.Cut(strings.TrimPrefix(cookie, "Cookie: ralph_7777="), ".")
	_, sum, _ := strings.Cut(rest, ".")
	post := "csrf=" + csrf + "&text=x"
	bearer := "Authorization: Bearer " + p.token
	for _, a := range []struct {
		name, method, path, body string
		headers                  []string
		want                     int
	}{
		{"rebinding: another name for this machine", "GET", "/", "", []string{cookie, "Host: evil.example:7777"}, 421},
		{"rebinding: a name that begins like ours", "GET", "/", "", []string{cookie, "Host: localhost.evil.example"}, 421},
		{"rebinding: the address that means any", "GET", "/", "", []string{cookie, "Host: 0.0.0.0:7777"}, 421},
		{"rebinding: somebody else's number", "GET", "/", "", []string{cookie, "Host: 192.168.1.7:7777"}, 421},
		{"rebinding: no name", "GET", "/", "", []string{cookie, "Host: "}, 421},
		{"rebinding: the API", "POST", "/api/v1/pause", "{}", []string{bearer, "Host: evil.example:7777"}, 421},
		{"rebinding: a link", "GET", "/enter/" + token(p.Link()), "", []string{"Host: evil.example:7777"}, 421},
		{"a form of another site", "POST", "/do/pause", post, []string{form, cookie, "Origin: http://evil.example"}, 403},
		{"a form of another site, newer browser", "POST", "/do/pause", post, []string{form, cookie, "Sec-Fetch-Site: cross-site", "Origin: http://localhost:7777"}, 403},
		{"a form of another port of this machine", "POST", "/do/pause", post, []string{form, cookie, "Sec-Fetch-Site: same-site", "Origin: http://localhost:9999"}, 403},
		{"another port, and the browser says same origin", "POST", "/do/pause", post, []string{form, cookie, "Sec-Fetch-Site: same-origin", "Origin: http://localhost:9999"}, 403},
		{"no origin that may be named", "POST", "/do/pause", post, []string{form, cookie, "Origin: null"}, 403},
		{"no origin that may be named, newer browser", "POST", "/do/pause", post, []string{form, cookie, "Origin: null", "Sec-Fetch-Site: same-origin"}, 403},
		{"an origin that is no web page", "POST", "/do/pause", post, []string{form, cookie, "Origin: file://localhost:7777", "Sec-Fetch-Site: same-origin"}, 403},
		{"a program, from another site's page", "POST", "/api/v1/pause", "{}", []string{bearer, "Origin: http://evil.example"}, 403},
		{"no token in the form", "POST", "/do/pause", "text=x", []string{form, cookie}, 403},
		{"an empty token", "POST", "/do/pause", "csrf=&text=x", []string{form, cookie}, 403},
		{"a wrong token", "POST", "/do/pause", "csrf=" + foreign + "&text=x", []string{form, cookie}, 403},
		{"the token of another browser", "POST", "/do/pause", "csrf=" + foreignCSRF, []string{form, cookie}, 403},
		{"the token in the address", "POST", "/do/pause?csrf=" + csrf, "text=x", []string{form, cookie}, 403},
		{"a form that says it is JSON", "POST", "/do/pause", post, []string{"Content-Type: text/plain", cookie}, 403},
		{"the API with a cookie alone", "POST", "/api/v1/pause", "{}", []string{cookie}, 403},
		{"nobody", "GET", "/", "", nil, 401},
		{"nobody: the API", "GET", "/api/v1/state", "", nil, 401},
		{"nobody: a stream", "GET", "/live?view=/", "", nil, 401},
		{"nobody acts", "POST", "/do/pause", post, []string{form}, 401},
		{"nobody: an asset is sent something", "POST", "/assets/1/ralph.css", "", nil, 401},
		{"nobody: no such asset", "GET", "/assets/x", "", nil, 404},
		{"nobody: through the assets", "GET", "/assets/..%2f..%2flog", "", nil, 404},
		{"nobody: through the assets, as one word", "GET", "/assets%2f..%2flog", "", nil, 404},
		{"nobody: out of the assets", "GET", "/assets2/x", "", nil, 401},
		{"a forged cookie", "GET", "/", "", []string{"Cookie: ralph_7777=" + id + ".9999999999." + sum}, 401},
		{"a cookie without an end", "GET", "/", "", []string{"Cookie: ralph_7777=" + id + ".." + sum}, 401},
		{"a cookie that is none", "GET", "/", "", []string{"Cookie: ralph_7777=x"}, 401},
		{"a form's token as a cookie", "GET", "/", "", []string{"Cookie: ralph_7777=" + id + "." + csrf}, 401},
		{"a cookie of another repository", "GET", "/", "", []string{foreign}, 401},
		{"a cookie under another port's name", "GET", "/", "", []string{strings.Replace(cookie, "7777", "8888", 1)}, 401},
		{"a wrong bearer token", "GET", "/api/v1/state", "", []string{"Authorization: Bearer " + other.token}, 401},
		{"a wrong bearer token with a cookie", "POST", "/api/v1/pause", "{}", []string{cookie, "X-CSRF-Token: " + csrf, "Authorization: Bearer x"}, 401},
		{"an empty bearer token", "GET", "/api/v1/state", "", []string{"Authorization: Bearer "}, 401},
		{"the bearer token for a page", "GET", "/", "", []string{bearer}, 401},
		{"the bearer token for a form", "POST", "/do/pause", post, []string{form, bearer}, 401},
		{"the key as a bearer token", "GET", "/api/v1/state", "", []string{"Authorization: Bearer " + p.instance.record.Key}, 401},
		{"a new link without the token", "POST", "/enter", "", []string{cookie, "X-CSRF-Token: " + csrf}, 401},
		{"a new link by looking", "GET", "/enter", "", []string{bearer}, 401},
		{"a made-up link", "GET", "/enter/abc", "", nil, 410},
		{"an empty link", "GET", "/enter/", "", nil, 410},
		{"a browser looks ahead at a link", "GET", "/enter/" + token(p.Link()), "", []string{"Sec-Purpose: prefetch;prerender"}, 403},
		{"a link is only looked at", "HEAD", "/enter/" + token(p.Link()), "", nil, 403},
		{"another site reads a stream", "GET", "/live?view=/", "", []string{cookie, "Sec-Fetch-Site: cross-site"}, 403},
		{"another port reads a stream", "GET", "/live?view=/", "", []string{cookie, "Sec-Fetch-Site: same-site"}, 403},
		{"another port reads the API", "GET", "/api/v1/state", "", []string{cookie, "Sec-Fetch-Site: same-site"}, 403},
		{"a body without end", "POST", "/do/pause", post + strings.Repeat("x", maxBody), []string{form, cookie}, 413},
		{"a body without end, for the API", "POST", "/api/v1/pause", strings.Repeat("x", maxBody+1), []string{bearer}, 413},
		{"a spec without end", "POST", "/do/queue", parts(csrf, strings.Repeat("x", maxText)), []string{manyParts, cookie}, 413},
		{"a spec without end, for the API", "POST", "/api/v1/specs", strings.Repeat("x", maxText+1), []string{bearer}, 413},
		{"a file without a token", "POST", "/do/queue", parts("", "x"), []string{manyParts, cookie}, 403},
		{"a file with the token in the address", "POST", "/do/queue?csrf=" + csrf, parts("", "x"), []string{manyParts, cookie}, 403},
		{"a file for what takes none", "POST", "/do/pause", parts(csrf, "x"), []string{manyParts, cookie}, 403},
		{"a file that is none", "POST", "/do/queue", "x", []string{manyParts, cookie}, 400},
		{"a form that is none", "POST", "/do/pause", "csrf=%zz", []string{form, cookie}, 400},
		{"PUT", "PUT", "/api/v1/state", "", []string{bearer}, 405},
		{"DELETE", "DELETE", "/", "", []string{cookie}, 405},
		{"OPTIONS, as before a cross-origin request", "OPTIONS", "/api/v1/pause", "", []string{"Origin: http://evil.example", "Access-Control-Request-Method: POST"}, 405},
		{"TRACE", "TRACE", "/", "", []string{cookie}, 405},
	} {
		t.Run(a.name, func(t *testing.T) {
			before := p.took
			r := p.ask(a.method, a.path, a.body, a.headers...)
			if r.status != a.want || p.took != before {
				t.Errorf("%d, want %d; %d requests came through\n%s", r.status, a.want, p.took-before, r.text)
			}
			if len(r.cookies) > 0 || strings.Contains(r.text, p.token) || strings.Contains(r.text, csrf) {
				t.Errorf("it gives away %v %s", r.cookies, r.text)
			}
			if r.header.Get("Access-Control-Allow-Origin") != "" || r.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(r.header.Get("Content-Security-Policy"), "default-src 'none';") {
				t.Errorf("headers %v", r.header)
			}
		})
	}
}

// Product 12: a link is good once, for ten minutes; a cookie for thirty days.
func TestTimes(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "127.0.0.1:7777")
	status := func(path string, headers ...string) int { return p.ask("GET", path, "", headers...).status }
	used, old, young := p.Link(), p.Link(), p.Link()
	cookie, _ := p.comeIn(t)
	if got := status("/enter/" + token(used)); got != 200 {
		t.Errorf("a link: %d", got)
	}
	r := p.ask("GET", "/enter/"+token(used), "")
	if r.status != http.StatusGone || !strings.Contains(r.text, "<code>ralph serve</code> prints a new one") {
		t.Errorf("a link for the second time: %d %s", r.status, r.text)
	}
	r = p.ask("GET", "/enter/"+token(used), "", cookie)
	if r.status != http.StatusOK || len(r.cookies) > 0 {
		t.Errorf("the way back to a link of a browser that is in: %d %v", r.status, r.cookies)
	}
	p.later(linkLife - time.Second)
	if got := status("/enter/" + token(young)); got != 200 {
		t.Errorf("a link that is almost ten minutes old: %d", got)
	}
	p.later(time.Second)
	if got := status("/enter/" + token(old)); got != http.StatusGone {
		t.Errorf("a link of ten minutes: %d", got)
	}
	p.later(cookieLife - linkLife - time.Second)
	if got := status("/", cookie); got != 200 {
		t.Errorf("a cookie of almost thirty days: %d", got)
	}
	p.later(time.Second)
	if got := status("/", cookie); got != 401 {
		t.Errorf("a cookie of thirty days: %d", got)
	}
	first := p.Link()
	for range maxLinks {
		p.Link()
	}
	if got := status("/enter/" + token(first)); got != http.StatusGone || len(p.links) != maxLinks {
		t.Errorf("the oldest of too many links: %d, %d are kept", got, len(p.links))
	}
}

// Product 12: one link lets one browser in, however many hurry.
func TestLinkIsUsedOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "127.0.0.1:7777")
	path := "/enter/" + token(p.Link())
	in := make(chan int, 16)
	for range cap(in) {
		go func() { in <- p.ask("GET", path, "").status }()
	}
	got := map[int]int{}
	for range cap(in) {
		got[<-in]++
	}
	if got[200] != 1 || got[410] != cap(in)-1 {
		t.Errorf("answers: %v", got)
	}
}

// Product 12: Host, by where it listens.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		listens, names, good, bad string
	}{
		{"127.0.0.1:7777", "", "localhost LOCALHOST:1 127.0.0.1:7777 127.0.0.2 [::1]:7777 [::ffff:127.0.0.1]", "box 10.0.0.1 [fe80::1] 0.0.0.0 [::] localhost. user@localhost localhost:1:2 evil:7777"},
		{"[::1]:7777", "", "localhost:7777 [::1]:8888 127.0.0.1:7777", "[::2]:7777 box:7777"},
		{"0.0.0.0:7777", "box", "box:7777 BOX 10.0.0.1:7777 [2001:db8::1]:7777 localhost", "evil.example box.evil.example 0.0.0.0:7777 [fe80::1%25eth0]:7777"},
		{"[::]:7777", "box", "box 10.0.0.1", "[::]:7777 evil"},
		{"192.0.2.7:7777", "box", "192.0.2.7:7777 box:7777 localhost:7777", "192.0.2.8:7777 127.0.0.1:7777"},
	} {
		p := newPlace(t, test.listens, test.names)
		for host := range strings.FieldsSeq(test.good) {
			if got := p.ask("GET", "/assets/1/x", "", "Host: "+host).status; got != 200 {
				t.Errorf("at %s: %s: %d", test.listens, host, got)
			}
		}
		for host := range strings.FieldsSeq(test.bad) {
			if got := p.ask("GET", "/assets/1/x", "", "Host: "+host).status; got != 421 {
				t.Errorf("at %s: %s: %d", test.listens, host, got)
			}
		}
	}
	for listens, want := range map[string]string{
		"0.0.0.0:7777": "http://127.0.0.1:7777/", "[::]:7777": "http://127.0.0.1:7777/", "192.0.2.7:1": "http://192.0.2.7:1/", "[::1]:7777": "http://[::1]:7777/",
	} {
		if got := newPlace(t, listens).URL(); got != want {
			t.Errorf("at %s the address is %s", listens, got)
		}
	}
}

// Product 12: streams are bounded, and told so.
func TestStreams(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "127.0.0.1:7777")
	cookie, _ := p.comeIn(t)
	ended := make(chan int, maxStreams)
	open := func(n int, path string, headers ...string) {
		for range n {
			go func() { ended <- p.ask("GET", path, "", headers...).status }()
		}
		for range n {
			<-p.in
		}
	}
	if p.Watched() {
		t.Error("somebody follows a page, before anybody came")
	}
	open(maxOwn, "/live?view=/", cookie)
	if !p.Watched() {
		t.Error("nobody follows a page")
	}
	r := p.ask("GET", "/live?view=/", "", cookie)
	if r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" || !strings.Contains(r.text, "too many pages are open: 128 from one browser") {
		t.Errorf("one too many: %d %s", r.status, r.text)
	}
	other, _ := p.comeIn(t)
	if r := p.ask("GET", "/live?of=x"+strings.Repeat("&view=/", maxOwn+1), "", other); r.status != http.StatusServiceUnavailable {
		t.Errorf("too many pages in one stream: %d", r.status)
	}
	if r := p.ask("GET", "/", "", cookie); r.status != http.StatusOK {
		t.Errorf("a page beside the streams: %d", r.status)
	}
	for range maxStreams/maxOwn - 2 {
		other, _ := p.comeIn(t)
		open(maxOwn, "/live?view=/", other)
	}
	open(maxOwn/2, "/api/v1/events", "Authorization: Bearer "+p.token)
	open(maxOwn/2, "/api/v1/live-state", "Authorization: Bearer "+p.token)
	last, _ := p.comeIn(t)
	if r := p.ask("GET", "/live?view=/", "", last); r.status != http.StatusServiceUnavailable {
		t.Errorf("one too many in all: %d", r.status)
	}
	close(p.hold)
	for range maxStreams {
		if got := <-ended; got != 200 {
			t.Errorf("a stream: %d", got)
		}
	}
	if p.all != 0 || len(p.Guard.streams) != 0 {
		t.Errorf("%d streams are left, %v", p.all, p.Guard.streams)
	}
}

const manyParts = "Content-Type: multipart/form-data; boundary=b"

// parts is a form with a file.
func parts(csrf, text string) string {
	return "--b\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n" + csrf +
		"\r\n--b\r\nContent-Disposition: form-data; name=\"upload\"; filename=\"a.md\"\r\n\r\n" + text + "\r\n--b--\r\n"
}

// A spec may be sent as a file, by whoever has the token; it may be larger than other forms.
func TestUpload(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "127.0.0.1:7777")
	cookie, csrf := p.comeIn(t)
	for _, text := range []string{"x", strings.Repeat("x", maxBody)} {
		before := p.took
		if r := p.ask("POST", "/do/queue", parts(csrf, text), manyParts, cookie); r.status != 200 || p.took != before+1 {
			t.Errorf("%d bytes: %d %s", len(text), r.status, r.text)
		}
	}
	// A spec, or a file of settings, of a mebibyte in letters that a form writes as three each.
	for _, to := range []string{"/do/queue", "/settings", "/settings/file"} {
		before := p.took
		if r := p.ask("POST", to, "csrf="+csrf+"&text="+strings.Repeat("%D0%96", 1<<19), form, cookie); r.status != 200 || p.took != before+1 {
			t.Errorf("%s: %d %s", to, r.status, r.text)
		}
	}
}
