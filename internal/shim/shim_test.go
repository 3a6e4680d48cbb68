package shim_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph/internal/operation"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/shim"
)

// put makes a set in a folder of its own. self is what it calls in the place of ralph.
func put(t *testing.T, self string, env []string, programs ...string) (dir string, out []string) {
	t.Helper()
	dir = t.TempDir()
	out, err := shim.Set{Self: self, Programs: programs, Rules: []byte("{}")}.Put(dir, env)
	if err != nil {
		t.Fatal(err)
	}
	return dir, out
}

func run(t *testing.T, dir, input string, env []string, argv ...string) (string, proc.Result) {
	t.Helper()
	out, errs, res, err := proc.NewRunner("").Output(t.Context(), proc.Command{Args: argv, Dir: dir, Env: env, Stdin: strings.NewReader(input)})
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + string(errs), res
}

// C-036: what an agent calls is the shim, with its arguments as they are; what the shim
// calls is never itself; what is not installed gets none.
func TestShims(t *testing.T) {
	t.Parallel()
	real, self := t.TempDir(), filepath.Join(t.TempDir(), "it's ralph")
	ralphtest.Program(t, filepath.Join(real, "tool"), "#!/bin/sh\necho real\n")
	ralphtest.Program(t, self, "#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done\nexit 7\n")
	dir, env := put(t, self, []string{"PATH=" + real + ":/usr/bin:/bin"}, "tool", "no-such-program")
	out, res := run(t, real, "", env, "tool", "a b", "", "$x'", "--", "-n")
	if want := "<shim><" + dir + "><tool><a b><><$x'><--><-n>"; out != want || res.Code != 7 {
		t.Errorf("%q, want %q; %+v", out, want, res)
	}
	if got, err := shim.Real("tool", dir, env); err != nil || got != filepath.Join(real, "tool") {
		t.Errorf("%s %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "bin", "no-such-program")); err == nil {
		t.Error("what is not installed has a shim")
	}
	if b, err := shim.Rules(dir); err != nil || string(b) != "{}" {
		t.Errorf("%q %v", b, err)
	}
	if _, err := shim.Rules(t.TempDir()); err == nil {
		t.Error("rules that are not there")
	}
}

// Issue 17, row 3: a plain call becomes the program without a start of ralph, and no other
// call does, whatever it looks like when its words are put together.
func TestPlainCalls(t *testing.T) {
	t.Parallel()
	real, other, self := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "ralph")
	ralphtest.Program(t, filepath.Join(real, "tool"), "#!/bin/sh\necho real \"$@\"\n")
	ralphtest.Program(t, filepath.Join(other, "tool"), "#!/bin/sh\necho other \"$@\"\n")
	ralphtest.Program(t, self, "#!/bin/sh\necho ralph\n")
	dir := t.TempDir()
	env, err := shim.Set{
		Self: self, Programs: []string{"tool"},
		Plain: map[string][][]string{"tool": {{"status"}, {"log", "-n", "5"}, {"add", "*"}, {"with space"}, {"a", ""}}},
	}.Put(dir, []string{"PATH=" + real + ":/usr/bin:/bin"})
	if err != nil {
		t.Fatal(err)
	}
	path := proc.Getenv(env, "PATH")
	for _, tt := range []struct {
		want string
		env  string
		argv []string
	}{
		{"real status", "", []string{"status"}},
		{"real log -n 5", "", []string{"log", "-n", "5"}},
		{"real add *", "", []string{"add", "*"}},
		{"real status", "PATH=/nowhere:" + path, []string{"status"}},
		{"real status", "PATH=/nowhere:" + path + ":/nowhere/else", []string{"status"}},
		{"real status", "IFS=,", []string{"status"}},
		{"ralph", "", nil},
		{"ralph", "", []string{"Status"}},
		{"ralph", "", []string{"status", ""}},
		{"ralph", "", []string{"", "status"}},
		{"ralph", "", []string{"status", "-f"}},
		{"ralph", "", []string{"log -n 5"}},
		{"ralph", "", []string{"log", "-n 5"}},
		{"ralph", "", []string{"log", "-n", "5", ""}},
		{"ralph", "", []string{"log", "-n", "5\n"}},
		{"ralph", "", []string{"add", "x"}},
		{"ralph", "", []string{"with space"}},
		{"ralph", "", []string{"with", "space"}},
		{"ralph", "", []string{"a", ""}},
		{"ralph", "", []string{"1,status"}},
		{"ralph", "PATH=" + filepath.Join(dir, "bin") + ":" + other + ":" + path[len(filepath.Join(dir, "bin"))+1:], []string{"status"}},
	} {
		env := append(slices.Clone(env), tt.env)
		if tt.env == "" {
			env = env[:len(env)-1]
		}
		out, _ := run(t, real, "", env, append([]string{filepath.Join(dir, "bin", "tool")}, tt.argv...)...)
		if strings.TrimSpace(out) != tt.want {
			t.Errorf("%q with %q: %q, want %q", tt.argv, tt.env, out, tt.want)
		}
	}
	if err := os.Remove(filepath.Join(real, "tool")); err != nil {
		t.Fatal(err)
	}
	if out, _ := run(t, real, "", env, "tool", "status"); strings.TrimSpace(out) != "ralph" {
		t.Errorf("without the program: %q", out)
	}
}

// A shim can be run as soon as it is there, whatever other slots start meanwhile: what they fork
// has its file open for writing until it is another program, and Linux runs none that is.
func TestShimsBesideOtherStarts(t *testing.T) {
	t.Parallel()
	real, self := t.TempDir(), filepath.Join(t.TempDir(), "ralph")
	ralphtest.Program(t, filepath.Join(real, "tool"), "#!/bin/sh\n")
	ralphtest.Program(t, self, "#!/bin/sh\n")
	over := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(over)
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					_, _, _, _ = proc.NewRunner("").Output(context.Background(), proc.Command{Args: []string{"/bin/true"}})
				}
			}
		})
	}
	for range 30 {
		dir := t.TempDir()
		env, err := shim.Set{
			Self: self, Programs: []string{"tool"}, Plain: map[string][][]string{"tool": {{"status"}}},
		}.Put(dir, []string{"PATH=" + real + ":/usr/bin:/bin"})
		if err != nil {
			t.Fatal(err)
		}
		run(t, real, "", env, filepath.Join(dir, "bin", "tool"), "status")
	}
}

// A shim alone in PATH would call itself without end.
func TestNoLoop(t *testing.T) {
	t.Parallel()
	real := t.TempDir()
	ralphtest.Program(t, filepath.Join(real, "tool"), "#!/bin/sh\n")
	dir, env := put(t, "/bin/true", []string{"PATH=" + real}, "tool")
	env = append(env, "PATH="+filepath.Join(dir, "bin")+":"+filepath.Join(dir, "bin")+"/")
	if got, err := shim.Real("tool", dir, env); err == nil {
		t.Error("found", got)
	}
}

// A turn within a turn: each shim passes a call on to the next, also where nobody says any
// more which folder is its own, and none back to one that has seen it.
func TestTurnWithinATurn(t *testing.T) {
	t.Parallel()
	real := t.TempDir()
	ralphtest.Program(t, filepath.Join(real, "tool"), "#!/bin/sh\n")
	outer, env := put(t, "/bin/true", []string{"PATH=" + real}, "tool")
	middle, env := put(t, "/bin/true", env, "tool")
	inner, env := put(t, "/bin/true", env, "tool")
	for _, env := range [][]string{env, {"PATH=" + proc.Getenv(env, "PATH")}} {
		for _, want := range [][2]string{{inner, filepath.Join(middle, "bin")}, {middle, filepath.Join(outer, "bin")}, {outer, real}} {
			if got, err := shim.Real("tool", want[0], env); err != nil || got != filepath.Join(want[1], "tool") {
				t.Errorf("behind %s: %s %v, want that of %s", want[0], got, err, want[1])
			}
		}
	}
}

// What the shell reads of a call are the very arguments.
func TestCommand(t *testing.T) {
	t.Parallel()
	argv := []string{"printf", "<%s>", "a b", "", "it's", "$HOME", "`x`", "a\nb", "--", "*", "~", "\x01", "é", "#"}
	out, _ := run(t, "", "", []string{"PATH=/usr/bin:/bin"}, "bash", "-c", operation.Words(argv, "").Command)
	if want := "<" + strings.Join(argv[2:], "><") + ">"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	if got := operation.Words([]string{"rm", "-rf", "build"}, "").Command; got != "rm -rf build" {
		t.Error(got)
	}
}

// The repository's own hooks run, wherever its settings have them, also those that come
// while the turn goes on; a push that is held does not get to them (husky, core.hooksPath).
func TestHooks(t *testing.T) {
	t.Parallel()
	repo, home := t.TempDir(), t.TempDir()
	self, remote := filepath.Join(home, "self"), filepath.Join(home, "remote.git")
	ralphtest.Program(t, self, "#!/bin/sh\necho \"$@\" >> "+home+"/asked\ncat >> "+home+"/asked\n[ ! -e "+home+"/no ]\n")
	base := []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Ada", "GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=ada@example.com",
	}
	dir, env := put(t, self, base)
	git := func(want int, args ...string) string {
		t.Helper()
		out, res := run(t, repo, "", env, append([]string{"git"}, args...)...)
		if res.Code != want {
			t.Fatalf("git %s: %d\n%s", strings.Join(args, " "), res.Code, out)
		}
		return out
	}
	git(0, "init", "-q", "-b", "main")
	git(0, "init", "-q", "--bare", remote)
	git(0, "commit", "-q", "--allow-empty", "-m", "one")
	ralphtest.Program(t, filepath.Join(repo, ".git/hooks/commit-msg"), "#!/bin/sh\necho own >> \"$1\"\n")
	git(0, "commit", "-q", "--allow-empty", "-m", "two")
	if got := git(0, "log", "-1", "--format=%s %b"); !strings.Contains(got, "own") {
		t.Errorf("the repository's own hook did not run: %q", got)
	}
	if err := os.Mkdir(filepath.Join(repo, ".husky"), 0o700); err != nil {
		t.Fatal(err)
	}
	git(0, "config", "core.hooksPath", ".husky")
	ralphtest.Program(t, filepath.Join(repo, ".husky/pre-commit"), "#!/bin/sh\necho no; exit 1\n")
	if out := git(1, "commit", "-q", "--allow-empty", "-m", "three"); !strings.Contains(out, "no") {
		t.Errorf("%q", out)
	}
	ralphtest.Program(t, filepath.Join(repo, ".husky/pre-push"), "#!/bin/sh\necho \"$@\" > "+home+"/own\ncat >> "+home+"/own\n")
	git(0, "push", "-q", remote, "main")
	asked, _ := os.ReadFile(filepath.Join(home, "asked"))
	own, _ := os.ReadFile(filepath.Join(home, "own"))
	if want := "pre-push " + dir + " " + string(own); len(own) == 0 || string(asked) != want {
		t.Errorf("ralph was told %q, the repository's own hook %q", asked, own)
	}
	if pushes, err := shim.Pushes(strings.SplitN(string(own), "\n", 2)[1]); err != nil || len(pushes) != 1 || !pushes[0].Creates() || pushes[0].Remote != "refs/heads/main" {
		t.Errorf("%+v %v", pushes, err)
	}
	if err := errorsOf(os.WriteFile(filepath.Join(home, "no"), nil, 0o600), os.Remove(filepath.Join(home, "own"))); err != nil {
		t.Fatal(err)
	}
	git(1, "push", "-q", remote, "main:other")
	if _, err := os.Stat(filepath.Join(home, "own")); err == nil {
		t.Error("the own hook ran for a push that is held")
	}
	if got, res := run(t, repo, "", base, "git", "config", "core.hooksPath"); strings.TrimSpace(got) != ".husky" || res.Code != 0 {
		t.Errorf("a person's own git sees %q", got)
	}
}

func errorsOf(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

func TestPushes(t *testing.T) {
	t.Parallel()
	none := strings.Repeat("0", 40)
	p, err := shim.Pushes("\nHEAD~ a1 refs/heads/main b2\n(delete) " + none + " refs/heads/x b2\n")
	if err != nil || len(p) != 2 || !p[1].Deletes() || p[0].Deletes() || p[0].Creates() {
		t.Fatalf("%+v %v", p, err)
	}
	for _, c := range []struct {
		push   shim.Push
		forced bool
		want   string
	}{
		{p[0], true, "git push --force origin HEAD~:refs/heads/main"},
		{p[0], false, "git push origin HEAD~:refs/heads/main"},
		{p[1], false, "git push --delete origin refs/heads/x"},
	} {
		if got := strings.Join(c.push.Argv("origin", c.forced), " "); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if _, err := shim.Pushes("one two\n"); err == nil {
		t.Error("what cannot be read is taken")
	}
}
