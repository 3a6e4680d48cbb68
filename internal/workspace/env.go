// Package workspace owns where a command stands: what the program gets from outside (Env),
// the repository it is in, its settings, journal and state, the environment that agents and
// checks get of a person's, and what of it is a secret.
//
// It does not own what is done there: sessions, commands and pages ask it for what they
// work with.
package workspace

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/proc"
)

// Env is everything the program gets from outside.
type Env struct {
	Args     []string // without the program's name
	Stdin    io.Reader
	Stdout   io.Writer
	Stderr   io.Writer
	Dir      string   // working directory
	Environ  []string // K=V
	Path     string   // PATH as it was given; in Environ it is without what lies in the repository
	Terminal bool     // stdout is a terminal
	Self     string   // path of this binary, for the scripted agent
	Version  string
}

// OwnPath takes folders of the repository out of PATH, and keeps it as it was for what runs
// in the sandbox. Tools like direnv put them there (bin, node_modules/.bin), and an agent
// writes there: what ralph itself runs by its name, outside of every sandbox, must not be
// found in one (git, bwrap, programs for notices, interpreters of hooks).
func OwnPath(env Env) Env {
	env.Path = proc.Getenv(env.Environ, "PATH")
	root, err := FindRoot(env)
	if err != nil {
		return env
	}
	real := RealFolder(root)
	list := filepath.SplitList(env.Path)
	kept := slices.DeleteFunc(slices.Clone(list), func(dir string) bool {
		return !filepath.IsAbs(dir) || below(root, filepath.Clean(dir)) || below(real, RealFolder(dir))
	})
	if len(kept) == len(list) {
		return env
	}
	env.Environ = append(withoutPath(env.Environ), "PATH="+strings.Join(kept, string(filepath.ListSeparator)))
	return env
}

// OfPerson is an environment for what runs in the sandbox: PATH as the person has it.
func (env Env) OfPerson(environ []string) []string {
	if env.Path == "" {
		return environ
	}
	return append(withoutPath(environ), "PATH="+env.Path)
}

func withoutPath(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
}

// below reports whether a path is a folder or lies in it.
func below(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// RealFolder is a folder behind links, or the folder as named where that cannot be told.
func RealFolder(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}
