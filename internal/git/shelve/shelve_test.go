package shelve

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
)

func (b *testRepo) shelve(how, base string, change func(*ShelveInput)) (Shelved, error) {
	in := ShelveInput{How: how, Base: base, Message: "ralph: failed x", ID: "job-1"}
	if change != nil {
		change(&in)
	}
	if b.agents {
		in.Agents = b.allAgents(base)
	}
	return Shelve(b.T.Context(), b.repo, in)
}

func (b *testRepo) mustShelve(how, base string) Shelved {
	b.T.Helper()
	s, err := b.shelve(how, base, nil)
	b.Must(err)
	return s
}

// D-072, D-075, D-120
func TestShelveStash(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write(".gitignore", "*.o\n")
	base := b.mustCommit("k0", nil).Hash
	b.Write("mine.txt", "the user's")
	b.Git("stash", "push", "-q", "-u", "-m", "mine")
	mine := b.Git("rev-parse", "stash@{0}")
	clean := b.Files()
	b.Edit()
	b.Write("ignored.o", "o")
	edited := b.Files()
	s := b.mustShelve("stash", base)
	b.Equal("status", b.Status(), "")
	b.Equal("HEAD", b.Head(), base)
	b.Equal("stashes", b.Stashes(), "stash@{0}: ralph: failed x\nstash@{1}: On main: mine")
	b.Equal("stash", b.Git("rev-parse", "stash@{0}"), s.Stash)
	b.Equal("the user's", b.Git("rev-parse", "stash@{1}"), mine)
	b.Equal("ref", s.Ref, "")
	clean["ignored.o"] = "---------- o"
	if d := cmp.Diff(clean, b.Files()); d != "" {
		t.Errorf("work tree (-want +got):\n%s", d)
	}
	if git.Stat(b.Path("new dir")) != nil {
		t.Error("an empty folder is left")
	}
	b.Equal("what it shows", b.Git("stash", "show", "--name-only", "--include-untracked", "--no-renames", "-z"),
		"a.txt\x00dir/sub/c.txt\x00new dir/ö.txt\x00staged.txt\x00")
	b.Git("stash", "apply", "-q", s.Stash)
	if d := cmp.Diff(edited, b.Files()); d != "" {
		t.Errorf("applied (-want +got):\n%s", d)
	}
}

func TestShelveOfNothing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stash", "reset"} {
		b := newBox(t)
		b.OwnFiles()
		b.Write("ralph/specs/x.md", "x")
		if s := b.mustShelve(how, b.Head()); s.Stash+s.Ref != "" {
			t.Errorf("%s: %+v", how, s)
		}
		b.Equal("stashes", b.Stashes(), "")
		b.Equal("refs", b.Git("for-each-ref", "refs/ralph/"), "")
	}
}

func TestShelveKeep(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Edit()
	before := b.Status()
	if s := b.mustShelve("keep", b.Head()); s.Stash+s.Ref != "" {
		t.Errorf("%+v", s)
	}
	b.Equal("status", b.Status(), before)
	if _, err := b.shelve("drop", b.Head(), nil); err == nil {
		t.Error("an unknown way was taken")
	}
}

// The whole folder ralph/ and the logs survive, whatever git knows of them.
func TestShelveLeavesRalphFolder(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testRepo){
		"untracked": func(*testRepo) {},
		"tracked":   func(b *testRepo) { b.Git("add", "-A", "-f"); b.Git("commit", "-q", "-m", "own") },
		"staged":    func(b *testRepo) { b.Git("add", "-A", "-f") },
	} {
		for _, how := range []string{"stash", "reset"} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				b := newBox(t)
				own := b.OwnFiles()
				own["ralph/specs/x.md"], own["ralph/config.yaml"] = "x", "c"
				b.Write("ralph/specs/x.md", "x")
				b.Write("ralph/config.yaml", "c")
				prepare(b)
				base := b.Head()
				for file := range own {
					own[file] += "more"
					b.Write(file, own[file])
				}
				b.Remove("ralph/config.yaml")
				delete(own, "ralph/config.yaml")
				inRalph := b.Git("status", "--porcelain", "-uall", "--", "ralph", "build")
				b.Edit()
				b.mustShelve(how, base)
				for file, text := range own {
					b.Want(file, text)
				}
				b.Equal("status", b.Status(), inRalph)
				b.Want("a.txt", "a\n")
				if how == "stash" {
					b.Equal("in the stash", b.Git("diff", "--name-only", base, "stash@{0}", "--", "ralph", "build"), "")
				}
			})
		}
	}
}

// R-M8: an agent's own commit takes the queue, the plan and a spec along. It is taken back, and
// nobody staged them: the index is as it was. What a person staged of them stays staged.
func TestShelveLeavesNothingStaged(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.agents = true
	b.Write("ralph/inbox.jsonl", "one\n")
	b.Write("ralph/specs/old.md", "old\n")
	b.Git("add", "-f", "-A")
	b.Git("commit", "-q", "-m", "base")
	base := b.Head()
	b.Write("ralph/config.yaml", "mine\n")
	b.Write("ralph/inbox.jsonl", "two\n")
	b.Write("ralph/plan.jsonl", "plan\n")
	b.Write("ralph/specs/new.md", "new\n")
	b.Write("work.txt", "work\n")
	b.Git("add", "-f", "ralph/inbox.jsonl", "ralph/plan.jsonl", "ralph/specs", "work.txt")
	b.Git("commit", "-q", "-m", "the agent's own")
	b.Git("add", "-f", "ralph/config.yaml")
	b.Write("ralph/inbox.jsonl", "three\n")
	s := b.mustShelve("stash", base)
	b.Equal("HEAD", b.Head(), base)
	b.Equal("staged", b.Git("diff", "--cached", "--name-only"), "ralph/config.yaml")
	b.Want("ralph/inbox.jsonl", "three\n")
	b.Want("ralph/plan.jsonl", "plan\n")
	b.Want("ralph/specs/new.md", "new\n")
	if s.Ref == "" {
		t.Error("the agent's commit is kept nowhere")
	}
}

// D-120: what the agent committed is kept, HEAD is where it was.
func TestShelveWithTheAgentsCommits(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stash", "reset"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			base := b.Head()
			b.Write("one", "1")
			b.Git("add", "-A")
			b.Git("commit", "-q", "-m", "agent")
			agents := b.Head()
			b.Edit()
			edited := b.Files()
			s := b.mustShelve(how, base)
			b.Equal("HEAD", b.Head(), base)
			b.Equal("branch", b.Git("symbolic-ref", "HEAD"), "refs/heads/main")
			b.Equal("status", b.Status(), "")
			b.Equal("ref", s.Ref, "refs/ralph/recovery/job-1")
			if how == "stash" {
				b.Equal("kept", b.Git("rev-parse", s.Ref), agents)
				b.Git("stash", "apply", "-q", s.Stash)
			} else {
				b.Equal("kept below", b.Git("rev-parse", s.Ref+"^"), agents)
				b.Equal("stashes", b.Stashes(), "")
				b.Git("checkout", "-q", s.Ref)
			}
			if d := cmp.Diff(edited, b.Files()); d != "" {
				t.Errorf("brought back (-want +got):\n%s", d)
			}
		})
	}
}

func TestShelveReset(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	clean := b.Files()
	b.Write("a.txt", "staged only\n")
	b.Git("add", "-A")
	b.Edit()
	edited := b.Files()
	s := b.mustShelve("reset", base)
	b.Equal("status", b.Status(), "")
	if d := cmp.Diff(clean, b.Files()); d != "" {
		t.Errorf("work tree (-want +got):\n%s", d)
	}
	b.Equal("staged", b.Git("show", s.Ref+"^2:a.txt"), "staged only")
	again := b.mustShelve("reset", base)
	b.Equal("ref when called again", again.Ref, s.Ref)
	b.Git("checkout", "-q", s.Ref)
	if d := cmp.Diff(edited, b.Files()); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
}

func TestShelveWhatGitWasLeftIn(t *testing.T) {
	t.Parallel()
	tests := map[string]func(b *testRepo){
		"a merge with conflicts": func(b *testRepo) {
			b.Git("branch", "other")
			b.Write("a.txt", "main\n")
			b.Git("commit", "-q", "-am", "main")
			b.Git("checkout", "-q", "other")
			b.Write("a.txt", "other\n")
			b.Git("commit", "-q", "-am", "other")
			b.Git("checkout", "-q", "main")
			_, _ = b.Try("merge", "other")
		},
		"a branch of its own": func(b *testRepo) {
			b.Git("checkout", "-q", "-b", "feature")
			b.Write("x", "x")
			b.Git("add", "-A")
			b.Git("commit", "-q", "-m", "x")
		},
		"a rebase": func(b *testRepo) {
			b.Git("checkout", "-q", "-b", "side")
			b.Write("a.txt", "side\n")
			b.Git("commit", "-q", "-am", "side")
			b.Git("checkout", "-q", "main")
			b.Write("a.txt", "main\n")
			b.Git("commit", "-q", "-am", "main")
			_, _ = b.Try("rebase", "side")
		},
		"an amended base": func(b *testRepo) {
			b.Write("x", "x")
			b.Git("add", "-A")
			b.Git("commit", "-q", "--amend", "-m", "rewritten")
		},
		"a file untracked and ignored": func(b *testRepo) {
			b.Git("rm", "-q", "--cached", "a.txt")
			b.Write(".gitignore", "a.txt\n")
			b.Git("add", "-A")
		},
		"a folder turned into a link": func(b *testRepo) {
			b.Remove("dir")
			b.Must(os.Symlink("/", b.Path("dir")))
		},
		"a file turned into a folder": func(b *testRepo) {
			b.Remove("a.txt")
			b.Write("a.txt/x", "x")
		},
		"no index": func(b *testRepo) {
			b.Write("x", "x")
			b.Remove(".git/index")
		},
		"a deleted file in the index only": func(b *testRepo) { b.Git("rm", "-q", "--cached", "a.txt") },
	}
	for name, leave := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			base := b.Head()
			clean := b.Files()
			leave(b)
			_, err := b.shelve("stash", base, func(in *ShelveInput) { in.Branch = "main" })
			b.Must(err)
			if d := cmp.Diff(clean, b.Files()); d != "" {
				t.Errorf("work tree (-want +got):\n%s", d)
			}
			b.Equal("status", b.Status(), "")
			b.Equal("branch", b.Tip("main"), base)
			b.Must(commits.Ready(t.Context(), b.repo))
			b.Git("fsck")
		})
	}
}

// A person amended the commit that the work began on (F-03): theirs stays, only the
// changes of agents are put away.
func TestShelveOnAnotherHistory(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.agents = false
	base := b.Head()
	b.Git("commit", "-q", "--amend", "-m", "rewritten")
	b.Edit()
	head := b.Head()
	s := b.mustShelve("stash", base)
	b.Equal("status", b.Status(), "")
	b.Equal("HEAD", b.Head(), head)
	b.Equal("told", s.Kept[0].Subject, "rewritten")
}

// Killed after the stash was stored, with the work tree cleaned in part.
func TestShelveAgainAfterACrash(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stash", "reset"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			base := b.Head()
			b.Write("one", "1")
			b.Git("add", "-A")
			b.Git("commit", "-q", "-m", "agent")
			agents := b.Head()
			b.Edit()
			edited := b.Files()
			index := b.Read(".git/index")
			first := b.mustShelve(how, base)
			crashed := func(left ...string) { // what a crash leaves behind
				b.Git("update-ref", "HEAD", agents)
				b.Must(os.WriteFile(b.Path(".git/index"), []byte(index), 0o644))
				for _, name := range left {
					_, text, _ := strings.Cut(edited[name], " ")
					b.Write(name, text)
				}
				b.repo = b.open(b.Dir)
			}
			for _, left := range [][]string{{}, {"a.txt"}, {"new dir/ö.txt", "one", "staged.txt"}} {
				crashed(left...)
				again := b.mustShelve(how, base)
				if d := cmp.Diff(first, again); d != "" {
					t.Errorf("left %v (-first +again):\n%s", left, d)
				}
				b.Equal("status", b.Status(), "")
				b.Equal("HEAD", b.Head(), base)
			}
			crashed("a.txt")
			b.Write("somebody", "wrote this since")
			again := b.mustShelve(how, base)
			if again.Stash+again.Ref == first.Stash+first.Ref {
				t.Error("what came after the crash is in no commit")
			}
			b.Equal("status", b.Status(), "")
		})
	}
}

func TestShelveTheSameAgain(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	b.Edit()
	first := b.mustShelve("stash", base)
	b.Git("stash", "apply", "-q", "--index")
	second, err := b.shelve("stash", base, func(in *ShelveInput) { in.ID = "job-2" })
	b.Must(err)
	b.Equal("same tree and message", second.Stash, first.Stash)
	b.Write("a.txt", "another\n")
	third, err := b.shelve("stash", base, func(in *ShelveInput) { in.ID = "job-3" })
	b.Must(err)
	if third.Stash == first.Stash || third.Stash == "" {
		t.Errorf("another tree: %+v", third)
	}
	b.Equal("stashes", b.Stashes(), "stash@{0}: ralph: failed x\nstash@{1}: ralph: failed x")
}

// Where something is in the way that no commit holds, nothing is lost and the
// message says where the rest is.
func TestShelveStopsRatherThanLose(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		leave      func(b *testRepo)
		again      func(b *testRepo)
	}{
		{"ignored file in a folder that was a file", "a.txt/x.o", func(b *testRepo) {
			b.Remove("a.txt")
			b.Write("a.txt/x.o", "only here")
			b.Write("a.txt/seen", "x")
		}, func(b *testRepo) { b.Remove("a.txt/x.o") }},
		{"ignored file that was a folder", "ob.o", func(b *testRepo) {
			b.Remove("ob.o")
			b.Write("ob.o", "only here")
		}, func(b *testRepo) { b.Remove("ob.o") }},
		{"repository that was a file", "a.txt/x", func(b *testRepo) {
			b.Remove("a.txt")
			b.Git("init", "-q", "a.txt")
			b.Git("-C", "a.txt", "commit", "-q", "--allow-empty", "-m", "x")
			b.Write("a.txt/x", "only here")
		}, func(b *testRepo) { b.Remove("a.txt") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.Write(".gitignore", "*.o\n")
			b.Write("ob.o/f", "f")
			b.Git("add", "-f", "ob.o")
			base := b.mustCommit("k0", nil).Hash
			tt.leave(b)
			s, err := b.shelve("stash", base, nil)
			b.Want(tt.file, "only here")
			if err == nil || !strings.Contains(err.Error(), s.Stash) || !strings.Contains(err.Error(), "in the way") {
				t.Fatalf("%+v, %v", s, err)
			}
			tt.again(b)
			b.mustShelve("stash", base)
			b.Equal("status", b.Status(), "")
		})
	}
}

// git goes on to see the files in a tracked folder that became a repository.
func TestShelveARepositoryMadeInAFolder(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	b.Remove("dir")
	b.Git("init", "-q", "dir")
	b.Git("-C", "dir", "commit", "-q", "--allow-empty", "-m", "x")
	b.Write("dir/b.txt", "changed")
	b.Write("dir/other", "new")
	s := b.mustShelve("stash", base)
	b.Want("dir/b.txt", "b\n")
	b.Want("dir/sub/c.txt", "c\n")
	b.Equal("in the stash", b.Git("show", s.Stash+":dir/b.txt", s.Stash+":dir/other"), "changednew")
}

func TestShelveKeepsNestedRepositories(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	b.Git("init", "-q", "nested")
	b.Write("nested/x", "x")
	b.Git("-C", "nested", "add", "x")
	b.Git("-C", "nested", "commit", "-q", "-m", "x")
	for _, name := range []string{"un born", "second"} { // git add gives up on these
		b.Git("init", "-q", name)
		b.Write(name+"/x", "x")
	}
	b.Write("y", "y")
	s := b.mustShelve("stash", base)
	b.Want("nested/x", "x")
	b.Want("un born/x", "x")
	b.Equal("status", b.Status(), "?? nested/\n?? second/\n?? \"un born/\"")
	b.Equal("in the stash", b.Git("show", s.Stash+":y"), "y")
}

// Whatever was edited: after a stash the tree is the base, and applying the
// stash brings exactly the edits back.
func TestShelveProperty(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.Write("ralph/specs/x.md", "spec")
	b.Write("run.sh", "#!/bin/sh\n")
	b.Must(os.Chmod(b.Path("run.sh"), 0o755))
	b.Must(os.Symlink("a.txt", b.Path("link")))
	base := b.mustCommit("k0", nil).Hash
	clean := b.Files()
	names := []string{"a.txt", "dir/b.txt", "dir/sub/c.txt", "dir", "run.sh", "link", "n e w", "ü/x", "ü", "dir/new/y"}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(0, 5).Draw(rt, "edits") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			b.randomEdit(rt, name, rapid.SampledFrom(names).Draw(rt, "other"))
		}
		spec := rapid.StringN(0, 5, 9).Draw(rt, "spec")
		b.Write("ralph/specs/x.md", spec)
		edited := b.Files()
		s, err := b.shelve("stash", base, func(in *ShelveInput) { in.ID = rapid.StringMatching("[a-z0-9]{12}").Draw(rt, "id") })
		if err != nil {
			rt.Fatal(err)
		}
		want := maps.Clone(clean)
		want["ralph/specs/x.md"] = edited["ralph/specs/x.md"]
		if d := cmp.Diff(want, b.Files()); d != "" {
			rt.Fatalf("after the stash (-want +got):\n%s", d)
		}
		if b.Head() != base || strings.Contains(strings.ReplaceAll(b.Status(), "M ralph/specs/x.md", ""), "M") {
			rt.Fatalf("HEAD %s, status %q", b.Head(), b.Status())
		}
		if s.Stash != "" {
			b.Git("stash", "apply", "-q", s.Stash)
		}
		if d := cmp.Diff(edited, b.Files()); d != "" {
			rt.Fatalf("after git stash apply (-want +got):\n%s", d)
		}
		b.Git("reset", "-q", "--hard", base)
	})
}

// randomEdit is one thing that an agent does to a file; it may fail, as theirs do.
func (b *testRepo) randomEdit(rt *rapid.T, name, other string) {
	path := b.Path(name)
	remove := func() { _ = os.RemoveAll(path) }
	switch rapid.IntRange(0, 6).Draw(rt, "edit") {
	case 0, 1:
		remove()
		if os.MkdirAll(b.Path(name+"/.."), 0o755) == nil {
			_ = os.WriteFile(path, []byte(rapid.StringN(0, 9, 20).Draw(rt, "text")), 0o644)
		}
	case 2:
		remove()
	case 3:
		_ = os.Rename(path, b.Path(other))
	case 4:
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(path, info.Mode().Perm()^0o111)
		}
	case 5:
		remove()
		_ = os.Symlink(rapid.SampledFrom([]string{"a.txt", "nowhere", "dir"}).Draw(rt, "target"), path)
	case 6:
		_, _ = b.Try("add", "-A", "--", name)
	}
}
