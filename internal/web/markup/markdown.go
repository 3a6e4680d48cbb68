package markup

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	goldtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/text"
)

// Doc is a markdown text as a page shows it.
type Doc struct {
	HTML     string
	Headings []Heading
	Ticked   int // of the boxes in its lists
	Boxes    int
	Cut      int // bytes at its end that are not shown
}

// Heading is a place in a Doc.
type Heading struct {
	Level int
	ID    string
	Text  string
}

// idPrefix keeps the names that a text gives its places apart from the page's own.
const idPrefix = "doc-"

// maxMarkdown bounds a text, in bytes; maxDepth bounds what is inside of what, since
// each level costs as much as all that is in it.
const (
	maxMarkdown = 1 << 20
	maxDepth    = 32
)

// Markdown is a markdown text as HTML: GitHub's tables, task lists and strikethrough,
// code in colours, no HTML of its own (what is written as such is shown as text), links
// to http, https, mailto and places beside it, images as links to them.
func Markdown(src []byte) string { return Document(src).HTML }

// Document is Markdown, with what else a page needs.
func Document(src []byte) Doc {
	shown := text.Head(src, maxMarkdown)
	d := Doc{Cut: len(src) - len(shown)}
	source := []byte(text.Visible(string(shown)))
	if tooDeep(source) || tooBusy(source) {
		d.HTML = `<pre class="code"><code>` + html.EscapeString(string(source)) + "</code></pre>"
		return d
	}
	md := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.TaskList),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 1))),
	)
	tree := md.Parser().Parse(goldtext.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(&places{seen: map[string]int{}}))))
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id, _ := n.AttributeString("id")
			b, _ := id.([]byte)
			d.Headings = append(d.Headings, Heading{n.Level, string(b), text.Visible(words(n, source))})
		case *extast.TaskCheckBox:
			d.Boxes++
			if n.IsChecked {
				d.Ticked++
			}
		}
		return ast.WalkContinue, nil
	})
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, tree); err != nil {
		d.HTML = `<pre class="code"><code>` + html.EscapeString(string(source)) + "</code></pre>"
		return d
	}
	d.HTML = text.Visible(b.String()) // once more: &#x202e; is hidden only now
	return d
}

// nested is what opens one block in another one.
var nested = lazyregexp.New(`^[ \t]*(?:>[ \t]?|[-+*][ \t]+|[0-9]{1,9}[.)][ \t]+)`)

// tooDeep reports whether a line opens more blocks in one another than people write.
func tooDeep(source []byte) bool {
	for line := range bytes.Lines(source) {
		for depth := 0; ; depth++ {
			m := nested.Find(line)
			if len(m) == 0 {
				break
			}
			if depth == maxDepth {
				return true
			}
			line = line[len(m):]
		}
	}
	return false
}

const (
	// maxBusy bounds the beginnings of links in a paragraph times its length, summed up:
	// what goldmark looks at, in bytes. maxPlaces bounds the definitions of links.
	maxBusy   = 300_000_000
	maxPlaces = 10_000
)

// tooBusy reports whether the links of a text would keep goldmark at work for seconds.
func tooBusy(source []byte) bool {
	busy, links, length := 0, 0, 0
	for line := range bytes.Lines(source) {
		if len(bytes.TrimSpace(line)) == 0 {
			busy, links, length = busy+links*length, 0, 0
			continue
		}
		links += bytes.Count(line, []byte("]("))
		length += len(line)
	}
	return busy+links*length > maxBusy || bytes.Count(source, []byte("]:")) > maxPlaces
}

// words is the text in a node.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// places names headings.
type places struct{ seen map[string]int }

// Generate names a heading after its words.
func (p *places) Generate(value []byte, _ ast.NodeKind) []byte {
	id := idPrefix + slug(string(value))
	p.seen[id]++
	if n := p.seen[id]; n > 1 {
		id = fmt.Sprintf("%s-%d", id, n-1)
		p.seen[id]++
	}
	return []byte(id)
}

// Put marks a name as used.
func (p *places) Put(value []byte) { p.seen[string(value)]++ }

func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(s)) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_':
			b.WriteRune(r)
		case r == ' ' || r == '-':
			b.WriteByte('-')
		}
		if b.Len() > 80 {
			break
		}
	}
	return b.String()
}

// nodes writes those nodes otherwise than goldmark that others may have put something
// into.
type nodes struct{}

// RegisterFuncs says which nodes these are.
func (x nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, x.link)
	r.Register(ast.KindAutoLink, x.autoLink)
	r.Register(ast.KindImage, x.image)
	r.Register(ast.KindRawHTML, x.rawHTML)
	r.Register(ast.KindHTMLBlock, x.htmlBlock)
	r.Register(ast.KindFencedCodeBlock, x.fenced)
	r.Register(ast.KindCodeBlock, x.indented)
	r.Register(ast.KindHeading, x.heading)
	r.Register(extast.KindTaskCheckBox, x.checkBox)
}

func (nodes) heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, _ := node.(*ast.Heading)
	// the page has a title of its own
	level := min(n.Level+1, 6)
	if !entering {
		_, _ = fmt.Fprintf(w, "</h%d>\n", level)
		return ast.WalkContinue, nil
	}
	id, _ := n.AttributeString("id")
	b, _ := id.([]byte)
	_, _ = fmt.Fprintf(w, `<h%d id="%s">`, level, html.EscapeString(string(b)))
	return ast.WalkContinue, nil
}

func (nodes) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, _ := node.(*ast.Link)
	open(w, string(n.Destination), entering)
	return ast.WalkContinue, nil
}

func (nodes) autoLink(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, _ := node.(*ast.AutoLink)
	if entering {
		to := string(n.URL(source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(to), "mailto:") {
			to = "mailto:" + to
		}
		open(w, to, true)
		_, _ = w.WriteString(html.EscapeString(string(n.Label(source))))
		open(w, to, false)
	}
	return ast.WalkContinue, nil
}

// image is a link to the picture: a page asks no other host for anything.
func (nodes) image(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, _ := node.(*ast.Image)
	if entering {
		to, name := string(n.Destination), words(n, source)
		if name == "" {
			name = to
		}
		open(w, to, true)
		_, _ = w.WriteString("picture: " + html.EscapeString(name))
		open(w, to, false)
	}
	return ast.WalkSkipChildren, nil
}

// open begins or ends a link; where it leads nowhere that is allowed, it is plain text.
func open(w util.BufWriter, to string, entering bool) {
	href := address(to)
	switch {
	case href == "" && entering:
		_, _ = w.WriteString(`<span class="m-nolink">`)
	case href == "":
		_, _ = w.WriteString("</span>")
	case entering:
		_, _ = w.WriteString(`<a href="` + html.EscapeString(href) + `" rel="noopener noreferrer nofollow">`)
	default:
		_, _ = w.WriteString("</a>")
	}
}

var (
	// absolute addresses are these, and of what stands beside the text those whose first
	// part has nothing that could be read as a scheme or as a host.
	absolute = lazyregexp.New(`^(?i:https?://[^/\\?#]|mailto:[^/\\])`)
	relative = lazyregexp.New(`^(?:[^:/\\?#]+(?:[/?#].*)?|/(?:[^/\\].*)?|\?.*)$`)
	unsafe   = lazyregexp.New(`[\x00-\x20\x7f-\x{9f}\\]`)
)

// address is where a link may lead, "" if it may not lead there.
func address(to string) string {
	to = string(util.URLEscape([]byte(to), true))
	switch {
	case unsafe.MatchString(to):
		return ""
	case strings.HasPrefix(to, "#"):
		return "#" + idPrefix + strings.TrimPrefix(to[1:], idPrefix)
	case absolute.MatchString(to), relative.MatchString(to):
		return to
	}
	return ""
}

func (nodes) rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if n, _ := node.(*ast.RawHTML); entering {
		_, _ = w.WriteString(html.EscapeString(string(n.Segments.Value(source))))
	}
	return ast.WalkSkipChildren, nil
}

// htmlBlock shows HTML as text; a remark for those who read the source stays hidden from
// nobody either.
func (nodes) htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if n, _ := node.(*ast.HTMLBlock); entering {
		raw := string(n.Lines().Value(source))
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(source))
		}
		_, _ = w.WriteString(`<pre class="code m-raw"><code>` + html.EscapeString(strings.TrimRight(raw, "\n")) + "</code></pre>\n")
	}
	return ast.WalkContinue, nil
}

func (nodes) fenced(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if n, _ := node.(*ast.FencedCodeBlock); entering {
		_, _ = w.WriteString(Code(string(n.Language(source)), n.Lines().Value(source)) + "\n")
	}
	return ast.WalkContinue, nil
}

func (nodes) indented(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(Code("", node.Lines().Value(source)) + "\n")
	}
	return ast.WalkContinue, nil
}

func (nodes) checkBox(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if n, _ := node.(*extast.TaskCheckBox); entering {
		if n.IsChecked {
			_, _ = w.WriteString(`<input type="checkbox" aria-label="done" disabled checked> `)
		} else {
			_, _ = w.WriteString(`<input type="checkbox" aria-label="to do" disabled> `)
		}
	}
	return ast.WalkContinue, nil
}
