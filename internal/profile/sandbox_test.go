package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
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

// Shims stay where they are for the turns that come after, and those of other slots lie beside them:
// no agent in a box can change any, nor what stands around them.
func TestShimsOfAllTurnsAreKept(t *testing.T) {
	if !ralphtest.Bubblewrap() {
		t.Skip("no bubblewrap here")
	}
	root, home := t.TempDir(), t.TempDir()
	temp, err := os.MkdirTemp("/tmp", "kept") // short: a socket's path has 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	t.Setenv("TMPDIR", temp)
	lines := new(agentsock.Lines)
	defer func() { _ = lines.Close() }()
	var shims []string
	var env []string
	for range 2 {
		line, err := lines.Listen(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = line.Close() }()
		env = append([]string{"HOME=" + home, "TMPDIR=" + temp, "PATH=/usr/bin:/bin"}, line.Env()...)
		shim := filepath.Join(line.Dir(), "bin", "npm")
		if err := errors.Join(os.Mkdir(filepath.Dir(shim), 0o700), os.WriteFile(shim, []byte("shim"), 0o700)); err != nil {
			t.Fatal(err)
		}
		shims = append(shims, shim)
	}
	bwrap, err := proc.LookPath("bwrap", "", env)
	if err != nil {
		t.Fatal(err)
	}
	g := &Sandbox{Kind: sandbox.Bubblewrap, Bwrap: bwrap, Set: config.Defaults().Sandbox, Root: root}
	const attack = `touch "$TMPDIR/in-the-box" || exit 1
for shim; do
	echo x >"$shim" && echo "wrote $shim"; rm -f "$shim" && echo "removed $shim"; chmod 777 "$shim" && echo "opened $shim"
	mkdir "${shim%/*}/x" && echo "added to $shim"; mv "${shim%/*/*}" "$TMPDIR/away" && echo "moved $shim"
	ln "$shim" "$TMPDIR/link" && echo x >"$TMPDIR/link" && echo "linked $shim"
done
exit 0`
	argv, err := g.Argv(root, append([]string{"/bin/sh", "-c", attack, "sh"}, shims...), env)
	if err != nil {
		t.Fatal(err)
	}
	out, said, res, err := proc.NewRunner("").Output(t.Context(), proc.Command{Args: argv, Dir: root, Env: env})
	if err != nil || res.Code != 0 || len(out) > 0 {
		t.Errorf("%+v %v\n%s%s", res, err, out, said)
	}
	for _, shim := range shims {
		info, err := os.Stat(shim)
		if b, readErr := os.ReadFile(shim); err != nil || readErr != nil || string(b) != "shim" || info.Mode() != 0o700 {
			t.Errorf("%s: %q %v %v %v", shim, b, info, err, readErr)
		}
	}
	if _, err := os.Stat(filepath.Join(temp, "in-the-box")); err != nil {
		t.Error("the box let nothing be written at all:", err)
	}
}

// Each mount of a box costs its start 0.1 to 0.2 ms, since bubblewrap reads the list of all mounts for each:
// an agent in the checkout has as many as there are here, and each says what it is for. The system's are
// those of the machine: below /proc only root gets some.
func TestMountsOfABox(t *testing.T) {
	t.Parallel()
	root, home, temp := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{root + "/.git/hooks", root + "/.git/info", root + "/ralph/.state", home + "/.cache", temp + "/ralph-1/2"} {
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
	argv, err := g.Argv(root, []string{"/bin/true"}, []string{"HOME=" + home, "TMPDIR=" + temp, "RALPH_SOCKET=" + temp + "/ralph-1/2/s", "PATH=/usr/bin:/bin"})
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
