package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
)

// execReplay is a recorded run of a program, read by its preset.
type execReplay struct {
	file    string
	code    int
	stderr  string
	exit    ralph.ExitKind
	class   ralph.ErrorClass
	status  int
	text    string
	usage   ralph.Usage
	session bool
	items   string // kinds and statuses of the items that were completed
}

// What real programs printed, with the exit codes they had: none of them is to be
// believed alone., E-015.
func TestExecPresets(t *testing.T) {
	t.Parallel()
	const ok, failed = ralph.ExitOK, ralph.ExitFailed
	hello, done := "Hello from the fake model.", "All done."
	for _, c := range []execReplay{
		{file: "opencode-text", exit: ok, text: hello, session: true, usage: used(1200, 34, 500, 0, 0.00426), items: "message:completed"},
		{
			file: "opencode-tools-auto", exit: ok, text: done, session: true,
			items: "message:completed tool:completed tool:completed tool:completed tool:completed tool:completed message:completed",
		},
		{file: "opencode-perm-ask-no-auto", exit: failed, class: ralph.ErrClassOutput, session: true, items: "tool:failed"},
		{file: "opencode-perm-deny-auto", exit: ok, text: done, session: true, items: "tool:failed message:completed"},
		{file: "opencode-err-401", code: 1, exit: failed, class: ralph.ErrClassAuth, status: 401, session: true},
		{file: "opencode-err-429-forever", code: 1, exit: failed, class: ralph.ErrClassLimit, status: 429, session: true},
		{file: "opencode-err-500-forever", code: 1, exit: failed, class: ralph.ErrClassServer, status: 500, session: true},
		{file: "opencode-err-length", exit: failed, class: ralph.ErrClassOutput, session: true, items: "message:completed"},
		{file: "opencode-err-overflow", code: 1, exit: failed, class: ralph.ErrClassContext, session: true},
		{file: "opencode-err-unknown-model", code: 1, exit: failed, class: ralph.ErrClassOther, session: true},
		{file: "opencode-session-unknown", code: 1, stderr: "Error: Session not found", exit: failed, class: ralph.ErrClassOther},
		{file: "gemini-text", exit: ok, text: hello, usage: used(700, 34, 500, 0, 0), items: "message:completed"},
		{file: "gemini-tools-yolo", exit: ok, text: done, items: "message:completed tool:completed tool:completed tool:completed message:completed"},
		{file: "gemini-tools-default", exit: ok, text: done, items: "message:completed tool:failed tool:failed tool:failed message:completed"},
		{file: "gemini-err-400", code: 144, exit: failed, class: ralph.ErrClassRequest, status: 400},
		{file: "gemini-err-401", code: 145, exit: failed, class: ralph.ErrClassAuth, status: 401},
		{file: "gemini-sigint", exit: failed, class: ralph.ErrClassOutput}, // it exits 0 when somebody ends it
		{file: "copilot-text", exit: ok, text: hello, session: true, items: "message:completed"},
		{file: "copilot-tools-yolo", exit: ok, text: done, session: true, items: "message:completed tool:completed tool:completed message:completed"},
		{file: "copilot-tools-deny", exit: ok, text: done, session: true, items: "message:completed tool:failed tool:completed message:completed"},
		{file: "copilot-err-401", code: 1, exit: failed, class: ralph.ErrClassAuth, status: 401, session: true},
		{file: "copilot-err-429", code: 1, exit: failed, class: ralph.ErrClassLimit, status: 429, session: true},
		{file: "copilot-err-500", code: 1, exit: failed, class: ralph.ErrClassServer, status: 500, session: true},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			replayExec(t, c)
		})
	}
}

func replayExec(t *testing.T, c execReplay) {
	file, err := filepath.Abs("testdata/exec/" + c.file + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	output, _, _ := strings.Cut(c.file, "-")
	spec := ralph.AgentSpec{Name: "fake", Driver: "exec", Command: []string{self(t)}, Output: output}
	in := input(t, spec, "FAKE_REPLAY="+file, fmt.Sprintf("FAKE_CODE=%d", c.code), "FAKE_STDERR="+c.stderr)
	var items, unknown []string
	ends := 0
	res, err := open(t, spec).Turn(t.Context(), in, ralph.TurnHooks{Event: func(e ralph.StreamEvent) {
		switch e.Kind {
		case ralph.StreamItemDone:
			items = append(items, string(e.Item.Kind)+":"+e.Item.Status)
		case ralph.StreamUnknown:
			unknown = append(unknown, e.Method)
		case ralph.StreamTurnDone:
			ends++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	class, status := ralph.ErrorClass(""), 0
	if res.Err != nil {
		class, status = res.Err.Class, res.Err.Status
	}
	if res.Exit != c.exit || class != c.class || status != c.status || ends != 1 || (res.Session != "") != c.session {
		t.Errorf("%s %q %d, session %q, ends %d; %+v", res.Exit, class, status, res.Session, ends, res.Err)
	}
	if c.text != "" && res.Text != c.text || c.usage != (ralph.Usage{}) && res.Usage != c.usage {
		t.Errorf("text %q, usage %+v", res.Text, res.Usage)
	}
	if strings.Join(items, " ") != c.items || len(unknown) > 0 {
		t.Errorf("items %q, unknown %q", items, unknown)
	}
}

// A new agent is configuration: its rows are all that ralph needs.
func TestExecTable(t *testing.T) {
	t.Parallel()
	lines := `{"type":"hi","id":"s1"}
plain words
{"type":"say","parts":[{"t":"All "},{"t":"done."}]}
{"type":"bill","in":3,"usd":0.5}
{"type":"bill","in":4,"usd":0.25}
{"type":"news","x":1}
{"type":"bye","ok":true}
`
	file := filepath.Join(t.TempDir(), "out.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := ralph.AgentSpec{Name: "mine", Driver: "exec", Command: []string{self(t)}, Output: "jsonl", Resume: []string{"--go-on={session}"}, Events: []ralph.EventRow{
		{Match: map[string]string{"type": "hi"}, Kind: "session", Read: map[string]string{"session": "id"}},
		{Match: map[string]string{"type": "say"}, Kind: "message", Read: map[string]string{"text": "parts.*.t"}},
		{Match: map[string]string{"type": "bill", "in": "*"}, Kind: "usage", Read: map[string]string{"input": "in", "cost": "usd"}},
		{Match: map[string]string{"type": "bye", "ok": "true"}, Kind: "done"},
	}}
	var unknown []string
	var said []string
	res, err := open(t, spec).Turn(t.Context(), input(t, spec, "FAKE_REPLAY="+file), ralph.TurnHooks{
		Event: func(e ralph.StreamEvent) {
			if e.Kind == ralph.StreamUnknown {
				unknown = append(unknown, e.Method+string(e.Raw))
			}
			if w, ok := e.Words(); ok {
				said = append(said, string(w.Kind)+" "+w.Text)
			}
		},
	})
	if err != nil || res.Exit != ralph.ExitOK || res.Text != "All done." || res.Session != "s1" || res.Usage != used(7, 0, 0, 0, 0.75) {
		t.Errorf("%+v %v", res, err)
	}
	if !slices.Equal(unknown, []string{`news{"type":"news","x":1}`}) || !slices.Equal(said, []string{"output plain words", "message All done."}) {
		t.Errorf("unknown %q, said %q", unknown, said)
	}
	spec.Events[3].Match["ok"] = "false"
	if res, _ = open(t, spec).Turn(t.Context(), input(t, spec, "FAKE_REPLAY="+file), ralph.TurnHooks{}); res.Exit != ralph.ExitFailed {
		t.Errorf("%s without a line that says done", res.Exit)
	}
}

// An exec agent goes on with its session only where it has a way to say so.
func TestExecResume(t *testing.T) {
	t.Parallel()
	spec := ralph.AgentSpec{Name: "mine", Driver: "exec", Command: []string{"sh", "-c", `echo "$@"`, "sh", "first"}, Resume: []string{"--session", "{session}"}}
	in := input(t, spec)
	in.Resume = "s-7"
	res, err := open(t, spec).Turn(t.Context(), in, ralph.TurnHooks{})
	if err != nil || res.Text != "first --session s-7\n" {
		t.Errorf("%q %v", res.Text, err)
	}
}

// aider exits 0 on errors of the model's service; what it got over is no failure.
func TestAiderFailure(t *testing.T) {
	t.Parallel()
	more := strings.Repeat("echo Applied edit to a.go;", 12)
	for name, c := range map[string]struct {
		script string
		class  ralph.ErrorClass
	}{
		"done":        {"echo Applied edit to main.go", ""},
		"limit":       {"echo 'litellm.RateLimitError: RateLimitError: 429'; echo 'The API provider has rate limited you.'", ralph.ErrClassLimit},
		"key":         {"echo 'litellm.AuthenticationError: no key'", ralph.ErrClassAuth},
		"full":        {"echo 'litellm.exceptions.ContextWindowExceededError: too long'", ralph.ErrClassContext},
		"down":        {"echo 'litellm.InternalServerError: 500'", ralph.ErrClassServer},
		"tried again": {"echo 'litellm.RateLimitError: 429'; echo Retrying in 0.2 seconds...;" + more, ""},
	} {
		spec := ralph.AgentSpec{Name: "aider", Driver: "exec", Command: []string{"sh", "-c", c.script}, Output: "aider"}
		res, err := open(t, spec).Turn(t.Context(), input(t, spec), ralph.TurnHooks{})
		if err != nil {
			t.Fatal(err)
		}
		class := ralph.ErrorClass("")
		if res.Err != nil {
			class = res.Err.Class
		}
		if class != c.class || (res.Exit == ralph.ExitOK) != (c.class == "") {
			t.Errorf("%s: %s %+v", name, res.Exit, res.Err)
		}
	}
}

func TestOpenOutputs(t *testing.T) {
	t.Parallel()
	for _, output := range ralph.ExecOutputs() {
		spec := ralph.AgentSpec{
			Name: "a", Driver: "exec", Command: []string{"x"}, Output: output,
			Events: []ralph.EventRow{{Match: map[string]string{"type": "x"}, Kind: "done"}},
		}
		if _, err := agent.Open(spec, proc.NewRunner(""), "ralph"); err != nil {
			t.Errorf("%s: %v", output, err)
		}
	}
	for want, spec := range map[string]ralph.AgentSpec{
		"needs rows under events":        {Name: "a", Driver: "exec", Command: []string{"x"}, Output: "jsonl"},
		`"xml" is none of text, jsonl`:   {Name: "a", Driver: "exec", Command: []string{"x"}, Output: "xml"},
		"the acp driver needs a command": {Name: "a", Driver: "acp"},
	} {
		if _, err := agent.Open(spec, proc.NewRunner(""), "ralph"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
