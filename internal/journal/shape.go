package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"reflect"

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
	h := sha256.New()
	describe(h, t, map[reflect.Type]bool{})
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func describe(w io.Writer, t reflect.Type, seen map[reflect.Type]bool) {
	fmt.Fprintf(w, "%s(", t.Kind())
	switch t.Kind() {
	case reflect.Struct:
		if seen[t] {
			fmt.Fprint(w, t)
			break
		}
		seen[t] = true
		for f := range t.Fields() {
			tag := f.Tag.Get("json")
			if tag == "-" || !f.IsExported() && !f.Anonymous {
				continue
			}
			fmt.Fprintf(w, "%s %q ", f.Name, tag)
			describe(w, f.Type, seen)
		}
	case reflect.Map:
		describe(w, t.Key(), seen)
		describe(w, t.Elem(), seen)
	case reflect.Array:
		fmt.Fprint(w, t.Len(), " ")
		describe(w, t.Elem(), seen)
	case reflect.Pointer, reflect.Slice:
		describe(w, t.Elem(), seen)
	}
	fmt.Fprint(w, ")")
}
