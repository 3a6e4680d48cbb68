// Package agentsock owns the line between a turn and the processes that its agent starts:
// a socket that nobody else has during the turn, over which `ralph signal`, `ralph mcp` and the
// command shims ask, signal and learn. It does not own what is answered, which is the
// turn's, nor what those programs say to people. Without a turn, or with another turn's
// nonce, nobody is heard: a line ends with its turn.
package agentsock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fastpath"
)

// Turn is what a line asks of its turn. All may be called several times at once.
type Turn interface {
	// Ask blocks until there is an answer. ctx ends when nobody waits for it any more.
	Ask(ctx context.Context, r ralph.Request) (ralph.Reply, error)
	Signal(ctx context.Context, s ralph.Signal, via string) error
	// Learn keeps a line for the tasks that come after (ralph/progress.md).
	Learn(ctx context.Context, text string) error
	Info() Info
	// Push does what a call of git asks for, once it is allowed: the processes of a turn have
	// no credentials for that. argv begins with git; dir is where it was called.
	Push(ctx context.Context, dir string, argv []string) (Pushed, error)
}

// Judge is a Turn that has a word on the calls of programs too: folder is the one of the turn's
// socket. It returns the program that the call runs, "" where the shim has to see for itself.
type Judge interface {
	Passes(folder string, c Call) (program string)
}

// Call is one call of a program, with those variables of its environment that the word on it
// depends on.
type Call struct {
	Argv []string
	Dir  string
	Env  []string
}

// Pushed is what became of a push.
type Pushed struct {
	Code int    `json:"code"`
	Said string `json:"said,omitempty"`
}

// Info is what an agent may know of its task.
type Info struct {
	Task      ralph.TaskID   `json:"task,omitempty"`
	Name      string         `json:"name,omitempty"`
	Notes     string         `json:"notes,omitempty"`
	Accept    string         `json:"accept,omitempty"`
	Spec      string         `json:"spec,omitempty"`
	Stage     ralph.TaskKind `json:"stage,omitempty"`
	Iteration int            `json:"iteration,omitempty"`
	Learned   string         `json:"learned,omitempty"` // what tasks before have noted
}

// The environment of an agent's processes by which they find their turn.
const (
	EnvSocket = "RALPH_SOCKET"
	EnvNonce  = fastpath.EnvNonce
)

// ErrNoTurn is that the process belongs to no turn of ralph.
var ErrNoTurn = errors.New("this is not inside a turn of ralph")

// message is a request over the line, one per connection.
type message struct {
	Nonce  string         `json:"nonce"`
	Op     string         `json:"op"` // ask, signal, learn, info, push, call
	Ask    *ralph.Request `json:"ask,omitempty"`
	Signal *ralph.Signal  `json:"signal,omitempty"`
	Via    string         `json:"via,omitempty"`
	Text   string         `json:"text,omitempty"`
	Dir    string         `json:"dir,omitempty"`
	Argv   []string       `json:"argv,omitempty"`
	Env    []string       `json:"env,omitempty"`
}

// answer is the response.
type answer struct {
	Run   string       `json:"run,omitempty"` // first: see fastpath.Yes
	Reply *ralph.Reply `json:"reply,omitempty"`
	Info  *Info        `json:"info,omitempty"`
	Push  *Pushed      `json:"push,omitempty"`
	Error string       `json:"error,omitempty"`
}

// maxMessage bounds what is read of a message.
const maxMessage = 1 << 20

// carry does what a message asks; folder is the one of the socket.
func carry(ctx context.Context, t Turn, folder string, m message) (answer, error) {
	switch {
	case m.Op == "ask" && m.Ask != nil:
		r, err := t.Ask(ctx, *m.Ask)
		return answer{Reply: &r}, err
	case m.Op == "signal" && m.Signal != nil:
		s, err := wellSaid(*m.Signal)
		if err == nil {
			err = t.Signal(ctx, s, m.Via)
		}
		return answer{}, err
	case m.Op == "learn" && strings.TrimSpace(m.Text) != "":
		return answer{}, t.Learn(ctx, m.Text)
	case m.Op == "push" && len(m.Argv) > 1 && m.Dir != "":
		p, err := t.Push(ctx, m.Dir, m.Argv)
		return answer{Push: &p}, err
	case m.Op == fastpath.Op && len(m.Argv) > 0 && m.Dir != "":
		j, ok := t.(Judge)
		if !ok {
			return answer{}, errors.New("this turn has no word on calls")
		}
		return answer{Run: j.Passes(folder, Call{m.Argv, m.Dir, m.Env})}, nil
	case m.Op == "info":
		info := t.Info()
		return answer{Info: &info}, nil
	}
	return answer{}, fmt.Errorf("nothing is known of %q, or it is empty", m.Op)
}

func decode(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("the message cannot be read: %w", err)
	}
	return m, nil
}
