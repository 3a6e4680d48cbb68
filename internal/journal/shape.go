package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strconv"

	"github.com/ralph-loop/ralph"
)

// stateShape names the shape that State has in this build. It is part of the key of a
// snapshot: one that was written without a field of today lacks what the facts say of
// it, for good. It takes a good part of a millisecond, so it is asked for only where
// there is a snapshot.
func stateShape() string { return shape(reflect.TypeFor[ralph.State]()) }

// shape is a name for how a type is written as JSON: its fields with their types and
// tags, at any depth.
func shape(t reflect.Type) string {
	sum := sha256.Sum256(describe(make([]byte, 0, 32<<10), t, map[reflect.Type]bool{}))
	return hex.EncodeToString(sum[:16])
}

// describe adds the words on a type to b: without fmt, since each `ralph status` waits for it.
func describe(b []byte, t reflect.Type, seen map[reflect.Type]bool) []byte {
	b = append(append(b, t.Kind().String()...), '(')
	switch t.Kind() {
	case reflect.Struct:
		if seen[t] {
			b = append(b, t.String()...)
			break
		}
		seen[t] = true
		for i := range t.NumField() {
			f := t.Field(i)
			tag := f.Tag.Get("json")
			if tag == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			b = append(append(b, f.Name...), ' ')
			b = append(strconv.AppendQuote(b, tag), ' ')
			b = describe(b, f.Type, seen)
		}
	case reflect.Map:
		b = describe(b, t.Key(), seen)
		b = describe(b, t.Elem(), seen)
	case reflect.Array:
		b = append(strconv.AppendInt(b, int64(t.Len()), 10), ' ')
		b = describe(b, t.Elem(), seen)
	case reflect.Pointer, reflect.Slice:
		b = describe(b, t.Elem(), seen)
	}
	return append(b, ')')
}
