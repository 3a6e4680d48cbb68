package draw

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

// A terminal that was given the differences of pictures shows the same as one that was given
// the last of them alone; what has not changed is not written.
func TestCanvas(t *testing.T) {
	t.Parallel()
	theme := NewTheme(colorprofile.TrueColor, true)
	rapid.Check(t, func(t *rapid.T) {
		const columns, rows = 24, 4
		var c Canvas
		em := vt.NewEmulator(columns, rows)
		var picture []Line
		word := rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("ab │─▶界é👍 ")), 0, 9, -1), rapid.SampledFrom([]string{"e\u0301", "שלום", "same words", "same word"}))
		for range rapid.IntRange(1, 5).Draw(t, "pictures") {
			picture = nil
			for range rows {
				var l Line
				for range rapid.IntRange(0, 4).Draw(t, "spans") {
					l = l.Add(Style(rapid.IntRange(0, 3).Draw(t, "style")), word.Draw(t, "word"))
				}
				picture = append(picture, l.Fit(columns))
			}
			_, _ = em.Write(c.Paint(nil, theme, picture, columns))
		}
		if again := c.Paint(nil, theme, picture, columns); len(again) != 0 {
			t.Fatalf("the same picture writes %q", again)
		}
		whole := vt.NewEmulator(columns, rows)
		_, _ = whole.Write(new(Canvas).Paint(nil, theme, picture, columns))
		if em.Render() != whole.Render() {
			t.Fatalf("by differences:\n%s\nwhole:\n%s", em.String(), whole.String())
		}
		for y, l := range picture {
			if have := strings.Split(whole.String(), "\n")[y]; strings.TrimRight(have, " ") != strings.TrimRight(l.String(), " ") {
				t.Fatalf("line %d is %q, want %q", y, have, l.String())
			}
		}
	})
}

// One word more costs its own bytes, not those of its line.
func TestCanvasIsShort(t *testing.T) {
	t.Parallel()
	theme := NewTheme(colorprofile.TrueColor, true)
	var c Canvas
	at := func(words string) []byte {
		return c.Paint(nil, theme, []Line{Of(Plain, words).Fit(200), Of(Dim, "below").Fit(200)}, 200)
	}
	if n := len(at("one")); n < 400 {
		t.Fatalf("the whole picture is %d bytes", n)
	}
	if b := at("one two"); len(b) > 30 {
		t.Errorf("three letters more are %d bytes: %q", len(b), b)
	}
	c.Forget()
	if n := len(at("one two")); n < 400 {
		t.Errorf("a picture that is forgotten is written in %d bytes", n)
	}
}

// Other colours are for all that stands there, not only for what changes from then on: a terminal that
// says late that its background is light has no words left in the colours of a dark one.
func TestCanvasInAnotherTheme(t *testing.T) {
	t.Parallel()
	const columns, rows = 24, 2
	picture := []Line{Of(Strong, "Autopilot").Add(Dim, " Step 3/7").Fit(columns), Of(Good, "done").Fit(columns)}
	dark, light := NewTheme(colorprofile.TrueColor, true), NewTheme(colorprofile.TrueColor, false)
	var c Canvas
	em, want := vt.NewEmulator(columns, rows), vt.NewEmulator(columns, rows)
	_, _ = em.Write(c.Paint(nil, dark, picture, columns))
	_, _ = em.Write(c.Paint(nil, light, picture, columns))
	_, _ = want.Write(new(Canvas).Paint(nil, light, picture, columns))
	if em.Render() != want.Render() {
		t.Errorf("the picture is\n%q\nand would be\n%q", em.Render(), want.Render())
	}
}
