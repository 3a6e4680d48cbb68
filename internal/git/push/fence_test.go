package push

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// hub is a remote with two owners of a fence around main, each in a repository of its own.
type hub struct {
	t    *testing.T
	dir  string
	box  *testRepo
	told []error
	mu   sync.Mutex
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t, dir: filepath.Join(t.TempDir(), "hub.git"), box: newBox(t)}
	h.box.Git("init", "-q", "--bare", h.dir)
	h.box.Git("remote", "add", "origin", h.dir)
	return h
}

func (h *hub) owner(number int64, who string) *Fence {
	f := NewFence(h.box.repo, "main", func(err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.told = append(h.told, fmt.Errorf("%s: %w", who, err))
	})
	f.Own(number, "held by "+who)
	return f
}

func (h *hub) raised(number int64, who string) *Fence {
	h.t.Helper()
	f := h.owner(number, who)
	if err := f.Raise(h.t.Context(), h.dir); err != nil {
		h.t.Fatal(err)
	}
	return f
}

// all is what the remote has.
func (h *hub) all() string {
	return h.box.Git("--git-dir="+h.dir, "for-each-ref", "--format=%(refname) %(objectname)")
}

// pushes are the ways in which a coordinator pushes: a branch, refs of steps, what an agent asks for.
func (h *hub) pushes(f *Fence) map[string]func(name string) error {
	head := h.box.Head()
	return map[string]func(string) error{
		"branch": func(name string) error {
			return Branch{Repo: h.box.repo, Remote: "origin", Name: name, Fence: f}.Push(h.t.Context(), head)
		},
		"refs": func(name string) error {
			return Refs{Repo: h.box.repo, URL: h.dir, Fence: f}.Send(h.t.Context(), head+":"+Space+name)
		},
		"agent": func(name string) error {
			want, err := Parse([]string{"origin", "HEAD:refs/heads/agent-" + name})
			if err != nil {
				return err
			}
			plan, err := Prepare(h.t.Context(), h.box.repo, h.box.Dir, want)
			if err != nil {
				return err
			}
			said, code, err := Run(h.t.Context(), h.box.repo, plan, f)
			if err == nil && code != 0 {
				err = errors.New(said)
			}
			if strings.Contains(said, FenceSpace) {
				h.t.Errorf("an agent is told of the fence: %s", said)
			}
			return err
		},
	}
}

// Who had the fence before can push nothing any more, whichever way and whatever it believes; who
// has it now can. It is told who that is, and the remote stays as it was.
func TestOwnerBeforeIsRefused(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	old := h.raised(7, "ada")
	for way, push := range h.pushes(old) {
		if err := push("first"); err != nil {
			t.Fatalf("%s before: %v", way, err)
		}
	}
	now := h.raised(8, "bob")
	before := h.all()
	for way, push := range h.pushes(old) {
		err := push("late")
		if !errors.Is(err, ErrFenced) || !strings.Contains(err.Error(), "lease 8, held by bob") {
			t.Errorf("%s too late: %v", way, err)
		}
	}
	if after := h.all(); after != before {
		t.Errorf("the remote was changed:\n%s\nnow\n%s", before, after)
	}
	if len(h.told) != 3 {
		t.Errorf("told: %v", h.told)
	}
	for way, push := range h.pushes(now) {
		if err := push("late"); err != nil {
			t.Errorf("%s now: %v", way, err)
		}
	}
	if n, words, err := now.Number(t.Context(), h.dir); err != nil || n != 8 || !strings.HasPrefix(words, "held by bob") {
		t.Errorf("at the remote: %d, %q, %v", n, words, err)
	}
	if err := now.Lower(t.Context()); err != nil || strings.Contains(h.all(), FenceSpace) {
		t.Errorf("lowered: %v, %s", err, h.all())
	}
	if err := h.pushes(old)["branch"]("later"); !errors.Is(err, ErrFenced) {
		t.Errorf("after the next one has ended: %v", err)
	}
	if err := h.pushes(now)["branch"]("later"); err == nil {
		t.Error("who has lowered the fence pushed")
	}
}

// A push is refused also when the fence was taken after the remote had told its sender where all
// refs are: between that and the push an owner may have been asleep for a day.
func TestTakenInTheMiddleOfAPush(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	old := h.raised(7, "ada")
	if err := h.pushes(old)["branch"]("first"); err != nil {
		t.Fatal(err)
	}
	hook := "#!/bin/sh\nunset GIT_QUARANTINE_PATH\nfor r in $(git for-each-ref --format='%(refname)' " + FenceSpace + "); do git update-ref $r refs/heads/first || exit 1; done\n"
	if err := os.WriteFile(filepath.Join(h.dir, "hooks", "pre-receive"), []byte(hook), 0o755); err != nil { //nolint:gosec // a hook is run
		t.Fatal(err)
	}
	for way, push := range h.pushes(old) {
		if err := push("late"); !errors.Is(err, ErrFenced) {
			t.Errorf("%s: %v", way, err)
		}
	}
	if strings.Contains(h.all(), "late") {
		t.Errorf("it arrived: %s", h.all())
	}
}

// Who comes first in time and later at the remote does not take the fence from whoever came after.
func TestFenceIsNotTakenBack(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	now := h.raised(8, "bob")
	if err := h.owner(7, "ada").Raise(t.Context(), h.dir); !errors.Is(err, ErrFenced) {
		t.Errorf("an older one raised its fence: %v", err)
	}
	if err := h.owner(8, "eve").Raise(t.Context(), h.dir); !errors.Is(err, ErrFenced) {
		t.Errorf("one with the same number raised its fence: %v", err)
	}
	for way, push := range h.pushes(now) {
		if err := push("on"); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}

// A push that others were quicker than, or that fails for another reason, says so, and the fence stands.
func TestFenceStandsWhereAPushFails(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	f := h.raised(1, "ada")
	first := h.box.Head()
	h.box.Write("more.txt", "x\n")
	h.box.Git("add", "-A")
	h.box.Git("commit", "-q", "-m", "more")
	if err := h.pushes(f)["branch"]("main"); err != nil {
		t.Fatal(err)
	}
	b := Branch{Repo: h.box.repo, Remote: "origin", Name: "main", Fence: f}
	if err := b.Push(t.Context(), first); !errors.Is(err, ErrMoved) {
		t.Errorf("back to the first commit: %v", err)
	}
	if err := h.pushes(f)["branch"]("next"); err != nil || len(h.told) > 0 {
		t.Errorf("after it: %v, told %v", err, h.told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Push(ctx, first); err == nil {
		t.Error("a push that was given up went well")
	}
	for i := range 2 * lanes { // the one whose end nobody knows as well
		if err := h.pushes(f)["branch"](fmt.Sprintf("again-%d", i)); err != nil {
			t.Errorf("after one that was given up: %v", err)
		}
	}
}

// A push whose answer was lost is known by its traces: the next one goes on from there.
func TestAnswerOfAPushIsLost(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	f := h.raised(1, "ada")
	r := f.at(h.dir)
	l := <-r.free
	was := l.at
	r.free <- l
	for i := range lanes { // through each lane once
		if err := h.pushes(f)["branch"](fmt.Sprintf("b%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	l.at, l.tried = was, []string{l.at}
	for i := range 2 * lanes {
		if err := h.pushes(f)["refs"](fmt.Sprintf("r%d", i)); err != nil {
			t.Errorf("the next push: %v", err)
		}
	}
	if err := f.Lower(t.Context()); err != nil || len(h.told) > 0 {
		t.Errorf("%v, told %v", err, h.told)
	}
}

// Many push at once, more than there are lanes, while the fence is taken: each has happened before
// or is refused.
func TestManyPushesWhileTheFenceIsTaken(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	old := h.raised(7, "ada")
	var all sync.WaitGroup
	went := make([]error, 3*lanes)
	for i := range went {
		all.Go(func() { went[i] = h.pushes(old)["refs"](fmt.Sprintf("n%d", i)) })
	}
	next := h.owner(8, "bob")
	if err := next.Raise(t.Context(), h.dir); err != nil {
		t.Error(err)
	}
	seen := h.all()
	all.Wait()
	for i, err := range went {
		arrived := strings.Contains(seen, fmt.Sprintf("%sn%d ", Space, i))
		if err != nil && !errors.Is(err, ErrFenced) || arrived != (err == nil) {
			t.Errorf("%d: arrived %v, and its owner heard %v", i, arrived, err)
		}
	}
	strip := func(s string) (kept []string) {
		for line := range strings.Lines(s) {
			if strings.Contains(line, Space) {
				kept = append(kept, line)
			}
		}
		return kept
	}
	if a, b := strip(seen), strip(h.all()); strings.Join(a, "") != strings.Join(b, "") {
		t.Errorf("something arrived after the fence was taken: %v, then %v", a, b)
	}
}

// A remote that cannot take several refs all or none cannot be fenced, and says so at the beginning.
func TestFenceNeedsAtomicPushes(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.box.Git("--git-dir="+h.dir, "config", "receive.advertiseAtomic", "false")
	if err := h.owner(1, "ada").Raise(t.Context(), h.dir); err == nil || !strings.Contains(err.Error(), "does not take atomic pushes") {
		t.Errorf("raised: %v", err)
	}
}

// The same remote by two addresses has one fence, and a remote that refuses to go back has one too.
func TestFenceOfOneRemoteWithTwoNames(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	h.box.Git("--git-dir="+h.dir, "config", "receive.denyNonFastForwards", "true")
	other := "file://" + h.dir
	h.raised(6, "eve")
	f := h.raised(7, "ada")
	if err := f.Raise(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * lanes {
		for _, url := range []string{h.dir, other} {
			if err := (Refs{Repo: h.box.repo, URL: url, Fence: f}).Send(t.Context(), h.box.Head()+":"+Space+fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := (Branch{Repo: h.box.repo, Remote: filepath.Join(h.dir, "elsewhere"), Name: "main", Fence: f}).Push(t.Context(), h.box.Head()); err == nil {
		t.Error("a branch went to a remote without a fence")
	}
	if err := f.Lower(t.Context()); err != nil {
		t.Error(err)
	}
}
