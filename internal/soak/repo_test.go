//go:build linux && soak

package soak

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// repo is a real repository with ralph's files, an agent that is a shell
// script, and a folder beside it that agents write notes to.
type repo struct {
	t     *testing.T
	root  string // the repository
	notes string // $SOAK of the agents
	home  string
}

// agentHead is the start of every agent: it notes its pid with its start time,
// so that a test can tell it from a later process with the same number.
const agentHead = `# An agent: plans two tasks, does what build.sh says, accepts its work.
note() { echo "$1 $(cut -d' ' -f22 /proc/$1/stat) $RALPH_STAGE $RALPH_SPEC" >> "$SOAK/pids"; }
note $$
case $RALPH_STAGE in
build | resolve) . "$SOAK/build.sh" ;;
plan) cat > /dev/null; . "$SOAK/plan.sh" ;;
*) cat > /dev/null; printf '%s\n' '~~~json' '{"verdicts":[]}' '~~~' | tr '~' '\140' ;;
esac
`

const (
	planTwo = `printf '%s\n' '~~~json' '{"tasks":[{"name":"one"},{"name":"two","deps":["one"]}]}' '~~~' | tr '~' '\140'` + "\n"
	planOne = `printf '%s\n' '~~~json' '{"tasks":[{"name":"one"}]}' '~~~' | tr '~' '\140'` + "\n"
	// buildWell does the work the same way however often it is begun.
	buildWell = `cat > /dev/null
mkdir -p work
echo "work on $RALPH_SPEC" > "work/$RALPH_SPEC.$RALPH_TASK_NAME"
echo '<ralph>COMPLETE</ralph>'
`
)

// setup is what a test wants of its repository.
type setup struct {
	dir   string   // where; "": a temporary folder
	build string   // the agent's work, sh; buildWell
	plan  string   // planOne
	task  string   // more lines below task:
	specs []string // queued: names without .md
	text  string   // of each spec, besides its heading
	// sandbox is sandbox.kind; "": auto, as users have it.
	sandbox string
}

func newRepo(t *testing.T, s setup) *repo {
	t.Helper()
	if s.dir == "" {
		s.dir = t.TempDir()
	}
	base := t.TempDir()
	r := &repo{t: t, root: filepath.Join(s.dir, "repo"), notes: filepath.Join(base, "notes"), home: filepath.Join(base, "home")}
	for _, dir := range []string{r.root, r.notes, r.home} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	r.agent(s.build, s.plan)
	write(t, filepath.Join(r.notes, "agent.sh"), agentHead)
	write(t, r.path("README.md"), "A repository to work in.\n")
	write(t, r.path("check.sh"), "test ! -e broken\n")
	for _, spec := range s.specs {
		write(t, r.path("ralph/specs/"+spec+".md"), "# "+spec+"\n\nDo it.\n"+s.text)
	}
	write(t, r.path("ralph/config.yaml"), fmt.Sprintf(`version: 1
agent:
  primary: soak
  fallback: []
agents:
  soak:
    driver: exec
    command: [sh, '%[1]s/agent.sh']
    env: {SOAK: '%[1]s'}
quality:
  commands: [sh check.sh]
diff:
  empty: off
# agents and hooks note what they do for the test to see
sandbox: {write: ['%[1]s'], kind: %[3]s}
errors:
  retry_base: 10ms
task:
  delay: 0s
%[2]s
`, r.notes, s.task, cmp.Or(s.sandbox, "auto")))
	r.git("init", "-q", "-b", "main", ".")
	write(t, r.path(".git/config"), readAll(t, r.path(".git/config"))+"[user]\nname = soak\nemail = soak@ralph.invalid\n[gc]\nauto = 0\n")
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "start")
	for _, spec := range s.specs {
		r.ok("inbox", "add", spec+".md")
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "queue")
	return r
}

// agent replaces what the agent does from its next start on.
func (r *repo) agent(build, plan string) {
	r.t.Helper()
	if build == "" {
		build = buildWell
	}
	if plan == "" {
		plan = planOne
	}
	write(r.t, filepath.Join(r.notes, "build.sh"), build)
	write(r.t, filepath.Join(r.notes, "plan.sh"), plan)
}

func (r *repo) path(name string) string { return filepath.Join(r.root, name) }

func (r *repo) note(name string) string { return filepath.Join(r.notes, name) }

// env keeps every process away from the person's own settings.
func (r *repo) env() []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "XDG_CONFIG_HOME=" + r.home, "TMPDIR=" + r.home,
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "NO_COLOR=1",
	}, ralphtest.Sandbox()...)
}

func (r *repo) start(args ...string) *child {
	r.t.Helper()
	return startIn(r.t, r.home, r.root, r.env(), append([]string{binary()}, args...)...)
}

func (r *repo) ralph(args ...string) result {
	r.t.Helper()
	return r.start(args...).wait(patience)
}

// ok runs a command that has to end well.
func (r *repo) ok(args ...string) string {
	r.t.Helper()
	return r.exits(0, args...).out
}

func (r *repo) exits(code int, args ...string) result {
	r.t.Helper()
	res := r.ralph(args...)
	if res.code != code {
		r.t.Fatalf("ralph %s: want exit code %d\n%s", strings.Join(args, " "), code, res)
	}
	return res
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	res := startIn(r.t, r.home, r.root, r.env(), append([]string{"git"}, args...)...).wait(patience)
	if res.code != 0 {
		r.t.Fatalf("git %s\n%s", strings.Join(args, " "), res)
	}
	return strings.TrimSuffix(res.out, "\n")
}

// facts is how many complete facts the journal has.
func (r *repo) facts() int {
	b, err := os.ReadFile(r.path("ralph/.state/journal.jsonl"))
	if err != nil {
		return 0
	}
	return bytes.Count(b, []byte("\n"))
}

// fact is a line of the journal, as far as the tests look.
type fact struct {
	T    string `json:"t"`
	Seq  int    `json:"seq"`
	Fact json.RawMessage
}

// find returns the bodies of the facts of a kind.
func (r *repo) find(kind string) []string {
	r.t.Helper()
	var found []string
	for line := range strings.Lines(readAll(r.t, r.path("ralph/.state/journal.jsonl"))) {
		var f fact
		if json.Unmarshal([]byte(line), &f) == nil && f.T == kind {
			found = append(found, line)
		}
	}
	return found
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// inbox is the status of every record, by id.
func (r *repo) inbox() map[string]string {
	r.t.Helper()
	var records []struct{ ID, Status string }
	out := r.ok("query", "inbox")
	if err := json.Unmarshal([]byte(out), &records); err != nil {
		r.t.Fatalf("query inbox: %v\n%s", err, out)
	}
	byID := map[string]string{}
	for _, x := range records {
		if byID[x.ID] != "" {
			r.t.Errorf("id %s stands twice in the inbox", x.ID)
		}
		byID[x.ID] = x.Status
	}
	return byID
}

// status is the status of the plan's tasks, by name.
func (r *repo) tasks() map[string]string {
	r.t.Helper()
	var tasks []struct{ Name, Status string }
	out := r.ok("query", "tasks")
	if err := json.Unmarshal([]byte(out), &tasks); err != nil {
		r.t.Fatalf("query tasks: %v\n%s", err, out)
	}
	byName := map[string]string{}
	for _, x := range tasks {
		byName[x.Name] = x.Status
	}
	return byName
}

// dirty lists what git sees as changed outside ralph/.
func (r *repo) dirty() string {
	r.t.Helper()
	return r.git("status", "--porcelain", "--", ".", ":(exclude)ralph")
}

// checkFinished is what has to hold after any number of crashes once an engine
// has come to its end: each spec done and committed exactly once, with its work
// in it, nothing left over (D-059 to D-064, product.md 8).
func (r *repo) checkFinished(specs ...string) {
	r.t.Helper()
	inbox := r.inbox()
	if len(inbox) != len(specs) {
		r.t.Errorf("%d records in the inbox, want %d", len(inbox), len(specs))
	}
	for id, status := range inbox {
		if status != "done" {
			r.t.Errorf("spec %s is %s, want done", id, status)
		}
	}
	var want []string
	for _, spec := range specs {
		want = append(want, "ralph: complete "+spec)
	}
	subjects := strings.Fields(strings.ReplaceAll(r.git("log", "--reverse", "--format=%s", ":/^queue..HEAD"), " ", "_"))
	for i := range subjects {
		subjects[i] = strings.ReplaceAll(subjects[i], "_", " ")
	}
	if !slices.Equal(subjects, want) {
		r.t.Errorf("commits %q, want %q", subjects, want)
	}
	receipts := strings.Fields(r.git("log", "--format=%(trailers:key=Ralph-Receipt,valueonly)", ":/^queue..HEAD"))
	slices.Sort(receipts)
	if len(receipts) != len(specs) || len(slices.Compact(slices.Clone(receipts))) != len(specs) {
		r.t.Errorf("receipts %q, want one each for %d commits", receipts, len(specs))
	}
	for _, spec := range specs {
		if got := r.git("ls-tree", "-r", "--name-only", "HEAD", "work"); !strings.Contains(got, spec+".md.one") {
			r.t.Errorf("the work on %s is not in the last commit:\n%s", spec, got)
		}
	}
	r.checkTidy()
}

// checkTidy is what holds at the end of every session, however it went.
func (r *repo) checkTidy() {
	r.t.Helper()
	if dirty := r.dirty(); dirty != "" {
		r.t.Errorf("the work tree is not clean:\n%s", dirty)
	}
	if stashes := r.git("stash", "list"); stashes != "" {
		r.t.Errorf("stashes: %s", stashes)
	}
	if exists(r.path("ralph/.agent-session")) {
		r.t.Error("ralph/.agent-session is there after a normal end (D-061)")
	}
	r.checkReplay()
	r.checkGone(r.pids())
}

func (r *repo) checkReplay() {
	r.t.Helper()
	res := r.ralph("replay")
	if res.code != 0 || !strings.Contains(res.out, " 0 differ") {
		r.t.Errorf("ralph replay: %s", res)
	}
}

// noted is a process that an agent noted: its number as the agent sees it, in a sandbox
// with numbers of its own, and the folder of notes that all of its agent's have in their environment.
type noted struct {
	pid   int
	start string
	line  string
	notes string
}

func (r *repo) pids() []noted { return r.notedIn("pids") }

func (r *repo) notedIn(file string) []noted {
	var list []noted
	b, _ := os.ReadFile(r.note(file))
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		if pid, err := strconv.Atoi(f[0]); err == nil {
			list = append(list, noted{pid, f[1], strings.TrimSpace(line), r.notes})
		}
	}
	return list
}

// alive reports whether it is there, and no zombie.
func (n noted) alive() bool { return len(alive([]noted{n})) > 0 }

// alive are those of a list that are there, and no zombies: what is running is looked at once
// for all of them.
func alive(list []noted) []noted {
	var out []noted
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, proc := range all {
		f := statOf(proc)
		for _, n := range list {
			if n.has(proc, f) && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// is reports whether a folder of /proc is that very process's.
func (n noted) is(proc string) bool { return n.has(proc, statOf(proc)) }

// has is the same, for a folder whose fields are known.
func (n noted) has(proc string, f []string) bool {
	if len(f) < 20 || f[19] != n.start || f[0] == "Z" || f[0] == "X" {
		return false
	}
	if filepath.Base(proc) == strconv.Itoa(n.pid) {
		return true
	}
	env, _ := os.ReadFile(filepath.Join(proc, "environ"))
	status, _ := os.ReadFile(filepath.Join(proc, "status"))
	_, numbers, _ := strings.Cut(string(status), "\nNSpid:")
	numbers, _, _ = strings.Cut(numbers, "\n")
	inner := strings.Fields(numbers)
	return len(inner) > 1 && inner[len(inner)-1] == strconv.Itoa(n.pid) && bytes.Contains(env, []byte(n.notes))
}

// statOf are the fields of a process from its state on, none when it is gone.
func statOf(proc string) []string {
	b, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

func (r *repo) checkGone(list []noted) {
	r.t.Helper()
	for _, n := range alive(list) {
		r.t.Errorf("process %d of an agent is still alive (%s)", n.pid, n.line)
	}
}
