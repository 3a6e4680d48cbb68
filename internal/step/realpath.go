package step

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/approval"
)

// mostLinks bounds the symbolic links on the way, as systems do.
const mostLinks = 40

// mostNames is more than policy follows a pattern to.
const mostNames = 4000

// Ground is the folder work, as it lies on this machine, for policy to judge by what an
// agent wants to do in it; env (K=V) is what its processes get.
func Ground(work string, env []string) approval.Ground {
	return approval.Ground{Work: work, Real: realPath, Names: namesIn, Home: homeOf(env), Read: readIn(work)}
}

// mostRead is how much of a file is looked at for what a runner of tasks would run.
const mostRead = 64 << 10

// readIn reads small files of the work tree, and none that a link leads to elsewhere.
func readIn(work string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		full, root := realPath(name), realPath(work)
		if rel, err := filepath.Rel(root, full); err != nil || !filepath.IsLocal(rel) {
			return "", false
		}
		info, err := os.Lstat(full)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostRead {
			return "", false
		}
		text, err := os.ReadFile(full)
		return string(text), err == nil && len(text) <= mostRead
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

// realPath is where a path leads when it is opened: symbolic links are followed, also
// of what is not there yet and of links that lead nowhere. A ring of links leads to
// the root, which is in no work tree.
func realPath(path string) string { return follow(path, mostLinks) }

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
	names, _ := f.Readdirnames(mostNames) // what there is up to an error
	return names
}
