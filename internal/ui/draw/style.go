package draw

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Style is what a text means, with flags; which colour that is the theme says.
type Style uint16

// What texts mean. None is told by its colour alone: a word or a sign stands beside it.
const (
	Plain  Style = iota
	Dim          // beside the point
	Strong       // what one looks for first
	Good
	Bad
	Warn
	Accent  // where one is: the panel with the keys, the tab
	Key     // a key that can be pressed
	Border  // of a panel
	Added   // a line of a diff
	Removed // a line of a diff
	Hunk    // the place of a part of a diff
	Note    // what the screen itself says
	color0  // and the 15 after it: the colours that programs choose by number
)

// The flags.
const (
	tone        Style = 0x3f
	Chosen      Style = 1 << (6 + iota) // the row that keys are for
	Bold                                // of a program
	Faint                               // of a program
	Underlined                          // of a program
	Found                               // what was searched for
	ChosenFaint                         // the chosen row of a panel without the keys
	ActionKey                           // the usual key of an action, which a person may have changed
)

// Color is the style of a colour by its number, 0 to 15.
func Color(n int) Style { return color0 + Style(n&15) }

// Theme are the colours of a terminal.
type Theme struct {
	sequences map[Style]string
	make      func(Style) string
}

// shade is a colour in the ways that terminals can show one.
type shade struct {
	basic int    // of 16; -1 for the terminal's own
	exact string // as r;g;b
}

// background is a colour as r;g;b, and the one of 256 that is as calm.
type background struct {
	exact string
	of256 int
}

type palette struct {
	tones               map[Style]shade
	chosen, dull, found background
}

func dark() palette {
	return palette{
		tones: map[Style]shade{
			Dim: {8, "128;136;148"}, Strong: {15, "236;239;244"}, Good: {2, "120;200;130"}, Bad: {1, "240;110;110"}, Warn: {3, "236;190;100"},
			Accent: {6, "110;190;230"}, Key: {6, "110;190;230"}, Border: {8, "72;80;92"}, Added: {2, "130;205;140"}, Removed: {1, "238;125;125"},
			Hunk: {5, "190;150;230"}, Note: {4, "140;165;215"},
		},
		chosen: background{"45;62;84", 24}, dull: background{"38;42;50", 236}, found: background{"96;80;20", 58},
	}
}

func light() palette {
	return palette{
		tones: map[Style]shade{
			Dim: {8, "110;116;126"}, Strong: {0, "20;24;32"}, Good: {2, "20;120;50"}, Bad: {1, "190;30;40"}, Warn: {3, "150;95;0"},
			Accent: {4, "0;95;170"}, Key: {4, "0;95;170"}, Border: {7, "190;196;204"}, Added: {2, "20;120;50"}, Removed: {1, "190;30;40"},
			Hunk: {5, "120;60;170"}, Note: {4, "60;85;150"},
		},
		chosen: background{"210;226;246", 153}, dull: background{"232;235;240", 254}, found: background{"255;226;130", 222},
	}
}

// NewTheme are the colours for a terminal: what it can show, and whether its background is
// dark. Without colours what matters is bold, and what is chosen is shown in reverse.
func NewTheme(can colorprofile.Profile, isDark bool) *Theme {
	p := light()
	if isDark {
		p = dark()
	}
	return &Theme{sequences: map[Style]string{}, make: func(s Style) string { return p.sequence(can, s) }}
}

// sequence is what switches a style on, from whatever was on before.
func (p palette) sequence(can colorprofile.Profile, s Style) string {
	if can <= colorprofile.NoTTY {
		return ""
	}
	codes := []string{"0"}
	t := s & tone
	if s&Bold != 0 || t == Strong || t == Accent || t == Key && can < colorprofile.ANSI {
		codes = append(codes, "1")
	}
	if s&Faint != 0 || t == Dim && can < colorprofile.ANSI {
		codes = append(codes, "2")
	}
	if s&Underlined != 0 {
		codes = append(codes, "4")
	}
	if can >= colorprofile.ANSI {
		codes = append(codes, p.colors(can, s)...)
	} else if s&(Chosen|Found) != 0 {
		codes = append(codes, "7")
	}
	return "\x1b[" + strings.Join(codes, ";") + "m"
}

func (p palette) colors(can colorprofile.Profile, s Style) (codes []string) {
	if t := s & tone; t >= color0 {
		codes = append(codes, basic(int(t-color0)))
	} else if x, ok := p.tones[t]; ok {
		if can > colorprofile.ANSI {
			codes = append(codes, "38;"+shown(can, x.exact))
		} else {
			codes = append(codes, basic(x.basic))
		}
	}
	var behind background
	switch {
	case s&Found != 0:
		behind = p.found
	case s&Chosen != 0:
		behind = p.chosen
	case s&ChosenFaint != 0:
		behind = p.dull
	}
	switch {
	case behind.exact == "":
	case can > colorprofile.ANSI256:
		codes = append(codes, "48;2;"+behind.exact)
	case can > colorprofile.ANSI:
		codes = append(codes, fmt.Sprintf("48;5;%d", behind.of256))
	case s&(Chosen|Found) != 0:
		codes = append(codes, "7")
	}
	return codes
}

// shown is a colour for a terminal with all colours, or with 256 of them.
func shown(can colorprofile.Profile, exact string) string {
	if can > colorprofile.ANSI256 {
		return "2;" + exact
	}
	var c color.RGBA
	if _, err := fmt.Sscanf(exact, "%d;%d;%d", &c.R, &c.G, &c.B); err != nil {
		return "2;" + exact
	}
	c.A = 255
	return fmt.Sprintf("5;%d", ansi.Convert256(c))
}

func basic(n int) string {
	if n >= 8 {
		return fmt.Sprint(90 + n - 8)
	}
	return fmt.Sprint(30 + n)
}

// Frame writes lines as a terminal takes them.
func (t *Theme) Frame(lines []Line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		now := Plain
		for _, s := range l {
			if s.Text == "" {
				continue
			}
			if s.Style != now {
				b.WriteString(t.sequence(s.Style))
				now = s.Style
			}
			b.WriteString(s.Text)
		}
		if now != Plain {
			b.WriteString(t.sequence(Plain))
		}
	}
	return b.String()
}

func (t *Theme) sequence(s Style) string {
	x, ok := t.sequences[s]
	if !ok {
		x = t.make(s)
		t.sequences[s] = x
	}
	return x
}
