// Package trust owns what a person of this machine has said may run of a repository: each
// thing by the hash of its content, in a file outside of the repository; which things those
// are, and the question. It does not own who must have been asked (session, doctor, cli).
package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"
)

// Item is a thing of a repository that runs, or decides what may: a hook, a setting.
type Item struct {
	Key  string `json:"key"`            // names it: "hook ralph/hooks/pre-session", "setting gate.approvals"
	What string `json:"what,omitempty"` // for people: the value, the size
	Hash string `json:"hash"`           // of its content
}

// State is how an item stands to what is known.
type State string

// The states.
const (
	Trusted State = "trusted"
	New     State = "new"
	Changed State = "changed" // another content of it was trusted
)

// Repository is what is known of one.
type Repository struct {
	Items map[string]string `json:"items"` // hash by key
	At    time.Time         `json:"at"`    // of the newest change
}

// file is trust.json.
type file struct {
	Version      int                   `json:"version"`
	Repositories map[string]Repository `json:"repositories"` // by root, symbolic links followed
}

const version = 1

// ErrNowhere is that there is no place outside of repositories in which trust can be kept.
var ErrNowhere = errors.New("trust cannot be kept: neither HOME nor XDG_DATA_HOME is set")

// Store is the file. The zero Store has no place.
type Store struct{ path string }

// Open finds the place of the file in an environment, K=V: $XDG_DATA_HOME/ralph, or
// ~/.local/share/ralph. A Store without a place knows nothing and keeps nothing.
func Open(environ []string) Store {
	get := func(key string) (value string) {
		for _, kv := range environ {
			if v, ok := strings.CutPrefix(kv, key+"="); ok {
				value = v
			}
		}
		return value
	}
	dir := get("XDG_DATA_HOME")
	if home := get("HOME"); !filepath.IsAbs(dir) && filepath.IsAbs(home) {
		dir = filepath.Join(home, ".local/share")
	}
	if !filepath.IsAbs(dir) {
		return Store{}
	}
	return Store{filepath.Join(dir, "ralph/trust.json")}
}

// Path is where the file is, "" for nowhere.
func (s Store) Path() string { return s.path }

func (s Store) read() (file, error) {
	f := file{Version: version, Repositories: map[string]Repository{}}
	if s.path == "" {
		return f, nil
	}
	b, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err == nil && f.Version != version {
		err = fmt.Errorf("it has version %d, this ralph knows version %d", f.Version, version)
	}
	if err != nil {
		return f, fmt.Errorf("read %s: %w", s.path, err)
	}
	if f.Repositories == nil {
		f.Repositories = map[string]Repository{}
	}
	return f, nil
}

// change reads, changes and writes the file while nobody else does.
func (s Store) change(do func(*file)) error {
	if s.path == "" {
		return ErrNowhere
	}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("keep trust: %w", err)
	}
	lock, err := os.OpenFile(s.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("keep trust: %w", err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("keep trust: %w", err)
	}
	f, err := s.read()
	if err != nil {
		return err
	}
	do(&f)
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("keep trust: %w", err)
	}
	if err := renameio.WriteFile(s.path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("keep trust: %w", err)
	}
	return nil
}

// Known is what is known of a repository, and whether anything is.
func (s Store) Known(root string) (Repository, bool, error) {
	f, err := s.read()
	r, ok := f.Repositories[real(root)]
	return r, ok, err
}

// All are the repositories that are known, by root.
func (s Store) All() (map[string]Repository, error) {
	f, err := s.read()
	return f.Repositories, err
}

// Trust adds items to what is trusted of a repository; without any, the repository itself.
func (s Store) Trust(root string, items []Item, now time.Time) error {
	return s.change(func(f *file) {
		r := f.Repositories[real(root)]
		r.Items = maps.Clone(r.Items)
		if r.Items == nil {
			r.Items = map[string]string{}
		}
		for _, i := range items {
			r.Items[i.Key] = i.Hash
		}
		r.At = now.UTC()
		f.Repositories[real(root)] = r
	})
}

// Revoke forgets a repository. It reports whether it was known.
func (s Store) Revoke(root string) (known bool, err error) {
	err = s.change(func(f *file) {
		_, known = f.Repositories[real(root)]
		delete(f.Repositories, real(root))
	})
	return known, err
}

// Of says how an item stands to what is known of its repository.
func (r Repository) Of(i Item) State {
	switch hash, ok := r.Items[i.Key]; {
	case !ok:
		return New
	case hash != i.Hash:
		return Changed
	}
	return Trusted
}

// Missing are the items that are not trusted.
func (r Repository) Missing(items []Item) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return r.Of(i) == Trusted })
}

func real(dir string) string {
	if to, err := filepath.EvalSymlinks(dir); err == nil {
		return to
	}
	return filepath.Clean(dir)
}
