package agent_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// recording is one recorded run of the real program (197 is 2.1.197, 329 is
// 2.1.329), with what a turn makes of it. Cost -1 is unknown.
type recording struct {
	name   string
	code   int
	stderr string

	exit   ralph.ExitKind
	class  ralph.ErrorClass
	status int
	cost   float64
	text   string // begin of Text, or of Err.Message when the turn failed
	denied int
}

func recordings() []recording {
	const noSession = "No conversation found with session ID: 99999999-2222-4333-8444-555555555555"
	ok := ralph.ExitOK
	failed := ralph.ExitFailed
	return []recording{
		{name: "197-text", exit: ok, cost: 0.00835, text: "Hello from the fake model."},
		{name: "197-text-thinking", exit: ok, cost: 0.00835, text: "Hello from"},
		{name: "329-text-thinking", exit: ok, cost: 0.00658, text: "Hello from"},
		{name: "329-partial", exit: ok, cost: 0.00704, text: "All done."},
		{name: "197-background-bash", exit: ok, cost: 0.003, text: "Saw it end."},
		{name: "329-background-bash", exit: ok, cost: 0.0024, text: "Saw it end."},
		{name: "329-subagent", exit: ok, cost: 0.00814, text: "(scenario exhausted)"},
		{name: "329-resume", exit: ok, cost: 0.00658, text: "Second."}, // its total says 0.01316
		{name: "329-resume-fork", exit: ok, cost: 0.00658, text: "Fourth."},
		{name: "197-hook-stop-always", exit: ok, cost: 0.07515, text: "Attempt"}, // result "": the last words
		{name: "197-denied-default", exit: ok, cost: 0.0098, text: "All done.", denied: 2},
		{name: "329-denied-dontask", exit: ok, cost: 0.00784, text: "All done.", denied: 2},
		{name: "197-json-schema", exit: ok, cost: 0.001, text: `{"status":"COMPLETE","summary":"ok"}`},
		{name: "329-json-schema", exit: ok, cost: 0.0008, text: `{"status":"COMPLETE","summary":"ok"}`},
		{name: "197-json-schema-never-text", exit: ok, cost: 0.002, text: "I forgot the tool."},
		{name: "197-tasks", exit: ok, cost: 0.0118, text: "All done."},
		{name: "197-err-429-then-ok", exit: ok, cost: 0.00835, text: "Hello from"},
		{name: "197-compact-auto", exit: ok, cost: 0.76278, text: "All done."},
		{name: "329-compact-auto", exit: ok, cost: 0.76278, text: "All done."},
		{name: "197-compact-manual", exit: ok, cost: 0.001},
		{name: "329-compact-manual", exit: ok, cost: 0.0008}, // its total says 0.01396
		{name: "197-slash-compact", exit: ok, text: "Error: No messages to compact"},
		{name: "329-plan-warning", exit: ok, cost: 0.00329, text: "Hello from"},

		{name: "197-err-429", code: 1, exit: failed, class: ralph.ErrClassLimit, status: 429, text: "API Error: Request rejected (429)"},
		{name: "197-plan-rejected-5h", code: 1, exit: failed, class: ralph.ErrClassLimit, status: 429, text: "You've hit your session limit"},
		{name: "329-plan-rejected-7d", code: 1, exit: failed, class: ralph.ErrClassLimit, status: 429, text: "You've hit your weekly limit"},
		{name: "329-err-529", code: 1, exit: failed, class: ralph.ErrClassBusy, status: 529, text: "API Error: 529 Overloaded"},
		{name: "197-err-529-default-retries", code: 1, exit: failed, class: ralph.ErrClassBusy, status: 529, text: "API Error: Repeated 529"},
		{name: "197-err-stream-overloaded", code: 1, exit: failed, class: ralph.ErrClassBusy, cost: 0.001575, text: "API Error: Repeated 529"},
		{name: "197-err-500", code: 1, exit: failed, class: ralph.ErrClassServer, status: 500, text: "API Error: 500 "},
		{name: "197-err-refused", code: 1, exit: failed, class: ralph.ErrClassNetwork, text: "API Error: Unable to connect"},
		{name: "197-err-401", code: 1, exit: failed, class: ralph.ErrClassAuth, status: 401, text: "Invalid API key"},
		{name: "329-err-401", code: 1, exit: failed, class: ralph.ErrClassAuth, status: 401, text: "Invalid API key"},
		{name: "197-no-key", code: 1, exit: failed, class: ralph.ErrClassAuth, text: "Not logged in"},
		{name: "197-err-404-model", code: 1, exit: failed, class: ralph.ErrClassRequest, status: 404, text: "There's an issue with the selected model"},
		{name: "197-err-400-credit", code: 1, exit: failed, class: ralph.ErrClassRequest, status: 400, text: "Credit balance is too low"},
		{name: "197-err-400-prompt-too-long", code: 1, exit: failed, class: ralph.ErrClassContext, status: 400, text: "Prompt is too long"},
		{name: "197-err-refusal", code: 1, exit: failed, class: ralph.ErrClassRefusal, cost: 0.00835, text: "API Error: Claude Code is unable"},
		{name: "197-err-max-tokens", code: 1, exit: failed, class: ralph.ErrClassOther, cost: 0.0334, text: "API Error: Claude's response exceeded"},
		{name: "197-max-turns", code: 1, exit: failed, class: ralph.ErrClassBudget, cost: 0.002, text: "Reached maximum number of turns (2)"},
		{name: "197-max-budget", code: 1, exit: failed, class: ralph.ErrClassBudget, cost: 1.1, text: "Reached maximum budget ($1)"},
		{name: "329-max-budget", code: 1, exit: failed, class: ralph.ErrClassBudget, cost: 1.32, text: "Reached maximum budget ($1)"},
		{name: "197-json-schema-never", code: 1, exit: failed, class: ralph.ErrClassOutput, cost: 0.004, text: "Failed to provide valid structured output"},
		{name: "197-resume-unknown", code: 1, stderr: noSession, exit: failed, class: ralph.ErrClassOther, text: noSession},

		{name: "197-bad-flag", code: 1, stderr: "error: unknown option '--no-such-flag'", exit: failed, class: ralph.ErrClassOther, cost: -1, text: "error: unknown option"},
		{name: "197-text-output-text", exit: failed, class: ralph.ErrClassOutput, cost: -1, text: "Hello from the fake model."},
		{name: "197-signal-sigterm-text", code: 143, exit: ralph.ExitCrashed, cost: -1},
		{name: "197-signal-sigkill-tool", code: -9, exit: ralph.ExitCrashed, cost: -1},
		{name: "329-kill9-mid-turn", code: -9, exit: ralph.ExitCrashed, cost: -1},
		{name: "197-signal-sigint-text", exit: ralph.ExitCrashed, text: "word word"},
	}
}

// Each recording ends as the real run did (B-069 to B-075, X-43, X-53).
func TestClaudeRecordings(t *testing.T) {
	t.Parallel()
	for _, r := range recordings() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			res, _ := replayed(t, r)
			if res.Exit != r.exit {
				t.Fatalf("Exit %s, want %s (%+v)", res.Exit, r.exit, res.Err)
			}
			class, status, text := ralph.ErrorClass(""), 0, res.Text
			if res.Err != nil {
				class, status, text = res.Err.Class, res.Err.Status, res.Err.Message
			}
			if class != r.class || status != r.status {
				t.Errorf("error %q status %d, want %q %d", class, status, r.class, r.status)
			}
			if !strings.HasPrefix(text, r.text) {
				t.Errorf("text %.80q, want %q", text, r.text)
			}
			if known := r.cost >= 0; res.Usage.Known != known || known && math.Abs(res.Usage.Cost-r.cost) > 1e-9 {
				t.Errorf("usage %+v, want cost %v", res.Usage, r.cost)
			}
			if len(res.Denied) != r.denied {
				t.Errorf("denied %q", res.Denied)
			}
		})
	}
}

func replayed(t *testing.T, r recording) (ralph.TurnResult, []ralph.Words) {
	t.Helper()
	var said []ralph.Words
	res := replayedAs(t, r, ralph.TurnInput{Prompt: "Do it"}, ralph.TurnHooks{Event: ralph.HearWords(func(s ralph.Words) { said = append(said, s) })})
	return res, said
}

// replayedAs is a turn of a driver that has had none before.
func replayedAs(t *testing.T, r recording, as ralph.TurnInput, on ralph.TurnHooks) ralph.TurnResult {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", "claude", r.name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	spec := ralph.AgentSpec{Name: "claude", Driver: "claude", Command: []string{self(t)}}
	in := input(t, spec, "FAKE_REPLAY="+file, "FAKE_CODE="+strconv.Itoa(r.code), "FAKE_STDERR="+r.stderr)
	in.Prompt, in.Resume, in.Compact = as.Prompt, as.Resume, as.Compact
	res, err := open(t, spec).Turn(t.Context(), in, on)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The table must name every recording of testdata.
func TestClaudeRecordingsAreAllNamed(t *testing.T) {
	files, err := filepath.Glob("testdata/claude/*.jsonl")
	if err != nil || len(files) != len(recordings()) {
		t.Errorf("%d files, %d rows, %v", len(files), len(recordings()), err)
	}
}

func TestClaudeDetails(t *testing.T) {
	t.Parallel()
	t.Run("structured output is the answer", func(t *testing.T) {
		res, _ := replayed(t, recording{name: "329-json-schema"})
		if string(res.Answer) != `{"status":"COMPLETE","summary":"ok"}` {
			t.Errorf("Answer %s", res.Answer)
		}
		res, _ = replayed(t, recording{name: "197-json-schema-never-text"})
		if res.Answer != nil {
			t.Errorf("Answer %s where the agent gave none", res.Answer)
		}
	})
	t.Run("a plan limit says when it ends", func(t *testing.T) {
		res, _ := replayed(t, recording{name: "197-plan-rejected-5h", code: 1})
		if res.Err == nil || res.Err.ResetAt.Unix() != 1795223736 || res.Err.Limit != "five_hour" {
			t.Errorf("%+v", res.Err)
		}
	})
	t.Run("an unknown session is not asked for again", func(t *testing.T) {
		res, _ := replayed(t, recording{name: "197-resume-unknown", code: 1})
		if res.Session != "" {
			t.Errorf("Session %q", res.Session)
		}
		res, _ = replayed(t, recording{name: "329-resume"})
		if res.Session != "11111111-2222-4333-8444-555555555555" {
			t.Errorf("Session %q", res.Session)
		}
	})
	t.Run("denied calls are named", func(t *testing.T) {
		res, _ := replayed(t, recording{name: "197-denied-default"})
		if !slices.Equal(res.Denied, []string{"Write: /repo/x.txt", "Bash: touch y"}) {
			t.Errorf("%q", res.Denied)
		}
	})
	t.Run("what is said is classed", func(t *testing.T) {
		_, said := replayed(t, recording{name: "329-text-thinking"})
		want := []ralph.Words{{Kind: ralph.WordsReasoning, Text: "Let me think."}, {Kind: ralph.WordsMessage, Text: "Hello from the fake model."}}
		if !slices.Equal(said, want) {
			t.Errorf("%+v", said)
		}
		_, said = replayed(t, recording{name: "197-denied-default"})
		kinds := map[ralph.WordsKind]int{}
		for _, s := range said {
			kinds[s.Kind]++
		}
		if kinds[ralph.WordsTool] != 2 || kinds[ralph.WordsResult] != 2 || kinds[ralph.WordsMessage] != 1 {
			t.Errorf("%v", kinds)
		}
		_, said = replayed(t, recording{name: "197-err-429", code: 1})
		if len(said) != 2 || said[0].Kind != ralph.WordsError || said[1].Kind != ralph.WordsError {
			t.Errorf("%+v", said)
		}
	})
	t.Run("a subagent's words are not the agent's", func(t *testing.T) {
		_, said := replayed(t, recording{name: "329-subagent"})
		for _, s := range said {
			if s.Kind == ralph.WordsMessage && strings.Contains(s.Text, "Sub result") {
				t.Errorf("%+v", s)
			}
		}
	})
}

// Where somebody answers, rules make claude ask in every mode, whatever the person's own
// settings are; ralph's MCP server comes with the turn (C-034, C-036, X-77). Where nobody
// does, its own rules hold.
func TestClaudeArguments(t *testing.T) {
	t.Parallel()
	const begin = "-p --input-format stream-json --output-format stream-json --verbose --permission-prompt-tool stdio"
	const plain = begin + " --setting-sources user --permission-mode default"
	const tools = `"Bash","PowerShell","Monitor","Edit","MultiEdit","Write","NotebookEdit","WebFetch","WebSearch","mcp__*"`
	const rules = ` --settings {"permissions":{"ask":[` + tools + `]},"sandbox":{"autoAllowBashIfSandboxed":false}}`
	file := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(file, []byte(`{"permissions":{"ask":["Bash","Read"],"allow":["Write"]},"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true},"env":{"A":"b"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	merged := ` --settings {"env":{"A":"b"},"permissions":{"allow":["Write"],"ask":["Bash","Read",` + strings.TrimPrefix(tools, `"Bash",`) + `]},"sandbox":{"autoAllowBashIfSandboxed":false,"enabled":true}}`
	for name, c := range map[string]struct {
		spec  ralph.AgentSpec
		in    ralph.TurnInput
		alone bool
		want  string
		env   string
	}{
		"plain":          {want: plain + rules, env: "1"},
		"nobody answers": {alone: true, want: begin + " --setting-sources user --permission-mode acceptEdits", env: "1"},
		"all": {
			spec: ralph.AgentSpec{Model: "opus", Args: []string{"--max-turns", "5"}},
			in:   ralph.TurnInput{Resume: "abc", Schema: []byte(`{}`), MaxCost: 0.25, MCP: []string{"/bin/ralph", "mcp"}},
			want: plain + ` --mcp-config {"mcpServers":{"ralph":{"alwaysLoad":true,"args":["mcp"],"command":"/bin/ralph"}}}` + rules +
				" --model opus --resume abc --max-budget-usd 0.25 --json-schema {} --max-turns 5", env: "1",
		},
		"args win": {
			spec: ralph.AgentSpec{Model: "opus", Args: []string{"--permission-mode=plan", "--setting-sources", "project", "--model", "haiku", "--max-budget-usd=9"}},
			in:   ralph.TurnInput{MaxCost: 0.25},
			want: begin + rules + " --permission-mode=plan --setting-sources project --model haiku --max-budget-usd=9", env: "1",
		},
		"skip permissions": {
			spec: ralph.AgentSpec{Args: []string{"--dangerously-skip-permissions"}},
			want: begin + " --setting-sources user" + rules + " --dangerously-skip-permissions", env: "1",
		},
		"the repository's settings": {
			spec: ralph.AgentSpec{Project: true}, env: "1",
			want: begin + " --setting-sources user,project,local --permission-mode default" + rules,
		},
		"settings of a file":        {spec: ralph.AgentSpec{Args: []string{"--settings", file, "--debug"}}, want: plain + merged + " --debug", env: "1"},
		"settings that are no JSON": {spec: ralph.AgentSpec{Name: "claude", Args: []string{"--settings={"}}},
		"policy":                    {spec: ralph.AgentSpec{Approvals: "policy"}, want: plain + rules, env: "1"},
		"never, in a sandbox":       {spec: ralph.AgentSpec{Approvals: "never"}, in: ralph.TurnInput{Env: []string{"IS_SANDBOX=1"}}, want: plain + rules, env: "1"},
		"environment set":           {in: ralph.TurnInput{Env: []string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=0"}}, want: plain + rules, env: "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fake := filepath.Join(dir, "claude")
			script := "#!/bin/sh\nwhile read -r line; do case $line in *'\"type\":\"user\"'*) echo \"$line\" >prompt; break;; esac; done\necho \"$@\" >args\necho \"$CLAUDE_CODE_DISABLE_BACKGROUND_TASKS\" >env\n" +
				`echo '{"type":"result","subtype":"success","is_error":false,"result":"ok"}'` + "\n"
			ralphtest.Program(t, fake, script)
			c.spec.Driver, c.spec.Command = "claude", []string{fake}
			in := c.in
			in.Agent, in.Dir, in.Prompt = c.spec, dir, "-starts with a dash"
			in.Env = environ(t, in.Env...)
			on := ralph.TurnHooks{Ask: func(context.Context, ralph.Request) (ralph.Reply, error) { return ralph.Reply{}, nil }}
			if c.alone {
				on.Ask = nil
			}
			res, err := open(t, c.spec).Turn(t.Context(), in, on)
			if err == nil && c.want == "" {
				if res.Exit != ralph.ExitSpawn || !strings.Contains(res.Err.Message, "agents.claude: read --settings") {
					t.Errorf("%+v %+v", res, res.Err)
				}
				return
			}
			if err != nil || res.Exit != ralph.ExitOK || res.Usage.Known {
				t.Fatalf("%+v, %v", res, err)
			}
			for file, want := range map[string]string{"args": c.want, "env": c.env, "prompt": `{"message":{"content":[{"text":"-starts with a dash","type":"text"}],"role":"user"},"type":"user"}`} {
				if b, err := os.ReadFile(filepath.Join(dir, file)); err != nil || strings.TrimSpace(string(b)) != want {
					t.Errorf("%s: %q, want %q (%v)", file, b, want, err)
				}
			}
		})
	}
}

// Another program to ask than ralph could let pass what ralph must hold (C-036).
func TestClaudeAsksNobodyElse(t *testing.T) {
	t.Parallel()
	_, err := agent.Open(ralph.AgentSpec{Name: "mine", Driver: "claude", Args: []string{"--permission-prompt-tool", "mcp__my__tool"}}, proc.NewRunner(t.TempDir()), "")
	if err == nil || !strings.Contains(err.Error(), "agents.mine.args") {
		t.Errorf("%v", err)
	}
}
