package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/mcp"
)

// told is a turn that holds what it is told against what the tools promise.
type told struct{ t *testing.T }

func (x *told) Ask(_ context.Context, r ralph.Request) (ralph.Reply, error) {
	if r.Kind != ralph.RequestQuestion {
		x.t.Errorf("a tool asks for %+v", r)
	}
	return ralph.Reply{Text: "no"}, nil
}

func (x *told) Signal(_ context.Context, s ralph.Signal, _ string) error {
	if !slices.Contains([]ralph.SignalKind{ralph.SignalComplete, ralph.SignalBlocked, ralph.SignalHuman, ralph.SignalProgress}, s.Kind) {
		x.t.Errorf("signal %+v", s)
	}
	return nil
}

func (*told) Learn(context.Context, string) error { return nil }

func (*told) Info(context.Context) (agentsock.Info, error) { return agentsock.Info{Task: "t-1"}, nil }

// FuzzServe: whatever a client writes, the server says JSON-RPC or nothing, and ends with
// it (issue 15 point 9).
func FuzzServe(f *testing.F) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	call := func(tool, args string) string {
		return `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}` + "\n"
	}
	for _, s := range []string{
		call("signal", `{"kind":"COMPLETE"}`), call("signal", `{"kind":"ROOT"}`), call("progress", `{"percent":-1e99}`), call("ask_human", `{"question":"x","options":[1]}`),
		call("learn", `{"text":null}`), call("task", `{}`), call("", `[]`), `{"jsonrpc":"2.0","id":3,"method":"tools/list"}` + "\n", `{"id":{}}` + "\n", "[]\n", "[{}]\n", "\x00\n", "{", "null\n",
	} {
		f.Add([]byte(hello + s))
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		var out bytes.Buffer
		_ = mcp.Serve(t.Context(), &told{t}, "test", bytes.NewReader(said), &out) // garbage is an error of the client
		for line := range bytes.Lines(out.Bytes()) {
			var m struct{ JSONRPC string }
			if err := json.Unmarshal(line, &m); err != nil && line[0] != '[' || err == nil && m.JSONRPC != "2.0" {
				t.Errorf("%q answers %q", said, line)
			}
		}
	})
}
