//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// everyday is what a real agent does with its shell while it develops; each says that it went.
func everyday() []string {
	tool, _ := exec.LookPath("go")
	path := "export PATH=" + filepath.Dir(tool) + ":$PATH; " // a login shell, as Codex starts it, may not know it
	return []string{
		path + "go vet ./... && go test ./... && echo went 1",
		path + "go test -run TestSecret . && NODE_ENV=production npm test && echo went 2",
		"rm -rf build && mkdir -p build/deploy && cp go.mod build/deploy/ && ls build/deploy && echo went 3",
		`f=$(mktemp) && echo x > "$f" && rm "$f" && echo went 4 in "[$PWD]"`,
		"git status --short && git add -A && git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m 'Add password reset' && git log --oneline -1 && echo went 5",
	}
}

// goCache is a folder with what `go vet` and `go test` have built of the standard library.
var goCache = sync.OnceValue(func() string {
	dir := filepath.Join(filepath.Dir(os.Getenv(built)), "go")
	for name, text := range goFiles() {
		if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			panic(err)
		}
	}
	for _, what := range []string{"vet", "test"} {
		cmd := exec.Command("go", what, "./...")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOCACHE="+dir+"/.cache", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("go %s: %v\n%s", what, err, out))
		}
	}
	return filepath.Join(dir, ".cache")
})

func goFiles() map[string]string {
	return map[string]string{
		"go.mod": "module example.com/x\n\ngo 1.22\n", "x.go": "package x\n", "x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestSecret(t *testing.T) {}\n",
	}
}

// developed is a repository as `ralph init` leaves it, with a Go module and an npm package,
// and agents that are told of nothing but the model server.
func developed(t *testing.T, a program, m func(p *place) *modeltest.Server) *place {
	t.Helper()
	p := newPlace(t)
	// Not in the folder for temporary files, which agents may write.
	temp := filepath.Join(p.base, "tmp")
	for _, dir := range []string{temp, ".cache", "go/pkg", ".npm", ".claude", ".codex", ".config/opencode", ".local/share/opencode", ".local/state"} {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.home, dir)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The standard library, built once for all: not what is tried here.
	if out, err := exec.Command("cp", "-al", goCache(), filepath.Join(p.home, ".cache/go-build")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.env = append(p.env, "TMPDIR="+temp)
	for name, text := range goFiles() {
		p.write(name, text)
	}
	p.write("package.json", `{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e 0"}}`+"\n")
	p.write(".gitignore", "build/\n")
	p.must("git", "init", "-q", "-b", "main", ".")
	p.must("git", "add", "-A")
	p.must("git", "commit", "-qm", "start")
	p.must(p.ralph, "init")
	edit := []string{p.ralph, "config", "edit", "agent.primary=" + a.name, "agent.fallback=[]", "quality.commands=[grep -qx hello hello.txt]", "test.command=", "task.delay=0s"}
	for key, value := range a.agent(p, a.path(t), m(p)) {
		if key == "driver" {
			continue // as it is built in
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		edit = append(edit, "agents."+a.name+"."+key+"="+string(text))
	}
	p.must(edit...)
	p.write("ralph/specs/hello.md", "# Hello\n\nMake hello.txt with a greeting.\n")
	p.must("git", "add", "-A")
	p.must("git", "commit", "-qm", "set up ralph")
	p.must(p.ralph, "inbox", "add", "hello.md")
	return p
}

// Issue 15, point 4, R-H5, R-H6, R-M4: with the settings that `ralph init` leaves, a real
// agent takes a spec to a commit, with the commands of the project, and nobody is asked
// anything; what it writes outside is refused, and a person is told. In each sandbox.
func TestARealAgentIsNotAsked(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{sandbox.Landlock, sandbox.Bubblewrap} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == sandbox.Landlock && sandbox.ABI() == 0 {
				t.Skip("this system has no Landlock")
			}
			if _, err := exec.LookPath("bwrap"); kind == sandbox.Bubblewrap && err != nil {
				t.Skip("bubblewrap is not installed")
			}
			agents := []string{"claude-2.1.329", "codex-0.169.0"}
			if kind == sandbox.Bubblewrap || !testing.Short() { // usual is that one, and three starts of OpenCode take fifteen seconds of the processor
				agents = append(agents, "opencode-1.18.33")
			}
			eachOf(t, agents, func(t *testing.T, a program) { notAsked(t, kind, a) })
		})
	}
}

func notAsked(t *testing.T, kind string, a program) {
	a = ownSandboxLeft(a)
	var outside string
	n, heard := 0, ""
	p := developed(t, a, func(p *place) *modeltest.Server {
		outside = filepath.Join(p.base, "outside.txt")
		list := append(everyday(), "echo x > "+outside+"; echo went 6")
		return modeltest.New(t, script(func(q modeltest.Request) modeltest.Reply {
			if q.Results {
				heard += q.Last + "\n"
			}
			switch n++; {
			case n <= len(list):
				return modeltest.Do(modeltest.Run(list[n-1]))
			case n == len(list)+1:
				return modeltest.Do(modeltest.Write(filepath.Join(worksIn(t, heard), "hello.txt"), "hello\n"))
			}
			if !strings.Contains(q.Prompt, "You work in a sandbox") {
				t.Errorf("the agent is not told of the sandbox:\n%s", q.Prompt)
			}
			return complete("I wrote it.")
		}))
	})
	// Usual is `auto`, which takes one of them.
	p.env = append(p.env, "RALPH_SANDBOX_KIND="+kind)
	out := p.start("agent").end()
	for i := range len(everyday()) + 1 {
		if !strings.Contains(heard, fmt.Sprintf("went %d", i+1)) {
			t.Errorf("%q did not go well:\n%s", append(everyday(), "the write outside")[i], heard)
		}
	}
	log := p.must(p.ralph, "log", "--json")
	if strings.Contains(log, `"t":"asked"`) || strings.Contains(out, "NEEDS YOU") {
		t.Errorf("somebody was asked:\n%s", out)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Errorf("it was written outside\n%s", out)
	}
	if !strings.Contains(out, "SANDBOX: "+a.name+" of ") || !strings.Contains(out, "may not write "+outside) || strings.Count(log, `"t":"sandbox.refused"`) != 1 {
		t.Errorf("nobody is told once of the write outside:\n%s\n%s", out, heard)
	}
	p.checkHello(out)
}

// worksIn is the folder in which an agent's shell said that it is. With Landlock it is a
// worktree: the checkout is outside then.
func worksIn(t *testing.T, heard string) string {
	t.Helper()
	m := regexp.MustCompile(`went 4 in \[(/[^\]]+)\]`).FindStringSubmatch(heard)
	if m == nil {
		t.Errorf("the agent's shell does not say where it is: %s", heard)
		return t.TempDir()
	}
	return m[1]
}

// ownSandboxLeft is a program without what the other tests do to Codex's own sandbox: here
// ralph knows.
func ownSandboxLeft(a program) program {
	whole := a.agent
	a.agent = func(p *place, path string, m *modeltest.Server) map[string]any {
		spec := whole(p, path, m)
		if a.name == "codex" {
			delete(spec, "args")
		}
		return spec
	}
	return a
}
