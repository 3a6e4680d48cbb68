package config

import (
	"bytes"
	"strings"

	"github.com/ralph-loop/ralph/internal/config/setting"
	"go.yaml.in/yaml/v3"
)

// Setting is one key with its value and where the value comes from.
type Setting struct {
	Key   string         `json:"key"`
	Value any            `json:"value"` // as in the file: durations and sizes are texts; secrets are hidden
	From  setting.Source `json:"from"`
}

// Text returns the value in YAML, on one line.
func (s Setting) Text() string { return yamlText(s.Value) }

// Set returns every key with its value and source, in the order of the file.
func (c Config) Set() []Setting {
	keys := c.keys()
	out := make([]Setting, len(keys))
	for i, k := range keys {
		v := k.v.Plain()
		if k.mask != nil {
			v = k.mask(v)
		}
		out[i] = Setting{Key: k.path, Value: v, From: c.Where(k.path)}
	}
	return out
}

// Where returns where the value of a key comes from. `ralph autopilot` asks it
// whether parallel was set at all.
func (c Config) Where(key string) setting.Source {
	if src, ok := c.from[key]; ok {
		return src
	}
	return setting.Source{Kind: setting.FromDefault}
}

// yamlText encodes a plain value so that it may stand anywhere in a YAML file,
// inside brackets too, on one line.
func yamlText(v any) string {
	var item yaml.Node
	if err := item.Encode(v); err != nil {
		return setting.Quote(err.Error()) // plain values always encode
	}
	flow(&item)
	list := yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, Content: []*yaml.Node{&item}}
	out, err := yaml.Marshal(&list)
	if err != nil {
		return setting.Quote(err.Error())
	}
	out = bytes.TrimSpace(out)
	return strings.TrimSpace(string(out[1 : len(out)-1]))
}

// flow writes collections in brackets and texts of several lines in quotes.
func flow(n *yaml.Node) {
	switch n.Kind {
	case yaml.ScalarNode:
		if strings.ContainsAny(n.Value, "\n\r") {
			n.Style = yaml.DoubleQuotedStyle
		} else {
			n.Style &^= yaml.LiteralStyle | yaml.FoldedStyle
		}
	default:
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		flow(c)
	}
}
