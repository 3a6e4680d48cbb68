//go:build corpus

package corpus

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// kindOfWork is what an agent that only develops software runs, and what it needs to be there.
type kindOfWork struct {
	name   string
	needs  []string // a command that works where the tool does
	files  map[string]string
	ignore string
	run    string // NAME is the task
}

func ordinaryWork() []kindOfWork {
	return []kindOfWork{
		{
			"go",
			[]string{"go", "version"},
			map[string]string{"go.mod": "module example.com/sums\n\ngo 1.21\n", "sums.go": "package sums\n\nfunc add(a, b int) int { return a + b }\n", "sums_test.go": "package sums\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif add(1, 2) != 3 {\n\t\tt.Fatal(\"no sum\")\n\t}\n}\n"},
			"/cover.out", "go build ./... && go vet ./... && go test -count=1 -coverprofile=cover.out ./... && gofmt -l .",
		},
		{
			"npm",
			[]string{"npm", "--version"},
			map[string]string{"package.json": "{\"name\": \"sums\", \"version\": \"1.0.0\", \"scripts\": {\"build\": \"node -e \\\"fs.mkdirSync('dist', {recursive: true}); fs.writeFileSync('dist/app.js', '1')\\\"\", \"test\": \"node -e 0\"}, \"dependencies\": {\"part\": \"file:part\"}}\n", "part/package.json": "{\"name\": \"part\", \"version\": \"1.0.0\"}\n", "package-lock.json": "{\"name\": \"sums\", \"version\": \"1.0.0\", \"lockfileVersion\": 3, \"requires\": true, \"packages\": {\"\": {\"name\": \"sums\", \"version\": \"1.0.0\", \"dependencies\": {\"part\": \"file:part\"}}, \"node_modules/part\": {\"resolved\": \"part\", \"link\": true}, \"part\": {\"version\": \"1.0.0\"}}}\n"},
			"node_modules\n/dist", "npm ci --offline --no-audit --no-fund && npm run build && NODE_ENV=production npm test && npm pack --dry-run && test -e node_modules/part && test -e dist/app.js",
		},
		{
			"cargo",
			[]string{"cargo", "--version"},
			map[string]string{"Cargo.toml": "[package]\nname = \"sums\"\nversion = \"1.0.0\"\nedition = \"2021\"\n", "src/lib.rs": "pub fn add(a: u32, b: u32) -> u32 { a + b }\n\n#[test]\nfn adds() { assert_eq!(add(1, 2), 3); }\n"},
			"/target\n/Cargo.lock", "cargo build --offline && cargo test --offline --lib",
		},
		{
			"pytest",
			[]string{"pytest", "--version"},
			map[string]string{"test_password.py": "def test_secret(tmp_path):\n    (tmp_path / 'token').write_text('x')\n"},
			"__pycache__\n.pytest_cache", "pytest -q -k 'password or secret'",
		},
		{
			"script",
			[]string{"tar", "--version"},
			map[string]string{"ci.sh": "set -eu\nout=$(mktemp -d)\ntrap 'rm -rf \"$out\"' EXIT\nmkdir -p build/deploy\ntar -cf \"$out/release.tar\" ci.sh\nmv \"$out/release.tar\" build/deploy/\nchmod 600 build/deploy/release.tar\nfind build -name '*.tar' -exec tar -tf {} +\necho cached > \"${XDG_CACHE_HOME:-$HOME/.cache}/ci\"\n"},
			"/build", "CI=true sh ci.sh",
		},
		{
			"git",
			[]string{"git", "--version"},
			nil, "",
			"git stash -q -u && git stash pop -q && git checkout -q -b fix-NAME && echo NAME > notes-NAME.txt && git add notes-NAME.txt && git commit -qm 'Add password reset' && " +
				"git checkout -q - && git merge -q --no-ff -m 'Merge the fix' fix-NAME && git branch -q -d fix-NAME && git log --oneline -3 && git diff --stat HEAD~1",
		},
		{
			"make",
			[]string{"make", "--version"},
			map[string]string{"Makefile": ".PHONY: all clean\nall: build/sums\nbuild/sums: sums.c.in\n\tmkdir -p build\n\tcp sums.c.in build/sums\nclean:\n\trm -rf build\n", "sums.c.in": "int main(void) { return 0; }\n"},
			"/build", "make clean && make -j2 all && make -n all",
		},
		{"remove", []string{"true"}, nil, "", "mkdir -p build/a && rm -rf build node_modules target dist && find . -name __pycache__ -prune -exec rm -rf {} +"},
	}
}

// An agent that only develops software is never asked, with the tools themselves and the
// settings that users have, in each kind of sandbox; a write outside is refused and told
// (issue 15, Proof: the same eight kinds of ordinary work; point 4).
func TestOrdinaryWork(t *testing.T) {
	for _, kind := range []string{"landlock", "bubblewrap"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			if kind == "landlock" && sandbox.ABI() == 0 || kind == "bubblewrap" && !ralphtest.Bubblewrap() {
				t.Skip("this system has no " + kind)
			}
			l := newLab(t)
			l.check(os.MkdirAll(filepath.Join(l.base, "home/.cache"), 0o755))
			l.rust()
			ignored, run := "", []string{"if echo x > \"$HOME/outside.txt\"; then echo 'a write outside was possible'; exit 1; fi"}
			for _, work := range ordinaryWork() {
				if _, err := exec.LookPath(work.needs[0]); err != nil {
					t.Logf("not tried: there is no %s here", work.needs[0])
					continue
				}
				if out, code := l.run(work.needs...); code != 0 {
					t.Logf("not tried: %s does not work here: %s", work.needs[0], out)
					continue
				}
				l.write(work.files)
				ignored += work.ignore + "\n"
				run = append(run, work.run)
			}
			l.write(map[string]string{".gitignore": ignored})
			l.start()
			l.work(repository{
				name: "ordinary work", only: "agent", refused: filepath.Join(l.base, "home/outside.txt"),
				// Each kind is tried. Go's cache is that of all tests: a cold one costs a minute.
				settings: []string{"sandbox.kind=" + kind, "agents.robo.pass_env=[GOCACHE]"},
				chore: func(name string) chore {
					c := goChore("sums", "")(name)
					for _, line := range run {
						if kind == "landlock" {
							// Not in a worktree with landlock: it wants packed-refs.lock (docs/below-the-agent.md).
							line = strings.Replace(strings.Replace(line, "checkout -q -b fix-NAME", "checkout -q --detach", 1), "git checkout -q - &&", "at=$(git rev-parse HEAD) && git checkout -q - &&", 1)
							line = strings.Replace(strings.Replace(line, "fix-NAME && git branch -q -d fix-NAME", "$at", 1), "git stash -q -u && git stash pop -q && ", "", 1)
						}
						c.Run = append(c.Run, strings.ReplaceAll(line, "NAME", name))
					}
					return c
				},
				more: []string{"notes-" + inPlace + ".txt"},
			})
			// What holds in the sandbox holds because there is one.
			if _, err := os.Stat(filepath.Join(l.base, "home/outside.txt")); err == nil {
				t.Error("the agent wrote outside")
			}
		})
	}
}

// rust gives the lab's home the tools that rustup keeps in the home of whoever runs the
// tests; who may not read that home works without.
func (l *lab) rust() {
	l.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		return // none is installed there
	}
	if _, err := os.Stat(filepath.Join(home, ".rustup")); err == nil {
		l.check(os.Symlink(filepath.Join(home, ".rustup"), filepath.Join(l.base, "home/.rustup")))
	}
}
