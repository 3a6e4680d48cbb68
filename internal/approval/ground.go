package approval

import (
	"path/filepath"
	"slices"

	"github.com/ralph-loop/ralph"
)

// Missing is what lies on disk and has to be looked up before a request can be judged: each
// path once.
type Missing struct {
	Real    []string // paths: where they lead
	Names   []string // folders: the names in them
	Files   []string // files of the work tree: what is in them
	Aliases bool     // those of git
}

// None reports whether nothing is missing.
func (m Missing) None() bool {
	return len(m.Real)+len(m.Names)+len(m.Files) == 0 && !m.Aliases
}

// ground is a folder that an agent works in, as far as it was looked at, and what else there
// is to look up. What is missing is taken for the simplest: a path leads to itself, a folder
// and a file are empty.
type ground struct {
	ralph.WorkDir
	missing Missing
}

func groundOf(w ralph.WorkDir) *ground { return &ground{WorkDir: w} }

// in is a folder of a request, absolute.
func (g *ground) in(dir string) string {
	switch {
	case dir == "":
		return g.Work
	case filepath.IsAbs(dir):
		return dir
	}
	return g.Work + "/" + dir
}

// real is where a path leads, symbolic links followed; of one that is not there as far as it is.
func (g *ground) real(path string) string {
	to, known := g.Real[path]
	if !known {
		miss(&g.missing.Real, path)
	}
	if to == "" {
		return filepath.Clean(path)
	}
	return to
}

func (g *ground) names(dir string) []string {
	names, known := g.Names[dir]
	if !known {
		miss(&g.missing.Names, dir)
	}
	return names
}

// read is what is in a small file of the work tree.
func (g *ground) read(path string) (string, bool) {
	text, known := g.Files[path]
	if !known {
		miss(&g.missing.Files, path)
	}
	if text == nil {
		return "", false
	}
	return *text, true
}

// aliases are those of git, nil when nobody knows them.
func (g *ground) aliases() map[string]string {
	if g.Aliases == nil {
		g.missing.Aliases = true
		return nil
	}
	return g.Aliases.Known
}

func miss(list *[]string, path string) {
	if !slices.Contains(*list, path) {
		*list = append(*list, path)
	}
}
