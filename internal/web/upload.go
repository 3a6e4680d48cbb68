package web

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/specfile"
)

// readForm reads a form, also one that carries a file.
func readForm(r *http.Request) error {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		return r.ParseMultipartForm(1 << 30) // never on a disk: internal/web/guard has read it, and lets through less
	}
	return r.ParseForm()
}

// uploaded takes the spec out of the file that a form carries, if it carries one. Its name
// says the name of the spec, unless the form says another.
func uploaded(r *http.Request, in *action.Input) error {
	if r.MultipartForm == nil || len(r.MultipartForm.File["upload"]) == 0 {
		return nil
	}
	refuse := func(hint, format string, args ...any) error {
		return &ralph.Refusal{Why: fmt.Sprintf(format, args...), Hint: hint, Kind: ralph.ErrUsage}
	}
	list := r.MultipartForm.File["upload"]
	name := path.Base(strings.ReplaceAll(list[0].Filename, `\`, "/"))
	stem := strings.TrimSuffix(name, path.Ext(name))
	switch ext := strings.ToLower(path.Ext(name)); {
	case len(list) > 1:
		return refuse("send one after the other", "%d files were sent: a spec is one", len(list))
	case in.Text != "":
		return refuse("send one of the two", "a text and a file were sent")
	case ext != ".md" && ext != ".markdown" && ext != ".txt" || stem == "":
		return refuse("specs are markdown: name.md", "%.100q is no name of a spec", name)
	case list[0].Size > specfile.MaxSize:
		return refuse("split it", "the spec is larger than 1 MiB")
	}
	f, err := list[0].Open()
	if err != nil {
		return fmt.Errorf("read the file that was sent: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	switch {
	case err != nil:
		return fmt.Errorf("read the file that was sent: %w", err)
	case len(b) == 0:
		return refuse("write down what is to be done", "the file is empty")
	case !utf8.Valid(b) || strings.ContainsRune(string(b), 0):
		return refuse("save it as UTF-8", "%.100q is no text", name)
	}
	in.Text = strings.ReplaceAll(string(b), "\r\n", "\n")
	if in.File == "" {
		in.File = stem + ".md"
	}
	return nil
}
