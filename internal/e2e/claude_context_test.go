//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// claudeTurn returns a turn of the real program in a folder of its own, as the
// executor asks for it.
func claudeTurn(t *testing.T, url string) func(ralph.TurnInput) (ralph.TurnResult, []ralph.ContextUse) {
	t.Helper()
	spec := ralph.AgentSpec{Name: "claude", Driver: "claude", Command: []string{claude(t)}, Model: "claude-sonnet-4-5"}
	d, err := agent.Open(spec, proc.NewRunner(t.TempDir()), "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_MAX_RETRIES=0",
	}
	return func(in ralph.TurnInput) (ralph.TurnResult, []ralph.ContextUse) {
		t.Helper()
		in.Agent, in.Dir, in.Env, in.Scratch, in.Grace = spec, dir, env, dir, 5*time.Second
		if in.Timeout == 0 {
			in.Timeout = 10 * time.Minute
		}
		var live []ralph.ContextUse
		res, err := d.Turn(t.Context(), in, ralph.TurnHooks{Context: func(u ralph.ContextUse) { live = append(live, u) }})
		if err != nil {
			t.Fatal(err)
		}
		return res, live
	}
}

// The window of the real Claude Code: live and at the end, shorter after a turn
// that compacts, and the session goes on after it.
func TestClaudeCompactsItsSession(t *testing.T) {
	m := modeltest.New(t, func(r modeltest.Request) modeltest.Reply {
		if strings.Contains(r.Text, "<summary>") { // what claude asks for to compact
			return modeltest.Reply{Text: "<analysis>short</analysis>\n<summary>They counted.</summary>", Tokens: 120_000}
		}
		return modeltest.Reply{Text: "Counted.", Tokens: 120_000}
	})
	turn := claudeTurn(t, m.URL)
	want := ralph.ContextUse{Used: 120_000, Window: 200_000}
	first, live := turn(ralph.TurnInput{Prompt: "Count."})
	if first.Exit != ralph.ExitOK || first.Context != want || len(live) == 0 || live[0] != want {
		t.Fatalf("the first turn: %+v %+v, live %v", first, first.Err, live)
	}
	short, _ := turn(ralph.TurnInput{Resume: first.Session, Compact: true})
	if short.Exit != ralph.ExitOK || short.Session != first.Session || short.Context.Part() > 0.1 || short.Context.Used == 0 || short.Compacts != 0 || !short.Usage.Known {
		t.Errorf("compacted: %+v %+v", short, short.Err)
	}
	last, _ := turn(ralph.TurnInput{Prompt: "Go on.", Resume: first.Session})
	if last.Exit != ralph.ExitOK || last.Session != first.Session {
		t.Errorf("the next turn: %+v %+v", last, last.Err)
	}
	if seen := m.Requests(); !strings.Contains(seen[len(seen)-1].Text, "They counted.") {
		t.Error("the model was not told of the summary")
	}
	unknown, _ := turn(ralph.TurnInput{Resume: "99999999-2222-4333-8444-555555555555", Compact: true})
	if unknown.Exit != ralph.ExitFailed || unknown.Err == nil || !strings.Contains(unknown.Err.Message, "No conversation found") {
		t.Errorf("an unknown session: %+v %+v", unknown, unknown.Err)
	}
}

// The real Claude Code ends a turn that costs too much, and a limit is that of the
// turn: what the session has cost before does not count.
func TestClaudeCostLimit(t *testing.T) {
	dear := modeltest.Reply{Tool: "Bash", Input: map[string]any{"command": "true", "description": "nothing"}, Tokens: 100_000} // about 0.30 dollars
	m := modeltest.New(t, func(r modeltest.Request) modeltest.Reply {
		if strings.Contains(r.Text, "Once.") {
			return modeltest.Reply{Text: "Done.", Tokens: 100_000}
		}
		return dear
	})
	turn := claudeTurn(t, m.URL)
	res, _ := turn(ralph.TurnInput{Prompt: "Work.", MaxCost: 0.5})
	if res.Exit != ralph.ExitFailed || res.Err == nil || res.Err.Class != ralph.ErrClassBudget || !res.Usage.Known || res.Usage.Cost < 0.5 || res.Usage.Cost > 1 {
		t.Fatalf("%+v %+v", res, res.Err)
	}
	again, _ := turn(ralph.TurnInput{Prompt: "Once.", Resume: res.Session, MaxCost: 0.4})
	if again.Exit != ralph.ExitOK || again.Usage.Cost > 0.4 {
		t.Errorf("resumed: %+v %+v", again, again.Err)
	}
}

// What a turn of the real Claude Code has cost is known also when it was ended in
// its middle, so that a cost limit does not count it as unknown.
func TestClaudeCostOfATurnThatWasEnded(t *testing.T) {
	t.Parallel() // it waits
	m := modeltest.New(t, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Tool: "Bash", Input: map[string]any{"command": "sleep 110", "description": "wait"}, Tokens: 100_000}
	})
	res, _ := claudeTurn(t, m.URL)(ralph.TurnInput{Prompt: "Work.", Timeout: 15 * time.Second})
	if res.Exit != ralph.ExitTimeout || res.Err != nil || !res.Usage.Known || res.Usage.Cost < 0.25 || res.Session == "" {
		t.Errorf("%+v %+v", res, res.Err)
	}
}

// A turn of the real Claude Code whose window gets too full is ended, and its task
// is split; what it had written stays.
func TestClaudeWithAFullWindow(t *testing.T) {
	binary := claude(t)
	var p *place
	m := modeltest.New(t, func(r modeltest.Request) modeltest.Reply {
		task := func(name string) modeltest.Reply {
			task := map[string]any{"name": name, "notes": nil, "accept": nil, "deps": nil, "tags": nil, "priority": nil, "phase": nil}
			return modeltest.Reply{Tool: "StructuredOutput", Input: map[string]any{"tasks": []any{task}}}
		}
		structured := r.Tools["StructuredOutput"]
		switch {
		case structured && r.Results:
			return modeltest.Reply{Text: "Done."}
		case structured && strings.Contains(r.Text, "verdict"):
			return modeltest.Reply{Tool: "StructuredOutput", Input: map[string]any{"verdicts": []any{}, "tasks": []any{}, "issues": []any{}}}
		case structured && strings.Contains(r.Text, "Split one task"):
			return task("The rest of it")
		case structured:
			return task("All of it")
		case strings.Contains(r.Text, "The rest of it") && r.Results:
			return complete("Done.")
		case strings.Contains(r.Text, "The rest of it"):
			return modeltest.Do(modeltest.Write(filepath.Join(p.dir, "rest.txt"), "rest\n"))
		case r.Results:
			return modeltest.Reply{Tool: "Bash", Input: map[string]any{"command": "sleep 110", "description": "wait"}, Tokens: 191_000}
		}
		return modeltest.Reply{Tool: "Write", Input: map[string]any{"file_path": filepath.Join(p.dir, "hello.txt"), "content": "hello\n"}}
	})
	p = helloPlace(t, strings.Replace(claudeConfig(binary, m.URL), "    command:", "    model: claude-sonnet-4-5\n    command:", 1))
	begin := time.Now()
	out, code := p.run(p.ralph, "agent")
	if code != 0 || time.Since(begin) > 100*time.Second {
		t.Fatalf("ralph agent: exit code %d after %s\n%s", code, time.Since(begin), out)
	}
	log := p.must(p.ralph, "log", "--json")
	for _, want := range []string{
		`96 % of the window used (construct.context_kill)`, `"context.warned"`, `"context":{"used":191000,"window":200000}`, "The rest of it",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, out)
		}
	}
	if files := p.must("git", "show", "--name-only", "--format=", "HEAD"); strings.TrimSpace(files) != "hello.txt\nrest.txt" {
		t.Errorf("the commit holds %q, want hello.txt and rest.txt", files)
	}
}
