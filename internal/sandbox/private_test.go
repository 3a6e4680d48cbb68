package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/sandbox"
)

// homeOf makes a home: a path, its mode and its text, a line each.
func homeOf(t *testing.T, lines string) string {
	t.Helper()
	home := t.TempDir()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		var path string
		var mode os.FileMode
		text := "x"
		if _, err := fmt.Sscanf(line, "%s %o %s", &path, &mode, &text); err != nil && text == "" {
			t.Fatal(err)
		}
		file := filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func found(home string, list []string) []string {
	var out []string
	for _, p := range list {
		rel, _ := filepath.Rel(home, p)
		out = append(out, rel)
	}
	slices.Sort(out)
	return out
}

// S4, issue 15: a login is known by its mode, not by its tool's name. What work needs stays.
func TestPrivate(t *testing.T) {
	t.Parallel()
	home := homeOf(t, `
.newtool/credentials.json 600
.config/another/deep/token 600
.oldtool 600
.bash_history 600
.config/readable/settings.json 644
.gitconfig 644
.bashrc 644
.config/git/config 600
.claude/.credentials.json 600
.toolchain/bin/tool 700
.toolchain/bin/data 600
.cache/x/secret 600
notes/private.txt 600
.shown/key 600
`)
	open := []string{filepath.Join(home, ".claude"), filepath.Join(home, ".shown")}
	got := found(home, sandbox.Private(home, open, []string{filepath.Join(home, ".toolchain/bin")}))
	want := []string{".bash_history", ".config/another/deep/token", ".newtool/credentials.json", ".oldtool"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// Where everything is private, a mode says nothing: what reads like a login counts.
func TestPrivateInAClosedHome(t *testing.T) {
	t.Parallel()
	home := homeOf(t, `
.bashrc 600
.profile 600
.tool/settings.json 600 {"theme":"dark"}
.tool/state.json 600 {"access_token":"abc"}
.other/credentials 600
.keys/deploy.pem 600
`)
	got := found(home, sandbox.Private(home, nil, nil))
	if want := []string{".keys/deploy.pem", ".other/credentials", ".tool/state.json"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// One file that a person has closed by hand says nothing of the others.
func TestPrivateBesideAClosedFile(t *testing.T) {
	t.Parallel()
	home := homeOf(t, ".gitconfig 600\n.bashrc 644\n.oldtool 600 opaque")
	if got := found(home, sandbox.Private(home, nil, nil)); !slices.Equal(got, []string{".oldtool"}) {
		t.Errorf("%q", got)
	}
}

// A folder of any size hides nothing that lies beside it.
func TestPrivateBesideALargeFolder(t *testing.T) {
	t.Parallel()
	home := homeOf(t, ".zz/token 600\n.aa/file 644\n")
	for i := range 90 {
		dir := filepath.Join(home, ".aa", strconv.Itoa(i))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range 50 {
			if err := os.Link(filepath.Join(home, ".aa/file"), filepath.Join(dir, strconv.Itoa(j))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := found(home, sandbox.Private(home, nil, nil)); !slices.Equal(got, []string{".zz/token"}) {
		t.Errorf("%q", got)
	}
}

// A program that keeps many private files, as a browser does, is hidden whole, but not where
// something in its folder has to stay.
func TestPrivateFolders(t *testing.T) {
	t.Parallel()
	lines := ".bashrc 644\n"
	for i := range 25 {
		lines += fmt.Sprintf(".config/browser/profile/%d 600\n.half/%d 600\n", i, i)
	}
	for i := range 60 {
		lines += fmt.Sprintf(".plain/%d 644\n", i)
	}
	home := homeOf(t, lines)
	got := sandbox.Private(home, []string{filepath.Join(home, ".half/3")}, nil)
	if !slices.Contains(got, filepath.Join(home, ".config/browser")) || len(got) != 25 {
		t.Errorf("%d: %q", len(got), got)
	}
}

// BenchmarkPrivate is what the look costs at each start in a large home.
func BenchmarkPrivate(b *testing.B) {
	home := b.TempDir()
	for i := range 300 {
		dir := filepath.Join(home, fmt.Sprintf(".tool%d", i), "sub")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 9 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(j)), []byte("x"), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		sandbox.Private(home, nil, nil)
	}
}
