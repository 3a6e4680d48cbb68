package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// Each turn has a PATH of its own, with its shims: what is known of a home is one thing all
// the same, or a long session would look anew for each turn, and forget nothing.
func TestAHomeIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	token := filepath.Join(home, ".tool")
	if err := os.WriteFile(token, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &Sandbox{Set: config.Sandbox{HidePrivate: true}, Root: t.TempDir()}
	for turn := range 20 {
		list := g.Logins([]string{"HOME=" + home, fmt.Sprintf("PATH=/tmp/ralph-%d/bin:/usr/bin", turn)})
		if !slices.Equal(list, []string{token}) {
			t.Fatalf("turn %d: %q", turn, list)
		}
	}
	if len(g.private) != 1 {
		t.Errorf("%d looks are kept of one home", len(g.private))
	}
}

// Each mount of a box costs its start 0.1 to 0.2 ms, since bubblewrap reads the list of all mounts for each:
// an agent in the checkout has as many as there are here, and each says what it is for. The system's are
// those of the machine: below /proc only root gets some.
func TestMountsOfABox(t *testing.T) {
	t.Parallel()
	root, home, temp := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{root + "/.git/hooks", root + "/.git/info", root + "/ralph/.state", home + "/.cache", temp + "/ralph-1"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{root + "/.git/config", root + "/ralph/config.yaml"} {
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	g := &Sandbox{Kind: sandbox.Bubblewrap, Bwrap: "/usr/bin/bwrap", Set: config.Defaults().Sandbox, Root: root}
	argv, err := g.Argv(root, []string{"/bin/true"}, []string{"HOME=" + home, "TMPDIR=" + temp, "RALPH_SOCKET=" + temp + "/ralph-1/s", "PATH=/usr/bin:/bin"})
	if err != nil {
		t.Fatal(err)
	}
	var own, proc []string
	for i, word := range argv {
		if !strings.HasSuffix(word, "bind") || i+2 >= len(argv) {
			continue
		}
		switch at := argv[i+2]; {
		case strings.HasPrefix(at, "/proc/"):
			proc = append(proc, at)
		case sandbox.Within(root, at) || sandbox.Within(home, at) || sandbox.Within(temp, at):
			own = append(own, strings.NewReplacer(root, "$root", home, "$home", temp, "$temp").Replace(at))
		}
	}
	want := []string{
		"$home/.cache", "$root", "$root/.git", "$root/.git/config", "$root/.git/hooks", "$root/.git/info",
		"$root/ralph", "$root/ralph/.state", "$root/ralph/.state/git", "$root/ralph/.state/web.json",
		"$root/ralph/config.yaml", "$root/ralph/hooks", "$root/ralph/prompts", "$temp", "$temp/ralph-1",
	}
	slices.Sort(own)
	if !slices.Equal(own, want) {
		t.Errorf("mounts of the repository, the home and temporary folders:\n%q, want\n%q", own, want)
	}
	for _, p := range proc {
		if list, err := filepath.Glob(p + "/*"); err == nil && len(list) == 0 {
			if info, err := os.Stat(p); err == nil && (info.IsDir() || info.Mode()&0o222 == 0) {
				t.Errorf("%s is mounted, and nothing in it can be written", p)
			}
		}
	}
}
