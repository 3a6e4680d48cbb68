package landing

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// names that the landing of landBox changes, in the order in which git does it:
// what goes, then what comes.
func landNames() []string {
	return []string{"file", "gone.txt", "turns/into", "a.txt", "deep/er/new.txt", "dir/b.txt", "dir/new ü.txt", "file/x", "link", "turns"}
}

// A kill at any point is mended by landing again: files partly new, a file only
// begun or gone, the index new, the branch new, locks left over.
func TestLandAfterAKill(t *testing.T) {
	t.Parallel()
	indexTo := func(b *testRepo, commit string) { b.Git("read-tree", commit) }
	files := func(n int) func(*testRepo, LandInput) {
		return func(b *testRepo, in LandInput) {
			for _, name := range landNames()[:n] {
				b.Bring(in.To, name)
			}
		}
	}
	mark := func(b *testRepo, in LandInput) {
		b.Write(".git/"+landIndex, "half")
		b.Write(".git/"+landIndex+".lock", "half")
		b.Write(".git/"+landMarker, markerHead+in.From+" "+in.To+"\n")
		b.Must(os.Link(b.Path(".git/"+landMarker), b.Path(".git/index.lock")))
	}
	then := func(steps ...func(*testRepo, LandInput)) func(*testRepo, LandInput) {
		return func(b *testRepo, in LandInput) {
			for _, s := range steps {
				s(b, in)
			}
		}
	}
	all := files(len(landNames()))
	index := func(b *testRepo, in LandInput) { indexTo(b, in.To) }
	ref := func(b *testRepo, in LandInput) { b.Git("update-ref", "refs/heads/main", in.To) }
	cases := map[string]func(*testRepo, LandInput){
		"lock taken":                     mark,
		"files new":                      all,
		"files new, locked":              then(all, mark),
		"files and index new":            then(all, index),
		"files and branch new":           then(all, ref),
		"files and branch new, locked":   then(all, ref, mark),
		"all new, locked":                then(all, index, ref, mark),
		"index new alone":                index,
		"a file begun":                   then(files(5), mark, func(b *testRepo, _ LandInput) { b.Write("a.txt", "lan") }),
		"a file emptied":                 then(files(5), mark, func(b *testRepo, _ LandInput) { b.Write("deep/er/new.txt", "") }),
		"a file gone, not written again": then(files(3), mark, func(b *testRepo, _ LandInput) { b.Remove("a.txt") }),
		"a folder without its file":      then(files(3), mark, func(b *testRepo, _ LandInput) { b.Must(os.MkdirAll(b.Path("file"), 0o755)) }),
		"an older landing, locked":       func(b *testRepo, in LandInput) { b.Write(".git/index.lock", markerHead+in.To+" "+in.From+"\n") },
	}
	for n := range landNames() {
		cases[fmt.Sprintf("%d files new", n+1)] = files(n + 1)
	}
	for name, prepare := range ralphtest.Named(4, cases) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, in := landBox(t)
			b.Write(".git/info/exclude", "ralph/\nbuild/\n")
			prepare(b, in)
			out := b.land(in)
			if out.How != LandedForward && (out.How != LandedAlready || !strings.HasPrefix(name, "all new")) {
				t.Fatalf("%+v", out)
			}
			b.landed(in)
			b.Fsck()
		})
	}
}

// After a kill the person's own change is still theirs.
func TestLandAfterAKillAndAnEdit(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	b.Write(".git/info/exclude", "ralph/\nbuild/\n")
	for _, name := range landNames()[:6] {
		b.Bring(in.To, name)
	}
	b.Write("a.txt", "landed\nand mine\n")
	b.Write("deep/er/new.txt", "")
	b.Write(".git/index.lock", markerHead+in.From+" "+in.To+"\n")
	before := b.Files()
	if out := b.land(in); len(out.Dirty) != 1 || out.Dirty[0] != "a.txt" {
		t.Errorf("%+v", out)
	}
	if !maps.Equal(before, b.Files()) {
		t.Error("files changed")
	}
	b.Write("a.txt", "a\n")
	if out := b.land(in); out.How != LandedForward {
		t.Errorf("%+v", out)
	}
	b.landed(in)
	// Once it landed, taking it back is the person's own affair.
	b.Git("checkout", "-q", in.From, "--", "a.txt")
	if out := b.land(in); out.How != LandedAlready {
		t.Errorf("%+v", out)
	}
	b.Want("a.txt", "a\n")
}

// The real thing: git is killed while it writes files, again and again.
func TestLandKilledForReal(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	b.Write(".git/info/exclude", "ralph/\nbuild/\n")
	in.To = b.branch("ralph/many", in.To, func(w *testRepo) {
		for i := range 300 {
			w.Write(fmt.Sprintf("many/%d/%d.txt", i%10, i), strings.Repeat(fmt.Sprintln(i), 500))
		}
	})
	for _, after := range []time.Duration{1, 2, 4, 6, 8, 10, 12, 15, 20, 30} {
		cmd := proc.Command{
			Args: []string{"sh", "-c", fmt.Sprintf("git read-tree -m -u %s %s & p=$!; sleep %.3f; kill -9 $p 2>/dev/null; wait; true", in.From, in.To, float64(after)/1000)},
			Dir:  b.Dir, Env: append(b.Env, "GIT_INDEX_FILE="+b.Path(".git/"+landIndex)),
		}
		b.Must(os.WriteFile(b.Path(".git/index.lock"), []byte(markerHead+in.From+" "+in.To+"\n"), 0o600))
		_, err := git.CopyIndex(b.Path(".git/index"), b.Path(".git/"+landIndex))
		b.Must(err)
		_, _, _, err = b.P.Output(t.Context(), cmd)
		b.Must(err)
		if out := b.land(in); out.How != LandedForward {
			t.Fatalf("killed after %d ms: %+v", after, out)
		}
		b.landed(in)
		b.Git("reset", "-q", "--hard", in.From)
	}
}

// Two of ralph's engines never land in one checkout at the same time.
func TestLandAlone(t *testing.T) {
	t.Parallel()
	b, in := landBox(t)
	lock, busy, err := lockIndex(b.repo, in)
	b.Must(err)
	b.Equal("busy", busy, "")
	busy, err = lock.take(t.Context())
	b.Must(err)
	b.Equal("busy", busy, "")
	other := b.open(b.Dir)
	out, err := Land(t.Context(), other, in)
	b.Must(err)
	if !strings.Contains(out.Busy, "another ralph") {
		t.Errorf("%+v", out)
	}
	if _, err := b.Try("add", "-A"); err == nil || !strings.Contains(err.Error(), "index.lock") {
		t.Errorf("a person's git add meanwhile: %v", err)
	}
	lock.release()
	b.Equal("then", b.land(in).How, LandedForward)
}
