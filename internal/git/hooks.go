package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/ralph-loop/ralph/internal/proc"
)

// shield is what stands between the hooks of a repository and the rest of the system.
// Hooks are the person's, and what they run is what an agent wrote: its tests, the
// scripts of its work tree, and the hooks themselves where core.hooksPath leads there.
type shield struct {
	wrap   func(dir string, argv []string) ([]string, error)
	folder string
}

// Shield has hooks run inside a sandbox from now on, in this checkout and its worktrees:
// wrap makes of a command that works in dir the one that is started. The scripts that stand for the
// hooks are made in folder, where no agent can write.
func (r *Repo) Shield(folder string, wrap func(dir string, argv []string) ([]string, error)) {
	r.shield.wrap, r.shield.folder = wrap, folder
}

// hooksFor is the setting by which a call finds its hooks. A command that only reads has
// none. In a worktree of ralph's only a commit has: that of the person's own.
func (r *Repo) hooksFor(ctx context.Context, c Call) ([]string, error) {
	switch {
	case c.own:
		return nil, nil
	case !c.Write || r.gitDir == "" || c.Plain || r.ours && !c.Hooks || r.module:
		return []string{"core.hooksPath=" + os.DevNull}, nil
	case r.shield.wrap == nil:
		return nil, nil
	}
	for _, kv := range c.Conf {
		if strings.HasPrefix(kv, "core.hooksPath=") {
			return nil, nil
		}
	}
	dir, err := r.wrappedHooks(ctx)
	if err != nil {
		return nil, fmt.Errorf("put the hooks of the repository into the sandbox: %w", err)
	}
	return []string{"core.hooksPath=" + dir}, nil
}

// hooksAt is where a repository has its hooks, as its settings were.
type hooksAt struct {
	mu       sync.Mutex
	folder   string
	settings []os.FileInfo
}

// settingsFiles are the files in which people set what git does here.
func (r *Repo) settingsFiles() []string {
	home := proc.Getenv(r.env, "HOME")
	return []string{
		filepath.Join(r.common, "config"), filepath.Join(r.gitDir, "config.worktree"),
		cmp.Or(proc.Getenv(r.env, "GIT_CONFIG_GLOBAL"), filepath.Join(home, ".gitconfig")),
		filepath.Join(cmp.Or(proc.Getenv(r.env, "XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config"),
	}
}

// settingsNow is how these files stand: what was asked of git holds until one of them is another.
func (r *Repo) settingsNow() (now []os.FileInfo) {
	for _, name := range r.settingsFiles() {
		now = append(now, Stat(name))
	}
	return now
}

// realHooks is the folder of the repository's hooks. git is asked once, and again when a
// file has changed in which people set core.hooksPath.
func (r *Repo) realHooks(ctx context.Context) (string, error) {
	r.hooks.mu.Lock()
	defer r.hooks.mu.Unlock()
	now := r.settingsNow()
	if r.hooks.folder != "" && slices.EqualFunc(now, r.hooks.settings, SameFile) {
		return r.hooks.folder, nil
	}
	real, err := r.Line(ctx, Call{Args: []string{"rev-parse", "--git-path", "hooks"}, own: true})
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(real) {
		real = filepath.Join(r.root, real)
	}
	r.hooks.folder, r.hooks.settings = real, now
	return real, nil
}

// wrappedHooks makes a folder of scripts, one for each hook that the repository has, that
// run them inside the sandbox.
func (r *Repo) wrappedHooks(ctx context.Context) (string, error) {
	real, err := r.realHooks(ctx)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(r.root))
	folder := filepath.Join(r.shield.folder, hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	have := map[string]bool{}
	list, err := os.ReadDir(real)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return "", err
	}
	for _, e := range list {
		hook := filepath.Join(real, e.Name())
		info := Stat(hook)
		if info == nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 || strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		argv, err := r.shield.wrap(r.root, []string{hook})
		if err != nil {
			return "", err
		}
		// What by hand is not told to a hook is not told to it here.
		text := "#!/bin/sh\nunset GIT_WORK_TREE GIT_COMMON_DIR\nexec"
		for _, word := range argv {
			text += " '" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		name := filepath.Join(folder, e.Name())
		have[e.Name()] = true
		if old, err := os.ReadFile(name); err == nil && string(old) == text+" \"$@\"\n" {
			continue
		}
		if err := proc.WithoutStarts(func() error { return replaceFile(name, text+" \"$@\"\n", 0o700) }); err != nil {
			return "", err
		}
	}
	old, err := os.ReadDir(folder)
	for _, e := range old {
		if !have[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	return folder, err
}
