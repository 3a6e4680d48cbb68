package codex

import (
	"encoding/json"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
)

// words is what a line of the app-server says to people, "" for nothing.
func words(line []byte) string {
	var method, params []byte
	wire.EachMember(line, func(key, value []byte) {
		switch string(key) {
		case "method":
			method = value
		case "params":
			params = value
		}
	})
	p := readParams(params)
	c := readCodexItem(p.item)
	i := c.item(wire.Text(c.kind))
	switch wire.Text(method) {
	case "item/started":
		if i.Kind == ralph.ItemCommand || i.Kind == ralph.ItemTool || i.Kind == ralph.ItemEdit {
			return i.Line()
		}
	case "item/completed":
		if i.Kind == ralph.ItemMessage {
			return i.Text
		}
	case "error":
		var e turnError
		if json.Unmarshal(p.err, &e) == nil {
			return e.Message
		}
	}
	return ""
}

// ReadLines reads the words of the app-server's output.
func ReadLines(_ ralph.AgentSpec, t *wire.Turn) (line func([]byte), end func()) {
	return func(b []byte) {
		if words := words(b); words != "" {
			t.Emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: ralph.Item{Kind: ralph.ItemMessage, Text: words}})
		}
	}, func() {}
}
