package journal

import (
	"os"

	"github.com/ralph-loop/ralph"
)

// shown is the state with what people have saved in the views, as it was made last.
type shown struct {
	views views
	state *ralph.State // nil before the first
	hash  string       // of the facts in it
	err   error
	files [2]os.FileInfo
}

// Shown is what the facts add up to now, with what people have saved in the views and no
// Update has read back yet: what a journal that is open for reading has as its state. It
// is the same one as long as nothing has changed, and never changes itself. With a view
// that cannot be read comes an error, and the state without that one.
func (j *File) Shown() (*ralph.State, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.catchUp() // as in State: a journal that cannot be read is for the next Update
	x := &j.shown
	if x.state == nil {
		x.views.init(j.opt)
	}
	files := x.views.stat()
	if x.state != nil && x.state.Seq == j.state.Seq && x.hash == j.state.Hash && sameInfo(files[0], x.files[0]) && sameInfo(files[1], x.files[1]) {
		return x.state, x.err
	}
	s := j.state.Clone()
	x.err = x.views.show(s)
	x.state, x.hash, x.files = s, j.state.Hash, files
	return s, x.err
}

// stat is how the views look; nil for one that is not there.
func (v *views) stat() (files [2]os.FileInfo) {
	for i, f := range []*viewFile{&v.inbox, &v.plan} {
		files[i], _ = os.Stat(f.path)
	}
	return files
}

// sameInfo reports whether a file looks as it did.
func sameInfo(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
