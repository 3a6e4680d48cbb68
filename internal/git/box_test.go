package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// testRepo is a repository in a folder of its own with one commit of a few files.
type testRepo struct {
	t    testing.TB
	p    *proc.Runner
	dir  string
	env  []string
	repo *Repo
	// agents: what the test does is what agents do.
	agents bool
}

func testEnv(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
}

func newBox(t testing.TB, initArgs ...string) *testRepo {
	t.Helper()
	tmp := t.TempDir()
	b := &testRepo{t: t, agents: true, p: proc.NewRunner(""), dir: filepath.Join(tmp, "work tree"), env: testEnv(tmp)}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.write("a.txt", "a\n")
	b.write("dir/b.txt", "b\n")
	b.write("dir/sub/c.txt", "c\n")
	if len(initArgs) > 0 {
		b.start(initArgs...)
	} else {
		b.copyStarted()
	}
	b.repo = b.open(b.dir)
	return b
}

func (b *testRepo) start(initArgs ...string) {
	b.t.Helper()
	b.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "start")
}

// started is what git leaves in .git of the first box: the others get a copy, which is two
// processes less for each. Only the index is made anew, since it knows files by their inodes.
var started struct {
	once  sync.Once
	files []startedFile
}

type startedFile struct {
	name string
	mode fs.FileMode
	text []byte
}

func (b *testRepo) copyStarted() {
	b.t.Helper()
	started.once.Do(func() {
		first := *b
		first.dir = b.t.TempDir()
		b.must(os.CopyFS(first.dir, os.DirFS(b.dir)))
		first.start()
		b.must(filepath.WalkDir(first.path(".git"), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			f := startedFile{mode: info.Mode()}
			if f.name, err = filepath.Rel(first.dir, path); err == nil && !d.IsDir() {
				f.text, err = os.ReadFile(path)
			}
			started.files = append(started.files, f)
			return err
		}))
	})
	for _, f := range started.files {
		if f.mode.IsDir() {
			b.must(os.Mkdir(b.path(f.name), f.mode.Perm()))
		} else {
			b.must(os.WriteFile(b.path(f.name), f.text, f.mode.Perm()))
		}
	}
	b.git("add", "-A")
}

func (b *testRepo) open(dir string) *Repo {
	b.t.Helper()
	r, err := Open(b.t.Context(), b.p, dir, b.env)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// try runs git as a person or an agent would.
func (b *testRepo) try(args ...string) (string, error) {
	out, stderr, res, err := b.p.Output(b.t.Context(), proc.Command{Args: append([]string{"git"}, args...), Dir: b.dir, Env: b.env})
	if err == nil && res.Code != 0 {
		err = errors.New(string(stderr))
	}
	return string(out), err
}

func (b *testRepo) git(args ...string) string {
	b.t.Helper()
	out, err := b.try(args...)
	if err != nil {
		b.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimRight(out, "\n")
}

func (b *testRepo) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *testRepo) write(name, text string) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *testRepo) remove(name string) {
	b.t.Helper()
	if err := os.RemoveAll(b.path(name)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *testRepo) read(name string) string {
	text, err := os.ReadFile(b.path(name))
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(text)
}

func (b *testRepo) want(name, text string) {
	b.t.Helper()
	if got := b.read(name); got != text {
		b.t.Errorf("%s is %q, want %q", name, got, text)
	}
}

func (b *testRepo) equal(what, got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

func (b *testRepo) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *testRepo) refused(err error, words string) {
	b.t.Helper()
	if refusal, ok := errors.AsType[*ralph.Refusal](err); !ok || !errors.Is(err, ralph.ErrUsage) || refusal.Hint == "" {
		b.t.Fatalf("error is %T %v, want a *ralph.Refusal with a hint", err, err)
	}
	if !strings.Contains(err.Error(), words) {
		b.t.Errorf("refusal %q does not say %q", err, words)
	}
}

func (b *testRepo) head() string { return b.git("rev-parse", "HEAD") }

func (b *testRepo) status() string { return b.git("status", "--porcelain", "--untracked-files=all") }

func (b *testRepo) hook(name, script string) {
	b.t.Helper()
	path := filepath.Join(b.repo.gitDir, "hooks", name)
	b.must(os.MkdirAll(filepath.Dir(path), 0o755))
	ralphtest.Program(b.t, path, "#!/bin/sh\n"+script+"\n")
}

// files returns the work tree: path to mode, kind and content.
func (b *testRepo) files() map[string]string {
	b.t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(b.dir, path)
		if name == ".git" {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			text, err = os.Readlink(path)
		} else {
			var raw []byte
			raw, err = os.ReadFile(path)
			text = string(raw)
		}
		kind := info.Mode() & (fs.ModeType | 0o100)
		if info.Mode()&fs.ModeSymlink != 0 {
			kind = fs.ModeSymlink
		}
		list[filepath.ToSlash(name)] = kind.String() + " " + text
		return err
	})
	b.must(err)
	return list
}

func (b *testRepo) commit(key string, change func(*CommitInput)) (Commit, error) {
	in := CommitInput{
		Base: b.head(), Trailer: "Ralph-Receipt", Key: key, Squash: true,
		Message: "ralph: complete x\n\nSpec: ralph/specs/x.md\n\nRalph-Receipt: " + key + "\n",
	}
	if change != nil {
		change(&in)
	}
	if b.agents {
		in.Agents = b.allAgents(in.Base)
	}
	return b.repo.Commit(b.t.Context(), in)
}

// allAgents says of everything since base that agents did it.
func (b *testRepo) allAgents(base string) Agents {
	var a Agents
	h, err := b.repo.Head(b.t.Context())
	if err != nil || len(base) != len(h.Commit) {
		return a
	}
	if a.On = h.Branch; a.On == "" {
		a.On = h.Commit
	}
	if op := b.repo.unfinished(); op != "" {
		a.Ops = []string{op}
	}
	if h.Commit != base {
		list, _ := b.try("rev-list", "HEAD", "--branches", "^"+base)
		a.Commits = strings.Fields(list)
		if _, err := b.try("merge-base", "--is-ancestor", base, "HEAD"); err != nil {
			a.Rewrote = []string{base}
		}
	}
	return a
}

func (b *testRepo) mustCommit(key string, change func(*CommitInput)) Commit {
	b.t.Helper()
	c, err := b.commit(key, change)
	b.must(err)
	return c
}

func (b *testRepo) snapshot() string {
	b.t.Helper()
	tree, err := b.repo.Snapshot(b.t.Context())
	b.must(err)
	return tree
}

// spawns counts the git processes that do starts.
func (b *testRepo) spawns(do func()) int {
	b.t.Helper()
	log := filepath.Join(b.t.TempDir(), "trace")
	env := b.repo.env
	b.repo.env = append(env[:len(env):len(env)], "GIT_TRACE2_EVENT="+log)
	do()
	_, err := b.repo.git(b.t.Context(), call{args: []string{"version"}}) // there is a trace, whatever do did
	b.must(err)
	b.repo.env = env
	raw, err := os.ReadFile(log)
	b.must(err)
	n := -1
	for line := range strings.Lines(string(raw)) {
		// A child's session id has its parent's before a slash.
		if strings.Contains(line, `"event":"start"`) && !strings.Contains(strings.SplitN(line, `"thread"`, 2)[0], "/") {
			n++
		}
	}
	return n
}
