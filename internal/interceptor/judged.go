package interceptor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/lookup"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/shim"
)

// judged is a turn whose engine has a word on the calls of its agent's programs: the same as
// the shim's own process has, from the rules in the folder of the turn, where it is a plain
// yes; else none.
type judged struct {
	agentsock.Turn

	once  sync.Once
	rules shimRules
	err   error
}

// Passes implements agentsock.Judge.
func (j *judged) Passes(folder string, c agentsock.Call) string {
	j.once.Do(func() {
		j.rules, j.err = readShimRules(folder)
		j.rules.Config = j.rules.Config.Compiled()
	})
	if j.err != nil || j.rules.Work == "" {
		return ""
	}
	if _, _, push := shim.PushCall(c.Argv, c.Dir); push {
		return "" // the engine pushes, or a hook asks: both are the shim's
	}
	o := outside{same: []string{j.rules.Work, lookup.Real(j.rules.Work), os.TempDir(), lookup.Real(os.TempDir())}}
	if _, _, held := j.rules.judge(c.Argv, c.Dir, o.disk(j.rules.Work, c.Env)); held || o.unsure || !o.path(proc.Getenv(c.Env, "PATH")) {
		return ""
	}
	program, err := shim.Real(c.Argv[0], folder, c.Env)
	if err != nil {
		return ""
	}
	if c.Argv[0] == "git" {
		shim.TellGit(folder, c.Argv[1:])
	}
	return program
}

// outside looks at the disk for a process that may be in a sandbox, where some folders are
// other ones than out here.
type outside struct {
	same []string // folders that are the same in there: the work tree, and those for temporary files
	// unsure: somebody looked past them, or asked for git's aliases, which depend on more of
	// the environment than a shim tells.
	unsure bool
}

func (o *outside) sees(path string) bool {
	return slices.ContainsFunc(o.same, func(dir string) bool { return sandbox.Within(dir, path) })
}

func (o *outside) look(path string) string {
	path = filepath.Clean(path)
	o.unsure = o.unsure || !o.sees(path)
	return path
}

func (o *outside) disk(work string, env []string) lookup.Disk {
	d := lookup.At(work, env)
	real, names, read := d.Real, d.Names, d.Read
	d.Real = func(path string) string { return o.look(real(o.look(path))) }
	d.Names = func(dir string) []string { return names(o.look(dir)) }
	d.Read = func(path string) (string, bool) { return read(o.look(path)) }
	d.Aliases = func() map[string]string { o.unsure = true; return nil }
	return d
}

// path reports whether a PATH leads to the same programs in there: what of a sandbox has
// folders that can be written, and are not these, lies in /dev and /proc.
func (o *outside) path(path string) bool {
	return !slices.ContainsFunc(filepath.SplitList(path), func(dir string) bool {
		dir = filepath.Clean(dir)
		return !o.sees(dir) && (strings.HasPrefix(dir, "/dev") || strings.HasPrefix(dir, "/proc"))
	})
}
