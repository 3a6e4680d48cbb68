package specs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Spec names and symbolic links never lead out of ralph/specs (product.md 12).
func TestReadStaysInside(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "ralph/specs")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"secret.md": "secret", "ralph/specs/a.md": "a", "ralph/specs/sub/b.md": "b"} {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out.md": "../../secret.md", "abs.md": filepath.Join(root, "secret.md"), "in.md": "sub/b.md"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{"a.md": "a", "sub/b.md": "b", "in.md": "b"} {
		if got, err := Read(root, file); got != want || err != nil {
			t.Errorf("Read(%q) = %q, %v", file, got, err)
		}
	}
	for _, file := range []string{"out.md", "abs.md", "../../secret.md", "sub", "/etc/passwd"} {
		if got, err := Read(root, file); err == nil {
			t.Errorf("Read(%q) = %q, want an error", file, got)
		}
	}
	if _, err := Read(root, "gone.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing spec: %v", err)
	}
}
