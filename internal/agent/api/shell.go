package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	toolName = "bash"
	// maxOutput of what a command prints is told to the model: beginning and end.
	maxOutput = 24 << 10
	// usualLimit and longestLimit bound a command.
	usualLimit, longestLimit = 10 * time.Minute, time.Hour
	// grace is how long a command may take to end that is ended; less than the loop itself has.
	grace = time.Second
)

// shellTool is the one tool. Most models know one by this name.
func shellTool() model.Tool {
	return model.Tool{
		Name: toolName,
		Description: "Runs a shell command in the folder of the work and returns what it prints and its exit code. " +
			"Each command begins in that folder anew. There is no terminal: nothing can be typed in.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string","description":"shell text"},` +
			`"timeout":{"type":"integer","description":"seconds after which it is ended; 600 when left out"}},` +
			`"required":["command"]}`),
	}
}

// call carries out what the model called, and makes the result a part of the conversation.
// Only what ends the turn is an error.
func (l *loop) call(ctx context.Context, c model.Call) error {
	var args struct {
		Command string  `json:"command"`
		Timeout float64 `json:"timeout"`
	}
	result := model.Message{Role: model.Result, CallID: c.ID, Tool: c.Name, Failed: true}
	switch err := json.Unmarshal(c.Arguments, &args); {
	case c.Name != toolName:
		result.Text = fmt.Sprintf("There is no tool %s. The only one is %s.", text.Line(c.Name, 60), toolName)
	case err != nil:
		result.Text = "The arguments are no JSON object with a command: " + err.Error()
	case strings.TrimSpace(args.Command) == "":
		result.Text = "The command is empty."
	default:
		limit := usualLimit
		if args.Timeout > 0 {
			limit = time.Duration(min(args.Timeout, longestLimit.Seconds()) * float64(time.Second))
		}
		if err := l.command(ctx, args.Command, limit, &result); err != nil {
			return err
		}
	}
	l.add(result)
	return nil
}

// command asks whether a command may run, and runs it.
func (l *loop) command(ctx context.Context, command string, limit time.Duration, result *model.Message) error {
	item := ralph.Item{ID: l.id("item"), Kind: ralph.ItemCommand, Type: toolName, Text: command}
	l.event(ralph.StreamEvent{Kind: ralph.StreamItem, Thread: l.Session, Item: item})
	q := ralph.Request{
		ID: l.id("ask"), Kind: ralph.RequestApproval, Op: ralph.OpCommand, Tool: toolName, Command: command,
		Text: text.Line(command, wire.MaxSaidTool), Shown: true, // it has no rules of its own: all is shown
	}
	l.event(ralph.StreamEvent{Kind: ralph.StreamApproval, Thread: l.Session, Request: q})
	a, err := l.answer(ctx, q.ID)
	if err != nil {
		return err
	}
	if !a.Allow {
		result.Text = "This command may not run: " + orElse(a.Text, "it was denied") + "."
		item.Status = ralph.ItemDeclined
		l.event(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: l.Session, Item: item})
		return nil
	}
	out := text.NewHeadTail(maxOutput)
	res, err := l.proc.Run(ctx, proc.Command{
		Args: []string{l.shell(), "-c", command}, Dir: l.dir, Env: l.env, Stdout: out, Stderr: out, Timeout: limit, Grace: grace,
	})
	item.Output, item.Status = text.Head(shown(out), wire.MaxToolOutput), ralph.ItemCompleted
	end := fmt.Sprintf("exit code %d", res.Code)
	switch {
	case err != nil:
		end = "it could not be run: " + err.Error()
	case res.Ended == proc.EndedTimeout:
		end = fmt.Sprintf("it was ended after %s", limit)
	case res.Signal != "":
		end = "it was ended by " + res.Signal
	default:
		item.Exit, result.Failed = &res.Code, res.Code != 0
	}
	if result.Failed {
		item.Status = ralph.ItemFailed
	}
	result.Text = strings.TrimSpace(shown(out) + "\n[" + end + "]")
	l.event(ralph.StreamEvent{Kind: ralph.StreamItemDone, Thread: l.Session, Item: item})
	return ctx.Err()
}

// shell is bash where there is one: that is what models write.
func (l *loop) shell() string {
	if path, err := proc.LookPath("bash", l.dir, l.env); err == nil {
		return path
	}
	return "sh"
}

// shown is what of an output is told: its beginning and its end.
func shown(out *text.HeadTail) string {
	head, tail := out.Ends()
	if lost := out.Total() - int64(len(head)+len(tail)); lost > 0 {
		head = fmt.Appendf(head, "\n[%d bytes are left out here]\n", lost)
	}
	return wire.Valid(append(head, tail...))
}
