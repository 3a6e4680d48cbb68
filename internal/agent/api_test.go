package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agent/agenttest"
	"github.com/ralph-loop/ralph/internal/agentcheck"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// apiSpec is an agent of the driver api whose model is on a server.
func apiSpec(provider string, s *modeltest.Server) ralph.AgentSpec {
	spec := ralph.AgentSpec{Name: "local", Driver: "api", Model: provider + ":m1", BaseURL: s.URL, KeyEnv: "A_KEY"}
	if provider == "openai" || provider == "responses" {
		spec.BaseURL += "/v1"
	}
	return spec
}

// played is a model that behaves so.
func played(t *testing.T, b agenttest.Behaviour) modeltest.Handler {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	return func(q modeltest.Request) modeltest.Reply {
		switch b {
		case agenttest.Echo:
			return modeltest.Reply{Text: q.Prompt}
		case agenttest.Limited:
			return modeltest.Reply{Kind: modeltest.RateLimit, RetryAfter: time.Hour}
		case agenttest.Hang:
			return modeltest.Reply{Wait: never}
		case agenttest.Background:
			if !q.Results {
				return modeltest.Do(modeltest.Run("setsid sh -c 'echo >up; sleep 60; :' >/dev/null 2>&1 & until [ -e up ]; do sleep 0.01; done"))
			}
		case agenttest.Remember:
			return modeltest.Reply{Text: q.Text}
		case agenttest.Structured:
			if q.Answer {
				return modeltest.Reply{Answer: map[string]string{"word": agentcheck.Word}}
			}
		case agenttest.Asks:
			if !q.Results {
				return modeltest.Do(modeltest.Run("sh -c 'date > " + agentcheck.Made + "'"))
			}
		}
		return modeltest.Reply{Text: "All is done.\n<ralph>COMPLETE</ralph>"}
	}
}

// fakeAPI is a loop that behaves as no model can make it.
func fakeAPI(b agenttest.Behaviour) {
	say := func(words string) {
		e, _ := json.Marshal(ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: ralph.Item{ID: "1", Kind: ralph.ItemMessage, Text: words}})
		fmt.Printf("{\"event\":%s}\n", e)
	}
	switch b {
	case agenttest.Fail:
		fmt.Fprintln(os.Stderr, "it broke")
		os.Exit(3)
	case agenttest.Crash:
		say("begun")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case agenttest.HangHard:
		signal.Ignore(syscall.SIGTERM)
		say("ready")
		time.Sleep(time.Minute)
	case agenttest.Flood:
		words := strings.Repeat("x", 64<<10)
		for range agenttest.FloodBytes/len(words) + 1 {
			say(words)
		}
	}
	fmt.Println(`{"event":{"kind":"turn.completed"}}`)
	os.Exit(0)
}

// one suite for every driver, through the one interface; here over each
// provider's own API.
func TestAPIConforms(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "responses", "anthropic", "ollama"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			conforms(t, func(t *testing.T, b agenttest.Behaviour) (agent.Driver, ralph.TurnInput) {
				spec := apiSpec(provider, modeltest.New(t, played(t, b)))
				exe, env := self(t), []string{"A_KEY=not-a-real-key"}
				switch b {
				case agenttest.Missing:
					exe = "/no/such/ralph"
				case agenttest.Fail, agenttest.Crash, agenttest.HangHard, agenttest.Flood, agenttest.Deaf:
					env = append(env, "FAKE_API="+string(b))
				}
				d, err := agent.Open(spec, proc.NewRunner(t.TempDir()), exe)
				if err != nil {
					t.Fatal(err)
				}
				return d, input(t, spec, env...)
			}, agenttest.Remember, agenttest.Metered, agenttest.Structured, agenttest.Asks)
		})
	}
}

// apiTurn is a turn over one provider, and what was heard of it.
func apiTurn(t *testing.T, provider string, script modeltest.Handler, edit func(*ralph.TurnInput), on ralph.TurnHooks) (ralph.TurnResult, []ralph.StreamEvent, *modeltest.Server) {
	t.Helper()
	s := modeltest.New(t, script)
	spec := apiSpec(provider, s)
	in := input(t, spec, "A_KEY=not-a-real-key")
	in.Prompt, in.Timeout = "Do it.", time.Minute
	if edit != nil {
		edit(&in)
	}
	var events []ralph.StreamEvent
	on.Event = func(e ralph.StreamEvent) { events = append(events, e) }
	if on.Ask == nil {
		on.Ask = func(context.Context, ralph.Request) (ralph.Reply, error) { return ralph.Reply{Allow: true}, nil }
	}
	res, err := open(t, in.Agent).Turn(t.Context(), in, on)
	if err != nil {
		t.Fatal(err)
	}
	return res, events, s
}

func of(events []ralph.StreamEvent, kind ralph.StreamKind) (list []ralph.StreamEvent) {
	for _, e := range events {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// The model's commands run where the work is, without the key, and it is told what came of
// them; its plan and what it used are told too.
func TestAPIWorks(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "responses", "anthropic", "ollama"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			dir, n := "", 0
			res, events, s := apiTurn(t, provider, func(q modeltest.Request) modeltest.Reply {
				switch n++; n {
				case 1:
					return modeltest.Reply{Text: "- [x] look\n- [ ] write\n- [ ] check", Calls: []modeltest.Call{
						modeltest.Run("printf one > made.txt; echo \"key=$A_KEY.\"; exit 3"), {Tool: "rm", Input: map[string]string{"a": "b"}},
					}}
				case 2:
					if !strings.Contains(q.Text, "key=.") || !strings.Contains(q.Text, "exit code 3") || !strings.Contains(q.Text, "There is no tool rm") {
						t.Errorf("the model was told %s", q.Text)
					}
					return modeltest.Reply{Calls: []modeltest.Call{modeltest.Run("cat made.txt")}, Tokens: 500}
				}
				return modeltest.Reply{Text: "<ralph>COMPLETE</ralph>"}
			}, func(in *ralph.TurnInput) { dir = in.Dir }, ralph.TurnHooks{})
			b, err := os.ReadFile(filepath.Join(dir, "made.txt"))
			if err != nil || string(b) != "one" || res.Exit != ralph.ExitOK || res.Text != "<ralph>COMPLETE</ralph>" {
				t.Fatalf("%v %q %+v", err, b, res)
			}
			if res.Usage.Input != 2500 || res.Usage.Output != 150 || res.Context.Used != 1050 || res.Usage.Known != (provider == "ollama") {
				t.Errorf("%+v %+v", res.Usage, res.Context)
			}
			plan := of(events, ralph.StreamPlan)
			if len(plan) != 1 || len(plan[0].Plan) != 3 || plan[0].Plan[1] != (ralph.PlanStep{Text: "write", Status: "in_progress"}) {
				t.Errorf("plan: %+v", plan)
			}
			done := of(events, ralph.StreamItemDone)
			if i := slices.IndexFunc(done, func(e ralph.StreamEvent) bool { return e.Item.Kind == ralph.ItemCommand }); i < 0 || done[i].Item.Status != ralph.ItemFailed || *done[i].Item.Exit != 3 || !strings.Contains(done[i].Item.Output, "key=.") {
				t.Errorf("items: %+v", done)
			}
			if ends := of(events, ralph.StreamTurnDone); len(ends) != 1 || ends[0].Status != ralph.TurnCompleted {
				t.Errorf("ends: %+v", ends)
			}
			if auth := s.Requests()[0].Header; !strings.Contains(auth.Get("Authorization")+auth.Get("X-Api-Key"), "not-a-real-key") {
				t.Errorf("the server was not told the key: %v", auth)
			}
		})
	}
}

// What is denied does not run, the model hears why, and an answer that ends the turn ends it.
func TestAPIDenied(t *testing.T) {
	t.Parallel()
	script := func(q modeltest.Request) modeltest.Reply {
		if !q.Results {
			return modeltest.Do(modeltest.Run("touch made.txt"))
		}
		return modeltest.Reply{Text: q.Last}
	}
	dir := ""
	where := func(in *ralph.TurnInput) { dir = in.Dir }
	var asked ralph.Request
	res, events, _ := apiTurn(t, "ollama", script, where, ralph.TurnHooks{Ask: func(_ context.Context, r ralph.Request) (ralph.Reply, error) {
		asked = r
		return ralph.Reply{Text: "not on a Monday"}, nil
	}})
	if _, err := os.Stat(filepath.Join(dir, "made.txt")); err == nil || !strings.Contains(res.Text, "not on a Monday") || len(res.Denied) != 1 {
		t.Errorf("%v %+v", err, res)
	}
	if asked.Kind != ralph.RequestApproval || asked.Op != ralph.OpCommand || asked.Command != "touch made.txt" || !asked.Shown {
		t.Errorf("%+v", asked)
	}
	if len(of(events, ralph.StreamApproval)) != 1 || len(of(events, ralph.StreamResolved)) != 1 {
		t.Errorf("%+v", events)
	}
	res, _, _ = apiTurn(t, "ollama", script, where, ralph.TurnHooks{Ask: func(context.Context, ralph.Request) (ralph.Reply, error) { return ralph.Reply{Stop: true}, nil }})
	if _, err := os.Stat(filepath.Join(dir, "made.txt")); err == nil || res.Exit != ralph.ExitUser {
		t.Errorf("%v %+v", err, res)
	}
}

// A session goes on from its record, also when its turn was cut in the middle of a command;
// one that is not there is told.
func TestAPIResumes(t *testing.T) {
	t.Parallel()
	var in ralph.TurnInput
	ctx, cancel := context.WithCancel(t.Context())
	s := modeltest.New(t, func(q modeltest.Request) modeltest.Reply {
		if strings.Contains(q.Text, "Where are you?") {
			return modeltest.Reply{Text: q.Text}
		}
		return modeltest.Do(modeltest.Run("touch begun; sleep 60"))
	})
	in = input(t, apiSpec("anthropic", s), "A_KEY=not-a-real-key")
	in.Prompt, in.Timeout, in.Grace = "The word is tulip.", time.Minute, 20*time.Second
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(in.Dir, "begun")); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond) //nolint:forbidigo // waits for what a process does
		}
	}()
	d := open(t, in.Agent)
	yes := ralph.TurnHooks{Ask: func(context.Context, ralph.Request) (ralph.Reply, error) { return ralph.Reply{Allow: true}, nil }}
	cut, err := d.Turn(ctx, in, yes)
	if err != nil || cut.Exit != ralph.ExitUser || cut.Session == "" || cut.Leftover != 0 {
		t.Fatalf("%v %+v", err, cut)
	}
	again := in
	again.Prompt, again.Resume = "Where are you?", cut.Session
	res, err := d.Turn(t.Context(), again, yes)
	if err != nil || res.Exit != ralph.ExitOK || res.Session != cut.Session || !strings.Contains(res.Text, "tulip") || !strings.Contains(res.Text, "It was interrupted") {
		t.Errorf("%v %+v", err, res)
	}
	for _, lost := range []string{"api-gone", "../../etc/passwd", "api-/../x"} {
		again.Resume = lost
		if res, err = d.Turn(t.Context(), again, yes); err != nil || res.Exit != ralph.ExitFailed || res.Session != "" || !strings.Contains(res.Err.Message, "begins a new one") {
			t.Errorf("%s: %v %+v", lost, err, res)
		}
	}
}

// A record whose last line was cut, by a full disk or a kill, goes on behind its last whole line: what
// comes later is not lost with it.
func TestAPIResumesACutRecord(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(b []byte) []byte{
		"half a line":     func(b []byte) []byte { return b[:len(b)-20] },
		"without its end": func(b []byte) []byte { return b[:len(b)-1] },
		"whole":           func(b []byte) []byte { return b },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.New(t, func(q modeltest.Request) modeltest.Reply { return modeltest.Reply{Text: q.Text} })
			in := input(t, apiSpec("anthropic", s), "A_KEY=not-a-real-key")
			d := open(t, in.Agent)
			var res ralph.TurnResult
			for _, prompt := range []string{"The word is tulip.", "The word is rose.", "Which were they?"} {
				in.Prompt, in.Resume = prompt, res.Session
				var err error
				if res, err = d.Turn(t.Context(), in, ralph.TurnHooks{}); err != nil || res.Exit != ralph.ExitOK {
					t.Fatalf("%v %+v", err, res)
				}
				record := filepath.Join(filepath.Dir(in.Scratch), res.Session+".jsonl")
				b, err := os.ReadFile(record)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(prompt, "tulip") {
					if err := os.WriteFile(record, cut(b), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !strings.Contains(res.Text, "tulip") || !strings.Contains(res.Text, "rose") {
				t.Errorf("what was said after the cut is forgotten: %s", res.Text)
			}
		})
	}
}

// A window that fills is emptied by a summary, in the middle of a turn and when ralph asks; the
// record begins anew with it.
func TestAPICompacts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	n := 0
	script := func(q modeltest.Request) modeltest.Reply {
		mu.Lock()
		defer mu.Unlock()
		switch n++; {
		case strings.Contains(q.Last, "nearly full"):
			return modeltest.Reply{Text: "NOTES: tulip"}
		case n == 1:
			return modeltest.Reply{Calls: []modeltest.Call{modeltest.Run("true")}, Tokens: 900}
		case n == 3 && (!strings.Contains(q.Text, "NOTES: tulip") || strings.Contains(q.Text, "tool_calls")):
			t.Errorf("after the summary the model was told %s", q.Text)
		case n == 4:
			return modeltest.Reply{Kind: modeltest.TooLong}
		}
		return modeltest.Reply{Text: "done", Tokens: 100}
	}
	var in ralph.TurnInput
	res, events, s := apiTurn(t, "openai", script, func(i *ralph.TurnInput) {
		i.Agent.Window = 1000
		in = *i
	}, ralph.TurnHooks{})
	if res.Exit != ralph.ExitOK || res.Compacts != 1 || len(of(events, ralph.StreamCompacted)) != 1 || len(s.Requests()) != 3 {
		t.Fatalf("%+v, %d requests", res, len(s.Requests()))
	}
	in.Resume = res.Session
	res, err := open(t, in.Agent).Turn(t.Context(), in, ralph.TurnHooks{}) // too long, a summary, and again
	if err != nil || res.Exit != ralph.ExitOK || res.Compacts != 1 || len(s.Requests()) != 6 {
		t.Errorf("%v %+v, %d requests", err, res, len(s.Requests()))
	}
	in.Compact, in.Prompt = true, ""
	res, err = open(t, in.Agent).Turn(t.Context(), in, ralph.TurnHooks{})
	if err != nil || res.Exit != ralph.ExitOK || res.Compacts != 0 || len(s.Requests()) != 7 || res.Context.Used == 0 {
		t.Errorf("%v %+v, %d requests", err, res, len(s.Requests()))
	}
	b, _ := os.ReadFile(filepath.Join(filepath.Dir(in.Scratch), res.Session+".jsonl"))
	if strings.Count(string(b), `"anew":true`) != 3 {
		t.Errorf("the record is %s", b)
	}
}

// A model that would end its turn without a signal is told to go on, twice at most.
func TestAPIStopping(t *testing.T) {
	t.Parallel()
	var words []string
	res, _, s := apiTurn(t, "responses", func(q modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Text: fmt.Sprintf("word %d", strings.Count(q.Text, "go on, please"))}
	}, nil, ralph.TurnHooks{Stopping: func(w string) string { words = append(words, w); return "go on, please" }})
	if res.Text != "word 2" || len(s.Requests()) != 3 || !slices.Equal(words, []string{"word 0", "word 1"}) {
		t.Errorf("%+v %v", res, words)
	}
}

// What is wrong with a model is told in the classes that ralph decides by.
func TestAPIErrors(t *testing.T) {
	t.Parallel()
	for kind, class := range map[modeltest.Kind]ralph.ErrorClass{
		modeltest.Auth: ralph.ErrClassAuth, modeltest.NoModel: ralph.ErrClassRequest, modeltest.Billing: ralph.ErrClassRequest, modeltest.Bad: ralph.ErrClassRequest,
	} {
		res, events, _ := apiTurn(t, "anthropic", func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Kind: kind} }, nil, ralph.TurnHooks{})
		if res.Exit != ralph.ExitFailed || res.Err == nil || res.Err.Class != class || strings.Contains(res.Err.Message, "not-a-real-key") || len(of(events, ralph.StreamError)) != 1 {
			t.Errorf("%s: %+v %+v", kind, res, res.Err)
		}
	}
	res, _, _ := apiTurn(t, "openai", func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Kind: modeltest.UsageLimit, RetryAfter: time.Hour}
	}, nil, ralph.TurnHooks{})
	if res.Err == nil || res.Err.Class != ralph.ErrClassLimit || time.Until(res.Err.ResetAt) < 59*time.Minute {
		t.Errorf("%+v", res.Err)
	}
	res, events, _ := apiTurn(t, "ollama", func() modeltest.Handler {
		n := 0
		return func(modeltest.Request) modeltest.Reply {
			if n++; n == 1 {
				return modeltest.Reply{Kind: modeltest.Overloaded, RetryAfter: time.Second}
			}
			return modeltest.Reply{Text: "fine"}
		}
	}(), nil, ralph.TurnHooks{})
	if again := of(events, ralph.StreamError); res.Exit != ralph.ExitOK || len(again) != 1 || !again[0].WillRetry || again[0].Err.Class != ralph.ErrClassBusy {
		t.Errorf("%+v %+v", res, again)
	}
	_, err := agent.Open(ralph.AgentSpec{Name: "x", Driver: "api", Model: "gpt-5"}, proc.NewRunner(""), "ralph")
	if err == nil || !strings.Contains(err.Error(), "agents.x.model") || !strings.Contains(err.Error(), "ollama:qwen3") {
		t.Error(err)
	}
}
