package git

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// integration is where the tests merge to.
const integration = "ralph/merged-1"

// branch makes a branch at a commit in a worktree of a person's, lets change work
// in it, commits everything, and returns the tip.
func (b *testRepo) branch(name, at string, change func(*testRepo)) string {
	b.t.Helper()
	w := b.linked(name, at)
	change(w)
	w.git("add", "-A", "-f")
	w.git("commit", "-q", "--allow-empty", "-m", name)
	tip := w.head()
	b.git("worktree", "remove", "--force", w.dir)
	return tip
}

// linked adds a worktree with a new branch, outside the box.
func (b *testRepo) linked(name, at string) *testRepo {
	b.t.Helper()
	dir := filepath.Join(b.t.TempDir(), "tree")
	b.git("worktree", "add", "-q", "-b", name, dir, at)
	w := &testRepo{t: b.t, p: b.p, dir: dir, env: b.env}
	w.repo = w.open(dir)
	return w
}

func sideOf(key, commit string) Side {
	return Side{Commit: commit, Trailer: "Ralph-Task", Key: key, Message: "ralph: merge " + key + "\n\nRalph-Task: " + key + "\n"}
}

func (b *testRepo) input(tips ...string) MergeInput {
	in := MergeInput{Into: b.git("rev-parse", integration), Branch: integration, Free: true}
	for i, tip := range tips {
		in.Sides = append(in.Sides, sideOf(fmt.Sprintf("t-%d%.6s", i, tip), tip))
	}
	return in
}

func (b *testRepo) merge(tips ...string) Merge {
	b.t.Helper()
	m, err := b.repo.Merge(b.t.Context(), b.input(tips...))
	b.must(err)
	return m
}

// mergeBox has an integration branch at its first commit.
func mergeBox(t testing.TB, initArgs ...string) *testRepo {
	t.Helper()
	b := newBox(t, initArgs...)
	b.must(b.repo.MakeBranch(t.Context(), integration, b.head()))
	return b
}

// all is the checkout of a person with the state of its git folder.
func (b *testRepo) all() map[string]string {
	list := b.files()
	for _, name := range []string{"index", "HEAD", "ORIG_HEAD", "MERGE_HEAD", "ralph-index"} {
		list[".git/"+name] = b.read(".git/" + name)
	}
	list["main"] = b.git("rev-parse", "main")
	list["stash"] = b.git("stash", "list")
	return list
}

func (b *testRepo) untouched(before map[string]string) {
	b.t.Helper()
	after := b.all()
	if !maps.Equal(before, after) {
		for name := range before {
			if before[name] != after[name] {
				b.t.Errorf("the person's checkout changed: %s\n was %.200q\n now %.200q", name, before[name], after[name])
			}
		}
		b.t.Errorf("files before %d, after %d", len(before), len(after))
	}
}

func (b *testRepo) fsck() {
	b.t.Helper()
	if out, err := b.try("fsck", "--full", "--strict", "--no-dangling"); err != nil || strings.Contains(out, "error") {
		b.t.Errorf("git fsck: %s %v", out, err)
	}
}

// starts counts the git processes that do starts, those whose trace ralph reads
// among them.
func (b *testRepo) starts(do func()) int {
	b.t.Helper()
	dir := b.t.TempDir()
	program, log := b.repo.program, filepath.Join(dir, "log")
	script := "#!/bin/sh\necho x >>'" + log + "'\nexec '" + program + "' \"$@\"\n"
	ralphtest.Program(b.t, filepath.Join(dir, "git"), script)
	b.repo.program = filepath.Join(dir, "git")
	do()
	b.repo.program = program
	raw, _ := os.ReadFile(log)
	return strings.Count(string(raw), "x")
}

// B-052, B-069, X-69: a merge beside the person's checkout, which has changes of
// its own, and a branch of its own that moves.
func TestMergeMovesTheIntegrationBranchAlone(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.head()
	one := b.branch("ralph/t-1", base, func(w *testRepo) { w.write("one.txt", "1") })
	two := b.branch("ralph/t-2", base, func(w *testRepo) { w.write("two.txt", "2"); w.remove("dir/b.txt") })
	b.write("a.txt", "the person's")
	b.write("untracked.txt", "the person's")
	b.git("add", "a.txt")
	before := b.all()
	first := b.merge(one)
	if !first.FastForward || !first.Advanced || first.Nothing || first.Commit != one {
		t.Errorf("first: %+v", first)
	}
	second := b.merge(two)
	if second.FastForward || !second.Advanced || second.Conflict != nil {
		t.Errorf("second: %+v", second)
	}
	b.equal("tip", b.git("rev-parse", integration), second.Commit)
	b.equal("parents", b.git("log", "-1", "--format=%P", second.Commit), one+" "+two)
	b.equal("tree", second.Tree, b.git("rev-parse", integration+"^{tree}"))
	b.equal("files", b.git("ls-tree", "-r", "--name-only", integration), "a.txt\ndir/sub/c.txt\none.txt\ntwo.txt")
	b.equal("trailer", b.git("log", "-1", "--format=%(trailers:key=Ralph-Task,valueonly)%an %ce", integration), fmt.Sprintf("t-0%.6s", two)+"\nAda ada@example.com")
	if m := b.merge(one); !m.Nothing || !m.Advanced || m.Commit != second.Commit {
		t.Errorf("again: %+v", m)
	}
	if m := b.merge(second.Commit); !m.Nothing {
		t.Errorf("the tip itself: %+v", m)
	}
	b.untouched(before)
	b.equal("leftover refs", b.git("for-each-ref", "--format=%(refname)", "refs/ralph"), "")
	b.fsck()
}

func TestMergeStartsFewProcesses(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.head()
	one := b.branch("ralph/t-1", base, func(w *testRepo) { w.write("one.txt", "1"); w.write(progressFile, "one\n") })
	two := b.branch("ralph/t-2", base, func(w *testRepo) { w.write("two.txt", "2"); w.write(progressFile, "two\n") })
	three := b.branch("ralph/t-3", base, func(w *testRepo) { w.write("three.txt", "2") })
	for _, tt := range []struct {
		what, tip string
		most      int
	}{{"fast-forward", one, 1}, {"merge", two, 3}} {
		in := b.input(tt.tip)
		if n := b.starts(func() { _, err := b.repo.Merge(t.Context(), in); b.must(err) }); n != tt.most {
			t.Errorf("a %s starts %d processes, want %d", tt.what, n, tt.most)
		}
	}
	in := b.input(three)
	in.Free = false
	var m Merge
	n := b.starts(func() {
		var err error
		m, err = b.repo.Merge(t.Context(), in)
		b.must(err)
	})
	if n != 3 {
		t.Errorf("a merge that waits for checks starts %d processes, want 3", n)
	}
	if n := b.starts(func() { b.must(b.repo.Advance(t.Context(), integration, in.Into, m.Commit)) }); n != 1 {
		t.Errorf("Advance starts %d processes, want 1", n)
	}
}

// The gate runs on the merged commit before the branch moves; what passed it
// already moves it at once.
func TestMergeWaitsForItsChecks(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.head()
	b.branch("x", base, func(w *testRepo) { w.write("x.txt", "x") })
	one := b.branch("ralph/t-1", base, func(w *testRepo) { w.write("one.txt", "1") })
	b.git("update-ref", "refs/heads/"+integration, "x")
	in := b.input(one)
	in.Free = false
	m, err := b.repo.Merge(t.Context(), in)
	b.must(err)
	if m.Advanced || b.git("rev-parse", integration) != in.Into {
		t.Fatalf("moved before the checks: %+v", m)
	}
	b.equal("held", b.git("rev-parse", mergeRef(in.Sides[0].Key)), m.Commit)
	again, err := b.repo.Merge(t.Context(), in) // the engine was killed during the checks
	b.must(err)
	if again != m {
		t.Errorf("again %+v, was %+v", again, m)
	}
	in.Green = []string{"", m.Tree}
	green, err := b.repo.Merge(t.Context(), in)
	b.must(err)
	if !green.Advanced || green.Commit != m.Commit {
		t.Errorf("green: %+v", green)
	}
	b.equal("refs", b.git("for-each-ref", "--format=%(refname)", "refs/ralph"), "")
	killed, err := b.repo.Merge(t.Context(), in) // or after the branch moved
	b.must(err)
	if !killed.Advanced || killed.Commit != m.Commit || killed.Tree != m.Tree || killed.FastForward {
		t.Errorf("after the move: %+v", killed)
	}
	b.git("update-ref", "refs/heads/"+integration, "x")
	in.Green = nil
	_, err = b.repo.Merge(t.Context(), in)
	b.must(err)
	b.must(b.repo.Drop(t.Context(), in.Sides[0].Key))
	b.must(b.repo.Drop(t.Context(), in.Sides[0].Key))
	b.equal("dropped", b.git("for-each-ref", "--format=%(refname)", "refs/ralph"), "")
}

func TestMergeRepeatsAFastForward(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	one := b.branch("ralph/t-1", b.head(), func(w *testRepo) { w.write("one.txt", "1") })
	in := b.input(one)
	first, err := b.repo.Merge(t.Context(), in)
	b.must(err)
	again, err := b.repo.Merge(t.Context(), in)
	b.must(err)
	if first != again {
		t.Errorf("first %+v, again %+v", first, again)
	}
}

// Compare and swap: somebody else moved the branch.
func TestMergeIntoABranchThatMovedOn(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	one := b.branch("ralph/t-1", b.head(), func(w *testRepo) { w.write("one.txt", "1") })
	in := b.input(one)
	other := b.branch("x", b.head(), func(w *testRepo) { w.write("x.txt", "x") })
	b.git("update-ref", "refs/heads/"+integration, other)
	if _, err := b.repo.Merge(t.Context(), in); !errors.Is(err, ErrMovedOn) {
		t.Errorf("error %v, want ErrMovedOn", err)
	}
	b.git("update-ref", "-d", "refs/heads/"+integration)
	if _, err := b.repo.Merge(t.Context(), in); !errors.Is(err, ErrMovedOn) {
		t.Errorf("no branch: error %v, want ErrMovedOn", err)
	}
}

// A batch: one after the other, the first that does not merge is named.
func TestMergeABatch(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.head()
	var tips []string
	for i := range 4 {
		tips = append(tips, b.branch(fmt.Sprintf("ralph/t-%d", i), base, func(w *testRepo) {
			w.write(fmt.Sprintf("%d.txt", i), "x")
			if i >= 2 {
				w.write("a.txt", fmt.Sprint(i))
			}
		}))
	}
	in := b.input(tips...)
	m, err := b.repo.Merge(t.Context(), in)
	b.must(err)
	if m.Conflict == nil || m.At != 3 || m.Commit != "" || m.Advanced {
		t.Fatalf("batch with a conflict: %+v", m)
	}
	b.equal("tip", b.git("rev-parse", integration), base)
	in.Sides, in.Free = in.Sides[:3], false
	m, err = b.repo.Merge(t.Context(), in)
	b.must(err)
	b.equal("files", b.git("ls-tree", "--name-only", m.Commit), "0.txt\n1.txt\n2.txt\na.txt\ndir")
	again, err := b.repo.Merge(t.Context(), in)
	b.must(err)
	if again.Tree != m.Tree {
		t.Errorf("again %+v, was %+v", again, m)
	}
	b.must(b.repo.Advance(t.Context(), integration, base, m.Commit))
	done, err := b.repo.Merge(t.Context(), in)
	b.must(err)
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
				b.write("ralph/plan.jsonl", "plan\n")
				b.write(progressFile, "# Learned\n")
				b.git("add", "-f", "-A")
				b.git("commit", "-q", "-m", "own")
			}
			base := b.head()
			b.must(b.repo.MakeBranch(t.Context(), integration, base))
			own := func(text string) func(*testRepo) {
				return func(w *testRepo) {
					w.write("ralph/plan.jsonl", text)
					w.write("ralph/inbox.jsonl", text)
					w.write("ralph/.state/journal.jsonl", text)
					w.write("build/ralph-logs/x.log", text)
					w.write(progressFile, w.progress()+"- "+text+"\n")
					w.write(text+".txt", text)
				}
			}
			one, two := b.branch("ralph/t-1", base, own("one")), b.branch("ralph/t-2", base, own("two"))
			three := b.branch("ralph/t-3", base, func(w *testRepo) { w.remove("ralph"); w.write("three.txt", "") })
			before := b.all()
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
			b.equal("learned", b.git("show", m.Commit+":"+progressFile)+"\n", learned)
			if m = b.merge(three); m.Conflict != nil {
				t.Fatalf("conflict: %+v", m.Conflict.Files)
			}
			want := "a.txt\ndir/b.txt\ndir/sub/c.txt\none.txt\nralph/progress.md\nthree.txt\ntwo.txt"
			if tracked {
				want = strings.Replace(want, "ralph/progress.md", "ralph/plan.jsonl\nralph/progress.md", 1)
			}
			b.equal("files", b.git("ls-tree", "-r", "--name-only", integration), want)
			b.untouched(before)
			b.fsck()
		})
	}
}

func (b *testRepo) progress() string {
	text, _ := os.ReadFile(b.path(progressFile))
	return string(text)
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	one := b.branch("ralph/t-1", b.head(), func(w *testRepo) { w.write("one.txt", "1") })
	empty := b.git("commit-tree", "-m", "root", b.git("rev-parse", "HEAD^{tree}"))
	_, err := b.repo.Merge(t.Context(), b.input(empty))
	b.refused(err, "no common history")
	in := b.input(one)
	in.Sides[0].Message = "no trailer"
	if _, err := b.repo.Merge(t.Context(), in); err == nil {
		t.Error("a merge without its trailer was made")
	}
	person := filepath.Join(t.TempDir(), "person")
	b.git("worktree", "add", "-q", person, integration)
	_, err = b.repo.Merge(t.Context(), b.input(one))
	b.refused(err, person)
	b.git("worktree", "remove", person)
	b.git("branch", "plain")
	b.refused(b.repo.MakeBranch(t.Context(), "plain/x", one), "plain")
}

// commit.gpgSign is honoured: commit-tree alone would not.
func TestMergeSigns(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	base := b.head()
	one := b.branch("ralph/t-1", base, func(w *testRepo) { w.write("one.txt", "1") })
	two := b.branch("ralph/t-2", base, func(w *testRepo) { w.write("two.txt", "2") })
	signer := filepath.Join(t.TempDir(), "gpg")
	ralphtest.Program(b.t, signer, "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho SIGNED\n")
	b.git("config", "gpg.program", signer)
	b.git("config", "commit.gpgSign", "yes")
	b.merge(one)
	m := b.merge(two)
	if !strings.Contains(b.git("cat-file", "commit", m.Commit), "gpgsig SIGNED") {
		t.Error("not signed")
	}
	b.git("config", "commit.gpgSign", "off")
	b.git("update-ref", "refs/heads/"+integration, one)
	if m := b.merge(two); strings.Contains(b.git("cat-file", "commit", m.Commit), "gpgsig") {
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
		"packed": {prep: func(b *testRepo) { b.git("gc", "-q"); b.git("pack-refs", "--all") }},
		"sha256": {init: []string{"--object-format=sha256"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mergeBox(t, tt.init...)
			base := b.head()
			one := b.branch("ralph/t-1", base, func(w *testRepo) { w.write(odd+"/one.txt", "1"); w.write("ralph/plan.jsonl", "x") })
			two := b.branch("ralph/t-2", base, func(w *testRepo) { w.write(odd+"/two.txt", "2"); w.write("a.txt", "2\n") })
			three := b.branch("ralph/t-3", base, func(w *testRepo) { w.write(odd+"/one.txt", "3"); w.write("a.txt", "3\n") })
			if tt.prep != nil {
				tt.prep(b)
			}
			b.merge(one)
			b.merge(two)
			b.equal("files", b.git("-c", "core.quotePath=off", "ls-tree", "-r", "-z", "--name-only", integration),
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
			b.fsck()
		})
	}
	t.Run("criss-cross", func(t *testing.T) {
		t.Parallel()
		b := mergeBox(t)
		base := b.head()
		one := b.branch("x1", base, func(w *testRepo) { w.write("one.txt", "1") })
		two := b.branch("x2", base, func(w *testRepo) { w.write("two.txt", "2") })
		cross := func(name, at, other, file string) string {
			w := b.linked(name, at)
			w.git("merge", "-q", "-m", "cross", other)
			w.write(file, "")
			w.git("add", "-A")
			w.git("commit", "-q", "-m", file)
			return w.head()
		}
		left, right := cross("l", one, two, "left.txt"), cross("r", two, one, "right.txt")
		b.merge(left)
		m := b.merge(right)
		b.equal("files", b.git("ls-tree", "--name-only", m.Commit), "a.txt\ndir\nleft.txt\none.txt\nright.txt\ntwo.txt")
	})
}

// Attributes of the repository count: drivers, endings of lines.
func TestMergeUsesAttributes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(".gitattributes", "log.txt merge=union\nown.txt merge=mine\n*.bat text eol=crlf\n")
	b.write("log.txt", "0\n")
	b.write("own.txt", "0\n")
	b.write("x.bat", "1\r\n2\r\n3\r\n")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "attributes")
	b.git("config", "merge.mine.driver", "echo merged >%A")
	base := b.head()
	b.must(b.repo.MakeBranch(t.Context(), integration, base))
	edit := func(text string, line string) func(*testRepo) {
		return func(w *testRepo) {
			w.write("log.txt", "0\n"+text+"\n")
			w.write("own.txt", text+"\n")
			w.write("x.bat", strings.Replace("1\r\n2\r\n3\r\n", line, text, 1))
		}
	}
	b.merge(b.branch("ralph/t-1", base, edit("one", "1")))
	m := b.merge(b.branch("ralph/t-2", base, edit("two", "3")))
	if m.Conflict != nil {
		t.Fatalf("conflict: %+v", m.Conflict.Files)
	}
	b.equal("union", b.git("show", m.Commit+":log.txt"), "0\none\ntwo")
	b.equal("driver", b.git("show", m.Commit+":own.txt"), "merged")
	b.equal("endings", b.git("show", m.Commit+":x.bat"), "one\n2\ntwo")
}

func TestAttributesKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(".git/info/attributes", "*.x -text")
	for range 2 {
		b.must(b.repo.Attributes(unionLines()))
	}
	b.want(".git/info/attributes", "*.x -text\n/ralph/progress.md merge=union\n")
}

func TestCanMerge(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(b.repo.CanMerge(t.Context()))
	for version, ok := range map[string]bool{
		"2.37.9": false, "2.38.0": true, "2.38.windows.1": true, "2.50.1 (Apple Git-155)": true, "1.9.0": false, "3.0.0": true,
	} {
		b.repo.program = filepath.Join(t.TempDir(), "git")
		ralphtest.Program(b.t, b.repo.program, "#!/bin/sh\necho 'git version "+version+"'\n")
		err := b.repo.CanMerge(t.Context())
		if ok && err != nil {
			t.Errorf("%s: %v", version, err)
		}
		if !ok {
			b.refused(err, "cannot merge")
		}
	}
}

func TestContains(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	one := b.branch("x1", base, func(w *testRepo) { w.write("1", "") })
	two := b.branch("x2", base, func(w *testRepo) { w.write("2", "") })
	for _, tt := range []struct {
		commit, tip string
		want        bool
	}{{base, base, true}, {base, one, true}, {one, base, false}, {one, two, false}} {
		got, err := b.repo.Contains(t.Context(), tt.commit, tt.tip)
		b.must(err)
		if got != tt.want {
			t.Errorf("%.6s in %.6s: %v", tt.commit, tt.tip, got)
		}
	}
	if n := b.starts(func() { b.repo.Contains(t.Context(), base, one) }); n != 0 {
		t.Errorf("along loose first parents it starts %d processes", n)
	}
}
