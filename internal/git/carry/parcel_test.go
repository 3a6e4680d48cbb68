package carry

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// road is two machines, of which the other one has what one of them had at the beginning.
type road struct {
	gittest.Box
	from, to *git.Repo
	there    gittest.Box
	program  *gittest.Program
	since    Snapshot
	known    map[string]bool
}

func newRoad(t *testing.T) *road {
	t.Helper()
	box := gittest.New(t)
	for i := range 20 {
		box.Write(fmt.Sprintf("src/deep/%d", i), "one\n")
	}
	box.Write("top", "1\n")
	box.Git("add", "-A")
	box.Git("commit", "-q", "-m", "start")
	box.Git("commit", "-q", "--allow-empty", "-m", "yet before it is sent")
	program, env := gittest.NewProgram(t, box.Env)
	other := box
	other.Dir = filepath.Join(t.TempDir(), "other")
	box.Git("clone", "-q", ".", other.Dir)
	x := &road{Box: box, there: other, program: program}
	var err error
	x.from, err = git.Open(t.Context(), box.P, box.Dir, env)
	box.Must(err)
	x.to, err = git.Open(t.Context(), box.P, other.Dir, env)
	box.Must(err)
	x.since, err = Look(t.Context(), x.from)
	box.Must(err)
	x.known, err = Before(t.Context(), x.from, x.since.Head)
	box.Must(err)
	return x
}

func anything(string) bool { return true }

// send has the work come to the other machine, and holds that it did, whole.
func (x *road) send(t *testing.T) {
	t.Helper()
	at, err := Look(t.Context(), x.from)
	x.Must(err)
	parcel, err := Wrap(t.Context(), x.from, x.since, x.known, at, []byte("what is to be done"), 1<<20, anything)
	x.Must(err)
	back, note, err := Open(t.Context(), x.to, parcel)
	x.Must(err)
	back.Branch = at.Branch
	if back != at || string(note) != "what is to be done" {
		t.Fatalf("came as %+v %q, want %+v", back, note, at)
	}
	x.there.Git("rev-list", "--objects", "--quiet", back.Head, back.Tree) // fails where anything is missing
}

// What is small needs no remote: files, commits of an agent, and a merge come whole, and no git is started for it.
func TestAParcelTravels(t *testing.T) {
	t.Parallel()
	x := newRoad(t)
	x.send(t)
	x.Write("src/deep/3", "two\n")
	x.Write("src/new/file", "three\n")
	x.Git("rm", "-q", "src/deep/7")
	x.send(t)
	x.Git("add", "-A")
	x.Git("commit", "-q", "-m", "by an agent")
	x.Git("mv", "src/new", "moved")
	x.Write("top", "2\n")
	x.send(t)
	x.Git("commit", "-q", "-a", "-m", "moved")
	x.Git("checkout", "-q", "-b", "side", "HEAD~3") // from before what the other one has
	x.Write("side", "4\n")
	x.Git("add", "-A")
	x.Git("commit", "-q", "-m", "side")
	x.Git("checkout", "-q", "-")
	x.Git("merge", "-q", "--no-ff", "-m", "merge", "side")
	x.send(t)
	x.send(t) // again, as after a crash
	x.Write("src/deep/9", "five\n")
	at, err := Look(t.Context(), x.from)
	x.Must(err)
	if n := x.program.Starts(func() {
		parcel, err := Wrap(t.Context(), x.from, x.since, x.known, at, nil, 1<<20, anything)
		x.Must(err)
		_, _, err = Open(t.Context(), x.to, parcel)
		x.Must(err)
	}); n != 0 {
		t.Errorf("a parcel starts %d gits", n)
	}
}

// What is no parcel says so: large files, a long way from there, what may not travel so. The way by a remote is for those.
func TestNoParcel(t *testing.T) {
	t.Parallel()
	x := newRoad(t)
	wrap := func(may func(string) bool) error {
		t.Helper()
		at, err := Look(t.Context(), x.from)
		x.Must(err)
		parcel, err := Wrap(t.Context(), x.from, x.since, x.known, at, nil, 50<<10, may)
		if len(parcel) > 50<<10 {
			t.Errorf("a parcel of %d bytes", len(parcel))
		}
		return err
	}
	x.Write("key", "password")
	x.Must(wrap(anything))
	if err := wrap(func(text string) bool { return !strings.Contains(text, "password") }); !errors.Is(err, ErrBulky) {
		t.Errorf("a secret: %v", err)
	}
	noise := make([]byte, 40<<10)
	_, _ = rand.Read(noise)
	x.Write("large", hex.EncodeToString(noise)+hex.EncodeToString(noise))
	if err := wrap(anything); !errors.Is(err, ErrBulky) {
		t.Errorf("a large file: %v", err)
	}
	x.Write("large", "")
	is, err := Look(t.Context(), x.from)
	x.Must(err)
	for range maxCommits + 1 {
		is.Head, err = commit(t.Context(), x.from, x.since.Tree, is.Head, "more")
		x.Must(err)
	}
	x.Git("update-ref", "HEAD", is.Head)
	if err := wrap(anything); !errors.Is(err, ErrBulky) {
		t.Errorf("a long way: %v", err)
	}
}

// A parcel of which something is missing, or that is made for another repository, leaves nothing behind that would look whole.
func TestParcelOfAnother(t *testing.T) {
	t.Parallel()
	x := newRoad(t)
	x.Write("src/deep/3", "two\n")
	x.Git("commit", "-q", "-a", "-m", "more")
	at, err := Look(t.Context(), x.from)
	x.Must(err)
	parcel, err := Wrap(t.Context(), x.from, x.since, x.known, at, []byte("note"), 1<<20, anything)
	x.Must(err)
	empty := gittest.New(t)
	empty.Git("commit", "-q", "--allow-empty", "-m", "another history")
	r, err := git.Open(t.Context(), empty.P, empty.Dir, empty.Env)
	x.Must(err)
	if _, _, err := Open(t.Context(), r, parcel); !errors.Is(err, ErrElsewhere) {
		t.Errorf("in another repository: %v", err)
	}
	for _, broken := range [][]byte{nil, []byte("parcel"), parcel[:len(parcel)/2], bytes.Repeat([]byte{'x'}, 100)} {
		if _, _, err := Open(t.Context(), x.to, broken); err == nil {
			t.Errorf("%.20q was taken", broken)
		}
	}
	// The same commit from who believes that more is there.
	x.Write("src/deep/4", "three\n")
	x.Git("commit", "-q", "-a", "-m", "yet more")
	next, err := Look(t.Context(), x.from)
	x.Must(err)
	parcel, err = Wrap(t.Context(), x.from, at, nil, next, nil, 1<<20, anything)
	x.Must(err)
	if _, _, err := Open(t.Context(), x.to, parcel); !errors.Is(err, ErrElsewhere) {
		t.Errorf("from a commit that is not there: %v", err)
	}
	if _, err := x.to.ReadCommit(t.Context(), next.Head); err == nil {
		t.Error("its commit was kept")
	}
	x.Must(push.Refs{Repo: x.to, URL: x.Dir}.Bring(t.Context(), pushed(x, at.Head), at.Head))
	if _, _, err := Open(t.Context(), x.to, parcel); err != nil {
		t.Errorf("when it is: %v", err)
	}
}

func pushed(x *road, commit string) string {
	x.Git("update-ref", push.Space+"j/base", commit)
	return push.Space + "j/base"
}

// What a process that was killed while it kept objects has left is gone with the next parcel; what is at work stays.
func TestParcelsLeaveNothing(t *testing.T) {
	t.Parallel()
	x := newRoad(t)
	left, atWork := filepath.Join(x.to.GitDir(), folders+"left"), filepath.Join(x.to.GitDir(), folders+"now")
	for _, dir := range []string{left, atWork} {
		x.Must(os.Mkdir(dir, 0o700))
	}
	x.Must(os.Chtimes(left, time.Time{}, time.Now().Add(-2*old)))
	x.Write("top", "2\n")
	x.send(t)
	list, err := filepath.Glob(filepath.Join(x.to.GitDir(), folders+"*"))
	if x.Must(err); len(list) != 1 || list[0] != atWork {
		t.Errorf("there are %q, want only %s", list, atWork)
	}
}
