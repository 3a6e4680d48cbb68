package setting

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ralph-loop/ralph"
)

// eventRows is the setting `events` of an agent: what its lines of JSON mean.
type eventRows struct{ p *[]ralph.EventRow }

const eventsWant = "rows such as [{match: {type: text}, kind: message, text: part.text}]"

func (v eventRows) SetNode(n *yaml.Node) error {
	if IsNull(n) {
		*v.p = nil
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		return Mismatch(eventsWant, Describe(n))
	}
	var rows []ralph.EventRow
	for i, item := range n.Content {
		row, err := readEventRow(item)
		if err != nil {
			line := item.Line
			if at, ok := errors.AsType[LineError](err); ok {
				line = at.Line
			}
			return LineError{line, fmt.Errorf("has a row %d that %w", i+1, err)}
		}
		rows = append(rows, row)
	}
	*v.p = rows
	return nil
}

func readEventRow(n *yaml.Node) (ralph.EventRow, error) {
	row := ralph.EventRow{}
	if n.Kind != yaml.MappingNode {
		return row, Mismatch("a row such as {match: {type: text}, kind: message, text: part.text}", Describe(n))
	}
	for k, val := range Pairs(n) {
		if err := setEventField(&row, k, val); err != nil {
			return row, err
		}
	}
	switch {
	case row.Kind == "":
		return row, fmt.Errorf("has no kind; it is one of %s", strings.Join(ralph.RowKinds(), ", "))
	case len(row.Match) == 0:
		return row, errors.New("matches every line; say which with match, such as {match: {type: text}}")
	case row.Class != "" && row.Kind != ralph.RowError && row.Kind != ralph.RowRetry:
		return row, fmt.Errorf("is of kind %s, which has no class", row.Kind)
	}
	return row, nil
}

func setEventField(row *ralph.EventRow, k, val *yaml.Node) error {
	wrong := func(err error) error { return LineError{val.Line, fmt.Errorf("is wrong: %s %w", k.Value, err)} }
	if k.Value == "match" {
		if err := (table{p: &row.Match, want: "paths with values, such as {type: text}"}).SetNode(val); err != nil {
			return wrong(err)
		}
		return nil
	}
	s, err := word(val)
	if err != nil {
		return wrong(err)
	}
	switch {
	case k.Value == "kind":
		if !slices.Contains(ralph.RowKinds(), s) {
			return wrong(Mismatch("one of "+strings.Join(ralph.RowKinds(), ", "), Quote(s)))
		}
		row.Kind = s
	case k.Value == "class":
		if !slices.Contains(ralph.RowClasses(), ralph.ErrorClass(s)) {
			return wrong(Mismatch(fmt.Sprintf("one of %v", ralph.RowClasses()), Quote(s)))
		}
		row.Class = ralph.ErrorClass(s)
	case !slices.Contains(ralph.RowReads(), k.Value):
		return LineError{k.Line, fmt.Errorf("has an unknown key %s; known are match, kind, class, %s", Quote(k.Value), strings.Join(ralph.RowReads(), ", "))}
	case s == "":
		return wrong(errors.New("must be a path, such as part.text"))
	default:
		if row.Read == nil {
			row.Read = map[string]string{}
		}
		row.Read[k.Value] = s
	}
	return nil
}

func (v eventRows) SetText(s string) error { return setYAML(v, s, eventsWant) }

func (v eventRows) Plain() any {
	rows := make([]map[string]any, len(*v.p))
	for i, r := range *v.p {
		row := map[string]any{"match": r.Match, "kind": r.Kind}
		if r.Class != "" {
			row["class"] = string(r.Class)
		}
		for name, path := range r.Read {
			row[name] = path
		}
		rows[i] = row
	}
	return rows
}

func (v eventRows) Schema() Object {
	path := Object{"type": []string{"string", "number"}}
	fields := Object{
		"match": Object{"type": "object", "minProperties": 1, "additionalProperties": Object{"type": []string{"string", "number", "boolean"}}},
		"kind":  Object{"type": "string", "enum": ralph.RowKinds()},
		"class": Object{"type": "string", "enum": ralph.RowClasses()},
	}
	for _, name := range ralph.RowReads() {
		fields[name] = path
	}
	return Object{"type": []string{"array", "null"}, "items": Object{
		"type": "object", "properties": fields, "required": []string{"match", "kind"}, "additionalProperties": false,
	}}
}
