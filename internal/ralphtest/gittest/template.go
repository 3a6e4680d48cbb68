package gittest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph/internal/proc"
)

// firstFiles are in the first commit of each box.
func firstFiles() map[string]string {
	return map[string]string{"a.txt": "a\n", "dir/b.txt": "b\n", "dir/sub/c.txt": "c\n"}
}

type startedFile struct {
	name string
	mode fs.FileMode
	text []byte
}

// started is what git leaves in .git of a box: each gets a copy, which is two processes less.
// Only the index is made anew, since it knows files by their inodes.
var started = sync.OnceValues(func() (files []startedFile, err error) {
	dir, err := os.MkdirTemp("", "box")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(writeFirst(dir), gitIn(dir, "init", "-q", "-b", "main"), gitIn(dir, "add", "-A"), gitIn(dir, "commit", "-q", "-m", "start")); err != nil {
		return nil, err
	}
	return filesOf(dir, ".git")
})

// withLib are all files of a repository with a submodule that has another one, as a person
// has it who cloned both: a hundred processes make it, three a copy.
var withLib = sync.OnceValues(func() (files []startedFile, err error) {
	tmp, err := os.MkdirTemp("", "box")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp) // the remotes are gone with it
	first, err := started()
	if err != nil {
		return nil, err
	}
	deep, lib, dir := filepath.Join(tmp, "deep tree"), filepath.Join(tmp, "lib tree"), filepath.Join(tmp, "work tree")
	for _, box := range []string{deep, lib, dir} {
		if err := errors.Join(os.Mkdir(box, 0o755), writeFirst(box), put(box, first), gitIn(box, "add", "-A")); err != nil {
			return nil, err
		}
	}
	for _, add := range []struct{ to, from, name string }{{lib, deep, "deep"}, {dir, lib, inner}} {
		if err := errors.Join(gitIn(add.to, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", add.from, add.name),
			gitIn(add.to, "commit", "-q", "-m", "with "+add.name)); err != nil {
			return nil, err
		}
	}
	if err := gitIn(dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive"); err != nil {
		return nil, err
	}
	return filesOf(dir, ".")
})

// inner is where the submodule is in it.
const inner = "vendor/lib"

// WithLib is a repository with a submodule, in which there is another one, as a person has
// it who cloned both: their remotes are gone, so that nothing can come over a network.
func WithLib(t testing.TB) (b Box, lib string) {
	t.Helper()
	b = empty(t)
	files, err := withLib()
	b.Must(err)
	b.Must(put(b.Dir, files))
	for _, dir := range []string{"", inner, inner + "/deep"} { // the copies are files that the indexes do not know yet
		at := b.At(b.Path(dir))
		at.Git("update-index", "-q", "--refresh")
	}
	return b, inner
}

func writeFirst(dir string) error {
	for name, text := range firstFiles() {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	return nil
}

func gitIn(dir string, args ...string) error {
	_, stderr, res, err := proc.NewRunner("").Output(context.Background(), proc.Command{Args: append([]string{"git"}, args...), Dir: dir, Env: testEnv(dir)})
	if err == nil && res.Code != 0 {
		err = errors.New("git " + strings.Join(args, " ") + ": " + string(stderr))
	}
	return err
}

// filesOf reads the files below a folder of dir, with their folders.
func filesOf(dir, top string) (files []startedFile, err error) {
	err = filepath.WalkDir(filepath.Join(dir, top), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := startedFile{mode: info.Mode()}
		if f.name, err = filepath.Rel(dir, path); err == nil && !d.IsDir() {
			f.text, err = os.ReadFile(path)
		}
		files = append(files, f)
		return err
	})
	return files, err
}

// put writes files with their folders into another one.
func put(dir string, files []startedFile) error {
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		var err error
		if f.mode.IsDir() {
			err = os.MkdirAll(path, f.mode.Perm())
		} else {
			err = os.WriteFile(path, f.text, f.mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Box) copyStarted() {
	b.T.Helper()
	files, err := started()
	b.Must(err)
	b.Must(put(b.Dir, files))
	b.Git("add", "-A")
}
