package wire

import "testing"

// What runs is what rules see: the shell that codex puts around a command is taken off,
// but only where that is sure.
func TestUnwrapShell(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`/bin/bash -lc 'ls -l'`:                      "ls -l",
		`bash -lc ls`:                                "ls",
		`/bin/zsh -c "echo \"hi\""`:                  `echo "hi"`,
		`/bin/bash -lc 'it'"'"'s'`:                   "it's",
		`/bin/bash -lc 'ls' && rm x`:                 `/bin/bash -lc 'ls' && rm x`,
		`/bin/bash -lc 'ls' x`:                       `/bin/bash -lc 'ls' x`,
		`/bin/bash -lc "ls $(rm x)"`:                 `/bin/bash -lc "ls $(rm x)"`,
		`/bin/bash -lc 'ls`:                          `/bin/bash -lc 'ls`,
		`/bin/bash -x -lc 'ls'`:                      `/bin/bash -x -lc 'ls'`,
		`git status`:                                 "git status",
		"/bin/bash -lc 'a\nb; c'":                    "a\nb; c",
		`/bin/bash -lc a;b`:                          `/bin/bash -lc a;b`,
		`/bin/bash -lc`:                              `/bin/bash -lc`,
		`/bin/bash -lc ''`:                           `/bin/bash -lc ''`,
		`/usr/bin/env bash -lc 'ls'`:                 `/usr/bin/env bash -lc 'ls'`,
		`/bin/sh -c "a\\b"`:                          `a\b`,
		`/bin/bash -lc 'echo a' 'echo b'`:            `/bin/bash -lc 'echo a' 'echo b'`,
		`./bash -lc 'ls'`:                            `./bash -lc 'ls'`,
		`/repo/bin/sh -c ls`:                         `/repo/bin/sh -c ls`,
		`C:\bash.exe -lc 'ls'`:                       `C:\bash.exe -lc 'ls'`,
		"/bin/bash -lc \"echo `id`\"":                "/bin/bash -lc \"echo `id`\"",
		`/bin/bash -lc ` + "'" + `printf "%s"` + "'": `printf "%s"`,
	} {
		if got := UnwrapShell(in); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}
