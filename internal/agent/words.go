package agent

import (
	"bytes"
	"cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
)

// LastWords is what an agent said last, on one line, read from the end of its output
// as it was kept: for people who look on. What tools returned is left out. begun says
// that the output begins with the first byte; otherwise its first line is cut and is
// not read. "" when that end of the output has no words.
func LastWords(spec ralph.AgentSpec, output []byte, begun bool) string {
	if !begun {
		_, output, _ = bytes.Cut(output, []byte("\n"))
	}
	words := ""
	l := Listen(spec, func(w ralph.Words) {
		switch w.Kind {
		case ralph.WordsMessage, ralph.WordsTool, ralph.WordsError, ralph.WordsOutput:
			words = cmp.Or(wire.LastLine(w.Text), words)
		}
	})
	if l == nil {
		return wire.LastLine(wire.Valid(output))
	}
	l.Write(output)
	l.Close()
	return words
}

// Listener reads the words of an agent from its output as it is kept, while that grows.
type Listener struct {
	line func([]byte)
	end  func()
	rest []byte // of a line that is still being written
}

// Listen returns one that tells hear of what the agent says and does; nil for an agent without
// a protocol, whose output is its words.
func Listen(spec ralph.AgentSpec, hear func(ralph.Words)) *Listener {
	e, _ := entryOf(spec.Driver)
	if e.read == nil {
		return nil
	}
	line, end := e.read(spec, wire.NewTurn(ralph.TurnInput{}, ralph.TurnHooks{Event: ralph.HearWords(hear)}))
	if line == nil {
		return nil
	}
	return &Listener{line: line, end: end}
}

// Write takes in what came since. A line that is still being written says nothing yet.
func (l *Listener) Write(output []byte) {
	output = append(l.rest, output...)
	for {
		i := bytes.IndexByte(output, '\n')
		if i < 0 {
			l.rest = bytes.Clone(output)
			return
		}
		if line := bytes.TrimSpace(output[:i]); len(line) > 0 {
			l.line(line)
		}
		output = output[i+1:]
	}
}

// Close says that nothing more comes.
func (l *Listener) Close() { l.end() }
