package markup

import (
	"embed"
	"html"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"

	"github.com/ralph-loop/ralph/internal/text"
)

// The definitions of languages are Chroma's own, see lexers/NOTICE. Its package lexers
// would read all of its definitions whenever ralph starts.
//
//go:embed lexers/*.xml
var definitions embed.FS

// registry are the languages, read when the first code is shown; what a language's
// definition says is read when the first code in it is shown.
var registry = sync.OnceValue(func() *chroma.LexerRegistry {
	r := chroma.NewLexerRegistry()
	files, _ := definitions.ReadDir("lexers") // embedded
	for _, f := range files {
		if lexer, err := chroma.NewXMLLexer(definitions, "lexers/"+f.Name()); err == nil {
			r.Register(lexer)
		}
	}
	return r
})

const (
	// maxCode is how much code is coloured, in bytes, and maxPatterns how much where
	// patterns do it, at some 2 ms a KiB; longer lines than longestCode are no code that
	// people wrote.
	maxCode     = 256 << 10
	maxPatterns = 96 << 10
	longestCode = 8 << 10
	// maxTime is how long colouring may take: there is text that keeps a pattern busy.
	maxTime = time.Second
)

// Code is source text as HTML, a <pre class="code chroma"> with Chroma's class names in
// its spans. The name is a file's, or a language's as behind the fence in markdown. What
// is in no known language, or too much, is plain text.
func Code(name string, src []byte) string {
	var b strings.Builder
	b.WriteString(`<pre class="code chroma"><code>`)
	for i, line := range pieceLines(languageOf(name), text.Visible(string(src))) {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, p := range line {
			span(&b, p.class, p.text)
		}
	}
	b.WriteString("</code></pre>")
	return b.String()
}

// pieceLines are the lines of visible code, in pieces.
func pieceLines(language, text string) [][]piece {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	out := make([][]piece, len(lines))
	pieces, ok := piecesOf(language, text)
	if !ok {
		for i, l := range lines {
			out[i] = []piece{{"", l}}
		}
		return out
	}
	at := 0
	for _, p := range pieces {
		for n, part := range strings.Split(p.text, "\n") {
			if n > 0 {
				at++
			}
			if part != "" && at < len(out) {
				out[at] = append(out[at], piece{p.class, part})
			}
		}
	}
	return out
}

func span(b *strings.Builder, class, text string) {
	switch {
	case text == "":
	case class == "":
		b.WriteString(html.EscapeString(text))
	default:
		b.WriteString(`<span class="` + class + `">` + html.EscapeString(text) + "</span>")
	}
}

// piece is a part of code with the class that colours it, "" for none.
type piece struct{ class, text string }

// piecesOf are the parts of a text, which together are that text; false where it stays
// plain.
func piecesOf(language, text string) ([]piece, bool) {
	if language == "" || len(text) > maxCode || language != "go" && len(text) > maxPatterns {
		return nil, false
	}
	for line := range strings.Lines(text) {
		if len(line) > longestCode {
			return nil, false
		}
	}
	if language == "go" {
		return goTokens(text), true
	}
	lexer := registry().Get(language)
	if lexer == nil {
		return nil, false
	}
	return lex(lexer, text)
}

// lex asks Chroma. It panics when a definition does not fit a text, and takes text that
// it cannot read for errors: the text is what it was, or it stays plain.
func lex(lexer chroma.Lexer, text string) (out []piece, ok bool) {
	defer func() {
		if recover() != nil {
			out, ok = nil, false
		}
	}()
	next, err := lexer.Tokenise(&chroma.TokeniseOptions{State: "root"}, text)
	if err != nil {
		return nil, false
	}
	length, end := 0, time.Now().Add(maxTime)
	for t := next(); t != chroma.EOF; t = next() {
		length += len(t.Value)
		if class := classOf(t.Type); len(out) > 0 && out[len(out)-1].class == class {
			out[len(out)-1].text += t.Value
		} else {
			out = append(out, piece{class, t.Value})
		}
		if time.Now().After(end) {
			return nil, false
		}
	}
	return out, length >= len(text)
}

// classOf is Chroma's short name of the kinds that have a colour; names and signs have
// none, so that what has one stands out.
func classOf(t chroma.TokenType) string {
	switch {
	case t == chroma.KeywordType:
		return "kt"
	case t == chroma.KeywordConstant:
		return "kc"
	case t.InCategory(chroma.Keyword):
		return "k"
	case t.InCategory(chroma.Comment):
		return "c"
	case t.InSubCategory(chroma.String):
		return "s"
	case t.InSubCategory(chroma.Number):
		return "m"
	case t == chroma.NameFunction || t == chroma.NameFunctionMagic:
		return "nf"
	case t == chroma.NameClass || t == chroma.NameNamespace:
		return "nc"
	case t == chroma.NameTag:
		return "nt"
	case t == chroma.NameAttribute || t == chroma.NameDecorator:
		return "na"
	case t == chroma.NameBuiltin || t == chroma.NameBuiltinPseudo:
		return "nb"
	case t == chroma.GenericInserted:
		return "gi"
	case t == chroma.GenericDeleted:
		return "gd"
	case t == chroma.GenericHeading || t == chroma.GenericSubheading:
		return "gh"
	}
	return ""
}

// languageOf is Chroma's name of a language, by the name of a file or of the language;
// "" if it is none of ours.
func languageOf(name string) string {
	name = strings.ToLower(path.Base(strings.ReplaceAll(strings.TrimSpace(name), `\`, "/")))
	switch {
	case name == "dockerfile" || strings.HasPrefix(name, "dockerfile.") || name == "containerfile":
		return "docker"
	case name == "makefile" || name == "gnumakefile":
		return "makefile"
	case name == "go.mod" || name == "go.sum" || name == ".gitignore":
		return ""
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		name = name[i+1:]
	}
	switch name {
	case "go", "golang":
		return "go"
	case "py", "pyi", "python", "python3":
		return "python"
	case "js", "mjs", "cjs", "jsx", "javascript", "node":
		return "javascript"
	case "ts", "tsx", "mts", "cts", "typescript":
		return "typescript"
	case "rs", "rust":
		return "rust"
	case "java":
		return "java"
	case "c", "h":
		return "c"
	case "cc", "cpp", "cxx", "hh", "hpp", "hxx", "c++":
		return "c++"
	case "cs", "csharp", "c#":
		return "c#"
	case "sh", "bash", "zsh", "ksh", "shell", "bashrc", "envrc":
		return "bash"
	case "json", "jsonl", "jsonc", "webmanifest":
		return "json"
	}
	return moreLanguages(name)
}

func moreLanguages(name string) string {
	switch name {
	case "css", "scss", "sql", "dart", "swift", "lua", "toml", "diff", "groovy", "scala", "ini", "hcl", "docker", "xml":
		return name
	case "yml", "yaml":
		return "yaml"
	case "html", "htm", "xhtml":
		return "html"
	case "svg", "xsd", "xsl", "xslt", "plist", "csproj":
		return "xml"
	case "rb", "ruby", "gemspec", "rakefile", "gemfile":
		return "ruby"
	case "kt", "kts", "kotlin":
		return "kotlin"
	case "patch":
		return "diff"
	case "mk", "make":
		return "makefile"
	case "proto", "protobuf":
		return "protocol buffer"
	case "cfg", "conf", "editorconfig", "properties", "gitconfig":
		return "ini"
	case "tf", "terraform":
		return "terraform"
	case "ps1", "psm1", "powershell", "pwsh":
		return "powershell"
	case "gradle":
		return "groovy"
	case "sc":
		return "scala"
	}
	return ""
}
