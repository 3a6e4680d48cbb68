package agent

import (
	"encoding/json"

	"github.com/ralph-loop/ralph"
)

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

// readCodex reads the words of the app-server's output.
func readCodex(_ ralph.AgentSpec, t *turn) (line func([]byte), end func()) {
	return func(b []byte) {
		if words := codexWords(b); words != "" {
			t.said(ralph.Said{Kind: ralph.SaidMessage, Text: words})
		}
	}, func() {}
}
