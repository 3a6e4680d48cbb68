//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// gates are what waits for a person now.
func (p *place) gates() (list []ralph.Gate) {
	p.t.Helper()
	if text := p.must(p.ralph, "gates", "--json"); json.Unmarshal([]byte(text), &list) != nil {
		p.t.Fatalf("ralph gates --json: %s", text)
	}
	return list
}

// decide answers, from a process of its own, the next gate of an approval.
func (p *place) decide(e *engine, answer func(g ralph.Gate) []string) ralph.Gate {
	p.t.Helper()
	var gate ralph.Gate
	e.until("an approval is asked for", func() bool {
		for _, g := range p.gates() {
			if g.Kind == ralph.GateApproval {
				gate = g
				return true
			}
		}
		return false
	})
	p.must(append([]string{p.ralph}, answer(gate)...)...)
	return gate
}

// Every real agent asks before it runs a command; a person denies one from another
// process, and allows one. They are commands of a shell: what only edits files,
// Claude Code does not ask for. What was denied did not run, and the reason reaches the
// model where the agent's protocol can carry it (E-025, E-079).
func TestApprovalsInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a program) {
		p := newPlace(t)
		told, asked := false, 0
		m := modeltest.New(t, script(func(q modeltest.Request) modeltest.Reply {
			told = told || strings.Contains(q.Text, "not in this house")
			switch asked++; {
			case asked == 1:
				return modeltest.Do(modeltest.Run("sh -c 'touch denied.txt'"))
			case q.Results && strings.Contains(q.Text, "echo hello"):
				return complete("I wrote it.")
			}
			return modeltest.Do(modeltest.Run("sh -c 'echo hello > hello.txt'")) // in this turn, or in the next one
		}))
		p.begin(p.settings(m, "ask", a))
		e := p.start("agent")
		denied := p.decide(e, func(g ralph.Gate) []string { return []string{"deny", string(g.ID), "--reason", "not in this house"} })
		if !strings.Contains(denied.Text+denied.Detail, "touch denied.txt") {
			t.Errorf("the gate does not say what would be done: %+v", denied)
		}
		given := p.decide(e, func(g ralph.Gate) []string { return []string{"approve", string(g.ID)} })
		if !strings.Contains(given.Text+given.Detail, "echo hello") || !given.InTurn {
			t.Errorf("the second gate is %+v", given)
		}
		out := e.end()
		log := p.must(p.ralph, "log", "--json")
		for _, want := range []string{`"denied"`, `"approved"`, "not in this house"} {
			if !strings.Contains(log, want) {
				t.Errorf("the journal lacks %s:\n%s", want, out)
			}
		}
		if a.name == "claude" && !told {
			t.Error("the model was not told the reason")
		}
		p.checkHello(out)
	})
}
