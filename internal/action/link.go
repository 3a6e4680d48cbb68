package action

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// Words for people name what a person can do next as a link, [[retry t-1a2b]]: the name of an
// action or of a view, then its arguments. What says it does not know where it will be read; each
// surface writes links its own way, once, where its text leaves it.

// link is a link in text: a name, then arguments, with the quotes that running words have around a
// command. Text may have been escaped for JSON or HTML: the arguments stay as they are.
var link = lazyregexp.New("(`?)\\[\\[([a-z]+(?:-[a-z]+)?)((?: [^\\[\\]\\n]*)?)\\]\\](`?)")

// view is something to look at that is no action.
type view struct {
	command string // how a command line shows it
	page    string // the title of its page; "" where there is none
}

// views are what links may name beside actions.
func views() map[string]view {
	return map[string]view{
		"start":    {command: ""}, // the engine that is named behind it
		"breakers": {command: "breaker list", page: "Services"},
		"config":   {command: "config", page: "Settings"},
		"doctor":   {command: "doctor", page: "Doctor"},
		"gates":    {command: "gates", page: "Gates"},
		"inbox":    {command: "inbox", page: "Specs"},
		"log":      {command: "log", page: "Log"},
		"plan":     {command: "plan"},
		"pull":     {command: "inbox pull"},
		"query":    {command: "query", page: "Plan"},
		"receipts": {command: "receipts", page: "Receipts"},
		"recovery": {command: "recover"},
		"replay":   {command: "replay"},
		"report":   {command: "report", page: "History"},
		"rules":    {command: "rules", page: "Gates"},
		"status":   {command: "status", page: "Overview"},
		"sync":     {command: "sync"},
		"task":     {command: "task", page: "Plan"},
		"threads":  {command: "thread list", page: "Threads"},
		"verify":   {command: "verify"},
		"why":      {command: "why"},
		"workers":  {command: "fleet workers"},
	}
}

// Known reports whether a link may have the name.
func Known(name string) bool {
	_, is := views()[name]
	return is || Named(name).Name != ""
}

// command is a link as a command line; false where it names nothing.
func command(name, args string) (string, bool) {
	if a := Named(name); a.Command != "" {
		path, _, _ := strings.Cut(a.Command, " <")
		return "ralph " + path + args, true
	}
	v, is := views()[name]
	if v.command == "" {
		return "ralph" + args, is
	}
	return "ralph " + v.command + args, is
}

// Commands writes links as a command line has them: ralph task retry t-1a2b.
func Commands(text string) string {
	return write(text, func(open, name, args, end string) (string, bool) {
		words, ok := command(name, args)
		return open + words + end, ok
	})
}

// Buttons writes links as a page and a screen show them: the title of a button, with its key and
// what it is about; the title of a page; a command where there is neither.
func (k Keys) Buttons(text string) string {
	return k.buttons(text, func(key string) string { return key })
}

// MarkedButtons are Buttons whose usual keys stand between marks: for a surface on which lines are
// laid out before it is known which keys a person chose.
func MarkedButtons(text, mark string) string {
	return Keys(nil).buttons(text, func(key string) string { return mark + key + mark })
}

func (k Keys) buttons(text string, as func(key string) string) string {
	return write(text, func(_, name, args, _ string) (string, bool) { // a title needs no quotes
		if name == "start" {
			return "Start (" + strings.TrimSpace(args) + ")", true
		}
		if a := Named(name); a.Name != "" {
			words := a.Title
			if key := k.Of(name); key != "" {
				words += " (" + as(key) + ")"
			}
			if id, _, _ := strings.Cut(strings.TrimSpace(args), " "); anID.MatchString(id) {
				words += " on " + id
			}
			return words, true
		}
		v, is := views()[name]
		if !is || v.page == "" {
			words, ok := command(name, args)
			return "`" + words + "`", ok
		}
		return v.page, true
	})
}

// anID is the id of something, and no flag or place for one.
var anID = lazyregexp.New(`^[a-z]-[a-z0-9-]+$`)

// write replaces the links whose names are known; as says whether one is.
func write(text string, as func(open, name, args, end string) (string, bool)) string {
	if !strings.Contains(text, "[[") {
		return text
	}
	return link.ReplaceAllStringFunc(text, func(found string) string {
		m := link.FindStringSubmatch(found)
		if words, ok := as(m[1], m[2], m[3], m[4]); ok {
			return words
		}
		return found
	})
}

// Writer writes links as its surface does in whatever is written to it. It is safe for
// concurrent use.
type Writer struct {
	out io.Writer
	as  func(string) string

	mu   sync.Mutex
	held []byte // the beginning of what may become a link
}

// NewWriter is a writer to out; as is how the surface writes links.
func NewWriter(out io.Writer, as func(string) string) *Writer { return &Writer{out: out, as: as} }

// Unwrap is where the words go: a screen draws there itself, and writes its links before.
func (w *Writer) Unwrap() io.Writer { return w.out }

// maxLink bounds what is held back: no link is longer.
const maxLink = 300

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 && bytes.IndexByte(p, '[') < 0 {
		return w.out.Write(p)
	}
	text := slices.Concat(w.held, p)
	cut := begun(text)
	w.held = append([]byte(nil), text[cut:]...)
	if _, err := io.WriteString(w.out, w.as(string(text[:cut]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// begun is where a link begins that is not over yet, or the end.
func begun(text []byte) int {
	from := max(0, len(text)-maxLink)
	if i := bytes.LastIndex(text[from:], []byte("[[")); i >= 0 && !bytes.Contains(text[from+i:], []byte("]]")) && bytes.IndexByte(text[from+i:], '\n') < 0 {
		return from + i
	}
	if bytes.HasSuffix(text, []byte("[")) {
		return len(text) - 1
	}
	return len(text)
}

// Flush writes what was held back.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) == 0 {
		return nil
	}
	_, err := w.out.Write(w.held)
	w.held = nil
	return err
}
