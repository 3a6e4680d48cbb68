package landing

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph/internal/git"
)

// What is merged without a process is what git makes of it, whatever both sides did: changed,
// added, removed and moved files and folders, also over each other.
func TestTrivialMergesAreGits(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	var blobs []string
	for i := range 12 { // in groups that git takes for one another's next version
		b.Write("blob", strings.Repeat(fmt.Sprintf("line of the group %d\n", i/3), 20)+strings.Repeat(fmt.Sprintf("of %d alone\n", i), i%3))
		blobs = append(blobs, b.Git("hash-object", "-w", "blob"))
	}
	trivial, others := 0, 0
	same := func(tb interface {
		Fatal(args ...any)
		Fatalf(format string, args ...any)
	}, base, ours, theirs files,
	) {
		trees := [3]string{b.treeOf(base), b.treeOf(ours), b.treeOf(theirs)}
		tree, ok, err := oneSided(t.Context(), b.repo, trees[0], trees[1], trees[2], true)
		if err != nil {
			tb.Fatal(err)
		}
		if !ok {
			others++
			return
		}
		trivial++
		root := b.commitOf(trees[0])
		m, err := mergeTree(t.Context(), b.repo, b.commitOf(trees[1], root), b.commitOf(trees[2], root))
		if err != nil {
			tb.Fatal(err)
		}
		if !m.clean || m.tree != tree {
			tb.Fatalf("base %v\nours %v\ntheirs %v\nwithout a process %s\ngit, clean %v, %s %v", base, ours, theirs, tree, m.clean, m.tree, m.said)
		}
	}
	// One of each kind, so that neither is missing from a few draws.
	base := files{"x": blobs[0], "y": blobs[3]}
	same(t, base, files{"x": blobs[6], "y": blobs[3]}, files{"x": blobs[0], "y": blobs[9]})
	same(t, base, files{"x": blobs[6], "y": blobs[3]}, files{"x": blobs[9], "y": blobs[3]})
	if trivial != 1 || others != 1 {
		t.Errorf("%d trivial and %d other merges, want 1 and 1", trivial, others)
	}
	rapid.Check(t, func(rt *rapid.T) {
		base := files{}
		for range rapid.IntRange(2, 9).Draw(rt, "files") {
			base.put(drawPath(rt), rapid.SampledFrom(blobs).Draw(rt, "blob"))
		}
		ours, theirs := base.changed(rt, blobs), base.changed(rt, blobs)
		if len(ours) == 0 || len(theirs) == 0 {
			return
		}
		same(rt, base, ours, theirs)
	})
}

// files are the files of a tree: a blob for each path.
type files map[string]string

func drawPath(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"", "a/", "b/", "a/c/", "d/e/"}).Draw(rt, "dir") + rapid.SampledFrom([]string{"x", "y", "z", "c"}).Draw(rt, "name")
}

// put adds a file, if nothing stands where it or its folders would be.
func (f files) put(at, blob string) {
	for p := range f {
		if strings.HasPrefix(p, at+"/") || strings.HasPrefix(at, p+"/") {
			return
		}
	}
	f[at] = blob
}

func (f files) changed(rt *rapid.T, blobs []string) files {
	out := maps.Clone(f)
	for range rapid.IntRange(1, 4).Draw(rt, "changes") {
		have := slices.Sorted(maps.Keys(out))
		if len(have) == 0 {
			return out
		}
		at := rapid.SampledFrom(have).Draw(rt, "file")
		switch rapid.SampledFrom([]string{"change", "add", "remove", "move", "move a folder"}).Draw(rt, "how") {
		case "change":
			out[at] = rapid.SampledFrom(blobs).Draw(rt, "blob")
		case "add":
			out.put(drawPath(rt), rapid.SampledFrom(blobs).Draw(rt, "blob"))
		case "remove":
			delete(out, at)
		case "move":
			blob := out[at]
			delete(out, at)
			out.put(drawPath(rt), blob)
		case "move a folder":
			from, to := at[:strings.LastIndexByte(at, '/')+1], rapid.SampledFrom([]string{"", "b/", "f/", "a/c/"}).Draw(rt, "to")
			for _, p := range have {
				if name, within := strings.CutPrefix(p, from); within {
					blob := out[p]
					delete(out, p)
					out.put(to+name, blob)
				}
			}
		}
	}
	return out
}

// treeOf writes the tree of files.
func (b *testRepo) treeOf(f files) string {
	b.T.Helper()
	members, below := map[string]git.TreeEntry{}, map[string]files{}
	for p, blob := range f {
		if dir, name, nested := strings.Cut(p, "/"); nested {
			if below[dir] == nil {
				below[dir] = files{}
			}
			below[dir][name] = blob
		} else {
			members[p] = git.TreeEntry{Mode: "100644", ID: blob}
		}
	}
	for dir, inside := range below {
		members[dir] = git.TreeEntry{Mode: git.ModeDir, ID: b.treeOf(inside)}
	}
	tree, err := b.repo.MakeTree(b.T.Context(), members)
	b.Must(err)
	return tree
}

func (b *testRepo) commitOf(tree string, parents ...string) string {
	b.T.Helper()
	commit, err := b.repo.CommitTreeSigned(b.T.Context(), tree, "some work\n", parents...)
	b.Must(err)
	return commit
}

// What looks one-sided and is not, since git sees things move, is left to git.
func TestMovesAreNotTrivial(t *testing.T) {
	t.Parallel()
	b := mergeBox(t)
	b.Write("blob", strings.Repeat("a line of the file\n", 20))
	blob := b.Git("hash-object", "-w", "blob")
	of := func(names ...string) files {
		f := files{}
		for _, name := range names {
			f[name] = blob
		}
		return f
	}
	for _, tt := range []struct {
		name               string
		base, ours, theirs files
	}{
		{"the top moves, a file is added there", of("x", "y"), of("f/x", "f/y"), of("x", "y", "z")},
		{"a folder moves, a file is added there", of("a/x", "a/y", "k"), of("b/x", "b/y", "k"), of("a/x", "a/y", "a/z", "k")},
		{"a file moves to two places", of("a/x", "k"), of("a/y", "k"), of("a/z", "k")},
	} {
		trees := [3]string{b.treeOf(tt.base), b.treeOf(tt.ours), b.treeOf(tt.theirs)}
		if tree, ok, err := oneSided(t.Context(), b.repo, trees[0], trees[1], trees[2], true); err != nil || ok {
			root := b.commitOf(trees[0])
			m, _ := mergeTree(t.Context(), b.repo, b.commitOf(trees[1], root), b.commitOf(trees[2], root))
			t.Errorf("%s: it is taken for trivial (%v), %v; git makes the same of it: %v", tt.name, ok, err, m.clean && m.tree == tree)
		}
	}
}
