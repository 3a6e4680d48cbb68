package config

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph/internal/config/setting"
	"go.yaml.in/yaml/v3"
)

// remove takes the key out; a comment at the end of its line stays, on a line of its
// own. A key that is not there is out already.
func (e editor) remove(root *yaml.Node) ([]byte, error) {
	if root == nil {
		return e.src, nil
	}
	n := root
	for i, name := range e.path {
		if n.Kind != yaml.MappingNode {
			return e.src, nil // an empty section; what else it may be, Load says
		}
		k, v := find(n, name)
		switch {
		case k == nil:
			return e.src, nil
		case i < len(e.path)-1:
			n = v
		case n.Style&yaml.FlowStyle != 0:
			return e.removeFlow(k, v)
		default:
			return e.removeBlock(k, v)
		}
	}
	return nil, errors.New("no key given")
}

// removeFlow takes a key out of {...}, with one of the commas beside it.
func (e editor) removeFlow(k, v *yaml.Node) ([]byte, error) {
	start, end := e.offset(k.Line, k.Column), e.valueEnd(k, v)
	if end < 0 {
		return nil, byHand(k)
	}
	rest := e.src[end:]
	if after := bytes.TrimLeft(rest, " \t\r\n"); len(after) > 0 && after[0] == ',' {
		after = bytes.TrimLeft(after[1:], " \t")
		return e.splice(start, len(e.src)-len(after), ""), nil
	}
	if before := bytes.TrimRight(e.src[:start], " \t\r\n"); len(before) > 0 && before[len(before)-1] == ',' {
		start = len(before) - 1
	}
	return e.splice(start, end, ""), nil
}

// removeBlock takes out the lines of a key.
func (e editor) removeBlock(k, v *yaml.Node) ([]byte, error) {
	start := e.lineStart(k.Line)
	key := e.offset(k.Line, k.Column)
	indent := e.src[start:key]
	if len(bytes.Trim(indent, " ")) > 0 {
		return nil, byHand(k)
	}
	inLine := e.valueEnd(k, v)
	end := e.lineStart(k.Line + 1)
	if v.Kind != yaml.ScalarNode && v.Style&yaml.FlowStyle == 0 { // lines below the key's own
		colon := bytes.IndexByte(e.src[key:], ':')
		end = e.lineStart(lastLine(v) + 1)
		if below := e.lineStart(k.Line + 1); colon < 0 || v.Line == k.Line || bytes.ContainsRune(e.src[below:end], '#') {
			return nil, byHand(k)
		}
		inLine = key + colon + 1
	} else if inLine >= 0 {
		end = inLine
		if i := bytes.IndexByte(e.src[inLine:], '\n'); i >= 0 {
			end += i + 1
		} else {
			end = len(e.src)
		}
	}
	if inLine < 0 {
		return nil, byHand(k)
	}
	tail := e.src[inLine:]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[:i+1]
	}
	comment := string(bytes.TrimLeft(tail, " \t"))
	switch {
	case comment != "" && comment[0] == '#':
		comment = string(indent) + comment
	case len(bytes.TrimSpace(tail)) > 0:
		return nil, byHand(k)
	default:
		comment = ""
	}
	return e.splice(start, end, comment), nil
}

// valueEnd returns where the value of a key ends, -1 where that cannot be told.
func (e editor) valueEnd(k, v *yaml.Node) int {
	start := e.offset(v.Line, v.Column)
	switch {
	case setting.IsNull(v) && v.Value == "":
		at := e.offset(k.Line, k.Column)
		colon := bytes.IndexByte(e.src[at:], ':')
		if colon < 0 {
			return -1
		}
		return at + colon + 1
	case v.Kind == yaml.ScalarNode:
		return e.scalarEnd(v, start)
	case v.Style&yaml.FlowStyle != 0:
		return flowEnd(e.src, start)
	}
	return -1
}

func byHand(n *yaml.Node) error {
	return fmt.Errorf("line %d: ralph cannot take this out without more than it; change it by hand", n.Line)
}
