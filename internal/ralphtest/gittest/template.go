package gittest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

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
	for name, text := range firstFiles() {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}} {
		_, stderr, res, err := proc.NewRunner("").Output(context.Background(), proc.Command{Args: append([]string{"git"}, args...), Dir: dir, Env: testEnv(dir)})
		if err == nil && res.Code != 0 {
			err = errors.New("git " + strings.Join(args, " ") + ": " + string(stderr))
		}
		if err != nil {
			return nil, err
		}
	}
	err = filepath.WalkDir(filepath.Join(dir, ".git"), func(path string, d fs.DirEntry, err error) error {
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
})

func (b *Box) copyStarted() {
	b.T.Helper()
	files, err := started()
	b.Must(err)
	for _, f := range files {
		if f.mode.IsDir() {
			b.Must(os.Mkdir(b.Path(f.name), f.mode.Perm()))
		} else {
			b.Must(os.WriteFile(b.Path(f.name), f.text, f.mode.Perm()))
		}
	}
	b.Git("add", "-A")
}
