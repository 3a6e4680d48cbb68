package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// D-046, D-068: one commit with new, changed and deleted files; nothing is left.
func TestCommitTakesEverything(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	b.write("new.txt", "n")
	b.write("a.txt", "changed")
	b.remove("dir/sub")
	b.write("ralph/specs/x.md", "spec")
	b.write("half.txt", "staged")
	b.git("add", "half.txt")
	b.write("half.txt", "staged, then changed")
	c := b.mustCommit("k1", nil)
	b.equal("parent", b.git("rev-parse", "HEAD^"), base)
	b.equal("hash", c.Hash, b.head())
	b.equal("short", c.Short, c.Hash[:7])
	b.equal("tree", c.Tree, b.git("rev-parse", "HEAD^{tree}"))
	b.equal("files", b.git("show", "--name-status", "--no-renames", "--format=", "HEAD"),
		"M\ta.txt\nD\tdir/sub/c.txt\nA\thalf.txt\nA\tnew.txt\nA\tralph/specs/x.md")
	b.equal("status", b.status(), "")
	b.equal("message", b.git("log", "-1", "--format=%B"), "ralph: complete x\n\nSpec: ralph/specs/x.md\n\nRalph-Receipt: k1")
	b.equal("content", b.git("show", "HEAD:half.txt"), "staged, then changed")
}

// D-071: a spec that changes nothing gets its commit too.
func TestCommitOfNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	tree := b.git("rev-parse", "HEAD^{tree}")
	c := b.mustCommit("k1", nil)
	b.equal("tree", c.Tree, tree)
	b.equal("count", b.git("rev-list", "--count", "HEAD"), "2")
}

// tracked or not, ralph's own files are in no commit, and stay byte for byte.
func TestCommitLeavesOwnFilesAlone(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testRepo){
		"untracked": func(*testRepo) {},
		"tracked":   func(b *testRepo) { b.git("add", "-f", "-A"); b.git("commit", "-q", "-m", "own") },
		"staged":    func(b *testRepo) { b.git("add", "-f", "-A") },
		"staged after Begin": func(b *testRepo) {
			b.must(b.repo.Begin(b.t.Context()))
			b.git("add", "-f", "-A")
		},
		"taken by a hook": func(b *testRepo) { b.hook("pre-commit", "git add -A -f") },
		"tracked, taken by a hook": func(b *testRepo) {
			b.git("add", "-f", "ralph/inbox.jsonl")
			b.git("commit", "-q", "-m", "own")
			b.hook("pre-commit", "git add -A -f")
		},
		"tracked, untracking staged": func(b *testRepo) {
			b.git("add", "-f", "-A")
			b.git("commit", "-q", "-m", "own")
			b.git("rm", "-q", "--cached", "ralph/inbox.jsonl", "ralph/plan.jsonl")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			own := b.ownFiles()
			prepare(b)
			for i := range 3 { // the second and third use what the first left behind
				b.write("x.txt", strings.Repeat("x", i+1))
				for name := range own {
					own[name] += "more\n"
					b.write(name, own[name])
				}
				b.must(b.repo.Begin(t.Context()))
				tree := b.snapshot()
				c := b.mustCommit("k"+own["ralph/inbox.jsonl"][:1]+strings.Repeat("1", i), func(in *CommitInput) { in.Tree = tree })
				b.equal("files", b.git("show", "--name-only", "--format=", c.Hash), "x.txt")
				b.equal("tree", c.Tree, tree)
			}
			for name, text := range own {
				b.want(name, text)
			}
		})
	}
}

func TestCommitStartsTwoProcesses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(b.repo.Begin(t.Context()))
	b.write("x", "0")
	b.mustCommit("k0", nil)
	b.write("x", "1")
	base := b.head()
	n := b.spawns(func() {
		b.must(b.repo.Begin(t.Context()))
		b.mustCommit("k1", func(in *CommitInput) { in.Base = base })
	})
	if n != 2 {
		t.Errorf("Begin and Commit start %d processes, want 2: add and commit", n)
	}
	b.write("x", "2")
	base = b.head()
	n = b.spawns(func() {
		tree := b.snapshot()
		b.mustCommit("k2", func(in *CommitInput) { in.Base, in.Tree = base, tree })
	})
	if n != 3 {
		t.Errorf("Snapshot and Commit start %d processes, want 3: add, write-tree, commit", n)
	}
}

func TestCommitWithAStaleTreeAddsAgain(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("x", "1")
	old := b.snapshot()
	b.write("x", "2")
	b.snapshot()
	b.mustCommit("k", func(in *CommitInput) { in.Tree = old })
	b.equal("x", b.git("show", "HEAD:x"), "2")
}

// A crash between the commit and its fact: git decides what is done.
func TestCommitIsIdempotent(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	at := func(in *CommitInput) { in.Base = base }
	b.write("x", "1")
	first := b.mustCommit("k1", at)
	b.git("read-tree", base) // killed before the user's index was brought in line
	b.repo = b.open(b.dir)
	second := b.mustCommit("k1", at)
	if !second.Found || first.Found || second.Hash != first.Hash || second.Tree != first.Tree {
		t.Errorf("first %+v, second %+v", first, second)
	}
	b.equal("status", b.status(), "")
	b.git("commit", "-q", "--allow-empty", "-m", "somebody's")
	third := b.mustCommit("k1", at)
	if !third.Found || third.Hash != first.Hash || third.Tree != first.Tree {
		t.Errorf("third %+v", third)
	}
	b.equal("count", b.git("rev-list", "--count", base+"..HEAD"), "2")
	if fourth := b.mustCommit("k", at); fourth.Found {
		t.Error("a part of a key passes for the key")
	}
}

//
func TestCommitSquashesTheAgentsCommits(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	b.must(b.repo.Begin(t.Context()))
	b.write("one", "1")
	b.write("ralph/inbox.jsonl", "agent took it along")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "agent 1")
	b.write("two", "2")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "agent 2")
	b.write("three", "3")
	old := b.head()
	c := b.mustCommit("k/1 ", func(in *CommitInput) {
		in.Base = base
		in.Key = "k1"
		in.Message = "m\n\nRalph-Receipt: k1\n"
	})
	b.equal("parent", b.git("rev-parse", "HEAD^"), base)
	b.equal("files", b.git("show", "--name-only", "--format=", c.Hash), "one\nthree\ntwo")
	b.equal("recovery", b.git("rev-parse", "refs/ralph/recovery/k1"), old)
	b.want("ralph/inbox.jsonl", "agent took it along")
	b.equal("status", b.status(), "?? ralph/inbox.jsonl")
}

func TestCommitWithoutSquashGoesOnTop(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	b.must(b.repo.Begin(t.Context()))
	b.write("ralph/inbox.jsonl", "i")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "own file tracked")
	top := b.head()
	b.write("ralph/inbox.jsonl", "changed")
	b.write("x", "x")
	c := b.mustCommit("k1", func(in *CommitInput) { in.Base, in.Squash = base, false })
	b.equal("parent", b.git("rev-parse", "HEAD^"), top)
	b.equal("files", b.git("show", "--name-only", "--format=", c.Hash), "x")
}

func TestCommitReturnsToTheBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	b.git("checkout", "-q", "-b", "agents-own")
	b.write("x", "1")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "agent")
	b.write("y", "2")
	agents := b.head()
	b.mustCommit("k1", func(in *CommitInput) { in.Base, in.Branch = base, "main" })
	b.equal("branch", b.git("symbolic-ref", "--short", "HEAD"), "main")
	b.equal("parent", b.git("rev-parse", "main^"), base)
	b.equal("files", b.git("show", "--name-only", "--format=", "main"), "x\ny")
	b.equal("agent's branch", b.git("rev-parse", "agents-own"), agents)
	b.equal("status", b.status(), "")
}

func TestCommitRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	_, err := b.commit("k1", func(in *CommitInput) { in.Branch = "gone" })
	b.refused(err, "gone")
	b.must(os.WriteFile(b.path(".git/MERGE_HEAD"), []byte(base+"\n"), 0o644))
	_, err = b.commit("k1", nil)
	b.refused(err, "git merge --abort")
	for name, change := range map[string]func(*CommitInput){
		"no trailer in the message": func(in *CommitInput) { in.Message = "m\n" },
		"no key":                    func(in *CommitInput) { in.Key = "" },
		"key of two lines":          func(in *CommitInput) { in.Key = "a\nb" },
		"option as branch":          func(in *CommitInput) { in.Branch = "-d" },
	} {
		if _, err := b.commit("k1", change); err == nil {
			t.Errorf("%s: was taken", name)
		}
	}
}

// D-079 stands on this: a failed commit can be tried again.
func TestCommitHookFails(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	b.write("one", "1")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "agent")
	b.write("two", "2")
	agents := b.head()
	at := func(in *CommitInput) { in.Base = base }
	b.hook("pre-commit", "echo lint: two is bad; exit 3")
	_, err := b.commit("k1", at)
	failed, ok := errors.AsType[*Error](err)
	if !ok || failed.Exit != 1 || !strings.Contains(err.Error(), "lint: two is bad") || failed.Args[0] != "commit" {
		t.Fatalf("error is %v", err)
	}
	b.equal("HEAD", b.head(), agents)
	b.equal("status", b.status(), "?? two")
	b.hook("pre-commit", "exit 0")
	b.mustCommit("k1", at)
	b.equal("count", b.git("rev-list", "--count", base+"..HEAD"), "1")
	b.equal("status", b.status(), "")
	b.equal("refs kept", b.git("for-each-ref", "--format=%(objectname)", "refs/ralph/"), agents)
}

// R-H1: a commit that hooks changed is taken back, for the checks have not seen it; made anew,
// with what they made of the files, it stays.
func TestHookThatRewrites(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	b.hook("pre-commit", "echo formatted > a.txt; echo made > made.txt; git add a.txt made.txt")
	b.hook("commit-msg", "echo 'Change-Id: I1' >> \"$1\"")
	b.write("x", "x")
	for range 2 {
		_, err := b.commit("k1", nil)
		said, ok := HookSaid(err)
		if !ok || strings.Join(Rewritten(err), " ") != "a.txt made.txt" || !strings.Contains(said, "changed files in the commit: a.txt, made.txt") {
			t.Fatalf("%v, %q", err, said)
		}
		b.equal("HEAD", b.head(), base)
		b.want("a.txt", "formatted\n")
		b.write("a.txt", "written again\n")
		b.remove("made.txt")
	}
	b.write("a.txt", "formatted\n")
	b.write("made.txt", "made\n")
	c := b.mustCommit("k1", nil)
	b.equal("files", b.git("show", "--name-only", "--format=", c.Hash), "a.txt\nmade.txt\nx")
	b.equal("status", b.status(), "")
	b.equal("message", b.git("log", "-1", "--format=%(trailers:key=Change-Id,valueonly)"), "I1")
}

func TestCommitWhileTheIndexIsLocked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("x", "x")
	b.must(os.WriteFile(b.path(".git/index.lock"), nil, 0o644))
	c := b.mustCommit("k1", nil)
	if !c.Stale || b.head() != c.Hash {
		t.Errorf("commit %+v, HEAD %s", c, b.head())
	}
	if stat(b.path(".git/index.lock")) == nil {
		t.Error("somebody else's lock was removed")
	}
	b.remove(".git/index.lock")
	b.mustCommit("k2", nil)
	b.equal("status", b.status(), "")
}

func TestBeginTakesBackItsOwnLock(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.must(os.WriteFile(b.path(".git/ralph-index.next"), []byte("half"), 0o644))
	b.must(os.Link(b.path(".git/ralph-index.next"), b.path(".git/index.lock")))
	b.must(os.WriteFile(b.path(".git/ralph-index.lock"), nil, 0o644))
	b.must(b.repo.Begin(t.Context()))
	b.write("x", "x")
	b.git("add", "x")
	b.snapshot()
	left, err := filepath.Glob(b.path(".git/*.lock"))
	b.must(err)
	b.equal("locks", strings.Join(left, " "), "")
}

func TestCommitKeepsFormats(t *testing.T) {
	t.Parallel()
	b := newBox(t, "--object-format=sha256")
	b.write(".gitattributes", "*.crlf text eol=crlf\n")
	b.write("x.crlf", "one\r\ntwo\r\n")
	b.git("config", "core.splitIndex", "true")
	b.git("config", "i18n.commitEncoding", "ISO-8859-1")
	c := b.mustCommit("ö-key", nil)
	if len(c.Hash) != 64 {
		t.Errorf("hash %s", c.Hash)
	}
	b.equal("blob", b.git("cat-file", "-p", "HEAD:x.crlf"), "one\ntwo")
	b.want("x.crlf", "one\r\ntwo\r\n")
	b.equal("status", b.status(), "")
	if again := b.mustCommit("ö-key", nil); !again.Found {
		t.Error("not found again")
	}
}

func TestCommitInALinkedWorkTree(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	main := b.head()
	b.git("worktree", "add", "-q", "../linked", "-b", "side")
	b.dir = filepath.Join(filepath.Dir(b.dir), "linked")
	b.repo = b.open(b.dir)
	b.write("x", "x")
	c := b.mustCommit("k1", nil)
	b.equal("side", b.git("rev-parse", "side"), c.Hash)
	b.equal("main", b.git("rev-parse", "main"), main)
	b.equal("status", b.status(), "")
}

func TestCommitFilesThatBecomeFolders(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.remove("dir")
	b.write("dir", "now a file")
	b.remove("a.txt")
	b.write("a.txt/inside", "now a folder")
	b.mustCommit("k1", nil)
	b.equal("files", b.git("ls-tree", "-r", "--name-only", "HEAD"), "a.txt/inside\ndir")
	b.remove("dir")
	b.remove("a.txt")
	b.write("dir/b.txt", "back")
	b.write("a.txt", "back")
	b.mustCommit("k2", nil)
	b.equal("files", b.git("ls-tree", "-r", "--name-only", "HEAD"), "a.txt\ndir/b.txt")
	b.equal("status", b.status(), "")
}

func manyFiles(b *testing.B) *testRepo {
	x := newBox(b)
	for i := range 100 {
		x.write("src/"+strings.Repeat("f", i+1), strings.Repeat("text\n", i))
	}
	x.mustCommit("k", nil)
	return x
}

func BenchmarkSnapshot(b *testing.B) {
	x := manyFiles(b)
	for i := 0; b.Loop(); i++ {
		x.write("changed", strings.Repeat("x", i))
		x.snapshot()
	}
}

func BenchmarkCommit(b *testing.B) {
	x := manyFiles(b)
	base := x.head()
	for i := 0; b.Loop(); i++ {
		x.write("changed", strings.Repeat("x", i))
		c := x.mustCommit(strings.Repeat("k", i+2), func(in *CommitInput) { in.Base = base })
		base = c.Hash
	}
}
