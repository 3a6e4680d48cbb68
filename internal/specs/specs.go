// Package specs owns the texts of specs on the disk: reading one of ralph/specs, whether it can be
// one, and what those that wait said when their folder is lost.
//
// It does NOT own what the head of a spec says (internal/specfile), nor which spec is next.
package specs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/specfile"
)

const folder = "ralph/specs"

// Read reads ralph/specs/<file> below root, at most 1 MiB. os.Root keeps a name, or a
// symbolic link, from leading out of the folder: that is an error.
func Read(root, file string) (string, error) {
	dir, err := os.OpenRoot(filepath.Join(root, folder))
	if err != nil {
		return "", fmt.Errorf("open ralph/specs: %w", err)
	}
	defer dir.Close()
	info, err := dir.Stat(file)
	if err != nil {
		return "", fmt.Errorf("read spec: %w", err)
	}
	switch {
	case info.IsDir():
		return "", fmt.Errorf("ralph/specs/%s is a folder", file)
	case info.Size() > specfile.MaxSize:
		return "", fmt.Errorf("ralph/specs/%s is larger than 1 MiB: split it", file)
	}
	b, err := regular.ReadIn(dir, file, specfile.MaxSize)
	if err != nil {
		return "", fmt.Errorf("read spec: %w", err)
	}
	if wrong := Check(b); wrong != "" {
		return "", fmt.Errorf("ralph/specs/%s %s", file, wrong)
	}
	return string(b), nil
}

// Kept is what specs said when they were last read. An agent that deletes their whole folder must
// not make those fail that wait behind its own. A single file that is deleted is another thing: its
// spec is not wanted any more. The zero value keeps nothing yet.
type Kept struct {
	mu   sync.Mutex
	said map[string]reading // by file
	told bool
}

// reading is a spec as it was when it was looked at last.
type reading struct {
	text string      // what it said then or before; "" when it could not be kept
	file fs.FileInfo // nil while it has not been there
}

// maxKept bounds how many of those that wait are looked at each time, maxKeptBytes what is kept of them all.
const (
	maxKept      = 500
	maxKeptBytes = 16 << 20
)

// Read reads a spec, or says what it said before its folder was lost. A plan that people made may
// have no spec at all.
func (k *Kept) Read(root, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := Read(root, file)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	if !lost(root) {
		return "", fmt.Errorf("spec file ralph/specs/%s not found", file)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if text := k.said[file].text; text != "" {
		return text, nil
	}
	return "", fmt.Errorf("spec file ralph/specs/%s not found, as the folder ralph/specs is gone: write it again, or bring it back (git restore ralph/specs, if that is in no commit)", file)
}

// Look reads the spec at work and those that wait, where they have changed, and forgets the others. It
// returns what people are told, once, when their folder is gone.
func (k *Kept) Look(root string, inbox []*ralph.Spec) (note string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if lost(root) {
		if k.told || len(k.said) == 0 {
			return ""
		}
		k.told = true
		return "the folder ralph/specs is gone: specs go on with what they said before, until this session ends; git restore ralph/specs brings it back as long as that is in no commit"
	}
	k.told = false
	said, room := make(map[string]reading, len(k.said)), maxKeptBytes
	for _, q := range inbox {
		if q.Status != ralph.SpecPending && q.Status != ralph.SpecActive {
			continue
		}
		if len(said) == maxKept {
			break
		}
		x := k.said[q.File].again(root, q.File)
		if len(x.text) > room {
			x.text = ""
		}
		if x.file != nil {
			said[q.File], room = x, room-len(x.text)
		}
	}
	k.said = said
	return ""
}

// again is the reading of a file as it is now. One that is not there or cannot be read says what it said.
func (x reading) again(root, name string) reading {
	file, err := os.Stat(filepath.Join(root, folder, name))
	if err != nil || x.file != nil && x.file.Size() == file.Size() && x.file.ModTime().Equal(file.ModTime()) {
		return x
	}
	if text, err := Read(root, name); err == nil {
		x.text = text
	}
	x.file = file
	return x
}

// lost reports whether the folder is gone as a whole.
func lost(root string) bool {
	_, err := os.Lstat(filepath.Join(root, folder))
	return errors.Is(err, fs.ErrNotExist)
}
