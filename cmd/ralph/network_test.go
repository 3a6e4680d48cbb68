package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sync"
)

// network is what lies between ralph and a hub. It goes down at one call, with the remote of the
// repository, and stays down until it is mended.
type network struct {
	hub    http.Handler
	remote string // the bare repository

	mu       sync.Mutex
	at       *regexp.Regexp // the call: method and path; nil: the network works
	how      string
	wentDown bool
	mended   chan struct{}
}

// How the network goes down at a call.
const (
	lost  = "lost"  // the service never hears of it: the connection is cut
	late  = "late"  // the service does it, and the answer never comes
	hangs = "hangs" // nothing comes of it, and the connection stays open
)

// cut has the network go down at the first call that matches.
func (n *network) cut(call, how string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.at, n.how, n.wentDown, n.mended = regexp.MustCompile("^"+call+"$"), how, false, make(chan struct{})
}

// mend has it work again, with the remote.
func (n *network) mend() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at == nil {
		return nil
	}
	n.at = nil
	close(n.mended)
	if !n.wentDown {
		return nil
	}
	return os.Rename(n.remote+".away", n.remote)
}

// isDown reports whether the network has gone down.
func (n *network) isDown() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.at != nil && n.wentDown
}

// hit says how a call fails, "" for one that gets through. mended is closed when the network works again.
func (n *network) hit(call string, do func()) (how string, mended chan struct{}, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.at == nil:
		return "", nil, nil
	case n.wentDown:
		return lost, n.mended, nil
	case !n.at.MatchString(call):
		return "", nil, nil
	}
	if n.how == late {
		do()
	}
	n.wentDown = true
	return n.how, n.mended, os.Rename(n.remote, n.remote+".away")
}

// ServeHTTP implements http.Handler.
func (n *network) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body) // whole: else nobody notices that the client goes
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	q.Body = io.NopCloser(bytes.NewReader(body))
	how, mended, err := n.hit(q.Method+" "+ofRepo.ReplaceAllString(q.URL.Path, ""), func() { n.hub.ServeHTTP(httptest.NewRecorder(), q) })
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	case how == "":
		n.hub.ServeHTTP(w, q)
		return
	case how != lost:
		select {
		case <-mended:
		case <-q.Context().Done():
		}
	}
	panic(http.ErrAbortHandler) // the connection ends without an answer
}

var ofRepo = regexp.MustCompile(`^/repos/[^/]+/[^/]+/`)
