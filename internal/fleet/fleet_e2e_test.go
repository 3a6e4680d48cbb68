//go:build fleet && linux

package fleet_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A fleet of real processes on this machine: a Temporal server, a coordinator, workers, each with
// a home of its own, over a bare remote. `make e2e-fleet` builds the server and names it.

// land is where one test happens.
type land struct {
	t      *testing.T
	dir    string
	bin    string
	server string
	env    []string
	procs  map[string]*exec.Cmd
	inside map[string][]string // what puts a process into the network that it has
	mu     sync.Mutex

	patience time.Duration // only a hang takes longer
}

// keyed gives a fleet a key: what is small travels as a parcel then, all else as without one.
const keyed = "RALPH_FLEET_KEY=AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

const setupConfig = `version: 1
agent: {primary: mine, fallback: []}
agents:
  mine: {driver: scripted, scenario: %q}
quality: {commands: ["test -e README"]}
sandbox: {extra_write: [%q]}
parallel: 4
`

func newLand(t *testing.T, rules string, tasks int, more ...string) *land {
	t.Helper()
	server := os.Getenv("RALPH_E2E_TEMPORAL")
	if server == "" {
		t.Skip("no Temporal server: `make e2e-fleet` builds one and says where it is (RALPH_E2E_TEMPORAL)")
	}
	l := &land{t: t, dir: t.TempDir(), procs: map[string]*exec.Cmd{}, inside: map[string][]string{}, patience: 90 * time.Second}
	l.bin = filepath.Join(l.dir, "bin")
	build := exec.Command("go", "build", "-o", l.bin+"/", "github.com/ralph-loop/ralph/cmd/ralph", "github.com/ralph-loop/ralph/cmd/ralph-fleet")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	address := freePort(t)
	l.server = address
	l.env = append([]string{
		"PATH=" + l.bin + ":" + os.Getenv("PATH"), "HOME=" + l.path("home"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + l.path("gitconfig"),
		"TEMPORAL_ADDRESS=" + address, "RALPH_FLEET_HEARD=3s", "TMPDIR=" + l.path("tmp"), "RALPH_MARK=" + l.dir,
	}, more...)
	for _, d := range []string{"home", "tmp", "work", "count"} {
		must(t, os.MkdirAll(l.path(d), 0o700))
	}
	l.write("gitconfig", "[user]\nname = T\nemail = t@example.com\n[init]\ndefaultBranch = main\n")
	l.write("scenario.yaml", "about: fleet\nrules:\n"+rules)
	l.run(l.dir, "git", "init", "-q", "--bare", "hub.git")
	work := l.path("work")
	l.run(work, "git", "init", "-q")
	l.write("work/README", "hello\n")
	l.run(work, "git", "add", "-A")
	l.run(work, "git", "commit", "-q", "-m", "start")
	l.run(work, "git", "remote", "add", "origin", l.path("hub.git"))
	l.run(work, "ralph", "init")
	l.write("work/ralph/config.yaml", fmt.Sprintf(setupConfig, l.path("scenario.yaml"), l.path("count")))
	l.run(work, "git", "add", "-A")
	l.run(work, "git", "commit", "-q", "-m", "set up")
	for i := range tasks {
		l.run(work, "ralph", "task", "add", fmt.Sprintf("task %d", i+1))
	}
	_, port, _ := net.SplitHostPort(address)
	l.start("server", l.dir, server, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", port, "--log-level", "error", "--db-filename", l.path("temporal.db"))
	l.until("the server answers", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	t.Cleanup(l.end)
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	n, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer n.Close()
	return n.Addr().String()
}

func (l *land) path(name string) string { return filepath.Join(l.dir, name) }

func (l *land) write(name, text string) {
	l.t.Helper()
	must(l.t, os.WriteFile(l.path(name), []byte(text), 0o600))
}

func (l *land) command(dir, name string, args ...string) *exec.Cmd {
	if !filepath.IsAbs(name) && strings.HasPrefix(name, "ralph") {
		name = filepath.Join(l.bin, name)
	}
	c := exec.Command(name, args...)
	c.Dir, c.Env = dir, l.env
	return c
}

func (l *land) run(dir, name string, args ...string) string {
	l.t.Helper()
	out, err := l.command(dir, name, args...).CombinedOutput()
	if err != nil {
		l.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// ralph runs a command at the coordinator.
func (l *land) ralph(args ...string) string {
	l.t.Helper()
	return l.run(l.path("work"), "ralph", args...)
}

// start runs a process beside the test; what it says is in a file of its name.
func (l *land) start(who, dir, name string, args ...string) *exec.Cmd {
	l.t.Helper()
	c := l.command(dir, name, args...)
	if into := l.inside[who]; into != nil {
		c = l.command(dir, into[0], slices.Concat(into[1:], c.Args)...)
	}
	log, err := os.OpenFile(l.path(who+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(l.t, err)
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(l.t, c.Start())
	_ = log.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.procs[who] = c
	return c
}

func (l *land) worker(name string, more ...string) {
	l.t.Helper()
	args := append([]string{"worker", "--repo", l.path("hub.git"), "--agent", "mine", "--name", name, "--home", l.path(name), "--slots", "2"}, more...)
	l.start(name, l.dir, "ralph", args...)
}

func (l *land) coordinator() {
	l.start("coordinator", l.path("work"), "ralph", "autopilot", "--trust", "--fleet")
}

// kill is kill -9 of a process alone, as the system does it when memory is short.
func (l *land) kill(who string) {
	l.mu.Lock()
	c := l.procs[who]
	l.mu.Unlock()
	_ = c.Process.Kill()
	_ = c.Wait()
}

// stop ends a process with SIGTERM, and waits.
func (l *land) stop(who string) {
	l.t.Helper()
	l.mu.Lock()
	c := l.procs[who]
	delete(l.procs, who)
	l.mu.Unlock()
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.Wait(); err != nil {
		l.t.Errorf("%s did not end well: %v\n%s", who, err, l.said(who))
	}
}

func (l *land) end() {
	for _, c := range l.procs {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	if l.t.Failed() {
		logs, _ := filepath.Glob(l.path("*.log"))
		for _, name := range logs {
			l.t.Logf("%s:\n%s", filepath.Base(name), l.said(strings.TrimSuffix(filepath.Base(name), ".log")))
		}
	}
}

func (l *land) said(who string) string {
	b, _ := os.ReadFile(l.path(who + ".log"))
	return string(b[max(0, len(b)-6000):])
}

// until waits; only a hang is told by the clock.
func (l *land) until(what string, so func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(l.patience); !so(); {
		if time.Now().After(deadline) {
			l.t.Fatalf("never: %s", what)
		}
		time.Sleep(50 * time.Millisecond) // processes of others: there is no fact to wait for here
	}
}

func (l *land) says(who, words string) {
	l.t.Helper()
	l.until(who+" says "+words, func() bool {
		b, _ := os.ReadFile(l.path(who + ".log"))
		return bytes.Contains(b, []byte(words))
	})
}

// plays is how often an agent has played, over all machines.
func (l *land) plays() int {
	b, _ := os.ReadFile(l.path("count/plays"))
	return bytes.Count(b, []byte("\n"))
}

// holds looks at the end: every task landed once, the history holds, nothing is left over.
func (l *land) holds(tasks int) {
	l.t.Helper()
	work := l.path("work")
	var plan struct {
		Tasks []struct{ ID, Status string } `json:"tasks"`
	}
	out := l.run(work, "git", "log", "--no-merges", "--format=%(trailers:key=Ralph-Task,valueonly,separator=%x2C)", "main")
	count := map[string]int{}
	for id := range strings.FieldsSeq(out) {
		count[id]++
	}
	must(l.t, json.Unmarshal([]byte(l.ralph("query", "tasks")), &plan.Tasks))
	for _, task := range plan.Tasks {
		text, err := os.ReadFile(filepath.Join(work, task.ID+".txt"))
		if count[task.ID] != 1 || err != nil || string(text) != "by "+task.ID+"\n" {
			l.t.Errorf("%s landed %d times: %q, %v", task.ID, count[task.ID], text, err)
		}
	}
	if len(plan.Tasks) != tasks {
		l.t.Errorf("%d tasks, want %d", len(plan.Tasks), tasks)
	}
	l.run(work, "git", "fsck", "--no-dangling")
	l.run(l.path("hub.git"), "git", "fsck", "--no-dangling")
	l.ralph("verify")
	if out := l.ralph("replay"); !strings.Contains(out, ", 0 differ") {
		l.t.Errorf("replay: %s", out)
	}
	if refs := l.run(l.path("hub.git"), "git", "for-each-ref", "refs/ralph"); refs != "" {
		l.t.Errorf("left at the remote: %s", refs)
	}
	if trees := l.run(work, "git", "worktree", "list"); strings.Count(trees, "\n") != 1 {
		l.t.Errorf("left worktrees: %s", trees)
	}
}

// alone checks that nothing of the fleet runs any more, but for the server.
func (l *land) alone() {
	l.t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/environ")
	must(l.t, err)
	own := []int{os.Getpid(), l.procs["server"].Process.Pid}
	for _, name := range list {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		b, err := os.ReadFile(name)
		if err == nil && !slices.Contains(own, pid) && bytes.Contains(b, []byte("RALPH_MARK="+l.dir)) {
			cmd, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
			l.t.Errorf("still running: %d %q", pid, cmd)
		}
	}
}

const oneTurn = `  - when: {stage: build}
    do:
      - run: "echo by $RALPH_TASK >$RALPH_TASK.txt; echo x >>%s"
      - think: %s
      - signal: COMPLETE
`

// playsFor has the agent of every worker think for so long.
func (l *land) playsFor(think string) {
	l.t.Helper()
	l.write("scenario.yaml", "about: fleet\nrules:\n"+fmt.Sprintf(oneTurn, l.path("count/plays"), think))
}

// The agent of a step goes on while there is no coordinator, and its outcome is taken by the next
// one: nobody pays twice.
func TestCoordinatorComesBack(t *testing.T) {
	l := newLand(t, "", 1, keyed)
	l.playsFor("3s")
	l.worker("w1")
	l.coordinator()
	l.until("the agent is at work", func() bool { return l.plays() == 1 })
	l.kill("coordinator")
	l.says("w1", "turn of t-")
	l.coordinator()
	l.says("coordinator", "Session summary")
	if n := l.plays(); n != 1 {
		t.Errorf("the agent was asked %d times", n)
	}
	_ = l.procs["coordinator"].Wait()
	l.stop("w1")
	l.holds(1)
	l.alone()
}

// A worker that is killed loses its turn alone: another one begins it again, and the files are as
// they were before it.
func TestWorkerLost(t *testing.T) {
	l := newLand(t, "", 1, keyed)
	l.playsFor("3s")
	l.worker("w1")
	l.coordinator()
	l.until("the agent is at work", func() bool { return l.plays() == 1 })
	l.worker("w2")
	l.kill("w1")
	l.says("w2", "turn of t-")
	l.says("coordinator", "Session summary")
	if n := l.plays(); n != 2 {
		t.Errorf("the agent was asked %d times, want once more", n)
	}
	_ = l.procs["coordinator"].Wait()
	l.worker("w1") // what it left running, if anything, is ended when it comes back
	l.until("w1 is there again", func() bool { return strings.Count(l.said("w1"), "worker w1:") == 2 })
	l.stop("w1")
	l.stop("w2")
	l.holds(1)
	l.alone()
}

// A worker that reaches git and not the server gives its step up by itself; another one has it.
func TestPartition(t *testing.T) {
	l := newLand(t, "", 1)
	l.playsFor("40s")
	cut := newProxy(t, l.server)
	env := l.env
	l.env = append(slices.Clone(env), "TEMPORAL_ADDRESS="+cut.address)
	l.worker("w1")
	l.env = env
	l.coordinator()
	l.until("the agent is at work", func() bool { return l.plays() == 1 })
	l.playsFor("100ms")
	cut.close()
	l.worker("w2")
	l.says("coordinator", "Session summary")
	l.says("w1", "is given up")
	_ = l.procs["coordinator"].Wait()
	l.kill("w1") // it still waits for its server
	l.stop("w2")
	l.holds(1)
	l.alone()
}

// A worker that is told to end takes no more steps, ends those under way, and is gone.
func TestDrain(t *testing.T) {
	l := newLand(t, "", 2)
	l.playsFor("2s")
	l.worker("w1", "--slots", "1")
	l.coordinator()
	l.until("the agent is at work", func() bool { return l.plays() == 1 })
	out := l.ralph("fleet", "drain", "w1")
	if !strings.Contains(out, "w1 takes no more steps") {
		t.Errorf("drain: %s", out)
	}
	if err := l.procs["w1"].Wait(); err != nil {
		t.Errorf("w1: %v", err)
	}
	said := l.said("w1")
	_, after, _ := strings.Cut(said, "takes no more steps")
	if strings.Contains(after, "begins") || strings.Count(said, "begins") != strings.Count(said, "is done") {
		t.Errorf("it began more, or ended less than all: %s", said)
	}
	delete(l.procs, "w1")
	l.worker("w2")
	l.says("coordinator", "Session summary")
	_ = l.procs["coordinator"].Wait()
	l.stop("w2")
	l.holds(2)
	l.alone()
}

// What an agent asks on a worker is asked of the person at the coordinator, and with a key nothing
// of it, of the prompts and of the files can be read at the server or at the remote.
func TestAsksFromAWorkerSealed(t *testing.T) {
	rules := `  - when: {stage: build}
    do:
      - ask: {question: "Which shade of crimson?", options: [red, blue], answers: {red: [{run: "echo by $RALPH_TASK >$RALPH_TASK.txt"}, {signal: COMPLETE}]}}
`
	l := newLand(t, rules, 1, keyed)
	l.worker("w1")
	l.coordinator()
	l.says("coordinator", "NEEDS YOU")
	gates := l.ralph("gates", "--json")
	if !strings.Contains(gates, "shade of crimson") {
		t.Fatalf("gates: %s", gates)
	}
	refs := strings.Fields(l.run(l.path("hub.git"), "git", "for-each-ref", "--format=%(refname)", "refs/ralph/fleet"))
	refs = slices.DeleteFunc(refs, func(ref string) bool { return strings.Contains(ref, "/base/") }) // what later steps are made from: a commit of the branch
	if len(refs) != 1 {
		t.Fatalf("at the remote while the turn goes on: %v", refs)
	}
	if note := l.run(l.path("hub.git"), "git", "cat-file", "blob", refs[0]+":note"); !strings.HasPrefix(note, "ralph-sealed-1\n") {
		t.Error("the note at the remote is not sealed")
	}
	var id string
	for word := range strings.FieldsSeq(strings.NewReplacer(`"`, " ", ",", " ").Replace(gates)) {
		if strings.HasPrefix(word, "g-") {
			id = word
		}
	}
	l.ralph("answer", id, "red")
	l.says("coordinator", "Session summary")
	_ = l.procs["coordinator"].Wait()
	l.stop("w1")
	l.holds(1)
	l.alone()
	for _, name := range []string{"temporal.db", "temporal.db-wal"} {
		b, _ := os.ReadFile(l.path(name))
		for _, words := range []string{"crimson", "hub.git"} {
			if bytes.Contains(b, []byte(words)) {
				t.Errorf("%s of the server has %q", name, words)
			}
		}
	}
}

// proxy stands between a worker and its server, and can be cut.
type proxy struct {
	*relay
	address string
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	n, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{newRelay(n, func() (net.Conn, error) { return net.Dial("tcp", to) }), n.Addr().String()}
	t.Cleanup(p.close)
	return p
}
