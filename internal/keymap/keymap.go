// Package keymap owns which key does what on the dashboard and on the terminal screen: the usual
// keys, those that a person chose instead (ui.keys in ralph/config.yaml), and why some cannot be.
//
// It does NOT own what actions are, nor their usual keys (action), nor what a key of the screen
// does (ui).
package keymap

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/text"
)

// Move is what a key of the screen does that is no action.
type Move struct {
	Name string
	Key  string   // the usual one, that another one takes the place of
	Also []string // keys that do the same; a chosen key takes the place of the letters among them
	Both bool     // the dashboard has it too
}

// Moves are the keys of the screen itself that can be chosen. What every terminal program has
// stays: arrows, enter, esc, tab, ctrl+c, and the numbers of the lists.
func Moves() []Move {
	return []Move{
		{Name: "earlier", Key: ",", Also: []string{"left"}, Both: true},
		{Name: "later", Key: ".", Also: []string{"right"}, Both: true},
		{Name: "far-earlier", Key: "<", Also: []string{"shift+left"}},
		{Name: "far-later", Key: ">", Also: []string{"shift+right"}},
		{Name: "next", Key: "j", Also: []string{"down"}, Both: true},
		{Name: "previous", Key: "k", Also: []string{"up"}, Both: true},
		{Name: "first", Key: "g", Also: []string{"home"}},
		{Name: "last", Key: "G", Also: []string{"end"}},
		{Name: "page-down", Key: "pgdown", Also: []string{"ctrl+d"}},
		{Name: "page-up", Key: "pgup", Also: []string{"ctrl+u"}},
		{Name: "into", Key: "enter", Also: []string{"l", "right"}},
		{Name: "back", Key: "esc", Also: []string{"h", "left"}},
		{Name: "next-view", Key: "]"},
		{Name: "previous-view", Key: "["},
		{Name: "follow", Key: "f"},
		{Name: "wrap", Key: "w"},
		{Name: "zoom", Key: "z"},
		{Name: "search", Key: "/", Both: true},
		{Name: "next-found", Key: "n"},
		{Name: "previous-found", Key: "N"},
		{Name: "palette", Key: ":", Also: []string{"ctrl+p"}},
		{Name: "menu", Key: "x"},
		{Name: "task-up", Key: "K", Also: []string{"shift+up"}},
		{Name: "task-down", Key: "J", Also: []string{"shift+down"}},
		{Name: "switch", Key: "space"},
		{Name: "undo", Key: "u"},
		{Name: "travel", Key: "t"},
		{Name: "copy", Key: "y"},
		{Name: "theme", Key: "T"},
		{Name: "redraw", Key: "ctrl+l"},
		{Name: "suspend", Key: "ctrl+z"},
		{Name: "help", Key: "?", Both: true},
		{Name: "leave", Key: "q", Also: []string{"ctrl+c"}},
	}
}

// Names are all that can have a key of its own, actions first.
func Names() []string {
	var out []string
	for _, a := range action.Actions() {
		out = append(out, a.Name)
	}
	for _, m := range Moves() {
		out = append(out, m.Name)
	}
	return out
}

// Unknown says what is wrong with a name that can have no key, "" for nothing.
func Unknown(name string) string {
	best, least := "", max(1, len(name)/4)+1
	for _, n := range Names() {
		if n == name {
			return ""
		}
		if d := ralph.Slips(strings.ToLower(name), n); d < least {
			best, least = n, d
		}
	}
	words := fmt.Sprintf("has `%.60s`, which is no action and no key of the screen", text.Visible(name))
	if best != "" {
		return words + "; did you mean `" + best + "`?"
	}
	return words + ": docs/ui.md lists them"
}

// Of are the keys that do what a name says, the one to show first.
func Of(keys action.Keys, name string) []string {
	for _, m := range Moves() {
		if m.Name != name {
			continue
		}
		chosen, ok := keys[name]
		if !ok {
			return append([]string{m.Key}, m.Also...)
		}
		out := []string{chosen}
		for _, k := range append([]string{m.Key}, m.Also...) {
			if !letter(k) && k != chosen && always(k) {
				out = append(out, k)
			}
		}
		return out
	}
	return []string{keys.Of(name)}
}

// always reports whether a key keeps what it does beside a chosen one.
func always(k string) bool {
	return k != "space" && (!strings.HasPrefix(k, "ctrl+") || k == "ctrl+c")
}

// Wrong is a choice that cannot be.
type Wrong struct {
	Name string // whose key it is
	Why  string
}

func (w *Wrong) Error() string { return w.Why }

// Resolve is the map of what a person chose, by name. Actions that share their usual key, such as
// pause and resume, share the chosen one: they are never offered at once.
func Resolve(chosen map[string]string) (action.Keys, error) {
	if len(chosen) == 0 {
		return nil, nil
	}
	actions := action.Actions()
	out := action.Keys{}
	for _, name := range Names() { // always in the same order: so is what is said first
		k, ok := chosen[name]
		if !ok {
			continue
		}
		if why := refused(name, k, slices.ContainsFunc(actions, func(a action.Action) bool { return a.Name == name })); why != "" {
			return nil, &Wrong{name, why}
		}
		out[name] = k
		usual := action.Named(name).Key
		for _, a := range actions {
			if usual == "" || a.Key != usual || a.Name == name {
				continue
			}
			if other, named := chosen[a.Name]; named && other != k {
				return nil, &Wrong{name, fmt.Sprintf("%s and %s share a key, as one of them can be done at a time: name one, or give both the same", name, a.Name)}
			}
			out[a.Name] = k
		}
	}
	for name := range chosen {
		if why := Unknown(name); why != "" {
			return nil, &Wrong{name, name + " " + why}
		}
	}
	return out, collision(out, chosen, actions)
}

// refused says why a name cannot have a key, "" where it can.
func refused(name, k string, isAction bool) string {
	m := Move{}
	for _, x := range Moves() {
		if x.Name == name {
			m = x
		}
	}
	switch {
	case isAction || m.Both:
		if !letter(k) {
			return fmt.Sprintf("the key of %s must be one sign, such as P or !: the dashboard has it too", name)
		}
		if k == "g" {
			return "g begins the keys of the dashboard's pages, such as g o"
		}
	case k == m.Key || slices.Contains(m.Also, k):
		return ""
	case !letter(k) && k != "space" && !function(k) && !control(k):
		return fmt.Sprintf("the key of %s must be one sign, space, f1 to f12, or ctrl with a letter, such as ctrl+g", name)
	}
	if k >= "0" && k <= "9" {
		return "the numbers lead to the lists"
	}
	return ""
}

// letter reports whether a key is one sign that can be typed and seen.
func letter(k string) bool {
	r, n := utf8.DecodeRuneInString(k)
	return k != "" && n == len(k) && r != utf8.RuneError && unicode.IsPrint(r) && r != ' ' && !wide(r)
}

// wide reports whether a sign may take two columns, or none: keys stand in lines of one each.
func wide(r rune) bool { return r >= 0x1100 || unicode.Is(unicode.M, r) }

func function(k string) bool {
	return slices.Contains([]string{"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12"}, k)
}

// control reports whether a key is ctrl with a letter that terminals tell from all others:
// ctrl+h is backspace, ctrl+i tab, ctrl+j and ctrl+m enter; ctrl+c always leaves.
func control(k string) bool {
	c, ok := strings.CutPrefix(k, "ctrl+")
	return ok && len(c) == 1 && strings.ContainsAny(c, "abdefgklnopqrstuvwxyz")
}

// collision says which key would do two things.
func collision(out action.Keys, chosen map[string]string, actions []action.Action) error {
	type owner struct{ name, group string }
	owners := map[string]owner{}
	take := func(k, name, group string) error {
		was, taken := owners[k]
		if k == "" || !taken || was.group == group {
			owners[k] = owner{name, group}
			return nil
		}
		at := name // the one that a person wrote
		if _, named := chosen[was.name]; named {
			at = was.name
		}
		other := was.name
		if other == at {
			other = name
		}
		return &Wrong{at, fmt.Sprintf("%s is the key of %s too: one of them needs another", k, other)}
	}
	for _, m := range Moves() {
		for _, k := range Of(out, m.Name) {
			if k == "left" || k == "right" {
				continue // of time, and between panels: never both
			}
			if err := take(k, m.Name, m.Name); err != nil {
				return err
			}
		}
	}
	for _, a := range actions {
		group := a.Name
		if a.Key != "" {
			group = "key " + a.Key
		}
		if err := take(out.Of(a.Name), a.Name, group); err != nil {
			return err
		}
	}
	return nil
}
