//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
	"github.com/ralph-loop/ralph/internal/signature"
)

// A real Ollama, which is not ours, with a model that says noise: what must be true whatever a model says
// (E-048, E-051, E-052, E-054, E-056, E-092, A-024).
func TestOllama(t *testing.T) {
	t.Parallel()
	o := startOllama(t)
	o.create("tiny", withTools)
	o.create("llama3.2", withoutTools)
	t.Run("signatures", o.answersEverySignature)
	t.Run("other APIs", o.answersOverOtherAPIs)
	t.Run("thread", o.worksAndDecides)
	t.Run("no tools", o.hasNoTools)
	t.Run("guidance after Codex", o.guidesAfterCodex)
}

// signed is a question of a signature, and how its record is read.
type signed struct {
	q    advice.Question
	read func(advice.Record) error
}

func signedBy[In any, Out signature.Answer[In]](s signature.Signature[In, Out], in In) signed {
	return signed{advice.Put(s, in), func(r advice.Record) error {
		_, err := advice.Again(s, r)
		return err
	}}
}

// questions are one of every signature.
func questions() map[string]signed {
	g := signature.GuidanceIn{Goal: "make the tests pass", Summary: "12 files, one check is red", State: "The agent has had no turn yet.", Permissions: "It changes files."}
	return map[string]signed{
		"decision": signedBy(signature.Decision(), signature.DecisionIn{ThreadID: "t-1", TurnID: "t-1/1", Goal: g.Goal, LastTurnStatus: "completed", LastMessage: "I looked."}),
		"tool_input": signedBy(signature.ToolInput(), signature.ToolInputIn{ThreadID: "t-1", Goal: g.Goal, Questions: []signature.Asked{
			{ID: "1", Text: "Which?", Options: []string{"red", "blue"}},
		}}),
		"review":             signedBy(signature.Review(), signature.ReviewIn{ThreadID: "t-1", Goal: g.Goal, Patch: "+hello\n"}),
		"guidance_router":    signedBy(signature.Router(), g),
		"task_understanding": signedBy(signature.Understanding(), g),
		"planning":           signedBy(signature.Planning(), signature.PlanningIn{GuidanceIn: g, Task: g.Goal}),
		"guidance_directive": signedBy(signature.Directive(), signature.DirectiveIn{GuidanceIn: g, Task: g.Goal, Steps: []string{"look", "mend"}}),
	}
}

// chain asks one model by one API, and no other.
func (o *ollama) chain(t *testing.T, p model.Provider, name string) advice.Chain {
	t.Helper()
	url := o.url
	if p == model.OpenAI || p == model.Responses {
		url += "/v1"
	}
	c, err := model.Open(model.Spec{Provider: p, Model: name, BaseURL: url}, model.Environment{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return advice.Chain{Engines: []advice.Engine{{Name: string(p) + ":" + name, Client: c, Timeout: 10 * time.Minute, Price: &advice.Price{}}}, MaxTokens: 1000}
}

// Each signature that people are shown is asked by ralph's own client: an answer that was not cut off has the names, types and options of
// its schema, by Ollama's grammar; what counts is read out of its record again, and what does not was asked for twice.
func (o *ollama) answersEverySignature(t *testing.T) {
	p := newPlace(t)
	var all []signature.Info
	if err := json.Unmarshal([]byte(p.must(p.ralph, "signature", "list", "--json")), &all); err != nil || len(all) == 0 {
		t.Fatalf("%d signatures: %v", len(all), err)
	}
	for _, i := range all {
		t.Run(i.Name, func(t *testing.T) {
			s, ok := questions()[i.Name]
			if !ok {
				t.Fatal("it is not tried here")
			}
			r, err := s.q.Ask(t.Context(), o.chain(t, model.Ollama, "tiny"))
			if err != nil {
				t.Fatal(err)
			}
			checkAsked(t, s, r)
			for _, a := range r.Asked {
				if !strings.Contains(a.Problem, "was cut off") {
					checkHeld(t, i.Output, a.Answer)
				}
			}
		})
	}
}

// checkAsked wants a record of a model that was there: an answer that counts, or two that are none.
func checkAsked(t *testing.T, s signed, r advice.Record) {
	t.Helper()
	t.Logf("%s: %s", r.Outcome, r.Why)
	want := 2
	if r.Outcome == advice.Answered {
		want = len(r.Asked)
	}
	if r.Outcome != advice.Answered && r.Outcome != advice.Invalid || len(r.Asked) != want || r.By != r.Asked[0].Engine || !r.Usage.Known {
		t.Errorf("%+v", r)
	}
	for _, a := range r.Asked {
		if a.Error != "" || a.Usage.Input == 0 || a.Usage.Output == 0 {
			t.Errorf("%+v", a)
		}
	}
	if err := s.read(r); (err == nil) != (r.Outcome == advice.Answered) {
		t.Errorf("read again: %v, after %+v", err, r)
	}
	if b, err := json.Marshal(r); err != nil || len(b) > 64<<10 {
		t.Errorf("the record has %d bytes: %v", len(b), err)
	}
}

// checkHeld wants words that a schema lets pass.
func checkHeld(t *testing.T, schema json.RawMessage, words string) {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	held, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	err = json.Unmarshal([]byte(words), &v)
	if _, large := errors.AsType[*json.UnmarshalTypeError](err); large {
		return // 62e2662 is a number of JSON, and none of Go
	}
	if err != nil {
		t.Errorf("%q is no JSON: %v", words, err)
	} else if err := held.Validate(v); err != nil {
		t.Errorf("%q: %v", words, err)
	}
}

// The other APIs that Ollama speaks are asked as those of OpenAI and Anthropic; one takes no schema, and its noise is no answer.
func (o *ollama) answersOverOtherAPIs(t *testing.T) {
	for _, p := range []model.Provider{model.OpenAI, model.Responses, model.Anthropic} {
		t.Run(string(p), func(t *testing.T) {
			s := questions()["decision"]
			r, err := s.q.Ask(t.Context(), o.chain(t, p, "tiny"))
			if err != nil {
				t.Fatal(err)
			}
			checkAsked(t, s, r)
		})
	}
}

// noise is a repository in which ralph's own agent works with a model of the server, and another one decides.
func (o *ollama) noise(t *testing.T, agent string, more map[string]any) *place {
	t.Helper()
	p := newPlace(t)
	settings := map[string]any{
		"version": 1, "agents": map[string]any{"local": map[string]any{"driver": "api", "model": agent, "base_url": o.url}}, "agent": map[string]any{"primary": "local", "fallback": []string{}},
		"task": map[string]any{"delay": "0s"}, "quality": map[string]any{"commands": []string{"grep -qx hello hello.txt"}},
	}
	for k, v := range more {
		settings[k] = v
	}
	text, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	p.begin(string(text))
	return p
}

// goesOn has a person answer each pause of a session with `ralph continue` until it ends, and returns what it said.
func (p *place) goesOn(e *engine) string {
	p.t.Helper()
	limit := time.After(6 * time.Minute)
	for look := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case <-e.done:
			look.Stop()
			return e.out.String()
		case <-limit:
			e.kill()
			p.t.Fatalf("it does not end:\n%s", e.out.String())
		case <-look.C:
		}
		for _, g := range p.gates() {
			if g.Kind == ralph.ApprovalQuestion && strings.HasPrefix(g.Text, "paused: ") {
				p.run(p.ralph, "continue", string(g.Task)) // refused where it went on meanwhile
			}
		}
	}
}

// A whole run with noise as agent and noise as decision engine: it ends within its limits, each turn that the rules leave open
// was put to the model, no answer that counts is a pause, and receipts, replay and verify hold. The model that is set first is
// not there, which is told with the way to get it.
func (o *ollama) worksAndDecides(t *testing.T) {
	needProc(t)
	p := o.noise(t, "ollama:tiny", map[string]any{"decision": map[string]any{
		"engine": "llm", "model": "ollama:nothere", "fallback": []string{"ollama:tiny"}, "cooldown": "0s", "timeout": "4m",
		"base_urls": map[string]string{"ollama:nothere": o.url, "ollama:tiny": o.url},
	}})
	const turns = 3
	e := p.start("auto", "make the tests pass", "--max-turns", fmt.Sprint(turns))
	out := p.goesOn(e)
	if code := e.ProcessState.ExitCode(); code != 3 && code != 5 { // its limit, or a decision to stop with red checks
		t.Errorf("exit code %d\n%s", code, out)
	}
	if n := strings.Count(p.must(p.ralph, "log", "--json", "--type", "turn.ended"), "\n"); n < 1 || n > turns+1 { // one that is under way may end
		t.Errorf("%d turns\n%s", n, out)
	}
	asked := 0
	for _, a := range p.adviceOf() {
		if len(a.Record.Asked) == 0 {
			continue // the rules left nothing open
		}
		asked++
		if first := a.Record.Asked[0]; first.Engine != "ollama:nothere" || first.Error == "" || asked == 1 && !strings.Contains(first.Error, "ollama pull nothere") {
			t.Errorf("the model that is not there: %+v", first)
		}
		counts := a.Record.Outcome == string(advice.Answered)
		if a.By != "ollama:tiny" || !counts && (a.Record.Outcome != string(advice.Invalid) || a.Action != "pause") || a.Usage.Input == 0 {
			t.Errorf("%+v", a)
		}
	}
	if asked == 0 || !strings.Contains(p.must(p.ralph, "receipts", "--json"), `"signature": "decision `) {
		t.Errorf("no model was asked what comes next\n%s", out)
	}
	if t.Logf("%d questions\n%s", asked, out); !strings.Contains(out, "DECIDED: ") {
		t.Errorf("nothing was decided\n%s", out)
	}
	p.checkRecord()
	p.checkAlone()
}

// A model that can call no tools cannot work: the first turn says so, and nobody tries again.
func (o *ollama) hasNoTools(t *testing.T) {
	p := o.noise(t, "ollama:llama3.2", nil)
	out, code := p.run(p.ralph, "auto", "make the tests pass", "--max-turns", "3")
	if n := strings.Count(p.must(p.ralph, "log", "--json", "--type", "turn.ended"), "\n"); code == 0 || n != 1 || !strings.Contains(out, "does not support tools") || !strings.Contains(out, "stop (failed)") {
		t.Errorf("exit code %d, %d turns\n%s", code, n, out)
	}
	p.checkRecord()
	p.checkAlone()
}

// Codex works, and cannot be asked for guidance: the real Ollama is. Whatever it says, the thread comes to its end: an answer
// that is none waits for a person, and then the agent begins with their words.
func (o *ollama) guidesAfterCodex(t *testing.T) {
	a := codexOrSkip(t)
	p := newPlace(t)
	m := modeltest.New(t, reviewed(accepted, asksFor(func(string, modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Status: 500, Kind: modeltest.Overloaded}
	}, twoTurns())))
	threadAnd(p, m, a, map[string]any{"guidance": map[string]any{"mode": "demo"}, "decision": map[string]any{"base_urls": map[string]string{"ollama:llama3.2": o.url}, "cooldown": "0s", "timeout": "4m"}})
	e := p.start("auto", "make the tests pass", "--max-turns", "9")
	out := p.goesOn(e)
	parts := p.guided()
	if len(parts) < 2 || parts[1].By != "ollama:llama3.2" || parts[1].Record.Asked[0].Engine != "codex" || parts[1].Record.Asked[0].Error == "" {
		t.Errorf("guidance: %+v\n%s", parts, out)
	}
	if strings.Contains(out, "route: respond") { // it is done without a turn then
		p.checkRecord()
		return
	}
	if code := e.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	p.checkThread(out)
}

// codexOrSkip is Codex where it is installed.
func codexOrSkip(t *testing.T) program {
	t.Helper()
	a := programs()["codex-0.169.0"]
	if _, err := os.Stat(filepath.Join(os.Getenv("RALPH_E2E_AGENTS"), a.dir)); os.Getenv("RALPH_E2E_AGENTS") == "" || err != nil {
		t.Skip("needs Codex: `make e2e` installs it")
	}
	return a
}
