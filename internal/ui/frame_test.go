package ui

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
)

var update = flag.Bool("update", false, "write the pictures anew")

func golden(t *testing.T, name, have string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), have); d != "" {
		t.Errorf("%s (go test ./internal/ui -update, and look at it):\n%s", name, d)
	}
}

// scene is what a person sees after some keys.
type scene struct {
	name  string
	of    func(testing.TB) *repository // atWork where it is nil
	keys  []string
	right bool // it is about the right panel: where one panel is shown at a time, it is that one
	then  func(*player)
}

// scenes are each list, each view of what is chosen, what opens above the screen, and the past.
func scenes() []scene {
	view := func(n int, keys ...string) []string { return append(keys, slices.Repeat([]string{"]"}, n)...) }
	return []scene{
		{name: "list-1-slots"},
		{name: "list-2-plan", keys: []string{"2", "j", "j"}},
		{name: "list-3-needs", keys: []string{"3"}},
		{name: "list-4-merge", of: merging, keys: []string{"4"}},
		{name: "list-5-inbox", of: withSpecs, keys: []string{"5"}},
		{name: "list-6-threads", of: threads, keys: []string{"6"}},
		{name: "list-7-decisions", keys: []string{"7"}},
		{name: "list-8-services", of: withServices, keys: []string{"8"}},
		{name: "list-1-workers", of: onFleet, keys: []string{"j", "j", "j"}},

		{name: "view-output", keys: []string{"1"}, right: true},
		{name: "view-asks", keys: []string{"3"}, right: true},
		{name: "view-why", keys: []string{"2", "j", "j"}, right: true},
		{name: "view-items", of: withItems, keys: view(2, "2", "j"), right: true},
		{name: "view-diff", keys: view(3, "2", "j"), right: true},
		{name: "view-checks", of: merging, keys: view(4, "2", "j"), right: true},
		{name: "view-receipts", keys: view(5, "2", "j"), right: true},
		{name: "view-history", keys: view(6, "2", "j"), right: true},
		{name: "view-receipt", keys: []string{"7", "j", "j"}, right: true},
		{name: "view-spec", of: withSpecs, keys: []string{"5", "j"}, right: true},
		{name: "view-service", of: withServices, keys: []string{"8"}, right: true},
		{name: "view-thread", of: threads, keys: []string{"6"}, right: true},
		{name: "view-conflict", of: conflicting, keys: []string{"2", "j"}, right: true},

		{name: "open-question", keys: []string{"s"}},
		{name: "open-approval", keys: []string{"3", "a"}},
		{name: "open-form", keys: []string{"2", "G", "e"}},
		{name: "open-help", keys: []string{"?"}},
		{name: "open-menu", keys: []string{"2", "j", "x"}},
		{name: "open-palette", keys: []string{":", "d", "o", "c", "s"}},
		{name: "open-search", keys: []string{"2", "/", "d", "a", "t", "e"}},
		{name: "open-settings", then: func(p *player) {
			p.m.popup = wrongSettings(errors.New("ralph/config.yaml:2: `paralel` is no setting; did you mean `parallel`?"), "", "")
		}},

		{name: "past", keys: []string{"2", "t", ",", ","}},
		{name: "past-slots", keys: []string{"1", "t", "<", "<"}},
		{name: "engine-died", then: func(p *player) { p.r.alive = false; p.look() }},
		{name: "nothing", of: idle, keys: []string{"1"}},
	}
}

// merging is atWork whose second task is done, and waits behind a merge under way.
func merging(t testing.TB) *repository {
	r := atWork(t)
	r.story.Turn("t-0002", 30*time.Second, func(f *ralph.TurnEnded) { f.Signal.Kind = ralph.SignalComplete })
	r.story.Checks("t-0002", false)
	r.story.Turn("t-0002", 20*time.Second, func(f *ralph.TurnEnded) { f.Signal.Kind = ralph.SignalComplete })
	r.story.Checks("t-0002", true)
	r.story.Done("t-0002")
	r.story.Merge("t-0002")
	return r
}

// conflicting is atWork whose second task is done and cannot be merged as it is.
func conflicting(t testing.TB) *repository {
	r := atWork(t)
	r.story.Turn("t-0002", 30*time.Second, func(f *ralph.TurnEnded) { f.Signal.Kind = ralph.SignalComplete })
	r.story.Checks("t-0002", true)
	r.story.Done("t-0002")
	r.story.Conflict("t-0002", "body.go")
	return r
}

// withSpecs is atWork with a queue.
func withSpecs(t testing.TB) *repository {
	r := atWork(t)
	for i, x := range []ralph.Spec{
		{ID: "i-1", File: "old.md", Status: ralph.SpecDone},
		{ID: "i-2", File: "broken.md", Status: ralph.SpecFailed, Error: "no plan"},
		{ID: "i-3", File: "feature-x.md", Status: ralph.SpecActive},
		{ID: "i-4", File: "feature-y.md", Status: ralph.SpecPending, Priority: 7},
	} {
		x.AddedAt = r.story.Now.Add(time.Duration(i) * time.Second)
		r.add(ralph.SpecAdded{Spec: x})
	}
	for _, name := range []string{"feature-x", "feature-y"} {
		path := filepath.Join(r.root, "ralph/specs", name+".md")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("# The "+name+"\n\nIt has a header and a body.\n\n- [ ] the header is read\n- [ ] the body is written, in whole words, and in lines that are longer than a small screen is wide\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// withItems is atWork whose first agent tells what it plans and does.
func withItems(t testing.TB) *repository {
	r := atWork(t)
	write(t, r.root, "t-0002/2/feed.json", `{"plan": [{"text": "read the header", "status": "completed"}, {"text": "write the body", "status": "in_progress"}, {"text": "test it"}],
		"more": 3, "items": [{"kind": "reasoning", "text": "The body comes behind the header.", "status": "completed"},
		{"kind": "edit", "type": "Edit", "text": "body.go", "files": ["body.go", "body_test.go"], "status": "completed"},
		{"kind": "command", "type": "Bash", "text": "go test ./...", "exit": 1, "status": "failed"}, {"kind": "command", "type": "Bash", "text": "go vet ./..."}]}`)
	return r
}

// idle is a session that has ended with nothing left.
func idle(t testing.TB) *repository {
	r := atWork(t)
	r.story.Finish(ralph.ReasonComplete, "the inbox is empty")
	r.alive = false
	return r
}

// played is a scene on a terminal of a size.
func (x scene) played(t *testing.T, columns, rows int) *player {
	t.Helper()
	of := atWork
	if x.of != nil {
		of = x.of
	}
	p := play(t, of(t), columns, rows).press(x.keys...)
	if x.right && p.m.single() && !p.m.right {
		p.press("enter")
	}
	if x.then != nil {
		x.then(p)
	}
	return p
}

// Each list, each view, what is open above them and the past: their words in three sizes, and their
// colours where little is shown, in both themes and without any. Each theme has
// its sequences by letters, in front of its picture.
func TestPictures(t *testing.T) {
	t.Parallel()
	for _, x := range scenes() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, size := range [][2]int{{120, 40}, {80, 24}, {60, 20}} {
				fmt.Fprintf(&b, "═══ %d by %d\n%s", size[0], size[1], x.played(t, size[0], size[1]).text())
			}
			lines := x.played(t, 60, 20).m.frame()
			for _, theme := range themes() {
				legend, picture := lettered(theme.Frame(lines))
				fmt.Fprintf(&b, "═══ 60 by 20, %s: %s\n%s\n", theme.name, legend, picture)
			}
			golden(t, x.name, b.String())
		})
	}
}

// named is a theme with what people call it.
type named struct {
	name string
	*draw.Theme
}

func themes() []named {
	return []named{
		{"dark", draw.NewTheme(colorprofile.TrueColor, true)}, {"light", draw.NewTheme(colorprofile.TrueColor, false)}, {"no colour", draw.NewTheme(colorprofile.Ascii, true)},
	}
}

// lettered is a picture with a letter in the place of each sequence, and which is which.
func lettered(picture string) (legend, letters string) {
	var seen []string
	letters = regexp.MustCompile("\x1b\\[[^m]*m").ReplaceAllStringFunc(picture, func(s string) string {
		i := slices.Index(seen, s)
		if i < 0 {
			i, seen = len(seen), append(seen, s)
		}
		return "␛" + string(rune('a'+i))
	})
	for i, s := range seen {
		legend += fmt.Sprintf("␛%c %s  ", 'a'+i, s[2:])
	}
	return strings.TrimSpace(legend), letters
}

// The lists and views that are pictured are all there are.
func TestEveryListAndViewIsPictured(t *testing.T) {
	t.Parallel()
	tabs, views := map[panes.Tab]bool{}, map[panes.View]bool{}
	for _, x := range scenes() {
		p := x.played(t, 120, 40)
		v, _ := p.m.viewNow()
		tabs[p.m.tab], views[v] = true, true
	}
	for tab := range panes.Tabs {
		if !tabs[tab] {
			t.Errorf("no picture of the list %s", tab)
		}
	}
	for v := panes.ViewAsk; v <= panes.ViewService; v++ {
		if !views[v] {
			t.Errorf("no picture of the view %s", v)
		}
	}
}

// What a picture says does not hang on its colours: with 16, and with none, what is chosen is still
// told from the rest, and every word is there.
func TestColours(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 80, 24).press("2", "j", "]", "]", "]")
	basic := draw.NewTheme(colorprofile.ANSI, true)
	legend, picture := lettered(basic.Frame(p.m.frame()))
	golden(t, "colours-basic", legend+"\n"+picture+"\n")
	for _, theme := range append(themes(), named{"16", basic}) {
		picture := theme.Frame(p.m.frame())
		if words := regexp.MustCompile("\x1b\\[[^m]*m").ReplaceAllString(picture, ""); words != strings.TrimRight(p.whole(), "\n") {
			t.Errorf("in %s the words are others:\n%s", theme.name, words)
		}
		chosen := slices.IndexFunc(strings.Split(picture, "\n"), func(l string) bool { return strings.Contains(l, "t-0002") })
		with := strings.Split(picture, "\n")[chosen]
		without := strings.Split(theme.Frame(play(t, p.r, 80, 24).press("2").m.frame()), "\n")[chosen]
		if left, _, _ := strings.Cut(with, "││"); strings.HasPrefix(without, left) {
			t.Errorf("in %s the chosen row looks as it does when it is not chosen", theme.name)
		}
	}
}

// whole is the picture without colours, with the spaces at the ends of its lines.
func (p *player) whole() string {
	var b strings.Builder
	for _, l := range p.m.frame() {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

// Too small a terminal says so, and what matters most; it does nothing that cannot be seen.
func TestTooSmall(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 50, 12)
	p.want("50 by 12 is too small", "60 by 20", "1 needs you")
	before := p.r.story.Seq
	p.press("p", "s", "a", "y")
	if p.r.story.Seq != before {
		t.Error("a key did something on a screen that shows nothing")
	}
}

// What agents print steers no terminal: no title, no clearing, no turned direction.
func TestOutputIsSafe(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 30)
	p.want("ok  body.go", "I read body.go first.", `done \u202eevil`)
	if picture := p.m.theme.Frame(p.m.frame()); strings.ContainsAny(picture, "\a\u202e") || strings.Contains(picture, "\x1b[2J") || strings.Contains(picture, "\x1b]") {
		t.Errorf("control sequences of an agent are in the picture: %q", picture)
	}
}
