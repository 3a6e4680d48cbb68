package api

import (
	"context"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/model"
)

const (
	// usualWindow is how many tokens a model holds of which settings say nothing.
	usualWindow = 128_000
	// fullAt is the part of the window, in percent, at which the history is made shorter: a
	// step adds what a command printed.
	fullAt = 80
)

func (l *loop) window() int64 {
	if l.Model.Context > 0 {
		return int64(l.Model.Context)
	}
	return usualWindow
}

func (l *loop) full() bool { return l.used*100 >= l.window()*fullAt }

// count adds up what an answer cost, and how full the window is.
func (l *loop) count(r model.Response) {
	l.usage = l.usage.Add(r.Usage)
	if n := r.Usage.Input + r.Usage.Output; n > 0 {
		l.used = n
	}
	u := l.usage
	l.event(ralph.StreamEvent{
		Kind: ralph.StreamUsage, Thread: l.Session,
		Usage:   ralph.Usage{Input: max(0, u.Input-u.Cached-u.Written), Output: u.Output, CacheRead: u.Cached, CacheWrite: u.Written},
		Context: ralph.ContextUse{Used: l.used, Window: l.window()},
	})
}

const summaryAsk = `Your context is nearly full: what was said until now will be forgotten. Write down, for
yourself, all that is needed to go on: the task in full as it was put to you, with each of its rules and how its end
is to be signalled; what is done; what is decided, and why; which files matter; what failed; what comes next.
Write only that.`

// compact has the model sum the conversation up, and goes on with the summary in its place.
func (l *loop) compact(ctx context.Context) error {
	if len(l.history) == 0 {
		return failed(ralph.ErrClassRequest, "there is no conversation that could be made shorter")
	}
	r := l.request()
	r.Tools = nil
	r.Messages = append(shortened(l.history, int(l.window())), model.Message{Role: model.User, Text: summaryAsk})
	res, err := l.client.Complete(ctx, r)
	if err != nil {
		return err
	}
	l.count(res)
	l.history = []model.Message{{Role: model.User, Text: "You have worked on this before. Your notes:\n\n" + res.Text + "\n\nGo on."}}
	l.used = res.Usage.Output
	if err := l.print(line{Record: l.history, Anew: true}); err != nil {
		return err
	}
	if !l.Compact { // else ralph asked for it, and knows
		l.event(ralph.StreamEvent{Kind: ralph.StreamCompacted, Thread: l.Session})
	}
	return nil
}

// shortened is a history that surely fits the window: of long outputs in its older half only
// the beginning. A byte is at least a quarter of a token.
func shortened(list []model.Message, window int) []model.Message {
	out := make([]model.Message, len(list))
	copy(out, list)
	size := 0
	for _, m := range out {
		size += len(m.Text)
	}
	for i := range out {
		if size <= 2*window {
			break
		}
		if out[i].Role == model.Result && len(out[i].Text) > 500 {
			size -= len(out[i].Text) - 500
			out[i].Text = cut(out[i].Text, 500)
		}
	}
	return out
}
