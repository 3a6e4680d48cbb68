package markup_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/web/markup"
)

// TestMarkdown: a spec is shown with all its forms, and none of what could harm.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"heading":         {"# A & b\n## A & b", "<h2 id=\"doc-a--b\">A &amp; b</h2>\n<h3 id=\"doc-a--b-1\">A &amp; b</h3>\n"},
		"tasks":           {"- [x] one\n- [ ] two", "<ul>\n<li><input type=\"checkbox\" aria-label=\"done\" disabled checked> one</li>\n<li><input type=\"checkbox\" aria-label=\"to do\" disabled> two</li>\n</ul>\n"},
		"struck":          {"~~a~~", "<p><del>a</del></p>\n"},
		"table":           {"|a|\n|-:|\n|b|", "<table>\n<thead>\n<tr>\n<th align=\"right\">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"right\">b</td>\n</tr>\n</tbody>\n</table>\n"},
		"HTML":            {"a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n"},
		"HTML block":      {"<script>alert(1)</script>", "<pre class=\"code m-raw\"><code>&lt;script&gt;alert(1)&lt;/script&gt;</code></pre>\n"},
		"remark":          {"<!-- hidden\nwords -->", "<pre class=\"code m-raw\"><code>&lt;!-- hidden\nwords --&gt;</code></pre>\n"},
		"link":            {"[a](https://x.example/?q=1&b \"t\")", "<p><a href=\"https://x.example/?q=1&amp;b\" rel=\"noopener noreferrer nofollow\">a</a></p>\n"},
		"place":           {"[a](#b)", "<p><a href=\"#doc-b\" rel=\"noopener noreferrer nofollow\">a</a></p>\n"},
		"beside":          {"[a](../b.md#c)", "<p><a href=\"../b.md#c\" rel=\"noopener noreferrer nofollow\">a</a></p>\n"},
		"script link":     {"[a](javascript:alert(1))", "<p><span class=\"m-nolink\">a</span></p>\n"},
		"script in signs": {"[a](&#106;avascript&colon;alert(1))", "<p><span class=\"m-nolink\">a</span></p>\n"},
		"data":            {"[a](data:text/html;base64,AA)", "<p><span class=\"m-nolink\">a</span></p>\n"},
		"other host":      {"[a](//evil.example) [b](/\\evil.example) [c](\\\\evil.example)", "<p><span class=\"m-nolink\">a</span> <a href=\"/%5Cevil.example\" rel=\"noopener noreferrer nofollow\">b</a> <a href=\"%5Cevil.example\" rel=\"noopener noreferrer nofollow\">c</a></p>\n"},
		"mail":            {"<a@b.example>", "<p><a href=\"mailto:a@b.example\" rel=\"noopener noreferrer nofollow\">a@b.example</a></p>\n"},
		"auto":            {"<https://b.example> <javascript:x>", "<p><a href=\"https://b.example\" rel=\"noopener noreferrer nofollow\">https://b.example</a> <span class=\"m-nolink\">javascript:x</span></p>\n"},
		"picture":         {"![a <b](https://x.example/a.png)", "<p><a href=\"https://x.example/a.png\" rel=\"noopener noreferrer nofollow\">picture: a &lt;b</a></p>\n"},
		"fence":           {"```go\nfunc a() {}\n```", "<pre class=\"code chroma\"><code><span class=\"k\">func</span> <span class=\"nf\">a</span>() {}</code></pre>\n"},
		"fence of others": {"```\"><script>\n<b>\n```", "<pre class=\"code chroma\"><code>&lt;b&gt;</code></pre>\n"},
		"indented":        {"    <b>", "<pre class=\"code chroma\"><code>&lt;b&gt;</code></pre>\n"},
		"direction":       {"a\u202eb &#x202e;", "<p>a\\u202eb \\u202e</p>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := markup.Markdown([]byte(c.in))
			if got != c.want {
				t.Errorf("Markdown(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
			if err := check(got, allowed()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDocument: a page knows the places and the boxes of a text, and what was cut.
func TestDocument(t *testing.T) {
	t.Parallel()
	d := markup.Document([]byte("# One `x`\n- [x] a\n- [ ] b\n## Two\n" + strings.Repeat("word ", 1<<18)))
	if len(d.Headings) != 2 || d.Headings[0] != (markup.Heading{Level: 1, ID: "doc-one-x", Text: "One x"}) || d.Headings[1].Level != 2 {
		t.Errorf("headings %+v", d.Headings)
	}
	if d.Ticked != 1 || d.Boxes != 2 {
		t.Errorf("%d of %d boxes", d.Ticked, d.Boxes)
	}
	if d.Cut == 0 {
		t.Error("nothing was cut")
	}
}

// TestHostileMarkdown: text that is made to keep a reader busy is answered all the same.
// A test that hangs here ends with the time limit of go test.
func TestHostileMarkdown(t *testing.T) {
	t.Parallel()
	for name, unit := range hostileMarkdown() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := check(markup.Markdown([]byte(strings.Repeat(unit, 32<<10/len(unit)))), allowed()); err != nil {
				t.Error(err)
			}
		})
	}
}

func hostileMarkdown() map[string]string {
	return map[string]string{
		"brackets": "[", "links": "[a](", "emphasis": "*a ", "both": "*a _b ", "quotes": ">", "lists": "- ", "ticks": "`a``b", "pictures": "![[]()",
		"angles": "<a ", "comments": "<!--", "tables": "|a", "references": "[a]: b\n", "escapes": "\\", "entities": "&#x", "indents": " - a\n ", "fences": "```\n", "headings": "# a\n",
		"quoted lines": "> > > > a\n", "struck": "~~a ~", "declarations": "<!A ", "cdata": "<![CDATA[", "instructions": "<?a", "deeper": "x\n> ",
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, unit := range hostileMarkdown() {
		f.Add([]byte(strings.Repeat(unit, 3)))
	}
	f.Add([]byte("[a](javascript:x) <b> &#x202e; ![x](//y)\n\n# h\n- [x] t\n\n|a|b|\n|-|:-:|\n|c|d|\n\n```js\n</code>\n```\n<div>\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if out := markup.Markdown(text); check(out, allowed()) != nil {
			t.Fatalf("%v in %q", check(out, allowed()), out)
		}
	})
}

func BenchmarkMarkdown(b *testing.B) {
	text := bytes.Repeat([]byte("# Title\n\nSome *words* and `code`, a [link](https://x.example).\n\n- [ ] one\n- [x] two\n\n```go\nfunc main() { println(1) }\n```\n\n"), 100)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		markup.Markdown(text)
	}
}
