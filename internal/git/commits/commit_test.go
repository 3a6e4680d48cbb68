package commits

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
)

// D-046, D-068: one commit with new, changed and deleted files; nothing is left.
func TestCommitTakesEverything(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	b.Write("new.txt", "n")
	b.Write("a.txt", "changed")
	b.Remove("dir/sub")
	b.Write("ralph/specs/x.md", "spec")
	b.Write("half.txt", "staged")
	b.Git("add", "half.txt")
	b.Write("half.txt", "staged, then changed")
	c := b.mustCommit("k1", nil)
	b.Equal("parent", b.Git("rev-parse", "HEAD^"), base)
	b.Equal("hash", c.Hash, b.Head())
	b.Equal("short", c.Short, c.Hash[:7])
	b.Equal("tree", c.Tree, b.Git("rev-parse", "HEAD^{tree}"))
	b.Equal("files", b.Git("show", "--name-status", "--no-renames", "--format=", "HEAD"),
		"M\ta.txt\nD\tdir/sub/c.txt\nA\thalf.txt\nA\tnew.txt\nA\tralph/specs/x.md")
	b.Equal("status", b.Status(), "")
	b.Equal("message", b.Git("log", "-1", "--format=%B"), "ralph: complete x\n\nSpec: ralph/specs/x.md\n\nRalph-Receipt: k1")
	b.Equal("content", b.Git("show", "HEAD:half.txt"), "staged, then changed")
}

// D-071: a spec that changes nothing gets its commit too.
func TestCommitOfNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	tree := b.Git("rev-parse", "HEAD^{tree}")
	c := b.mustCommit("k1", nil)
	b.Equal("tree", c.Tree, tree)
	b.Equal("count", b.Git("rev-list", "--count", "HEAD"), "2")
}

// tracked or not, ralph's own files are in no commit, and stay byte for byte.
func TestCommitLeavesOwnFilesAlone(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testRepo){
		"untracked": func(*testRepo) {},
		"tracked":   func(b *testRepo) { b.Git("add", "-f", "-A"); b.Git("commit", "-q", "-m", "own") },
		"staged":    func(b *testRepo) { b.Git("add", "-f", "-A") },
		"staged after Begin": func(b *testRepo) {
			b.Must(b.repo.Begin(b.T.Context()))
			b.Git("add", "-f", "-A")
		},
		"taken by a hook": func(b *testRepo) { b.Hook("pre-commit", "git add -A -f") },
		"tracked, taken by a hook": func(b *testRepo) {
			b.Git("add", "-f", "ralph/inbox.jsonl")
			b.Git("commit", "-q", "-m", "own")
			b.Hook("pre-commit", "git add -A -f")
		},
		"tracked, untracking staged": func(b *testRepo) {
			b.Git("add", "-f", "-A")
			b.Git("commit", "-q", "-m", "own")
			b.Git("rm", "-q", "--cached", "ralph/inbox.jsonl", "ralph/plan.jsonl")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			own := b.OwnFiles()
			prepare(b)
			for i := range 3 { // the second and third use what the first left behind
				b.Write("x.txt", strings.Repeat("x", i+1))
				for name := range own {
					own[name] += "more\n"
					b.Write(name, own[name])
				}
				b.Must(b.repo.Begin(t.Context()))
				tree := b.snapshot()
				c := b.mustCommit("k"+own["ralph/inbox.jsonl"][:1]+strings.Repeat("1", i), func(in *Input) { in.Tree = tree })
				b.Equal("files", b.Git("show", "--name-only", "--format=", c.Hash), "x.txt")
				b.Equal("tree", c.Tree, tree)
			}
			for name, text := range own {
				b.Want(name, text)
			}
		})
	}
}

func TestCommitStartsTwoProcesses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Must(b.repo.Begin(t.Context()))
	b.Write("x", "0")
	b.mustCommit("k0", nil)
	b.Write("x", "1")
	base := b.Head()
	n := b.program.Starts(func() {
		b.Must(b.repo.Begin(t.Context()))
		b.mustCommit("k1", func(in *Input) { in.Base = base })
	})
	if n != 2 {
		t.Errorf("Begin and Commit start %d processes, want 2: add and commit", n)
	}
	b.Write("x", "2")
	base = b.Head()
	n = b.program.Starts(func() {
		tree := b.snapshot()
		b.mustCommit("k2", func(in *Input) { in.Base, in.Tree = base, tree })
	})
	if n != 3 {
		t.Errorf("Snapshot and Commit start %d processes, want 3: add, write-tree, commit", n)
	}
}

func TestCommitWithAStaleTreeAddsAgain(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("x", "1")
	old := b.snapshot()
	b.Write("x", "2")
	b.snapshot()
	b.mustCommit("k", func(in *Input) { in.Tree = old })
	b.Equal("x", b.Git("show", "HEAD:x"), "2")
}

// A crash between the commit and its fact: git decides what is done.
func TestCommitIsIdempotent(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	at := func(in *Input) { in.Base = base }
	b.Write("x", "1")
	first := b.mustCommit("k1", at)
	b.Git("read-tree", base) // killed before the user's index was brought in line
	b.repo = b.open(b.Dir)
	second := b.mustCommit("k1", at)
	if !second.Found || first.Found || second.Hash != first.Hash || second.Tree != first.Tree {
		t.Errorf("first %+v, second %+v", first, second)
	}
	b.Equal("status", b.Status(), "")
	b.Git("commit", "-q", "--allow-empty", "-m", "somebody's")
	third := b.mustCommit("k1", at)
	if !third.Found || third.Hash != first.Hash || third.Tree != first.Tree {
		t.Errorf("third %+v", third)
	}
	b.Equal("count", b.Git("rev-list", "--count", base+"..HEAD"), "2")
	if fourth := b.mustCommit("k", at); fourth.Found {
		t.Error("a part of a key passes for the key")
	}
}

//
func TestCommitSquashesTheAgentsCommits(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	b.Must(b.repo.Begin(t.Context()))
	b.Write("one", "1")
	b.Write("ralph/inbox.jsonl", "agent took it along")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "agent 1")
	b.Write("two", "2")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "agent 2")
	b.Write("three", "3")
	old := b.Head()
	c := b.mustCommit("k/1 ", func(in *Input) {
		in.Base = base
		in.Key = "k1"
		in.Message = "m\n\nRalph-Receipt: k1\n"
	})
	b.Equal("parent", b.Git("rev-parse", "HEAD^"), base)
	b.Equal("files", b.Git("show", "--name-only", "--format=", c.Hash), "one\nthree\ntwo")
	b.Equal("recovery", b.Git("rev-parse", "refs/ralph/recovery/k1"), old)
	b.Want("ralph/inbox.jsonl", "agent took it along")
	b.Equal("status", b.Status(), "?? ralph/inbox.jsonl")
}

func TestCommitWithoutSquashGoesOnTop(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	b.Must(b.repo.Begin(t.Context()))
	b.Write("ralph/inbox.jsonl", "i")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "own file tracked")
	top := b.Head()
	b.Write("ralph/inbox.jsonl", "changed")
	b.Write("x", "x")
	c := b.mustCommit("k1", func(in *Input) { in.Base, in.Squash = base, false })
	b.Equal("parent", b.Git("rev-parse", "HEAD^"), top)
	b.Equal("files", b.Git("show", "--name-only", "--format=", c.Hash), "x")
}

func TestCommitReturnsToTheBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	b.Git("checkout", "-q", "-b", "agents-own")
	b.Write("x", "1")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "agent")
	b.Write("y", "2")
	agents := b.Head()
	b.mustCommit("k1", func(in *Input) { in.Base, in.Branch = base, "main" })
	b.Equal("branch", b.Git("symbolic-ref", "--short", "HEAD"), "main")
	b.Equal("parent", b.Git("rev-parse", "main^"), base)
	b.Equal("files", b.Git("show", "--name-only", "--format=", "main"), "x\ny")
	b.Equal("agent's branch", b.Git("rev-parse", "agents-own"), agents)
	b.Equal("status", b.Status(), "")
}

func TestCommitRefuses(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	_, err := b.commit("k1", func(in *Input) { in.Branch = "gone" })
	b.Refused(err, "gone")
	b.Must(os.WriteFile(b.Path(".git/MERGE_HEAD"), []byte(base+"\n"), 0o644))
	_, err = b.commit("k1", nil)
	b.Refused(err, "git merge --abort")
	for name, change := range map[string]func(*Input){
		"no trailer in the message": func(in *Input) { in.Message = "m\n" },
		"no key":                    func(in *Input) { in.Key = "" },
		"key of two lines":          func(in *Input) { in.Key = "a\nb" },
		"option as branch":          func(in *Input) { in.Branch = "-d" },
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
	base := b.Head()
	b.Write("one", "1")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "agent")
	b.Write("two", "2")
	agents := b.Head()
	at := func(in *Input) { in.Base = base }
	b.Hook("pre-commit", "echo lint: two is bad; exit 3")
	_, err := b.commit("k1", at)
	failed, ok := errors.AsType[*git.Error](err)
	if !ok || failed.Exit != 1 || !strings.Contains(err.Error(), "lint: two is bad") || failed.Args[0] != "commit" {
		t.Fatalf("error is %v", err)
	}
	b.Equal("HEAD", b.Head(), agents)
	b.Equal("status", b.Status(), "?? two")
	b.Hook("pre-commit", "exit 0")
	b.mustCommit("k1", at)
	b.Equal("count", b.Git("rev-list", "--count", base+"..HEAD"), "1")
	b.Equal("status", b.Status(), "")
	b.Equal("refs kept", b.Git("for-each-ref", "--format=%(objectname)", "refs/ralph/"), agents)
}

// R-H1: a commit that hooks changed is taken back, for the checks have not seen it; made anew,
// with what they made of the files, it stays.
func TestHookThatRewrites(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	b.Hook("pre-commit", "echo formatted > a.txt; echo made > made.txt; git add a.txt made.txt")
	b.Hook("commit-msg", "echo 'Change-Id: I1' >> \"$1\"")
	b.Write("x", "x")
	for range 2 {
		_, err := b.commit("k1", nil)
		said, ok := HookSaid(err)
		if !ok || strings.Join(FilesRewritten(err), " ") != "a.txt made.txt" || !strings.Contains(said, "changed files in the commit: a.txt, made.txt") {
			t.Fatalf("%v, %q", err, said)
		}
		b.Equal("HEAD", b.Head(), base)
		b.Want("a.txt", "formatted\n")
		b.Write("a.txt", "written again\n")
		b.Remove("made.txt")
	}
	b.Write("a.txt", "formatted\n")
	b.Write("made.txt", "made\n")
	c := b.mustCommit("k1", nil)
	b.Equal("files", b.Git("show", "--name-only", "--format=", c.Hash), "a.txt\nmade.txt\nx")
	b.Equal("status", b.Status(), "")
	b.Equal("message", b.Git("log", "-1", "--format=%(trailers:key=Change-Id,valueonly)"), "I1")
}

func TestCommitWhileTheIndexIsLocked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("x", "x")
	b.Must(os.WriteFile(b.Path(".git/index.lock"), nil, 0o644))
	c := b.mustCommit("k1", nil)
	if !c.Stale || b.Head() != c.Hash {
		t.Errorf("commit %+v, HEAD %s", c, b.Head())
	}
	if git.Stat(b.Path(".git/index.lock")) == nil {
		t.Error("somebody else's lock was removed")
	}
	b.Remove(".git/index.lock")
	b.mustCommit("k2", nil)
	b.Equal("status", b.Status(), "")
}

func TestBeginTakesBackItsOwnLock(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Must(os.WriteFile(b.Path(".git/ralph-index.next"), []byte("half"), 0o644))
	b.Must(os.Link(b.Path(".git/ralph-index.next"), b.Path(".git/index.lock")))
	b.Must(os.WriteFile(b.Path(".git/ralph-index.lock"), nil, 0o644))
	b.Must(b.repo.Begin(t.Context()))
	b.Write("x", "x")
	b.Git("add", "x")
	b.snapshot()
	left, err := filepath.Glob(b.Path(".git/*.lock"))
	b.Must(err)
	b.Equal("locks", strings.Join(left, " "), "")
}

func TestCommitKeepsFormats(t *testing.T) {
	t.Parallel()
	b := newBox(t, "--object-format=sha256")
	b.Write(".gitattributes", "*.crlf text eol=crlf\n")
	b.Write("x.crlf", "one\r\ntwo\r\n")
	b.Git("config", "core.splitIndex", "true")
	b.Git("config", "i18n.commitEncoding", "ISO-8859-1")
	c := b.mustCommit("ö-key", nil)
	if len(c.Hash) != 64 {
		t.Errorf("hash %s", c.Hash)
	}
	b.Equal("blob", b.Git("cat-file", "-p", "HEAD:x.crlf"), "one\ntwo")
	b.Want("x.crlf", "one\r\ntwo\r\n")
	b.Equal("status", b.Status(), "")
	if again := b.mustCommit("ö-key", nil); !again.Found {
		t.Error("not found again")
	}
}

func TestCommitInALinkedWorkTree(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	main := b.Head()
	b.Git("worktree", "add", "-q", "../linked", "-b", "side")
	b.Dir = filepath.Join(filepath.Dir(b.Dir), "linked")
	b.repo = b.open(b.Dir)
	b.Write("x", "x")
	c := b.mustCommit("k1", nil)
	b.Equal("side", b.Tip("side"), c.Hash)
	b.Equal("main", b.Tip("main"), main)
	b.Equal("status", b.Status(), "")
}

func TestCommitFilesThatBecomeFolders(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Remove("dir")
	b.Write("dir", "now a file")
	b.Remove("a.txt")
	b.Write("a.txt/inside", "now a folder")
	b.mustCommit("k1", nil)
	b.Equal("files", b.Git("ls-tree", "-r", "--name-only", "HEAD"), "a.txt/inside\ndir")
	b.Remove("dir")
	b.Remove("a.txt")
	b.Write("dir/b.txt", "back")
	b.Write("a.txt", "back")
	b.mustCommit("k2", nil)
	b.Equal("files", b.Git("ls-tree", "-r", "--name-only", "HEAD"), "a.txt\ndir/b.txt")
	b.Equal("status", b.Status(), "")
}

func manyFiles(b *testing.B) *testRepo {
	x := newBox(b)
	for i := range 100 {
		x.Write("src/"+strings.Repeat("f", i+1), strings.Repeat("text\n", i))
	}
	x.mustCommit("k", nil)
	return x
}

func BenchmarkSnapshot(b *testing.B) {
	x := manyFiles(b)
	for i := 0; b.Loop(); i++ {
		x.Write("changed", strings.Repeat("x", i))
		x.snapshot()
	}
}

func BenchmarkCommit(b *testing.B) {
	x := manyFiles(b)
	base := x.Head()
	for i := 0; b.Loop(); i++ {
		x.Write("changed", strings.Repeat("x", i))
		c := x.mustCommit(strings.Repeat("k", i+2), func(in *Input) { in.Base = base })
		base = c.Hash
	}
}
