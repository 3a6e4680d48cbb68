package keymap_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/keymap"
)

func TestEachNameIsOneThing(t *testing.T) {
	names := keymap.Names()
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("a name is an action and a key of the screen:", names)
	}
}

// The page about the screen names every key that can be chosen.
func TestMovesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/ui.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range keymap.Moves() {
		if !strings.Contains(string(page), "`"+m.Name+"`") {
			t.Errorf("docs/ui.md does not name %s", m.Name)
		}
	}
}

// What a person chooses, and what it is refused with.
func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		name   string
		chosen map[string]string
		want   map[string]string // by name: the first key
		why    string
	}{
		{name: "none", want: map[string]string{"pause": "p", "next": "j", "skip": ""}},
		{name: "an action", chosen: map[string]string{"retry": "E"}, want: map[string]string{"retry": "E", "edit": "e"}},
		{name: "an action without a key", chosen: map[string]string{"skip": "S"}, want: map[string]string{"skip": "S"}},
		{name: "those that share a key", chosen: map[string]string{"pause": "P"}, want: map[string]string{"pause": "P", "resume": "P"}},
		{name: "the same for both", chosen: map[string]string{"stop": "!", "stop-now": "!"}, want: map[string]string{"stop": "!", "stop-now": "!"}},
		{name: "two that change places", chosen: map[string]string{"retry": "e", "edit": "r"}, want: map[string]string{"retry": "e", "edit": "r"}},
		{name: "of the screen", chosen: map[string]string{"redraw": "f5", "suspend": "ctrl+g", "switch": "b"}, want: map[string]string{"redraw": "f5", "suspend": "ctrl+g", "switch": "b"}},
		{name: "its own other key", chosen: map[string]string{"into": "l"}, want: map[string]string{"into": "l"}},
		{name: "what shares one, apart", chosen: map[string]string{"pause": "P", "resume": "O"}, why: "pause and resume share a key"},
		{name: "a key that is taken", chosen: map[string]string{"skip": "a"}, why: "a is the key of approve too"},
		{name: "a key of the screen", chosen: map[string]string{"retry": "j"}, why: "j is the key of next too"},
		{name: "a letter beside a key of the screen", chosen: map[string]string{"skip": "h"}, why: "h is the key of back too"},
		{name: "the numbers", chosen: map[string]string{"skip": "3"}, why: "the numbers lead to the lists"},
		{name: "of the dashboard's pages", chosen: map[string]string{"skip": "g", "first": "b"}, why: "g begins the keys of the dashboard"},
		{name: "no sign", chosen: map[string]string{"skip": "ctrl+k"}, why: "must be one sign"},
		{name: "nothing", chosen: map[string]string{"skip": ""}, why: "must be one sign"},
		{name: "two columns", chosen: map[string]string{"skip": "漢"}, why: "must be one sign"},
		{name: "enter by another name", chosen: map[string]string{"redraw": "ctrl+m"}, why: "or ctrl with a letter"},
		{name: "leaving", chosen: map[string]string{"redraw": "ctrl+c"}, why: "or ctrl with a letter"},
		{name: "nobody's", chosen: map[string]string{"fly": "F"}, why: "which is no action and no key of the screen"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keys, err := keymap.Resolve(tt.chosen)
			if tt.why != "" {
				if err == nil || !strings.Contains(err.Error(), tt.why) {
					t.Fatalf("got %v, want %q", err, tt.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range tt.want {
				if got := keymap.Of(keys, name)[0]; got != want {
					t.Errorf("%s has %q, want %q", name, got, want)
				}
			}
		})
	}
}

// Whatever is chosen and not refused: a key does one thing, and nobody is locked in.
func TestNoKeyDoesTwoThings(t *testing.T) {
	names := keymap.Names()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.StringMatching(`[a-zA-Z+!]`), rapid.SampledFrom([]string{"space", "f5", "ctrl+g", "ctrl+d", "pgdown", "?", "/"}))
		keys, err := keymap.Resolve(rapid.MapOfN(rapid.SampledFrom(names), key, 1, 6).Draw(t, "chosen"))
		if err != nil {
			return
		}
		does := map[string]string{}
		for _, m := range keymap.Moves() {
			for _, k := range keymap.Of(keys, m.Name) {
				if was, ok := does[k]; ok && k != "left" && k != "right" {
					t.Fatalf("%s is the key of %s and of %s", k, was, m.Name)
				}
				does[k] = m.Name
			}
		}
		for _, a := range action.Actions() {
			if was, ok := does[keys.Of(a.Name)]; ok && keys.Of(a.Name) != "" && !shares(was, a) {
				t.Fatalf("%s is the key of %s and of %s", keys.Of(a.Name), was, a.Name)
			}
			does[keys.Of(a.Name)] = a.Name
		}
		for _, k := range []string{"ctrl+c", "esc", "enter", "up", "down"} {
			if does[k] == "" {
				t.Fatalf("%s does nothing any more", k)
			}
		}
	})
}

func shares(name string, a action.Action) bool {
	return a.Key != "" && action.Named(name).Key == a.Key
}
