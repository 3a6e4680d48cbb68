package signature

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/ralph-loop/ralph/internal/text"
)

// What goes in and comes out at the most.
const (
	maxInput   = 64 << 10 // bytes of an input as JSON
	maxAnswer  = 64 << 10 // bytes of an answer
	maxDepth   = 16       // of lists and objects in an answer
	maxProblem = 1 << 10  // bytes of what is wrong with an answer
)

// Invalid says why an answer is none.
type Invalid struct{ Problem string }

func (e *Invalid) Error() string { return e.Problem }

func invalid(format string, args ...any) *Invalid {
	return &Invalid{text.Cut(fmt.Sprintf(format, args...), maxProblem)}
}

// Again is what a model is told whose answer was refused. It is told once.
func Again(err error) string {
	return "Your answer was refused: " + err.Error() + "\nAnswer once more, with one JSON object as described and nothing around it."
}

// enums are the words of those types that have only a few.
func enums() map[reflect.Type]*jsonschema.Schema {
	words := func(list ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: list} }
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Action]():  words(ActionContinue, ActionPause, ActionStop, ActionReview),
		reflect.TypeFor[Verdict](): words(VerdictAccept, VerdictRevise),
		reflect.TypeFor[Route]():   words(RouteRespond, RouteUnderstand, RoutePlan),
	}
}

// describe writes the fields of an object as a list, for models that see no schema.
func describe(b *bytes.Buffer, s *jsonschema.Schema, indent string) {
	for _, name := range s.PropertyOrder {
		f := s.Properties[name]
		kind := f.Type
		inner := f
		if f.Type == "array" && f.Items != nil {
			inner = f.Items
			kind = "list of " + inner.Type + "s"
		}
		if len(inner.Enum) > 0 {
			var words []string
			for _, w := range inner.Enum {
				words = append(words, fmt.Sprint(w))
			}
			kind = strings.Join(words, " | ")
		}
		fmt.Fprintf(b, "%s- %s (%s)", indent, name, kind)
		if f.Description != "" {
			b.WriteString(": " + f.Description)
		}
		b.WriteString("\n")
		describe(b, inner, indent+"  ")
	}
}

// fit writes an input as JSON that is not larger than maxInput: long texts are cut, then
// of long lists the newest are kept.
func fit(in any) ([]byte, error) {
	data, err := json.MarshalIndent(listed(reflect.ValueOf(in)).Interface(), "", " ")
	if err != nil || len(data) <= maxInput {
		return data, err
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	for words, list := 8<<10, 200; ; words, list = words/2, list/2 {
		data, err = json.MarshalIndent(shorter(v, max(words, 64), max(list, 1)), "", " ")
		if err != nil || len(data) <= maxInput {
			return data, err
		}
		if words < 64 && list < 1 {
			return nil, fmt.Errorf("%d bytes, at most %d", len(data), maxInput)
		}
	}
}

// listed is a copy in which lists that are nil are empty, as the schema has them.
func listed(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(listed(v.Field(i)))
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(listed(v.Index(i)))
		}
	}
	return out
}

// shorter is a value with its texts and lists cut.
func shorter(v any, words, list int) any {
	switch v := v.(type) {
	case string:
		return text.Cut(v, words)
	case []any:
		v = v[max(0, len(v)-list):]
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = shorter(e, words, list)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = shorter(v[k], words, list)
		}
		return out
	}
	return v
}

// objectOf finds the one JSON object of an answer, which may stand in a fence. Nothing
// else may be around it, or one answer could be read in two ways.
func objectOf(answer string) ([]byte, error) {
	switch {
	case len(answer) > maxAnswer:
		return nil, invalid("the answer has %d bytes, at most %d are read", len(answer), maxAnswer)
	case !utf8.ValidString(answer):
		return nil, invalid("the answer is not UTF-8")
	}
	body := unfenced(strings.TrimPrefix(answer, "\ufeff"))
	if body == "" {
		return nil, invalid("the answer is empty")
	}
	if !strings.HasPrefix(body, "{") {
		return nil, invalid("the answer is not one JSON object: it begins with %q", text.Cut(body, 40))
	}
	dec := json.NewDecoder(strings.NewReader(body))
	dec.UseNumber()
	if err := once(dec, "", 0); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("there is more after the JSON object: only the object may be there")
	}
	return []byte(body), nil
}

// unfenced takes a markdown fence from around a text.
func unfenced(s string) string {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "```") {
		return s
	}
	_, rest, ok := strings.Cut(s, "\n") // the first line names a language
	if !ok {
		return s
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "```"))
}

// once walks one value. A name that an object has twice is refused: who reads the first
// and who reads the last would see two answers.
func once(dec *json.Decoder, path string, depth int) error {
	if depth > maxDepth {
		return invalid("the answer is nested deeper than %d", maxDepth)
	}
	t, err := dec.Token()
	if err != nil {
		return invalid("the answer is not valid JSON: %v", ended(err))
	}
	d, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for n := 0; dec.More(); n++ {
		at := fmt.Sprintf("%s[%d]", path, n)
		if d == '{' {
			key, err := dec.Token()
			if err != nil {
				return invalid("the answer is not valid JSON: %v", ended(err))
			}
			name := fmt.Sprint(key)
			if seen[name] {
				return invalid("the field %q is there twice", strings.TrimPrefix(path+"."+name, "."))
			}
			seen[name] = true
			at = path + "." + name
		}
		if err := once(dec, at, depth+1); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return invalid("the answer is not valid JSON: %v", ended(err))
	}
	return nil
}

// ended says of an answer that was cut that it was.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle")
	}
	return err
}

// matches holds an object against the schema.
func matches(s *jsonschema.Schema, object []byte) error {
	r, err := s.Resolve(nil)
	if err != nil {
		return fmt.Errorf("resolve schema: %w", err)
	}
	var v any
	if err := json.Unmarshal(object, &v); err != nil {
		return invalid("the answer is not valid JSON: %v", err)
	}
	if err := r.Validate(v); err != nil {
		return invalid("%s", strings.TrimPrefix(err.Error(), "validating root: "))
	}
	return nil
}
