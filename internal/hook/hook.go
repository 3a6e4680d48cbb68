// Package hook runs the executables that people put into ralph/hooks: after
// events, in the background and in order, and before steps, where they may stop
// the loop. It owns which files are hooks (Look), how they are run, and what is
// noted of it. It owns no event's name and no journal: names are the root
// package's, facts go to whoever made After or the Doer, and which
// events are told is what its follower of the journal reads.
package hook

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/eventname"
)

// Dir is where hooks lie, relative to the repository.
const Dir = "ralph/hooks"

// Hook is an executable that is run at an event or before a step.
type Hook struct {
	Name string // of the file
	Path string // absolute
	// Sum is the hash of what it held when it was looked at, "" where nobody looked.
	Sum string
}

// Flaw is a file in ralph/hooks that is never run, and how to mend that.
type Flaw struct{ File, Why, Fix string }

// Set is what lies in ralph/hooks.
type Set struct {
	Hooks []Hook // by name
	Flaws []Flaw
}

// File is the file name of the hook for an event's name: the name itself, with `-`
// for each `:`.
func File(name string) string { return strings.ReplaceAll(name, ":", "-") }

// PreHooks are the names of the hooks that run before something.
func PreHooks() []string {
	return []string{"pre-session", "pre-turn", "pre-check", "pre-commit", "pre-merge", "pre-land", "pre-publish"}
}

// ownKind is the one kind of fact that has no hook: a hook for what hooks did would
// never come to an end.
const ownKind = "hook.ran"

// names are the file names that are hooks.
func names() []string {
	list := PreHooks()
	for _, name := range eventname.Known() {
		if name != ownKind {
			list = append(list, File(name))
		}
	}
	return list
}

// Look looks through ralph/hooks of the repository root. A symlink counts as what
// it leads to, inside the repository; one that leads out is a flaw. Notes, samples and hidden
// files (*.md, *.sample, .*, *~) are left alone. The error is a folder that cannot be read.
func Look(root string) (Set, error) {
	var set Set
	repo, err := os.OpenRoot(root)
	if err != nil {
		return set, fmt.Errorf("look for hooks: %w", err)
	}
	defer repo.Close()
	info, err := repo.Stat(Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return set, nil
	case err != nil:
		set.Flaws = []Flaw{{Dir, "it leads out of the repository", "put the hooks into the repository, or link each to a file in it"}}
		return set, nil
	case !info.IsDir():
		set.Flaws = []Flaw{{Dir, "it is no folder", "make it a folder with one executable for each event"}}
		return set, nil
	}
	dir, err := repo.Open(Dir)
	if err != nil {
		return set, fmt.Errorf("look for hooks: %w", err)
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return set, fmt.Errorf("look for hooks: %w", err)
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	known := names()
	for _, e := range entries {
		name := e.Name()
		if beside(name) {
			continue
		}
		info, err := repo.Stat(filepath.Join(Dir, name))
		if why, fix := flaw(name, info, err, known); why != "" {
			set.Flaws = append(set.Flaws, Flaw{Dir + "/" + name, why, fix})
			continue
		}
		h := Hook{Name: name, Path: filepath.Join(root, Dir, name)}
		if h.Sum, err = sum(h.Path); err != nil {
			return set, fmt.Errorf("look at hook %s: %w", name, err)
		}
		set.Hooks = append(set.Hooks, h)
	}
	return set, nil
}

// sum is the hash of what a file holds.
func sum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// changed says why a hook is not run as what it is by now, "" when it is what was looked at.
// A person has said yes to that content, and where nothing else holds an agent it can write
// the file.
func (h Hook) changed() string {
	if h.Sum == "" {
		return ""
	}
	const once = "it is run again from the next start on, if it is still to be trusted"
	switch now, err := sum(h.Path); {
	case errors.Is(err, fs.ErrNotExist):
		return "it was taken away since the session began; put it back, or start anew without it"
	case err != nil:
		return "it cannot be read any more: " + err.Error()
	case now != h.Sum:
		return "it was changed since the session began, by whomever: " + once
	}
	return ""
}

// beside reports whether a file is not meant to be a hook.
func beside(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".sample") || strings.HasSuffix(name, "~")
}

// flaw says why a file is not run, "" when it is.
func flaw(name string, info fs.FileInfo, err error, known []string) (why, fix string) {
	switch {
	case err != nil:
		return "it leads out of the repository, or to nothing", "link it to a file in the repository, or write a script that calls the other"
	case info.IsDir():
		return "it is a folder", "each hook is one executable; put what it needs elsewhere"
	case name == ownKind:
		return "there is no hook for what hooks do", "it would never come to an end; `ralph log --type hook.ran` shows what they did"
	case !slices.Contains(known, name):
		fix = "docs/events.md lists the names; the file is called like the event, with - for :"
		if near := ralph.Nearest(name, known); near != "" {
			fix = fmt.Sprintf("rename it, if you mean %s: mv %s/%s %s/%s", near, Dir, name, Dir, near)
		}
		return "no event has that name", fix
	case !info.Mode().IsRegular():
		return "it is no file", "each hook is one executable"
	case info.Mode()&0o111 == 0:
		return "it is not executable", fmt.Sprintf("chmod +x %s/%s", Dir, name)
	}
	return "", ""
}

// For returns the hooks of an event by its names, in their order.
func (s Set) For(names []string) []Hook {
	var list []Hook
	for _, name := range names {
		if name == ownKind {
			return nil
		}
		if h, ok := s.find(File(name)); ok && !slices.Contains(list, h) {
			list = append(list, h)
		}
	}
	return list
}

func (s Set) find(file string) (Hook, bool) {
	i, ok := slices.BinarySearchFunc(s.Hooks, file, func(h Hook, file string) int { return strings.Compare(h.Name, file) })
	if !ok {
		return Hook{}, false
	}
	return s.Hooks[i], true
}
