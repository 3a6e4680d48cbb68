package ui

import (
	"slices"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/keymap"
	"github.com/ralph-loop/ralph/internal/ui/draw"
)

// Every key that can be chosen does something on the screen, and none is there without its name.
func TestEveryMoveIsBound(t *testing.T) {
	t.Parallel()
	var names []string
	for _, b := range bindings() {
		if b.name != "" {
			names = append(names, b.name)
		}
	}
	for _, m := range keymap.Moves() {
		if !slices.Contains(names, m.Name) {
			t.Errorf("%s can be chosen a key for and does nothing", m.Name)
		}
	}
	if len(names) != len(keymap.Moves()) {
		t.Errorf("the screen has %q, of which the key map does not know all", names)
	}
}

// The keys that a person chose do what they are chosen for, and nothing else does; the lines of
// keys, the help and words that name a key show them.
func TestChosenKeys(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	keys, err := keymap.Resolve(map[string]string{"pause": "P", "skip": "S", "next": "n", "next-found": "j", "help": "H", "undo": "U", "travel": "ctrl+t", "leave": "Q"})
	if err != nil {
		t.Fatal(err)
	}
	r.keys = keys
	p := play(t, r, 140, 40)
	p.want("⏸ Pause P", "P pause", "H keys", "Q leave", "ctrl+t time")

	before := r.story.Seq
	p.press("p", "u", "?")
	if r.story.Seq != before || p.m.popup != nil {
		t.Fatal("a key that was given away still does what it did")
	}
	p.press("P")
	if x, ok := newest(r).(ralph.Control); !ok || x.Want != ralph.WantPause {
		t.Fatalf("P made %#v", newest(r))
	}
	p.look()
	p.want("U undo")
	p.press("U")
	if x, ok := newest(r).(ralph.Control); !ok || x.Want != ralph.WantRun {
		t.Fatalf("U made %#v", newest(r))
	}
	p.look()

	p.press("2", "n", "n", "n", "n", "S")
	p.want("Skip", "t-0005")
	p.press("esc", "H")
	p.want("P         Pause", "n ↓       next", "U         undo", "ctrl+t    travel through time")
	p.press("esc", "t")
	p.wantNot("AS IT WAS")
	p.send(press("ctrl+t"))
	p.want("AS IT WAS")
}

// Words that name the key of an action have the one that a person chose, as wide as the usual one.
func TestWordsNameChosenKeys(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 80, 24)
	line := draw.Of(draw.Plain, "[[approve g-1]] or [[deny g-1]]; [[retry t-1]]")
	p.m.now.Context.Keys = action.Keys{"approve": "Y", "answer": "Y"}
	have := line.Keyed(p.m.now.Context.Keys.Chosen())
	if want := "Approve (Y) on g-1 or Deny (d) on g-1; Retry (r) on t-1"; have.String() != want {
		t.Errorf("got %s", have)
	}
	if have.Width() != line.Width() || line.String() != "Approve (a) on g-1 or Deny (d) on g-1; Retry (r) on t-1" {
		t.Errorf("the line was %s", line)
	}
}
