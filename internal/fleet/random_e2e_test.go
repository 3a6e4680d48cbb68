//go:build fleet && linux

package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// storm is a fleet whose processes are killed at random while it works.
type storm struct {
	*land
	random  *rand.Rand
	workers map[string][]string // its environment, by name
	killed  map[string]int
	lost    int // coordinators that ended with an error and were started again
}

const stormConfig = `version: 1
agent: {primary: mine, fallback: []}
agents:
  mine: {driver: scripted, scenario: %q}
  claude: {driver: claude, command: [%q], env: {CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", CLAUDE_CODE_MAX_RETRIES: "0", IS_SANDBOX: "1"}}
  codex: {driver: codex, command: [%q, app-server], args: [-c, 'sandbox_mode="danger-full-access"'], pass_env: [CODEX_HOME, SCRIPTED_KEY]}
gate: {approvals: never}
quality: {commands: ["test -e README"]}
sandbox: {extra_write: [%q]}
parallel: 8
`

// program is a real agent program, where `make e2e-fleet` has installed it.
func program(dir, name string) string {
	return filepath.Join(os.Getenv("RALPH_E2E_AGENTS"), dir, "node_modules/.bin", name)
}

// newStorm begins a fleet of n workers, each with a home, settings of git, credentials and a network of its own.
func newStorm(t *testing.T, n, tasks int) *storm {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FLEET_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("FLEET_SEED=%d", seed)
	s := &storm{land: newLand(t, "", tasks, keyed), random: rand.New(rand.NewPCG(seed, 0)), workers: map[string][]string{}, killed: map[string]int{}}
	large := strings.Replace(oneTurn, "echo x", "case $RALPH_TASK in *[02468aceg]) head -c 200000 /dev/urandom >$RALPH_TASK.large;; esac; echo x", 1) // no parcel
	s.write("scenario.yaml", "about: fleet\nrules:\n"+fmt.Sprintf(large, s.path("count/plays"), "500ms"))
	s.patience = 10 * time.Minute
	claude, codex := program("claude-2.1.329", "claude"), program("codex-0.169.0", "codex")
	s.write("work/ralph/config.yaml", fmt.Sprintf(stormConfig, s.path("scenario.yaml"), claude, codex, s.path("count")))
	s.run(s.path("work"), "git", "commit", "-qam", "agents of three kinds")
	model := modeltest.New(t, func(q modeltest.Request) modeltest.Reply {
		switch {
		case len(q.Tools) == 0:
			return modeltest.Reply{Text: "a title"}
		case q.Results:
			return modeltest.Reply{Text: "It is written.\n\n<ralph>COMPLETE</ralph>"}
		}
		return modeltest.Do(modeltest.Run("echo by $RALPH_TASK >$RALPH_TASK.txt"))
	})
	for i := range n {
		name := fmt.Sprintf("w%d", i+1)
		env := []string{"HOME=" + s.path(name+"-home"), "GIT_CONFIG_GLOBAL=" + s.path(name+"-gitconfig"), "ANTHROPIC_BASE_URL=" + model.URL, "ANTHROPIC_API_KEY=dummy-" + name, "SCRIPTED_KEY=dummy-" + name}
		must(t, os.MkdirAll(s.path(name+"-home"), 0o700))
		s.write(name+"-gitconfig", "[user]\nname = "+name+"\nemail = "+name+"@example.com\n")
		if root := os.Getenv("RALPH_E2E_AGENTS"); root != "" {
			home, err := os.MkdirTemp(root, "codex-home-") // it warns of one in the temporary folder
			must(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(home) })
			_, err = model.CodexEnv(home)
			must(t, err)
			env = append(env, "CODEX_HOME="+home)
		}
		s.workers[name] = env
		s.apart(name, s.server, hostOf(t, model.URL))
		s.begin(name)
	}
	return s
}

// begin starts a worker as its machine does.
func (s *storm) begin(name string) {
	s.t.Helper()
	env := s.env
	s.env = append(slices.Clone(env), s.workers[name]...)
	s.worker(name, "--agent", "claude", "--agent", "codex")
	s.env = env
}

// ends are the processes that end by themselves.
type ends struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// rages runs a session of the coordinator to its end, while one of workers, coordinator and server is
// killed every few seconds. Who is killed is started again at once, as a machine's init does it.
func (s *storm) rages(session string, more ...string) {
	s.t.Helper()
	coordinate := func() *ends {
		env := s.env
		s.env = append(slices.Clone(env), more...)
		c := s.start(session, s.path("work"), "ralph", "autopilot", "--trust", "--fleet")
		s.env = env
		e := &ends{cmd: c, done: make(chan struct{})}
		go func() { e.err = c.Wait(); close(e.done) }()
		return e
	}
	names := []string{"coordinator", "server"}
	for name := range s.workers {
		names = append(names, name)
	}
	slices.Sort(names)
	c := coordinate()
	for deadline := time.Now().Add(s.patience); ; {
		select {
		case <-c.done:
			if c.err == nil {
				delete(s.procs, session)
				return
			}
			s.lost++ // it lost its lease while the server was away, say
			said := strings.TrimSpace(s.said(session))
			s.t.Logf("%s ended with %v: %s", session, c.err, said[strings.LastIndexByte(said, '\n')+1:])
			c = coordinate()
			continue
		case <-time.After(time.Duration(2000+s.random.IntN(3000)) * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("never: the session %s is over", session)
		}
		who := names[s.random.IntN(len(names))]
		s.killed[who]++
		switch who {
		case "coordinator":
			_ = c.cmd.Process.Kill()
			<-c.done
			if c.err != nil { // else it had ended just now
				c = coordinate()
			}
		case "server":
			args := s.procs["server"].Args
			s.kill("server")
			s.start("server", s.dir, args[0], args[1:]...)
		default:
			s.kill(who)
			s.begin(who)
		}
	}
}

// add plans more tasks, while no session runs.
func (s *storm) add(tasks int, by string) {
	s.t.Helper()
	for i := range tasks {
		s.ralph("task", "add", fmt.Sprintf("%s %d", by, i+1))
	}
}

// Whatever is killed at whatever moment, each task lands exactly once: a coordinator and four workers with homes
// of their own, a hundred tasks of scripted agents, four of Claude Code and four of Codex, and one of
// the processes, the server too, killed every few seconds.
func TestKilledAtRandom(t *testing.T) {
	workers, tasks := 4, 100
	real := []string{"claude", "codex"}
	switch {
	case testing.Short():
		workers, tasks, real = 3, 12, nil
	case os.Getenv("RALPH_E2E_AGENTS") == "":
		real = nil
		t.Log("without Claude Code and Codex: `make e2e-fleet` installs them and says where they are (RALPH_E2E_AGENTS)")
	}
	s := newStorm(t, workers, tasks)
	t.Logf("%d of %d workers have a network of their own", len(s.inside), workers)
	s.rages("scripted")
	t.Logf("killed %v; %d plays for %d tasks", s.killed, s.plays(), tasks)
	if n := s.plays(); n < tasks {
		t.Errorf("%d plays for %d tasks", n, tasks)
	}
	for _, agent := range real {
		s.add(4, agent)
		tasks += 4
		s.rages(agent, "RALPH_AGENT_PRIMARY="+agent)
		t.Logf("with %s: killed %v by now, %d coordinators ended with an error", agent, s.killed, s.lost)
	}
	for name := range s.workers {
		s.stop(name)
	}
	s.holds(tasks)
	s.alone()
	for _, agent := range real {
		if n := s.turnsOf(agent); n < 4 {
			t.Errorf("%s has had %d turns", agent, n)
		}
	}
}

// turnsOf counts the turns of an agent in the journal.
func (s *storm) turnsOf(agent string) (n int) {
	s.t.Helper()
	for line := range strings.Lines(s.ralph("log", "--raw", "--type", "turn.ended", "-n", "100000")) {
		if strings.Contains(line, fmt.Sprintf(`"agent":%q`, agent)) {
			n++
		}
	}
	return n
}
