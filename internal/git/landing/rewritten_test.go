package landing

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git/refs"
)

// rewrittenBox has work of a task landed on main, on top of a person's commit, and more
// work merged that has not landed.
func rewrittenBox(t *testing.T) (b *testRepo, landed string) {
	t.Helper()
	b = newBox(t)
	b.Write("p.txt", "one\n")
	b.Write("secret.txt", "a key\n")
	b.add("person")
	b.Must(refs.MakeBranch(t.Context(), b.repo, integration, b.Head()))
	task := b.branch("ralph/t-1", integration, func(w *testRepo) { w.work("t-1") })
	b.merge(task)
	landed = b.Tip(integration)
	b.Git("merge", "-q", "--ff-only", landed)
	b.merge(b.branch("ralph/t-2", integration, func(w *testRepo) { w.work("t-2") }))
	return b, landed
}

// add commits everything as a person does.
func (b *testRepo) add(message string) {
	b.T.Helper()
	b.Git("add", "-A")
	b.Git("commit", "-q", "-m", message)
}

// work is the commit of a task.
func (b *testRepo) work(task string) {
	b.T.Helper()
	b.Write(task+".txt", "x\n")
	b.add("ralph: " + task + "\n\nRalph-Receipt: " + task)
}

// mergeBase merges what main has now, as landing does when main is elsewhere.
func (b *testRepo) mergeBase(landed string) MergeResult {
	b.T.Helper()
	in := b.input(b.Tip("main"))
	in.Sides[0].Was = landed
	m, err := Merge(b.T.Context(), b.repo, in)
	b.Must(err)
	return m
}

// R-C1: after `git pull --rebase`, or an amend, the commits of main are other ones, and
// the old ones are merged too: what both have changed alike is no conflict. It was a gate
// that no answer could settle.
func TestMergeOfAMainThatWasRewritten(t *testing.T) {
	t.Parallel()
	for name, rewrite := range map[string]func(b *testRepo){
		"amended below": func(b *testRepo) {
			b.Git("reset", "-q", "--hard", "HEAD~2")
			b.Write("p.txt", "one, mended\n")
			b.Git("commit", "-q", "-a", "--amend", "-m", "person, amended")
			b.Git("cherry-pick", "ralph/t-1~1")
		},
		"rebased": func(b *testRepo) {
			b.Write("p.txt", "one\ntwo\n")
			b.add("person 2")
			b.Git("switch", "-q", "-c", "theirs", "main~4")
			b.Write("c.txt", "colleague\n")
			b.add("colleague")
			b.Git("switch", "-q", "main")
			b.Git("rebase", "-q", "theirs")
		},
		"amended, without a file": func(b *testRepo) {
			b.Git("reset", "-q", "--hard", "HEAD~2")
			b.Git("rm", "-q", "secret.txt")
			b.Git("commit", "-q", "-a", "--amend", "-m", "person, amended")
			b.Git("cherry-pick", "ralph/t-1~1")
		},
		"taken back": func(b *testRepo) { b.Git("reset", "-q", "--hard", "HEAD~1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, landed := rewrittenBox(t)
			if name == "taken back" {
				b.Write("secret.txt", "and more\n")
				b.add("person 2")
				b.mergeBase(landed)
				landed = b.Head()
			}
			rewrite(b)
			before := b.All()
			m := b.mergeBase(landed)
			if m.Conflict != nil {
				t.Fatalf("a conflict: %+v", m.Conflict.Files)
			}
			for file, want := range map[string]string{"p.txt": b.Read("p.txt"), "secret.txt": b.Read("secret.txt"), "t-1.txt": "x\n", "t-2.txt": "x\n"} {
				got, err := b.Try("show", m.Commit+":"+file)
				if gone := strings.HasPrefix(want, "<"); err != nil != gone || !gone && strings.TrimSpace(got) != strings.TrimSpace(want) {
					t.Errorf("%s is %q, want %q (%v)", file, got, want, err)
				}
			}
			if parents := strings.Fields(b.Git("log", "-1", "--format=%P", m.Commit)); len(parents) != 2 || parents[1] != b.Head() {
				t.Errorf("parents %v: main is to be one of them", parents)
			}
			b.Untouched(before)
			b.Fsck()
		})
	}
}

// Whoever takes ralph's commits off main and changes what they changed has to decide: no
// work goes away without a word.
func TestMergeOfAMainWithoutWhatLanded(t *testing.T) {
	t.Parallel()
	b, landed := rewrittenBox(t)
	b.Git("reset", "-q", "--hard", "HEAD~2")
	b.Write("t-1.txt", "mine\n")
	b.add("person, instead")
	if m := b.mergeBase(landed); m.Conflict == nil {
		t.Errorf("merged as %s: %s", m.Commit, b.Git("log", "-1", "-p", m.Commit))
	}
}
