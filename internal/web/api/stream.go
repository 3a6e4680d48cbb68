package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/status"
)

// from is the input of the stream of facts.
type from struct {
	Last  string `header:"Last-Event-ID" doc:"the id of the last event that was read: the stream goes on after it"`
	After string `query:"after" doc:"the same where no header can be set; 0 is the beginning. Without either the stream begins now"`
}

// streams adds what is answered as server-sent events.
func (x *API) streams() {
	op := x.operation(http.MethodGet, "/events", "events", "The facts, as they happen")
	op.Description = "Server-sent events: id is the seq of the fact, event its kind, data what ralph log --json prints of it."
	op.Responses["200"] = eventStream()
	huma.Register(x.doc, op, func(_ context.Context, in *from) (*huma.StreamResponse, error) {
		after, err := x.after(in)
		if err != nil {
			return nil, problemOf(err)
		}
		return &huma.StreamResponse{Body: func(c huma.Context) { x.stream(c, func(o *out) error { return x.facts(o, after) }) }}, nil
	})
	op = x.operation(http.MethodGet, "/live-state", "live-state", "The status, now and after each change (autopilotStatus)")
	op.Description = "Server-sent events: event is autopilotStatus, id the seq of the newest fact, data what the operation status answers."
	op.Responses["200"] = eventStream()
	huma.Register(x.doc, op, func(context.Context, *none) (*huma.StreamResponse, error) {
		return &huma.StreamResponse{Body: func(c huma.Context) { x.stream(c, x.states) }}, nil
	})
}

func eventStream() *huma.Response {
	return &huma.Response{
		Description: "A stream of server-sent events",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: "string"}}},
	}
}

// after is the fact behind which a stream begins. One that the journal has not reached is
// of another journal, which was here before: then all is new.
func (x *API) after(in *from) (int64, error) {
	newest := x.opt.Source.State().Seq
	word := in.Last
	if word == "" {
		word = in.After
	}
	if word == "" {
		return newest, nil
	}
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 0 {
		return 0, &ralph.Refusal{Why: fmt.Sprintf("%q is no number of a fact", word), Hint: "give the id of the last event that was read, or 0", Kind: ralph.ErrUsage}
	}
	if n > newest {
		return 0, nil
	}
	return n, nil
}

// out writes one stream.
type out struct {
	ctx  context.Context //nolint:containedctx // the request's own
	w    http.ResponseWriter
	ctl  *http.ResponseController
	beat time.Duration
	late time.Duration // for a reader to take what was written
}

// Write writes in time: a reader that is gone without a word holds nothing for long.
func (o *out) Write(p []byte) (int, error) {
	_ = o.ctl.SetWriteDeadline(time.Now().Add(o.late))
	return o.w.Write(p)
}

// stream answers with a stream until its reader goes.
func (x *API) stream(c huma.Context, run func(*out) error) {
	r, w := humago.Unwrap(c)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	o := &out{ctx: r.Context(), w: w, ctl: http.NewResponseController(w), beat: x.opt.Beat, late: x.opt.Patience}
	if _, err := o.Write([]byte("retry: 1000\n\n")); err != nil || o.ctl.Flush() != nil {
		return
	}
	if err := run(o); err != nil && o.ctx.Err() == nil {
		why, _ := json.Marshal(err.Error())
		_, _ = fmt.Fprintf(o, "event: error\ndata: %s\n\n", why)
		_ = o.ctl.Flush()
	}
}

// wait returns when there is news, writing comments meanwhile.
func (o *out) wait(moved <-chan struct{}) error {
	beat := time.NewTimer(o.beat)
	defer beat.Stop()
	for {
		select {
		case <-o.ctx.Done():
			return o.ctx.Err()
		case <-moved:
			return nil
		case <-beat.C:
			if _, err := o.Write([]byte(": still here\n\n")); err != nil {
				return err
			}
			if err := o.ctl.Flush(); err != nil {
				return err
			}
			beat.Reset(o.beat)
		}
	}
}

// facts writes every fact after seq. A reader that is far behind reads from the disk.
func (x *API) facts(o *out, after int64) error {
	x.feed.join()
	defer x.feed.leave()
	var own *sseEncoder
	for {
		items, moved, err := x.feed.since(after)
		switch {
		case errors.Is(err, errBehind):
			if own == nil {
				own = newTeller(&ralph.State{})
			}
			if after, err = x.catchUp(o, own, after); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		for _, item := range items {
			if _, err := o.Write(item.data); err != nil {
				return err
			}
			after = item.seq
		}
		if err := o.ctl.Flush(); err != nil {
			return err
		}
		own = nil
		if err := o.wait(moved); err != nil {
			return err
		}
	}
}

// catchUp writes what the journal has after a fact, and returns how far that was.
func (x *API) catchUp(o *out, own *sseEncoder, after int64) (int64, error) {
	unflushed := 0
	err := x.opt.Source.Each(own.s.Seq, func(e ralph.Event) error {
		if e.Seq <= after {
			own.pass(e)
			return o.ctx.Err()
		}
		data, err := own.tell(e)
		if err != nil {
			return err
		}
		if _, err := o.Write(data); err != nil {
			return err
		}
		after = e.Seq
		if unflushed += len(data); unflushed > 64<<10 {
			unflushed = 0
			return o.ctl.Flush()
		}
		return nil
	})
	return after, err
}

// states writes the status now, and after each change.
func (x *API) states(o *out) error {
	for {
		seq, data, err := x.stand.status(x.opt.Source)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(o, "id: %d\nevent: autopilotStatus\ndata: %s\n\n", seq, data); err != nil {
			return err
		}
		if err := o.ctl.Flush(); err != nil {
			return err
		}
		moved := make(chan struct{})
		ctx, cancel := context.WithCancel(o.ctx)
		var broken error
		go func() {
			defer close(moved)
			if broken = x.opt.Source.Wait(ctx, seq); broken == nil {
				pause(ctx, burst)
			}
		}()
		err = o.wait(moved)
		cancel()
		<-moved
		if err == nil {
			err = broken
		}
		if err != nil {
			return err
		}
	}
}

// standing is the newest status, encoded once for all who look.
type standing struct {
	mu    sync.Mutex
	state *ralph.State
	alive bool
	data  []byte
}

func (x *standing) status(src watch.Source) (int64, []byte, error) {
	s := src.State()
	engine := src.Engine(s)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.state != s || x.alive != engine.Alive {
		data, err := json.Marshal(status.All(s, engine, src.Now()))
		if err != nil {
			return 0, nil, fmt.Errorf("encode the status: %w", err)
		}
		x.state, x.alive, x.data = s, engine.Alive, data
	}
	return s.Seq, x.data, nil
}

// pause lets a moment pass.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
