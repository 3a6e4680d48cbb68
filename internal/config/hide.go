package config

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

var secretVar = lazyregexp.New(`(?i)key|token|secret|passw|credential|auth`)

// Hide returns the text of a file without its secrets: what `config show` hides is `***`
// there. It refuses a text in which it cannot find them for sure.
func Hide(text []byte) ([]byte, error) {
	found, err := secretsIn(text)
	if err != nil {
		return nil, err
	}
	e := editor{src: text}
	for i := len(found) - 1; i >= 0; i-- { // from the end, so that places stay true
		s := found[i]
		if s.node.Value != s.masked {
			e.src = e.splice(s.from, s.to, "'"+s.masked+"'")
		}
	}
	return e.src, nil
}

// Unhide returns a text that began as what Hide made of a file, with the file's secrets
// where they are still hidden.
func Unhide(text, file []byte) ([]byte, error) {
	found, err := secretsIn(text)
	if err != nil {
		return nil, err
	}
	original, err := secretsIn(file)
	if err != nil {
		return nil, err
	}
	e := editor{src: text}
	var problems []setting.Problem
	for i := len(found) - 1; i >= 0; i-- {
		s := found[i]
		if s.node.Value != s.masked {
			continue
		}
		was := s.in(original)
		if was == nil {
			problems = append(problems, setting.Problem{Source: setting.Source{Kind: setting.FromFile, File: fileName, Line: s.node.Line}, Key: s.key, What: notThere})
			continue
		}
		raw := string(file[was.from:was.to])
		if was.flow != s.flow {
			raw = yamlText(was.node.Value)
		}
		e.src = e.splice(s.from, s.to, raw)
	}
	if len(problems) > 0 {
		return nil, &setting.Error{Problems: problems}
	}
	return e.src, nil
}

const notThere = "has a hidden value (" + hidden + ") that the file does not have; write it out"

// Unmask puts the values that c has in the place of those that Set hides, in what a
// person made of a setting that has secrets: a list or a map of texts.
func (c Config) Unmask(key string, plain any) error {
	wrong := func() error {
		return &setting.Error{Problems: []setting.Problem{{Source: setting.Source{Kind: setting.FromFlag}, Key: key, What: notThere}}}
	}
	for _, k := range c.keys() {
		if k.path != key || k.mask == nil {
			continue
		}
		switch now := k.v.Plain().(type) {
		case map[string]string:
			m, _ := plain.(map[string]string)
			for name, v := range m {
				if v != hidden {
					continue
				}
				was, ok := now[name]
				if !ok {
					return wrong()
				}
				m[name] = was
			}
		case []string:
			items, _ := plain.([]string)
			masked, _ := k.mask(append([]string{}, now...)).([]string)
			taken := make([]bool, len(now))
			for i, item := range items {
				if !strings.HasSuffix(item, hidden) {
					continue
				}
				at := -1
				for j := range masked {
					if !taken[j] && masked[j] == item {
						at = j
						break
					}
				}
				if at < 0 {
					return wrong()
				}
				taken[at], items[i] = true, now[at]
			}
		}
	}
	return nil
}

// secret is a value that must not be shown, where it stands in a text.
type secret struct {
	key, name string
	nth       int // of those in the same list that look the same when hidden
	node      *yaml.Node
	masked    string
	from, to  int
	flow      bool
}

// in finds the same secret in another text.
func (s secret) in(others []secret) *secret {
	for i, o := range others {
		if o.key == s.key && o.name == s.name && o.nth == s.nth {
			return &others[i]
		}
	}
	return nil
}

// secretsIn finds the secrets of a text, in order.
func secretsIn(text []byte) ([]secret, error) {
	root, wrong := setting.Parse(text, setting.Source{Kind: setting.FromFile, File: fileName})
	if wrong != nil {
		return nil, &setting.Error{Problems: []setting.Problem{*wrong}}
	}
	if root == nil {
		return nil, nil
	}
	if aliases := setting.Structure(root, "", setting.Source{Kind: setting.FromFile, File: fileName}); len(aliases) > 0 {
		return nil, &setting.Error{Problems: aliases}
	}
	e := editor{src: text}
	var out []secret
	var err error
	seen := map[string]int{}
	add := func(s secret) {
		s.from = e.offset(s.node.Line, s.node.Column)
		if s.to = e.scalarEnd(s.node, s.from); s.node.Kind != yaml.ScalarNode || s.to < 0 {
			err = fmt.Errorf("line %d: %s holds a value that cannot be hidden, so the file is not shown; write it on one line", s.node.Line, setting.Quote(s.key))
		}
		out = append(out, s)
	}
	_, agents := find(root, "agents")
	_, notify := find(root, "notify")
	for name, a := range below(agents) {
		for k, v := range below(a) {
			if k.Value != "env" {
				continue
			}
			for variable, value := range below(v) {
				if secretVar.MatchString(variable.Value) && !setting.IsNull(value) {
					add(secret{key: "agents." + name.Value + ".env", name: variable.Value, node: value, masked: hidden, flow: v.Style&yaml.FlowStyle != 0})
				}
			}
		}
	}
	for k, v := range below(notify) {
		if k.Value != "webhooks" || v.Kind != yaml.SequenceNode {
			continue
		}
		for _, item := range v.Content {
			scheme, _, found := strings.Cut(item.Value, ":")
			if !found {
				scheme = "unknown" // it is no address: nothing of it is known to be harmless
			}
			s := secret{key: "notify.webhooks", name: scheme, node: item, masked: scheme + "://" + hidden, flow: v.Style&yaml.FlowStyle != 0}
			as := fmt.Sprint(s.name, item.Value == s.masked)
			s.nth = seen[as] // the hidden ones of an edited text are counted alone: others may be new
			seen[as]++
			add(s)
		}
	}
	return inOrder(out), err
}

// inOrder sorts secrets by their place: sections may stand in any order.
func inOrder(found []secret) []secret {
	slices.SortFunc(found, func(a, b secret) int { return a.from - b.from })
	return found
}

// below yields what a section holds, nothing for what is none.
func below(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	if n == nil || n.Kind != yaml.MappingNode {
		return func(func(k, v *yaml.Node) bool) {}
	}
	return setting.Pairs(n)
}

// hidden stands for what must not be shown.
const hidden = "***"

// maskEnv hides the values of variables whose names speak of secrets.
func maskEnv(plain any) any {
	m, ok := plain.(map[string]string)
	if !ok {
		return plain
	}
	for name := range m {
		if secretVar.MatchString(name) {
			m[name] = hidden
		}
	}
	return m
}

// maskWebhooks leaves of an address only its kind: the rest is often a token.
func maskWebhooks(plain any) any {
	urls, ok := plain.([]string)
	if !ok {
		return plain
	}
	for i, s := range urls {
		scheme, _, _ := strings.Cut(s, ":")
		urls[i] = scheme + "://" + hidden
	}
	return urls
}
