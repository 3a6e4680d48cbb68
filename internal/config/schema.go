package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/config/setting"
)

// Schema returns the JSON Schema of the file, for editors and for `ralph config
// schema`. It is made from the table of keys, on call.
func Schema() ([]byte, error) {
	c := Defaults()
	c.Agents = c.Agents[:1] // its fields stand for those of every agent
	root, agent := newSection(), newSection()
	for _, k := range c.keys() {
		s := k.v.Schema()
		s["description"] = k.doc
		path := strings.Split(k.path, ".")
		name := path[len(path)-1]
		if path[0] == "agents" {
			agent.add(name, s) // an agent's default depends on the agent
			continue
		}
		s["default"] = k.v.Plain()
		root.within(path[:len(path)-1]).add(name, s)
	}
	agents := root.within([]string{"agents"})
	agents.o["description"] = "the agents: those built in may be changed field by field, others added"
	agents.o["patternProperties"] = setting.Object{agentName.String(): agent.o}
	root.o["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root.o["title"] = "Settings of ralph (ralph/config.yaml)"
	out, err := json.MarshalIndent(root.o, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema of the settings: %w", err)
	}
	return append(out, '\n'), nil
}

// schemaSection is the schema of a mapping with fixed keys. A section may be
// empty (null): that is one whose keys are all commented out.
type schemaSection struct {
	o        setting.Object
	fields   setting.Object
	sections map[string]schemaSection
}

func newSection() schemaSection {
	fields := setting.Object{}
	return schemaSection{
		o:        setting.Object{"type": []string{"object", "null"}, "properties": fields, "additionalProperties": false},
		fields:   fields,
		sections: make(map[string]schemaSection),
	}
}

func (s schemaSection) add(name string, field setting.Object) { s.fields[name] = field }

// within returns the section below s at the path, made when it is not there.
func (s schemaSection) within(path []string) schemaSection {
	for _, name := range path {
		below, ok := s.sections[name]
		if !ok {
			below = newSection()
			s.sections[name] = below
			s.fields[name] = below.o
		}
		s = below
	}
	return s
}
