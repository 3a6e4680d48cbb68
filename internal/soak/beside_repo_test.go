//go:build linux && soak

package soak

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// deskAgent works as agents do: slowly, with new files and a file that is there, and with
// commits of its own now and then. It does its work the same way however often it is begun.
const deskAgent = `cat > /dev/null
F="work/$RALPH_SPEC.$RALPH_TASK_NAME"
sleep 0.$DELAY
mkdir -p work
echo "work on $RALPH_SPEC $RALPH_TASK_NAME" > "$F"
if test -n "$TOUCHES"; then
	grep -qxF "$RALPH_TASK_NAME of $RALPH_SPEC" touched.txt 2> /dev/null || echo "$RALPH_TASK_NAME of $RALPH_SPEC" >> touched.txt
fi
if test -n "$COMMITS"; then
	git add "$F"
	git commit -q -m "agent: $RALPH_TASK_NAME" -- "$F" || true
fi
sleep 0.$DELAY
echo '<ralph>COMPLETE</ralph>'
`

// backend is a checkout at which a person works beside ralph, with a remote and a colleague.
type backend struct {
	*repo
	random  *rand.Rand
	command string
	tracked bool // plan.jsonl and inbox.jsonl are in git (ralph init --share)
	engine  *child
	kills   int
	tasks   int // of autopilot's plan
	trace   []string

	n      int               // names what is made
	half   map[string]string // files that are half saved: their whole text
	back   string            // the branch that the last engine wants to land on, and is not checked out
	asked  map[string]bool   // gates that were let pass once
	spoilt bool              // a file could not be read while the engine that runs did
	stash  []string          // what was in the list of stashes after the last act
	tokens map[string]string // lines of the person: the file that they were written into
	head   string            // what HEAD named after the last act
	staged string            // what the index had of the person's files then
	refs   map[string][]string
	others map[string]string // commits that are not ralph's or its agents': subject
}

func newBeside(t *testing.T, random *rand.Rand) *backend {
	t.Helper()
	b := &backend{
		repo: newRepo(t, setup{plan: planTwo}), random: random, half: map[string]string{}, tokens: map[string]string{},
		refs: map[string][]string{}, others: map[string]string{}, tasks: 4, asked: map[string]bool{},
	}
	b.command = []string{"agent", "autopilot"}[random.IntN(2)]
	b.tracked = random.IntN(2) == 0
	vars := fmt.Sprintf("DELAY=%02d TOUCHES=", 2+random.IntN(28))
	if b.command == "agent" && random.IntN(2) == 0 {
		vars += "1"
	}
	vars += " COMMITS="
	if random.IntN(3) == 0 {
		vars += "1"
	}
	b.agent(strings.ReplaceAll(vars, " ", "\n")+"\n"+deskAgent, planTwo)
	config := readAll(t, b.path("ralph/config.yaml"))
	if b.command == "autopilot" {
		config += "parallel: 2\n"
	}
	write(t, b.path("ralph/config.yaml"), config)
	args := []string{"init"}
	if b.tracked {
		args = append(args, "--share")
	}
	b.ok(args...)
	for n := range 3 {
		write(t, b.path(fmt.Sprintf("src/%d.txt", n)), "start\n")
	}
	write(t, b.path("touched.txt"), "start\n")
	for _, spec := range []string{"first", "second"} {
		write(t, b.path("ralph/specs/"+spec+".md"), "# "+spec+"\n\nDo it.\n")
	}
	b.fill()
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "begin")
	b.git("clone", "-q", "--bare", ".", "../origin.git")
	b.git("remote", "add", "origin", "../origin.git")
	b.git("fetch", "-q", "origin")
	b.git("branch", "-q", "-u", "origin/main")
	b.git("clone", "-q", "../origin.git", "../colleague")
	b.gitIn("../colleague", "config", "user.name", "colleague")
	b.gitIn("../colleague", "config", "user.email", "colleague@ralph.invalid")
	b.seen()
	return b
}

// fill queues the work.
func (b *backend) fill() {
	b.t.Helper()
	if b.command == "agent" {
		b.ok("inbox", "add", "first.md")
		b.ok("inbox", "add", "second.md")
		return
	}
	plan := `{"t":"spec","spec":"first.md"}` + "\n"
	for n := range b.tasks {
		p := planned{T: "task", ID: fmt.Sprintf("t-%d", 1000+n), Spec: "first.md", Name: fmt.Sprintf("task-%d", n), Status: "pending"}
		if n == 3 {
			p.Deps = []string{"t-1000"}
		}
		line, err := json.Marshal(p)
		must(b.t, err)
		plan += string(line) + "\n"
	}
	write(b.t, b.path("ralph/plan.jsonl"), plan)
}

func (b *backend) note(format string, args ...any) {
	b.trace = append(b.trace, fmt.Sprintf("%4d ", b.facts())+fmt.Sprintf(format, args...))
}

// env has ralph in PATH, as people have it: git calls it to merge its files.
func (b *backend) env() []string {
	env := b.repo.env()
	for i, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env[i] = "PATH=" + filepath.Dir(binary()) + ":" + path
		}
	}
	return env
}

// gitIn runs git in a folder beside the checkout; what it cannot do fails the test.
func (b *backend) gitIn(dir string, args ...string) {
	b.t.Helper()
	b.git(append([]string{"-C", dir}, args...)...)
}

// try runs git as a person does: it may be refused.
func (b *backend) try(args ...string) (string, bool) {
	b.t.Helper()
	res := startIn(b.t, b.home, b.root, b.env(), append([]string{"git"}, args...)...).wait(most)
	if res.code != 0 {
		b.note("git %s: %s", strings.Join(args, " "), strings.ReplaceAll(strings.TrimSpace(res.errs+res.out), "\n", " | "))
		return res.out, false
	}
	b.note("git %s", strings.Join(args, " "))
	return res.out, true
}

// keep leaves the repository of a failed test where SOAK_KEEP says.
func (b *backend) keep(seed uint64) {
	dir := os.Getenv("SOAK_KEEP")
	if dir == "" {
		return
	}
	dir = filepath.Join(dir, fmt.Sprint(seed))
	must(b.t, os.MkdirAll(dir, 0o755))
	startIn(b.t, b.home, dir, b.env(), "cp", "-a", b.root, b.notes, dir).wait(most)
}
