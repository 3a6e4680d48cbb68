//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// asksFor answers the questions of guidance, by the signature that they are of, and leaves all else.
func asksFor(guide func(part string, q modeltest.Request) modeltest.Reply, rest modeltest.Handler) modeltest.Handler {
	marks := map[string]string{
		"route": "Choose what happens to it first", "understand": "Say what they want, by the message first", "plan": "Few steps, in the order in which they can be done",
		"directive": "Say what it does in its next turn",
	}
	return func(q modeltest.Request) modeltest.Reply {
		for part, words := range marks {
			if strings.Contains(q.System+q.Text, words) {
				return guide(part, q)
			}
		}
		return rest(q)
	}
}

// sayings are the answers to the questions of guidance: a directive for each turn until the plan is done.
func sayings(directives ...string) func(part string) any {
	n := 0
	return func(part string) any {
		more := map[string]any{"reason": "so it is", "confidence": 0.9}
		switch part {
		case "route":
			more["route"], more["response"] = "understand", ""
		case "understand":
			more["task"], more["requirements"], more["assumptions"] = "write hello.txt", []string{"it says hello"}, []string{}
		case "plan":
			more["steps"] = []any{map[string]any{"text": "look", "check": "it is named"}, map[string]any{"text": "write", "check": "grep"}}
		default:
			more["action"], more["directive"] = "continue", directives[min(n, len(directives)-1)]
			n++
		}
		return more
	}
}

// twoTurns is an agent that looks, then writes what is asked for and says so.
func twoTurns() modeltest.Handler {
	turns := 0
	return func(q modeltest.Request) modeltest.Reply {
		if !q.Results {
			turns++
		}
		switch {
		case turns == 1:
			return modeltest.Reply{Text: "I looked at it.\n\n<ralph>PROGRESS: 30 looked</ralph>"}
		case q.Results:
			return complete("I wrote it.")
		}
		return modeltest.Do(modeltest.Run("echo hello > hello.txt"))
	}
}

type guided struct {
	Part    string `json:"part"`
	By      string `json:"by"`
	Outcome string `json:"outcome"`
	Record  struct {
		Asked []struct{ Engine, Model, Answer, Problem, Error string }
	} `json:"record"`
}

// guided are the parts of guidance, oldest first.
func (p *place) guided() (all []guided) {
	p.t.Helper()
	for line := range strings.Lines(p.must(p.ralph, "log", "--json", "--type", "guided")) {
		var e struct {
			Fact guided `json:"fact"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatalf("%v: %s", err, line)
		}
		all = append(all, e.Fact)
	}
	return all
}

// Guidance with the real Codex, which works and is asked: "go" has the repository looked at, understood, planned and a directive made of
// it, with which the first turn begins; after each turn the next directive comes, until the agent is finished, its check is green and
// its review accepts (E-055, E-057, E-063 to E-066).
func TestGuidanceByCodex(t *testing.T) {
	t.Parallel()
	a := programs()["codex-0.169.0"]
	p := newPlace(t)
	say := sayings("Look at what is there first.", "Write hello.txt now.")
	var asked, prompts []string
	m := modeltest.New(t, reviewed(accepted, asksFor(func(part string, q modeltest.Request) modeltest.Reply {
		asked = append(asked, part)
		if q.API != modeltest.Responses || !q.Answer {
			t.Errorf("the %s is asked by %s, with a schema: %v", part, q.API, q.Answer)
		}
		return modeltest.Reply{Answer: say(part)}
	}, func(work modeltest.Handler) modeltest.Handler {
		return func(q modeltest.Request) modeltest.Reply {
			if !q.Results {
				prompts = append(prompts, q.Prompt)
			}
			return work(q)
		}
	}(twoTurns()))))
	p.env = append(p.env, "OPENAGENTS_GUIDANCE_MODE=demo")
	threadAnd(p, m, a, map[string]any{"decision": map[string]any{"cooldown": "0s"}})
	out, code := p.run(p.ralph, "auto", "go", "--name", "make the tests pass")
	if code != 0 || strings.Join(asked, " ") != "understand plan directive directive" {
		t.Fatalf("ralph auto: exit code %d, asked for %q\n%s", code, asked, out)
	}
	if len(prompts) != 2 || !strings.Contains(prompts[0], "Look at what is there first.") || !strings.Contains(prompts[1], "Write hello.txt now.") {
		t.Errorf("the agent was told %q", prompts)
	}
	for _, part := range p.guided() {
		if want := part.Part != "research"; (part.By == "codex") != want || part.Outcome != "answered" {
			t.Errorf("%+v", part)
		}
	}
	p.checkThread(out)
}

// Codex works and cannot be asked: the local Ollama is, without being named anywhere (E-056). Its answers guide the agent.
func TestGuidanceFallsBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	say := sayings("Write hello.txt now.")
	var models []string
	m := modeltest.New(t, reviewed(accepted, asksFor(func(part string, q modeltest.Request) modeltest.Reply {
		if q.API == modeltest.Responses {
			return modeltest.Reply{Status: 500, Kind: modeltest.Overloaded}
		}
		models = append(models, q.Model)
		return modeltest.Reply{Answer: say(part)}
	}, twoTurns())))
	threadAnd(p, m, programs()["codex-0.169.0"], map[string]any{
		"guidance": map[string]any{"mode": "demo"}, "decision": map[string]any{"base_urls": map[string]string{"ollama:llama3.2": m.URL}, "cooldown": "0s"},
	})
	out, code := p.run(p.ralph, "auto", "make the tests pass")
	if code != 0 || strings.Join(models, " ") != "llama3.2 llama3.2 llama3.2" {
		t.Fatalf("ralph auto: exit code %d, asked %q\n%s", code, models, out)
	}
	parts := p.guided()
	if len(parts) != 3 || parts[1].By != "ollama:llama3.2" || parts[1].Record.Asked[0].Engine != "codex" || !strings.Contains(parts[1].Record.Asked[0].Error, "overloaded") || !strings.Contains(parts[2].Record.Asked[0].Error, "left alone") {
		t.Errorf("%+v\n%s", parts, out)
	}
	if !strings.Contains(out, "[ollama:llama3.2, confidence 0.9; E-038]") {
		t.Errorf("the directive after the first turn is not its:\n%s", out)
	}
	p.checkThread(out)
}
