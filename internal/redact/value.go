package redact

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"
)

// Value returns v without the secrets in its texts, wherever in it they stand. What has
// none is returned as it is; v itself never changes. Types of texts with a name of their
// own, as ids and states, are left alone, but for JSON that is kept as text.
func Value[T any](r *Redactor, v T) T {
	if r == nil {
		return v
	}
	rv := reflect.ValueOf(&v).Elem()
	if out, changed := r.walk(rv); changed {
		rv.Set(out)
	}
	return v
}

// walk returns a copy of v where something in it has changed.
func (r *Redactor) walk(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		return r.walkString(v)
	case reflect.Pointer, reflect.Interface:
		return r.walkPointer(v)
	case reflect.Struct:
		return r.walkStruct(v)
	case reflect.Slice, reflect.Array:
		return r.walkList(v)
	case reflect.Map:
		return r.walkMap(v)
	}
	return v, false
}

func (r *Redactor) walkString(v reflect.Value) (reflect.Value, bool) {
	raw := v.Type().Name() == "RawObject"
	if v.Type() != reflect.TypeFor[string]() && !raw || v.Len() < Least {
		return v, false
	}
	was := v.String()
	var now string
	if raw {
		now = string(r.JSON([]byte(was)))
	} else {
		now = r.String(was)
	}
	if now == was {
		return v, false
	}
	out := reflect.New(v.Type()).Elem()
	out.SetString(now)
	return out, true
}

func (r *Redactor) walkPointer(v reflect.Value) (reflect.Value, bool) {
	if v.IsNil() {
		return v, false
	}
	in, changed := r.walk(v.Elem())
	if !changed {
		return v, false
	}
	if v.Kind() == reflect.Interface {
		return in, true
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(in)
	return out, true
}

func (r *Redactor) walkStruct(v reflect.Value) (reflect.Value, bool) {
	t := v.Type()
	if t == reflect.TypeFor[time.Time]() {
		return v, false
	}
	out, changed := v, false
	for i := range v.NumField() {
		if !t.Field(i).IsExported() {
			continue
		}
		f, ok := r.walk(v.Field(i))
		if !ok {
			continue
		}
		if !changed {
			out, changed = reflect.New(t).Elem(), true
			out.Set(v)
		}
		out.Field(i).Set(f)
	}
	return out, changed
}

func (r *Redactor) walkList(v reflect.Value) (reflect.Value, bool) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		if v.Kind() != reflect.Slice || v.Type() != reflect.TypeFor[json.RawMessage]() {
			return v, false
		}
		now := r.JSON(v.Bytes())
		return reflect.ValueOf(json.RawMessage(now)), !bytes.Equal(now, v.Bytes())
	}
	out, changed := v, false
	for i := range v.Len() {
		e, ok := r.walk(v.Index(i))
		if !ok {
			continue
		}
		if !changed {
			out, changed = reflect.New(v.Type()).Elem(), true
			if v.Kind() == reflect.Slice {
				out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			}
			reflect.Copy(out, v)
		}
		out.Index(i).Set(e)
	}
	return out, changed
}

func (r *Redactor) walkMap(v reflect.Value) (reflect.Value, bool) {
	changed := false
	out := reflect.MakeMap(v.Type())
	for it := v.MapRange(); it.Next(); {
		key, k := r.walk(it.Key())
		value, e := r.walk(it.Value())
		changed = changed || k || e
		out.SetMapIndex(key, value)
	}
	if !changed {
		return v, false
	}
	return out, true
}

// JSON returns a JSON text without the secrets in its strings. What is no JSON is a text.
func (r *Redactor) JSON(text []byte) []byte {
	if r == nil || len(text) < Least || r.String(string(text)) == string(text) && !bytes.ContainsRune(text, '\\') {
		return text
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil || dec.More() {
		return []byte(r.String(string(text)))
	}
	now := r.walkAny(v)
	var was, b bytes.Buffer
	for v, b := range map[*bytes.Buffer]any{&was: v, &b: now} {
		enc := json.NewEncoder(v)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(b); err != nil {
			return []byte(strings.TrimSpace(r.String(string(text))))
		}
	}
	if bytes.Equal(was.Bytes(), b.Bytes()) {
		return text
	}
	return bytes.TrimSpace(b.Bytes())
}

func (r *Redactor) walkAny(v any) any {
	switch v := v.(type) {
	case string:
		return r.String(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.walkAny(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[r.String(k)] = r.walkAny(e)
		}
		return out
	}
	return v
}
