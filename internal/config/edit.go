package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/config/setting"
	"go.yaml.in/yaml/v3"
)

// fileName is how messages call the file.
const fileName = "ralph/config.yaml"

// Change is one thing to change in the file: a key gets a value, as in a flag, or its
// line is taken out, so that its default holds.
type Change struct {
	Key, Value string
	Unset      bool
}

// Edit sets one dotted key in the text of a file, as EditAll does.
func Edit(file []byte, key, value string) ([]byte, error) {
	return EditAll(file, []Change{{Key: key, Value: value}})
}

// EditAll makes changes in the text of a file and returns the new text; the rest stays
// byte for byte, comments, order and blank lines included. (Encoding the parsed nodes
// again would keep comments, but not blank lines and columns.) The result is checked
// once, so that two values that need each other may change together: changes that would
// leave a file that Load refuses return Load's error, and one that would have to take
// comments out says so.
func EditAll(file []byte, changes []Change) ([]byte, error) {
	var problems []setting.Problem
	wants := make([]any, len(changes))
	changes = slices.Clone(changes)
	for i, ch := range changes {
		probe := loader{c: Defaults(), file: fileName}
		probe.c.from = make(map[string]setting.Source)
		probe.index()
		key := probe.resolve(ch.Key, setting.Source{Kind: setting.FromFlag})
		if !ch.Unset {
			probe.readFlags(map[string]string{key: ch.Value})
			probe.nameAgents() // as Load does, or the file would seem to say something else
		} else if probe.known[key] == nil {
			probe.complain(setting.Problem{Source: setting.Source{Kind: setting.FromFlag}, Key: ch.Key, Unknown: true})
		}
		if problems = append(problems, probe.problems...); len(probe.problems) == 0 {
			changes[i].Key, wants[i] = key, probe.known[key].Plain()
		}
	}
	if len(problems) > 0 {
		return nil, &setting.Error{Problems: problems}
	}
	out := file
	for i, ch := range changes {
		root, wrong := setting.Parse(out, setting.Source{Kind: setting.FromFile, File: fileName})
		if wrong != nil {
			return nil, &setting.Error{Problems: []setting.Problem{*wrong}}
		}
		e := editor{src: out, path: strings.Split(ch.Key, ".")}
		edit := e.remove
		if !ch.Unset {
			e.text = yamlText(wants[i])
			edit = e.apply
		}
		var err error
		if out, err = edit(root); err != nil {
			return nil, fmt.Errorf("set %s in %s: %w", setting.Quote(ch.Key), fileName, err)
		}
	}
	c, err := load(out, fileName, nil, nil)
	if err != nil {
		return nil, err
	}
	for i, ch := range changes {
		last := !slices.ContainsFunc(changes[i+1:], func(later Change) bool { return later.Key == ch.Key })
		kept := ch.Unset && c.Where(ch.Key).Kind != setting.FromFile || !ch.Unset && c.holds(ch.Key, wants[i])
		if last && !kept {
			return nil, cannotEdit(ch.Key)
		}
	}
	if !onlyChanged(file, out, changes) {
		return nil, cannotEdit(changes[0].Key)
	}
	return out, nil
}

func cannotEdit(key string) error {
	return fmt.Errorf("set %s in %s: the file is written in a way that ralph cannot edit safely; change the line by hand", setting.Quote(key), fileName)
}

// holds reports whether the file that c was read from sets the key to want.
func (c Config) holds(key string, want any) bool {
	for _, k := range c.keys() {
		if k.path == key {
			return c.Where(key).Kind == setting.FromFile && reflect.DeepEqual(k.v.Plain(), want)
		}
	}
	return false
}

// onlyChanged reports whether a and b say the same but for the keys changed. It is the
// net below the splicing: whatever odd YAML a person writes, nothing else may
// change its meaning. (No comment can get lost: nothing that may hold one is
// ever taken out.)
func onlyChanged(a, b []byte, changes []Change) bool {
	before, after := leaves(a), leaves(b)
	for _, ch := range changes {
		delete(before, ch.Key)
		delete(after, ch.Key)
	}
	return maps.Equal(before, after)
}

// leaves returns the values of a file by dotted path, each as YAML.
func leaves(data []byte) map[string]string {
	out := make(map[string]string)
	root, _ := setting.Parse(data, setting.Source{})
	if root == nil {
		return out
	}
	probe := loader{c: Defaults()}
	probe.c.from = make(map[string]setting.Source)
	probe.index()
	probe.addAgents(root)
	var walk func(path string, n *yaml.Node)
	walk = func(path string, n *yaml.Node) {
		if n.Kind == yaml.MappingNode && probe.known[path] == nil {
			for k, v := range setting.Pairs(n) {
				walk(setting.Join(path, k.Value), v)
			}
			return
		}
		var plain any
		if n.Decode(&plain) == nil {
			out[path] = yamlText(plain)
		}
	}
	walk("", root)
	delete(out, "") // a file that is no mapping
	for k, v := range out {
		if v == "null" && probe.sections[k] {
			delete(out, k) // an empty section says nothing
		}
	}
	return out
}

// editor splices text into a file at the places that the parser names.
type editor struct {
	src  []byte
	path []string
	text string // the value, on one line
}

func (e editor) apply(root *yaml.Node) ([]byte, error) {
	if root == nil {
		return e.append(), nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: the file must hold keys with values", root.Line)
	}
	n := root
	for i, name := range e.path {
		k, v := find(n, name)
		switch {
		case k == nil && n.Style&yaml.FlowStyle != 0:
			return e.insertFlow(n, i)
		case k == nil && i == 0:
			return e.insertTop(), nil
		case k == nil:
			header, _ := find(e.section(root, i-1), e.path[i-1])
			return e.insertBlock(header, n.Content[0].Column-1, i), nil
		case i == len(e.path)-1:
			return e.replace(k, v)
		case setting.IsNull(v) && n.Style&yaml.FlowStyle == 0 && v.Value == "":
			return e.insertBlock(k, k.Column+1, i+1), nil
		case v.Kind != yaml.MappingNode:
			return nil, fmt.Errorf("line %d: `%s` must be a section", v.Line, name)
		}
		n = v
	}
	return nil, errors.New("no key given")
}

// section returns the mapping that the first i parts of the path lead to.
func (e editor) section(n *yaml.Node, i int) *yaml.Node {
	for _, name := range e.path[:i] {
		_, n = find(n, name)
	}
	return n
}

func find(n *yaml.Node, name string) (k, v *yaml.Node) {
	for k, v := range setting.Pairs(n) {
		if k.Value == name {
			return k, v
		}
	}
	return nil, nil
}

// eol is how the file ends its lines.
func (e editor) eol() string {
	if bytes.Contains(e.src, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// lines writes the path from its part i on, as lines of a block.
func (e editor) lines(i, indent int) string {
	var b strings.Builder
	for ; i < len(e.path); i++ {
		b.WriteString(strings.Repeat(" ", indent) + e.path[i] + ":")
		if i == len(e.path)-1 {
			b.WriteString(" " + e.text)
		}
		b.WriteString(e.eol())
		indent += 2
	}
	return b.String()
}

// append puts the path at the end of the file.
func (e editor) append() []byte {
	out := slices.Clone(e.src)
	if len(out) > 0 && out[len(out)-1] != '\n' {
		out = append(out, e.eol()...)
	}
	return append(out, e.lines(0, 0)...)
}

// insertTop puts a new key of the file below the comment that shows its
// default, as in Template, else at the end.
func (e editor) insertTop() []byte {
	if at := e.commented(0, 0, e.path[0]); at >= 0 {
		return e.splice(at, at, e.lines(0, 0))
	}
	return e.append()
}

// insertBlock puts the path from its part i on into the block below a key:
// below the comment that shows its default, else first.
func (e editor) insertBlock(header *yaml.Node, indent, i int) []byte {
	start := e.lineStart(header.Line + 1)
	at := e.commented(start, indent, e.path[i])
	if at < 0 {
		at = start
	}
	lines := e.lines(i, indent)
	if at > 0 && e.src[at-1] != '\n' { // the key stands in the last line, which has no end
		lines = e.eol() + lines
	}
	return e.splice(at, at, lines)
}

// commented returns the end of the line "# name: ..." with this indentation in
// the section that begins at start, -1 when there is none.
func (e editor) commented(start, indent int, name string) int {
	at := start
	for line := range bytes.Lines(e.src[start:]) {
		at += len(line)
		rest := bytes.TrimLeft(line, " ")
		depth := len(line) - len(rest)
		blank := len(bytes.TrimSpace(rest)) == 0
		if !blank && rest[0] != '#' && depth < indent {
			return -1 // the section ends
		}
		if words, ok := bytes.CutPrefix(rest, []byte("#")); ok && depth == indent && line[len(line)-1] == '\n' {
			// More than one space: a key of a section that is commented out.
			if bytes.HasPrefix(words, []byte(" "+name+": ")) {
				return at
			}
		}
	}
	return -1
}

// insertFlow puts the path from its part i on into a {...}.
func (e editor) insertFlow(n *yaml.Node, i int) ([]byte, error) {
	at := e.offset(n.Line, n.Column)
	if at >= len(e.src) || e.src[at] != '{' {
		return nil, fmt.Errorf("line %d: cannot be edited; change it by hand", n.Line)
	}
	text := e.path[len(e.path)-1] + ": " + e.text
	for j := len(e.path) - 2; j >= i; j-- {
		text = e.path[j] + ": {" + text + "}"
	}
	if len(n.Content) > 0 {
		text += ", "
	}
	return e.splice(at+1, at+1, text), nil
}

// replace puts the new value in the place of the one that is there.
func (e editor) replace(k, v *yaml.Node) ([]byte, error) {
	start := e.offset(v.Line, v.Column)
	end := -1
	switch {
	case setting.IsNull(v) && v.Value == "":
		at := e.offset(k.Line, k.Column)
		colon := bytes.IndexByte(e.src[at:], ':')
		if colon < 0 {
			break
		}
		return e.splice(at+colon+1, at+colon+1, " "+e.text), nil
	case v.Kind == yaml.ScalarNode:
		end = e.scalarEnd(v, start)
	case v.Style&yaml.FlowStyle != 0:
		end = flowEnd(e.src, start)
	default:
		return e.replaceBlock(k, v)
	}
	if end < 0 {
		return nil, fmt.Errorf("line %d: this way to write a value cannot be edited; change it by hand", v.Line)
	}
	return e.splice(start, end, e.text), nil
}

// replaceBlock replaces a value that stands in lines of its own. Comments
// between them would be lost, so there must be none.
func (e editor) replaceBlock(k, v *yaml.Node) ([]byte, error) {
	at := e.offset(k.Line, k.Column)
	colon := bytes.IndexByte(e.src[at:], ':')
	start := e.lineStart(v.Line)
	end := e.lineStart(lastLine(v) + 1)
	if colon < 0 || start <= at || bytes.ContainsRune(e.src[start:end], '#') {
		return nil, fmt.Errorf("line %d: the lines of this value hold comments or more than it; change them by hand", v.Line)
	}
	out := e.splice(start, end, "")
	e.src = out
	return e.splice(at+colon+1, at+colon+1, " "+e.text), nil
}

func lastLine(n *yaml.Node) int {
	line := n.Line
	for _, c := range n.Content {
		line = max(line, lastLine(c))
	}
	return line
}

// scalarEnd returns the end of a scalar that begins at start, -1 when it is
// written over several lines.
func (e editor) scalarEnd(v *yaml.Node, start int) int {
	switch {
	case v.Style&yaml.DoubleQuotedStyle != 0, v.Style&yaml.SingleQuotedStyle != 0:
		return quoteEnd(e.src, start)
	case v.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0:
		return -1
	}
	if !bytes.HasPrefix(e.src[start:], []byte(v.Value)) {
		return -1
	}
	return start + len(v.Value)
}

// quoteEnd returns the end of the quoted text that begins at i, -1 without one.
func quoteEnd(src []byte, i int) int {
	if i >= len(src) || src[i] != '"' && src[i] != '\'' {
		return -1
	}
	quote := src[i]
	for i++; i < len(src); i++ {
		switch {
		case src[i] == '\\' && quote == '"':
			i++
		case src[i] == quote && quote == '\'' && i+1 < len(src) && src[i+1] == '\'':
			i++
		case src[i] == quote:
			return i + 1
		}
	}
	return -1
}

// flowEnd returns the end of the {...} or [...] that begins at i, -1 when it
// holds comments or has no end.
func flowEnd(src []byte, i int) int {
	depth := 0
	for i < len(src) {
		switch c := src[i]; c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
			if depth == 0 {
				return i + 1
			}
		case '#':
			return -1
		case '"', '\'':
			// A quote begins a text only where a value may begin.
			if before := bytes.TrimRight(src[:i], " \t\r\n"); bytes.ContainsAny(before[len(before)-1:], "[{,:") {
				if i = quoteEnd(src, i); i < 0 {
					return -1
				}
				continue
			}
		}
		i++
	}
	return -1
}

func (e editor) splice(from, to int, text string) []byte {
	return slices.Concat(e.src[:from], []byte(text), e.src[to:])
}

// lineStart returns where a line (from 1) begins; past the last one, the end.
func (e editor) lineStart(line int) int {
	at := 0
	for ; line > 1; line-- {
		i := bytes.IndexByte(e.src[at:], '\n')
		if i < 0 {
			return len(e.src)
		}
		at += i + 1
	}
	return at
}

// offset returns the place of a line and column, both from 1; the parser counts
// columns in characters.
func (e editor) offset(line, column int) int {
	at := e.lineStart(line)
	for ; column > 1 && at < len(e.src); column-- {
		_, n := utf8.DecodeRune(e.src[at:])
		at += n
	}
	return at
}
