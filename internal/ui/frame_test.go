package ui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph/internal/ui/draw"
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

// scenes are what a person sees, each after some keys.
func scenes() map[string][]string {
	return map[string][]string{
		"slots":    nil,
		"plan":     {"2", "j", "j"},
		"ask":      {"3"},
		"diff":     {"2", "j", "]", "]", "]"},
		"yes":      {"3", "a"},
		"edit":     {"2", "G", "e"},
		"help":     {"?"},
		"then":     {"2", "t", ",", ","},
		"menu":     {"2", "j", "x"},
		"services": {"8"},
	}
}

// pictured is the repository of a scene.
func pictured(t *testing.T, name string) *repository {
	if name == "services" {
		return withServices(t)
	}
	return atWork(t)
}

// Golden pictures in three sizes.
func TestPictures(t *testing.T) {
	t.Parallel()
	for name, keys := range scenes() {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {60, 20}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				p := play(t, pictured(t, name), size[0], size[1]).press(keys...)
				golden(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), p.text())
			})
		}
	}
}

// The same picture in both themes, with 16 colours and without any: NO_COLOR and poor
// terminals keep every word, and what is chosen is still told from the rest.
func TestColours(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 80, 24).press("2", "j", "]", "]", "]")
	for name, theme := range map[string]*draw.Theme{
		"dark": draw.NewTheme(colorprofile.TrueColor, true), "light": draw.NewTheme(colorprofile.TrueColor, false),
		"basic": draw.NewTheme(colorprofile.ANSI, true), "none": draw.NewTheme(colorprofile.Ascii, true),
	} {
		golden(t, "colours-"+name, strings.ReplaceAll(theme.Frame(p.m.frame()), "\x1b", "␛")+"\n")
	}
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
