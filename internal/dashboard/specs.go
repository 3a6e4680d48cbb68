package dashboard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/web"
)

// specFolder is ralph/specs as the dashboard shows it (web.Specs). Names never leave it,
// nor do symbolic links in it.
type specFolder struct{ root string }

const (
	shownSpecs = 1000
	specDepth  = 3
)

// List is all specs there are, by name.
func (f specFolder) List() ([]web.SpecFile, error) {
	dir, err := os.OpenRoot(filepath.Join(f.root, "ralph/specs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open ralph/specs: %w", err)
	}
	defer dir.Close()
	var out []web.SpecFile
	err = fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil || d.IsDir() && (strings.Count(name, "/") >= specDepth || name != "." && strings.HasPrefix(path.Base(name), ".")):
			return fs.SkipDir
		case len(out) == shownSpecs:
			return fs.SkipAll
		case d.IsDir():
			return nil
		}
		if clean, err := ralph.SpecFile(name); err != nil || clean != name {
			return nil //nolint:nilerr // no spec
		}
		if info, err := dir.Stat(name); err == nil && info.Mode().IsRegular() { // a link that leads out has none
			out = append(out, web.SpecFile{Name: name, Size: info.Size(), ChangedAt: info.ModTime()})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read ralph/specs: %w", err)
	}
	return out, nil
}

// Read is the beginning of a spec, at most specfile.MaxSize bytes.
func (f specFolder) Read(name string) (web.SpecFile, []byte, error) {
	missing := &ralph.Refusal{Why: fmt.Sprintf("there is no spec %q", name), Hint: "/specs lists those in ralph/specs", Kind: ralph.ErrNotFound}
	if clean, err := ralph.SpecFile(name); err != nil || clean != name {
		return web.SpecFile{}, nil, missing
	}
	dir, err := os.OpenRoot(filepath.Join(f.root, "ralph/specs"))
	if err != nil {
		return web.SpecFile{}, nil, missing
	}
	defer dir.Close()
	info, err := dir.Stat(name)
	if err != nil || !info.Mode().IsRegular() { // to open a pipe would wait
		return web.SpecFile{}, nil, missing
	}
	file, err := dir.Open(name)
	if err != nil {
		return web.SpecFile{}, nil, fmt.Errorf("open ralph/specs/%s: %w", name, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, specfile.MaxSize))
	if err != nil {
		return web.SpecFile{}, nil, fmt.Errorf("read ralph/specs/%s: %w", name, err)
	}
	return web.SpecFile{Name: name, Size: info.Size(), ChangedAt: info.ModTime()}, text, nil
}
