package dashboard

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/specfile"
)

// TestSpecFolder: the dashboard shows what is in ralph/specs, and nothing else however it
// is asked (product.md 12, D-008).
func TestSpecFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	f := specFolder{root}
	if list, err := f.List(); err != nil || len(list) != 0 {
		t.Errorf("without a folder: %v, %v", list, err)
	}
	specs := filepath.Join(root, "ralph/specs")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "secret.md"), "secret")
	write(filepath.Join(specs, "a.md"), "# A")
	write(filepath.Join(specs, "sub/b.md"), strings.Repeat("x", specfile.MaxSize+5))
	write(filepath.Join(specs, "c.txt"), "no spec")
	write(filepath.Join(specs, ".hidden/d.md"), "no spec")
	link("../../secret.md", filepath.Join(specs, "out.md"))
	link(filepath.Join(root, "secret.md"), filepath.Join(specs, "far.md"))
	link("..", filepath.Join(specs, "up"))
	link("a.md", filepath.Join(specs, "within.md"))

	list, err := f.List()
	var names []string
	for _, x := range list {
		names = append(names, x.Name)
	}
	if err != nil || strings.Join(names, " ") != "a.md sub/b.md within.md" {
		t.Errorf("%v, %v", names, err)
	}
	if file, text, err := f.Read("a.md"); err != nil || string(text) != "# A" || file.Size != 3 || file.ChangedAt.IsZero() {
		t.Errorf("%+v %q %v", file, text, err)
	}
	if file, text, err := f.Read("sub/b.md"); err != nil || len(text) != specfile.MaxSize || file.Size != specfile.MaxSize+5 {
		t.Errorf("%+v %d %v", file, len(text), err)
	}
	for _, name := range []string{
		"", ".", "..", "../../secret.md", "../secret.md", "sub/../../../secret.md", "a.md/../../../secret.md", "./a.md", "ralph/specs/a.md",
		"/etc/passwd", filepath.Join(root, "secret.md"), "a.md\x00", "\x00", "a.md\n", `..\..\secret.md`, "out.md", "far.md", "up/specs/a.md", "up/../../secret.md",
		"sub", "sub.md", "c.txt", "-a.md", "none.md", "%2e%2e/secret.md",
	} {
		if _, text, err := f.Read(name); !errors.Is(err, ralph.ErrNotFound) {
			t.Errorf("Read(%q) = %q, %v", name, text, err)
		}
	}
}
