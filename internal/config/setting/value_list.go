package setting

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// list is a list of strings. check looks at each.
type list struct {
	p     *[]string
	check func(string) string
}

const listWant = "a list such as [one, two]"

func (v list) SetNode(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return Mismatch(listWant, Describe(n))
	}
	var items []string
	for i, item := range n.Content {
		s, err := word(item)
		if err != nil {
			return LineError{item.Line, fmt.Errorf("item %d %w", i+1, err)}
		}
		if err := v.item(s); err != nil {
			return LineError{item.Line, fmt.Errorf("item %d %w", i+1, err)}
		}
		items = append(items, s)
	}
	*v.p = items
	return nil
}

func (v list) item(s string) error {
	if s == "" {
		return errors.New("must not be empty")
	}
	if wrong := checkText(s, v.check); wrong != "" {
		return errors.New(wrong)
	}
	return nil
}

// SetText takes the file's form ([a, b]) or words with commas between them.
func (v list) SetText(s string) error {
	if strings.HasPrefix(strings.TrimSpace(s), "[") {
		return setYAML(v, s, listWant)
	}
	var items []string
	for i, part := range strings.Split(s, ",") {
		if s == "" {
			break
		}
		part = strings.TrimSpace(part)
		if err := v.item(part); err != nil {
			return fmt.Errorf("item %d %w", i+1, err)
		}
		items = append(items, part)
	}
	*v.p = items
	return nil
}

func (v list) Plain() any { return append([]string{}, *v.p...) }
func (v list) Schema() Object {
	return Object{"type": "array", "items": Object{"type": []string{"string", "number", "boolean"}}}
}

// table is a mapping of strings to strings. Its errors never show a value: an
// agent's environment may hold a token.
type table struct {
	p        *map[string]string
	want     string
	checkKey func(string) string
	// checkValue looks at each value. It shows what it refuses, so it is not for secrets.
	checkValue func(string) string
}

func (v table) SetNode(n *yaml.Node) error {
	if IsNull(n) {
		*v.p = nil
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return Mismatch(v.want, Describe(n))
	}
	var m map[string]string
	for k, val := range Pairs(n) {
		if v.checkKey != nil {
			if wrong := v.checkKey(k.Value); wrong != "" {
				return LineError{k.Line, errors.New(wrong)}
			}
		}
		s, err := word(val)
		if err != nil {
			return LineError{val.Line, fmt.Errorf("has under %s a value that %w", Quote(k.Value), err)}
		}
		if wrong := checkText(s, nil); wrong != "" {
			return LineError{val.Line, fmt.Errorf("has under %s a value that %s", Quote(k.Value), wrong)}
		}
		if v.checkValue != nil {
			if wrong := v.checkValue(s); wrong != "" {
				return LineError{val.Line, fmt.Errorf("has under %s a value that %s", Quote(k.Value), wrong)}
			}
		}
		if m == nil {
			m = make(map[string]string, len(n.Content)/2)
		}
		m[k.Value] = s
	}
	*v.p = m
	return nil
}

func (v table) SetText(s string) error { return setYAML(v, s, v.want) }

func (v table) Plain() any {
	m := make(map[string]string, len(*v.p))
	for k, s := range *v.p {
		m[k] = s
	}
	return m
}

func (v table) Schema() Object {
	return Object{
		"type":                 []string{"object", "null"},
		"additionalProperties": Object{"type": []string{"string", "number", "boolean"}},
	}
}

// word returns a scalar as it is written: a 1 in a list of arguments or in an
// environment is the text "1".
func word(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || !slices.Contains([]string{"!!str", "!!int", "!!float", "!!bool"}, n.ShortTag()) {
		return "", errors.New("must be text")
	}
	return n.Value, nil
}

// Price is what a model costs, in US dollars per million tokens.
type Price struct {
	Input  float64 `yaml:"input"`
	Cached float64 `yaml:"cached"`
	Output float64 `yaml:"output"`
}

// priceList is the setting `prices`.
type priceList struct{ p *map[string]Price }

const pricesWant = "models with their prices, such as {my-model: {input: 1, cached: 0.1, output: 5}}"

func (v priceList) SetNode(n *yaml.Node) error {
	if IsNull(n) {
		*v.p = nil
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return Mismatch(pricesWant, Describe(n))
	}
	var m map[string]Price
	for k, val := range Pairs(n) {
		price, err := readPrice(val)
		if err != nil {
			line := val.Line
			if at, ok := errors.AsType[LineError](err); ok {
				line = at.Line
			}
			return LineError{line, fmt.Errorf("has under %s a price that %w", Quote(k.Value), err)}
		}
		if m == nil {
			m = make(map[string]Price, len(n.Content)/2)
		}
		m[k.Value] = price
	}
	*v.p = m
	return nil
}

func readPrice(n *yaml.Node) (Price, error) {
	var p Price
	if n.Kind != yaml.MappingNode {
		return p, Mismatch("{input: , cached: , output: } in dollars per million tokens", Describe(n))
	}
	for k, val := range Pairs(n) {
		var field *float64
		switch k.Value {
		case "input":
			field = &p.Input
		case "cached":
			field = &p.Cached
		case "output":
			field = &p.Output
		default:
			return p, LineError{k.Line, fmt.Errorf("has an unknown key %s; known are input, cached, output", Quote(k.Value))}
		}
		if err := (amount{field, 0, math.MaxFloat64}).SetNode(val); err != nil {
			return p, LineError{val.Line, fmt.Errorf("is wrong: %s %w", k.Value, err)}
		}
	}
	return p, nil
}

func (v priceList) SetText(s string) error { return setYAML(v, s, pricesWant) }

func (v priceList) Plain() any {
	m := make(map[string]map[string]float64, len(*v.p))
	for k, p := range *v.p {
		m[k] = map[string]float64{"input": p.Input, "cached": p.Cached, "output": p.Output}
	}
	return m
}

func (v priceList) Schema() Object {
	dollars := Object{"type": "number", "minimum": 0}
	return Object{
		"type": []string{"object", "null"},
		"additionalProperties": Object{
			"type":                 "object",
			"properties":           Object{"input": dollars, "cached": dollars, "output": dollars},
			"additionalProperties": false,
		},
	}
}

// setYAML sets a value from text in the form of the file.
func setYAML(v Value, s, want string) error {
	root, problem := Parse([]byte(s), Source{})
	if problem != nil || root == nil {
		return Mismatch(want, Quote(s))
	}
	if wrong := Structure(root, "", Source{}); len(wrong) > 0 {
		return fmt.Errorf("cannot be read: %s", wrong[0].What)
	}
	err := v.SetNode(root)
	if at, ok := errors.AsType[LineError](err); ok {
		return at.error // the line of a text of one line says nothing
	}
	return err
}
