//go:build linux && soak

package soak

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// 40 processes (12 here) queue specs at once while an agent runs: each record is there,
// with an id of its own, and all are worked on (D-004).
func TestManyAddWhileTheAgentRuns(t *testing.T) {
	t.Parallel()
	n := 12
	if long() {
		n = 40
	}
	r := newRepo(t, setup{specs: []string{"only"}, build: "cat > /dev/null\nwhile ! test -e $SOAK/go; do sleep 0.01; done\n" + complete})
	for i := range n {
		write(t, r.path(fmt.Sprintf("ralph/specs/add%d.md", i)), "# More\n")
	}
	agent := r.start("agent")
	r.waitForTurn(agent)
	adding := make([]*child, n)
	for i := range n {
		adding[i] = r.start("inbox", "add", fmt.Sprintf("add%d.md", i))
	}
	for _, c := range adding {
		if res := c.wait(patience); res.code != 0 {
			t.Fatalf("inbox add: %s", res)
		}
	}
	inbox := r.inbox()
	if len(inbox) != n+1 {
		t.Errorf("%d records in the inbox, want %d", len(inbox), n+1)
	}
	if lines := strings.Count(readAll(t, r.path("ralph/inbox.jsonl")), "\n"); lines != n+1 {
		t.Errorf("%d lines in ralph/inbox.jsonl, want %d", lines, n+1)
	}
	write(t, r.note("go"), "")
	if res := agent.wait(patience); res.code != 0 {
		t.Fatalf("the agent: %s", res)
	}
	for id, status := range r.inbox() {
		if status != "done" {
			t.Errorf("%s is %s", id, status)
		}
	}
	if commits := r.git("rev-list", "--count", ":/^queue..HEAD"); commits != fmt.Sprint(n+1) {
		t.Errorf("%s commits, want %d", commits, n+1)
	}
	r.checkTidy()
}

// Queries never fail and never see half a file, whatever the engine writes
// meanwhile: 20 processes (5 here) at once, again and again.
func TestManyReadWhileTheAgentRuns(t *testing.T) {
	t.Parallel()
	specs := []string{"first", "second"}
	if long() {
		for i := range 30 {
			specs = append(specs, fmt.Sprintf("more%d", i))
		}
	}
	r := newRepo(t, setup{specs: specs, plan: planTwo, build: "sleep 0.1\n" + buildWell})
	agent := r.start("agent")
	r.waitForTurn(agent)
	var readers sync.WaitGroup
	count := make([]int, 20)
	for i := range count {
		readers.Go(func() {
			for ; agent.running(); count[i]++ {
				r.readOnce(agent, count[i]+i)
			}
		})
	}
	readers.Wait()
	if res := agent.wait(patience); res.code != 0 {
		t.Fatalf("the agent: %s", res)
	}
	sum := 0
	for _, n := range count {
		sum += n
	}
	t.Logf("%d reads", sum)
	r.checkFinished(specs...)
}

// readOnce runs one query and reports what is wrong with its answer.
func (r *repo) readOnce(agent *child, turn int) {
	queries := [][]string{
		{"status"}, {"status", "--json"}, {"query", "tasks"}, {"query", "inbox"}, {"inbox", "list"}, {"log"}, {"query", "stats"},
	}
	args := queries[turn%len(queries)]
	c := startIn(r.t, r.home, r.root, r.env(), append([]string{binary()}, args...)...)
	<-c.done
	if code := c.state.ExitCode(); code != 0 {
		r.t.Errorf("ralph %s: %s", strings.Join(args, " "), c.result())
	}
	if args[0] == "query" || len(args) == 2 && args[1] == "--json" {
		if out := readAll(r.t, c.out); !json.Valid([]byte(out)) {
			r.t.Errorf("ralph %s is not JSON:\n%s", strings.Join(args, " "), out)
		}
	}
	var session map[string]any
	if b := readAll(r.t, r.path("ralph/inbox.jsonl")); !strings.HasSuffix(b, "}\n") {
		r.t.Errorf("half an inbox: %q", b)
	}
	if b := readAll(r.t, r.path("ralph/.state/session.json")); agent.running() && json.Unmarshal([]byte(b), &session) != nil {
		r.t.Errorf("half a session.json: %q", b)
	}
}
