package agent

import (
	"bytes"

	"github.com/ralph-loop/ralph"
)

// LastWordsOf is LastWords of an agent as it is configured: what it prints may be JSON,
// of the Agent Client Protocol or by a table of rows.
func LastWordsOf(spec ralph.AgentSpec, output []byte, begun bool) string {
	words := ""
	t := newTurn(ralph.TurnInput{}, ralph.TurnHooks{Said: func(said ralph.Said) {
		switch said.Kind {
		case ralph.SaidMessage, ralph.SaidTool, ralph.SaidError, ralph.SaidOutput:
			words = orLast(lastLine(said.Text), words)
		}
	}})
	line, end := lineReader(spec, t)
	if line == nil {
		return LastWords(spec.Driver, output, begun)
	}
	if !begun {
		_, output, _ = bytes.Cut(output, []byte("\n"))
	}
	for l := range bytes.Lines(output) {
		if bytes.HasSuffix(l, []byte("\n")) && len(bytes.TrimSpace(l)) > 0 { // a line that is still being written says nothing yet
			line(bytes.TrimSpace(l))
		}
	}
	end()
	return words
}

// lineReader is what reads the lines of an agent that prints JSON, and what ends a
// message that goes on; nil for other agents.
func lineReader(spec ralph.AgentSpec, t *turn) (line func([]byte), end func()) {
	if spec.Driver == "acp" {
		l := newACPLog(t)
		l.live = true
		return func(b []byte) {
			if m, ok := readACP(b); ok && m.id == nil {
				l.update(m.params)
			}
		}, l.close
	}
	if spec.Driver != "exec" {
		return nil, nil
	}
	rows := spec.Events
	if known, ok := presetOf(spec.Output); ok && len(rows) == 0 {
		rows = known.rows
	}
	if len(rows) == 0 {
		return nil, nil
	}
	j := newJSONL(t, rows)
	return j.line, j.close
}
