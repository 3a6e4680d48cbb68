package git

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func (b *testRepo) shelve(how, base string, change func(*ShelveInput)) (Shelved, error) {
	in := ShelveInput{How: how, Base: base, Message: "ralph: failed x", ID: "job-1"}
	if change != nil {
		change(&in)
	}
	if b.agents {
		in.Agents = b.allAgents(base)
	}
	return b.repo.Shelve(b.t.Context(), in)
}

func (b *testRepo) mustShelve(how, base string) Shelved {
	b.t.Helper()
	s, err := b.shelve(how, base, nil)
	b.must(err)
	return s
}

func (b *testRepo) stashes() string { return b.git("stash", "list", "--format=%gd: %gs") }

func (b *testRepo) edit() {
	b.write("a.txt", "changed\n")
	b.write("new dir/ö.txt", "new\n")
	b.write("staged.txt", "staged\n")
	b.git("add", "staged.txt")
	b.remove("dir/sub")
}

// D-072, D-075, D-120
func TestShelveStash(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write(".gitignore", "*.o\n")
	base := b.mustCommit("k0", nil).Hash
	b.write("mine.txt", "the user's")
	b.git("stash", "push", "-q", "-u", "-m", "mine")
	mine := b.git("rev-parse", "stash@{0}")
	clean := b.files()
	b.edit()
	b.write("ignored.o", "o")
	edited := b.files()
	s := b.mustShelve("stash", base)
	b.equal("status", b.status(), "")
	b.equal("HEAD", b.head(), base)
	b.equal("stashes", b.stashes(), "stash@{0}: ralph: failed x\nstash@{1}: On main: mine")
	b.equal("stash", b.git("rev-parse", "stash@{0}"), s.Stash)
	b.equal("the user's", b.git("rev-parse", "stash@{1}"), mine)
	b.equal("ref", s.Ref, "")
	clean["ignored.o"] = "---------- o"
	if d := cmp.Diff(clean, b.files()); d != "" {
		t.Errorf("work tree (-want +got):\n%s", d)
	}
	if stat(b.path("new dir")) != nil {
		t.Error("an empty folder is left")
	}
	b.equal("what it shows", b.git("stash", "show", "--name-only", "--include-untracked", "--no-renames", "-z"),
		"a.txt\x00dir/sub/c.txt\x00new dir/ö.txt\x00staged.txt\x00")
	b.git("stash", "apply", "-q", s.Stash)
	if d := cmp.Diff(edited, b.files()); d != "" {
		t.Errorf("applied (-want +got):\n%s", d)
	}
}

func TestShelveOfNothing(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stash", "reset"} {
		b := newBox(t)
		b.ownFiles()
		b.write("ralph/specs/x.md", "x")
		if s := b.mustShelve(how, b.head()); s.Stash+s.Ref != "" {
			t.Errorf("%s: %+v", how, s)
		}
		b.equal("stashes", b.stashes(), "")
		b.equal("refs", b.git("for-each-ref", "refs/ralph/"), "")
	}
}

func TestShelveKeep(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.edit()
	before := b.status()
	if s := b.mustShelve("keep", b.head()); s.Stash+s.Ref != "" {
		t.Errorf("%+v", s)
	}
	b.equal("status", b.status(), before)
	if _, err := b.shelve("drop", b.head(), nil); err == nil {
		t.Error("an unknown way was taken")
	}
}

// The whole folder ralph/ and the logs survive, whatever git knows of them.
func TestShelveLeavesRalphFolder(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testRepo){
		"untracked": func(*testRepo) {},
		"tracked":   func(b *testRepo) { b.git("add", "-A", "-f"); b.git("commit", "-q", "-m", "own") },
		"staged":    func(b *testRepo) { b.git("add", "-A", "-f") },
	} {
		for _, how := range []string{"stash", "reset"} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				b := newBox(t)
				own := b.ownFiles()
				own["ralph/specs/x.md"], own["ralph/config.yaml"] = "x", "c"
				b.write("ralph/specs/x.md", "x")
				b.write("ralph/config.yaml", "c")
				prepare(b)
				base := b.head()
				for file := range own {
					own[file] += "more"
					b.write(file, own[file])
				}
				b.remove("ralph/config.yaml")
				delete(own, "ralph/config.yaml")
				inRalph := b.git("status", "--porcelain", "-uall", "--", "ralph", "build")
				b.edit()
				b.mustShelve(how, base)
				for file, text := range own {
					b.want(file, text)
				}
				b.equal("status", b.status(), inRalph)
				b.want("a.txt", "a\n")
				if how == "stash" {
					b.equal("in the stash", b.git("diff", "--name-only", base, "stash@{0}", "--", "ralph", "build"), "")
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
	b.write("ralph/inbox.jsonl", "one\n")
	b.write("ralph/specs/old.md", "old\n")
	b.git("add", "-f", "-A")
	b.git("commit", "-q", "-m", "base")
	base := b.head()
	b.write("ralph/config.yaml", "mine\n")
	b.write("ralph/inbox.jsonl", "two\n")
	b.write("ralph/plan.jsonl", "plan\n")
	b.write("ralph/specs/new.md", "new\n")
	b.write("work.txt", "work\n")
	b.git("add", "-f", "ralph/inbox.jsonl", "ralph/plan.jsonl", "ralph/specs", "work.txt")
	b.git("commit", "-q", "-m", "the agent's own")
	b.git("add", "-f", "ralph/config.yaml")
	b.write("ralph/inbox.jsonl", "three\n")
	s := b.mustShelve("stash", base)
	b.equal("HEAD", b.head(), base)
	b.equal("staged", b.git("diff", "--cached", "--name-only"), "ralph/config.yaml")
	b.want("ralph/inbox.jsonl", "three\n")
	b.want("ralph/plan.jsonl", "plan\n")
	b.want("ralph/specs/new.md", "new\n")
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
			base := b.head()
			b.write("one", "1")
			b.git("add", "-A")
			b.git("commit", "-q", "-m", "agent")
			agents := b.head()
			b.edit()
			edited := b.files()
			s := b.mustShelve(how, base)
			b.equal("HEAD", b.head(), base)
			b.equal("branch", b.git("symbolic-ref", "HEAD"), "refs/heads/main")
			b.equal("status", b.status(), "")
			b.equal("ref", s.Ref, "refs/ralph/recovery/job-1")
			if how == "stash" {
				b.equal("kept", b.git("rev-parse", s.Ref), agents)
				b.git("stash", "apply", "-q", s.Stash)
			} else {
				b.equal("kept below", b.git("rev-parse", s.Ref+"^"), agents)
				b.equal("stashes", b.stashes(), "")
				b.git("checkout", "-q", s.Ref)
			}
			if d := cmp.Diff(edited, b.files()); d != "" {
				t.Errorf("brought back (-want +got):\n%s", d)
			}
		})
	}
}

func TestShelveReset(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	clean := b.files()
	b.write("a.txt", "staged only\n")
	b.git("add", "-A")
	b.edit()
	edited := b.files()
	s := b.mustShelve("reset", base)
	b.equal("status", b.status(), "")
	if d := cmp.Diff(clean, b.files()); d != "" {
		t.Errorf("work tree (-want +got):\n%s", d)
	}
	b.equal("staged", b.git("show", s.Ref+"^2:a.txt"), "staged only")
	again := b.mustShelve("reset", base)
	b.equal("ref when called again", again.Ref, s.Ref)
	b.git("checkout", "-q", s.Ref)
	if d := cmp.Diff(edited, b.files()); d != "" {
		t.Errorf("kept (-want +got):\n%s", d)
	}
}

func TestShelveWhatGitWasLeftIn(t *testing.T) {
	t.Parallel()
	tests := map[string]func(b *testRepo){
		"a merge with conflicts": func(b *testRepo) {
			b.git("branch", "other")
			b.write("a.txt", "main\n")
			b.git("commit", "-q", "-am", "main")
			b.git("checkout", "-q", "other")
			b.write("a.txt", "other\n")
			b.git("commit", "-q", "-am", "other")
			b.git("checkout", "-q", "main")
			_, _ = b.try("merge", "other")
		},
		"a branch of its own": func(b *testRepo) {
			b.git("checkout", "-q", "-b", "feature")
			b.write("x", "x")
			b.git("add", "-A")
			b.git("commit", "-q", "-m", "x")
		},
		"a rebase": func(b *testRepo) {
			b.git("checkout", "-q", "-b", "side")
			b.write("a.txt", "side\n")
			b.git("commit", "-q", "-am", "side")
			b.git("checkout", "-q", "main")
			b.write("a.txt", "main\n")
			b.git("commit", "-q", "-am", "main")
			_, _ = b.try("rebase", "side")
		},
		"an amended base": func(b *testRepo) {
			b.write("x", "x")
			b.git("add", "-A")
			b.git("commit", "-q", "--amend", "-m", "rewritten")
		},
		"a file untracked and ignored": func(b *testRepo) {
			b.git("rm", "-q", "--cached", "a.txt")
			b.write(".gitignore", "a.txt\n")
			b.git("add", "-A")
		},
		"a folder turned into a link": func(b *testRepo) {
			b.remove("dir")
			b.must(os.Symlink("/", b.path("dir")))
		},
		"a file turned into a folder": func(b *testRepo) {
			b.remove("a.txt")
			b.write("a.txt/x", "x")
		},
		"no index": func(b *testRepo) {
			b.write("x", "x")
			b.remove(".git/index")
		},
		"a deleted file in the index only": func(b *testRepo) { b.git("rm", "-q", "--cached", "a.txt") },
	}
	for name, leave := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			base := b.head()
			clean := b.files()
			leave(b)
			_, err := b.shelve("stash", base, func(in *ShelveInput) { in.Branch = "main" })
			b.must(err)
			if d := cmp.Diff(clean, b.files()); d != "" {
				t.Errorf("work tree (-want +got):\n%s", d)
			}
			b.equal("status", b.status(), "")
			b.equal("branch", b.git("rev-parse", "main"), base)
			b.must(b.repo.Ready(t.Context()))
			b.git("fsck")
		})
	}
}

// A person amended the commit that the work began on (F-03): theirs stays, only the
// changes of agents are put away.
func TestShelveOnAnotherHistory(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.agents = false
	base := b.head()
	b.git("commit", "-q", "--amend", "-m", "rewritten")
	b.edit()
	head := b.head()
	s := b.mustShelve("stash", base)
	b.equal("status", b.status(), "")
	b.equal("HEAD", b.head(), head)
	b.equal("told", s.Kept[0].Subject, "rewritten")
}

// Killed after the stash was stored, with the work tree cleaned in part.
func TestShelveAgainAfterACrash(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"stash", "reset"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			base := b.head()
			b.write("one", "1")
			b.git("add", "-A")
			b.git("commit", "-q", "-m", "agent")
			agents := b.head()
			b.edit()
			edited := b.files()
			index := b.read(".git/index")
			first := b.mustShelve(how, base)
			crashed := func(left ...string) { // what a crash leaves behind
				b.git("update-ref", "HEAD", agents)
				b.must(os.WriteFile(b.path(".git/index"), []byte(index), 0o644))
				for _, name := range left {
					_, text, _ := strings.Cut(edited[name], " ")
					b.write(name, text)
				}
				b.repo = b.open(b.dir)
			}
			for _, left := range [][]string{{}, {"a.txt"}, {"new dir/ö.txt", "one", "staged.txt"}} {
				crashed(left...)
				again := b.mustShelve(how, base)
				if d := cmp.Diff(first, again); d != "" {
					t.Errorf("left %v (-first +again):\n%s", left, d)
				}
				b.equal("status", b.status(), "")
				b.equal("HEAD", b.head(), base)
			}
			crashed("a.txt")
			b.write("somebody", "wrote this since")
			again := b.mustShelve(how, base)
			if again.Stash+again.Ref == first.Stash+first.Ref {
				t.Error("what came after the crash is in no commit")
			}
			b.equal("status", b.status(), "")
		})
	}
}

func TestShelveTheSameAgain(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	b.edit()
	first := b.mustShelve("stash", base)
	b.git("stash", "apply", "-q", "--index")
	second, err := b.shelve("stash", base, func(in *ShelveInput) { in.ID = "job-2" })
	b.must(err)
	b.equal("same tree and message", second.Stash, first.Stash)
	b.write("a.txt", "another\n")
	third, err := b.shelve("stash", base, func(in *ShelveInput) { in.ID = "job-3" })
	b.must(err)
	if third.Stash == first.Stash || third.Stash == "" {
		t.Errorf("another tree: %+v", third)
	}
	b.equal("stashes", b.stashes(), "stash@{0}: ralph: failed x\nstash@{1}: ralph: failed x")
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
			b.remove("a.txt")
			b.write("a.txt/x.o", "only here")
			b.write("a.txt/seen", "x")
		}, func(b *testRepo) { b.remove("a.txt/x.o") }},
		{"ignored file that was a folder", "ob.o", func(b *testRepo) {
			b.remove("ob.o")
			b.write("ob.o", "only here")
		}, func(b *testRepo) { b.remove("ob.o") }},
		{"repository that was a file", "a.txt/x", func(b *testRepo) {
			b.remove("a.txt")
			b.git("init", "-q", "a.txt")
			b.git("-C", "a.txt", "commit", "-q", "--allow-empty", "-m", "x")
			b.write("a.txt/x", "only here")
		}, func(b *testRepo) { b.remove("a.txt") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.write(".gitignore", "*.o\n")
			b.write("ob.o/f", "f")
			b.git("add", "-f", "ob.o")
			base := b.mustCommit("k0", nil).Hash
			tt.leave(b)
			s, err := b.shelve("stash", base, nil)
			b.want(tt.file, "only here")
			if err == nil || !strings.Contains(err.Error(), s.Stash) || !strings.Contains(err.Error(), "in the way") {
				t.Fatalf("%+v, %v", s, err)
			}
			tt.again(b)
			b.mustShelve("stash", base)
			b.equal("status", b.status(), "")
		})
	}
}

// git goes on to see the files in a tracked folder that became a repository.
func TestShelveARepositoryMadeInAFolder(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	b.remove("dir")
	b.git("init", "-q", "dir")
	b.git("-C", "dir", "commit", "-q", "--allow-empty", "-m", "x")
	b.write("dir/b.txt", "changed")
	b.write("dir/other", "new")
	s := b.mustShelve("stash", base)
	b.want("dir/b.txt", "b\n")
	b.want("dir/sub/c.txt", "c\n")
	b.equal("in the stash", b.git("show", s.Stash+":dir/b.txt", s.Stash+":dir/other"), "changednew")
}

func TestShelveKeepsNestedRepositories(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.head()
	b.git("init", "-q", "nested")
	b.write("nested/x", "x")
	b.git("-C", "nested", "add", "x")
	b.git("-C", "nested", "commit", "-q", "-m", "x")
	for _, name := range []string{"un born", "second"} { // git add gives up on these
		b.git("init", "-q", name)
		b.write(name+"/x", "x")
	}
	b.write("y", "y")
	s := b.mustShelve("stash", base)
	b.want("nested/x", "x")
	b.want("un born/x", "x")
	b.equal("status", b.status(), "?? nested/\n?? second/\n?? \"un born/\"")
	b.equal("in the stash", b.git("show", s.Stash+":y"), "y")
}

// Whatever was edited: after a stash the tree is the base, and applying the
// stash brings exactly the edits back.
func TestShelveProperty(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.write("ralph/specs/x.md", "spec")
	b.write("run.sh", "#!/bin/sh\n")
	b.must(os.Chmod(b.path("run.sh"), 0o755))
	b.must(os.Symlink("a.txt", b.path("link")))
	base := b.mustCommit("k0", nil).Hash
	clean := b.files()
	names := []string{"a.txt", "dir/b.txt", "dir/sub/c.txt", "dir", "run.sh", "link", "n e w", "ü/x", "ü", "dir/new/y"}
	rapid.Check(t, func(rt *rapid.T) {
		for range rapid.IntRange(0, 5).Draw(rt, "edits") {
			name := rapid.SampledFrom(names).Draw(rt, "name")
			b.randomEdit(rt, name, rapid.SampledFrom(names).Draw(rt, "other"))
		}
		spec := rapid.StringN(0, 5, 9).Draw(rt, "spec")
		b.write("ralph/specs/x.md", spec)
		edited := b.files()
		s, err := b.shelve("stash", base, func(in *ShelveInput) { in.ID = rapid.StringMatching("[a-z0-9]{12}").Draw(rt, "id") })
		if err != nil {
			rt.Fatal(err)
		}
		want := maps.Clone(clean)
		want["ralph/specs/x.md"] = edited["ralph/specs/x.md"]
		if d := cmp.Diff(want, b.files()); d != "" {
			rt.Fatalf("after the stash (-want +got):\n%s", d)
		}
		if b.head() != base || strings.Contains(strings.ReplaceAll(b.status(), "M ralph/specs/x.md", ""), "M") {
			rt.Fatalf("HEAD %s, status %q", b.head(), b.status())
		}
		if s.Stash != "" {
			b.git("stash", "apply", "-q", s.Stash)
		}
		if d := cmp.Diff(edited, b.files()); d != "" {
			rt.Fatalf("after git stash apply (-want +got):\n%s", d)
		}
		b.git("reset", "-q", "--hard", base)
	})
}

// randomEdit is one thing that an agent does to a file; it may fail, as theirs do.
func (b *testRepo) randomEdit(rt *rapid.T, name, other string) {
	path := b.path(name)
	remove := func() { _ = os.RemoveAll(path) }
	switch rapid.IntRange(0, 6).Draw(rt, "edit") {
	case 0, 1:
		remove()
		if os.MkdirAll(b.path(name+"/.."), 0o755) == nil {
			_ = os.WriteFile(path, []byte(rapid.StringN(0, 9, 20).Draw(rt, "text")), 0o644)
		}
	case 2:
		remove()
	case 3:
		_ = os.Rename(path, b.path(other))
	case 4:
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(path, info.Mode().Perm()^0o111)
		}
	case 5:
		remove()
		_ = os.Symlink(rapid.SampledFrom([]string{"a.txt", "nowhere", "dir"}).Draw(rt, "target"), path)
	case 6:
		_, _ = b.try("add", "-A", "--", name)
	}
}
