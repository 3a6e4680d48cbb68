// Package lookup owns looking at the disk for those who judge what an agent wants to do: where
// paths lead, what is in folders and small files, the aliases of git. It decides nothing
// (internal/approval does), and changes nothing.
package lookup

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/regular"
)

// maxLinks bounds the symbolic links on the way, as systems do.
const maxLinks = 40

// maxNames is more than policy follows a pattern to.
const maxNames = 4000

// Disk is a folder that an agent works in, with the ways to look at it. Each may be nil: then a
// path leads to itself, a folder and a file are empty, and nobody knows the aliases.
type Disk struct {
	Work string // absolute
	Home string // of the agent; "": not known

	Real    func(path string) string
	Names   func(dir string) []string
	Read    func(path string) (text string, ok bool)
	Aliases func() map[string]string
}

// At is the folder work on this machine, without git's aliases; env (K=V) is what the
// processes of its agent get.
func At(work string, env []string) Disk {
	return Disk{Work: work, Home: homeOf(env), Real: Real, Names: namesIn, Read: readIn(work)}
}

// maxRounds bounds how often something is looked up and judged again: a pattern leads from
// folder to folder.
const maxRounds = 64

// Clear is approval.Clear with all that it asks for, and with what it was answered on.
func (d Disk) Clear(q ralph.Request, c approval.Settings, rules []*ralph.AnswerRule) (approval.Ruling, ralph.WorkDir) {
	var word approval.Ruling
	c = c.Compiled() // there are some rounds
	w, ok := d.settle(func(w ralph.WorkDir) (missing approval.Missing) {
		word, missing = approval.Clear(q, c, w, rules)
		return missing
	})
	if !ok {
		word = approval.Ruling{Rule: "it leads from folder to folder without an end", Gate: ralph.ApprovalRequest}
	}
	return word, w
}

// InTree is approval.InTree with all that it asks for.
func (d Disk) InTree(q ralph.Request) ralph.Request {
	var in ralph.Request
	d.settle(func(w ralph.WorkDir) (missing approval.Missing) {
		in, missing = approval.InTree(q, w)
		return missing
	})
	return in
}

// Writable is approval.Settings.Writable with all that it asks for.
func (d Disk) Writable(c approval.Settings, dir, path string) bool {
	var can bool
	_, ok := d.settle(func(w ralph.WorkDir) (missing approval.Missing) {
		can, missing = c.Writable(w, dir, path)
		return missing
	})
	return can && ok
}

// settle looks up what is missing until nothing is; false: there is always more.
func (d Disk) settle(try func(ralph.WorkDir) approval.Missing) (ralph.WorkDir, bool) {
	w := ralph.WorkDir{Work: d.Work, Home: d.Home}
	for range maxRounds {
		missing := try(w)
		if missing.None() {
			return w, true
		}
		d.look(&w, missing)
	}
	return w, false
}

func (d Disk) look(w *ralph.WorkDir, missing approval.Missing) {
	for _, path := range missing.Real {
		to := filepath.Clean(path)
		if d.Real != nil {
			to = d.Real(path)
		}
		if to == filepath.Clean(path) {
			to = ""
		}
		set(&w.Real, path, to)
	}
	for _, dir := range missing.Names {
		var names []string
		if d.Names != nil {
			names = d.Names(dir)
		}
		set(&w.Names, dir, names)
	}
	for _, path := range missing.Files {
		var text *string
		if d.Read != nil {
			if s, ok := d.Read(path); ok {
				text = &s
			}
		}
		set(&w.Files, path, text)
	}
	if missing.Aliases {
		w.Aliases = &ralph.GitAliases{}
		if d.Aliases != nil {
			w.Aliases.Known = d.Aliases()
		}
	}
}

func set[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

// maxRead is how much of a file is looked at for what a runner of tasks would run.
const maxRead = 64 << 10

// readIn reads small files of the work tree, and none that a link leads to elsewhere.
func readIn(work string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		full, root := Real(name), Real(work)
		if rel, err := filepath.Rel(root, full); err != nil || !filepath.IsLocal(rel) {
			return "", false
		}
		text, err := regular.ReadFile(full, maxRead)
		return string(text), err == nil
	}
}

// homeOf is the home folder that agents are told of, "" for none.
func homeOf(env []string) string {
	dir := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "HOME="); ok {
			dir = v // the last one counts
		}
	}
	return dir
}

// Real is where a path leads when it is opened: symbolic links are followed, also
// of what is not there yet and of links that lead nowhere. A ring of links leads to
// the root, which is in no work tree.
func Real(path string) string { return follow(path, maxLinks) }

func follow(path string, links int) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	dir, name := filepath.Split(trimSlashes(path))
	if links == 0 || dir == "" || dir == path {
		return "/"
	}
	if dir = follow(trimSlashes(dir), links-1); name == ".." {
		return filepath.Dir(dir)
	}
	at := filepath.Join(dir, name)
	to, err := os.Readlink(at)
	switch {
	case err != nil:
		return at
	case filepath.IsAbs(to):
		return follow(to, links-1)
	}
	return follow(dir+"/"+to, links-1)
}

// trimSlashes takes the slashes off the end, but not that of the root.
func trimSlashes(path string) string {
	for len(path) > 1 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	return path
}

// namesIn are the names in a folder, the first few thousand; none where it cannot be read.
func namesIn(dir string) []string {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxNames) // what there is up to an error
	return names
}
