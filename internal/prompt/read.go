package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// reader checks an answer by hand and gathers what does not fit. A schema
// library would cost start-up time on every command and says what is wrong in
// the words of JSON Schema; these words go to an agent that gets one more try.
// Unknown members are ignored, null is the same as absent, a wrong type is a
// fault with its path.
type reader struct{ faults []string }

// object is a JSON object. It is only looked into by key, never ranged over.
type object = map[string]any

// maxFaults bounds the words of a re-ask.
const maxFaults = 10

func (r *reader) say(fault string) { r.faults = append(r.faults, fault) }

func (r *reader) fail(path, format string, args ...any) {
	if slices.ContainsFunc(r.faults, func(f string) bool { return strings.HasPrefix(f, path+": ") }) {
		return // one fault per place: a wrong type is not missing as well
	}
	r.say(path + ": " + fmt.Sprintf(format, args...))
}

func (r *reader) ok() bool { return len(r.faults) == 0 }

func (r *reader) err() error {
	if r.ok() {
		return nil
	}
	faults := r.faults
	if more := len(faults) - maxFaults; more > 0 {
		faults = append(faults[:maxFaults:maxFaults], fmt.Sprintf("and %d more", more))
	}
	return &Mismatch{Why: strings.Join(faults, "; ")}
}

// findAnswer finds the object of an answer.
func findAnswer(text string, answer json.RawMessage) (object, error) {
	source, raw := "the structured answer", strings.TrimSpace(string(answer))
	if raw == "" || raw == "null" {
		source, raw = findJSON(text)
	}
	if raw == "" {
		return nil, &Mismatch{"there is no answer: end the reply with one fenced code block marked json that holds the object"}
	}
	value, err := decode(raw)
	if err != nil {
		return nil, &Mismatch{fmt.Sprintf("%s is not valid JSON: %s", source, err)}
	}
	o, ok := value.(object)
	if !ok {
		return nil, &Mismatch{fmt.Sprintf("%s must be one JSON object, not %s", source, typeName(value))}
	}
	return o, nil
}

// findJSON returns the last fenced json block of a message, or the message
// itself when it is a bare object, with words for it; "" when there is neither.
// A block that is never closed counts: the message may end with it.
func findJSON(text string) (source, raw string) {
	var f fence
	var block *strings.Builder
	found := false
	for line := range strings.SplitSeq(text, "\n") {
		at, info := f.next(line)
		switch at {
		case opens:
			block = nil
			if word, _, _ := strings.Cut(info, " "); strings.EqualFold(word, "json") {
				block, found = &strings.Builder{}, true
				raw = ""
			}
		case inside:
			if block != nil {
				block.WriteString(line + "\n")
				raw = block.String()
			}
		}
	}
	if found {
		if raw = strings.TrimSpace(raw); raw == "" {
			raw = "{}" // an empty block: what it lacks is named by the checks
		}
		return "the last json block", raw
	}
	if raw = strings.TrimSpace(text); strings.HasPrefix(raw, "{") && strings.HasSuffix(raw, "}") {
		return "the reply", raw
	}
	return "", ""
}

// decode reads exactly one JSON value. The error names the line inside raw.
func decode(raw string) (any, error) {
	d := json.NewDecoder(strings.NewReader(raw))
	var value any
	err := d.Decode(&value)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		at := min(max(0, int(syntax.Offset)), len(raw))
		return nil, fmt.Errorf("line %d: %w", 1+strings.Count(raw[:at], "\n"), err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("it ends too early")
	case err != nil:
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	return value, nil
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// object takes value as an object.
func (r *reader) object(value any, path string) (object, bool) {
	o, ok := value.(object)
	if !ok {
		r.fail(path, "must be an object, not %s", typeName(value))
	}
	return o, ok
}

// list returns a member that is an array, and whether it is there at all.
func (r *reader) list(o object, path, key string) ([]any, bool) {
	value := o[key]
	if value == nil {
		return nil, false
	}
	list, ok := value.([]any)
	if !ok {
		r.fail(join(path, key), "must be an array, not %s", typeName(value))
	}
	return list, true
}

// text returns a member that is a string, "" when it is absent.
func (r *reader) text(o object, path, key string) string {
	value := o[key]
	if value == nil {
		return ""
	}
	text, ok := value.(string)
	if !ok {
		r.fail(join(path, key), "must be a string, not %s", typeName(value))
	}
	return text
}

// texts returns a member that is an array of strings, without empty ones.
func (r *reader) texts(o object, path, key string) []string {
	list, _ := r.list(o, path, key)
	var out []string
	for i, value := range list {
		text, ok := value.(string)
		if !ok {
			r.fail(fmt.Sprintf("%s[%d]", join(path, key), i), "must be a string, not %s", typeName(value))
		} else if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	return out
}
