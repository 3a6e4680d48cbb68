package agentsock

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/ralph-loop/ralph"
)

// Client is the end of a process that its agent started.
type Client struct{ socket, nonce string }

// Find returns the client of the turn that environ (K=V) names, or ErrNoTurn.
func Find(environ []string) (*Client, error) {
	c := &Client{}
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, EnvSocket+"="); ok {
			c.socket = v
		}
		if v, ok := strings.CutPrefix(kv, EnvNonce+"="); ok {
			c.nonce = v
		}
	}
	if c.socket == "" || c.nonce == "" {
		return nil, ErrNoTurn
	}
	return c, nil
}

// Ask asks and waits for the answer, until ctx ends. An error is no answer: whoever
// asked must take it for a no.
func (c *Client) Ask(ctx context.Context, r ralph.Request) (ralph.Reply, error) {
	a, err := c.say(ctx, message{Op: "ask", Ask: &r})
	if err != nil {
		return ralph.Reply{}, err
	}
	if a.Reply == nil {
		return ralph.Reply{}, errors.New("the turn's answer says neither yes nor no")
	}
	return *a.Reply, nil
}

// Signal says how the task stands; via is command or mcp.
func (c *Client) Signal(ctx context.Context, s ralph.Signal, via string) error {
	_, err := c.say(ctx, message{Op: "signal", Signal: &s, Via: via})
	return err
}

// Learn keeps a line for the tasks that come after.
func (c *Client) Learn(ctx context.Context, text string) error {
	_, err := c.say(ctx, message{Op: "learn", Text: text})
	return err
}

// Info returns what the turn is about.
func (c *Client) Info(ctx context.Context) (Info, error) {
	a, err := c.say(ctx, message{Op: "info"})
	if err != nil || a.Info == nil {
		return Info{}, err
	}
	return *a.Info, nil
}

// Push has the turn push, and waits for that.
func (c *Client) Push(ctx context.Context, dir string, argv []string) (Pushed, error) {
	a, err := c.say(ctx, message{Op: "push", Dir: dir, Argv: argv})
	switch {
	case err != nil:
		return Pushed{}, err
	case a.Push == nil:
		return Pushed{}, errors.New("the turn's answer does not say what became of the push")
	}
	return *a.Push, nil
}

func (c *Client) say(ctx context.Context, m message) (answer, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.socket)
	if err != nil {
		return answer{}, fmt.Errorf("reach the turn: %w; it has ended, or ralph has", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	m.Nonce = c.nonce
	b, err := json.Marshal(m)
	if err != nil {
		return answer{}, err
	}
	if len(b) >= maxMessage {
		return answer{}, errors.New("too long: a message has at most 1 MiB")
	}
	if _, err := conn.Write(append(b, '\n')); err != nil {
		return answer{}, fmt.Errorf("reach the turn: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(conn, maxMessage)).ReadBytes('\n')
	switch {
	case ctx.Err() != nil:
		return answer{}, context.Cause(ctx)
	case err != nil:
		return answer{}, errors.New("the turn ended without an answer")
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return answer{}, fmt.Errorf("the turn's answer cannot be read: %w", err)
	}
	if a.Error != "" {
		return answer{}, errors.New(a.Error)
	}
	return a, nil
}
