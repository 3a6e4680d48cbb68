package operation

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// state is what the shell knows by now, as far as the command says so itself.
type state struct {
	// vars are the values that a variable may have by now; one that is not there has a value
	// that nobody knows.
	vars   map[string][]word
	lists  map[string][]word  // arrays
	dirs   []string           // where the shell may be; hole: who knows
	files  map[string]*source // what the command itself has written, by path
	links  map[string]string  // symbolic links that it has made
	mounts map[string]string  // folders of a container that are this machine's
	alias  map[string]string
	params []word // $1 and so on
	called bool   // params are known
	zero   []word // $0, where it is known
	in     *source
	away   bool // on another machine, or in a container: no folder there is the work tree
	prod   bool // the command has gone to a place of production
	strict bool // set -e: what comes after a command knows that it did not fail
	freed  bool // the environment is not what ralph has made it: its git hooks and settings are gone
	homed  bool // HOME has another value
}

type function struct {
	body  *syntax.Stmt
	depth int
}

func newState(dir string) *state {
	return &state{
		vars: map[string][]word{}, lists: map[string][]word{}, dirs: []string{dir}, files: map[string]*source{},
		links: map[string]string{}, mounts: map[string]string{}, alias: map[string]string{},
	}
}

func (s *state) clone() *state {
	c := *s
	c.vars, c.lists, c.links, c.mounts, c.alias = maps.Clone(s.vars), maps.Clone(s.lists), maps.Clone(s.links), maps.Clone(s.mounts), maps.Clone(s.alias)
	c.dirs = slices.Clone(s.dirs)
	return &c // files stay the same: what a subshell writes is there
}

const maxValues = 6 // of one variable, and folders to be in

// join makes of s what is true whether or not o has happened.
func (s *state) join(o *state) {
	for _, name := range slices.Sorted(maps.Keys(o.vars)) {
		values := o.vars[name]
		mine, ok := s.vars[name]
		if !ok {
			mine = []word{{text: hole}}
		}
		s.vars[name] = union(mine, values)
	}
	for _, name := range slices.Sorted(maps.Keys(o.lists)) {
		list := o.lists[name]
		s.lists[name] = append(slices.Clone(s.lists[name]), list...)
		if len(s.lists[name]) > maxWords {
			s.lists[name] = []word{hidden()}
		}
	}
	for _, dir := range o.dirs {
		s.in1(dir)
	}
	maps.Copy(s.links, o.links)
	maps.Copy(s.alias, o.alias)
	s.prod, s.homed = s.prod || o.prod, s.homed || o.homed
}

func (s *state) in1(dir string) {
	if !slices.Contains(s.dirs, dir) && len(s.dirs) < 4*maxValues {
		s.dirs = append(s.dirs, dir)
	}
}

func union(a, b []word) []word {
	out := slices.Clone(a)
	for _, w := range b {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if len(out) > maxValues {
		return []word{{text: hole}}
	}
	return out
}

// aside runs f in a state of its own, as a subshell does.
func (k *analysis) aside(f func()) {
	old := k.s
	k.s = old.clone()
	f()
	k.s = old
}

// maybe runs f, which may happen or not.
func (k *analysis) maybe(f func()) {
	old := k.s
	k.s = old.clone()
	f()
	after := k.s
	k.s = old
	k.s.join(after)
}

// set gives a variable a value.
func (k *analysis) set(name string, value word) {
	delete(k.s.lists, name)
	k.s.vars[name] = []word{value}
	if name == "HOME" {
		k.s.homed = true
	}
}

// full is a path of the command from the root, as far as that can be said.
func (k *analysis) full(w word) string {
	text := w.text
	if strings.HasPrefix(text, home) {
		return home + path.Clean("/"+text[len(home):])
	}
	if !strings.HasPrefix(text, "/") {
		text = k.s.dirs[len(k.s.dirs)-1] + "/" + text
	}
	return path.Clean(text)
}

// written returns what the command itself has put into a file, which may be meant by a pattern.
func (k *analysis) written(w word) (*source, bool) {
	if len(k.s.files) == 0 {
		return nil, false
	}
	full := k.full(w)
	if src, ok := k.s.files[full]; ok {
		return src, true
	}
	name := path.Base(full)
	for _, file := range slices.Sorted(maps.Keys(k.s.files)) {
		last := path.Base(file)
		if last == name || w.globs() && matches(name, last) || strings.Contains(name, hole) && name != hole && fits(name, last) {
			return k.s.files[file], true
		}
	}
	return nil, false
}

// fits reports whether text with holes may be a name.
func fits(text, name string) bool {
	first, rest, _ := strings.Cut(text, hole)
	at := strings.LastIndex(rest, hole)
	return strings.HasPrefix(name, first) && strings.HasSuffix(name, rest[at+1:])
}

// write notes what the command puts into a file, and judges it where something runs it by
// itself later.
func (k *analysis) write(file word, src *source, appends bool, ws []word) {
	if src == nil {
		src = &source{}
	}
	full := k.full(file)
	if full == "/dev/null" || strings.HasPrefix(full, "/dev/std") || strings.HasPrefix(full, "/dev/fd") || len(k.s.files) > maxWords {
		return
	}
	if old, ok := k.s.files[full]; ok && appends {
		src = &source{text: old.text + "\n" + src.text, known: old.known && src.known}
	}
	k.s.files[full] = src
	k.loaded(full, src, ws)
}
