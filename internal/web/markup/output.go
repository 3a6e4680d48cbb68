package markup

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/text"
)

// Output is what a program wrote to its terminal as HTML: text and <span>s with classes,
// a-fg0 to a-fg15, a-bg0 to a-bg15, a-b (bold), a-d, a-i (italic), a-u (underlined),
// a-s (struck) and a-esc (an escape written for a sign that cannot be seen). Each line
// closes what it opens.
func Output(text []byte) string { return OutputWithin(text, DefaultLimits()) }

// OutputWithin is Output within limits. The end of a text is what people look for: its
// beginning is cut, and a first line says so.
func OutputWithin(text []byte, l Limits) string {
	l = l.orDefault()
	whole := len(text)
	if whole > l.Bytes {
		text = text[whole-l.Bytes:]
		if i := bytes.IndexByte(text, '\n'); i >= 0 && i < l.LineBytes {
			text = text[i+1:]
		}
	}
	if over := lineCount(text) - l.Lines; over > 0 {
		for range over {
			text = text[bytes.IndexByte(text, '\n')+1:]
		}
	}
	t := &terminal{limit: l.LineBytes}
	t.out.Grow(len(text) + len(text)/8)
	if gone := whole - len(text); gone > 0 {
		t.out.WriteString(note(fmt.Sprintf("… %s before this are not shown", size(gone))) + "\n")
	}
	t.write(text[len(torn.Find(text)):])
	return t.out.String()
}

// torn is the rest of a sequence whose beginning was cut off. A text that begins like
// this by chance is rare: words do not.
var torn = lazyregexp.New(`^(?:\[[0-9][0-9;]*[mKGJH]|[0-9]*;[0-9;]*m)`)

const (
	bold = 1 << iota
	dim
	italic
	under
	struck
	inverse
	escaped
)

// style is how a cell looks; the colours are 0 for none, or 1 more than their number.
type style struct{ fg, bg, flags uint8 }

type cell struct {
	r rune
	s style
}

// terminal writes lines as a terminal shows them.
type terminal struct {
	out   strings.Builder
	line  []cell
	col   int // where the next sign goes
	now   style
	limit int
	over  int // signs of the line that had no room
}

func (t *terminal) write(words []byte) {
	for len(words) > 0 {
		c := words[0]
		if c >= ' ' && c < 0x7f {
			t.put(rune(c), t.now)
			words = words[1:]
			continue
		}
		if c == 0x1b || c == 0xc2 { // ESC, or what may be a C1
			if x := text.ControlAt(words); x.Len > 0 {
				t.control(x)
				words = words[x.Len:]
				continue
			}
		}
		r, n := utf8.DecodeRune(words)
		switch {
		case c == '\n':
			t.flush()
			t.out.WriteByte('\n')
		case c == '\r':
			if len(words) < 2 || words[1] != '\n' {
				t.col = 0
			}
		case c == '\b':
			t.col = max(0, t.col-1)
		case text.Hidden(r):
			s := t.now
			s.flags |= escaped
			for _, e := range text.Escaped(r) {
				t.put(e, s)
			}
		default:
			t.put(r, t.now)
		}
		words = words[n:]
	}
	t.flush()
}

func (t *terminal) put(r rune, s style) {
	switch {
	case t.col < len(t.line):
		t.line[t.col] = cell{r, s}
		t.col++
	case len(t.line) < t.limit:
		t.line = append(t.line, cell{r, s})
		t.col++
	default:
		t.over++
	}
}

// control hears a control sequence.
func (t *terminal) control(c text.Control) {
	// 38:2::r:g:b leaves a place empty that 38;2;r;g;b does not have
	switch v := numbers(bytes.ReplaceAll(c.Params, []byte("::"), []byte(":"))); c.Final {
	case 'm':
		t.now = t.now.with(v)
	case 'K': // erase in the line, as progress bars do
		switch v[0] {
		case 0:
			t.line = t.line[:min(t.col, len(t.line))]
		case 1:
			for i := range min(t.col+1, len(t.line)) {
				t.line[i] = cell{r: ' '}
			}
		case 2:
			t.line, t.col = t.line[:0], 0
		}
	case 'G':
		t.col = min(max(v[0]-1, 0), len(t.line))
	}
}

// numbers are the parameters of a sequence, at least one.
func numbers(p []byte) []int {
	out := make([]int, 1, 8)
	for _, c := range p {
		switch {
		case c >= '0' && c <= '9':
			if last := &out[len(out)-1]; *last < 10000 {
				*last = *last*10 + int(c-'0')
			}
		default: // ; or :
			if len(out) < 64 {
				out = append(out, 0)
			}
		}
	}
	return out
}

// with is the style after SGR numbers.
func (s style) with(v []int) style {
	for i := 0; i < len(v); i++ {
		switch n := v[i]; {
		case n == 0:
			s = style{}
		case n >= 1 && n <= 9:
			s.flags |= flagOf(n)
		case n == 21:
			s.flags |= under
		case n == 22:
			s.flags &^= bold | dim
		case n >= 23 && n <= 29:
			s.flags &^= flagOf(n - 20)
		case n >= 30 && n <= 37:
			s.fg = uint8(n - 30 + 1)
		case n >= 90 && n <= 97:
			s.fg = uint8(n - 90 + 9)
		case n == 39:
			s.fg = 0
		case n >= 40 && n <= 47:
			s.bg = uint8(n - 40 + 1)
		case n >= 100 && n <= 107:
			s.bg = uint8(n - 100 + 9)
		case n == 49:
			s.bg = 0
		case n == 38 || n == 48 || n == 58:
			c, used := extended(v[i+1:])
			i += used
			switch {
			case c < 0 || n == 58:
			case n == 38:
				s.fg = uint8(c + 1)
			default:
				s.bg = uint8(c + 1)
			}
		}
	}
	return s
}

// flagOf is what SGR 1 to 9 turn on. Hidden text is shown: an agent has nothing to hide.
func flagOf(n int) uint8 {
	switch n {
	case 1:
		return bold
	case 2:
		return dim
	case 3:
		return italic
	case 4:
		return under
	case 7:
		return inverse
	case 9:
		return struck
	}
	return 0
}

// extended reads the colour after 38 or 48 as one of the sixteen, -1 if it is none, and
// says how many numbers it took.
func extended(v []int) (colour, used int) {
	switch {
	case len(v) >= 2 && v[0] == 5:
		return of256(v[1]), 2
	case len(v) >= 4 && v[0] == 2:
		return nearest(v[1], v[2], v[3]), 4
	}
	return -1, len(v)
}

// of256 is the nearest of the sixteen to a colour of the table of 256.
func of256(n int) int {
	switch {
	case n < 0 || n > 255:
		return -1
	case n < 16:
		return n
	case n >= 232:
		grey := 8 + 10*(n-232)
		return nearest(grey, grey, grey)
	}
	level := func(i int) int {
		if i == 0 {
			return 0
		}
		return 55 + 40*i
	}
	n -= 16
	return nearest(level(n/36), level(n/6%6), level(n%6))
}

// nearest is the nearest of the sixteen colours, by their usual values.
func nearest(r, g, b int) int {
	best, least := 0, 1<<30
	for i, c := range [16][3]int{
		{0, 0, 0},
		{170, 0, 0},
		{0, 170, 0},
		{170, 85, 0},
		{0, 0, 170},
		{170, 0, 170},
		{0, 170, 170},
		{170, 170, 170},
		{85, 85, 85},
		{255, 85, 85},
		{85, 255, 85},
		{255, 255, 85},
		{85, 85, 255},
		{255, 85, 255},
		{85, 255, 255},
		{255, 255, 255},
	} {
		dr, dg, db := min(r, 255)-c[0], min(g, 255)-c[1], min(b, 255)-c[2]
		if d := 2*dr*dr + 4*dg*dg + 3*db*db; d < least {
			best, least = i, d
		}
	}
	return best
}

// class is the class of a style, "" for plain text.
func (s style) class() string {
	if s == (style{}) {
		return ""
	}
	var names []string
	if s.flags&inverse != 0 {
		if s.fg, s.bg = s.bg, s.fg; s.fg == 0 && s.bg == 0 {
			names = append(names, "a-r")
		}
	}
	if s.fg == s.bg { // such text could not be read
		s.bg = 0
	}
	if s.fg > 0 {
		names = append(names, fmt.Sprintf("a-fg%d", s.fg-1))
	}
	if s.bg > 0 {
		names = append(names, fmt.Sprintf("a-bg%d", s.bg-1))
	}
	for _, f := range []struct {
		flag uint8
		name string
	}{{bold, "a-b"}, {dim, "a-d"}, {italic, "a-i"}, {under, "a-u"}, {struck, "a-s"}, {escaped, "a-esc"}} {
		if s.flags&f.flag != 0 {
			names = append(names, f.name)
		}
	}
	return strings.Join(names, " ")
}

// flush writes the line.
func (t *terminal) flush() {
	for i := 0; i < len(t.line); {
		s := t.line[i].s
		class := s.class()
		if class != "" {
			t.out.WriteString(`<span class="` + class + `">`)
		}
		for ; i < len(t.line) && t.line[i].s == s; i++ {
			t.sign(t.line[i].r)
		}
		if class != "" {
			t.out.WriteString("</span>")
		}
	}
	if t.over > 0 {
		t.out.WriteString(note(fmt.Sprintf(" … %d more signs", t.over)))
	}
	t.line, t.col, t.over = t.line[:0], 0, 0
}

func (t *terminal) sign(r rune) {
	switch r {
	case '<', '>', '&', '"', '\'':
		t.out.WriteString(html.EscapeString(string(r)))
	default:
		t.out.WriteRune(r)
	}
}
