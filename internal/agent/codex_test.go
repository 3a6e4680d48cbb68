package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agent/agenttest"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

func openCodex(t *testing.T, spec ralph.AgentSpec) agent.Driver {
	t.Helper()
	d := open(t, spec)
	t.Cleanup(func() {
		if err := agent.Close(d); err != nil {
			t.Error(err)
		}
	})
	return d
}

func codexSpec(t *testing.T) ralph.AgentSpec {
	return ralph.AgentSpec{Name: "codex", Driver: "codex", Command: []string{self(t), "app-server"}}
}

//
func TestCodexConforms(t *testing.T) {
	t.Parallel()
	conforms(t, func(t *testing.T, b agenttest.Behaviour) (agent.Driver, ralph.TurnInput) {
		spec := codexSpec(t)
		if b == agenttest.Missing {
			spec.Command = []string{"no-such-codex-anywhere", "app-server"}
		}
		return openCodex(t, spec), input(t, spec, "FAKE_CODEX="+string(b))
	})
}

// codexRun is a turn against a recording, with all that came of it.
type codexRun struct {
	res    ralph.TurnResult
	events []ralph.StreamEvent
	asked  []ralph.Request
	said   []ralph.Words
	sent   []codexMessage // by the driver
}

func (r codexRun) find(kind ralph.StreamKind) (all []ralph.StreamEvent) {
	for _, e := range r.events {
		if e.Kind == kind {
			all = append(all, e)
		}
	}
	return all
}

// answers are what the driver sent with an id of the server's.
func (r codexRun) answers() (all []string) {
	for _, m := range r.sent {
		if m.Method == "" {
			all = append(all, string(m.ID)+" "+string(m.Result)+string(m.Error))
		}
	}
	return all
}

// params are those of the driver's request of that method.
func (r codexRun) params(t *testing.T, method string) map[string]any {
	t.Helper()
	for _, m := range r.sent {
		if m.Method == method {
			var p map[string]any
			if err := json.Unmarshal(m.Params, &p); err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("%s was not sent", method)
	return nil
}

type codexCase struct {
	name  string
	edit  func(*ralph.TurnInput)
	spec  func(*ralph.AgentSpec)
	reply func(ctx context.Context, q ralph.Request, stop func()) (ralph.Reply, error)
	env   []string
}

func replayCase(t *testing.T, c codexCase) codexRun {
	t.Helper()
	file, err := filepath.Abs("testdata/codex/" + c.name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "sent")
	spec := codexSpec(t)
	if c.spec != nil {
		c.spec(&spec)
	}
	in := input(t, spec, append(c.env, "FAKE_CODEX_REPLAY="+file, "FAKE_LOG="+log)...)
	in.Prompt, in.Timeout, in.Grace = "Do it.", 2*time.Minute, 5*time.Second
	if c.edit != nil {
		c.edit(&in)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var run codexRun
	var mu sync.Mutex
	hooks := ralph.TurnHooks{
		Event: func(e ralph.StreamEvent) {
			run.events = append(run.events, e)
			if w, ok := e.Words(); ok {
				run.said = append(run.said, w)
			}
		},
	}
	if c.reply != nil {
		hooks.Ask = func(ctx context.Context, q ralph.Request) (ralph.Reply, error) {
			mu.Lock()
			run.asked = append(run.asked, q)
			mu.Unlock()
			return c.reply(ctx, q, stop)
		}
	}
	d := openCodex(t, spec)
	if run.res, err = d.Turn(ctx, in, hooks); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if err := agent.Close(d); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var m codexMessage
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		run.sent = append(run.sent, m)
	}
	return run
}

func allow(context.Context, ralph.Request, func()) (ralph.Reply, error) {
	return ralph.Reply{Allow: true}, nil
}

// E-010, E-011, E-012, E-035: the handshake first, then the thread, then the turn with
// the prompt; approval policy and sandbox always given.
func TestCodexLifecycle(t *testing.T) {
	t.Parallel()
	run := replayCase(t, codexCase{name: "messages-and-phases"})
	var methods []string
	for _, m := range run.sent {
		methods = append(methods, m.Method)
	}
	want := []string{"initialize", "initialized", "thread/start", "turn/start", "thread/backgroundTerminals/list", "thread/backgroundTerminals/clean", "thread/unsubscribe"}
	if !slices.Equal(methods, want) {
		t.Errorf("sent %v", methods)
	}
	start := run.params(t, "thread/start")
	if start["approvalPolicy"] != "never" || start["sandbox"] != "workspace-write" || start["cwd"] == "" {
		t.Errorf("thread/start %v", start)
	}
	if in, _ := json.Marshal(run.params(t, "turn/start")["input"]); string(in) != `[{"text":"Do it.","type":"text"}]` {
		t.Errorf("turn/start %s", in)
	}
	if run.res.Exit != ralph.ExitOK || run.res.Session == "" || run.res.Code != 0 || run.res.Usage.Known {
		t.Errorf("%+v", run.res)
	}
	ends := run.find(ralph.StreamTurnDone)
	if len(ends) != 1 || ends[0].Status != ralph.TurnCompleted || len(run.find(ralph.StreamSession)) != 1 || len(run.find(ralph.StreamTurn)) != 1 {
		t.Errorf("events %+v", run.events)
	}
}

// E-013: the answer to turn/start and turn/started come in either order.
func TestCodexEitherOrder(t *testing.T) {
	t.Parallel()
	usual := replayCase(t, codexCase{name: "shell-and-patch"})
	other := replayCase(t, codexCase{name: "shell-and-patch", env: []string{"FAKE_ORDER=1"}})
	if usual.res.Exit != ralph.ExitOK || usual.res.Text == "" || !reflect.DeepEqual(usual.events, other.events) {
		t.Errorf("%+v\n%+v", usual.res, other.res)
	}
	if len(usual.find(ralph.StreamDiff)) == 0 || !strings.HasPrefix(usual.find(ralph.StreamDiff)[0].Diff, "diff --git") {
		t.Error("no diff (E-022)")
	}
}

// E-028: a request that nobody knows gets an error, and the turn goes on.
func TestCodexUnknownRequest(t *testing.T) {
	t.Parallel()
	run := replayCase(t, codexCase{name: "messages-and-phases", env: []string{"FAKE_INJECT=1"}})
	got := run.answers()
	if run.res.Exit != ralph.ExitOK || len(got) != 1 || !strings.HasPrefix(got[0], `"x-1" {"code":-32601,`) {
		t.Errorf("%s %v", run.res.Exit, got)
	}
}

// E-025, E-026, E-027, E-028: every request gets one answer, with its id, as it was
// decided; the person sees what it is about.
func TestCodexAnswers(t *testing.T) {
	t.Parallel()
	words := func(text string) func(context.Context, ralph.Request, func()) (ralph.Reply, error) {
		return func(context.Context, ralph.Request, func()) (ralph.Reply, error) { return ralph.Reply{Text: text}, nil }
	}
	for _, c := range []struct {
		name    string
		reply   func(context.Context, ralph.Request, func()) (ralph.Reply, error)
		asked   ralph.Request
		answers []string
	}{
		{"command-approval-accept", allow, ralph.Request{
			ID: "0", Kind: ralph.RequestApproval, Op: ralph.OpCommand, Tool: "commandExecution", Command: "touch made-by-agent.txt", Dir: "/repo", Text: "touch made-by-agent.txt",
		}, []string{`0 {"decision":"accept"}`}},
		{"command-approval-decline", words("no"), ralph.Request{
			ID: "0", Kind: ralph.RequestApproval, Op: ralph.OpCommand, Tool: "commandExecution", Command: "touch made-by-agent.txt", Dir: "/repo", Text: "touch made-by-agent.txt",
		}, []string{`0 {"decision":"decline"}`}},
		{"file-change-approval-accept", allow, ralph.Request{
			ID: "0", Kind: ralph.RequestApproval, Op: ralph.OpEdit, Tool: "fileChange", Paths: []string{"/repo/README.md", "/repo/hello.txt"},
			Text: "change /repo/README.md, /repo/hello.txt", Detail: "/repo/README.md\n@@ -1 +1 @@\n-hi\n+hi there\n\n/repo/hello.txt\nhello\n\n",
		}, []string{`0 {"decision":"accept"}`}},
		{"permissions-request", allow, ralph.Request{
			ID: "0", Kind: ralph.RequestApproval, Op: ralph.OpPermissions, Tool: "permissions", Dir: "/repo", Text: "Need the network",
			Detail: `{"network":{"enabled":true},"fileSystem":null}`,
		}, []string{`0 {"permissions":{"network":{"enabled":true},"fileSystem":null},"scope":"turn"}`}},
		{"permissions-request", words(""), ralph.Request{
			ID: "0", Kind: ralph.RequestApproval, Op: ralph.OpPermissions, Tool: "permissions", Dir: "/repo", Text: "Need the network",
			Detail: `{"network":{"enabled":true},"fileSystem":null}`,
		}, []string{`0 {"permissions":{},"scope":"turn"}`}},
		{
			"mcp-elicitation", words("Ada"),
			ralph.Request{ID: "0", Kind: ralph.RequestQuestion, Tool: "asker", Text: "Your name? (name)"},
			[]string{`0 {"_meta":null,"action":"accept","content":{"name":"Ada"}}`},
		},
		{
			"mcp-elicitation", words(""),
			ralph.Request{ID: "0", Kind: ralph.RequestQuestion, Tool: "asker", Text: "Your name? (name)"},
			[]string{`0 {"_meta":null,"action":"decline","content":null}`},
		},
		{"request-user-input-default-mode", words("Blue"), ralph.Request{
			ID: "0", Kind: ralph.RequestQuestion, Tool: "requestUserInput", Text: "Which colour?", Options: []string{"Red (Recommended)", "Blue"},
		}, []string{`0 {"answers":{"q1":{"answers":["Blue"]}}}`, `1 {"answers":{"q2":{"answers":["Blue"]}}}`}},
		{"dynamic-tool", allow, ralph.Request{}, []string{`0 {"contentItems":[{"text":"there is no such tool","type":"inputText"}],"success":false}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := replayCase(t, codexCase{name: c.name, reply: c.reply})
			if got := run.answers(); !slices.Equal(got, c.answers) {
				t.Errorf("answered %q\nwant %q", got, c.answers)
			}
			if c.asked.ID != "" && !reflect.DeepEqual(run.asked[0], c.asked) || c.asked.ID == "" && len(run.asked) > 0 {
				t.Errorf("asked %+v\nwant %+v", run.asked, c.asked)
			}
			if run.res.Exit != ralph.ExitOK || run.params(t, "thread/start")["approvalPolicy"] != "untrusted" {
				t.Errorf("%+v", run.res)
			}
			if n := len(run.find(ralph.StreamResolved)); n != len(run.asked) {
				t.Errorf("%d requests are over, of %d", n, len(run.asked))
			}
		})
	}
}

// E-009: turns and items stay Codex's own, one of ours for each of its, none made up and
// none left out but the prompt, which ralph gave itself.
func TestCodexItemsOneToOne(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"messages-and-phases", "shell-and-patch", "plan-update", "command-approval-accept"} {
		recorded, err := os.ReadFile("testdata/codex/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		run := replayCase(t, codexCase{name: name, reply: allow})
		for method, kind := range map[string]ralph.StreamKind{
			"item/started": ralph.StreamItem, "item/completed": ralph.StreamItemDone, "turn/started": ralph.StreamTurn, "turn/completed": ralph.StreamTurnDone,
		} {
			want, got := 0, len(run.find(kind))
			for line := range bytes.Lines(recorded) {
				if bytes.Contains(line, []byte(`"method":"`+method+`"`)) && !bytes.Contains(line, []byte(`"userMessage"`)) {
					want++
				}
			}
			if want == 0 || got != want {
				t.Errorf("%s: %d of %s, %d of %s", name, want, method, got, kind)
			}
		}
	}
}

// Nobody to ask: all is denied, and the result says what. With approvals never codex asks
// all the same, and ralph answers: else nothing could be held (E-076, X-77).
func TestCodexNobodyToAsk(t *testing.T) {
	t.Parallel()
	no := func(context.Context, ralph.Request, func()) (ralph.Reply, error) { return ralph.Reply{Text: "no"}, nil }
	if said := replayCase(t, codexCase{name: "command-approval-decline", reply: no}); said.res.Denied != nil {
		t.Errorf("a person said no, and the result has %q as if nobody could be asked", said.res.Denied)
	}
	run := replayCase(t, codexCase{name: "command-approval-decline"})
	if got := run.answers(); !slices.Equal(got, []string{`0 {"decision":"decline"}`}) || !slices.Equal(run.res.Denied, []string{"touch made-by-agent.txt"}) {
		t.Errorf("%q, denied %q", got, run.res.Denied)
	}
	never := replayCase(t, codexCase{name: "messages-and-phases", reply: allow, spec: func(s *ralph.AgentSpec) { s.Approvals = "never" }})
	if p := never.params(t, "thread/start")["approvalPolicy"]; p != "untrusted" {
		t.Errorf("approvals: never became %v", p)
	}
}

// E-071: nobody answered in time, and that ends the turn.
func TestCodexHalts(t *testing.T) {
	t.Parallel()
	run := replayCase(t, codexCase{name: "command-approval-cancel", reply: func(context.Context, ralph.Request, func()) (ralph.Reply, error) {
		return ralph.Reply{Stop: true}, nil
	}})
	if got := run.answers(); !slices.Equal(got, []string{`0 {"decision":"cancel"}`}) || run.res.Exit != ralph.ExitUser {
		t.Errorf("%q %s", got, run.res.Exit)
	}
}

// E-019: interrupted with a request under way, the turn's end is waited for, and the
// person is told that no answer is needed.
func TestCodexInterrupt(t *testing.T) {
	t.Parallel()
	withdrawn := false
	run := replayCase(t, codexCase{name: "interrupt-pending-approval", reply: func(ctx context.Context, _ ralph.Request, stop func()) (ralph.Reply, error) {
		stop()
		<-ctx.Done()
		withdrawn = true
		return ralph.Reply{}, context.Cause(ctx)
	}})
	p := run.params(t, "turn/interrupt")
	ends := run.find(ralph.StreamTurnDone)
	if run.res.Exit != ralph.ExitUser || p["turnId"] == "" || !withdrawn || len(ends) != 1 || ends[0].Status != ralph.TurnInterrupted {
		t.Errorf("%+v %v %v", run.res, p, ends)
	}
	if len(run.answers()) > 1 {
		t.Errorf("answered more than once: %q", run.answers())
	}
}

// The time limit interrupts too.
func TestCodexOverTime(t *testing.T) {
	t.Parallel()
	run := replayCase(t, codexCase{name: "interrupt-command", edit: func(in *ralph.TurnInput) { in.Timeout = 3 * time.Second }})
	if run.res.Exit != ralph.ExitTimeout || run.params(t, "thread/backgroundTerminals/clean")["threadId"] != run.res.Session {
		t.Errorf("%+v", run.res)
	}
}

// The time limit stands still while somebody is asked.
func TestCodexWaitsOutsideItsTime(t *testing.T) {
	t.Parallel()
	ralphtest.NeedsTime(t)
	run := replayCase(t, codexCase{
		name: "command-approval-accept", edit: func(in *ralph.TurnInput) { in.Timeout = 8 * time.Second }, // a busy machine takes a while to start it
		reply: func(context.Context, ralph.Request, func()) (ralph.Reply, error) {
			<-time.After(8500 * time.Millisecond)
			return ralph.Reply{Allow: true}, nil
		},
	})
	if run.res.Exit != ralph.ExitOK || run.res.Waited < 8*time.Second {
		t.Errorf("%+v", run.res)
	}
}

// E-018, E-020, X-53: errors are typed by what codex calls them; one in the middle of a
// turn does not end it.
func TestCodexErrors(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]ralph.AgentError{
		"fail-usage-limit":                {Class: ralph.ErrClassLimit, Limit: "five_hour", ResetAt: time.Unix(1900000000, 0).UTC()},
		"fail-insufficient-quota":         {Class: ralph.ErrClassRequest},
		"fail-rate-limit-429":             {Class: ralph.ErrClassLimit, Status: 429},
		"fail-response-rate-limit":        {Class: ralph.ErrClassLimit},
		"fail-response-overloaded":        {Class: ralph.ErrClassBusy},
		"fail-http-503":                   {Class: ralph.ErrClassBusy},
		"fail-http-500":                   {Class: ralph.ErrClassServer},
		"fail-http-400":                   {Class: ralph.ErrClassRequest},
		"fail-http-401":                   {Class: ralph.ErrClassAuth, Status: 401},
		"fail-http-404-model":             {Class: ralph.ErrClassRequest},
		"fail-context-window":             {Class: ralph.ErrClassContext},
		"fail-stream-disconnect":          {Class: ralph.ErrClassServer},
		"fail-connection-refused-bounded": {Class: ralph.ErrClassNetwork},
		"fail-incomplete":                 {Class: ralph.ErrClassOther},
		"missing-env-key":                 {Class: ralph.ErrClassAuth},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := replayCase(t, codexCase{name: name})
			if run.res.Exit != ralph.ExitFailed || run.res.Err == nil {
				t.Fatalf("%+v", run.res)
			}
			got := *run.res.Err
			if got.Message == "" {
				t.Error("no message")
			}
			if got.Message = ""; !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
			if errs := run.find(ralph.StreamError); len(errs) == 0 || errs[len(errs)-1].WillRetry {
				t.Errorf("errors in the stream: %+v", errs)
			}
		})
	}
	run := replayCase(t, codexCase{name: "stream-disconnect-recovers"})
	if errs := run.find(ralph.StreamError); run.res.Exit != ralph.ExitOK || len(errs) == 0 || !errs[0].WillRetry {
		t.Errorf("%+v %+v", run.res, errs)
	}
}

// E-012: resume waits for no notification; what the thread used before is not counted
// again; a thread that is not there any more is not asked for a second time.
func TestCodexResume(t *testing.T) {
	t.Parallel()
	run := replayCase(t, codexCase{name: "resume", env: []string{"FAKE_PROC=xx"}, edit: func(in *ralph.TurnInput) { in.Resume = "01a1fb5f-2601-70e2-ab74-e92e9867a2c2" }})
	if p := run.params(t, "thread/resume"); p["excludeTurns"] != true || p["approvalPolicy"] != "never" {
		t.Errorf("resume %v", p)
	}
	if run.res.Text != "Second answer." || run.res.Usage.Input != 1000 || run.res.Usage.Output != 50 || run.res.Session != "01a1fb5f-2601-70e2-ab74-e92e9867a2c2" {
		t.Errorf("%+v", run.res)
	}
	run = replayCase(t, codexCase{name: "resume-empty-thread", env: []string{"FAKE_PROC=xx"}, edit: func(in *ralph.TurnInput) { in.Resume = "01a1fb5f-acaa-7eb1-a804-d1809b11afb4" }})
	if run.res.Exit != ralph.ExitFailed || run.res.Session != "" || !strings.Contains(run.res.Err.Message, "no rollout found") {
		t.Errorf("%+v %+v", run.res, run.res.Err)
	}
}

// E-016, E-023: a subagent's end is not the turn's, its words are not the agent's, its
// window is its own; its tokens are counted.
func TestCodexSubagent(t *testing.T) {
	t.Parallel()
	run := replayCase(t, codexCase{name: "subagent"})
	if run.res.Exit != ralph.ExitOK || run.res.Text != "Root done." || run.res.Usage.Input != 5000 || run.res.Usage.Output != 250 {
		t.Errorf("%+v", run.res)
	}
	if ends := run.find(ralph.StreamTurnDone); len(ends) != 2 || ends[0].Thread == run.res.Session || ends[1].Thread != run.res.Session {
		t.Errorf("ends %+v", ends)
	}
	for _, s := range run.said {
		if s.Kind == ralph.WordsMessage && s.Text == "Sub result." {
			t.Error("a subagent's words count as the agent's")
		}
	}
}

// E-021, E-024 and the structured answer, a review, a compaction.
func TestCodexKinds(t *testing.T) {
	t.Parallel()
	plans := replayCase(t, codexCase{name: "plan-update"}).find(ralph.StreamPlan)
	if want := []ralph.PlanStep{{Text: "Read the code", Status: "completed"}, {Text: "Write the fix", Status: "in_progress"}}; len(plans) != 2 || !slices.Equal(plans[1].Plan, want) {
		t.Errorf("plans %+v", plans)
	}
	auto := replayCase(t, codexCase{name: "compact-auto"})
	if len(auto.find(ralph.StreamCompacted)) != auto.res.Compacts || auto.res.Compacts == 0 {
		t.Errorf("compacted %d times: %+v", len(auto.find(ralph.StreamCompacted)), auto.res)
	}
	asked := replayCase(t, codexCase{name: "compact-manual", edit: func(in *ralph.TurnInput) {
		in.Compact, in.Resume = true, "01a1fb5f-619a-79f2-a2e5-4ee6fbbaeef0"
	}})
	if asked.res.Exit != ralph.ExitOK || asked.res.Compacts != 0 || asked.res.Context != (ralph.ContextUse{Used: 7061, Window: 258400}) {
		t.Errorf("%+v", asked.res)
	}
	review := replayCase(t, codexCase{name: "review", edit: func(in *ralph.TurnInput) {
		in.Review, in.Resume = true, "01a1fb5f-6c88-7942-8bd7-3afc2696171c"
	}})
	if review.res.Exit != ralph.ExitOK || !strings.HasPrefix(review.res.Text, "One bug.") {
		t.Errorf("%+v", review.res)
	}
	answer := replayCase(t, codexCase{name: "output-schema", edit: func(in *ralph.TurnInput) { in.Schema = json.RawMessage(`{"type":"object"}`) }})
	if !json.Valid(answer.res.Answer) || !strings.Contains(string(answer.res.Answer), "verdict") || answer.params(t, "turn/start")["outputSchema"] == nil {
		t.Errorf("%+v", answer.res)
	}
}

// A broken config.toml is said in its own words.
func TestCodexBadConfig(t *testing.T) {
	t.Parallel()
	run := replayCase(t, codexCase{name: "bad-config"})
	if run.res.Exit != ralph.ExitFailed || !strings.Contains(run.res.Err.Message, "config.toml:18:6") {
		t.Errorf("%+v %+v", run.res, run.res.Err)
	}
}
