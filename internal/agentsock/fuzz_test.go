package agentsock_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
)

// counted is a turn that counts what it is told.
type counted struct{ told atomic.Int64 }

func (c *counted) Ask(context.Context, ralph.Request) (ralph.Reply, error) {
	c.told.Add(1)
	return ralph.Reply{Allow: true}, nil
}

func (c *counted) Signal(context.Context, ralph.Signal, string) error { c.told.Add(1); return nil }

func (c *counted) Learn(context.Context, string) error { c.told.Add(1); return nil }

func (c *counted) Push(context.Context, string, []string) (agentsock.Pushed, error) {
	c.told.Add(1)
	return agentsock.Pushed{}, nil
}

func (c *counted) Info() agentsock.Info { c.told.Add(1); return agentsock.Info{Task: "t-1"} }

// FuzzLine: whatever a process says, it gets one line of JSON; and who does not know the
// nonce of the turn moves nothing and learns nothing (issue 15 point 9).
func FuzzLine(f *testing.F) {
	for _, s := range []string{
		`{"nonce":"NONCE","do":"info"}`, `{"nonce":"NONCE","ask":{"kind":"approval","command":"ls"}}`, `{"nonce":"x","signal":{"kind":"COMPLETE"}}`,
		`{"nonce":"NONCE","signal":{"kind":"COMPLETE"}}`, `{"nonce":"NONCE","learn":"x"}`, `{`, "", "null", `[1]`, `{"nonce":null}`, strings.Repeat("[", 20000),
	} {
		f.Add([]byte(s))
	}
	turn := &counted{}
	line, err := agentsock.Listen(context.Background(), turn)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = line.Close() })
	var path, nonce string
	for _, kv := range line.Env() {
		switch name, v, _ := strings.Cut(kv, "="); name {
		case agentsock.EnvSocket:
			path = v
		case agentsock.EnvNonce:
			nonce = v
		}
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		knows := bytes.Contains(said, []byte("NONCE"))
		said = bytes.ReplaceAll(bytes.ReplaceAll(said, []byte("\n"), []byte(" ")), []byte("NONCE"), []byte(nonce))
		before := turn.told.Load()
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write(append(said, '\n')); err != nil {
			t.Fatal(err)
		}
		answer, err := bufio.NewReader(conn).ReadBytes('\n')
		if err != nil || !json.Valid(answer) {
			t.Fatalf("%q: answer %q, %v", said, answer, err)
		}
		if !knows && (turn.told.Load() != before || !bytes.Contains(answer, []byte(`"error"`))) {
			t.Fatalf("%q without the nonce: %s", said, answer)
		}
	})
}
