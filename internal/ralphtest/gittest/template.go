package gittest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// started is what git leaves in .git of the first box: the others get a copy, which is two
// processes less for each. Only the index is made anew, since it knows files by their inodes.
var started struct {
	once  sync.Once
	files []startedFile
}

type startedFile struct {
	name string
	mode fs.FileMode
	text []byte
}

// start makes the repository with its one commit.
func (b *Box) start(initArgs ...string) {
	b.T.Helper()
	b.Git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "start")
}

func (b *Box) copyStarted() {
	b.T.Helper()
	started.once.Do(func() {
		first := b.At(b.T.TempDir())
		b.Must(os.CopyFS(first.Dir, os.DirFS(b.Dir)))
		first.start()
		b.Must(filepath.WalkDir(first.Path(".git"), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			f := startedFile{mode: info.Mode()}
			if f.name, err = filepath.Rel(first.Dir, path); err == nil && !d.IsDir() {
				f.text, err = os.ReadFile(path)
			}
			started.files = append(started.files, f)
			return err
		}))
	})
	for _, f := range started.files {
		if f.mode.IsDir() {
			b.Must(os.Mkdir(b.Path(f.name), f.mode.Perm()))
		} else {
			b.Must(os.WriteFile(b.Path(f.name), f.text, f.mode.Perm()))
		}
	}
	b.Git("add", "-A")
}
