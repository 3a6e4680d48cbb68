package sandbox

import (
	"os"
	"path/filepath"
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
