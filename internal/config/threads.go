package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/config/setting"
	"go.yaml.in/yaml/v3"
)

// Thread is a thread of `ralph auto --threads FILE`.
type Thread struct {
	Name, Prompt, Agent, Isolation string
	Limits                         ThreadLimits
}

// ThreadLimits are what a thread may use; 0 is no limit. Cost is in dollars.
type ThreadLimits struct {
	Tokens int64
	Cost   float64
	Time   time.Duration
	Turns  int
}

// maxThreads bounds a file of threads.
const maxThreads = 1000

func (t *Thread) keys() []key {
	return []key{
		{path: "name", v: setting.Text(&t.Name, oneLine), doc: "what it is called; empty: the first line of the prompt"},
		{path: "prompt", v: setting.Text(&t.Prompt, nil), doc: "what its agent is to reach"},
		{path: "agent", v: setting.Text(&t.Agent, nil), doc: "one of the names under `agents`; empty: `agent.primary`, with its fallbacks"},
		{path: "isolation", v: setting.OneOf(&t.Isolation, "", "none", "worktree"), doc: "where it works; empty: one thread in your checkout, several in a worktree each"},
		{path: "limits.cost", v: setting.Dollars(&t.Limits.Cost), doc: "it stops above so many dollars; 0: no limit"},
		{path: "limits.tokens", v: setting.Tokens(&t.Limits.Tokens, setting.MaxCount), doc: "it stops above so many tokens, cache reads left out; 0: no limit"},
		{path: "limits.time", v: setting.Duration(&t.Limits.Time), doc: "it stops above so much time in turns, as 2h; 0: no limit"},
		{path: "limits.turns", v: setting.Count(&t.Limits.Turns, 0), doc: "it stops after so many turns; 0: no limit"},
	}
}

func oneLine(s string) string {
	if strings.ContainsAny(s, "\n\r") {
		return "must be one line"
	}
	return ""
}

// ThreadsExample is a file of threads.
const ThreadsExample = `threads:
  - name: Green tests
    prompt: Make the tests pass. Change no test.
    limits: {cost: 5, turns: 20}
  - prompt: |
      Write the missing docs.
      Every exported function has a comment that says why it is there.
    agent: codex
    limits: {time: 2h, tokens: 2000000}
`

// Threads reads a file of threads. The error, an *Error, names all that is wrong with its line.
func Threads(name string, data []byte) ([]Thread, error) {
	l := loader{file: name}
	list := l.threads(data)
	if len(l.problems) > 0 {
		return nil, &setting.Error{Problems: l.problems}
	}
	return list, nil
}

func (l *loader) threads(data []byte) []Thread {
	src := setting.Source{Kind: setting.FromFile, File: l.file}
	root, wrong := setting.Parse(data, src)
	if wrong != nil {
		l.problems = append(l.problems, *wrong)
		return nil
	}
	var items *yaml.Node
	if root != nil && root.Kind == yaml.MappingNode {
		l.problems = append(l.problems, setting.Structure(root, "", src)...)
		for k, v := range setting.Pairs(root) {
			if k.Value == "threads" {
				items = v
			} else {
				l.problems = append(l.problems, setting.Problem{Source: l.at(k), What: "unknown key " + setting.Quote(k.Value) + "; there is only `threads`, a list"})
			}
		}
	}
	switch {
	case len(l.problems) > 0:
		return nil
	case items == nil || items.Kind != yaml.SequenceNode || len(items.Content) == 0:
		l.problems = append(l.problems, setting.Problem{Source: src, Key: "threads", What: "must be a list with a thread at least; `ralph config schema threads --example` shows one"})
		return nil
	case len(items.Content) > maxThreads:
		l.problems = append(l.problems, setting.Problem{Source: src, Key: "threads", What: fmt.Sprintf("has %d threads, at most %d are taken", len(items.Content), maxThreads)})
		return nil
	}
	list := make([]Thread, len(items.Content))
	for i, item := range items.Content {
		l.thread(&list[i], fmt.Sprintf("threads[%d]", i), item)
		if list[i].Isolation == "none" && len(list) > 1 {
			l.problems = append(l.problems, setting.Problem{Source: l.at(item), Key: fmt.Sprintf("threads[%d].isolation", i), What: "must not be `none` beside other threads: several work in a worktree each"})
		}
	}
	return list
}

// thread reads one entry of the list.
func (l *loader) thread(t *Thread, path string, item *yaml.Node) {
	if item.Kind != yaml.MappingNode {
		l.problems = append(l.problems, setting.Problem{Source: l.at(item), Key: path, What: "must be a section with a `prompt`, not " + setting.Describe(item)})
		return
	}
	keys := t.keys()
	var walk func(prefix string, n *yaml.Node)
	walk = func(prefix string, n *yaml.Node) {
		for k, v := range setting.Pairs(n) {
			at := setting.Join(prefix, k.Value)
			i := slices.IndexFunc(keys, func(x key) bool { return x.path == at })
			switch {
			case i < 0 && at == "limits" && v.Kind == yaml.MappingNode:
				walk(at, v)
			case i < 0:
				var known []string
				for _, x := range keys {
					known = append(known, x.path)
				}
				l.problems = append(l.problems, setting.Problem{Source: l.at(k), Key: path + "." + at, What: "is no key of a thread; there are " + strings.Join(known, ", ")})
			default:
				if err := keys[i].v.SetNode(v); err != nil {
					l.problems = append(l.problems, setting.Problem{Source: l.at(v), Key: path + "." + at, What: err.Error()})
				}
			}
		}
	}
	before := len(l.problems)
	walk("", item)
	if strings.TrimSpace(t.Prompt) == "" && len(l.problems) == before {
		l.problems = append(l.problems, setting.Problem{Source: l.at(item), Key: path + ".prompt", What: "must say what the agent is to reach"})
	}
}

// ThreadsSchema is the JSON Schema of a file of threads, with an example.
func ThreadsSchema() ([]byte, error) {
	entry, list := newSection(), newSection()
	var t Thread
	for _, k := range t.keys() {
		s := k.v.Schema()
		s["description"] = k.doc
		path := strings.Split(k.path, ".")
		entry.within(path[:len(path)-1]).add(path[len(path)-1], s)
	}
	entry.o["type"], entry.o["required"] = "object", []string{"prompt"}
	list.o["type"], list.o["required"] = "object", []string{"threads"}
	list.add("threads", setting.Object{"type": "array", "minItems": 1, "maxItems": maxThreads, "items": entry.o})
	list.o["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	list.o["title"] = "Threads of ralph auto --threads"
	var example any
	if err := yaml.Unmarshal([]byte(ThreadsExample), &example); err != nil {
		return nil, fmt.Errorf("read the example of threads: %w", err)
	}
	list.o["examples"] = []any{example}
	out, err := json.MarshalIndent(list.o, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema of threads: %w", err)
	}
	return append(out, '\n'), nil
}
