package config

import "github.com/ralph-loop/ralph"

// Field is one setting with all that a form needs to show it.
type Field struct {
	Setting
	Doc     string         // as in the schema
	Schema  map[string]any // of the value, without its description
	Default any            // as Value
	Secret  bool           // parts of Value may be hidden
}

// Fields returns every key as Set does, with its part of the schema.
func (c Config) Fields() []Field {
	usual := make(map[string]any)
	d := Defaults()
	for i := range c.Agents {
		if name := c.Agents[i].Name; d.agentIndex(name) < 0 { // the default of what it adds is nothing
			d.Agents = append(d.Agents, ralph.AgentSpec{Name: name})
		}
	}
	for _, k := range d.keys() {
		v := k.v.Plain()
		if k.mask != nil {
			v = k.mask(v)
		}
		usual[k.path] = v
	}
	set, keys := c.Set(), c.keys()
	out := make([]Field, len(keys))
	for i, k := range keys {
		out[i] = Field{Setting: set[i], Doc: k.doc, Schema: k.v.Schema(), Default: usual[k.path], Secret: k.mask != nil}
	}
	return out
}

// Read returns the settings that Load would if the file held this text.
func Read(text []byte, env []string) (Config, error) { return load(text, fileName, env, nil) }
