package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/model"
)

// The loop is told `begin` and then answers, a line each; it prints lines. Its output is the
// normalised stream itself, so that nothing has to be translated.

// begin is the first line that the loop is told.
type begin struct {
	Model   model.Spec      `json:"model"`
	Key     string          `json:"key,omitempty"`
	Prompt  string          `json:"prompt"`
	History []model.Message `json:"history,omitempty"` // of the session that goes on
	Session string          `json:"session"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Compact bool            `json:"compact,omitempty"` // make the history shorter, and no more
}

// answer is what the loop is told to a line that waits for one.
type answer struct {
	ID    string `json:"id"`
	Allow bool   `json:"allow,omitempty"`
	Text  string `json:"text,omitempty"`
}

// line is one line of the loop's. One of its members is there.
type line struct {
	Event    *ralph.StreamEvent `json:"event,omitempty"` // a request waits for an answer by its id
	Record   []model.Message    `json:"record,omitempty"`
	Anew     bool               `json:"anew,omitempty"`     // with Record: it stands for all before
	Answer   json.RawMessage    `json:"answer,omitempty"`   // by the schema
	Stopping *stopping          `json:"stopping,omitempty"` // waits for an answer: what to go on with
}

// stopping is the model's last word before its turn ends.
type stopping struct {
	ID    string `json:"id"`
	Words string `json:"words"`
}

// talk is the loop's end of the two streams.
type talk struct {
	in  chan []byte // closed when ralph has closed its end
	mu  sync.Mutex
	out io.Writer
}

// errClosed is what the loop ends with when ralph has gone.
var errClosed = errors.New("ralph has closed the line")

// maxLine is the longest line that the loop takes: a session that goes on is one.
const maxLine = 64 << 20

// newTalk reads what the loop is told as it comes; gone is called when no more can come.
func newTalk(in io.Reader, out io.Writer, gone func(error)) *talk {
	t := &talk{in: make(chan []byte, 16), out: out}
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	go func() {
		defer close(t.in)
		for s.Scan() {
			t.in <- bytes.Clone(s.Bytes())
		}
		gone(errors.Join(errClosed, s.Err()))
	}()
	return t
}

func (t *talk) print(l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err = t.out.Write(append(b, '\n'))
	return err
}

// hear waits for the next line that the loop is told.
func (t *talk) hear(ctx context.Context, into any) error {
	select {
	case b, open := <-t.in:
		if !open {
			return errClosed
		}
		return json.Unmarshal(b, into)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
