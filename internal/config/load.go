package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// maxFile bounds the file; the longest sensible one has a few hundred lines.
const maxFile = 1 << 20

// maxProblems bounds what one error lists.
const maxProblems = 50

// Load returns the settings: the defaults, overridden by the file at path (a
// missing one changes nothing), then by the RALPH_* variables of env ("K=V"),
// then by flags (dotted key to value). The error, an *Error, names everything
// that is wrong; the Config then holds what could be read, for `ralph doctor`.
func Load(path string, env []string, flags map[string]string) (Config, error) {
	// Messages name the file as people know it, below the repository.
	name := filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)))
	data, err := readFile(path)
	if err != nil {
		src := setting.Source{Kind: setting.FromFile, File: name}
		return Defaults(), &setting.Error{Problems: []setting.Problem{{Source: src, What: err.Error()}}}
	}
	return load(data, name, env, flags)
}

// LoadOver returns the settings as Load does, with those of another file over all of them: what
// that does not name is as it is without it.
func LoadOver(path, over string, env []string) (Config, error) {
	name := filepath.ToSlash(over)
	data, err := readFile(over)
	if err == nil && data == nil {
		err = errors.New("is not there")
	}
	if err != nil {
		return Defaults(), &setting.Error{Problems: []setting.Problem{{Source: setting.Source{Kind: setting.FromFile, File: name}, What: err.Error()}}}
	}
	base, err := readFile(path)
	if err != nil {
		return Load(path, env, nil) // which says it
	}
	l := newLoader(filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))))
	l.readFile(base)
	l.readEnv(env)
	l.file = name
	l.readFile(data)
	return l.loaded()
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is no regular file; put the settings into a file there")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	if len(data) > maxFile {
		return nil, errors.New("is larger than 1 MiB; that is no settings file")
	}
	return data, nil
}

func load(data []byte, name string, env []string, flags map[string]string) (Config, error) {
	l := newLoader(name)
	l.readFile(data)
	l.readEnv(env)
	l.readFlags(flags)
	return l.loaded()
}

// newLoader begins with the defaults. file is the name of the one that is read first.
func newLoader(file string) *loader {
	l := &loader{c: Defaults(), file: file}
	l.c.from = make(map[string]setting.Source)
	l.index()
	return l
}

// loaded is what all layers come to.
func (l *loader) loaded() (Config, error) {
	l.nameAgents()
	l.validate()
	if l.dropped > 0 {
		l.problems = append(l.problems, setting.Problem{
			Source: setting.Source{Kind: setting.FromFile, File: l.file}, What: fmt.Sprintf("%d more problems", l.dropped),
		})
	}
	if len(l.problems) > 0 {
		return l.c, &setting.Error{Problems: l.problems}
	}
	return l.c, nil
}

// nameAgents calls the agents that are chosen as the list of agents does.
func (l *loader) nameAgents() {
	l.c.Agent.Primary = canonicalAgent(l.c.Agent.Primary)
	for i, a := range l.c.Agent.Fallback {
		l.c.Agent.Fallback[i] = canonicalAgent(a)
	}
}

// validate adds what only shows when all layers are read. A key whose own value
// was refused has been complained about.
func (l *loader) validate() {
	if l.newer {
		return
	}
	said := l.problems
	for _, p := range validate(l.c) {
		if !slices.ContainsFunc(said, func(q setting.Problem) bool { return q.Key == p.Key }) {
			l.complain(p)
		}
	}
}

var agentName = lazyregexp.New(`^[a-z0-9][a-z0-9_-]*$`)

// loader collects the layers into c.
type loader struct {
	c        Config
	file     string
	keys     []key
	known    map[string]setting.Value // by path
	sections map[string]bool
	problems []setting.Problem
	dropped  int
	newer    bool // the file is of another version: nothing else in it can be judged
}

// index lists the keys that there are; it has to be made anew after an agent
// was added, since the list of agents may have moved.
func (l *loader) index() {
	l.keys = l.c.keys()
	l.known = make(map[string]setting.Value, len(l.keys))
	l.sections = map[string]bool{"": true, "agents": true}
	for _, k := range l.keys {
		l.known[k.path] = k.v
		for s := setting.Parent(k.path); s != ""; s = setting.Parent(s) {
			l.sections[s] = true
		}
	}
}

func (l *loader) complain(p setting.Problem) {
	if len(l.problems) == maxProblems {
		l.dropped++
		return
	}
	if p.Unknown && p.Nearest == "" {
		if p.Within = l.within(p.Key); p.Within == "" {
			p.Nearest = l.nearest(p.Key)
		}
	}
	l.problems = append(l.problems, p)
}

func (l *loader) at(n *yaml.Node) setting.Source {
	return setting.Source{Kind: setting.FromFile, File: l.file, Line: n.Line}
}

func (l *loader) readFile(data []byte) {
	src := setting.Source{Kind: setting.FromFile, File: l.file}
	if len(data) > maxFile {
		l.complain(setting.Problem{Source: src, What: "is larger than 1 MiB; that is no settings file"})
		return
	}
	root, wrong := setting.Parse(data, src)
	switch {
	case wrong != nil:
		l.complain(*wrong)
		return
	case root == nil:
		return
	case root.Kind != yaml.MappingNode:
		l.complain(setting.Problem{Source: l.at(root), What: "must hold keys with values, such as `parallel: 2`"})
		return
	}
	for k, v := range setting.Pairs(root) {
		if k.Value == "version" && l.known["version"].SetNode(v) != nil {
			l.newer = true
			l.complain(setting.Problem{Source: l.at(v), Key: "version", What: "must be 1, not " + setting.Describe(v) + "; a newer file needs a newer ralph"})
			return
		}
	}
	for _, p := range setting.Structure(root, "", src) {
		l.complain(p)
	}
	l.addAgents(root)
	l.section("", root)
}

// addAgents makes room for the agents that the file adds, before anything is
// bound to the list. `gpt` is another name of codex.
func (l *loader) addAgents(root *yaml.Node) {
	before := len(l.c.Agents)
	for k, agents := range setting.Pairs(root) {
		if k.Value != "agents" || agents.Kind != yaml.MappingNode {
			continue
		}
		for name, v := range setting.Pairs(agents) {
			if agentName.MatchString(name.Value) {
				l.addAgent(name.Value, l.at(v))
			}
		}
	}
	if len(l.c.Agents) > before {
		l.index()
	}
}

func (l *loader) addAgent(name string, src setting.Source) {
	name = canonicalAgent(name)
	if l.c.agentIndex(name) < 0 {
		l.c.Agents = append(l.c.Agents, ralph.AgentSpec{Name: name})
		l.c.from["agents."+name] = src
	}
}

// section reads the keys of one mapping. An empty section is one whose keys are
// all commented out.
func (l *loader) section(path string, n *yaml.Node) {
	if setting.IsNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		l.complain(setting.Problem{Source: l.at(n), Key: path, What: setting.Mismatch("a section with keys below it", setting.Describe(n)).Error()})
		return
	}
	for k, v := range setting.Pairs(n) {
		at := setting.Join(path, k.Value)
		if path == "agents" {
			if !agentName.MatchString(k.Value) {
				l.complain(setting.Problem{Source: l.at(k), Key: at, What: "must be named with small letters, digits, - and _"})
				continue
			}
			name := canonicalAgent(k.Value)
			if at = setting.Join(path, name); name != k.Value && hasKey(n, name) {
				l.complain(setting.Problem{Source: l.at(k), Key: setting.Join(path, k.Value), What: "is another name of `" + name + "`, which is there as well; keep one of them"})
				continue
			}
		}
		switch {
		case l.known[at] != nil:
			l.set(at, l.at(k), l.known[at].SetNode(v))
		case l.sections[at]:
			l.section(at, v)
		default:
			l.complain(setting.Problem{Source: l.at(k), Key: at, Unknown: true})
		}
	}
}

func hasKey(n *yaml.Node, name string) bool {
	for k := range setting.Pairs(n) {
		if k.Value == name {
			return true
		}
	}
	return false
}

// set notes where a key was set, or what was wrong with it.
func (l *loader) set(path string, src setting.Source, err error) {
	if err == nil {
		l.c.from[path] = src
		return
	}
	if at, ok := errors.AsType[setting.LineError](err); ok {
		src.Line = at.Line
	}
	l.complain(setting.Problem{Source: src, Key: path, What: err.Error()})
}

// readFlags sets keys from the command line. A flag may add an agent.
func (l *loader) readFlags(flags map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		src := setting.Source{Kind: setting.FromFlag}
		at := l.resolve(path, src)
		if at == "version" {
			l.complain(setting.Problem{Source: src, Key: at, What: "is a matter of the file alone"})
			continue
		}
		if l.known[at] == nil {
			l.complain(setting.Problem{Source: src, Key: path, Unknown: true, Value: noSecret(flags[path])})
			continue
		}
		l.set(at, src, l.known[at].SetText(flags[path]))
	}
}

// noSecret is a value that may be said again, in a message: none that is as long as a
// token or a password.
func noSecret(value string) string {
	if len(value) > 8 {
		return ""
	}
	return value
}

// resolve returns the path with our name of the agent in it, and makes that
// agent when there is none yet.
func (l *loader) resolve(path string, src setting.Source) string {
	rest, ok := strings.CutPrefix(path, "agents.")
	if !ok {
		return path
	}
	name, field, ok := strings.Cut(rest, ".")
	if !ok || !agentName.MatchString(name) || l.known["agents.claude."+field] == nil {
		return path
	}
	name = canonicalAgent(name)
	if l.c.agentIndex(name) < 0 {
		l.addAgent(name, src)
		l.index()
	}
	return "agents." + name + "." + field
}
