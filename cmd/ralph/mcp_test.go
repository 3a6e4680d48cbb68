package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/cli"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// turnAt is a turn that keeps what it hears. A question that begins with "wait" is never
// answered.
type turnAt struct {
	heard   chan string
	waiting chan struct{}
	left    chan struct{}
}

func (f *turnAt) Ask(ctx context.Context, r ralph.Request) (ralph.Reply, error) {
	if strings.HasPrefix(r.Text, "wait") {
		close(f.waiting)
		<-ctx.Done()
		close(f.left)
		return ralph.Reply{}, ctx.Err()
	}
	if r.Text == "late" {
		return ralph.Reply{Text: "nobody answered", Stop: true}, nil
	}
	f.heard <- string(r.Kind) + " " + r.Text + " " + strings.Join(r.Options, "|")
	return ralph.Reply{Text: "blue"}, nil
}

func (f *turnAt) Signal(_ context.Context, s ralph.Signal, via string) error {
	b, err := json.Marshal(s)
	f.heard <- via + " " + string(b)
	return err
}

func (f *turnAt) Learn(_ context.Context, text string) error {
	f.heard <- "learned " + text
	return nil
}

func (*turnAt) Push(context.Context, string, []string) (agentsock.Pushed, error) {
	return agentsock.Pushed{}, errors.New("no push here")
}

func (f *turnAt) Info() agentsock.Info {
	return agentsock.Info{Task: "t-1", Name: "paint", Accept: "it is blue", Learned: "make test is slow", Iteration: 2}
}

func openTurn(t *testing.T) (*turnAt, *agentsock.Server) {
	t.Helper()
	f := &turnAt{heard: make(chan string, 1), waiting: make(chan struct{}), left: make(chan struct{})}
	line, err := agentsock.Listen(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = line.Close() })
	return f, line
}

// connect starts the program's MCP server in a turn, with the SDK's own client.
func connect(t *testing.T, line *agentsock.Server) *mcp.ClientSession {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "ralph", "mcp") // ended below, by the end of its input
	cmd.Env, cmd.Dir = append(os.Environ(), line.Env()...), t.TempDir()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, nil)
	if err != nil {
		t.Fatal(err, stderr.String())
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil || stderr.Len() > 0 {
			t.Errorf("the server's end: %v, it said %q", err, stderr.String())
		}
	})
	return s
}

// call returns the text of a tool's result, with "error: " in front of one that failed.
func call(t *testing.T, s *mcp.ClientSession, tool string, args any) string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		return "error: " + text
	}
	return text
}

// C-002, X-62, E-081: what an agent's program sees of `ralph mcp`.
func TestMCP(t *testing.T) {
	t.Parallel()
	f, line := openTurn(t)
	s := connect(t, line)
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
		if len(tool.Description) < 20 || len(tool.Description) > 200 || tool.InputSchema == nil {
			t.Errorf("%s: %q", tool.Name, tool.Description)
		}
	}
	slices.Sort(names)
	if want := "ask_human learnings progress signal task_info"; strings.Join(names, " ") != want {
		t.Errorf("the tools are %v", names)
	}
	for _, c := range []struct {
		tool        string
		args        map[string]any
		heard, says string
	}{
		{"signal", map[string]any{"kind": "COMPLETE"}, `mcp {"kind":"COMPLETE"}`, "ralph heard COMPLETE"},
		{"signal", map[string]any{"kind": "BLOCKED", "text": "no key"}, `mcp {"kind":"BLOCKED","text":"no key"}`, "End your turn"},
		{"signal", map[string]any{"kind": "BLOCKED"}, "", "error: BLOCKED needs the reason"},
		{"progress", map[string]any{"percent": 40, "text": "half"}, `mcp {"kind":"PROGRESS","text":"half","percent":40}`, "Go on"},
		{"progress", map[string]any{"percent": 140}, "", "error: PROGRESS needs a percentage from 0 to 100"},
		{"ask_human", map[string]any{"question": "Which?", "options": []string{"red", "blue"}}, "question Which? red|blue", "blue"},
		{"ask_human", map[string]any{"question": "late"}, "", "error: no answer, and the turn is being ended: nobody answered"},
		{"ask_human", map[string]any{"question": " "}, "", "error: there is no question"},
		{"learnings", map[string]any{"text": "use\nmake"}, "learned use make", "Kept"},
		{"learnings", nil, "", "make test is slow"},
		{"task_info", nil, "", `"accept":"it is blue"`},
	} {
		got := call(t, s, c.tool, c.args)
		if !strings.Contains(got, c.says) {
			t.Errorf("%s %v: %q, want %q", c.tool, c.args, got, c.says)
		}
		if c.heard != "" && len(f.heard) == 0 {
			t.Errorf("%s %v: the turn heard nothing", c.tool, c.args)
		} else if c.heard != "" {
			if heard := <-f.heard; heard != c.heard {
				t.Errorf("%s %v: the turn heard %q", c.tool, c.args, heard)
			}
		}
	}
	// What is no signal does not even reach the turn.
	for _, bad := range []map[string]any{{"kind": "DONE"}, {}, {"kind": "COMPLETE", "sure": true}} {
		if got := call(t, s, "signal", bad); !strings.HasPrefix(got, "error: ") || len(f.heard) > 0 {
			t.Errorf("signal %v: %q", bad, got)
		}
	}
}

// A question that is taken back is waited for by nobody, and the server goes on (E-081).
func TestMCPCancel(t *testing.T) {
	t.Parallel()
	f, line := openTurn(t)
	s := connect(t, line)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-f.waiting; cancel() }()
	if r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "ask_human", Arguments: map[string]any{"question": "wait"}}); err == nil {
		t.Errorf("an answer: %+v", r)
	}
	<-f.left
	if got := call(t, s, "task_info", nil); !strings.Contains(got, "paint") {
		t.Errorf("after it: %q", got)
	}
}

// A client that is gone is waited for by nobody either: the server ends, and its question
// with it (E-081). The SDK's client waits for its calls, so this one writes by itself.
func TestMCPLeave(t *testing.T) {
	t.Parallel()
	f, line := openTurn(t)
	cmd := exec.CommandContext(t.Context(), "ralph", "mcp")
	cmd.Env, cmd.Dir = append(os.Environ(), line.Env()...), t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_human","arguments":{"question":"wait"}}}`,
	} {
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-f.waiting
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	<-f.left
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// the command says what a tag says; outside of a turn, with the nonce of another
// and after the turn nobody is heard.
func TestSignalCommand(t *testing.T) {
	t.Parallel()
	f, line := openTurn(t)
	run := func(environ []string, args ...string) (int, string) {
		var out bytes.Buffer
		return cli.Main(t.Context(), workspace.Env{
			Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: t.TempDir(), Environ: environ, Self: "ralph",
		}), out.String()
	}
	for _, c := range []struct {
		args        string
		heard, says string
	}{
		{"signal COMPLETE", `command {"kind":"COMPLETE"}`, "ralph heard COMPLETE\n"},
		{"signal blocked no key", `command {"kind":"BLOCKED","text":"no key"}`, "ralph heard BLOCKED\n"},
		{"signal NEEDS_HUMAN which?", `command {"kind":"NEEDS_HUMAN","text":"which?"}`, "ralph heard NEEDS_HUMAN\n"},
		{"signal PROGRESS 40% half of it", `command {"kind":"PROGRESS","text":"half of it","percent":40}`, "ralph heard PROGRESS\n"},
		{"signal", "", "say which signal"},
		{"signal DONE", "", `there is no signal "DONE"`},
		{"signal COMPLETE but one", "", "takes no words"},
		{"signal NEEDS_HUMAN", "", "needs the question"},
		{"signal PROGRESS", "", "needs a percentage"},
		{"signal PROGRESS half", "", `not "half"`},
		{"signal PROGRESS 101", "", "from 0 to 100"},
	} {
		code, out := run(line.Env(), strings.Fields(c.args)...)
		if !strings.Contains(out, c.says) || (code == 0) != (c.heard != "") || code != 0 && code != 2 {
			t.Errorf("%s: exit %d, %q", c.args, code, out)
		}
		if c.heard != "" {
			if heard := <-f.heard; heard != c.heard {
				t.Errorf("%s: the turn heard %q", c.args, heard)
			}
		}
	}
	for _, args := range [][]string{{"signal", "COMPLETE"}, {"mcp"}} {
		for want, environ := range map[string][]string{
			"ralph: this is not inside a turn of ralph":       nil,
			"this nonce is not of the turn that is under way": {line.Env()[0], agentsock.EnvNonce + "=guess"},
		} {
			if code, out := run(environ, args...); code != 2 || !strings.Contains(out, want) {
				t.Errorf("%v: exit %d, %q, want %q", args, code, out, want)
			}
		}
	}
	if err := line.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"signal", "COMPLETE"}, {"mcp"}} {
		if code, out := run(line.Env(), args...); code != 2 || !strings.Contains(out, "it has ended") || len(f.heard) > 0 {
			t.Errorf("%v after the turn: exit %d, %q", args, code, out)
		}
	}
}
