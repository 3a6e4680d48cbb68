//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// together lets no question of a round be answered before every thread has asked its own.
type together struct {
	all   int
	asked int
	round chan struct{}
}

func (g *together) model(q modeltest.Request) modeltest.Reply {
	if g.asked%g.all == 0 {
		g.round = make(chan struct{})
	}
	wait := g.round
	if g.asked++; g.asked%g.all == 0 {
		close(wait)
	}
	text := "I do not know"
	if _, number, ok := strings.Cut(q.Prompt, "You are number "); ok {
		text = "I am " + strings.TrimSuffix(number, ".")
	} else if _, said, ok := strings.Cut(q.Text, "I am "); ok { // by this thread, before
		text = "still " + said[:2]
	}
	return modeltest.Reply{Text: text, Wait: wait}
}

// One process of the real Codex holds fifty threads, each with a turn at the same time, and each goes on
// with its own context in the next round (E-082).
func TestFiftyThreadsOnOneCodex(t *testing.T) {
	t.Parallel()
	needProc(t)
	const n = 50
	a, p, g := programs()["codex-0.169.0"], newPlace(t), &together{all: n}
	m := modeltest.New(t, g.model)
	made := codexAgent(p, a.path(t), m)
	spec := ralph.AgentSpec{Name: "codex", Driver: "codex", Command: made["command"].([]string), Args: made["args"].([]string)}
	for k, v := range made["env"].(map[string]string) {
		p.env = append(p.env, k+"="+v)
	}
	d, err := agent.Open(spec, proc.NewRunner(t.TempDir()), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := agent.Close(d); err != nil {
			t.Error(err)
		}
		p.checkAlone()
	})
	round := func(resume []string, prompt func(i int) string) (sessions, texts []string) {
		sessions, texts = make([]string, n), make([]string, n)
		var turns sync.WaitGroup
		for i := range n {
			turns.Go(func() {
				res, err := d.Turn(t.Context(), ralph.TurnInput{
					Agent: spec, Stage: ralph.KindThread, Prompt: prompt(i), Resume: resume[i], Dir: p.dir, Env: p.env,
					Timeout: 10 * time.Minute, Grace: 5 * time.Second, Scratch: t.TempDir(),
				}, ralph.TurnHooks{})
				if err != nil || res.Exit != ralph.ExitOK {
					t.Errorf("thread %d: %s %+v %v", i, res.Exit, res.Err, err)
				}
				sessions[i], texts[i] = res.Session, res.Text
			})
		}
		turns.Wait()
		return sessions, texts
	}
	sessions, texts := round(make([]string, n), func(i int) string { return fmt.Sprintf("You are number %02d.", i) })
	var servers []string
	for _, line := range p.processes() {
		if strings.Contains(line, "app-server") && !strings.HasPrefix(line, "node ") {
			servers = append(servers, line)
		}
	}
	if len(servers) != 1 {
		t.Errorf("%d processes of codex:\n%s", len(servers), strings.Join(servers, "\n"))
	}
	if g.asked != n {
		t.Errorf("%d questions in a round of %d threads", g.asked, n)
	}
	again, later := round(sessions, func(int) string { return "Who are you?" })
	for i := range n {
		if number := fmt.Sprintf("%02d", i); texts[i] != "I am "+number || later[i] != "still "+number || again[i] != sessions[i] {
			t.Errorf("thread %d said %q, then %q, in the sessions %s and %s", i, texts[i], later[i], sessions[i], again[i])
		}
	}
	if slices.Sort(sessions); len(slices.Compact(sessions)) != n {
		t.Errorf("%d threads, want %d", len(slices.Compact(sessions)), n)
	}
}
