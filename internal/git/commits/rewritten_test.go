package commits

import (
	"errors"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// R-H1, D-101: of a commit that a hook changed before ralph was killed the next start takes
// back what no check has seen, and nothing else.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	const key = "Ralph-Receipt: r1"
	for _, tt := range []struct {
		name string
		// made makes the commit on top of base, and says what is to be in it
		made  func(b *testRepo) (checked, on string, left []ralph.LeftFile)
		files string // that are taken back; "" for nothing
		merge bool
	}{
		{name: "as it was checked", made: func(b *testRepo) (string, string, []ralph.LeftFile) {
			b.Write("a.txt", "work\n")
			b.Git("add", "-A")
			tree := b.Git("write-tree")
			b.Git("commit", "-q", "-m", key)
			return tree, "", nil
		}},
		{name: "a hook changed it", files: "a.txt", made: func(b *testRepo) (string, string, []ralph.LeftFile) { return hookChanged(b, "a.txt", key), "", nil }},
		{name: "of another receipt", made: func(b *testRepo) (string, string, []ralph.LeftFile) {
			return hookChanged(b, "a.txt", "Ralph-Receipt: r2"), "", nil
		}},
		{name: "a file that it leaves out", made: func(b *testRepo) (string, string, []ralph.LeftFile) {
			return hookChanged(b, "a.txt", key), "", []ralph.LeftFile{{Path: "a.txt"}}
		}},
		{name: "a file of ralph's own", made: func(b *testRepo) (string, string, []ralph.LeftFile) {
			return hookChanged(b, "ralph/plan.jsonl", key), "", nil
		}},
		{name: "somebody amended it", made: func(b *testRepo) (string, string, []ralph.LeftFile) {
			tree := hookChanged(b, "a.txt", key)
			b.Git("-c", "user.name=Pat", "commit", "-q", "--amend", "--no-edit", "--author=Pat <p@example.org>", "--date=2030-01-01T00:00:00Z")
			return tree, "", nil
		}},
		{name: "somebody committed before it", made: func(b *testRepo) (string, string, []ralph.LeftFile) {
			on := b.Head()
			b.Write("a.txt", "work\n")
			b.Git("add", "-A")
			tree := b.Git("write-tree")
			b.Git("reset", "-q")
			b.Write("theirs.txt", "theirs\n")
			b.Git("add", "theirs.txt")
			b.Git("commit", "-q", "-m", "theirs")
			b.Git("add", "-A")
			b.Git("commit", "-q", "-m", key)
			return tree, on, nil
		}},
		{name: "a merge", files: "a.txt", merge: true, made: func(b *testRepo) (string, string, []ralph.LeftFile) {
			b.Git("switch", "-q", "-c", "side")
			b.Git("commit", "-q", "--allow-empty", "-m", "side")
			b.Git("switch", "-q", "-")
			b.Git("commit", "-q", "--allow-empty", "-m", "main")
			b.Git("merge", "-q", "--no-commit", "side")
			return hookChanged(b, "a.txt", key), "", nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			base := b.Head()
			checked, on, left := tt.made(b)
			made, parent := b.Head(), b.Git("rev-parse", "HEAD^")
			in := Input{Base: base, Message: key, Trailer: "Ralph-Receipt", Key: "r1", Checked: checked, On: on, Left: left}
			err := TakeBack(t.Context(), b.repo, in)
			if tt.files == "" {
				b.Must(err)
				b.Equal("HEAD", b.Head(), made)
				return
			}
			if e, ok := errors.AsType[*RewrittenError](err); !ok || strings.Join(e.Files, " ") != tt.files {
				t.Fatalf("%v", err)
			}
			b.Equal("HEAD", b.Head(), parent)
			b.Want("a.txt", "of the hook\n")
			if merging := !strings.HasPrefix(b.Read(".git/MERGE_HEAD"), "<"); merging != tt.merge {
				t.Errorf("a merge is under way: %v", merging)
			}
		})
	}
}

// hookChanged makes a commit with work in two files, of which a hook has changed one, and says
// which tree was to be committed.
func hookChanged(b *testRepo, file, message string) string {
	b.Write("b.txt", "work\n")
	b.Write(file, "work\n")
	b.Git("add", "-f", "-A")
	tree := b.Git("write-tree")
	b.Write(file, "of the hook\n")
	b.Git("add", "-f", "-A")
	b.Git("commit", "-q", "-m", message)
	return tree
}
