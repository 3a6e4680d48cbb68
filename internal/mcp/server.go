// Package mcp owns ralph's MCP server: the tools that an agent of a turn calls to signal,
// to ask a person and to learn of its task, over stdin and stdout. It does not own what
// they do, which is the turn's at the other end of internal/agentsock, nor the protocol,
// which is the SDK's.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/text"
)

// Turn is the agent's turn, as agentsock.Client reaches it.
type Turn interface {
	Ask(ctx context.Context, r ralph.Request) (ralph.Reply, error)
	Signal(ctx context.Context, s ralph.Signal, via string) error
	Learn(ctx context.Context, text string) error
	Info(ctx context.Context) (agentsock.Info, error)
}

// stillHere is how often a caller that wants to hear of progress is told that a person
// is still waited for: clients give up on a tool that is silent for a minute or so.
const stillHere = 15 * time.Second

// maxLine is the longest message that is read, in bytes: what the turn takes, and room
// for its escapes.
const maxLine = 8 << 20

// Serve speaks MCP until in ends or ctx does. A call that is cancelled takes back what
// it asked. It returns nil when the client has left.
func Serve(ctx context.Context, t Turn, version string, in io.Reader, out io.Writer) error {
	gone, leave := context.WithCancel(ctx)
	defer leave()
	s, err := newServer(server{t: t, gone: gone}, version)
	if err != nil {
		return err
	}
	err = s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(&listened{in, leave}), Writer: openEnded{out}, MaxLineLength: maxLine})
	switch {
	case err == nil, errors.Is(err, io.EOF), ctx.Err() != nil:
		return nil
	}
	return fmt.Errorf("speak MCP: %w", err)
}

// listened is the client's end; leave is called when it is over. The SDK itself lets open
// calls come to their end before it looks.
type listened struct {
	io.Reader
	leave func()
}

func (l *listened) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err != nil {
		l.leave()
	}
	return n, err
}

// openEnded is a writer that is not this package's to close.
type openEnded struct{ io.Writer }

func (openEnded) Close() error { return nil }

type (
	signalIn struct {
		Kind string `json:"kind" jsonschema:"COMPLETE: all is done and you saw the checks pass. BLOCKED: it cannot be done as things are. NEEDS_HUMAN: only a person can decide, after this turn."`
		Text string `json:"text,omitempty" jsonschema:"BLOCKED: why. NEEDS_HUMAN: the question. Leave out with COMPLETE."`
	}
	progressIn struct {
		Percent int    `json:"percent" jsonschema:"0 to 100"`
		Text    string `json:"text,omitempty" jsonschema:"what is done, in a few words"`
	}
	askIn struct {
		Question string   `json:"question" jsonschema:"the question, with what a person needs to know to answer it"`
		Options  []string `json:"options,omitempty" jsonschema:"answers to choose from; the person may use other words"`
	}
	learnIn struct {
		Text string `json:"text,omitempty" jsonschema:"one line to keep: a command, a trap, a convention; leave out to read what is kept"`
	}
	nothingIn struct{}
)

// server are the tools of one turn.
type server struct {
	t    Turn
	gone context.Context // ends when the client has left
}

func newServer(x server, version string) (*sdk.Server, error) {
	s := sdk.NewServer(&sdk.Implementation{Name: "ralph", Title: "ralph: the task you work on", Version: version}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{},
		Instructions: "You work on one task of ralph. End it with `signal`; ask a person with `ask_human` only what you cannot find out.",
	})
	kinds, err := jsonschema.For[signalIn](nil)
	if err != nil {
		return nil, fmt.Errorf("describe the tool signal: %w", err)
	}
	kinds.Properties["kind"].Enum = []any{string(ralph.SignalComplete), string(ralph.SignalBlocked), string(ralph.SignalHuman)}
	closed := false
	looks := &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed}
	says := &sdk.ToolAnnotations{DestructiveHint: &closed, OpenWorldHint: &closed}
	sdk.AddTool(s, &sdk.Tool{
		Name: "signal", InputSchema: kinds, Annotations: says,
		Description: "Say how your task ends: COMPLETE, BLOCKED or NEEDS_HUMAN. Call it last, then end your turn. The newest signal counts.",
	}, x.signal)
	sdk.AddTool(s, &sdk.Tool{
		Name: "progress", Annotations: says, Description: "Report how far your task is. It ends nothing: go on with the work.",
	}, x.progress)
	sdk.AddTool(s, &sdk.Tool{
		Name: "ask_human", Annotations: says,
		Description: "Ask a person and wait for the answer, which may take hours. Your time limit stands still meanwhile.",
	}, x.ask)
	sdk.AddTool(s, &sdk.Tool{
		Name: "learnings", Annotations: says, Description: "With text: keep one line for the tasks after yours. Without: read what was kept so far.",
	}, x.learnings)
	sdk.AddTool(s, &sdk.Tool{
		Name: "task_info", Annotations: looks, Description: "Your task: id, name, notes, when it counts as done, spec, stage, iteration.",
	}, x.info)
	return s, nil
}

func (x server) signal(ctx context.Context, _ *sdk.CallToolRequest, in signalIn) (*sdk.CallToolResult, any, error) {
	if err := x.t.Signal(ctx, ralph.Signal{Kind: ralph.SignalKind(in.Kind), Text: in.Text}, "mcp"); err != nil {
		return nil, nil, err
	}
	return words("ralph heard " + in.Kind + ". End your turn now."), nil, nil
}

func (x server) progress(ctx context.Context, _ *sdk.CallToolRequest, in progressIn) (*sdk.CallToolResult, any, error) {
	if err := x.t.Signal(ctx, ralph.Signal{Kind: ralph.SignalProgress, Percent: in.Percent, Text: in.Text}, "mcp"); err != nil {
		return nil, nil, err
	}
	return words("Noted. Go on."), nil, nil
}

// ask blocks until a person, or the end of the time for it, has answered. ctx ends with
// the client's cancel, and then the gate is taken back.
func (x server) ask(ctx context.Context, r *sdk.CallToolRequest, in askIn) (*sdk.CallToolResult, any, error) {
	if strings.TrimSpace(in.Question) == "" {
		return nil, nil, errors.New("there is no question")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.gone, cancel)()
	defer tellAlive(ctx, r)()
	reply, err := x.t.Ask(ctx, ralph.Request{Kind: ralph.RequestQuestion, Tool: "ask_human", Text: in.Question, Options: in.Options})
	switch {
	case err != nil:
		return nil, nil, err
	case reply.Stop:
		return nil, nil, errors.New("no answer, and the turn is being ended: " + reply.Text)
	case strings.TrimSpace(reply.Text) == "":
		return nil, nil, errors.New("there was no answer")
	}
	return words(reply.Text), nil, nil
}

// tellAlive sends progress to a client that asked for it, until what it returns is called.
func tellAlive(ctx context.Context, r *sdk.CallToolRequest) func() {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(stillHere)
		defer tick.Stop()
		for n := 1.0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				p := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: "a person has not answered yet"}
				if r.Session.NotifyProgress(ctx, p) != nil {
					return // the client is gone: the call ends as well
				}
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (x server) learnings(ctx context.Context, _ *sdk.CallToolRequest, in learnIn) (*sdk.CallToolResult, any, error) {
	if s := text.OneLine(in.Text); s != "" {
		if err := x.t.Learn(ctx, s); err != nil {
			return nil, nil, err
		}
		return words("Kept."), nil, nil
	}
	info, err := x.t.Info(ctx)
	switch {
	case err != nil:
		return nil, nil, err
	case strings.TrimSpace(info.Learned) == "":
		return words("Nothing is kept yet."), nil, nil
	}
	return words(info.Learned), nil, nil
}

func (x server) info(ctx context.Context, _ *sdk.CallToolRequest, _ nothingIn) (*sdk.CallToolResult, agentsock.Info, error) {
	info, err := x.t.Info(ctx)
	info.Learned = "" // a tool of its own tells
	return nil, info, err
}

func words(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
