package shim

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph/internal/proc"
)

// folder is one of programs, and what is to be in it.
type folder struct {
	dir   string
	texts map[string]string // by name
}

// put makes the folder, unless it is there as it is to be.
func (f folder) put() error {
	if f.stands() {
		return nil
	}
	if err := os.RemoveAll(f.dir); err != nil {
		return err
	}
	return f.make()
}

// stands reports whether the folder has these programs, all that they say and nothing else. An
// agent of an earlier turn may have been here, where no sandbox kept it out.
func (f folder) stands() bool {
	if is, err := os.Lstat(f.dir); err != nil || !is.IsDir() || is.Mode().Perm() != 0o700 {
		return false
	}
	list, err := os.ReadDir(f.dir)
	if err != nil || len(list) != len(f.texts) {
		return false
	}
	read := map[string]os.FileInfo{} // by what it says: files with the same text are one file
	for _, e := range list {
		text, ok := f.texts[e.Name()]
		is, err := os.Lstat(filepath.Join(f.dir, e.Name()))
		if !ok || err != nil || is.Mode() != 0o700 {
			return false
		}
		if was := read[text]; was != nil && os.SameFile(was, is) {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(f.dir, e.Name())); err != nil || string(b) != text {
			return false
		}
		read[text] = is
	}
	return true
}

// make writes the programs. Those with the same text are links to one of them: a file of its own
// costs a new inode each.
func (f folder) make() error {
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		return err
	}
	first := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(f.texts)) {
		text, path := f.texts[name], filepath.Join(f.dir, name)
		if shared, ok := first[text]; ok {
			if os.Link(shared, path) == nil {
				continue
			} // a file system without links
		}
		if err := write(path, text); err != nil {
			return err
		}
		first[text] = path
	}
	return nil
}

// write makes an executable, which may be run at once, whatever other slots start meanwhile.
func write(path, text string) error {
	err := proc.WithoutStarts(func() error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}
