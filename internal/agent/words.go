package agent

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// escapes are the sequences by which programs colour text and steer terminals.
var escapes = lazyregexp.New(`\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-_])`)

// LastWords is what an agent said last, on one line, read from the end of its output
// as it was kept: for people who look on. What tools returned is left out. begun says
// that the output begins with the first byte; otherwise its first line is cut and is
// not read. "" when that end of the output has no words.
func LastWords(driver string, output []byte, begun bool) string {
	if !begun {
		_, output, _ = bytes.Cut(output, []byte("\n"))
	}
	words := ""
	if driver == "claude" {
		c := newClaude(func(e ralph.StreamEvent) {
			said, _ := saidOf(e)
			if said.Kind == ralph.SaidMessage || said.Kind == ralph.SaidTool || said.Kind == ralph.SaidError {
				words = orLast(lastLine(said.Text), words)
			}
		}, func(ralph.Said) {})
		for line := range bytes.Lines(output) {
			if bytes.HasSuffix(line, []byte("\n")) { // an event that is still being written says nothing yet
				c.line(bytes.TrimSpace(line))
			}
		}
		return words
	}
	if driver == "codex" {
		for line := range bytes.Lines(output) {
			if bytes.HasSuffix(line, []byte("\n")) {
				words = orLast(lastLine(codexWords(line)), words)
			}
		}
		return words
	}
	return lastLine(valid(output))
}

// codexWords is what a line of the app-server says to people, "" for nothing.
func codexWords(line []byte) string {
	var method, params []byte
	eachMember(line, func(key, value []byte) {
		switch string(key) {
		case "method":
			method = value
		case "params":
			params = value
		}
	})
	p := readParams(params)
	c := readCodexItem(p.item)
	i := c.item(text(c.kind))
	switch text(method) {
	case "item/started":
		if i.Kind == ralph.ItemCommand || i.Kind == ralph.ItemTool || i.Kind == ralph.ItemEdit {
			return toolLine(i)
		}
	case "item/completed":
		if i.Kind == ralph.ItemMessage {
			return i.Text
		}
	case "error":
		var e codexError
		if json.Unmarshal(p.err, &e) == nil {
			return e.Message
		}
	}
	return ""
}

// lastLine is the last line of a text with anything to read in it.
func lastLine(text string) string {
	last := ""
	for line := range strings.Lines(escapes.ReplaceAllString(text, "")) {
		if i := strings.LastIndexByte(strings.TrimRight(line, "\r\n"), '\r'); i >= 0 {
			line = line[i+1:] // a progress bar writes over itself
		}
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "```") {
			last = line
		}
	}
	return cutBack(last, maxSaidTool)
}

func orLast(s, last string) string {
	if s == "" {
		return last
	}
	return s
}
