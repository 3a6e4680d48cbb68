package action_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/action"
)

// Each surface writes the same link its own way, and nothing else changes.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, commands, buttons string }{
		{"no link", "no link", "no link"},
		{"`[[retry t-1a2b]]` tries it again", "`ralph task retry t-1a2b` tries it again", "Retry (r) on t-1a2b tries it again"},
		{"[[extend t-1 --time 30m]] && [[retry t-1]]", "ralph task extend t-1 --time 30m && ralph task retry t-1", "More iterations or time (+) on t-1 && Retry (r) on t-1"},
		{"[[stop-now]]", "ralph stop --now", "Stop now (s)"},
		{"[[autopilot]]", "ralph mode autopilot", "Autopilot"},
		{"[[start autopilot --mode semi]]", "ralph autopilot --mode semi", "Start (autopilot --mode semi)"},
		{"`[[gates g-1]]` shows it", "`ralph gates g-1` shows it", "Gates shows it"},
		{"(`[[recovery list]]`)", "(`ralph recover list`)", "(`ralph recover list`)"},
		{"[[queue feature.md]]", "ralph inbox add feature.md", "Queue a spec"},
		{`"[[answer g-1 \"...\"]]"`, `"ralph answer g-1 \"...\""`, `"Answer (a) on g-1"`}, // in JSON
		{"[[plan &lt;spec&gt;]]", "ralph plan &lt;spec&gt;", "`ralph plan &lt;spec&gt;`"}, // in HTML
		{"if [[ -f x ]]; then [[ stop ]]", "if [[ -f x ]]; then [[ stop ]]", "if [[ -f x ]]; then [[ stop ]]"},
		{"`[[wiki]]` [[a [[gates]]", "`[[wiki]]` [[a ralph gates", "`[[wiki]]` [[a Gates"},
	} {
		for i, got := range []string{action.Commands(tt.text), action.Keys(nil).Buttons(tt.text)} {
			if want := []string{tt.commands, tt.buttons}[i]; got != want {
				t.Errorf("%s\n got %s\nwant %s", tt.text, got, want)
			}
		}
	}
}

// A link is written as one however it comes to the writer; what is none is not held back.
func TestLinksInAStream(t *testing.T) {
	t.Parallel()
	text := "a[0] [[gates]]\n[[ -f x ]] [[retry t-1]][\n[[" + strings.Repeat("x", 400) + " [[stop]] [y/N] [[sto"
	want := action.Commands(text)
	for size := 1; size <= len(text); size++ {
		var b strings.Builder
		w := action.NewWriter(&b, action.Commands)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if m, err := w.Write([]byte(rest[:n])); m != n || err != nil {
				t.Fatal(m, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil || b.String() != want {
			t.Fatalf("in pieces of %d: %v\n got %s\nwant %s", size, err, b.String(), want)
		}
	}
	var b strings.Builder
	w := action.NewWriter(&b, action.Commands)
	if _, _ = w.Write([]byte("really? [y/N] ")); b.String() != "really? [y/N] " {
		t.Errorf("held back: %q", b.String())
	}
}
