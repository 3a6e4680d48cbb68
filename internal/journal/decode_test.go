package journal

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/ralph-loop/ralph"
)

// A snapshot is read with another library than it is written with, in half the time: whatever a state and
// its tasks can hold, both read the same.
func TestSnapshotsReadTheSame(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{"words", "", "\"\\\n\t<&>\u2028é😀\x00", "\xff cut"} {
		var s ralph.State
		var task ralph.Task
		fill(reflect.ValueOf(&s).Elem(), odd, 0)
		fill(reflect.ValueOf(&task).Elem(), odd, 0)
		same[ralph.State](t, &s)
		same[ralph.Task](t, &task)
	}
	for _, text := range []string{`{}`, `null`, `{"ID":1,"id":"t-1"}`, `{"id":"t-1","id":"t-2"}`, `{"iD":"t-1","unknown":[{}]}`, `{"id":`, `[]`, `{"id":"\ud800"}`} {
		var a, b ralph.Task
		want, got := json.Unmarshal([]byte(text), &a), jsonv1.Unmarshal([]byte(text), &b)
		if (want == nil) != (got == nil) || want == nil && !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %+v, %v; want %+v, %v", text, b, got, a, want)
		}
	}
}

func same[T any](t *testing.T, v *T) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var a, b T
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if err := jsonv1.Unmarshal(text, &b); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%T of %d bytes is read otherwise: %v", *v, len(text), err)
	}
	if len(text) < 1000 {
		t.Errorf("%T has hardly anything in it: %s", *v, text)
	}
}

// fill gives all that can be set a value that is none of nothing.
func fill(v reflect.Value, word string, depth int) {
	const deep = 7
	if depth > deep || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[ralph.RawObject]() {
			word = `{"a":[1]}`
		}
		v.SetString(word)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), word, depth+1)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":[1]}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), word, depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), word, depth+1)
		}
	case reflect.Map:
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, "key", depth+1)
		fill(elem, word, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, elem)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 27, 1, 2, 3, 4000, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), word, depth+1)
		}
	}
}
