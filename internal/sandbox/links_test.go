package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Paths are read through links as filepath.EvalSymlinks reads them, whatever was read before.
func TestBehindLinks(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "a/b/f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"l": "a", "a/up": "../c", "c/f": "../a/b/f", "gone": "nowhere", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	links := Links{}
	for _, name := range []string{"a", "a/b", "a/b/f", "l", "l/b", "l/b/f", "l/up", "l/up/f", "c/f", "c/../l/b", "gone", "gone/x", "loop", "loop/x", "none/x", ".", "a/b/f/x", "l/", "l/..", "l/../c", "a/b/../up/f"} {
		p := top + "/" + name
		want, wantErr := filepath.EvalSymlinks(p)
		got, err := links.behind(p)
		if got != want && wantErr == nil || (err == nil) != (wantErr == nil) {
			t.Errorf("%s is %q, %v; want %q, %v", name, got, err, want, wantErr)
		}
	}
}

// A link that a process made in what it may write grants the next one nothing beyond that; a person's own, made
// where no process may write, goes on to.
func TestLinksOfAProcessGrantNothing(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"tmp/in", "tmp/a", "home", "victim/deep", "disk"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"home/cache": "../disk", "home/way": "../tmp/a", // a person's
		"tmp/out": filepath.Join(top, "victim"), "tmp/a/up": "../../victim", "tmp/inside": "in", "tmp/a/loop": "loop", // a process's
	} {
		if err := os.Symlink(to, filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ write, want []string }{
		{[]string{"home/cache"}, []string{"disk"}},
		{[]string{"tmp", "tmp/out"}, []string{"tmp"}},
		{[]string{"tmp/out"}, []string{"victim"}}, // nobody may write beside it
		{[]string{"tmp", "tmp/out/deep"}, []string{"tmp"}},
		{[]string{"tmp/a", "tmp/a/up"}, []string{"tmp/a"}},
		{[]string{"tmp", "home/way/up/deep"}, []string{"tmp"}},
		{[]string{"tmp", "tmp/inside"}, []string{"tmp", "tmp/in"}},
		{[]string{"tmp", "home/way"}, []string{"tmp", "tmp/a"}},
		{[]string{"tmp", "tmp/a/loop", "tmp/none"}, []string{"tmp"}},
		{[]string{"victim", "tmp", "tmp/out"}, []string{"tmp", "victim"}}, // granted anyway
	} {
		in := func(names []string) []string {
			var out []string
			for _, name := range names {
				out = append(out, filepath.Join(top, name))
			}
			return out
		}
		if got := (Links{}).granted(in(tt.write)); !slices.Equal(got, in(tt.want)) {
			t.Errorf("%q grants %q, want %q", tt.write, got, tt.want)
		}
	}
}
