package views

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// MergeFile brings two versions of plan.jsonl or inbox.jsonl together, record by record
// and field by field, as git asks a merge driver to: base is what both came from. Where
// both changed one field in two ways, the further status and the higher count hold; for
// all else both lines stand in the result between conflict markers, and conflicts counts
// them. The error is a *ralph.CorruptError: a version cannot be read.
func MergeFile(name, base, ours, theirs string) (merged string, conflicts int, err error) {
	var versions [3][]keyed
	for i, text := range []string{base, ours, theirs} {
		if versions[i], err = keyedRecords(name, text); err != nil {
			return "", 0, err
		}
	}
	was, our, their := byKey(versions[0]), byKey(versions[1]), byKey(versions[2])
	var b strings.Builder
	for _, key := range mergedOrder(versions[1], versions[2]) {
		w, inBase := was[key]
		o, inOurs := our[key]
		t, inTheirs := their[key]
		switch {
		case !inOurs && inBase && w == t, !inTheirs && inBase && w == o: // taken out by one, untouched by the other
		case !inTheirs:
			b.WriteString(o + "\n")
		case !inOurs, o == t:
			b.WriteString(t + "\n")
		default:
			line, ok := mergeRecord(w, o, t, further)
			if !ok {
				conflicts++
				line = "<<<<<<< ours\n" + o + "\n=======\n" + t + "\n>>>>>>> theirs"
			}
			b.WriteString(line + "\n")
		}
	}
	return b.String(), conflicts, nil
}

// keyed is a line with what tells its record from others.
type keyed struct{ key, line string }

func byKey(list []keyed) map[string]string {
	m := make(map[string]string, len(list))
	for _, r := range list {
		m[r.key] = r.line
	}
	return m
}

func keyedRecords(name, text string) ([]keyed, error) {
	var list []keyed
	err := eachRecord(name, text, func(line string) error {
		f, err := readFields(line)
		if err != nil {
			return err
		}
		var kind, id string
		f.take("t", &kind)
		f.take("id", &id)
		if f.err != nil {
			return f.err
		}
		key := kind + " " + id
		switch {
		case kind == "":
			return errors.New(`"t" is missing`)
		case kind == "reject" || id == "" && kind != "spec": // it has no name but its words
			key = kind + " " + line
		}
		if slices.ContainsFunc(list, func(r keyed) bool { return r.key == key }) {
			return errors.New("two records of one id")
		}
		list = append(list, keyed{key, line})
		return nil
	})
	return list, err
}

// mergedOrder is ours, with what only theirs has behind the record that it follows there.
func mergedOrder(ours, theirs []keyed) []string {
	var order []string
	for _, r := range ours {
		order = append(order, r.key)
	}
	after := -1
	for _, r := range theirs {
		if at := slices.Index(order, r.key); at >= 0 {
			after = at
			continue
		}
		if after < 0 || after == len(order)-1 {
			after = len(order) - 1
		}
		after++
		order = slices.Insert(order, after, r.key)
	}
	return order
}

// mergeRecord merges the fields of one record; ok is false when they do not fit. both
// chooses where the two sides changed a field in two ways.
func mergeRecord(base, ours, theirs string, both func(key string, ours, theirs json.RawMessage) (json.RawMessage, bool)) (line string, ok bool) {
	if base == "" {
		base = "{}"
	}
	b, errB := readFields(base)
	o, errO := readFields(ours)
	t, errT := readFields(theirs)
	if errB != nil || errO != nil || errT != nil {
		return "", false
	}
	keys := slices.Clone(o.keys)
	for _, k := range t.keys {
		if _, known := o.values[k]; !known {
			keys = append(keys, k)
		}
	}
	merged := &fields{values: map[string]json.RawMessage{}}
	for _, k := range keys {
		was, our, their := b.values[k], o.values[k], t.values[k]
		value := our
		switch {
		case sameJSON(our, was):
			value = their
		case sameJSON(our, their), sameJSON(their, was):
		default:
			if value, ok = both(k, our, their); !ok {
				return "", false
			}
		}
		if value != nil {
			merged.keys = append(merged.keys, k)
			merged.values[k] = value
		}
	}
	return string(merged.rest()), true
}

// further chooses between two values of a field that says how far the work is.
func further(key string, a, b json.RawMessage) (json.RawMessage, bool) {
	switch key {
	case "status":
		var x, y string
		if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
			return nil, false
		}
		if rankOf(y) > rankOf(x) {
			return b, true
		}
		return a, true
	case "retry_count", "max_iterations":
		var x, y int
		if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
			return nil, false
		}
		if y > x {
			return b, true
		}
		return a, true
	case "started_at", "completed_at", "error": // they go with the status; none is wanted
		if b == nil {
			return a, true
		}
		return b, true
	}
	return nil, false
}

// rankOf is how far a status is: what is done stays done.
func rankOf(status string) int {
	return slices.Index([]string{
		string(ralph.TaskPending), string(ralph.TaskActive), string(ralph.TaskSkipped),
		string(ralph.TaskBlocked), string(ralph.TaskTimeout), string(ralph.TaskFailed), string(ralph.TaskDone),
	}, status)
}
