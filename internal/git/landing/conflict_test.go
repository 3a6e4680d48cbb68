package landing

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ralphtest/gittest"

	"pgregory.net/rapid"
)

// conflictCase is a conflict of one kind, and what has to be shown of it.
type conflictCase struct {
	base, ours, theirs func(*testRepo)
	path, kind         string
	shows              []string
}

func write(name, text string) func(*testRepo) { return func(b *testRepo) { b.Write(name, text) } }

func linkTo(name, target string) func(*testRepo) {
	return func(b *testRepo) {
		b.Remove(name)
		b.Must(os.Symlink(target, b.Path(name)))
	}
}

func both(steps ...func(*testRepo)) func(*testRepo) {
	return func(b *testRepo) {
		for _, s := range steps {
			s(b)
		}
	}
}

func remove(name string) func(*testRepo) { return func(b *testRepo) { b.Remove(name) } }

func rename(from, to string) func(*testRepo) {
	return func(b *testRepo) {
		b.Write(to, "")
		b.Must(os.Rename(b.Path(from), b.Path(to)))
	}
}

func executable(name string) func(*testRepo) {
	return func(b *testRepo) { b.Must(os.Chmod(b.Path(name), 0o755)) }
}

func submodule(name, digit string) func(*testRepo) {
	return func(b *testRepo) {
		b.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat(digit, 40)+","+name)
		b.Must(os.MkdirAll(b.Path(name), 0o755))
	}
}

func nothing(*testRepo) {}

func conflictCases() map[string]conflictCase {
	long := strings.Repeat("line\n", 20)
	big := strings.Repeat("a longer line of text\n", 5000)
	return map[string]conflictCase{
		"content": {nothing, write("a.txt", "ours\n"), write("a.txt", "theirs\n"), "a.txt", "content", []string{"<<<<<<< ", "ours\n=======\ntheirs\n>>>>>>> "}},
		"content of an LFS pointer": {
			write("p.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
			write("p.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"),
			write("p.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:2\nsize 2\n"), "p.bin", "content",
			[]string{"sha256:1", "sha256:2"},
		},
		"content of a long file": {
			write("a.txt", big+"x\n"+big), write("a.txt", big+"ours\n"+big), write("a.txt", big+"theirs\n"+big),
			"a.txt", "content",
			[]string{"(line 4993)\n", "ours\n=======\ntheirs\n"},
		},
		"content in a name with a newline": {write("n\nm", "0\n"), write("n\nm", "ours\n"), write("n\nm", "theirs\n"), "n\nm", "content", []string{"ours\n=======\ntheirs"}},
		"add/add":                          {nothing, write("n.txt", "ours\n"), write("n.txt", "theirs\n"), "n.txt", "add/add", []string{"ours\n=======\ntheirs\n"}},
		"modify/delete":                    {nothing, write("a.txt", "ours\n"), remove("a.txt"), "a.txt", "modify/delete", []string{"ours\n=======\n(no such file here)\n"}},
		"delete/modify":                    {nothing, remove("a.txt"), write("a.txt", "theirs\n"), "a.txt", "modify/delete", []string{"(no such file here)\n=======\ntheirs\n"}},
		"binary":                           {write("b.bin", "\x000"), write("b.bin", "\x001"), write("b.bin", "\x00two"), "b.bin", "binary", []string{"(binary, 2 bytes", "(binary, 4 bytes"}},
		"rename to two names":              {write("r.txt", long), rename("r.txt", "ours.txt"), rename("r.txt", "theirs.txt"), "r.txt", "rename", nil},
		"rename and delete":                {write("r.txt", long), rename("r.txt", "ours.txt"), remove("r.txt"), "ours.txt", "rename", []string{"(no such file here)"}},
		"two renames to one name": {
			both(write("r1.txt", long), write("r2.txt", strings.Repeat("other\n", 20))), rename("r1.txt", "r.txt"), rename("r2.txt", "r.txt"),
			"r.txt", "add/add",
			[]string{"line\n", "other\n"},
		},
		"rename and edit": {
			write("r.txt", long), both(rename("r.txt", "o.txt"), write("o.txt", "ours\n"+long)), write("r.txt", "theirs\n"+long),
			"o.txt", "content",
			[]string{"ours\n=======\ntheirs\n"},
		},
		"file/directory":   {nothing, write("n", "ours\n"), write("n/x.txt", "theirs\n"), "", "file/directory", []string{"ours"}},
		"mode":             {nothing, write("n.sh", "same\n"), both(write("n.sh", "same\n"), executable("n.sh")), "n.sh", "mode", []string{"same\n=======\n(executable)\nsame\n"}},
		"symlink":          {linkTo("l", "a.txt"), linkTo("l", "ours"), linkTo("l", "theirs"), "l", "symlink", []string{"(link to) ours\n=======\n(link to) theirs\n"}},
		"symlink and file": {nothing, linkTo("l", "ours"), write("l", "theirs\n"), "", "symlink", nil},
		"submodule":        {submodule("sub", "1"), submodule("sub", "2"), submodule("sub", "3"), "sub", "submodule", []string{strings.Repeat("2", 40), strings.Repeat("3", 40)}},
	}
}

// commitAs is branch for what needs no `add -A`: submodules that are not there.
func (b *testRepo) commitAs(name, at string, change func(*testRepo)) string {
	b.T.Helper()
	w := b.linked(name, at)
	change(w)
	if strings.Contains(w.Git("diff", "--cached", "--raw"), "160000") {
		w.Git("commit", "-q", "-m", name)
	} else {
		w.Git("add", "-A")
		w.Git("commit", "-q", "--allow-empty", "-m", name)
	}
	return w.Head()
}

// Each kind of conflict, beside the person's checkout, with both sides shown.
func TestMergeConflicts(t *testing.T) {
	t.Parallel()
	for name, tt := range ralphtest.Named(4, conflictCases()) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			base := b.commitAs("base", b.Head(), tt.base)
			ours, theirs := b.commitAs("ours", base, tt.ours), b.commitAs("theirs", base, tt.theirs)
			b.Must(refs.MakeBranch(t.Context(), b.repo, integration, ours))
			before := b.All()
			m := b.merge(theirs)
			if m.Conflict == nil || m.Commit != "" || m.Advanced {
				t.Fatalf("no conflict: %+v", m)
			}
			c := m.Conflict
			if c.Ours != ours || c.Theirs != theirs || c.Base != base {
				t.Errorf("conflict of %+v", c)
			}
			found := false
			for _, f := range c.Files {
				if f.Kind != tt.kind || tt.path != "" && f.Path != tt.path {
					continue
				}
				found = true
				for _, text := range tt.shows {
					if !strings.Contains(f.Marked, text) {
						t.Errorf("%s does not show %q: %q", f.Path, text, f.Marked)
					}
				}
				if len(f.Marked) > maxMarked || f.Said == "" && f.Kind != "mode" {
					t.Errorf("%s: %d bytes, git says %q", f.Path, len(f.Marked), f.Said)
				}
			}
			if !found {
				t.Errorf("no %s at %q in %+v", tt.kind, tt.path, c.Files)
			}
			b.Equal("tip", b.Tip(integration), ours)
			b.Untouched(before)
		})
	}
}

// What both sides did at the same place without disagreeing is no conflict.
func TestMergeWithoutConflict(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 20)
	for name, tt := range map[string]conflictCase{
		"the same addition":   {nothing, write("n.txt", "n\n"), write("n.txt", "n\n"), "n.txt", "", []string{"n"}},
		"the same rename":     {write("r.txt", long), rename("r.txt", "s.txt"), both(rename("r.txt", "s.txt"), write("s.txt", long+"more\n")), "s.txt", "", []string{"more"}},
		"rename, then edit":   {write("r.txt", long), rename("r.txt", "s.txt"), write("r.txt", "more\n"+long), "s.txt", "", []string{"more"}},
		"executable and edit": {nothing, executable("a.txt"), write("a.txt", "edit\n"), "a.txt", "", []string{"edit"}},
		"both delete":         {nothing, remove("a.txt"), remove("a.txt"), "dir/b.txt", "", []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			base := b.commitAs("base", b.Head(), tt.base)
			b.Must(refs.MakeBranch(t.Context(), b.repo, integration, b.commitAs("ours", base, tt.ours)))
			m := b.merge(b.commitAs("theirs", base, tt.theirs))
			if m.Conflict != nil {
				t.Fatalf("conflict: %+v", m.Conflict.Files)
			}
			if text := b.Git("show", integration+":"+tt.path); !strings.Contains(text, tt.shows[0]) {
				t.Errorf("%s: %q", tt.path, text)
			}
		})
	}
}

func TestParseMerged(t *testing.T) {
	t.Parallel()
	tree := strings.Repeat("a", 40)
	for name, text := range map[string]string{
		"no tree":        "x\x00",
		"no stage":       tree + "\x00100644 " + tree + " 4\tx\x00",
		"no tab":         tree + "\x00100644 x\x00",
		"remark cut off": tree + "\x00\x002\x00x\x00",
		"below zero":     tree + "\x00\x00-1\x00y\x00z\x00",
	} {
		if _, err := parseMerged(text, false); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParseMerged(f *testing.F) {
	tree := strings.Repeat("a", 40)
	f.Add(tree + "\x00100644 " + tree + " 2\tx\x00\x001\x00x\x00CONFLICT (contents)\x00words\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMerged(text, false)
		if err != nil {
			return
		}
		for _, s := range m.open() {
			if kind := m.kind(s); kind == "" {
				t.Errorf("no kind for %+v", s)
			}
		}
	})
}

// Random work on several branches, merged in order: the same tree as git makes in
// a checkout, or both find a conflict; the person's checkout stays as it is.
func TestMergeIsGitsMerge(t *testing.T) {
	t.Parallel()
	dirs := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		if n++; n > 40 {
			return // each is some thirty processes of git
		}
		b := newBox(t)
		names := []string{"a.txt", "dir/b.txt", "dir/sub/c.txt", "new.txt", "dir/new.txt", "sub"}
		b.Write("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
		b.Git("commit", "-q", "-a", "-m", "lines")
		base := b.Head()
		b.Must(refs.MakeBranch(t.Context(), b.repo, integration, base))
		clone := &testRepo{Box: gittest.Box{T: t, P: b.P, Dir: fmt.Sprintf("%s/clone%d", dirs, n), Env: b.Env}}
		b.Git("clone", "-q", b.Dir, clone.Dir)
		before := b.All()
		for i := range rapid.IntRange(2, 4).Draw(rt, "branches") {
			tip := b.branch(fmt.Sprintf("ralph/t-%d", i), base, func(w *testRepo) {
				for range rapid.IntRange(1, 3).Draw(rt, "edits") {
					randomEdit(rt, w, names)
				}
			})
			m := b.merge(tip)
			clone.Git("fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
			if _, err := clone.Try("merge", "-q", "-m", "m", tip); err != nil {
				if m.Conflict == nil {
					rt.Fatalf("git finds a conflict: %v", err)
				}
				clone.Git("merge", "--abort")
				continue
			}
			if m.Conflict != nil {
				rt.Fatalf("git finds no conflict: %+v", m.Conflict.Files)
			}
			if want := clone.Git("rev-parse", "HEAD^{tree}"); m.Tree != want {
				rt.Fatalf("tree %s, git makes %s", m.Tree, want)
			}
		}
		b.Untouched(before)
		b.Fsck()
	})
}

func randomEdit(rt *rapid.T, w *testRepo, names []string) {
	name := rapid.SampledFrom(names).Draw(rt, "name")
	if info, err := os.Lstat(w.Path(name)); err == nil && info.IsDir() {
		w.Remove(name)
	}
	switch rapid.IntRange(0, 4).Draw(rt, "edit") {
	case 0:
		w.Remove(name)
	case 1:
		to := rapid.SampledFrom(names).Draw(rt, "to")
		if _, err := os.Lstat(w.Path(to)); err == nil || w.Read(name) == "" || strings.HasPrefix(w.Read(name), "<") {
			return
		}
		rename(name, to)(w)
	case 2:
		if _, err := os.Stat(w.Path(name)); !errors.Is(err, os.ErrNotExist) {
			executable(name)(w)
		}
	case 3:
		lines := strings.SplitAfter(w.Read(name), "\n")
		lines[rapid.IntRange(0, len(lines)-1).Draw(rt, "line")] = rapid.StringMatching(`[xy]{1,3}`).Draw(rt, "text") + "\n"
		w.Write(name, strings.Join(lines, ""))
	case 4:
		w.Write(name, rapid.StringMatching(`[xy]\n`).Draw(rt, "whole"))
	}
}
