package guard

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// served is a guard that listens; short is the patience it has with clients.
func served(t *testing.T, dir string, short time.Duration) (*place, string) {
	t.Helper()
	instance, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := instance.Announce(Running{Address: address, Pid: os.Getpid(), Command: "serve"}); err != nil {
		t.Fatal(err)
	}
	p := placeOf(t, instance, address)
	p.opt.Patience = short
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, instance.Leave()); err != nil {
			t.Error(err)
		}
	})
	return p, address
}

// send writes text and returns the first line of the answer; "" when the connection was
// closed without one.
func send(t *testing.T, address, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(c, text) // it may be closed before all is written
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// Product 12, issue 7 point 5: what goes wrong on the wire, before there is a request.
func TestWire(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, calm := served(t, filepath.Join(dir, "calm"), time.Minute)
	secrets, err := os.ReadFile(filepath.Join(dir, "calm", FileName))
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "hasty"), 0o755), os.WriteFile(filepath.Join(dir, "hasty", FileName), secrets, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, hasty := served(t, filepath.Join(dir, "hasty"), 50*time.Millisecond)
	cookie, csrf := p.comeIn(t)
	mine := cookie + "\r\n"
	host := "Host: localhost:7777\r\n"
	for _, test := range []struct{ name, at, text, want string }{
		{"a page", calm, "GET / HTTP/1.1\r\n" + host + mine + "\r\n", "HTTP/1.1 200 OK"},
		{"headers that never end", hasty, "GET / HTTP/1.1\r\n" + host + "X-A: ", ""},
		{"headers without bounds", calm, "GET / HTTP/1.1\r\n" + host + "X-A: " + strings.Repeat("a", 1<<20), "HTTP/1.1 431 Request Header Fields Too Large"},
		{"a body that never comes", hasty, "POST /do/pause HTTP/1.1\r\n" + host + mine + "X-CSRF-Token: " + csrf + "\r\nContent-Length: 10\r\n\r\nabc", "HTTP/1.1 408 Request Timeout"},
		{"a stranger's body that never comes (S13)", hasty, "POST /do/add HTTP/1.1\r\n" + host + "Content-Length: 100000\r\n\r\na", "HTTP/1.1 401 Unauthorized"},
		{"another site's body that never comes (S13)", hasty, "POST /do/add HTTP/1.1\r\n" + host + mine + "Origin: http://evil.example\r\nContent-Length: 100000\r\n\r\na", "HTTP/1.1 403 Forbidden"},
		{"a body of a page that never comes (S13)", hasty, "GET / HTTP/1.1\r\n" + host + "Content-Length: 100000\r\n\r\na", "HTTP/1.1 401 Unauthorized"},
		{"a body of a page for a stranger (S13)", hasty, "GET /assets/x.css HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n10000\r\na", "HTTP/1.1 404 Not Found"},
		{"a body in pieces without end", calm, "POST /do/pause HTTP/1.1\r\n" + host + mine + "X-CSRF-Token: " + csrf + "\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n" + strings.Repeat("a", 0x200000) + "\r\n0\r\n\r\n", "HTTP/1.1 413 Request Entity Too Large"},
		{"no name", calm, "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 421 Misdirected Request"},
		{"another name in the address itself", calm, "GET http://evil.example/ HTTP/1.1\r\n" + host + mine + "\r\n", "HTTP/1.1 421 Misdirected Request"},
		{"a tunnel", calm, "CONNECT evil.example:443 HTTP/1.1\r\n" + host + "\r\n", "HTTP/1.1 405 Method Not Allowed"},
		{"a header in the address", calm, "GET /?a=%0d%0aSet-Cookie:x=y HTTP/1.1\r\n" + host + "\r\n", "HTTP/1.1 401 Unauthorized"},
		{"a line break in the address", calm, "GET /?a=\rSet-Cookie:x=y HTTP/1.1\r\n" + host + "\r\n", "HTTP/1.1 400 Bad Request"},
		{"two names", calm, "GET / HTTP/1.1\r\n" + host + "Host: evil.example\r\n\r\n", "HTTP/1.1 400 Bad Request"},
		{"two lengths", calm, "POST /do/pause HTTP/1.1\r\n" + host + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "HTTP/1.1 401 Unauthorized"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := send(t, test.at, test.text); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// Streams and idle connections do not hold the end up; the port is free at once.
func TestEnd(t *testing.T) {
	t.Parallel()
	instance, err := Take(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	p := placeOf(t, instance, address)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, listener) }()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+p.token)
	answered := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(r)
		if err == nil {
			err = response.Body.Close()
		}
		answered <- err
	}()
	<-p.in
	cancel()
	if err := errors.Join(<-ended, <-answered); err != nil {
		t.Error(err)
	}
	if again, err := net.Listen("tcp", address); err != nil {
		t.Error(err)
	} else {
		_ = again.Close()
	}
	if err := p.Run(t.Context(), listener); err == nil {
		t.Error("a listener that is closed can be served")
	}
}

// A second process is told a link of the first, and the file says who that is.
func TestAsk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, address := served(t, dir, time.Minute)
	if _, err := Take(dir); !errors.Is(err, ErrTaken) {
		t.Errorf("the lock is given twice: %v", err)
	}
	e, err := Ask(t.Context(), dir)
	if err != nil || e.Address != address || e.Pid != os.Getpid() || e.Command != "serve" || e.URL != "http://"+address+"/" {
		t.Fatalf("%+v %v", e, err)
	}
	if got := p.ask("GET", "/enter/"+token(e.Link), "").status; got != 200 {
		t.Errorf("its link: %d", got)
	}
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
}

// One that has the lock and says nothing is waited for, and no longer than one wants.
func TestAskInVain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	instance, err := Take(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Ask(ctx, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("asked one that does not serve yet: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // somebody who does not know the token
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { _ = http.Serve(listener, http.NotFoundHandler()) }()
	if err := instance.Announce(Running{Address: listener.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if e, err := Ask(ctx, dir); err == nil || e.Link != "" {
		t.Errorf("asked a stranger: %+v %v", e, err)
	}
}
