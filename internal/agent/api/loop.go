package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/model"
	"github.com/ralph-loop/ralph/internal/proc"
)

// maxSteps is how often the model is asked in one turn: whoever goes round in circles ends.
const maxSteps = 200

// loop is the agent itself, in a process of its own: it asks the model, runs what that calls,
// and tells it what came of it, until it calls nothing more.
type loop struct {
	*talk
	begin
	client  model.Client
	proc    *proc.Runner
	env     []string
	dir     string
	history []model.Message
	usage   model.Usage
	used    int64 // tokens of the context, as of the last answer
	said    int   // items and requests so far, for their ids
}

// Run is the agent: what `ralph api-agent` does. It returns the exit code: 1 for a turn that
// failed, which its last lines say, 143 when ctx ends.
func Run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, env []string, dir string) int {
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	l := &loop{talk: newTalk(stdin, stdout, gone), proc: proc.NewRunner(""), env: env, dir: dir}
	err := l.hear(context.Background(), &l.begin)
	if err != nil {
		fmt.Fprintln(stderr, "ralph api-agent is what the api driver runs; it is told what to do on its standard input:", err)
		return 2
	}
	l.history = l.History
	l.client, err = model.Open(l.Model, model.Environment{Getenv: func(string) string { return l.Key }, Tried: l.tried})
	if err == nil {
		err = l.turn(ctx)
	}
	if ctx.Err() != nil {
		return 143
	}
	code := 0
	if err != nil {
		code = 1
		l.event(ralph.StreamEvent{Kind: ralph.StreamError, Err: agentError(err)})
	}
	l.event(ralph.StreamEvent{Kind: ralph.StreamTurnDone})
	return code
}

// turn is one turn, from the prompt to the last word.
func (l *loop) turn(ctx context.Context) error {
	l.event(ralph.StreamEvent{Kind: ralph.StreamSession, Thread: l.Session})
	l.event(ralph.StreamEvent{Kind: ralph.StreamTurn, Thread: l.Session})
	if l.Compact {
		return l.compact(ctx)
	}
	l.add(model.Message{Role: model.User, Text: l.Prompt})
	for range maxSteps {
		r, err := l.step(ctx)
		if err != nil {
			return err
		}
		for _, c := range r.Calls {
			if err := l.call(ctx, c); err != nil {
				return err
			}
		}
		switch {
		case r.Stop == model.Refusal:
			return failed(ralph.ErrClassRefusal, orElse(r.Text, "the model refused"))
		case len(r.Calls) > 0:
			continue
		case r.Stop == model.Length:
			l.add(model.Message{Role: model.User, Text: "Your answer was cut at its limit of tokens. Go on where it ended."})
			continue
		}
		more, err := l.goOn(ctx, r.Text)
		if err != nil {
			return err
		}
		if more == "" {
			return l.structured(ctx, r.Text)
		}
		l.add(model.Message{Role: model.User, Text: more})
	}
	return failed(ralph.ErrClassBudget, fmt.Sprintf("the model was asked %d times in one turn and came to no end", maxSteps))
}

// step asks the model once. A history that does not fit is made shorter first.
func (l *loop) step(ctx context.Context) (model.Response, error) {
	if l.full() {
		if err := l.compact(ctx); err != nil {
			return model.Response{}, err
		}
	}
	r, err := l.client.Complete(ctx, l.request())
	if e, ours := errors.AsType[*model.Error](err); ours && e.Kind == model.TooLong && len(l.history) > 1 {
		if err := l.compact(ctx); err != nil {
			return r, err
		}
		r, err = l.client.Complete(ctx, l.request())
	}
	if err != nil {
		return r, err
	}
	for i := range r.Calls { // some servers count from one each time, or give none
		r.Calls[i].ID = "call_" + strconv.Itoa(len(l.history)) + "_" + strconv.Itoa(i)
	}
	l.count(r)
	l.says(r)
	l.add(r.Message())
	return r, nil
}

func (l *loop) request() model.Request {
	return model.Request{System: system(l.dir), Messages: l.history, Tools: []model.Tool{shellTool()}}
}

// goOn asks whether the turn may end; what is returned is what the model is told if not.
func (l *loop) goOn(ctx context.Context, words string) (string, error) {
	id := l.id("stop")
	if err := l.print(line{Stopping: &stopping{ID: id, Words: words}}); err != nil {
		return "", err
	}
	a, err := l.answer(ctx, id)
	return a.Text, err
}

// structured has the model give its answer by the schema, unless its last words are one: not
// every server takes tools and a schema at once.
func (l *loop) structured(ctx context.Context, words string) error {
	if len(l.Schema) == 0 {
		return nil
	}
	if value, err := unfenced(words); err == nil && looksLike(value, l.Schema) {
		return l.print(line{Answer: value})
	}
	ask := "Now give your answer as JSON by the schema, and nothing else."
	for try := 1; ; try++ {
		l.add(model.Message{Role: model.User, Text: ask})
		r := l.request()
		r.Tools, r.Schema = nil, &model.Schema{Name: "answer", JSON: l.Schema}
		res, err := l.client.Complete(ctx, r)
		if err != nil {
			return err
		}
		l.count(res)
		l.add(res.Message())
		value, err := unfenced(res.Text)
		if err == nil {
			return l.print(line{Answer: value})
		}
		if try == 2 {
			return failed(ralph.ErrClassOutput, "the model's answer is no JSON: "+err.Error())
		}
		ask = "That is no JSON: " + err.Error() + ". " + ask
	}
}

// add makes messages a part of the conversation, and of its record.
func (l *loop) add(list ...model.Message) {
	l.history = append(l.history, list...)
	_ = l.print(line{Record: list}) // ralph has gone: what is told next meets that too
}

// answer waits for the answer to a line.
func (l *loop) answer(ctx context.Context, id string) (answer, error) {
	for {
		var a answer
		if err := l.hear(ctx, &a); err != nil {
			return a, err
		}
		if a.ID == id {
			return a, nil
		}
	}
}

func (l *loop) event(e ralph.StreamEvent) {
	_ = l.print(line{Event: &e}) // as above
}

func (l *loop) id(kind string) string {
	l.said++
	return kind + "-" + strconv.Itoa(l.said)
}

// tried tells of an error after which the model is asked again.
func (l *loop) tried(err *model.Error, _ int, _ time.Duration) {
	l.event(ralph.StreamEvent{Kind: ralph.StreamError, Err: agentError(err), WillRetry: true})
}

func unfenced(s string) (json.RawMessage, error) {
	b := []byte(withoutFence(s))
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	return b, nil
}

// looksLike reports whether a value has what a schema wants at the least. Whether it is valid
// ralph sees to.
func looksLike(value, schema json.RawMessage) bool {
	var s struct{ Required []string }
	var v map[string]any
	if json.Unmarshal(schema, &s) != nil || json.Unmarshal(value, &v) != nil {
		return false
	}
	for _, name := range s.Required {
		if _, there := v[name]; !there {
			return false
		}
	}
	return true
}
