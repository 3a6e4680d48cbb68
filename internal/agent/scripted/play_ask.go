package scripted

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/ralph-loop/ralph"
)

// parseEvent reads an event of the normalised stream, as it stands in the contract.
func parseEvent(v *yaml.Node) (func(*player) error, error) {
	var raw any
	if err := v.Decode(&raw); err != nil {
		return nil, err
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	var e ralph.StreamEvent
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, err
	}
	if e.Kind == "" {
		return nil, errors.New("an event needs its kind")
	}
	return func(p *player) error { return p.tell("ralph-event", e) }, nil
}

// question is the action `ask`: a request, and what follows from the answer.
type question struct {
	request     ralph.Request
	words       func(*player) (string, error) // of the command or question
	within      time.Duration                 // after that it is taken back; 0: never
	allow, deny []action
	answers     []answerCase
}

type answerCase struct {
	pattern string
	do      []action
}

func parseAsk(v *yaml.Node) (func(*player) error, error) {
	q := &question{request: ralph.Request{Kind: ralph.RequestApproval}}
	err := eachPair(v, q.parse)
	if err == nil && q.request.Op == "" && q.request.Kind == ralph.RequestApproval {
		err = errors.New("want one of command, edit, read, tool, permissions, question")
	}
	return func(p *player) error { return p.ask(q) }, err
}

func (q *question) parse(key string, v *yaml.Node) (err error) {
	r := &q.request
	list := func(into *[]string) error {
		if v.Kind == yaml.ScalarNode {
			*into = []string{v.Value}
			return nil
		}
		return v.Decode(into)
	}
	switch key {
	case "command":
		r.Op = ralph.OpCommand
		q.words, err = textOf(v)
	case "question":
		r.Kind = ralph.RequestQuestion
		q.words, err = textOf(v)
	case "edit":
		r.Op = ralph.OpEdit
		err = list(&r.Paths)
	case "read":
		r.Op = ralph.OpRead
		err = list(&r.Paths)
	case "tool":
		r.Op, r.Tool = ralph.OpTool, v.Value
	case "permissions":
		r.Op, r.Text = ralph.OpPermissions, v.Value
	case "text":
		r.Text = v.Value
	case "detail":
		r.Detail = v.Value
	case "dir":
		r.Dir = v.Value
	case "options":
		err = list(&r.Options)
	case "within":
		q.within, err = time.ParseDuration(v.Value)
	case "allow":
		q.allow, err = parseActions(v)
	case "deny":
		q.deny, err = parseActions(v)
	case "answers":
		err = eachPair(v, func(pattern string, v *yaml.Node) error {
			do, err := parseActions(v)
			q.answers = append(q.answers, answerCase{pattern, do})
			return err
		})
	default:
		err = unknown(v, key, "command", "edit", "read", "tool", "permissions", "question", "text", "detail", "dir", "options", "within", "allow", "deny", "answers")
	}
	return err
}

// parseActions reads a list of actions, as that of a rule.
func parseActions(v *yaml.Node) (list []action, err error) {
	err = eachItem(v, func(n *yaml.Node) error {
		return eachPair(n, func(key string, v *yaml.Node) error {
			a, err := parseAction(key, v)
			list = append(list, a)
			return err
		})
	})
	return list, err
}

// ask asks, waits for the answer and goes on with what follows from it.
func (p *player) ask(q *question) error {
	r := q.request
	if q.words != nil {
		text, err := q.words(p)
		if err != nil {
			return err
		}
		if r.Kind == ralph.RequestQuestion {
			r.Text = text
		} else {
			r.Command = text
		}
	}
	reply, err := p.reply(r, q.within)
	if err != nil {
		return err
	}
	p.values.Answer = reply.Text
	next := q.deny
	if reply.Allow {
		next = q.allow
	}
	for _, c := range q.answers {
		if r.Kind == ralph.RequestQuestion && glob(c.pattern, reply.Text) {
			next = c.do
			break
		}
	}
	for _, a := range next {
		if err := errors.Join(p.ctx.Err(), a.do(p)); err != nil {
			return err
		}
	}
	return nil
}

// reply sends a request and reads the answer. One that is not there within the time is
// a denial in the agent's own name.
func (p *player) reply(r ralph.Request, within time.Duration) (replyLine, error) {
	dir := envMap(p.env)[envAskDir]
	if dir == "" {
		return replyLine{}, errors.New("there is nobody to ask")
	}
	p.asked++
	name := askPipe(dir, p.asked)
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		return replyLine{}, fmt.Errorf("make the pipe for the answer: %w", err)
	}
	pipe, err := os.OpenFile(name, os.O_RDWR|syscall.O_NONBLOCK, 0) // of both ends: else to open it waits for the other one
	if err != nil {
		return replyLine{}, fmt.Errorf("open the pipe for the answer: %w", err)
	}
	defer pipe.Close()
	if within > 0 {
		if err := pipe.SetReadDeadline(time.Now().Add(within)); err != nil {
			return replyLine{}, err
		}
	}
	defer closeWith(p, pipe)()
	if err := p.tell("ralph-ask", askLine{N: p.asked, Request: r}); err != nil {
		return replyLine{}, err
	}
	line, err := bufio.NewReader(pipe).ReadBytes('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return replyLine{Text: "no answer in time"}, p.tell("ralph-ask-over", askLine{N: p.asked})
	}
	if err != nil {
		return replyLine{}, fmt.Errorf("read the answer: %w", err)
	}
	var reply replyLine
	return reply, json.Unmarshal(line, &reply)
}

// closeWith ends reading when the play is ended.
func closeWith(p *player, pipe *os.File) func() {
	over := make(chan struct{})
	go func() {
		select {
		case <-p.ctx.Done():
			_ = pipe.SetReadDeadline(time.Unix(1, 0))
		case <-over:
		}
	}()
	return func() { close(over) }
}
