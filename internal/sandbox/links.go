package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Links have what paths come to behind links, as they are at one moment: of the lists of a box most lie
// in the same few folders, and each part of a path costs a look.
type Links map[string]behindLinks

// behindLinks is what filepath.EvalSymlinks says.
type behindLinks struct {
	real string
	err  error
}

// behind is filepath.EvalSymlinks.
func (l Links) behind(p string) (string, error) {
	if !filepath.IsAbs(p) || filepath.Clean(p) != p || p == "/" {
		return filepath.EvalSymlinks(p) // .. is another folder behind a link
	}
	known, ok := l[p]
	if !ok {
		known.real, known.err = l.look(p)
		l[p] = known
	}
	return known.real, known.err
}

// look is behind of a path that is not known yet.
func (l Links) look(p string) (string, error) {
	dir, err := l.behind(filepath.Dir(p))
	if err != nil {
		return "", err
	}
	at := filepath.Join(dir, filepath.Base(p))
	info, err := os.Lstat(at)
	switch {
	case err != nil:
		return "", err
	case info.Mode()&os.ModeSymlink != 0:
		return filepath.EvalSymlinks(at)
	}
	return at, nil
}

// there are the paths that exist, as they are behind links, each once, wider ones first.
func (l Links) there(paths []string) []string {
	var out []string
	for _, p := range paths {
		if real, err := l.behind(p); err == nil && filepath.IsAbs(p) {
			out = append(out, real)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// granted are the paths of Box.Write that exist, as they are behind links. A link that lies in what can be
// written may be a process's own, made so that the next one may write where it leads: what is reached by one has
// to lie in what can be written without it, else it is passed over.
func (l Links) granted(paths []string) []string {
	all := l.there(paths)
	var out, linked []string
	for _, p := range paths {
		real, err := l.behind(p)
		switch {
		case err != nil || !filepath.IsAbs(p):
		case real != p && leadsThrough(p, all):
			linked = append(linked, real)
		default:
			out = append(out, real)
		}
	}
	for _, real := range linked {
		if slices.ContainsFunc(out, func(w string) bool { return Within(w, real) }) {
			out = append(out, real)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxLinks bounds how many links lead from one to the next, as the system does.
const maxLinks = 255

// leadsThrough reports whether a path leads through a link that lies in one of the folders, which are behind links.
func leadsThrough(p string, folders []string) bool {
	at, rest := "/", strings.Split(p, "/")
	for seen := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		to, err := os.Readlink(next)
		if err != nil { // no link
			at = next
			continue
		}
		if seen++; seen > maxLinks || slices.ContainsFunc(folders, func(f string) bool { return Within(f, at) }) {
			return true
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return false
}
