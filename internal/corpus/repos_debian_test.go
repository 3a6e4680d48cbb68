//go:build corpus

package corpus

import (
	"os"
	"path/filepath"
	"strings"
)

func debianRepositories() []repository {
	return []repository{
		{
			name: "figlet 2.2.5 of Debian, make and C", needs: []string{"make", "gcc"},
			make: func(l *lab) {
				l.debianSource("figlet")
				l.write(map[string]string{".gitignore": "*.o\n/figlet\n/chkfont\n/tests.log\n"})
				l.start()
			},
			chore: func(name string) chore {
				code := map[string]string{"alpha": "11", "beta": "12", "gamma": "13", "delta": "14"}[name]
				return chore{
					Red: []edit{
						{Path: "tests/res1" + code + ".txt", Text: name + "\n"},
						{Path: "run-tests.sh", At: "rm -f", Text: "run_test 1" + code + " \"" + name + " is known\" \"$CMD -I" + code + "\"\n"},
					},
					Green: []edit{{Path: "figlet.c", At: "    case 1: /* Version (integer) */", Text: "    case " + code + ": printf(\"" + name + "\\n\"); break;\n"}},
					Told:  name + ` is known\.\.\. \*\*fail\*\*`,
				}
			},
			// There is no target `test` to detect.
			settings: []string{"quality.commands=[make all, make check]"},
		},
		{
			name: "Try::Tiny 0.31 of Debian, prove", needs: []string{"prove"},
			make: func(l *lab) {
				l.debianSource("libtry-tiny-perl")
				l.start()
			},
			chore: func(name string) chore {
				code, pkg := "lib/Try/Tiny/Corpus_"+name+".pm", "Try::Tiny::Corpus_"+name
				return chore{
					Red: []edit{
						{Path: code, Text: "package " + pkg + ";\nsub answer { 0 }\n1;\n"},
						{Path: "t/corpus_" + name + ".t", Text: "use strict;\nuse warnings;\nuse Test::More tests => 1;\nuse " + pkg + ";\nis(" + pkg + "::answer(), 1, '" + name + " answers one');\n"},
					},
					Green: []edit{
						{Path: code, Text: "package " + pkg + ";\nsub answer { 1 }\n1;\n"},
						{Path: "Changes", At: "0.31 ", Text: name + " was added.\n"}, // three at the same place
					},
					Told: name + " answers one",
				}
			},
			// Perl's distributions say in no file how their tests are run.
			settings: []string{"test.command=prove -l t"},
		},
		{
			// Byte code in git, which each run of the tests writes anew (R-H1).
			name: "toolz 0.12.0 of Debian, pytest, byte code in git", needs: []string{"pytest"},
			make: func(l *lab) {
				l.debianSource("toolz")
				l.must("rm", "-f", ".gitignore") // it knows about byte code
				l.write(map[string]string{"pytest.ini": "[pytest]\npythonpath = .\naddopts = -p no:cacheprovider\ntestpaths = toolz\n"})
				l.must("pytest", "-q")
				l.start()
				if tracked := l.git("ls-files", "*.pyc"); tracked == "" {
					l.Fatal("no byte code is in git")
				}
			},
			chore: func(name string) chore {
				code := "toolz/corpus_" + name + ".py"
				return chore{
					Red: []edit{
						{Path: code, Text: "def answer():\n    return 0\n"},
						{Path: "toolz/tests/test_corpus_" + name + ".py", Text: "from toolz.corpus_" + name + " import answer\n\n\ndef test_" + name + "_answers_one():\n    assert answer() == 1\n"},
					},
					Green: []edit{{Path: code, Text: "def answer():\n    return 1  # " + name + "\n"}},
					Told:  "test_" + name + "_answers_one",
				}
			},
		},
		{
			name: "a shell project, bats", needs: []string{"bats", "make"},
			make: func(l *lab) {
				l.write(map[string]string{
					"Makefile":        ".PHONY: test\ntest:\n\tbats test\n",
					"bin/greet":       "#!/bin/sh\n. \"$(dirname \"$0\")/../lib/words.sh\"\nhello \"$1\"\n",
					"lib/words.sh":    "hello() { echo \"Hello, $1\"; }\n",
					"test/greet.bats": "@test \"greets\" {\n  [ \"$(bin/greet World)\" = \"Hello, World\" ]\n}\n",
				})
				l.check(os.Chmod(filepath.Join(l.dir, "bin/greet"), 0o755))
				l.start()
			},
			chore: func(name string) chore {
				tool := func(says string) edit {
					return edit{Path: "bin/" + name, Text: "#!/bin/sh\necho " + says + "\n", Mode: 0o755}
				}
				return chore{
					Red: []edit{
						tool("nothing"), {Path: "test/" + name + ".bats", Text: "@test \"" + name + " answers one\" {\n  [ \"$(bin/" + name + ")\" = " + strings.ToUpper(name) + " ]\n}\n"},
					},
					Green: []edit{tool(strings.ToUpper(name))},
					Told:  "not ok .*" + name + " answers one",
				}
			},
		},
	}
}
