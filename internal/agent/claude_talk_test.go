package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// talked plays a recorded conversation in which the real program was answered as the
// hooks do here, and returns what the driver said to it, each line decoded.
func talked(t *testing.T, ctx context.Context, name string, edit func(*ralph.TurnInput, *ralph.AgentSpec), on ralph.TurnHooks) (ralph.TurnResult, []map[string]any) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", "claude-talk", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	saw := filepath.Join(t.TempDir(), "saw")
	spec := ralph.AgentSpec{Name: "claude", Driver: "claude", Command: []string{self(t)}}
	in := input(t, spec, "FAKE_TALK="+file, "FAKE_SAW="+saw)
	in.Prompt, in.Grace = "Do it", 20*time.Second
	if edit != nil {
		edit(&in, &spec)
	}
	res, err := open(t, spec).Turn(ctx, in, on)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(saw)
	if err != nil {
		t.Fatal(err)
	}
	var lines []map[string]any
	for line := range bytes.Lines(b) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, v)
	}
	return res, lines
}

// answersIn are the answers to can_use_tool that a recording has.
func answersIn(t *testing.T, name string) []any {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "claude-talk", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []any
	for line := range bytes.Lines(b) {
		var e struct {
			Dir string         `json:"dir"`
			Msg map[string]any `json:"msg"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Dir == "in" && e.Msg["type"] == "control_response" {
			out = append(out, e.Msg["response"])
		}
	}
	return out
}

func responses(lines []map[string]any) []any {
	var out []any
	for _, l := range lines {
		if l["type"] == "control_response" {
			out = append(out, l["response"])
		}
	}
	return out
}

// What claude asks is answered just as it was in the recordings of the real programs,
// and the turn ends as theirs did (E-026, E-027, E-079, E-080).
func TestClaudeIsAnswered(t *testing.T) {
	t.Parallel()
	const gate = "RALPH GATE: a human said no"
	for _, c := range []struct {
		name  string
		reply ralph.Reply
		exit  ralph.ExitKind
		want  ralph.Request // ID and Detail apart
		state string        // of the first call
	}{
		{"197-prompt-stdio-allow", ralph.Reply{Allow: true}, ralph.ExitOK, ralph.Request{}, ralph.ItemCompleted},
		{"329-prompt-stdio-allow", ralph.Reply{Allow: true}, ralph.ExitOK, ralph.Request{}, ralph.ItemCompleted},
		{"197-prompt-stdio-deny", ralph.Reply{Text: gate}, ralph.ExitOK, ralph.Request{}, ralph.ItemDeclined},
		{"329-prompt-stdio-deny", ralph.Reply{Text: gate}, ralph.ExitOK, ralph.Request{}, ralph.ItemDeclined},
		{"197-prompt-stdio-deny-interrupt", ralph.Reply{Text: "RALPH GATE: stop", Stop: true}, ralph.ExitUser, ralph.Request{}, ralph.ItemDeclined},
		{"197-prompt-stdio-question", ralph.Reply{Text: "b"}, ralph.ExitOK, ralph.Request{Kind: ralph.RequestQuestion, Tool: "AskUserQuestion", Text: "Which?", Options: []string{"A", "B"}}, ralph.ItemCompleted},
		{"329-prompt-stdio-question", ralph.Reply{Text: "B"}, ralph.ExitOK, ralph.Request{Kind: ralph.RequestQuestion, Tool: "AskUserQuestion", Text: "Which?", Options: []string{"A", "B"}}, ralph.ItemCompleted},
		{"197-prompt-stdio-exitplan", ralph.Reply{Allow: true}, ralph.ExitOK, ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: "ExitPlanMode", Text: "carry out its plan"}, ralph.ItemCompleted},
		{"197-prompt-stdio-hook-ask", ralph.Reply{Allow: true}, ralph.ExitOK, ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Tool: "Bash", Text: "Bash: touch y", Command: "touch y", Shown: true}, ralph.ItemCompleted},
		{"329-prompt-stdio-hook-ask", ralph.Reply{Allow: true}, ralph.ExitOK, ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Tool: "Bash", Text: "Bash: touch y", Command: "touch y", Shown: true}, ralph.ItemCompleted},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var asked ralph.Request
			var events []ralph.StreamEvent
			res, lines := talked(t, t.Context(), c.name, nil, ralph.TurnHooks{
				Ask: func(_ context.Context, q ralph.Request) (ralph.Reply, error) {
					if asked = q; q.Op == ralph.OpEdit {
						return ralph.Reply{Allow: true}, nil
					}
					return c.reply, nil
				},
				Event: func(e ralph.StreamEvent) { events = append(events, e) },
			})
			if res.Exit != c.exit || !res.Usage.Known {
				t.Errorf("%s, usage %+v, %+v", res.Exit, res.Usage, res.Err)
			}
			if res.Denied != nil {
				t.Errorf("somebody was asked, and the result has %q as if nobody could be", res.Denied)
			}
			if got, want := responses(lines), answersIn(t, c.name); !reflect.DeepEqual(got, want) {
				t.Errorf("answered %v\nrecorded %v", got, want)
			}
			if asked.ID, asked.Detail = "", ""; c.want.Kind != "" && !reflect.DeepEqual(asked, c.want) {
				t.Errorf("asked %+v\nwant %+v", asked, c.want)
			}
			checkEvents(t, events, c.state)
		})
	}
}

func checkEvents(t *testing.T, events []ralph.StreamEvent, state string) {
	t.Helper()
	count := map[ralph.StreamKind]int{}
	begun, done := map[string]bool{}, map[string]int{}
	first := ""
	for _, e := range events {
		count[e.Kind]++
		switch e.Kind {
		case ralph.StreamItem:
			begun[e.Item.ID] = true
		case ralph.StreamItemDone:
			done[e.Item.ID]++
			if begun[e.Item.ID] && first == "" {
				first = e.Item.Status
			}
		}
	}
	if count[ralph.StreamSession] != 1 || count[ralph.StreamTurn] != 1 || count[ralph.StreamTurnDone] != 1 ||
		count[ralph.StreamApproval]+count[ralph.StreamInput] == 0 ||
		count[ralph.StreamApproval]+count[ralph.StreamInput] != count[ralph.StreamResolved] || count[ralph.StreamUnknown] != 0 {
		t.Errorf("events %v", count)
	}
	for id := range begun {
		if done[id] != 1 {
			t.Errorf("item %s ended %d times", id, done[id])
		}
	}
	if first != state {
		t.Errorf("the first call is %q, want %q", first, state)
	}
	if events[len(events)-1].Kind != ralph.StreamTurnDone {
		t.Errorf("the last event is %+v", events[len(events)-1])
	}
}

// Without anybody to ask, all is denied with words for the agent, and it goes on.
func TestClaudeHasNobodyToAsk(t *testing.T) {
	t.Parallel()
	res, lines := talked(t, t.Context(), "329-prompt-stdio-deny", nil, ralph.TurnHooks{})
	b, err := json.Marshal(responses(lines))
	if err != nil || res.Exit != ralph.ExitOK || !strings.Contains(string(b), `"behavior":"deny"`) || !strings.Contains(string(b), "nobody can be asked") || len(res.Denied) != 1 {
		t.Errorf("%s %s %v, denied %q", res.Exit, b, err, res.Denied)
	}
}

// A stop by a person and the time limit interrupt claude, which then says what the
// turn cost: also while it waits for an answer, where 2.1.329 says nothing on INT.
// The open request is withdrawn (B-069 to B-075, E-027).
func TestClaudeIsInterrupted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"197-prompt-stdio-interrupted", "329-prompt-stdio-interrupted", "197-stream-interrupt-tool", "329-stream-interrupt-tool"} {
		for _, c := range []struct {
			why  string
			exit ralph.ExitKind
		}{{"a person", ralph.ExitUser}, {"the time limit", ralph.ExitTimeout}} {
			t.Run(name+" by "+c.why, func(t *testing.T) {
				t.Parallel()
				asks := strings.Contains(name, "prompt")
				if asks && c.exit == ralph.ExitTimeout {
					t.Skip("the time limit stands still while claude waits for an answer")
				}
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				res, lines := talked(t, ctx, name, func(in *ralph.TurnInput, _ *ralph.AgentSpec) {
					if c.exit == ralph.ExitTimeout {
						in.Timeout = 3 * time.Second
					}
				}, ralph.TurnHooks{
					Ask: func(ctx context.Context, _ ralph.Request) (ralph.Reply, error) {
						stop()
						<-ctx.Done()
						return ralph.Reply{}, ctx.Err()
					},
					Event: func(e ralph.StreamEvent) {
						if e.Kind == ralph.StreamItem && !asks && c.exit == ralph.ExitUser {
							stop()
						}
					},
				})
				last := lines[len(lines)-1]
				if last["type"] != "control_request" || len(responses(lines)) != 0 {
					t.Errorf("said %v", lines)
				}
				if res.Exit != c.exit || !res.Usage.Known || res.Usage.Cost <= 0 {
					t.Errorf("%s, %+v", res.Exit, res.Usage)
				}
			})
		}
	}
}

// The turn's time limit stands still while claude waits for an answer (E-071).
func TestClaudeWaitsOutsideItsTime(t *testing.T) {
	t.Parallel()
	ralphtest.NeedsTime(t)
	const limit = 6 * time.Second
	res, _ := talked(t, t.Context(), "329-prompt-stdio-hook-ask", func(in *ralph.TurnInput, _ *ralph.AgentSpec) { in.Timeout = limit }, ralph.TurnHooks{
		Ask: func(ctx context.Context, _ ralph.Request) (ralph.Reply, error) {
			over := time.NewTimer(limit + 200*time.Millisecond)
			defer over.Stop()
			select {
			case <-over.C:
				return ralph.Reply{Allow: true}, nil
			case <-ctx.Done():
				return ralph.Reply{}, ctx.Err()
			}
		},
	})
	if res.Exit != ralph.ExitOK || res.Waited < limit {
		t.Errorf("%s, waited %s", res.Exit, res.Waited)
	}
}

// An error of who is asked is one of the machinery, not the agent's.
func TestClaudeAskFails(t *testing.T) {
	t.Parallel()
	spec := ralph.AgentSpec{Name: "claude", Driver: "claude", Command: []string{self(t)}}
	file, err := filepath.Abs("testdata/claude-talk/329-prompt-stdio-hook-ask.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no journal")
	in := input(t, spec, "FAKE_TALK="+file, "FAKE_SAW="+filepath.Join(t.TempDir(), "saw"))
	in.Prompt, in.Grace = "Do it", 100*time.Millisecond
	_, err = open(t, spec).Turn(t.Context(), in, ralph.TurnHooks{Ask: func(context.Context, ralph.Request) (ralph.Reply, error) {
		return ralph.Reply{}, broken
	}})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// Hooks come over the control channel, so they are of this very process: each call is
// asked for, whatever claude's rules allow; a stop is blocked with the next instruction as long as there is one, and not for ever
// (C-002, X-77).
func TestClaudeHooks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"197-hook-over-control", "329-hook-over-control"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var words []string
			res, lines := talked(t, t.Context(), name, nil, ralph.TurnHooks{
				Ask: func(context.Context, ralph.Request) (ralph.Reply, error) { return ralph.Reply{Allow: true}, nil },
				Stopping: func(w string) string {
					if words = append(words, w); len(words) == 1 {
						return "RALPH: again"
					}
					return ""
				},
			})
			if res.Exit != ralph.ExitOK || !slices.Equal(words, []string{"I stop.", "I stop again."}) {
				t.Errorf("%s %q %+v", res.Exit, words, res.Err)
			}
			first, err := json.Marshal(lines[0])
			if err != nil || !strings.Contains(string(first), `"PreToolUse":[{"hookCallbackIds":["pre-tool-use"],"matcher":"Bash|PowerShell|Monitor|Edit|`) || !strings.Contains(string(first), `"timeout":1209600`) ||
				!strings.Contains(string(first), `"Stop":[{"hookCallbackIds":["stop"],"matcher":null}]`) {
				t.Errorf("%s %v", first, err)
			}
			got, want := responses(lines), answersIn(t, name)
			if !reflect.DeepEqual(got[1:], want[1:]) {
				t.Errorf("answered %v\nrecorded %v", got[1:], want[1:])
			}
			if pre, err := json.Marshal(got[0]); err != nil || !strings.Contains(string(pre), `"permissionDecision":"ask"`) {
				t.Errorf("before a tool: %s %v", pre, err)
			}
		})
	}
	t.Run("not for ever", func(t *testing.T) {
		t.Parallel()
		stops := 0
		res, _ := talked(t, t.Context(), "stops", nil, ralph.TurnHooks{Stopping: func(string) string { stops++; return "go on" }})
		if res.Exit != ralph.ExitOK || stops != 2 {
			t.Errorf("%s after %d stops", res.Exit, stops)
		}
	})
	t.Run("another session's", func(t *testing.T) {
		t.Parallel()
		res, lines := talked(t, t.Context(), "strange-stop", nil, ralph.TurnHooks{Stopping: func(string) string {
			t.Error("asked about a session that is not this turn's")
			return "go on"
		}})
		if res.Exit != ralph.ExitOK || len(responses(lines)) != 2 {
			t.Errorf("%s %v", res.Exit, lines)
		}
	})
	t.Run("refused by claude", func(t *testing.T) {
		t.Parallel()
		res, _ := talked(t, t.Context(), "no-hooks", nil, ralph.TurnHooks{Stopping: func(string) string { return "" }})
		if res.Exit != ralph.ExitFailed || res.Err == nil || !strings.Contains(res.Err.Message, "did not take the hooks") {
			t.Errorf("%s %+v", res.Exit, res.Err)
		}
	})
}
