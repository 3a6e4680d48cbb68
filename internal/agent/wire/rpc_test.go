package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// wire gathers what an rpc sends, line by line.
type pipe struct{ lines chan string }

func (w pipe) Write(p []byte) (int, error) {
	w.lines <- strings.TrimSuffix(string(p), "\n")
	return len(p), nil
}

func (w pipe) Close() error {
	close(w.lines)
	return nil
}

func newWire(t *testing.T, heard func(RPCMessage)) (*RPC, pipe) {
	t.Helper()
	r, w := NewRPC(heard), pipe{make(chan string, 1000)}
	var pump sync.WaitGroup
	pump.Go(func() { r.Pump(w) })
	t.Cleanup(func() {
		r.Finish()
		pump.Wait()
	})
	return r, w
}

// E-025 to E-028: messages are told apart by their method, though the server's ids are
// the same as ours; every request gets one answer at the most, under its own id.
func TestRPCTellsApart(t *testing.T) {
	t.Parallel()
	var heard []string
	r, w := newWire(t, func(m RPCMessage) { heard = append(heard, fmt.Sprintf("%s %s %s", m.ID, m.Method, m.Params)) })
	got := make(chan string, 1)
	r.Send("ours", map[string]string{"a": "<b>"}, func(a RPCAnswer) { got <- fmt.Sprintf("%s %v", a.Result, a.Err) })
	if line := <-w.lines; line != `{"id":1,"method":"ours","params":{"a":"<b>"}}` {
		t.Errorf("sent %s", line)
	}
	lines := `{"method":"ask","id":1,"params":{"x":1}}` + "\n\nnot json\n[1]\n" + `{"id":7,"result":{}}` + "\n" +
		`{"params":{},"id":"s-1","method":"ask"}` + "\n" + `{"method":"note","params":[]}` + "\n" + `{"error":{"code":-1,"message":"no"},"id":1}` + "\n"
	for i := range lines { // whatever chunks it comes in
		_, _ = r.Write([]byte(lines[i : i+1]))
	}
	if want := `1 "ask" {"x":1}|"s-1" "ask" {}| "note" []`; strings.Join(heard, "|") != want {
		t.Errorf("heard %q", heard)
	}
	if a := <-got; a != " no" {
		t.Errorf("answer %q", a)
	}
	r.Answer(`"s-1"`, map[string]int{"y": 2}, nil)
	r.Answer(`"s-1"`, map[string]int{"y": 3}, nil) // once is enough
	r.Resolved("1")
	r.Answer("1", nil, &RPCError{Code: 1, Message: "too late"})
	r.Answer("99", nil, &RPCError{Code: 1, Message: "never asked"})
	r.Finish()
	var sent []string
	for line := range w.lines {
		sent = append(sent, line)
	}
	if len(sent) != 1 || sent[0] != `{"id":"s-1","result":{"y":2}}` {
		t.Errorf("sent %q", sent)
	}
}

// Calls under way fail clearly when it is over, each once, and so do later ones.
func TestRPCFails(t *testing.T) {
	t.Parallel()
	r, w := newWire(t, func(RPCMessage) {})
	gone := errors.New("codex app-server was ended by SIGKILL")
	begun := make(chan error, 1)
	go func() {
		_, err := r.Call(t.Context(), "one", nil)
		begun <- err
	}()
	<-w.lines
	r.Fail(gone)
	r.Fail(errors.New("again"))
	if err := <-begun; !errors.Is(err, gone) {
		t.Error(err)
	}
	if _, err := r.Call(t.Context(), "two", nil); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// A server that does not read blocks nobody who sends, nor what is heard.
func TestRPCNeverBlocks(t *testing.T) {
	t.Parallel()
	n := 0
	r := NewRPC(func(RPCMessage) { n++ })
	in, out := io.Pipe()
	pumped := make(chan struct{})
	go func() {
		r.Pump(out)
		close(pumped)
	}()
	for range 1000 {
		r.Send("m", strings.Repeat("x", 1000), func(RPCAnswer) {})
		_, _ = r.Write([]byte(`{"method":"n"}` + "\n"))
	}
	if n != 1000 {
		t.Errorf("heard %d", n)
	}
	_ = in.Close() // the process is gone
	r.Fail(errors.New("gone"))
	<-pumped
}

// Whatever comes, each line is a message or nothing, and many goroutines may send.
func FuzzRPC(f *testing.F) {
	for _, seed := range []string{`{"id":1,"result":{}}`, `{"method":"m","id":{}}`, `{"method":3}`, `{"id":1e9,"error":null}`, "{\n}", `{"method":"m","id":"\ud800"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var r *RPC
		asked := 0
		r = NewRPC(func(m RPCMessage) {
			_ = Text(m.Method)
			if m.ID != nil {
				asked++
				r.Answer(string(m.ID), nil, &RPCError{Code: ErrNoMethod, Message: "no"})
				r.Answer(string(m.ID), nil, &RPCError{Code: ErrNoMethod, Message: "no"})
			}
		})
		r.Send("m", nil, func(RPCAnswer) {})
		r.queue = nil
		_, _ = r.Write(append(bytes.Clone(in), '\n'))
		if len(r.queue) > asked {
			t.Fatalf("%d answers to %d requests", len(r.queue), asked)
		}
		for _, line := range r.queue {
			if !json.Valid(line) {
				t.Fatalf("sent %q", line)
			}
		}
	})
}
