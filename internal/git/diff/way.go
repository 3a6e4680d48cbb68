package diff

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph/internal/git"
)

// InTheWay returns what stands where files of the base belong and is in no
// tree: ignored files, and repositories of the agent's own.
func InTheWay(r *git.Repo, changes []Change) []string {
	known := map[string]Change{} // what the leftover's tree has, where it differs
	for _, c := range changes {
		if c.Status != 'D' {
			known[c.Path] = c
		}
	}
	var lost []string
	for _, c := range changes {
		if c.Status == 'T' && c.Link() {
			lost = append(lost, unknownIn(r, c.Path, nil)...)
		}
		if c.Status != 'D' {
			continue
		}
		lost = append(lost, unknownIn(r, c.Path, known)...)
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			_, ok := known[dir]
			if info, err := os.Lstat(r.File(dir)); !ok && err == nil && !info.IsDir() {
				lost = append(lost, dir)
			}
		}
	}
	slices.Sort(lost)
	return slices.Compact(lost)
}

// unknownIn returns the files below a folder that are not known.
func unknownIn(r *git.Repo, name string, known map[string]Change) []string {
	if info, err := os.Lstat(r.File(name)); err != nil || !info.IsDir() {
		return nil
	}
	var lost []string
	_ = filepath.WalkDir(r.File(name), func(file string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(r.Root(), file)
		if err != nil || relErr != nil {
			lost = append(lost, name) // what cannot be read may hold anything
			return fs.SkipAll
		}
		rel = filepath.ToSlash(rel)
		if k, ok := known[rel]; !d.IsDir() && (!ok || k.Link()) {
			lost = append(lost, rel)
		}
		return nil
	})
	return lost
}
