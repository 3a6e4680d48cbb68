package config

import (
	"reflect"
	"slices"
	"strings"
)

// later is a setting that is read and checked but whose feature is not built
// yet. This is the one list of them; a part that builds a feature removes its
// row. key is a key or a section; where only some words of a key work already,
// now names them.
type later struct {
	key string
	now []string
}

func notBuilt() []later {
	return nil
}

// Later returns a sentence for each setting of c that is not at its default
// although its feature is not built yet, for `ralph doctor`.
func Later(c Config) []string {
	var out []string
	usual := make(map[string]any)
	d := Defaults()
	for _, k := range d.keys() {
		usual[k.path] = k.v.plain()
	}
	for _, k := range c.keys() {
		row, ok := findLater(k.path)
		if !ok || reflect.DeepEqual(k.v.plain(), usual[k.path]) {
			continue
		}
		value := yamlText(k.v.plain())
		switch {
		case row.now == nil:
			out = append(out, show(k.path)+" is set, but what it does is not built yet: it has no effect")
		case !slices.Contains(row.now, value):
			out = append(out, show(k.path)+" is "+show(value)+", but so far only "+strings.Join(row.now, " or ")+" works")
		}
	}
	return out
}

func findLater(path string) (later, bool) {
	for _, row := range notBuilt() {
		if path == row.key || strings.HasPrefix(path, row.key+".") {
			return row, true
		}
	}
	return later{}, false
}
