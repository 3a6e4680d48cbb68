package setting

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// maxDepth bounds how deep the file may nest; the deepest setting lies at 4.
const maxDepth = 16

var yamlLine = lazyregexp.New(`^yaml: (?:line (\d+): )?(.*)`)

// Parse reads one YAML document into nodes, which keep their lines. Nothing is
// decoded and no alias is followed, so the size of the result is bounded by the
// size of the text. A text without content gives nil.
func Parse(data []byte, src Source) (root *yaml.Node, wrong *Problem) {
	defer func() {
		// The file may hold anything, and a parser's bug must not end the program.
		if p := recover(); p != nil {
			root, wrong = nil, &Problem{Source: src, What: "is no YAML that can be read"}
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, syntaxProblem(data, err, src)
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		src.Line = second.Line
		return nil, &Problem{Source: src, What: "a second document begins here; the file must hold one"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntaxProblem(data, err, src)
	}
	if len(doc.Content) == 0 || IsNull(doc.Content[0]) {
		return nil, nil
	}
	return doc.Content[0], nil
}

// syntaxProblem turns the parser's error into ours. A tab is by far the most
// frequent cause and the parser's words for it help nobody.
func syntaxProblem(data []byte, err error, src Source) *Problem {
	what, line := withoutLine(err)
	var text []byte
	if src.Line, text = wrongLine(data, what); src.Line == 0 {
		src.Line = line // 0: the file as a whole
	}
	if indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]; bytes.ContainsRune(indent, '\t') {
		return &Problem{Source: src, What: "the line is indented with a tab; use spaces"}
	}
	return &Problem{Source: src, What: "is no valid YAML: " + cut(what)}
}

// withoutLine takes the line out of the parser's words.
func withoutLine(err error) (what string, line int) {
	what = err.Error()
	if m := yamlLine.FindStringSubmatch(what); m != nil {
		line, _ = strconv.Atoi(m[1]) // "" is 0
		what = m[2]
	}
	return what, line
}

// maxLines bounds the lines of a file that wrongLine looks at: it reads them again and again.
const maxLines = 1000

// wrongLine is the line that is wrong, with its text; 0 for none. The parser names the line at which
// the broken part begins, counted from 0, and none for some of its errors. So it is the first line
// up to which the parser says the same.
func wrongLine(data []byte, what string) (line int, text []byte) {
	end := 0
	for text := range bytes.Lines(data) {
		line++
		end += len(text)
		if line > maxLines {
			break
		}
		dec, err := yaml.NewDecoder(bytes.NewReader(data[:end])), error(nil)
		for err == nil {
			err = dec.Decode(&yaml.Node{})
		}
		if errors.Is(err, io.EOF) {
			continue
		}
		if said, _ := withoutLine(err); said == what {
			return line, text
		}
	}
	return 0, nil
}

// Structure finds what is wrong with the document whatever its keys mean:
// doubled keys, keys that are no text, and aliases, which a settings file does
// not need and with which a small file can stand for a huge one.
func Structure(n *yaml.Node, path string, src Source) []Problem {
	var problems []Problem
	complain := func(at *yaml.Node, key, what string) {
		src := src
		src.Line = at.Line
		problems = append(problems, Problem{Source: src, Key: key, What: what})
	}
	var walk func(n *yaml.Node, path string, depth int)
	walk = func(n *yaml.Node, path string, depth int) {
		switch {
		case depth > maxDepth:
			complain(n, path, "is nested too deeply")
		case n.Kind == yaml.AliasNode:
			complain(n, path, "is an alias (*"+cut(n.Value)+"), which this file cannot have; write the value out")
		case n.Kind == yaml.SequenceNode:
			for _, item := range n.Content {
				walk(item, path, depth+1)
			}
		case n.Kind == yaml.MappingNode:
			first := make(map[string]int, len(n.Content)/2)
			for i := 0; i+1 < len(n.Content); i += 2 {
				k := n.Content[i]
				at := Join(path, k.Value)
				line, doubled := first[k.Value]
				switch {
				case k.ShortTag() == "!!merge":
					complain(k, at, "merges another section, which this file cannot have; write the keys out")
					continue
				case k.Kind != yaml.ScalarNode:
					complain(k, path, "has a key that is no text")
					continue
				case doubled:
					complain(k, at, fmt.Sprintf("is there twice, first in line %d", line))
				}
				first[k.Value] = k.Line
				walk(n.Content[i+1], at, depth+1)
			}
		}
	}
	walk(n, path, 0)
	return problems
}

// Pairs yields the keys and values of a mapping, without what structure has
// complained about.
func Pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(k, v *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.Kind != yaml.ScalarNode || k.ShortTag() == "!!merge" || v.Kind == yaml.AliasNode {
				continue
			}
			if !yield(k, v) {
				return
			}
		}
	}
}

// IsNull reports a value that is empty, ~ or null.
func IsNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// Describe says what stands in the file where something else should.
func Describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a section"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case IsNull(n):
		return "empty"
	case n.ShortTag() == "!!str" && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		return "the text " + Quote(n.Value)
	}
	return Quote(n.Value)
}

// Join is the key of a name in a section; "" is the file itself.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Parent returns the section of a key, "" for the file itself.
func Parent(path string) string {
	return path[:max(0, strings.LastIndexByte(path, '.'))]
}
