package termtext

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Long lines go on below their own beginning, and no word is lost.
func TestWrap(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                                     {""},
		"Spec:    a.md":                        {"Spec:    a.md"},
		"Queue:   one two three four":          {"Queue:   one two", "         three four"},
		"      ralph answer the long one here": {"      ralph answer", "        the long one", "        here"},
		"         > words of an agent at it":   {"         > words of", "          an agent", "          at it"},
		"12  10:30:00  t-1a2b  a b":            {"12  10:30:00  t-1a2b", "          a b"},
		"aaaaaaaaaaaaaaaaaaaaaaaaa":            {"aaaaaaaaaaaaaaaaaaaa", "aaaaa"},
		"Slot 1:  äöüäöüäöü äöüäöü":            {"Slot 1:  äöüäöüäöü", "         äöüäöü"},
	} {
		if diff := cmp.Diff(want, wrap(line, 20)); diff != "" {
			t.Errorf("%q: %s", line, diff)
		}
	}
}

// NO_COLOR and a dumb terminal get the same words without colours.
func TestLines(t *testing.T) {
	t.Parallel()
	text := "Needs you:\n  g-1  t-1  red?\n      ralph answer g-1\n\nEngine:  running\nBudget:  session: $9 (90%, NEARLY USED UP)\n         > words\n"
	colored := strings.Join(Lines(text, 80, Colored([]string{"TERM=xterm"})), "\n")
	for _, want := range []string{"\x1b[1;33mNeeds you:\x1b[0m", "\x1b[1;33m  g-1  t-1  red?\x1b[0m", "\x1b[2mEngine:  \x1b[0mrunning", "\x1b[33mNEARLY USED UP\x1b[0m)", "\x1b[2m         > words\x1b[0m"} {
		if !strings.Contains(colored, want) {
			t.Errorf("no %q in %q", want, colored)
		}
	}
	for _, environ := range [][]string{{"TERM=xterm", "NO_COLOR=1"}, {"TERM=dumb"}} {
		if diff := cmp.Diff(text, strings.Join(Lines(text, 80, Colored(environ)), "\n")+"\n"); diff != "" {
			t.Errorf("%v: %s", environ, diff)
		}
	}
}
