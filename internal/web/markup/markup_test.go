package markup_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/web/markup"
)

// allowed is what may come out: elements, and the attributes of each.
func allowed() map[string][]string {
	return map[string][]string{
		"a": {"href", "rel"}, "span": {"class"}, "pre": {"class"}, "code": nil, "input": {"type", "disabled", "checked", "aria-label"},
		"p": nil, "em": nil, "strong": nil, "del": nil, "ul": nil, "ol": {"start"}, "li": nil, "blockquote": nil, "hr": nil, "br": nil,
		"h2": {"id"}, "h3": {"id"}, "h4": {"id"}, "h5": {"id"}, "h6": {"id"},
		"table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": {"align"}, "td": {"align"},
	}
}

// check reads HTML as a browser does and says what it must not have, or what is not
// closed where it was opened.
func check(h string, elements map[string][]string) error {
	var open []string
	z := html.NewTokenizer(strings.NewReader(h))
	for {
		switch z.Next() {
		case html.ErrorToken:
			switch err := z.Err(); {
			case !errors.Is(err, io.EOF):
				return err
			case len(open) > 0:
				return fmt.Errorf("left open: %v", open)
			}
			return nil
		case html.CommentToken, html.DoctypeToken, html.SelfClosingTagToken:
			return fmt.Errorf("a %s", z.Token())
		case html.StartTagToken:
			t := z.Token()
			attributes, ok := elements[t.Data]
			if !ok {
				return fmt.Errorf("a <%s>", t.Data)
			}
			for _, a := range t.Attr {
				if !slices.Contains(attributes, a.Key) {
					return fmt.Errorf("%s has %s", t.Data, a.Key)
				}
				if err := attribute(t.Data, a); err != nil {
					return err
				}
			}
			if t.Data != "input" && t.Data != "br" && t.Data != "hr" {
				open = append(open, t.Data)
			}
		case html.EndTagToken:
			t := z.Token()
			if len(open) == 0 || open[len(open)-1] != t.Data {
				return fmt.Errorf("</%s> inside %v", t.Data, open)
			}
			open = open[:len(open)-1]
		case html.TextToken:
			if i := strings.IndexFunc(z.Token().Data, hidden); i >= 0 {
				return fmt.Errorf("a hidden sign at %d", i)
			}
		}
	}
}

func hidden(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b || r == 0xfeff
}

func attribute(element string, a html.Attribute) error {
	switch a.Key {
	case "href":
		v := strings.ToLower(a.Val)
		ok := strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://") || strings.HasPrefix(v, "mailto:") || strings.HasPrefix(v, "#doc-") ||
			!strings.HasPrefix(v, "//") && !strings.Contains(v[:min(len(v), strings.IndexAny(v+"/", "/?#"))], ":")
		if !ok || strings.ContainsAny(v, "\\ \t\r\n") {
			return fmt.Errorf("a link to %q", a.Val)
		}
	case "id":
		if !strings.HasPrefix(a.Val, "doc-") {
			return fmt.Errorf("an id %q", a.Val)
		}
	case "class":
		for _, c := range strings.Fields(a.Val) {
			if !class(c) {
				return fmt.Errorf("%s has the class %q", element, c)
			}
		}
	}
	return nil
}

func class(c string) bool {
	if n, ok := strings.CutPrefix(c, "a-fg"); ok && len(n) <= 2 {
		return true
	}
	if n, ok := strings.CutPrefix(c, "a-bg"); ok && len(n) <= 2 {
		return true
	}
	return slices.Contains([]string{
		"a-b", "a-d", "a-i", "a-u", "a-s", "a-r", "a-esc", "m-note", "m-nolink", "m-raw", "code", "chroma", "d-word",
		"k", "kt", "kc", "c", "s", "m", "nf", "nc", "nt", "na", "nb", "gi", "gd", "gh",
	}, c)
}

// spans is what output is made of.
func spans() map[string][]string { return map[string][]string{"span": {"class"}} }

// TestOutput: what agents print is shown, and steers nothing.
func TestOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"text":              {"a < b & \"c\"\n", "a &lt; b &amp; &#34;c&#34;\n"},
		"script":            {"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
		"address":           {"javascript:alert(1)", "javascript:alert(1)"},
		"colour":            {"\x1b[31mred\x1b[0m plain", `<span class="a-fg1">red</span> plain`},
		"bold and bright":   {"\x1b[1;92mok", `<span class="a-fg10 a-b">ok</span>`},
		"all flags":         {"\x1b[2;3;4;9mx\x1b[22;23;24;29my", `<span class="a-d a-i a-u a-s">x</span>y`},
		"256":               {"\x1b[38;5;196mx\x1b[48;5;21my\x1b[39;49mz", `<span class="a-fg1">x</span><span class="a-fg1 a-bg4">y</span>z`},
		"true colour":       {"\x1b[38;2;250;90;80mx", `<span class="a-fg9">x</span>`},
		"true with colons":  {"\x1b[38:2::250:90:80mx", `<span class="a-fg9">x</span>`},
		"inverse":           {"\x1b[7;31mx\x1b[0;7my", `<span class="a-bg1">x</span><span class="a-r">y</span>`},
		"unreadable":        {"\x1b[31;41mx", `<span class="a-fg1">x</span>`},
		"hidden is shown":   {"\x1b[8msecret", "secret"},
		"over lines":        {"\x1b[32ma\nb", "<span class=\"a-fg2\">a</span>\n<span class=\"a-fg2\">b</span>"},
		"progress":          {"10 %\r50 %\r100 %\n", "100 %\n"},
		"shorter progress":  {"long text\rab", "abng text"},
		"erased":            {"long text\r\x1b[Kab", "ab"},
		"erased whole":      {"long text\x1b[2Kab", "ab"},
		"windows":           {"a\r\nb\r\n", "a\nb\n"},
		"back":              {"abc\b\bX", "aXc"},
		"tab":               {"a\tb", "a\tb"},
		"title":             {"\x1b]0;evil\x07text", "text"},
		"title with ST":     {"\x1b]2;evil\x1b\\text", "text"},
		"link":              {"\x1b]8;;https://evil.example\x1b\\text\x1b]8;;\x1b\\ more", "text more"},
		"device":            {"\x1bPq#0;2;0\x1b\\text", "text"},
		"application":       {"\x1b_Gf=24;AAAA\x1b\\text\x1b^x\x1b\\!", "text!"},
		"C1":                {"a\u009b31mb\u009d0;x\u009cc\u0085d", `a<span class="a-fg1">bcd</span>`},
		"movement":          {"\x1b[2J\x1b[H\x1b[10;20Hx\x1b[?25l\x1b[>4;2m\x1b(B\x1b=y", "xy"},
		"torn at the end":   {"a\x1b[3", "a"},
		"torn string":       {"a\x1b]0;title", "a"},
		"torn by the line":  {"a\x1b]0;title\nb", "a\nb"},
		"lone escape":       {"a\x1b", "a"},
		"torn at the start": {"[31mx", "x"},
		"torn numbers":      {"5;196mx", "x"},
		"no torn start":     {"[alice] 5m", "[alice] 5m"},
		"direction":         {"a\u202eb", `a<span class="a-esc">\u202e</span>b`},
		"unseen":            {"a\u200bb\ufeff", `a<span class="a-esc">\u200b</span>b<span class="a-esc">\ufeff</span>`},
		"bell":              {"a\x07\x00", `a<span class="a-esc">\x07\x00</span>`},
		"joined":            {"👩\u200d👩", "👩\u200d👩"},
		"bad bytes":         {"a\xff\xfeb\xc3", "a\ufffd\ufffdb\ufffd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := markup.Output([]byte(c.in))
			if got != c.want {
				t.Errorf("Output(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
			if err := check(got, spans()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOutputIsBounded: what is cut is said.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat("line\n", 10) + strings.Repeat("x", 50) + "\nend\n")
	for name, c := range map[string]struct {
		limits markup.Limits
		want   string
	}{
		"lines": {markup.Limits{Lines: 1}, "<span class=\"m-note\">… 101 bytes before this are not shown</span>\nend\n"},
		"bytes": {markup.Limits{Bytes: 8}, "<span class=\"m-note\">… 101 bytes before this are not shown</span>\nend\n"},
		"line":  {markup.Limits{Lines: 2, LineBytes: 10}, "<span class=\"m-note\">… 50 bytes before this are not shown</span>\nxxxxxxxxxx<span class=\"m-note\"> … 40 more signs</span>\nend\n"},
	} {
		if got := markup.OutputWithin(text, c.limits); got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
	}
}

// What a page shows of an output is what a line of the log does, in colours: both read the
// same control sequences.
func TestOutputSaysWhatIsPlain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.StringOf(rapid.RuneFrom([]rune("a1;[]mP(\\\x1b\u009b\u009d\x07\n\tä✳<"))).Draw(t, "in")
		var shown strings.Builder
		for z := html.NewTokenizer(strings.NewReader(markup.Output([]byte("|" + in)))); z.Next() != html.ErrorToken; {
			if tok := z.Token(); tok.Type == html.TextToken {
				shown.WriteString(tok.Data)
			}
		}
		if want := text.Plain("|" + in); strings.TrimSuffix(shown.String(), "\n") != strings.TrimSuffix(want, "\n") && !strings.Contains(shown.String(), `\x07`) {
			t.Fatalf("%q is shown as %q, want %q", in, shown.String(), want)
		}
	})
}

func FuzzOutput(f *testing.F) {
	for _, s := range []string{"\x1b[31;1mx\r\ny\x1b[0m<b>", "\x1b]8;;javascript:x\x07y", "\u009b1;2;3mx\b\b\b", "a\x1b[38;5", "[1mx", "\xc2\x1b\\"} {
		f.Add([]byte(s), 100, 10)
	}
	f.Fuzz(func(t *testing.T, text []byte, size, lines int) {
		out := markup.OutputWithin(text, markup.Limits{Bytes: size, Lines: lines})
		if err := check(out, spans()); err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		for line := range strings.Lines(out) {
			if err := check(line, spans()); err != nil {
				t.Fatalf("%v in the line %q", err, line)
			}
		}
	})
}

func BenchmarkOutput(b *testing.B) {
	text := []byte(strings.Repeat("\x1b[32mok\x1b[0m  \tgithub.com/example/thing/internal/part\t0.412s  coverage: 81.3% <of> statements\n", 12000))[:1<<20]
	b.SetBytes(1 << 20)
	for b.Loop() {
		markup.OutputWithin(text, markup.Limits{Lines: 1 << 20})
	}
}
