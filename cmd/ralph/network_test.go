package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
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

// The network goes down at every kind of call between the label and the merge, in each way, and in
// half of the cases ralph is killed while it is down: nothing is lost, doubled or blocked. What is
// done meanwhile, and what must be so in the end, stands in the script. C-022, C-055, C-076.
//
// A row is a hundred gits and some ten turns, so that the suite of every day has the one in which
// most could be doubled or lost; with the tag e2e there are all.
func TestNetworkCutAtEveryCall(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("one agent after the other: nothing in it for the race detector (chosen)")
	}
	rows := []struct {
		call, how string
		kill      bool
	}{
		{"POST pulls", late, true},
		{"GET issues/1/comments", lost, false},
		{"PUT pulls/2/merge", late, true},
		{"GET issues", hangs, true},
		{"GET issues/1/comments", hangs, true},
		{"GET pulls", lost, true},
		{"POST pulls", lost, false},
		{"POST pulls", hangs, true},
		{"POST pulls", late, false},
		{"POST issues/2/labels", late, false},
		{"POST pulls/2/requested_reviewers", lost, true},
		{"GET pulls/2", hangs, true},
		{"GET commits/[^/]+/check-runs", lost, false},
		{"GET pulls/2/reviews", late, true},
		{"PATCH pulls/2", late, false},
		{"PATCH pulls/2", lost, true},
		{"PUT pulls/2/merge", lost, false},
		{"PUT pulls/2/merge", hangs, true},
		{"GET issues/1", lost, false}, // whether the merge has closed it
		{"GET issues/1", hangs, true},
	}
	if !everyCall {
		rows = rows[:1]
	}
	for _, row := range rows {
		name := row.call + " " + row.how
		if row.kill {
			name += ", killed"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params := scriptParams(t, []string{"testdata/table/network.txtar"}, "")
			params.Setup = func(env *testscript.Env) error {
				env.Setenv("CALL", row.call)
				env.Setenv("HOW", row.how)
				return isolate(env)
			}
			params.Condition = func(name string) (bool, error) {
				if name == "kill" {
					return row.kill, nil
				}
				return condition(name)
			}
			testscript.Run(t, params)
		})
	}
}
