//go:build e2e

package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// decides answers the question of what comes after a turn, and leaves all else.
func decides(decide func(q modeltest.Request) modeltest.Reply, rest modeltest.Handler) modeltest.Handler {
	return func(q modeltest.Request) modeltest.Reply {
		if strings.Contains(q.Text, `last_turn_status`) {
			return decide(q)
		}
		return rest(q)
	}
}

func goOn(input string) any {
	return map[string]any{"action": "continue", "next_input": input, "reason": "a file is missing", "confidence": 0.9}
}

// threadAnd is a repository whose threads' decisions a model makes. more are settings.
func threadAnd(p *place, m *modeltest.Server, a program, more map[string]any) {
	p.t.Helper()
	var settings map[string]any
	if err := json.Unmarshal([]byte(p.settings(m, "never", a)), &settings); err != nil {
		p.t.Fatal(err)
	}
	for k, v := range more {
		settings[k] = v
	}
	text, err := json.Marshal(settings)
	if err != nil {
		p.t.Fatal(err)
	}
	p.begin(string(text))
}

// adviceOf are the records of the models that were asked, oldest first.
func (p *place) adviceOf() (all []advised) {
	p.t.Helper()
	for line := range strings.Lines(p.must(p.ralph, "log", "--json", "--type", "advised")) {
		var e struct {
			Fact advised `json:"fact"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		all = append(all, e.Fact)
	}
	return all
}

type advised struct {
	By     string `json:"by"`
	Action string `json:"action"`
	Usage  struct {
		Input, Output int64
		Cost          float64
		Known         bool
	} `json:"usage"`
	Record struct {
		Outcome string
		By      string
		Asked   []struct{ Engine, Model, Answer, Problem, Error string }
	} `json:"record"`
}

// The configured Codex itself decides: on threads that it forgets, by structured output, without a
// tool that could do anything and without the MCP servers of its settings. An answer that is none is
// asked for once more; what all of it used and cost is counted (E-050 to E-053, E-056).
func TestCodexDecides(t *testing.T) {
	t.Parallel()
	a := programs()["codex-0.169.0"]
	p := newPlace(t)
	marker, touched := filepath.Join(p.base, "mcp-started"), filepath.Join(p.base, "touched")
	turns, asked, home := 0, 0, ""
	m := modeltest.New(t, reviewed(accepted, decides(func(q modeltest.Request) modeltest.Reply {
		if !q.Answer {
			t.Error("no schema goes along")
		}
		for tool := range q.Tools { // apply_patch has nothing to patch: see below
			if tool != "apply_patch" && tool != "request_user_input" {
				t.Errorf("the question has the tool %s", tool)
			}
		}
		switch asked++; asked {
		case 1: // it would rather do it itself
			return modeltest.Reply{Tool: "apply_patch", Input: "*** Begin Patch\n*** Add File: " + touched + "\n+x\n*** End Patch"}
		case 2:
			return modeltest.Reply{Answer: map[string]any{"action": "continue", "next_input": "", "reason": "r", "confidence": 7}}
		case 3:
			if !strings.Contains(q.Text, "confidence is 7: it must be a number from 0 to 1") {
				t.Errorf("it is not told its error: %s", q.Text)
			}
			return modeltest.Reply{Answer: goOn("write hello.txt now")}
		}
		return modeltest.Reply{Answer: map[string]any{"action": "pause", "next_input": "", "reason": "who is this for?", "confidence": 0.9}}
	}, func(q modeltest.Request) modeltest.Reply {
		if !q.Results {
			turns++
		}
		if turns == 2 && !strings.Contains(q.Prompt, "write hello.txt now") {
			t.Errorf("turn 2 is not told what was decided: %s", q.Prompt)
		}
		return modeltest.Reply{Text: "I looked at it.\n\n<ralph>PROGRESS: 30 looked</ralph>"}
	})))
	withServer := a
	withServer.agent = func(p *place, path string, m *modeltest.Server) map[string]any {
		spec := codexAgent(p, path, m)
		home = spec["env"].(map[string]string)["CODEX_HOME"]
		f, err := os.OpenFile(filepath.Join(home, "config.toml"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString("[mcp_servers.own]\ncommand = \"sh\"\nargs = [\"-c\", \"echo x >> " + marker + "\"]\n"); err != nil {
			t.Fatal(err)
		}
		return spec
	}
	threadAnd(p, m, withServer, map[string]any{
		"decision": map[string]any{"engine": "llm", "model": "codex", "cooldown": "0s"}, "prices": map[string]any{"gpt-5.5": map[string]any{"input": 10, "output": 100}},
		"sandbox": map[string]any{"kind": "off"},
	})
	out, code := p.run(p.ralph, "auto", "make the tests pass", "--max-turns", "6", "--unattended")
	started, _ := os.ReadFile(marker)
	if _, err := os.Stat(touched); err == nil {
		t.Error("the decision engine wrote a file")
	}
	all := p.adviceOf()
	if turns != 2 || asked != 4 || len(all) != 2 {
		t.Fatalf("exit code %d, %d turns, asked %d times, %d decisions\n%s", code, turns, asked, len(all), out)
	}
	first := all[0]
	if first.By != "codex" || first.Action != "continue" || len(first.Record.Asked) != 2 || first.Record.Asked[0].Model != "gpt-5.5" {
		t.Errorf("the first decision is %+v", first)
	}
	// Three answers of the model, of 1000 tokens in and 50 out each.
	if u := first.Usage; u.Input != 3000 || u.Output != 150 || u.Cost != 0.045 || !u.Known {
		t.Errorf("it is said to have used %+v", u)
	}
	if all[1].Action != "pause" || !strings.Contains(out, "who is this for?") {
		t.Errorf("the second decision is %+v\n%s", all[1], out)
	}
	if n := strings.Count(string(started), "x"); n != turns { // by the agent at work, which may, once a turn
		t.Errorf("the MCP server of the settings was started %d times in %d turns", n, turns)
	}
	var kept []string
	err := filepath.WalkDir(filepath.Join(home, "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			kept = append(kept, path)
		}
		return err
	})
	if err != nil || len(kept) != 1 {
		t.Errorf("codex has kept %q (%v), want the session of the work alone", kept, err)
	}
	p.checkRecord()
	p.checkAlone()
}

// Codex cannot be asked: the local Ollama of the fallback is, and Codex is left alone for a while,
// so that the next decision does not wait for it again (E-056).
func TestDecisionsFallBack(t *testing.T) {
	t.Parallel()
	a := programs()["codex-0.169.0"]
	p := newPlace(t)
	var asked []modeltest.API
	m := modeltest.New(t, decides(func(q modeltest.Request) modeltest.Reply {
		asked = append(asked, q.API)
		if q.API == modeltest.Responses {
			return modeltest.Reply{Status: 500, Kind: modeltest.Overloaded}
		}
		return modeltest.Reply{Answer: goOn("look again")}
	}, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Text: "I looked at it.\n\n<ralph>PROGRESS: 30 looked</ralph>"}
	}))
	threadAnd(p, m, a, map[string]any{
		"decision": map[string]any{"engine": "llm", "model": "codex", "fallback": []string{"ollama:m1"}, "base_urls": map[string]string{"ollama:m1": m.URL}, "cooldown": "0s"},
	})
	out, _ := p.run(p.ralph, "auto", "make the tests pass", "--max-turns", "3")
	if len(asked) < 3 || asked[0] != modeltest.Responses || asked[1] != modeltest.Local || asked[2] != modeltest.Local {
		t.Fatalf("asked %q\n%s", asked, out)
	}
	for n, d := range p.adviceOf()[:2] {
		why := "overloaded"
		if n == 1 {
			why = "left alone"
		}
		if d.By != "ollama:m1" || d.Record.By != "ollama:m1" || len(d.Record.Asked) != 2 || !strings.Contains(d.Record.Asked[0].Error, why) {
			t.Errorf("decision %d is %+v", n, d)
		}
	}
	if !strings.Contains(out, "continue: a file is missing [ollama:m1, confidence 0.9; E-038]") {
		t.Error(out)
	}
	p.checkRecord()
	p.checkAlone()
}

// Codex decides where another agent works, with the settings and the login that it has in the person's home, in the sandbox.
func TestCodexDecidesForOthers(t *testing.T) {
	t.Parallel()
	a, codex := programs()["claude-2.1.329"], programs()["codex-0.169.0"]
	p := newPlace(t)
	known := false
	m := modeltest.New(t, decides(func(q modeltest.Request) modeltest.Reply {
		known = known || strings.Contains(q.Text, "The word is xyzzy.")
		return modeltest.Reply{Answer: map[string]any{"action": "pause", "next_input": "", "reason": "who is this for?", "confidence": 0.9}}
	}, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Text: "I looked at it.\n\n<ralph>PROGRESS: 30 looked</ralph>"}
	}))
	home := filepath.Join(p.home, ".codex")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	env, err := m.CodexEnv(home) // a file that nobody else may read
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "AGENTS.md"), []byte("The word is xyzzy.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	delete(env, "CODEX_HOME") // it is where it is by default
	agents := map[string]any{"claude": claudeAgent(p, a.path(t), m), "codex": map[string]any{"command": []string{codex.path(t), "app-server"}, "env": env}}
	threadAnd(p, m, a, map[string]any{"agents": agents, "decision": map[string]any{"engine": "llm", "model": "codex", "cooldown": "0s"}})
	out, _ := p.run(p.ralph, "auto", "make the tests pass", "--max-turns", "3", "--unattended")
	if all := p.adviceOf(); len(all) != 1 || all[0].By != "codex" || all[0].Action != "pause" {
		t.Errorf("%+v\n%s", all, out)
	}
	if !known {
		t.Error("codex does not read what is its own and private")
	}
	p.checkRecord()
	p.checkAlone()
}
