package git

import (
	"path/filepath"
	"sync"
)

// ModulesName is where they are, in the worktree's git folder.
const ModulesName = "modules"

// Inner opens a submodule that has its files, nil when it has none.
func (r *Repo) Inner(name string) *Repo {
	root := r.File(name)
	gitDir := GitFile(root)
	rel, err := filepath.Rel(filepath.Join(r.gitDir, ModulesName), gitDir)
	if gitDir == "" || err != nil || !filepath.IsLocal(rel) || !GoodHead(gitDir) || !straight(r.gitDir, gitDir) {
		return nil
	}
	return &Repo{
		p: r.p, env: fenced(r.env, root, gitDir), root: root, program: r.program, version: r.version, gitDir: gitDir, common: gitDir, ours: true, module: true,
		stashes: new(sync.Mutex), shield: r.shield, settings: r.settings,
	}
}

// straight reports whether a folder is below another with no symbolic link on the way.
func straight(top, dir string) bool {
	a, err := filepath.EvalSymlinks(top)
	b, failed := filepath.EvalSymlinks(dir)
	rel, err2 := filepath.Rel(top, dir)
	return err == nil && failed == nil && err2 == nil && b == filepath.Join(a, rel)
}

// Looked opens a submodule to look into, nil for one whose settings an agent may have
// written: git would run the filters that they name.
func (r *Repo) Looked(name string) *Repo {
	if r.ours {
		return r.Inner(name)
	}
	root := r.File(name)
	gitDir := GitFile(root)
	if gitDir == "" && r.shield.wrap == nil {
		gitDir = filepath.Join(root, ".git")
	}
	if gitDir == "" || !GoodHead(gitDir) || r.shield.wrap != nil && !straight(r.common, gitDir) {
		return nil
	}
	return &Repo{
		p: r.p, env: r.env, root: root, program: r.program, version: r.version, gitDir: gitDir, common: gitDir, ours: true, stashes: new(sync.Mutex), shield: r.shield, settings: r.settings,
	}
}
