package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// counted is a repository in which every process that ralph starts leaves its name: git
// and sh, the only programs in its PATH, are scripts that write it down and then are the
// real ones; the agent writes it down itself. What git starts by itself is git's affair.
type counted struct {
	t        *testing.T
	dir, log string
	env      []string
	ralph    string
}

// wrapper is a program that names itself: git by its command, sh as the shell of a check.
const wrapper = `#!/bin/sh
name=%[1]s
if [ %[1]s = git ]; then
	value=
	for arg in "$@"; do
		if [ "$value" ]; then value=; continue; fi
		case $arg in
		-c | -C) value=1 ;;
		-*) ;;
		*) name="git $arg"; break ;;
		esac
	done
fi
echo "$name" >>'%[2]s'
exec '%[3]s' "$@"
`

func newCounted(t *testing.T, tasks int, settings ...string) *counted {
	t.Helper()
	top := t.TempDir()
	x := &counted{t: t, dir: filepath.Join(top, "repo"), log: filepath.Join(top, "log")}
	ralph, err := exec.LookPath("ralph")
	if err != nil {
		t.Fatal(err)
	}
	x.ralph = ralph
	for _, name := range []string{"git", "sh"} {
		real, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		x.write(filepath.Join(top, "bin", name), fmt.Sprintf(wrapper, name, x.log, real))
	}
	touch, err := exec.LookPath("touch")
	if err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(top, "agent")
	// A file that is as new as git's index makes git look twice: this one is old.
	x.write(agent, fmt.Sprintf("#!/bin/sh\necho \"agent $RALPH_STAGE\" >>'%s'\nif [ \"$RALPH_STAGE\" = verify ]; then printf '```json\\n{\"verdicts\":[]}\\n```\\n'; exit; fi\n"+
		"echo x >\"$RALPH_TASK.txt\"\n'%s' -t 200001010000 \"$RALPH_TASK.txt\"\necho '<ralph>COMPLETE</ralph>'\n", x.log, touch))
	x.env = []string{
		"PATH=" + filepath.Join(top, "bin"), "HOME=" + top, "XDG_CONFIG_HOME=" + top, "TMPDIR=" + top,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}
	x.env = append(x.env, ralphtest.Sandbox()...)
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	x.run("git", "init", "-q", "-b", "main")
	x.run(x.ralph, "init")
	// The delay is no process, and the test would wait for it.
	x.run(append([]string{x.ralph, "config", "edit", "agent.primary=mine", "agents.mine.driver=exec", fmt.Sprintf("agents.mine.command=[%q]", agent), "task.delay=0s"}, settings...)...)
	x.write(filepath.Join(x.dir, "ralph/specs/w.md"), "# W\n\nWrite files.\n")
	for _, name := range []string{"ralph/config.yaml", "ralph/specs/w.md"} {
		if err := os.Chtimes(filepath.Join(x.dir, name), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	x.run("git", "add", "-A")
	x.run("git", "commit", "-q", "-m", "start")
	plan := "{\"t\":\"spec\",\"spec\":\"w.md\"}\n"
	for i := range tasks {
		plan += fmt.Sprintf("{\"t\":\"task\",\"id\":\"t-%d\",\"spec\":\"w.md\",\"name\":\"Write file %d\",\"status\":\"pending\"}\n", 1000+i, i)
	}
	x.write(filepath.Join(x.dir, "ralph/plan.jsonl"), plan)
	return x
}

func (x *counted) write(path, text string) {
	x.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		x.t.Fatal(err)
	}
}

func (x *counted) run(args ...string) {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = x.dir, x.env
	if out, err := cmd.CombinedOutput(); err != nil {
		x.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// count runs one command and counts the processes and the new facts by their names.
func (x *counted) count(args ...string) (processes, facts map[string]int) {
	x.t.Helper()
	if err := os.WriteFile(x.log, nil, 0o644); err != nil {
		x.t.Fatal(err)
	}
	before := x.facts()
	x.run(append([]string{x.ralph}, args...)...)
	text, err := os.ReadFile(x.log)
	if err != nil {
		x.t.Fatal(err)
	}
	processes, facts = map[string]int{}, x.facts()
	for line := range strings.Lines(string(text)) {
		processes[strings.TrimSpace(line)]++
	}
	for kind, n := range before {
		facts[kind] -= n
	}
	return processes, facts
}

func (x *counted) facts() map[string]int {
	x.t.Helper()
	kinds := map[string]int{}
	text, err := os.ReadFile(filepath.Join(x.dir, "ralph/.state/journal.jsonl"))
	if err != nil {
		return kinds // nothing has happened yet
	}
	for line := range strings.Lines(string(text)) {
		var e struct{ T string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			x.t.Fatal(err)
		}
		kinds[e.T]++
	}
	return kinds
}

// each is what one task more costs: the difference between two runs, for each task more.
func each(few, many map[string]int, tasks int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(many)) {
		n := many[name] - few[name]
		switch {
		case name == "git status": // once or twice in the merge worktree, as the clock's tick has it
		case name == "git update-ref" && n%tasks != 0: // one that stays ended, as nobody asked it for two seconds
		case n%tasks != 0:
			words = append(words, fmt.Sprintf("%d/%d %s", n, tasks, name))
		case n != 0:
			words = append(words, fmt.Sprintf("%d %s", n/tasks, name))
		}
	}
	return strings.Join(words, ", ")
}

// F-07: what a task of one turn costs on each path, exactly. Fewer is welcome: write the new
// number down. More is a regression, or has a reason that the commit's message tells.
// A checkout in the same tick of the clock as git's index makes git look once more, which
// is nobody's doing: figures that are not the table's are taken again, twice.
func TestProcessesOfATask(t *testing.T) {
	t.Parallel()
	ralphtest.NeedsTime(t)
	if raceEnabled {
		t.Skip("a ralph built for the detector is so slow that gits which stay end between two steps")
	}
	const none, checks = "quality.commands=[]", "quality.commands=['true']"
	for _, tt := range []struct {
		name, command    string
		settings         []string
		processes, facts string
	}{
		{
			"in place", "construct",
			[]string{none},
			"1 agent build, 1 git add",
			"1 checks.ran, 2 step.started, 1 task.added, 1 task.ended, 1 task.started, 1 turn.ended",
		},
		{
			"in place, with a check", "construct",
			[]string{checks},
			"1 agent build, 1 git add, 1 sh",
			"1 checks.ran, 2 step.started, 1 task.added, 1 task.ended, 1 task.started, 1 turn.ended",
		},
		{
			"in place, a commit each", "construct",
			[]string{none, "task.auto_commit=true"},
			"1 agent build, 1 git add, 1 git commit",
			"1 checks.ran, 1 committed, 3 step.started, 1 task.added, 1 task.ended, 1 task.started, 1 turn.ended",
		},
		{
			"worktree", "autopilot",
			[]string{none, "parallel=1"},
			"1 agent build, 1 git add, 1 git checkout, 1 git commit",
			"1 checks.ran, 1 committed, 1 merge.queued, 1 merged, 1 prepared, 5 step.started, 2 task.added, 2 task.ended, 2 task.started, 1 turn.ended",
		},
		{
			"worktree, with a check", "autopilot",
			[]string{checks, "parallel=1"},
			"1 agent build, 1 git add, 2 git checkout, 1 git commit, 2 sh",
			"1 advanced, 2 checks.ran, 1 committed, 1 merge.queued, 1 merged, 1 prepared, 7 step.started, 2 task.added, 2 task.ended, 2 task.started, 1 turn.ended",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			processes, facts := "", ""
			for range 3 {
				few, fewFacts := newCounted(t, 2, tt.settings...).count(tt.command)
				many, manyFacts := newCounted(t, 4, tt.settings...).count(tt.command)
				if processes, facts = each(few, many, 2), each(fewFacts, manyFacts, 2); processes == tt.processes {
					break
				}
			}
			if processes != tt.processes {
				t.Errorf("a task costs the processes\n\t%s\nwant\n\t%s", processes, tt.processes)
			}
			if facts != tt.facts {
				t.Errorf("a task leaves the facts\n\t%s\nwant\n\t%s", facts, tt.facts)
			}
		})
	}
}

// What a person waits for at the prompt: how many processes a command starts.
func TestProcessesOfACommand(t *testing.T) {
	t.Parallel()
	x := newCounted(t, 2)
	for _, tt := range []struct{ command, want string }{
		{"version", ""},
		{"status", ""},
		{"query tasks", ""},
		{"inbox list", ""},
		{"log", ""},
	} {
		processes, facts := x.count(strings.Fields(tt.command)...)
		if got := each(nil, processes, 1); got != tt.want {
			t.Errorf("ralph %s starts %s, want %q", tt.command, got, tt.want)
		}
		delete(facts, "plan.started") // the first look takes the file of the person in
		delete(facts, "task.added")
		if got := each(nil, facts, 1); got != "" {
			t.Errorf("ralph %s writes %s", tt.command, got)
		}
	}
}
