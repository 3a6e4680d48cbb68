package worktrees

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/git"
)

// CopyInto copies what the patterns name (globs as in path.Match, relative to
// root, with slashes) from a checkout into a new worktree: settings and
// dependencies that git does not track. Folders are copied whole, with modes and
// times; links stay links; pipes and the like are left out, and so are git and
// worktree folders. What is in dir already stays. Nothing outside root is read and nothing outside dir
// written, whatever links lead there. It returns the matches, sorted. A pattern
// that matches nothing is an error which names it, and then nothing is copied.
func CopyInto(ctx context.Context, root, dir string, patterns []string) (copied []string, err error) {
	from, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("copy into worktree: %w", err)
	}
	defer from.Close()
	to, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("copy into worktree: %w", err)
	}
	defer to.Close()
	copied, err = matches(from, patterns)
	if err != nil {
		return nil, fmt.Errorf("copy into worktree: %w", err)
	}
	c := &copying{ctx: ctx, from: from, to: to, free: make(chan struct{}, 2*runtime.GOMAXPROCS(0))}
	for _, name := range copied {
		c.fail(to.MkdirAll(path.Dir(name), 0o777))
		c.entry(name)
	}
	c.wg.Wait()
	for _, f := range slices.Backward(c.folders) { // a folder may forbid to write into it
		c.fail(errors.Join(to.Chmod(f.name, f.info.Mode().Perm()), to.Chtimes(f.name, f.info.ModTime(), f.info.ModTime())))
	}
	if c.err == nil {
		c.err = ctx.Err()
	}
	if c.err != nil {
		return nil, fmt.Errorf("copy into worktree: %w", c.err)
	}
	return copied, nil
}

func matches(from *os.Root, patterns []string) (list []string, err error) {
	for _, p := range patterns {
		name := path.Clean(filepath.ToSlash(p))
		if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
			err = errors.Join(err, fmt.Errorf("%q leads out of the checkout, or names all of it", p))
			continue
		}
		found, bad := fs.Glob(from.FS(), name)
		found = slices.DeleteFunc(found, notCopied)
		switch {
		case bad != nil:
			err = errors.Join(err, fmt.Errorf("%q: %w", p, bad))
		case len(found) == 0:
			err = errors.Join(err, fmt.Errorf("nothing in the checkout matches %q", p))
		}
		list = append(list, found...)
	}
	slices.Sort(list)
	return slices.Compact(list), err
}

// notCopied are the folders that belong to one checkout alone.
func notCopied(name string) bool {
	return path.Base(name) == ".git" || git.IsOwn(name) || git.IsOwn(name+"/")
}

// copying is one call of CopyInto. Files are copied side by side, folders made
// in order.
type copying struct {
	ctx      context.Context
	from, to *os.Root
	free     chan struct{}
	wg       sync.WaitGroup
	folders  []folderInfo

	mu  sync.Mutex
	err error
}

type folderInfo struct {
	name string
	info fs.FileInfo
}

func (c *copying) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *copying) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil || c.ctx.Err() != nil
}

func (c *copying) entry(name string) {
	if c.stopped() {
		return
	}
	info, err := c.from.Lstat(name)
	if err != nil {
		c.fail(err)
		return
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		c.folder(name, info)
	case mode.IsRegular():
		c.free <- struct{}{}
		c.wg.Go(func() {
			defer func() { <-c.free }()
			c.fail(c.file(name, info))
		})
	case mode&fs.ModeSymlink != 0:
		target, err := c.from.Readlink(name)
		if err == nil {
			err = c.to.Symlink(target, name)
		}
		if !errors.Is(err, fs.ErrExist) {
			c.fail(err)
		}
	}
}

func (c *copying) folder(name string, info fs.FileInfo) {
	err := c.to.Mkdir(name, info.Mode().Perm()|0o700)
	switch {
	case err == nil:
		c.folders = append(c.folders, folderInfo{name, info})
	case !errors.Is(err, fs.ErrExist):
		c.fail(err)
		return
	}
	list, err := fs.ReadDir(c.from.FS(), name)
	if err != nil {
		c.fail(err)
		return
	}
	for _, e := range list {
		if inner := name + "/" + e.Name(); !notCopied(inner) {
			c.entry(inner)
		}
	}
}

// partSuffix is how a file is called until it is complete: a crash must not
// leave half of one under its name.
const partSuffix = ".ralph-part"

func (c *copying) file(name string, info fs.FileInfo) error {
	if _, err := c.to.Lstat(name); err == nil || strings.HasSuffix(name, partSuffix) {
		return nil
	}
	src, err := c.from.Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	part := name + partSuffix
	dst, err := c.to.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src) // the system copies, and shares blocks where it can
	err = errors.Join(err, dst.Chmod(info.Mode().Perm()), dst.Close())
	if err == nil {
		err = errors.Join(c.to.Chtimes(part, info.ModTime(), info.ModTime()), c.to.Rename(part, name))
	}
	if err != nil {
		_ = c.to.Remove(part)
	}
	return err
}
