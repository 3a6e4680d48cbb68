package git

import (
	"path/filepath"
	"sync"
)

// modulesName is where they are, in the worktree's git folder.
const modulesName = "modules"

// inner opens a submodule that has its files, nil when it has none.
func (r *Repo) inner(name string) *Repo {
	root := r.File(name)
	gitDir := gitFile(root)
	rel, err := filepath.Rel(filepath.Join(r.gitDir, modulesName), gitDir)
	if gitDir == "" || err != nil || !filepath.IsLocal(rel) || !goodHead(gitDir) || !straight(r.gitDir, gitDir) {
		return nil
	}
	return &Repo{
		p: r.p, env: fenced(r.env, root, gitDir), root: root, program: r.program, gitDir: gitDir, common: gitDir, ours: true, module: true,
		stashes: new(sync.Mutex), shield: r.shield,
	}
}

// straight reports whether a folder is below another with no symbolic link on the way.
func straight(top, dir string) bool {
	a, err := filepath.EvalSymlinks(top)
	b, failed := filepath.EvalSymlinks(dir)
	rel, err2 := filepath.Rel(top, dir)
	return err == nil && failed == nil && err2 == nil && b == filepath.Join(a, rel)
}

// inners opens the submodules of the index that have files.
func (r *Repo) inners() []*Repo {
	if Stat(filepath.Join(r.gitDir, modulesName)) == nil {
		return nil
	}
	var list []*Repo
	names, _ := r.linkPaths(r.RealIndex()) // one of another kind has none that ralph made
	for _, name := range names {
		if sub := r.inner(name); sub != nil {
			list = append(list, sub)
		}
	}
	return list
}

// looked opens a submodule to look into, nil for one whose settings an agent may have
// written: git would run the filters that they name.
func (r *Repo) looked(name string) *Repo {
	if r.ours {
		return r.inner(name)
	}
	root := r.File(name)
	gitDir := gitFile(root)
	if gitDir == "" && r.shield.wrap == nil {
		gitDir = filepath.Join(root, ".git")
	}
	if gitDir == "" || !goodHead(gitDir) || r.shield.wrap != nil && !straight(r.common, gitDir) {
		return nil
	}
	return &Repo{
		p: r.p, env: r.env, root: root, program: r.program, gitDir: gitDir, common: gitDir, ours: true, stashes: new(sync.Mutex), shield: r.shield,
	}
}
