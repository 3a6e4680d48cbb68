package dashboard

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/web/guard"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// emptyRepo is a repository without anything.
func emptyRepo(t *testing.T) workspace.Env {
	t.Helper()
	dir := t.TempDir()
	env := workspace.Env{Dir: dir, Self: "ralph", Version: "test", Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}}
	if _, errs, res, err := proc.NewRunner("").Output(t.Context(), proc.Command{Args: []string{"git", "init", "-q", "."}, Dir: dir, Env: env.Environ}); err != nil || res.Code != 0 {
		t.Fatal(err, string(errs))
	}
	return env
}

// newWindow serves the dashboard of an empty repository.
func newWindow(t *testing.T, at ListenAddr) (*Server, string) {
	t.Helper()
	env := emptyRepo(t)
	w, err := OpenServer(env, env.Dir, "serve", at)
	if err != nil {
		t.Fatal(err)
	}
	w.Start()
	t.Cleanup(w.Close)
	return w, env.Dir
}

// update records facts as a page does.
func update(w *Server, facts ...ralph.Fact) error {
	return w.Board.Update(context.Background(), func(*ralph.State) ([]ralph.Fact, error) { return facts, nil })
}

// held has another process hold the lock of the journal, with a view of it that is not written yet.
func held(t *testing.T, w *Server, dir string) {
	t.Helper()
	if err := update(w, ralph.PlanStarted{File: "a.md"}, ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "one", Status: ralph.TaskPending}}); err != nil {
		t.Fatal(err)
	}
	if err := update(w, ralph.TaskStarted{ID: "t-1"}); err != nil { // plan.jsonl is to be written
		t.Fatal(err)
	}
	other := flock.New(filepath.Join(dir, "ralph/.state/journal.lock"))
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Unlock() })
}

// An engine that ends at once ends its dashboard too, whoever has the lock of the journal: what a page still writes is
// given up (D-112).
func TestHurriedWindow(t *testing.T) {
	t.Parallel()
	w, dir := newWindow(t, ListenAddr{Addr: "127.0.0.1:0"})
	held(t, w, dir)
	w.Hurry(time.Millisecond)
	if err := update(w, ralph.Noted{Text: "a button was pressed"}); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("a page writes: %v", err)
	}
	w.Leave() // or the test hangs
}

// Ctrl+C ends `ralph serve`, whoever has the lock of the journal, also where the server is down before the goroutine that
// hurries has begun.
func TestServeEndsBesideALock(t *testing.T) {
	t.Parallel()
	ralphtest.BothEnds(t, endsBesideALock)
}

func endsBesideALock(t *testing.T, of func(context.Context) context.Context) {
	t.Helper()
	env := emptyRepo(t)
	w, err := OpenServer(env, env.Dir, "serve", ListenAddr{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	done, interrupt := context.WithCancel(t.Context())
	ctx := of(done)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	held(t, w, env.Dir)
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := update(w, ralph.Noted{Text: "a button was pressed"}); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("a page writes: %v", err)
	}
	w.Close() // or the test hangs
}

// taken is a port that another program has.
func taken(t *testing.T) (addr string, port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	port, _ = strconv.Atoi(PortOf(l.Addr().String()))
	return l.Addr().String(), port
}

// deserted waits until nobody listens at an address: a program that another test is starting has the socket too, until
// it is that program.
func deserted(t *testing.T, addr string) {
	t.Helper()
	for {
		conn, err := net.Dial("tcp", addr)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
		if err == nil {
			_ = conn.Close()
		}
	}
}

// Where nobody chose the port and another program has it, the next one is taken, and
// again at the next start, since open pages look for it there.
func TestNextPort(t *testing.T) {
	t.Parallel()
	addr, port := taken(t)
	w, dir := newWindow(t, ListenAddr{Addr: addr})
	got, _ := strconv.Atoi(PortOf(w.listener.Addr().String()))
	if got <= port || got > port+portsTried || len(w.Notes) != 1 || !strings.HasPrefix(w.Notes[0], "Port "+strconv.Itoa(port)+" is taken by another program, so it is port "+strconv.Itoa(got)) {
		t.Errorf("port %d after %d, %q", got, port, w.Notes)
	}
	env := w.Board.Env
	if _, err := OpenServer(env, dir, "serve", ListenAddr{Addr: addr}); !errors.Is(err, guard.ErrTaken) {
		t.Errorf("a second one: %v", err)
	}
	w.Leave()
	deserted(t, w.listener.Addr().String())
	again, err := OpenServer(env, dir, "serve", ListenAddr{Addr: addr})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if at, _ := strconv.Atoi(PortOf(again.listener.Addr().String())); at != got {
		t.Errorf("port %d at the next start, %d before", at, got)
	}
	other := emptyRepo(t)
	var refusal *ralph.Refusal
	_, err = OpenServer(other, other.Dir, "serve", ListenAddr{Addr: addr, By: "--addr"})
	if !errors.As(err, &refusal) || refusal.Why != addr+" is taken: another program listens there, perhaps the dashboard of another repository (--addr)" {
		t.Errorf("a port that was asked for, and is taken: %v", err)
	}
}

// What cannot be an address is refused in words of its own, not in those of a library.
func TestNoPlaceToListen(t *testing.T) {
	t.Parallel()
	env := emptyRepo(t)
	for addr, want := range map[string]string{
		"7842":             "7842 names a port alone (--addr): give the host too: 127.0.0.1:7842",
		"127.0.0.1:99999":  `cannot listen on 127.0.0.1:99999: port "99999" is no number from 0 to 65535 (--addr): give host:port, such as 127.0.0.1:7777`,
		"127.0.0.1:http//": `cannot listen on 127.0.0.1:http//: port "http//" is no number from 0 to 65535 (--addr): give host:port, such as 127.0.0.1:7777`,
	} {
		if _, err := OpenServer(env, env.Dir, "serve", ListenAddr{Addr: addr, By: "--addr"}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", addr, err, want)
		}
	}
}

// A file of the repository, which may come from anyone, opens nothing to other machines;
// a person can.
func TestARepositoryOpensNothing(t *testing.T) {
	t.Parallel()
	for addr, opens := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, "[::1]:0": false, "0.0.0.0:0": true, ":0": true, "[::]:0": true, "192.0.2.1:0": true} {
		p := ListenAddr{Addr: addr, By: "ralph/config.yaml:3", file: true}
		l, err := p.listen(addr)
		if err == nil {
			_ = l.Close()
		}
		if errors.Is(err, errOpens) != opens {
			t.Errorf("%s in a file: %v", addr, err)
		}
		if text := p.refusal(errOpens).Error(); !strings.Contains(text, "ralph/config.yaml:3") || !strings.Contains(text, "other machines") {
			t.Error(text)
		}
	}
	l, err := ListenAddr{Addr: "0.0.0.0:0", By: "--addr"}.listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	env := emptyRepo(t)
	if err := os.MkdirAll(filepath.Join(env.Dir, "ralph"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(env.Dir, "ralph/config.yaml"), []byte("version: 1\nweb: {addr: '0.0.0.0:7777'}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if at, _ := AddrOfWeb(env, env.Dir, io.Discard); !at.file || at.Addr != "0.0.0.0:7777" {
		t.Errorf("%+v", at)
	}
	env.Environ = append(env.Environ, "RALPH_WEB_ADDR=0.0.0.0:7778")
	if at, _ := AddrOfWeb(env, env.Dir, io.Discard); at.file || at.Addr != "0.0.0.0:7778" {
		t.Errorf("%+v", at)
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	p := ListenAddr{Addr: "127.0.0.1:7777"}
	for addr, want := range map[string]bool{"127.0.0.1:7778": true, "127.0.0.1:7797": true, "127.0.0.1:7777": false, "127.0.0.1:7798": false, "0.0.0.0:7778": false, "": false, "127.0.0.1:": false} {
		if p.near(addr) != want {
			t.Errorf("%s: %t", addr, !want)
		}
	}
}

// Product 12, issue 7 point 5: what reaches the dashboard itself, from a browser that is
// in, leads nowhere else and reads nothing else.
func TestAttacksFromInside(t *testing.T) {
	t.Parallel()
	w, dir := newWindow(t, ListenAddr{Addr: "127.0.0.1:0", By: "test"})
	if err := os.WriteFile(filepath.Join(dir, "ralph", "secret.md"), []byte("hush-hush"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := "http://" + w.listener.Addr().String()
	client := &http.Client{
		Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var cookie *http.Cookie
	ask := func(method, path, form string, headers ...string) (int, http.Header, string) {
		r, err := http.NewRequestWithContext(context.Background(), method, base+"/", strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Opaque = path // as it is, not as a careful program would send it
		if form != "" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if cookie != nil {
			r.AddCookie(cookie)
		}
		a, err := client.Do(r)
		if err != nil {
			t.Fatal(method, path, err)
		}
		defer a.Body.Close()
		if c := a.Cookies(); len(c) > 0 && cookie == nil {
			cookie = c[0]
		}
		var b bytes.Buffer
		if _, err := b.ReadFrom(a.Body); err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, a.Header, b.String()
	}
	ask("GET", strings.TrimPrefix(w.Guard.Link(), base), "")
	_, _, page := ask("GET", "/", "")
	_, rest, _ := strings.Cut(page, `data-csrf="`)
	csrf, _, _ := strings.Cut(rest, `"`)
	if len(csrf) != 43 || !strings.Contains(page, filepath.Base(dir)) {
		t.Fatalf("the token is %q, the page\n%s", csrf, page)
	}
	for _, path := range []string{
		"/assets/../ralph/secret.md", "/assets/..%2f..%2fralph%2fsecret.md", "/assets/x/..%2f..%2fralph%2fsecret.md", "/assets/x/%2e%2e%2fsecret.md",
		"/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/spec/..%2fsecret.md", "/spec/%2e%2e%2fsecret.md", "/ralph/secret.md", "/ralph/.state/web.json", "/task/..%2f..%2fweb.json",
		"/assets/x/.%00", "//evil.example/", "/\\evil.example",
	} {
		status, header, text := ask("GET", path, "")
		to := header.Get("Location")
		if status == http.StatusOK || strings.Contains(text, "hush-hush") || strings.Contains(text, "root:") || strings.HasPrefix(to, "//") || strings.Contains(to, "://") {
			t.Errorf("%s: %d, to %q\n%s", path, status, to, text)
		}
	}
	for _, back := range []string{
		"http://evil.example/", "//evil.example/", "/%5cevil.example", "\\\\evil.example", "javascript:alert(1)", "/%2f/evil.example", "///evil.example", "%0d%0aSet-Cookie:x=y", "/x%0d%0aSet-Cookie:x=y", "", "/%09/evil.example",
	} {
		status, header, text := ask("POST", "/do/add?back=//evil.example", "csrf="+csrf+"&name=x&back="+back)
		if to := header.Get("Location"); status != http.StatusSeeOther || !strings.HasPrefix(to, "/") || strings.Contains(to, "evil.example") && !strings.HasPrefix(to, "/%5C") || strings.HasPrefix(to, "//") || header.Get("Set-Cookie") != "" {
			t.Errorf("back=%s: %d to %q\n%s", back, status, to, text)
		}
	}
	for _, query := range []string{"/?a=%0d%0aSet-Cookie:%20x=y", "/%0d%0aSet-Cookie:%20x=y", "/live?view=%0d%0aevent:%20evil"} {
		if _, header, _ := askShort(ask, query); header.Get("Set-Cookie") != "" {
			t.Errorf("%s sets a cookie", query)
		}
	}
	const html = "<script>alert(1)</script>"
	if _, _, text := ask("GET", "/%3Cscript%3Ealert(1)%3C/script%3E?q=%3Cscript%3Ealert(1)%3C/script%3E", ""); strings.Contains(text, html) {
		t.Errorf("an address is shown as it is:\n%s", text)
	}
	before := w.Board.State().Seq
	for _, name := range []string{"pause", "stop", "add", "clear"} {
		if status, _, _ := ask("GET", "/do/"+name+"?text=x&sure=yes&csrf="+csrf, ""); status < 400 {
			t.Errorf("GET /do/%s: %d", name, status)
		}
		if status, _, _ := ask("POST", "/do/"+name, "text=x&sure=yes"); status != http.StatusForbidden {
			t.Errorf("POST /do/%s without the token: %d", name, status)
		}
		if status, _, _ := ask("POST", "/do/"+name, "text=x&sure=yes&csrf="+csrf, "Origin", "http://evil.example"); status != http.StatusForbidden {
			t.Errorf("POST /do/%s from elsewhere: %d", name, status)
		}
	}
	if after := w.Board.State().Seq; after != before {
		t.Errorf("%d facts were recorded", after-before)
	}
}

// askShort leaves streams out, which do not end.
func askShort(ask func(method, path, form string, headers ...string) (int, http.Header, string), path string) (int, http.Header, string) {
	method := "GET"
	if strings.HasPrefix(path, "/live") {
		method = "HEAD"
	}
	return ask(method, path, "")
}
