package landing

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// integration is where the tests merge to.
const integration = "ralph/merged-1"

// branch makes a branch at a commit in a worktree of a person's, lets change work
// in it, commits everything, and returns the tip.
func (b *testRepo) branch(name, at string, change func(*testRepo)) string {
	b.T.Helper()
	return b.Branch(name, at, func(w *gittest.Box) { change(b.within(*w)) })
}

// linked adds a worktree with a new branch, outside the box.
func (b *testRepo) linked(name, at string) *testRepo {
	b.T.Helper()
	return b.within(b.Linked(name, at))
}

// within is a worktree of the repository.
func (b *testRepo) within(box gittest.Box) *testRepo {
	b.T.Helper()
	w := &testRepo{Box: box}
	w.repo = w.open(w.Dir)
	return w
}

func sideOf(key, commit string) Side {
	return Side{Commit: commit, Trailer: "Ralph-Task", Key: key, Message: "ralph: merge " + key + "\n\nRalph-Task: " + key + "\n"}
}

func (b *testRepo) input(tips ...string) MergeInput {
	in := MergeInput{Into: b.Tip(integration), Branch: integration, Free: true}
	for i, tip := range tips {
		in.Sides = append(in.Sides, sideOf(fmt.Sprintf("t-%d%.6s", i, tip), tip))
	}
	return in
}

func (b *testRepo) merge(tips ...string) MergeResult {
	b.T.Helper()
	m, err := Merge(b.T.Context(), b.repo, b.input(tips...))
	b.Must(err)
	return m
}

// mergeBox has an integration branch at its first commit.
func mergeBox(t testing.TB, initArgs ...string) *testRepo {
	t.Helper()
	b := newBox(t, initArgs...)
	b.Must(refs.MakeBranch(t.Context(), b.repo, integration, b.Head()))
	return b
}

// B-052, B-069, X-69: a merge beside the person's checkout, which has changes of
// its own, and a branch of its own that moves.
func TestMergeMovesTheIntegrationBranchAlone(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.Head()
	one := b.branch("ralph/t-1", base, func(w *testRepo) { w.Write("one.txt", "1") })
	two := b.branch("ralph/t-2", base, func(w *testRepo) { w.Write("two.txt", "2"); w.Remove("dir/b.txt") })
	b.Write("a.txt", "the person's")
	b.Write("untracked.txt", "the person's")
	b.Git("add", "a.txt")
	before := b.All()
	first := b.merge(one)
	if !first.FastForward || !first.Advanced || first.Nothing || first.Commit != one {
		t.Errorf("first: %+v", first)
	}
	second := b.merge(two)
	if second.FastForward || !second.Advanced || second.Conflict != nil {
		t.Errorf("second: %+v", second)
	}
	b.Equal("tip", b.Tip(integration), second.Commit)
	b.Equal("parents", b.Git("log", "-1", "--format=%P", second.Commit), one+" "+two)
	b.Equal("tree", second.Tree, b.Git("rev-parse", integration+"^{tree}"))
	b.Equal("files", b.Git("ls-tree", "-r", "--name-only", integration), "a.txt\ndir/sub/c.txt\none.txt\ntwo.txt")
	b.Equal("trailer", b.Git("log", "-1", "--format=%(trailers:key=Ralph-Task,valueonly)%an %ce", integration), fmt.Sprintf("t-0%.6s", two)+"\nAda ada@example.com")
	if m := b.merge(one); !m.Nothing || !m.Advanced || m.Commit != second.Commit {
		t.Errorf("again: %+v", m)
	}
	if m := b.merge(second.Commit); !m.Nothing {
		t.Errorf("the tip itself: %+v", m)
	}
	b.Untouched(before)
	b.Equal("leftover refs", b.Git("for-each-ref", "--format=%(refname)", "refs/ralph"), "")
	b.Fsck()
}

// A merge of what nothing else touched costs no process once gits that stay are there: for
// trees, for commits, and for references by what is said of them. Git merges what both sides changed.
func TestMergeStartsFewProcesses(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.Head()
	side := func(id string, notes bool) string {
		return b.branch("ralph/"+id, base, func(w *testRepo) {
			w.Write(id+".txt", id)
			if notes {
				w.Write(progressFile, id+"\n")
			}
		})
	}
	starts := func(what string, want int, do func()) {
		t.Helper()
		if n := b.program.Starts(do); n != want {
			t.Errorf("%s starts %d processes, want %d", what, n, want)
		}
	}
	merge := func(tip string, free bool) (m MergeResult, in MergeInput) {
		in = b.input(tip)
		in.Free = free
		m, err := Merge(t.Context(), b.repo, in)
		b.Must(err)
		return m, in
	}
	one, two, three, four, five := side("t-1", true), side("t-2", true), side("t-3", false), side("t-4", false), side("t-5", false)
	starts("a fast-forward, with the git for references", 1, func() { merge(one, true) })
	starts("a merge by git, with the git for commits and three questions about who commits", 5, func() { merge(two, true) })
	starts("a merge of files of its own, with the git for trees", 1, func() { merge(three, true) })
	starts("a merge of files of its own", 0, func() { merge(four, true) })
	var m MergeResult
	var in MergeInput
	starts("a merge that waits for checks, with the git for such references", 1, func() { m, in = merge(five, false) })
	starts("Advance", 0, func() { b.Must(refs.Advance(t.Context(), b.repo, integration, in.Into, m.Commit)) })
	b.Hook("reference-transaction", "exit 0")
	starts("Drop with a hook that hears of references", 1, func() { b.Must(refs.Drop(t.Context(), b.repo, "none")) })
	b.Fsck()
}

// The gate runs on the merged commit before the branch moves; what passed it
// already moves it at once.
func TestMergeWaitsForItsChecks(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.Head()
	b.branch("x", base, func(w *testRepo) { w.Write("x.txt", "x") })
	one := b.branch("ralph/t-1", base, func(w *testRepo) { w.Write("one.txt", "1") })
	b.Git("update-ref", "refs/heads/"+integration, "x")
	in := b.input(one)
	in.Free = false
	m, err := Merge(t.Context(), b.repo, in)
	b.Must(err)
	if m.Advanced || b.Tip(integration) != in.Into {
		t.Fatalf("moved before the checks: %+v", m)
	}
	b.Equal("held", b.Git("rev-parse", refs.MergeRef(in.Sides[0].Key)), m.Commit)
	again, err := Merge(t.Context(), b.repo, in) // the engine was killed during the checks
	b.Must(err)
	if again != m {
		t.Errorf("again %+v, was %+v", again, m)
	}
	in.Green = []string{"", m.Tree}
	green, err := Merge(t.Context(), b.repo, in)
	b.Must(err)
	if !green.Advanced || green.Commit != m.Commit {
		t.Errorf("green: %+v", green)
	}
	b.Equal("refs", b.Git("for-each-ref", "--format=%(refname)", "refs/ralph"), "")
	killed, err := Merge(t.Context(), b.repo, in) // or after the branch moved
	b.Must(err)
	if !killed.Advanced || killed.Commit != m.Commit || killed.Tree != m.Tree || killed.FastForward {
		t.Errorf("after the move: %+v", killed)
	}
	b.Git("update-ref", "refs/heads/"+integration, "x")
	in.Green = nil
	_, err = Merge(t.Context(), b.repo, in)
	b.Must(err)
	b.Must(refs.Drop(t.Context(), b.repo, in.Sides[0].Key))
	b.Must(refs.Drop(t.Context(), b.repo, in.Sides[0].Key))
	b.Equal("dropped", b.Git("for-each-ref", "--format=%(refname)", "refs/ralph"), "")
}

func TestMergeRepeatsAFastForward(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	one := b.branch("ralph/t-1", b.Head(), func(w *testRepo) { w.Write("one.txt", "1") })
	in := b.input(one)
	first, err := Merge(t.Context(), b.repo, in)
	b.Must(err)
	again, err := Merge(t.Context(), b.repo, in)
	b.Must(err)
	if first != again {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

// Compare and swap: somebody else moved the branch.
func TestMergeIntoABranchThatMovedOn(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	one := b.branch("ralph/t-1", b.Head(), func(w *testRepo) { w.Write("one.txt", "1") })
	in := b.input(one)
	other := b.branch("x", b.Head(), func(w *testRepo) { w.Write("x.txt", "x") })
	b.Git("update-ref", "refs/heads/"+integration, other)
	if _, err := Merge(t.Context(), b.repo, in); !errors.Is(err, refs.ErrMovedOn) {
		t.Errorf("error %v, want ErrMovedOn", err)
	}
	b.Git("update-ref", "-d", "refs/heads/"+integration)
	if _, err := Merge(t.Context(), b.repo, in); !errors.Is(err, refs.ErrMovedOn) {
		t.Errorf("no branch: error %v, want ErrMovedOn", err)
	}
}

// A batch: one after the other, the first that does not merge is named.
func TestMergeABatch(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.Head()
	var tips []string
	for i := range 4 {
		tips = append(tips, b.branch(fmt.Sprintf("ralph/t-%d", i), base, func(w *testRepo) {
			w.Write(fmt.Sprintf("%d.txt", i), "x")
			if i >= 2 {
				w.Write("a.txt", fmt.Sprint(i))
			}
		}))
	}
	in := b.input(tips...)
	m, err := Merge(t.Context(), b.repo, in)
	b.Must(err)
	if m.Conflict == nil || m.At != 3 || m.Commit != "" || m.Advanced {
		t.Fatalf("batch with a conflict: %+v", m)
	}
	b.Equal("tip", b.Tip(integration), base)
	in.Sides, in.Free = in.Sides[:3], false
	m, err = Merge(t.Context(), b.repo, in)
	b.Must(err)
	b.Equal("files", b.Git("ls-tree", "--name-only", m.Commit), "0.txt\n1.txt\n2.txt\na.txt\ndir")
	again, err := Merge(t.Context(), b.repo, in)
	b.Must(err)
	if again.Tree != m.Tree {
		t.Errorf("again %+v, was %+v", again, m)
	}
	b.Must(refs.Advance(t.Context(), b.repo, integration, base, m.Commit))
	done, err := Merge(t.Context(), b.repo, in)
	b.Must(err)
	if !done.Advanced || done.Tree != m.Tree {
		t.Errorf("done %+v", done)
	}
}

// Nothing of ralph's own is merged, whatever agents commit; what they
// learned is, without conflicts.
func TestMergeOfRalphsFiles(t *testing.T) {
	t.Parallel()
	for name, tracked := range map[string]bool{"tracked": true, "untracked": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			if tracked {
				b.Write("ralph/plan.jsonl", "plan\n")
				b.Write(progressFile, "# Learned\n")
				b.Git("add", "-f", "-A")
				b.Git("commit", "-q", "-m", "own")
			}
			base := b.Head()
			b.Must(refs.MakeBranch(t.Context(), b.repo, integration, base))
			own := func(text string) func(*testRepo) {
				return func(w *testRepo) {
					w.Write("ralph/plan.jsonl", text)
					w.Write("ralph/inbox.jsonl", text)
					w.Write("ralph/.state/journal.jsonl", text)
					w.Write("build/ralph-logs/x.log", text)
					w.Write(progressFile, w.progress()+"- "+text+"\n")
					w.Write(text+".txt", text)
				}
			}
			one, two := b.branch("ralph/t-1", base, own("one")), b.branch("ralph/t-2", base, own("two"))
			three := b.branch("ralph/t-3", base, func(w *testRepo) { w.Remove("ralph"); w.Write("three.txt", "") })
			before := b.All()
			m := b.merge(one)
			if m.FastForward || !m.Advanced {
				t.Errorf("ralph's own files went along: %+v", m)
			}
			if m = b.merge(two); m.Conflict != nil {
				t.Fatalf("conflict: %+v", m.Conflict.Files)
			}
			learned := "- one\n- two\n"
			if tracked {
				learned = "# Learned\n" + learned
			}
			b.Equal("learned", b.Git("show", m.Commit+":"+progressFile)+"\n", learned)
			if m = b.merge(three); m.Conflict != nil {
				t.Fatalf("conflict: %+v", m.Conflict.Files)
			}
			want := "a.txt\ndir/b.txt\ndir/sub/c.txt\none.txt\nralph/progress.md\nthree.txt\ntwo.txt"
			if tracked {
				want = strings.Replace(want, "ralph/progress.md", "ralph/plan.jsonl\nralph/progress.md", 1)
			}
			b.Equal("files", b.Git("ls-tree", "-r", "--name-only", integration), want)
			b.Untouched(before)
			b.Fsck()
		})
	}
}

func (b *testRepo) progress() string {
	text, _ := os.ReadFile(b.Path(progressFile))
	return string(text)
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	one := b.branch("ralph/t-1", b.Head(), func(w *testRepo) { w.Write("one.txt", "1") })
	empty := b.Git("commit-tree", "-m", "root", b.Git("rev-parse", "HEAD^{tree}"))
	_, err := Merge(t.Context(), b.repo, b.input(empty))
	b.Refused(err, "no common history")
	in := b.input(one)
	in.Sides[0].Message = "no trailer"
	if _, err := Merge(t.Context(), b.repo, in); err == nil {
		t.Error("a merge without its trailer was made")
	}
	person := filepath.Join(t.TempDir(), "person")
	b.Git("worktree", "add", "-q", person, integration)
	_, err = Merge(t.Context(), b.repo, b.input(one))
	b.Refused(err, person)
	b.Git("worktree", "remove", person)
	b.Git("branch", "plain")
	b.Refused(refs.MakeBranch(t.Context(), b.repo, "plain/x", one), "plain")
}

// commit.gpgSign is honoured: commit-tree alone would not.
func TestMergeSigns(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.Head()
	one := b.branch("ralph/t-1", base, func(w *testRepo) { w.Write("one.txt", "1") })
	two := b.branch("ralph/t-2", base, func(w *testRepo) { w.Write("two.txt", "2") })
	signer := filepath.Join(t.TempDir(), "gpg")
	ralphtest.Program(b.T, signer, "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho SIGNED\n")
	b.Git("config", "gpg.program", signer)
	b.Git("config", "commit.gpgSign", "yes")
	b.merge(one)
	m := b.merge(two)
	if !strings.Contains(b.Git("cat-file", "commit", m.Commit), "gpgsig SIGNED") {
		t.Error("not signed")
	}
	b.Git("config", "commit.gpgSign", "off")
	b.Git("update-ref", "refs/heads/"+integration, one)
	if m := b.merge(two); strings.Contains(b.Git("cat-file", "commit", m.Commit), "gpgsig") {
		t.Error("signed although nobody asked for it")
	}
}

// Packed objects and refs, sha256, names of every kind, histories that cross.
func TestMergeInOddRepositories(t *testing.T) {
	t.Parallel()
	odd := "d ü\n\"x\""
	for name, tt := range map[string]struct {
		init []string
		prep func(*testRepo)
	}{
		"packed": {prep: func(b *testRepo) { b.Git("gc", "-q"); b.Git("pack-refs", "--all") }},
		"sha256": {init: []string{"--object-format=sha256"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mergeBox(t, tt.init...)
			base := b.Head()
			one := b.branch("ralph/t-1", base, func(w *testRepo) { w.Write(odd+"/one.txt", "1"); w.Write("ralph/plan.jsonl", "x") })
			two := b.branch("ralph/t-2", base, func(w *testRepo) { w.Write(odd+"/two.txt", "2"); w.Write("a.txt", "2\n") })
			three := b.branch("ralph/t-3", base, func(w *testRepo) { w.Write(odd+"/one.txt", "3"); w.Write("a.txt", "3\n") })
			if tt.prep != nil {
				tt.prep(b)
			}
			b.merge(one)
			b.merge(two)
			b.Equal("files", b.Git("-c", "core.quotePath=off", "ls-tree", "-r", "-z", "--name-only", integration),
				"a.txt\x00"+odd+"/one.txt\x00"+odd+"/two.txt\x00dir/b.txt\x00dir/sub/c.txt\x00")
			m := b.merge(three)
			if m.Conflict == nil || len(m.Conflict.Files) != 2 || m.Conflict.Files[1].Path != odd+"/one.txt" {
				t.Fatalf("conflict: %+v", m.Conflict)
			}
			for _, f := range m.Conflict.Files {
				if !strings.Contains(f.Marked, "3") {
					t.Errorf("%q shows no theirs: %q", f.Path, f.Marked)
				}
			}
			b.Fsck()
		})
	}
	t.Run("criss-cross", func(t *testing.T) {
		t.Parallel()
		b := mergeBox(t)
		base := b.Head()
		one := b.branch("x1", base, func(w *testRepo) { w.Write("one.txt", "1") })
		two := b.branch("x2", base, func(w *testRepo) { w.Write("two.txt", "2") })
		cross := func(name, at, other, file string) string {
			w := b.linked(name, at)
			w.Git("merge", "-q", "-m", "cross", other)
			w.Write(file, "")
			w.Git("add", "-A")
			w.Git("commit", "-q", "-m", file)
			return w.Head()
		}
		left, right := cross("l", one, two, "left.txt"), cross("r", two, one, "right.txt")
		b.merge(left)
		m := b.merge(right)
		b.Equal("files", b.Git("ls-tree", "--name-only", m.Commit), "a.txt\ndir\nleft.txt\none.txt\nright.txt\ntwo.txt")
	})
}

// Attributes of the repository count: drivers, endings of lines.
func TestMergeUsesAttributes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write(".gitattributes", "log.txt merge=union\nown.txt merge=mine\n*.bat text eol=crlf\n")
	b.Write("log.txt", "0\n")
	b.Write("own.txt", "0\n")
	b.Write("x.bat", "1\r\n2\r\n3\r\n")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "attributes")
	b.Git("config", "merge.mine.driver", "echo merged >%A")
	base := b.Head()
	b.Must(refs.MakeBranch(t.Context(), b.repo, integration, base))
	edit := func(text string, line string) func(*testRepo) {
		return func(w *testRepo) {
			w.Write("log.txt", "0\n"+text+"\n")
			w.Write("own.txt", text+"\n")
			w.Write("x.bat", strings.Replace("1\r\n2\r\n3\r\n", line, text, 1))
		}
	}
	b.merge(b.branch("ralph/t-1", base, edit("one", "1")))
	m := b.merge(b.branch("ralph/t-2", base, edit("two", "3")))
	if m.Conflict != nil {
		t.Fatalf("conflict: %+v", m.Conflict.Files)
	}
	b.Equal("union", b.Git("show", m.Commit+":log.txt"), "0\none\ntwo")
	b.Equal("driver", b.Git("show", m.Commit+":own.txt"), "merged")
	b.Equal("endings", b.Git("show", m.Commit+":x.bat"), "one\n2\ntwo")
}

func TestAttributesKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write(".git/info/attributes", "*.x -text")
	for range 2 {
		b.Must(info.Attributes(b.repo, unionLines()))
	}
	b.Want(".git/info/attributes", "*.x -text\n/ralph/progress.md merge=union\n")
}

func TestCanMerge(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Must(CanMerge(b.repo))
	b.Must(CanMerge(b.in(b.pool("1")[0]).repo))
	for version, ok := range map[[2]int]bool{{2, 37}: false, {2, 38}: true, {2, 50}: true, {1, 99}: false, {3, 0}: true} {
		err := canMerge(version)
		if ok && err != nil {
			t.Errorf("%v: %v", version, err)
		}
		if !ok {
			b.Refused(err, "cannot merge")
		}
	}
}

func TestContains(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	one := b.branch("x1", base, func(w *testRepo) { w.Write("1", "") })
	two := b.branch("x2", base, func(w *testRepo) { w.Write("2", "") })
	for _, tt := range []struct {
		commit, tip string
		want        bool
	}{{base, base, true}, {base, one, true}, {one, base, false}, {one, two, false}} {
		got, err := b.repo.Contains(t.Context(), tt.commit, tt.tip)
		b.Must(err)
		if got != tt.want {
			t.Errorf("%.6s in %.6s: %v", tt.commit, tt.tip, got)
		}
	}
	if n := b.program.Starts(func() { b.repo.Contains(t.Context(), base, one) }); n != 0 {
		t.Errorf("along loose first parents it starts %d processes", n)
	}
}
