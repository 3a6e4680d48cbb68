package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ralph-loop/ralph/internal/demo/hub"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
)

var (
	hubsLock sync.Mutex
	hubs     = map[string]*reached{} // by the folder of the script
)

// reached is a hub behind a network.
type reached struct {
	*hub.Hub
	network *network
}

// behindGitHub has what is sent to the hub, and what it answers, be as GitHub's own document has it.
func behindGitHub(t *testing.T, h *hub.Hub) http.Handler {
	t.Helper()
	behind, err := trackertest.GitHub(func(fill func(string, map[string]any) map[string]any) http.Handler {
		h.Fill = fill
		return h
	}, func(where, what string) {
		t.Errorf("not as the official document of GitHub has it: %s: %s", where, text.Head(strings.Join(strings.Fields(what), " "), 300))
	})
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if h.IsAway() { // what answers then is not GitHub
			h.ServeHTTP(w, q)
			return
		}
		behind.ServeHTTP(w, q)
	})
}

// cmdHub: hub <verb> [args ...] is a service in the shape of GitHub beside the script:
//
//	start <bare repository>: $HUB is its address, $GITHUB_TOKEN a token
//	issue <title> <body> <author> <association> [label ...]
//	close|label|edit <n> [text]
//	check <name> <conclusion> <summary>; review <n> <author> <association> <text>; merge <n>
//	check-first <name> <summary>: red on the first commit that is asked about, green on each after it
//	away; back; tell <file>; body <n> <file>; waits <line of what it tells>
//	cut "<method> <path>" <how>: the network goes down at that call; down: waits for it; mend
func cmdHub(t *testing.T) func(*testscript.TestScript, bool, []string) {
	t.Helper()
	return func(ts *testscript.TestScript, neg bool, args []string) { playHub(t, ts, neg, args) }
}

func playHub(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	t.Helper()
	if neg || len(args) == 0 {
		ts.Fatalf("usage: hub <verb> [args ...]")
	}
	key := ts.Getenv("WORK")
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		ts.Check(err)
		return n
	}
	if args[0] == "start" {
		h := hub.New("acme/shop", ts.MkAbs(args[1]))
		n := &network{hub: behindGitHub(t, h), remote: ts.MkAbs(args[1])}
		server := httptest.NewServer(n)
		ts.Defer(func() {
			_ = n.mend() // a call that hangs would hold the end up; what is wrong with it was told
			server.Close()
		})
		hubsLock.Lock()
		hubs[key] = &reached{h, n}
		hubsLock.Unlock()
		ts.Setenv("HUB", server.URL)
		ts.Setenv("GITHUB_TOKEN", "not-a-real-token")
		return
	}
	hubsLock.Lock()
	h := hubs[key]
	hubsLock.Unlock()
	switch a := args[1:]; args[0] {
	case "issue":
		h.Issue(a[0], strings.ReplaceAll(a[1], `\n`, "\n"), a[2], a[3], a[4:]...)
	case "close":
		h.Edit(number(a[0]), func(_, _ *string, _ *[]string, closed *bool) { *closed = true })
	case "label":
		h.Edit(number(a[0]), func(_, _ *string, labels *[]string, _ *bool) { *labels = a[1:] })
	case "edit":
		h.Edit(number(a[0]), func(_, body *string, _ *[]string, _ *bool) { *body = a[1] })
	case "check":
		h.Check(a[0], a[1], a[2])
	case "check-first":
		h.CheckFirst(a[0], a[1])
	case "review":
		h.Review(number(a[0]), a[1], a[2], a[3])
	case "merge":
		ts.Check(h.Merge(number(a[0])))
	case "away":
		h.Away(true)
	case "back":
		h.Away(false)
	case "cut":
		h.network.cut(a[0], a[1])
	case "down":
		until(ts, "the network to go down", h.network.isDown)
	case "mend":
		ts.Check(h.network.mend())
	case "tell":
		ts.Check(os.WriteFile(ts.MkAbs(a[0]), []byte(h.Tell()), 0o644))
	case "waits":
		until(ts, "the hub to have "+a[0], func() bool { return strings.Contains(h.Tell(), a[0]) })
	case "body":
		ts.Check(os.WriteFile(ts.MkAbs(a[1]), []byte(h.Body(number(a[0]))), 0o644))
	default:
		ts.Fatalf("hub has no %s", args[0])
	}
}
