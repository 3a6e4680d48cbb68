//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// gates are what waits for a person now. It is asked ten times a second: ralph is, once the journal has changed.
func (p *place) gates() (list []ralph.Approval) {
	p.t.Helper()
	journal, err := os.Stat(filepath.Join(p.dir, "ralph/.state/journal.jsonl"))
	if err == nil && journal.Size() == p.listed {
		return p.list
	}
	defer func() {
		if p.list = list; err == nil {
			p.listed = journal.Size()
		}
	}()
	if text := p.must(p.ralph, "gates", "--json"); json.Unmarshal([]byte(text), &list) != nil {
		p.t.Fatalf("ralph gates --json: %s", text)
	}
	return list
}

// decide answers, from a process of its own, the next gate of a kind.
func (p *place) decide(e *engine, kind string, answer func(g ralph.Approval) []string) ralph.Approval {
	p.t.Helper()
	var gate ralph.Approval
	e.until("a gate of kind "+kind, func() bool {
		for _, g := range p.gates() {
			if g.Kind == kind {
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
// process, and allows one. They are commands that policy would ask about: of others
// Claude Code's own rules have the word with gate.approvals: ask. What was denied did not
// run, and the reason reaches the model where the agent's protocol can carry it (E-025,
// E-079).
//
// Then the agent calls tools of ralph's MCP server, which needs nobody's approval: a person
// answers its question in the middle of the turn, and the signal that it gives by a tool
// ends the task, with no tag in its words (C-002, X-62).
func TestAsksInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, a program) {
		p := newPlace(t)
		told, answered, asked := false, "", 0
		m := modeltest.New(t, script(func(q modeltest.Request) modeltest.Reply {
			told = told || strings.Contains(q.Text, "not in this house")
			switch asked++; asked {
			case 1:
				return modeltest.Do(modeltest.Run("sh -c 'touch denied.txt'"))
			case 2:
				return modeltest.Do(modeltest.Run("sh -c 'echo hello | tee hello.txt'")) // in this turn, or in the next one
			case 3:
				return modeltest.Do(modeltest.MCP("ralph", "ask_human", map[string]any{"question": "Which colour?", "options": []string{"red", "blue"}}))
			case 4:
				answered = q.Last
				return modeltest.Do(modeltest.MCP("ralph", "signal", map[string]any{"kind": "COMPLETE"}))
			}
			return modeltest.Reply{Text: "I wrote it."}
		}))
		p.begin(p.settings(m, "ask", a))
		e := p.start("agent")
		denied := p.decide(e, ralph.ApprovalRequest, func(g ralph.Approval) []string {
			return []string{"deny", string(g.ID), "--reason", "not in this house"}
		})
		if !strings.Contains(denied.Text+denied.Detail, "touch denied.txt") {
			t.Errorf("the gate does not say what would be done: %+v", denied)
		}
		given := p.decide(e, ralph.ApprovalRequest, func(g ralph.Approval) []string { return []string{"approve", string(g.ID)} })
		if !strings.Contains(given.Text+given.Detail, "echo hello") || !given.InTurn {
			t.Errorf("the second gate is %+v", given)
		}
		question := p.decide(e, ralph.ApprovalQuestion, func(g ralph.Approval) []string { return []string{"answer", string(g.ID), "dark blue"} })
		if !strings.Contains(question.Text, "Which colour?") || !question.InTurn {
			t.Errorf("the question is %+v", question)
		}
		out := e.end()
		log := p.must(p.ralph, "log", "--json")
		for _, want := range []string{`"denied"`, `"approved"`, "not in this house", `"via":"mcp"`} {
			if !strings.Contains(log, want) {
				t.Errorf("the journal lacks %s:\n%s", want, out)
			}
		}
		if gates := strings.Count(log, `"t":"asked"`); gates != 3 || !strings.Contains(answered, "dark blue") || asked != 5 {
			t.Errorf("%d gates, the model was asked %d times and told %s\n%s", gates, asked, answered, out)
		}
		if a.name == "claude" && !told {
			t.Error("the model was not told the reason")
		}
		p.checkHello(out)
	})
}
