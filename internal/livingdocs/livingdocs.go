// Package livingdocs keeps a page for each spec, and an index of them, in a folder of a checkout:
// it reads what is there, and writes what has changed.
//
// It does NOT own what a page says (internal/specdoc), or when and into which commit it goes
// (internal/step).
package livingdocs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/specdoc"
)

// maxPage is how much of a page that is there is read; a longer one is left alone.
const maxPage = 4 << 20

// Docs is the folder of the pages, relative to the top of a checkout; "" for none. Redact takes
// secrets out of them.
type Docs struct {
	Folder string
	Redact *redact.Redactor
}

func (d Docs) folder() string { return filepath.ToSlash(filepath.Clean(d.Folder)) }

// Files are those that the page of a spec may change: it, and the index.
func (d Docs) Files(spec string) []string {
	if d.Folder == "" {
		return nil
	}
	return []string{path.Join(d.folder(), specdoc.PageFile(spec)), path.Join(d.folder(), specdoc.IndexFile)}
}

// Changed are the pages that the work on a spec changes, relative to the top of a checkout in
// dir, where those that are there are read. None when nothing changes.
func (d Docs) Changed(work specdoc.Work, dir string) (map[string][]byte, error) {
	if d.Folder == "" {
		return nil, nil
	}
	top, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("write living docs: %w", err)
	}
	defer top.Close()
	out := map[string][]byte{}
	put := func(name string, make func(before string) string) (string, error) {
		before, err := readPage(top, name)
		if err != nil {
			return "", err
		}
		text := d.Redact.String(make(before))
		if text != before {
			out[name] = []byte(text)
		}
		return text, nil
	}
	page := specdoc.PageFile(work.File)
	text, err := put(path.Join(d.folder(), page), work.Page)
	if err != nil {
		return nil, err
	}
	entries, err := entriesIn(top, d.folder(), page)
	if err != nil {
		return nil, err
	}
	if e, ok := specdoc.ReadEntry(page, text); ok {
		entries = append(entries, e)
	}
	_, err = put(path.Join(d.folder(), specdoc.IndexFile), func(before string) string { return specdoc.Index(before, entries) })
	return out, err
}

// readPage reads a page that may not be there. What is no file, or leads out of the checkout, is
// an error: it is not written to.
func readPage(top *os.Root, name string) (string, error) {
	info, err := top.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read living docs: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxPage:
		return "", &ralph.Refusal{Why: name + " is no file that a page can be written to", Hint: "move it away, or change sync.living_docs.path", Kind: ralph.ErrUsage}
	}
	b, err := regular.ReadIn(top, name, maxPage)
	if err != nil {
		return "", fmt.Errorf("read living docs: %w", err)
	}
	return string(b), nil
}

// entriesIn are the entries of the pages in a folder, but for one.
func entriesIn(top *os.Root, folder, but string) ([]specdoc.Entry, error) {
	var list []specdoc.Entry
	err := fs.WalkDir(top.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, folder+"/")
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == folder:
			return fs.SkipAll
		case err != nil:
			return err
		case !d.Type().IsRegular() || !strings.HasSuffix(name, ".md") || rel == but || rel == specdoc.IndexFile:
			return nil
		}
		text, err := readPage(top, name)
		if err != nil {
			return err
		}
		if e, ok := specdoc.ReadEntry(rel, text); ok {
			list = append(list, e)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read living docs: %w", err)
	}
	return list, nil
}

// Write writes pages in a checkout, each at once. A kill leaves the old page or the new one.
func Write(dir string, pages map[string][]byte) error {
	if len(pages) == 0 {
		return nil
	}
	top, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("write living docs: %w", err)
	}
	defer top.Close()
	for name, text := range pages {
		beside := path.Join(path.Dir(name), ".ralph-page.tmp")
		err := top.MkdirAll(path.Dir(name), 0o755)
		if err == nil {
			err = top.WriteFile(beside, text, 0o644)
		}
		if err == nil {
			err = top.Rename(beside, name)
		}
		if err != nil {
			_ = top.Remove(beside)
			return fmt.Errorf("write living docs: %w", err)
		}
	}
	return nil
}
