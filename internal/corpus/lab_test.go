//go:build corpus

package corpus

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lab is one repository on a machine of its own: a home, settings of git that a person
// has, and nothing of whoever runs the tests.
type lab struct {
	*testing.T
	programs
	base, dir string
	env       []string
	used      time.Duration // of processors, by all that was run
}

func newLab(t *testing.T) *lab {
	t.Helper()
	base := t.TempDir()
	l := &lab{T: t, programs: thePrograms(t), base: base, dir: filepath.Join(base, "repo")}
	home := filepath.Join(base, "home")
	tmp := filepath.Join(base, "tmp")
	l.check(errors.Join(os.Mkdir(home, 0o755), os.Mkdir(tmp, 0o755), os.Mkdir(l.dir, 0o755)))
	l.check(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Corpus\n\temail = corpus@ralph.invalid\n[init]\n\tdefaultBranch = main\n"), 0o644))
	l.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + tmp, "GIT_CONFIG_NOSYSTEM=1", "LANG=C.UTF-8", "NO_COLOR=1",
		// What a machine has that has built Go before, without its network.
		"GOCACHE=" + goCache(t), "GOMODCACHE=" + modules(t), "GOPROXY=off", "GOTOOLCHAIN=local", "GOENV=off",
	}
	return l
}

// goCache is where the go command of whoever runs the tests keeps what it has built.
func goCache(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (l *lab) check(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// write writes files of the repository, by path.
func (l *lab) write(files map[string]string) {
	l.Helper()
	for name, text := range files {
		path := filepath.Join(l.dir, name)
		l.check(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
}

// copyOf fills the repository, or a folder of it, with files from elsewhere. They can be
// written, which those of the module cache cannot.
func (l *lab) copyOf(from, to string) {
	l.Helper()
	l.must("mkdir", "-p", filepath.Join(l.dir, to))
	l.must("cp", "-r", from+"/.", filepath.Join(l.dir, to))
	l.must("chmod", "-R", "u+w", filepath.Join(l.dir, to))
}

// run runs a program in the repository.
func (l *lab) run(args ...string) (string, int) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), 10*time.Minute) // tells a hang
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = l.dir, l.env, 10*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its agents
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		l.Fatalf("%v: %v", args, err)
	}
	l.used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
}

func (l *lab) must(args ...string) string {
	l.Helper()
	out, code := l.run(args...)
	if code != 0 {
		l.Fatalf("%v: exit code %d\n%s", args, code, out)
	}
	return out
}

func (l *lab) git(args ...string) string {
	l.Helper()
	return l.must(append([]string{"git"}, args...)...)
}

// start makes a repository of the files that are there.
func (l *lab) start() {
	l.Helper()
	l.git("init", "-q")
	l.git("add", "-A")
	l.git("commit", "-q", "-m", "Start")
}

// fact is one of the journal, with what this test looks at.
type fact struct {
	T    string
	Fact struct {
		Stage   string
		Exit    string
		Took    time.Duration
		Tree    string
		Results []struct {
			Command, Name string
			Pass, Reused  bool
			Took          time.Duration
		}
		Known []string
		Path  string
		Gate  struct{ Question string }
	}
}

func (l *lab) facts() []fact {
	l.Helper()
	text, err := os.ReadFile(filepath.Join(l.dir, "ralph/.state/journal.jsonl"))
	l.check(err)
	var list []fact
	for line := range strings.Lines(string(text)) {
		var f fact
		l.check(json.Unmarshal([]byte(line), &f))
		list = append(list, f)
	}
	return list
}
