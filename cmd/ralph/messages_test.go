package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every mistake of the table "messages" of the findings from real life has a script or a test
// that makes it and reads what people are told. A row whose test goes is missed here.
func TestEveryMessageIsRead(t *testing.T) {
	t.Parallel()
	rows := []struct {
		mistake, where string // a file below the root, or the script's name
		reads          string // what stands there
	}{
		{"1 typo in a key", "messages_rows", "did you mean `quality`"},
		{"2 a key twice, a time without unit", "messages_rows", "is there twice"},
		{"3 a tab in the settings", "messages_rows", "indented with a tab"},
		{"4 agent program missing", "messages_rows", "there is no program no-such-agent"},
		{"5 unknown agent name", "messages_rows", "must be one of the agents"},
		{"6 spec not found, path twice", "messages_rows", "write the spec there first; there are"},
		{"7 spec outside", "messages_rows", "leaves ralph/specs"},
		{"8 dirty tree", "messages_rows", "changes that are not committed"},
		{"9 detached HEAD", "messages_rows", "HEAD is detached"},
		{"10 no commits", "messages_rows", "no commits yet"},
		{"11 no repository", "messages", "is not in a git repository: run `git init` first"},
		{"12 before init", "messages", "ralph is not set up in"},
		{"13 unknown task", "messages_rows", "no task t-none in the plan"},
		{"14 unknown gate", "messages_rows", "no open gate g-none"},
		{"15 wrong flag or command", "messages", "must be a whole number"},
		{"16 unknown key on the command line", "messages", "`ralph config show` lists the keys"},
		{"17 empty spec", "messages", "is empty: write down what is to be done"},
		{"18 binary, Latin-1 spec", "messages", "is not UTF-8"},
		{"19 huge spec", "messages_rows", "is larger than 1 MiB: split it"},
		{"20 corrupt file, idle", "messages_rows", "Nothing was changed"},
		{"21 corrupt file, at work", "files", "going on with what it said before"},
		{"22 corrupt journal", "recover_journal", "ralph recover journal"},
		{"23 torn journal", "messages_rows", "printf ''{\"seq\":''"},
		{"24 plan.jsonl deleted", "messages_rows", "was deleted: it came back from the journal"},
		{"25 no test command", "doctor", "-> set quality.commands"},
		{"26 test command hangs", "testgate_names", "did not end within the time limit, 2 times in a row"},
		{"27 agent prints nothing", "progress", "no progress in 3 turns (task.no_progress_turns)"},
		{"28 agent hangs", "agent_start", "the agent ran out of time (tried 3 times)"},
		{"29 agent not executable", "agent_start", "not executable"},
		{"30 bad interpreter", "agent_start", "interpreter"},
		{"31 traceback", "agent_start", "the same again, x3"},
		{"32 git identity missing", "messages_rows", "git does not know who commits here"},
		{"33 git too old", "messages_rows", "is older than 2"},
		{"34 HOME and TERM unset", "messages_rows", "env HOME= TERM= LC_ALL=C"},
		{"35 LC_ALL=C, umlauts", "messages_rows", "Queued: S+ Grün ß.md"},
		{"36 read-only repository", "places_readonly", "the git folder cannot be written"},
		{"37 disk full", "internal/cli/message_test.go", "nothing to repeat"},
		{"38 port in use", "internal/dashboard/server_test.go", "is taken by another program, so it is port "},
		{"39 second engine", "lock", "another engine works in this repository: pid"},
		{"40 lock of another host", "messages", "names no time of a sign of life"},
		{"41 small terminal", "internal/console/watch_test.go", "func TestWatchOnASmallTerminal("},
		{"42 commit hook refuses", "commit_hooks", "COMMIT: refused by a hook of the repository"},
		{"43 red before", "baseline", "BASELINE: red before any work"},
		{"44 401", "away", "me: not logged in, or its key is refused"},
		{"45 codex in a sandbox", "internal/agent/codex_shared_test.go", "set sandbox.kind: auto (then ralph's own keeps it)"},
		{"46 unfinished plan", "messages_rows", "unfinished tasks, from an earlier start"},
	}
	if len(rows) != 46 {
		t.Errorf("%d rows, want 46", len(rows))
	}
	for _, row := range rows {
		text, err := textOf(row.where)
		if err != nil {
			t.Errorf("%s: %v", row.mistake, err)
			continue
		}
		plain := strings.NewReplacer(`\`, "").Replace(text)
		found := false
		for words := range strings.SplitSeq(row.reads, "|") {
			found = found || strings.Contains(text, words) || strings.Contains(plain, words)
		}
		if !found {
			t.Errorf("%s: %s does not read %q", row.mistake, row.where, row.reads)
		}
	}
}

// textOf is a script by its name, or a file or the tests of a folder below the root.
func textOf(where string) (string, error) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*", where+".txtar"))
	if strings.Contains(where, "/") {
		paths = []string{filepath.Join("../..", where)}
		if !strings.HasSuffix(where, ".go") {
			paths, err = filepath.Glob(filepath.Join("../..", where, "*_test.go"))
		}
	}
	if err != nil {
		return "", err
	}
	if len(paths) == 0 {
		return "", fmt.Errorf("there is no script or test %s", where)
	}
	var all strings.Builder
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			return "", err
		}
		all.Write(b)
	}
	return all.String(), nil
}
