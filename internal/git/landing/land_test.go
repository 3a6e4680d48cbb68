package landing

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"
)

// landBox has a person's checkout on main and a commit to land there, which
// changes, adds, deletes and replaces files.
func landBox(t testing.TB, initArgs ...string) (*testRepo, LandInput) {
	t.Helper()
	b := newBox(t, initArgs...)
	b.Write("kept.txt", "kept\n")
	b.Write("gone.txt", "gone\n")
	b.Write("turns/into", "a file\n")
	b.Write("file", "turns into a folder\n")
	b.Write(".gitignore", "*.ignored\n")
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", "base")
	in := LandInput{Branch: "main", From: b.Head()}
	in.To = b.branch("ralph/merged-1", in.From, func(w *testRepo) {
		w.Write("a.txt", "landed\n")
		w.Write("dir/new ü.txt", "new\n")
		w.Write("deep/er/new.txt", "new\n")
		w.Remove("gone.txt")
		w.Remove("turns")
		w.Write("turns", "file\n")
		w.Remove("file")
		w.Write("file/x", "x\n")
		linkTo("link", "a.txt")(w)
		executable("dir/b.txt")(w)
	})
	b.OwnFiles()
	return b, in
}

func (b *testRepo) land(in LandInput) Landed {
	b.T.Helper()
	out, err := Land(b.T.Context(), b.repo, in)
	b.Must(err)
	return out
}

// landed checks that the checkout is at a commit in every respect.
func (b *testRepo) landed(in LandInput) {
	b.T.Helper()
	b.Equal("HEAD", b.Head(), in.To)
	b.Equal("status", b.Git("status", "--porcelain"), "")
	b.Equal("against the commit", b.Git("diff", "--name-only", in.To), "")
	b.Equal("index", b.Git("diff", "--cached", "--name-only", in.To), "")
	if in.Branch != "" {
		b.Equal("HEAD's branch", b.Git("symbolic-ref", "--short", "HEAD"), in.Branch)
		b.Equal("branch", b.Git("rev-parse", in.Branch), in.To)
	}
	for _, name := range []string{"index.lock", landIndex, landMarker, landIndex + ".lock"} {
		if git.Stat(b.Path(".git/"+name)) != nil {
			b.T.Errorf(".git/%s is left over", name)
		}
	}
}

func TestLandFastForwards(t *testing.T) {
	t.Parallel()
	for name, init := range map[string][]string{"sha1": nil, "sha256": {"--object-format=sha256"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, in := landBox(t, init...)
			own := b.Read("ralph/inbox.jsonl")
			b.Write("untracked.txt", "the person's")
			b.Write(".git/info/exclude", "ralph/\nbuild/\nuntracked.txt\n")
			b.Must(os.Chtimes(b.Path("kept.txt"), git.Stat(b.Path("a.txt")).ModTime(), git.Stat(b.Dir).ModTime().Add(-1e12))) // touched, not changed
			var out Landed
			if n := b.program.Starts(func() { out = b.land(in) }); n != 2 {
				t.Errorf("Land starts %d processes, want 2", n)
			}
			b.Equal("how", out.How, LandedForward)
			b.landed(in)
			b.Want("untracked.txt", "the person's")
			b.Want("ralph/inbox.jsonl", own)
			b.Equal("log", b.Git("log", "-1", "-g", "--format=%H", "main"), in.To)
			if out = b.land(in); out.How != LandedAlready {
				t.Errorf("again: %+v", out)
			}
			b.Git("commit", "-q", "--allow-empty", "-m", "the person's")
			if out = b.land(in); out.How != LandedAlready {
				t.Errorf("after the person went on: %+v", out)
			}
		})
	}
}

// Only the branch moves when nobody has it checked out.
func TestLandOnABranchThatIsNotCheckedOut(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	b.Git("switch", "-q", "-c", "elsewhere")
	b.Write("a.txt", "the person's")
	before := b.Files()
	if out := b.land(in); out.How != LandedBranch {
		t.Errorf("%+v", out)
	}
	b.Equal("main", b.Tip("main"), in.To)
	if !maps.Equal(before, b.Files()) {
		t.Error("files changed")
	}
	if out := b.land(in); out.How != LandedAlready {
		t.Errorf("again: %+v", out)
	}
}

func TestLandInAnotherCheckout(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	b.Git("switch", "-q", "-c", "elsewhere")
	dir := filepath.Join(t.TempDir(), "linked")
	b.Git("worktree", "add", "-q", dir, "main")
	w := &testRepo{Box: gittest.Box{T: t, P: b.P, Dir: dir, Env: b.Env}, repo: b.repo}
	if out := w.land(in); out.How != LandedForward {
		t.Errorf("%+v", out)
	}
	b.Equal("status", w.Git("status", "--porcelain"), "")
	b.Equal("HEAD", w.Head(), in.To)
	b.Git("update-ref", "refs/heads/main", in.From)
	b.Git("worktree", "move", dir, dir+"2")
	b.Must(os.Rename(dir+"2", dir+"3"))
	if out := w.land(in); !strings.Contains(out.Busy, "not there") {
		t.Errorf("checkout on a disk that is away: %+v", out)
	}
	// From a linked worktree into the main one.
	b, in = landBox(t)
	side := b.linked("side", in.From)
	b.repo = side.repo
	b.Write(".git/info/exclude", "ralph/\nbuild/\n")
	if out := b.land(in); out.How != LandedForward {
		t.Errorf("%+v", out)
	}
	b.landed(in)
}

// A bare repository with worktrees: its HEAD is no checkout.
func TestLandInABareRepository(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	bare := filepath.Join(t.TempDir(), "x.git")
	b.Git("clone", "-q", "--bare", b.Dir, bare)
	dir := filepath.Join(t.TempDir(), "linked")
	c := &testRepo{Box: gittest.Box{T: t, P: b.P, Dir: bare, Env: b.Env}}
	c.Git("worktree", "add", "-q", "-b", "side", dir, in.From)
	c.repo = c.open(dir)
	if out := c.land(in); out.How != LandedBranch {
		t.Errorf("%+v", out)
	}
	b.Equal("main", c.Tip("main"), in.To)
}

func TestLandOnADetachedHead(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	b.Git("checkout", "-q", "--detach")
	b.Write(".git/info/exclude", "ralph/\nbuild/\n")
	in.Branch = ""
	if out := b.land(in); out.How != LandedForward {
		t.Errorf("%+v", out)
	}
	b.landed(in)
	b.Equal("main", b.Tip("main"), in.From)
	b.Git("switch", "-q", "main")
	_, err := Land(t.Context(), b.repo, in)
	b.Refused(err, "detached")
}

// A checkout with anything of the person's in it is never touched.
func TestLandLeavesADirtyCheckoutAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range ralphtest.Named(4, map[string]struct {
		change func(*testRepo)
		dirty  string
	}{
		"changed, elsewhere":        {write("kept.txt", "mine\n"), "kept.txt"},
		"changed, the same file":    {write("a.txt", "mine\n"), "a.txt"},
		"staged":                    {both(write("kept.txt", "mine\n"), add("kept.txt")), "kept.txt"},
		"staged, then put back":     {both(write("a.txt", "mine\n"), add("a.txt"), write("a.txt", "a\n")), "a.txt"},
		"staged addition":           {both(write("mine.txt", "mine\n"), add("mine.txt")), "mine.txt"},
		"deleted":                   {remove("kept.txt"), "kept.txt"},
		"deleted, the same file":    {remove("a.txt"), "a.txt"},
		"emptied, the same file":    {write("a.txt", ""), "a.txt"},
		"mode":                      {executable("kept.txt"), "kept.txt"},
		"untracked in the way":      {write("dir/new ü.txt", "mine\n"), "dir/new ü.txt"},
		"ignored in the way":        {both(write("deep/er/new.txt", "mine\n"), exclude("deep/")), "deep/er/new.txt"},
		"ignored where a folder is": {both(write("deep", "mine\n"), exclude("deep")), "deep"},
		"untracked where a file is": {write("link/x", "mine\n"), "link/x"},
		"untracked within a folder": {write("turns/mine", "mine\n"), "turns/mine"},
		"assumed unchanged":         {both(hide("a.txt", "--assume-unchanged"), write("a.txt", "mine\n")), "a.txt"},
		"skipped in the work tree":  {both(hide("a.txt", "--skip-worktree"), write("a.txt", "mine\n")), "a.txt"},
		"conflict": {func(b *testRepo) {
			b.Write("a.txt", "mine\n")
			b.Git("stash", "-q")
			b.Write("a.txt", "other\n")
			b.Git("add", "a.txt")
			b.Try("stash", "apply")
		}, "a.txt"},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, in := landBox(t)
			b.Write(".git/info/exclude", "ralph/\nbuild/\n")
			tt.change(b)
			before := b.All()
			out := b.land(in)
			if out.How != "" || !slices.Contains(out.Dirty, tt.dirty) {
				t.Errorf("%+v, want %q", out, tt.dirty)
			}
			b.Untouched(before)
			if git.Stat(b.Path(".git/index.lock")) != nil {
				t.Error("the index stays locked")
			}
		})
	}
}

// R-M3: settings and learnings that a person has changed are no reason to wait, staged or
// not, unless the landing brings another version of them. After a kill as well.
func TestLandBesideChangedSettings(t *testing.T) {
	t.Parallel()
	const config = "ralph/config.yaml"
	stage := func(b *testRepo) { b.Git("add", "-f", config) }
	for name, tt := range ralphtest.Named(3, map[string]struct {
		change func(*testRepo)
		status string // of the settings, before and after
	}{
		"changed":          {write(config, "mine\n"), " M " + config},
		"staged":           {both(write(config, "mine\n"), stage), "M  " + config},
		"staged and again": {both(write(config, "staged\n"), stage, write(config, "mine\n")), "MM " + config},
		"deleted":          {remove(config), " D " + config},
		"learnings":        {write(progressFile, "mine\n"), " M " + progressFile},
	}) {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, killed %v", name, killed), func(t *testing.T) {
				t.Parallel()
				b, in := landBox(t)
				b.Write(config, "version: 1\n")
				b.Write(progressFile, "learned\n")
				b.Git("add", "-f", config, progressFile)
				b.Git("commit", "-q", "-m", "settings")
				b.Git("cherry-pick", in.To) // the same work on top of them
				in.To = b.Head()
				b.Git("reset", "-q", "--hard", "HEAD~1")
				in.From = b.Head()
				b.Write(".git/info/exclude", "ralph/\nbuild/\n")
				tt.change(b)
				staged := b.Git("diff", "--cached")
				if killed {
					b.Bring(in.To, landNames()[0])
					b.Write(".git/index.lock", markerHead+in.From+" "+in.To+"\n")
				}
				b.Equal("how", b.land(in).How, LandedForward)
				b.Equal("HEAD", b.Head(), in.To)
				b.Equal("status", strings.TrimRight(b.Git("status", "--porcelain"), "\n"), tt.status)
				b.Equal("staged", b.Git("diff", "--cached"), staged)
				b.Want("a.txt", "landed\n")
			})
		}
	}
	b, in := landBox(t)
	b.Write(config, "version: 1\n")
	b.Git("add", "-f", config)
	b.Git("commit", "-q", "-m", "settings")
	in.From = b.Head()
	in.To = b.branch("ralph/merged-2", in.From, write(config, "theirs\n"))
	b.Write(config, "mine\n")
	if out := b.land(in); !slices.Equal(out.Dirty, []string{config}) {
		t.Errorf("a landing that brings another version: %+v", out)
	}
	stage(b)
	if out := b.land(in); !slices.Equal(out.Dirty, []string{config}) {
		t.Errorf("likewise, staged: %+v", out)
	}
	b.Want(config, "mine\n")
}

func add(name string) func(*testRepo) { return func(b *testRepo) { b.Git("add", name) } }

func hide(name, flag string) func(*testRepo) {
	return func(b *testRepo) { b.Git("update-index", flag, name) }
}

func exclude(pattern string) func(*testRepo) {
	return func(b *testRepo) { b.Write(".git/info/exclude", b.Read(".git/info/exclude")+pattern+"\n") }
}

// What is no change of the person's does not keep work from landing.
func TestLandInAnOddCheckout(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testRepo){
		"own files tracked and changed": func(b *testRepo) {
			b.Git("add", "-f", "ralph/inbox.jsonl")
			b.Write("ralph/inbox.jsonl", "more\n")
		},
		"sparse checkout": func(b *testRepo) { b.Git("sparse-checkout", "set", "--no-cone", "/*", "!/deep/", "!/kept.txt") },
		"sparse index":    func(b *testRepo) { b.Git("sparse-checkout", "set", "--cone", "--sparse-index", "dir") },
		"split index":     func(b *testRepo) { b.Git("update-index", "--split-index") },
		"index version 4": func(b *testRepo) { b.Git("update-index", "--index-version", "4") },
		"assumed unchanged": func(b *testRepo) {
			b.Git("update-index", "--assume-unchanged", "kept.txt", "a.txt")
		},
		"settings for merges": func(b *testRepo) {
			b.Git("config", "merge.ff", "false")
			b.Git("config", "branch.main.mergeOptions", "--squash")
			b.Git("config", "merge.verifySignatures", "true")
			b.Git("config", "status.showUntrackedFiles", "all")
		},
		"hooks that fail": func(b *testRepo) {
			for _, hook := range []string{"post-merge", "post-checkout", "pre-commit", "pre-merge-commit"} {
				b.Hook(hook, "exit 1")
			}
		},
		"endings of lines": func(b *testRepo) {
			b.Git("config", "core.autocrlf", "true")
			b.Remove("kept.txt")
			b.Git("checkout", "kept.txt")
		},
		"modes that do not tell": func(b *testRepo) { b.Git("config", "core.fileMode", "false") },
		"packed":                 func(b *testRepo) { b.Git("gc", "-q"); b.Git("pack-refs", "--all") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, in := landBox(t)
			b.Write(".git/info/exclude", "ralph/\nbuild/\n")
			prepare(b)
			own := b.Read("ralph/inbox.jsonl")
			if out := b.land(in); out.How != LandedForward {
				t.Fatalf("%+v", out)
			}
			b.Want("ralph/inbox.jsonl", own)
			if name == "own files tracked and changed" {
				b.Git("rm", "-q", "-f", "--cached", "ralph/inbox.jsonl") // in the index alone
			}
			b.landed(in)
		})
	}
}

// A submodule at another commit is not touched, before or after.
func TestLandOfASubmodule(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	b.Write(".git/info/exclude", "ralph/\nbuild/\n")
	sub := newBox(t)
	b.Git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub.Dir, "sub")
	b.Git("commit", "-q", "-m", "submodule")
	in.From = b.Head()
	w := b.linked("ralph/sub", in.From)
	w.Git("update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	w.Write("a.txt", "landed\n")
	w.Git("commit", "-q", "-m", "sub", "a.txt")
	w.Git("update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	w.Git("commit", "-q", "-m", "sub")
	in.To = w.Head()
	if out := b.land(in); out.How != LandedForward {
		t.Fatalf("%+v", out)
	}
	b.Equal("status", b.Git("status", "--porcelain"), " M sub")
	next := in
	next.From = in.To
	next.To = b.branch("ralph/next", in.To, func(w *testRepo) { w.Write("kept.txt", "next") })
	if out := b.land(next); out.How != LandedForward {
		t.Errorf("with a submodule elsewhere: %+v", out)
	}
	b.Git("add", "sub")
	if out := b.land(LandInput{"main", next.To, b.branch("ralph/last", next.To, write("last", ""))}); !slices.Equal(out.Dirty, []string{"sub"}) {
		t.Errorf("with a staged submodule: %+v", out)
	}
}

func TestLandWaitsForThePerson(t *testing.T) {
	t.Parallel()
	conflict := func(b *testRepo, in LandInput, how string) {
		b.Git("switch", "-q", "-c", "mine", in.From)
		b.Write("kept.txt", "mine\n")
		b.Git("commit", "-q", "-a", "-m", "mine")
		b.Git("switch", "-q", "-C", "main", in.From)
		b.Write("kept.txt", "other\n")
		b.Git("commit", "-q", "-a", "-m", "other")
		b.Try(how, "mine")
	}
	for name, tt := range map[string]struct {
		prepare func(*testRepo, LandInput)
		words   string
	}{
		"a merge": {func(b *testRepo, in LandInput) {
			conflict(b, in, "merge")
			b.Git("update-ref", "refs/heads/main", in.From)
		}, "merge"},
		"a rebase": {func(b *testRepo, in LandInput) {
			conflict(b, in, "rebase")
			b.Git("update-ref", "refs/heads/main", in.From)
		}, "rebase of main"},
		"a lock":      {func(b *testRepo, _ LandInput) { b.Write(".git/index.lock", "") }, "index.lock"},
		"another one": {func(b *testRepo, _ LandInput) { b.Git("worktree", "add", "-q", "-f", "../twice", "main") }, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, in := landBox(t)
			tt.prepare(b, in)
			before := b.All()
			if out := b.land(in); !strings.Contains(out.Busy, tt.words) || out.How != "" {
				t.Errorf("%+v, want %q", out, tt.words)
			}
			b.Untouched(before)
		})
	}
	t.Run("a commit", func(t *testing.T) {
		t.Parallel()
		b, in := landBox(t)
		b.Git("commit", "-q", "--allow-empty", "-m", "the person's")
		before := b.All()
		if out := b.land(in); out.Moved != b.Head() {
			t.Errorf("%+v", out)
		}
		b.Untouched(before)
		b.Git("switch", "-q", "-c", "elsewhere")
		b.Git("branch", "-D", "-q", "main")
		_, err := Land(t.Context(), b.repo, in)
		b.Refused(err, "main is gone")
		back := LandInput{Branch: "elsewhere", From: b.Head(), To: in.From}
		if _, err := Land(t.Context(), b.repo, back); err == nil {
			t.Error("it went back")
		}
	})
}

// A hook that guards references has the last word; the files go back.
func TestLandRefusedByAHook(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	b.Write(".git/info/exclude", "ralph/\nbuild/\n")
	b.Hook("reference-transaction", `[ "$1" != prepared ]`)
	before := b.Files()
	if out, err := Land(t.Context(), b.repo, in); err == nil {
		t.Errorf("%+v", out)
	}
	b.Must(os.Remove(b.Path(".git/hooks/reference-transaction")))
	if after := b.Files(); !maps.Equal(before, after) {
		t.Errorf("files %v, want %v", after, before)
	}
	b.Equal("status", b.Status(), "")
	if out := b.land(in); out.How != LandedForward {
		t.Errorf("%+v", out)
	}
	b.landed(in)
}

// Looking at a checkout in which a person works never gets in their way.
func TestLandLooksWithoutALock(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	b.Write("kept.txt", "mine\n")
	b.Write(".git/index.lock", "") // a git command of theirs, which goes on and on
	if out := b.land(in); !slices.Equal(out.Dirty, []string{"kept.txt"}) {
		t.Errorf("%+v", out)
	}
	b.Want(".git/index.lock", "")
}

// Second pass of issue 15: an agent in a worktree can move the base branch, past all checks
// and gates. What the log of the checkout's HEAD does not know is none of the person's
// commits: it is not merged, and the person is told. Their own commits land as ever.
func TestLandNotOnWhatMovedTheBasePastTheCheckout(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	evil := strings.TrimSpace(b.Git("commit-tree", "-p", in.From, "-m", "chore", in.From+"^{tree}"))
	w := b.Dir + "-w"
	b.Git("worktree", "add", "-q", "--detach", w, in.From)
	b.Git("-C", w, "update-ref", "refs/heads/main", evil)
	got := b.land(in)
	if got.Moved != "" || got.How != "" || !strings.Contains(got.Busy, "main, which was moved to "+evil[:12]) {
		t.Errorf("%+v", got)
	}
	// on top of what is to land: as little
	on := strings.TrimSpace(b.Git("commit-tree", "-p", in.To, "-m", "chore", in.To+"^{tree}"))
	b.Git("-C", w, "update-ref", "refs/heads/main", on)
	if got := b.land(in); got.How != "" || got.Busy == "" {
		t.Errorf("%+v", got)
	}
	b.Git("-C", w, "update-ref", "refs/heads/main", evil)
	// the person keeps it, as the words say
	b.Git("reset", "-q", "--soft", "HEAD")
	if got := b.land(in); got.Moved != evil || got.Busy != "" {
		t.Errorf("kept: %+v", got)
	}
	// or takes it back
	b.Git("-C", w, "update-ref", "refs/heads/main", on)
	b.Git("reset", "-q", "--soft", in.From)
	if got := b.land(in); got.How != LandedForward {
		t.Errorf("taken back: %+v", got)
	}
}
