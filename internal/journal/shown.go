package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/views"
)

// shown is the state with what people have saved in the views, as it was made last.
type shown struct {
	views views.Views
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
		x.views.Init(j.opt.views())
	}
	files := x.views.Stat()
	if x.state != nil && x.state.Seq == j.state.Seq && x.hash == j.state.Hash && views.SameInfo(files[0], x.files[0]) && views.SameInfo(files[1], x.files[1]) {
		return x.state, x.err
	}
	s := j.state.Clone()
	x.err = x.views.Show(s)
	x.state, x.hash, x.files = s, j.state.Hash, files
	return s, x.err
}

// SetAside moves a session.json that is none of this version, or none at all, out of the
// way of the next write, and says so: it is made from the journal, which is
// the truth. "" when there is nothing to move. Only the engine calls it, with the lock.
func (j *File) SetAside() (notice string, err error) {
	_, err = views.ReadSession(j.opt.Root)
	refusal, other := errors.AsType[*ralph.Refusal](err)
	corrupt, broken := errors.AsType[*ralph.CorruptError](err)
	why := ""
	switch {
	case other:
		why = refusal.Why
	case broken:
		why = fmt.Sprintf("%s is no session (%s)", views.SessionFile, corrupt.Why)
	default:
		return "", err
	}
	from := filepath.Join(j.opt.Root, views.SessionFile)
	if err := os.Rename(from, from+views.OldFile); err != nil {
		return "", fmt.Errorf("set %s aside: %w", views.SessionFile, err)
	}
	return fmt.Sprintf("%s; it is kept as %s and made anew from the journal", why, views.SessionFile+views.OldFile), nil
}

// Carries reports whether agent mode has left its session file, so that the next start
// may go on with it.
func (j *File) Carries() bool {
	_, err := os.Stat(filepath.Join(j.opt.Root, views.AgentFile))
	return err == nil
}
