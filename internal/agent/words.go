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
	t := wire.NewTurn(ralph.TurnInput{}, ralph.TurnHooks{Event: ralph.HearWords(func(w ralph.Words) {
		switch w.Kind {
		case ralph.WordsMessage, ralph.WordsTool, ralph.WordsError, ralph.WordsOutput:
			words = cmp.Or(wire.LastLine(w.Text), words)
		}
	})})
	e, _ := entryOf(spec.Driver)
	line, end := func([]byte) {}, func() {}
	if e.read != nil {
		line, end = e.read(spec, t)
	}
	if e.read == nil || line == nil {
		return wire.LastLine(wire.Valid(output))
	}
	for l := range bytes.Lines(output) {
		if bytes.HasSuffix(l, []byte("\n")) && len(bytes.TrimSpace(l)) > 0 { // a line that is still being written says nothing yet
			line(bytes.TrimSpace(l))
		}
	}
	end()
	return words
}
