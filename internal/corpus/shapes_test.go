//go:build corpus

package corpus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// shapes are repositories that are not as most are, with the files of minimist.
func shapes() []repository {
	return []repository{
		oddNames(), commitHooks(), submodule(), largeFiles(), sparse(), partial(), sparseAndPartial(), shallow(), worktreeSettings(),
		lineEnds(), links(),
		{
			name: "20,000 files", large: true,
			make: func(l *lab) {
				minimist(l, ".")
				for n := range 20_000 {
					dir := fmt.Sprintf("%s/data/%02d/%02d", l.dir, n%40, n/40%50)
					if n < 2_000 {
						l.check(os.MkdirAll(dir, 0o755))
					}
					l.check(os.WriteFile(fmt.Sprintf("%s/%d.txt", dir, n), fmt.Appendf(nil, "record %d\n", n), 0o644))
				}
				l.start()
			},
			chore: with(nodeTest(""), func(name string) ([]edit, []string) {
				return []edit{{Path: "data/07/07/287.txt", Text: name + "\n", End: true}}, nil // three at one place
			}),
		},
		{
			name: "SHA-256",
			make: func(l *lab) {
				l.git("init", "-q", "--object-format=sha256")
				minimist(l, ".")
				l.start()
			},
			chore: nodeTest(""),
			after: func(l *lab) { l.has("an object's id", len(l.git("rev-parse", "HEAD")) == 64) },
		},
	}
}

func (l *lab) has(what string, ok bool) {
	l.Helper()
	if !ok {
		l.Errorf("%s is not as it was", what)
	}
}

// with is a chore that does more in its second turn.
func with(of func(string) chore, more func(name string) ([]edit, []string)) func(string) chore {
	return func(name string) chore {
		c := of(name)
		edits, run := more(name)
		c.Green, c.Run = append(c.Green, edits...), run
		return c
	}
}

func oddNames() repository {
	const folder = "Spaß mit Äpfeln 日本/it's \"quoted\" [x] *\t"
	return repository{
		name: "odd names",
		make: func(l *lab) {
			dir := filepath.Join(l.base, "Spaß mit Äpfeln 日本")
			l.check(os.Rename(l.dir, dir))
			l.dir = dir
			minimist(l, ".")
			l.write(map[string]string{folder + "/-n.txt": "here\n"})
			l.start()
		},
		chore: with(nodeTest(""), func(name string) ([]edit, []string) {
			return []edit{{Path: folder + "/" + name + "\n.txt", Text: name + "\n"}}, nil
		}),
	}
}

func commitHooks() repository {
	return repository{
		name: "commit hooks",
		make: func(l *lab) {
			minimist(l, ".")
			l.start()
			// As formatters do that run before a commit: they change the file, and refuse once.
			l.hook("pre-commit", `code=0
for f in $(git diff --cached --name-only --diff-filter=AM -- lib); do
	if grep -q ' $' "$f"; then sed -i 's/ *$//' "$f"; echo "formatted $f"; code=1; fi
done
exit $code`)
			l.hook("commit-msg", `grep -Eq '^(PROJ-[0-9]+|Merge) ' "$1" || { echo 'no ticket in the subject'; exit 1; }`)
		},
		chore: nodeChore("", "lib/NAME.js", "spec/NAME.test.js", "module.exports = () => VALUE;   \n",
			"const test = require('node:test');\nconst assert = require('node:assert');\n\ntest('NAME answers one', () => assert.strictEqual(require('../lib/NAME')(), 1));\n"),
		settings: []string{"commit.message=PROJ-123 {summary}"}, // the hook wants it
		after: func(l *lab) {
			l.has("the form of files", !strings.Contains(l.git("show", "HEAD:lib/alpha.js")+l.git("show", "HEAD:lib/beta.js"), "; "))
			for line := range strings.Lines(l.git("log", "--format=%s", "-6")) {
				l.has("the ticket of "+line, strings.HasPrefix(line, "PROJ-"))
			}
		},
	}
}

func (l *lab) hook(name, script string) {
	l.Helper()
	l.check(os.WriteFile(filepath.Join(l.dir, ".git/hooks", name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
}

func submodule() repository {
	return repository{
		name: "a submodule",
		make: func(l *lab) {
			outer := l.dir
			l.dir = filepath.Join(l.base, "lib")
			l.check(os.Mkdir(l.dir, 0o755))
			minimist(l, ".")
			l.start()
			l.git("clone", "-q", "--bare", ".", "../lib.git")
			l.dir = outer
			minimist(l, ".")
			l.start()
			l.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib.git", "vendor/lib")
			// Its tests need the submodule's files.
			l.write(map[string]string{"spec/vendor.test.js": "const test = require('node:test');\n\ntest('vendor is there', () => require('../vendor/lib'));\n"})
			l.git("remote", "add", "origin", filepath.Join(l.base, "gone.git"))
			l.git("add", "-A")
			l.git("commit", "-q", "-m", "With a library")
		},
		chore: with(nodeTest(""), func(name string) ([]edit, []string) {
			if name == "gamma" || name == "delta" { // two that move it conflict, and are a person's to decide
				return nil, nil
			}
			return nil, []string{fmt.Sprintf("cd vendor/lib; test -e %[1]s.txt || { echo %[1]s > %[1]s.txt; git add -A; git commit -qm %[1]s; }", name)}
		}),
		more: []string{"vendor/lib"},
		follow: func(l *lab, out string) {
			if !strings.Contains(out, "LAND: `git submodule update` brings along what your checkout has of vendor/lib") {
				l.Errorf("nothing says that the submodule stays behind:\n%s", out)
			}
			l.git("submodule", "--quiet", "update", "--no-fetch")
		},
		after: func(l *lab) {
			for _, name := range []string{"alpha", "beta"} {
				_, err := os.Stat(filepath.Join(l.dir, "vendor/lib", name+".txt"))
				l.has("what was committed in the submodule by "+name, err == nil)
			}
		},
	}
}

func largeFiles() repository {
	return repository{
		name: "Git LFS", needs: []string{"git-lfs"},
		make: func(l *lab) {
			l.git("init", "-q")
			l.git("lfs", "install", "--local")
			l.git("lfs", "track", "*.bin")
			minimist(l, ".")
			l.write(map[string]string{"old.bin": strings.Repeat("old", 1000)})
			l.start()
		},
		chore: with(nodeTest(""), func(name string) ([]edit, []string) {
			return []edit{{Path: name + ".bin", Text: strings.Repeat(name, 1000)}}, nil
		}),
		after: func(l *lab) {
			l.git("lfs", "fsck")
			for _, name := range []string{"old", "alpha", "beta", "gamma", "delta"} {
				text, err := os.ReadFile(filepath.Join(l.dir, name+".bin"))
				l.check(err)
				l.has("the content of "+name, string(text) == strings.Repeat(name, 1000))
				l.has("the pointer of "+name, strings.HasPrefix(l.git("show", "HEAD:"+name+".bin"), "version https://git-lfs"))
			}
		},
	}
}

// outside are files that a sparse checkout leaves out.
func (l *lab) outside() {
	l.Helper()
	for n := range 20 {
		l.write(map[string]string{fmt.Sprintf("outside/%d/text.txt", n): fmt.Sprintf("not here %d\n", n)})
	}
}

func (l *lab) stillSparse() {
	l.Helper()
	_, err := os.Stat(filepath.Join(l.dir, "outside"))
	l.has("what the sparse checkout leaves out", errors.Is(err, os.ErrNotExist))
	l.has("the list of what is left out", strings.Count(l.git("ls-files", "-t", "--", "outside"), "S outside/") == 20)
	l.has("what main holds outside of it", len(strings.Fields(l.git("ls-tree", "-r", "--name-only", "HEAD", "outside"))) == 20)
}

func sparse() repository {
	return repository{
		name: "a sparse checkout with a sparse index",
		make: func(l *lab) {
			minimist(l, ".")
			l.outside()
			l.start()
			l.git("sparse-checkout", "set", "--cone", "--sparse-index", "lib", "spec")
		},
		chore: nodeTest(""),
		after: (*lab).stillSparse,
	}
}

// origin makes a repository with a history that others clone, and empties l.dir for that.
func (l *lab) origin() (url string) {
	l.Helper()
	minimist(l, ".")
	l.outside()
	l.start()
	for _, text := range []string{"one\n", "two\n"} {
		l.write(map[string]string{"history.txt": text})
		l.git("add", "-A")
		l.git("commit", "-q", "-m", text)
	}
	at := filepath.Join(l.base, "origin.git")
	l.git("clone", "-q", "--bare", ".", at)
	l.git("-C", at, "config", "uploadpack.allowFilter", "true")
	l.check(errors.Join(os.RemoveAll(l.dir), os.Mkdir(l.dir, 0o755)))
	return "file://" + at
}

// gone takes the other side away: what ralph does needs no network.
func (l *lab) gone() {
	l.Helper()
	l.check(os.Rename(filepath.Join(l.base, "origin.git"), filepath.Join(l.base, "gone.git")))
}

func (l *lab) stillPartial() {
	l.Helper()
	l.has("what the clone leaves out", strings.Contains("\n"+l.git("rev-list", "--objects", "--all", "--missing=print"), "\n?"))
	l.check(os.Rename(filepath.Join(l.base, "gone.git"), filepath.Join(l.base, "origin.git")))
	l.git("push", "-q", "origin", "main")
	l.git("-C", filepath.Join(l.base, "origin.git"), "fsck", "--full", "--strict")
}

func partial() repository {
	return repository{
		name: "a partial clone, its origin gone",
		make: func(l *lab) {
			l.git("clone", "-q", "--filter=blob:none", l.origin(), ".")
			l.gone()
		},
		chore: nodeTest(""),
		after: (*lab).stillPartial,
	}
}

func sparseAndPartial() repository {
	return repository{
		name: "a sparse and partial clone, its origin gone",
		make: func(l *lab) {
			l.git("clone", "-q", "--filter=blob:none", "--sparse", l.origin(), ".")
			l.git("sparse-checkout", "set", "lib", "spec")
			l.gone()
		},
		chore: nodeTest(""),
		after: func(l *lab) {
			l.stillSparse()
			l.stillPartial()
		},
	}
}

func shallow() repository {
	return repository{
		name: "a shallow clone",
		make: func(l *lab) {
			l.git("clone", "-q", "--depth=1", l.origin(), ".")
			l.gone()
		},
		chore: nodeTest(""),
		after: func(l *lab) { l.has("the depth", l.git("rev-parse", "--is-shallow-repository") == "true") },
	}
}

// worktreeSettings has what git needs to commit, and what files look like, in the settings of
// this checkout alone.
func worktreeSettings() repository {
	return repository{
		name: "settings of a worktree",
		make: func(l *lab) {
			l.check(os.WriteFile(filepath.Join(l.base, "home/.gitconfig"), []byte("[init]\n\tdefaultBranch = main\n[user]\n\tuseConfigOnly = true\n"), 0o644))
			minimist(l, ".")
			l.git("init", "-q")
			l.git("config", "extensions.worktreeConfig", "true")
			l.git("config", "--worktree", "user.name", "Of this checkout")
			l.git("config", "--worktree", "user.email", "here@ralph.invalid")
			l.git("config", "--worktree", "core.fileMode", "false")
			l.start()
		},
		chore: nodeTest(""),
		after: func(l *lab) {
			for line := range strings.Lines(l.git("log", "--format=%an")) {
				l.has("who commits", strings.TrimSpace(line) == "Of this checkout")
			}
		},
	}
}

func lineEnds() repository {
	return repository{
		name: "CRLF and .gitattributes",
		make: func(l *lab) {
			l.git("init", "-q")
			l.git("config", "core.autocrlf", "true")
			minimist(l, ".")
			l.write(map[string]string{".gitattributes": "* text=auto\n*.bat eol=crlf\n*.sh eol=lf\n*.raw -text\n", "run.bat": "rem run\r\n", "run.sh": "true\n", "as.raw": "as\r\nis\n"})
			l.start()
			// What is there is what git would write, as in a fresh clone.
			l.git("rm", "-q", "-r", "--cached", ".")
			l.git("reset", "-q", "--hard")
		},
		chore: with(nodeTest(""), func(name string) ([]edit, []string) {
			return []edit{{Path: name + ".bat", Text: "rem " + name + "\r\n"}}, nil
		}),
		after: func(l *lab) {
			l.has("lines in git", !strings.Contains(l.git("show", "HEAD:run.bat")+l.git("show", "HEAD:alpha.bat")+l.git("show", "HEAD:beta.bat"), "\r"))
			for name, want := range map[string]string{"run.bat": "rem run\r\n", "alpha.bat": "rem alpha\r\n", "beta.bat": "rem beta\r\n", "run.sh": "true\n", "as.raw": "as\r\nis\n"} {
				text, err := os.ReadFile(filepath.Join(l.dir, name))
				l.check(err)
				l.has("lines of "+name, string(text) == want)
			}
		},
	}
}

func links() repository {
	return repository{
		name: "symbolic links",
		make: func(l *lab) {
			minimist(l, ".")
			l.check(errors.Join(os.Symlink("lib", filepath.Join(l.dir, "source")), os.Symlink("nowhere", filepath.Join(l.dir, "broken")),
				os.Symlink("../spec", filepath.Join(l.dir, "example/up")), os.Mkdir(filepath.Join(l.dir, "lib"), 0o755)))
			l.write(map[string]string{"lib/.keep": ""})
			l.start()
		},
		chore: with(nodeTest(""), func(name string) ([]edit, []string) {
			return []edit{{Path: "target-" + name, Text: name}}, []string{"ln -sfn target-" + name + " link-" + name}
		}),
		more: []string{"link-alpha", "link-beta", "link-gamma", "link-delta"},
		after: func(l *lab) {
			for _, name := range []string{"source", "broken", "link-alpha", "link-beta"} {
				info, err := os.Lstat(filepath.Join(l.dir, name))
				l.check(err)
				l.has("the link "+name, info.Mode()&os.ModeSymlink != 0 && strings.HasPrefix(l.git("ls-tree", "HEAD", name), "120000"))
			}
		},
	}
}
