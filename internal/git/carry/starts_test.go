package carry

import (
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// Each step of a fleet packs and unpacks twice, and is pushed and fetched twice: only the ways to the remote
// start a git, one each.
func TestAWayStartsOneGit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	box := gittest.New(t)
	box.Write("a", "1\n")
	box.Git("add", "-A")
	box.Git("commit", "-q", "-m", "start")
	program, env := gittest.NewProgram(t, box.Env)
	r, err := git.Open(ctx, box.P, box.Dir, env)
	box.Must(err)
	hub, there := t.TempDir(), t.TempDir()
	for _, dir := range []string{hub, there} {
		box.Git("init", "-q", "--bare", dir)
	}
	place, err := Look(ctx, r)
	box.Must(err)
	pack := func(note string) (packed string) {
		packed, err := Pack(ctx, r, place, []byte(note))
		box.Must(err)
		return packed
	}
	pack("the gits that stay begin")
	var packed string
	if n := program.Starts(func() { packed = pack("a step") }); n != 0 {
		t.Errorf("packing starts %d gits", n)
	}
	ref := push.Space + "j/k/in"
	if n := program.Starts(func() { box.Must(push.Refs{Repo: r, URL: hub}.Send(ctx, packed+":"+ref)) }); n != 1 {
		t.Errorf("sending starts %d gits", n)
	}
	other := box
	other.Dir = filepath.Join(there, "work")
	box.Git("init", "-q", other.Dir)
	to, err := git.Open(ctx, box.P, other.Dir, env)
	box.Must(err)
	if n := program.Starts(func() { box.Must(push.Refs{Repo: to, URL: hub}.Bring(ctx, ref, packed)) }); n > 2 { // the one that stays too
		t.Errorf("bringing starts %d gits", n)
	}
	n := program.Starts(func() {
		if back, note, err := Unpack(ctx, to, packed); err != nil || back.Tree != place.Tree || string(note) != "a step" {
			t.Errorf("unpacked %+v, %q, %v", back, note, err)
		}
	})
	if n != 0 {
		t.Errorf("unpacking starts %d gits", n)
	}
}

// A folder whose name no list of files can hold has its objects all the same.
func TestPackInAFolderOfAnyName(t *testing.T) {
	t.Parallel()
	box := gittest.New(t)
	box.Write("a", "1\n")
	box.Git("add", "-A")
	box.Git("commit", "-q", "-m", "start")
	odd := filepath.Join(t.TempDir(), "a \"name\"")
	box.Git("clone", "-q", ".", odd)
	var packed [2]string
	for i, dir := range []string{box.Dir, odd} {
		r, err := git.Open(t.Context(), box.P, dir, box.Env)
		box.Must(err)
		place, err := Look(t.Context(), r)
		box.Must(err)
		packed[i], err = Pack(t.Context(), r, place, []byte("a step"))
		box.Must(err)
	}
	if packed[0] != packed[1] {
		t.Errorf("packed %v", packed)
	}
}
