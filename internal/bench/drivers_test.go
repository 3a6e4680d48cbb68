package bench

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// BenchmarkDrivers measures the drivers with real agent programs on a scripted model
// server, and how fast each reads, with programs that play one. It prints a table:
//
//	RALPH_E2E_AGENTS=~/.cache/ralph-ci go test -run '^$' -bench Drivers -benchtime 1x ./internal/bench
func BenchmarkDrivers(b *testing.B) {
	t := newTable("drivers")
	for _, driver := range []string{"claude", "codex", "acp"} {
		b.Run("ingest="+driver, func(b *testing.B) { benchIngest(b, driver, t) })
	}
	for _, a := range agents() {
		b.Run("turn="+a.name, func(b *testing.B) { benchTurn(b, a, t) })
	}
	b.Run("threads", func(b *testing.B) { benchThreads(b, size(10, 2), t) })
	t.print(b)
}

// real is a real agent program: how it is run without ralph, and with it.
type real struct {
	name  string
	dir   string   // in RALPH_E2E_AGENTS
	pairs int      // of turns; OpenCode takes its time
	bare  []string // a turn without ralph, the program's name first
	spec  ralph.AgentSpec
	env   func(b *sandboxRepo, m *modeltest.Server) map[string]string // its environment
}

func agents() []real {
	claudeEnv := func(_ *sandboxRepo, m *modeltest.Server) map[string]string { return m.ClaudeEnv() }
	openCodeEnv := func(_ *sandboxRepo, m *modeltest.Server) map[string]string {
		return m.OpenCodeEnv(map[string]string{"bash": "allow", "edit": "allow"})
	}
	return []real{
		{
			name: "claude", dir: "claude-2.1.329", pairs: 5,
			bare: []string{"claude", "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions", "Say something."},
			spec: ralph.AgentSpec{Name: "claude", Driver: "claude", Command: []string{"claude"}},
			env:  claudeEnv,
		},
		codexProgram(),
		{
			name: "opencode", dir: "opencode-1.18.33", pairs: 2,
			bare: []string{"opencode", "run", "--format", "json", "Say something."},
			spec: ralph.AgentSpec{Name: "opencode", Driver: "acp", Command: []string{"opencode", "acp"}},
			env:  openCodeEnv,
		},
	}
}

func codexProgram() real {
	return real{
		name: "codex", dir: "codex-0.169.0", pairs: 5,
		bare: []string{"codex", "exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", "Say something."},
		spec: ralph.AgentSpec{
			Name: "codex", Driver: "codex", Command: []string{"codex", "app-server"}, Args: []string{"-c", `sandbox_mode="danger-full-access"`},
		},
		env: func(b *sandboxRepo, m *modeltest.Server) map[string]string {
			home, err := os.MkdirTemp(os.Getenv("RALPH_E2E_AGENTS"), "codex-home-")
			if err != nil {
				b.tb.Fatal(err)
			}
			b.tb.Cleanup(func() { _ = os.RemoveAll(home) })
			env, err := m.CodexEnv(home)
			if err != nil {
				b.tb.Fatal(err)
			}
			return env
		},
	}
}

// instance is a real agent in a repository of its own.
type instance struct {
	*sandboxRepo
	driver agent.Driver
	spec   ralph.AgentSpec
	bare   []string
}

// sit installs the agent before the model server m.
func (a real) sit(b *testing.B, m *modeltest.Server) *instance {
	b.Helper()
	path := filepath.Join(os.Getenv("RALPH_E2E_AGENTS"), a.dir, "node_modules/.bin", a.bare[0])
	if _, err := os.Stat(path); err != nil {
		b.Skipf("%s is not there: `.ci/run agents` installs it, RALPH_E2E_AGENTS names the folder", a.dir)
	}
	if _, known := agent.Of(a.spec); !known {
		b.Skipf("the driver %s is not built in", a.spec.Driver)
	}
	s := &instance{sandboxRepo: newBox(b, ""), spec: a.spec, bare: append([]string{path}, a.bare[1:]...)}
	for k, v := range a.env(s.sandboxRepo, m) {
		s.env = append(s.env, k+"="+v)
	}
	s.git("init", "-q", "-b", "main")
	s.git("commit", "-q", "--allow-empty", "-m", "start")
	s.spec.Command = append([]string{path}, a.spec.Command[1:]...)
	s.spec.Approvals = "never"
	s.open()
	b.Cleanup(s.close)
	return s
}

// open is a driver that has not done anything yet.
func (s *instance) open() {
	s.tb.Helper()
	var err error
	if s.driver, err = agent.Open(s.spec, proc.NewRunner(s.tool), ""); err != nil {
		s.tb.Fatal(err)
	}
}

// close ends what the driver keeps between turns.
func (s *instance) close() {
	if c, ok := s.driver.(io.Closer); ok {
		_ = c.Close()
	}
}

// turn is one turn through the driver.
func (s *instance) turn(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	scratch, err := os.MkdirTemp(s.tool, "turn-")
	if err != nil {
		return 0, fmt.Errorf("make a folder for a turn: %w", err)
	}
	res, err := s.driver.Turn(ctx, ralph.TurnInput{
		Agent: s.spec, Stage: ralph.KindBuild, Prompt: "Say something.", Dir: s.dir, Env: s.env, Timeout: time.Minute, Grace: 5 * time.Second, Scratch: scratch,
	}, ralph.TurnHooks{
		Event: func(ralph.StreamEvent) {}, Context: func(ralph.ContextUse) {},
		Ask: func(context.Context, ralph.Request) (ralph.Reply, error) { return ralph.Reply{Allow: true}, nil },
	})
	if err == nil && (res.Exit != ralph.ExitOK || res.Text != answer) {
		err = fmt.Errorf("the turn ended %s, said %q: %v", res.Exit, res.Text, res.Err)
	}
	return time.Since(begin), err
}

const answer = "Something."

// benchTurn compares turns with and without ralph, in pairs that take turns in
// beginning, after one of each for caches and databases.
func benchTurn(b *testing.B, a real, t *table) {
	for b.Loop() {
		m := modeltest.New(b, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Text: answer} })
		s := a.sit(b, m)
		var bare, first, later []time.Duration
		for i := range size(a.pairs, 1) + 1 {
			for _, with := range []bool{i%2 == 0, i%2 != 0} {
				if !with {
					c, _ := s.run(s.bare...)
					bare = append(bare, c.wall)
					continue
				}
				s.open()
				for _, list := range []*[]time.Duration{&first, &later} {
					d, err := s.turn(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					*list = append(*list, d)
				}
				s.close()
			}
		}
		var added []float64
		for i := range size(a.pairs, 1) {
			added = append(added, ms(first[i+1]-bare[i+1]))
		}
		same := func(f float64) float64 { return f }
		more := spreadOf(added, same)
		b.ReportMetric(more.Median, "added-ms")
		t.add(fmt.Sprintf("turn of %s: alone, through the driver, and its next turn, ms", a.name),
			fmt.Sprintf("%s, %s, %s", spreadOf(bare[1:], ms), spreadOf(first[1:], ms), spreadOf(later[1:], ms)))
		t.add("the same: added by the driver, in pairs, ms", more.String())
	}
}

// benchThreads weighs n turns at the same time: threads of one Codex, and n programs
// of their own. The model answers when all have asked.
func benchThreads(b *testing.B, n int, t *table) {
	for b.Loop() {
		var mu sync.Mutex
		var all chan struct{}
		asked, weight := 0, 0.0
		var s *instance
		m := modeltest.New(b, func(modeltest.Request) modeltest.Reply {
			mu.Lock()
			defer mu.Unlock()
			if asked++; asked == n {
				weight = weigh(s.env)
				close(all)
			}
			return modeltest.Reply{Text: answer, Wait: all}
		})
		s = codexProgram().sit(b, m)
		together := func(turn func() error) (float64, time.Duration) {
			all, asked = make(chan struct{}), 0
			begin := time.Now()
			failed := make(chan error, n)
			for range n {
				go func() { failed <- turn() }()
			}
			for range n {
				if err := <-failed; err != nil {
					b.Fatal(err)
				}
			}
			return weight, time.Since(begin)
		}
		threads, threadTime := together(func() error {
			_, err := s.turn(b.Context())
			return err
		})
		s.close()
		own, ownTime := together(func() error {
			s.run(s.bare...)
			return nil
		})
		b.ReportMetric(threads, "threads-MiB")
		b.ReportMetric(own, "programs-MiB")
		t.add(fmt.Sprintf("%d turns of Codex at once: one process through the driver, start included", n), fmt.Sprintf("%.0f MiB, %.0f ms", threads, ms(threadTime)))
		t.add("the same: a `codex exec` for each", fmt.Sprintf("%.0f MiB, %.0f ms", own, ms(ownTime)))
	}
}

// weigh is the memory of all processes with the environment's home, in MiB: what is
// shared counts once (PSS).
func weigh(env []string) (mib float64) {
	home := env[slices.IndexFunc(env, func(kv string) bool { return len(kv) > 5 && kv[:5] == "HOME=" })]
	weights := map[string]float64{}
	names, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil || !slices.Contains(fields(text), home) {
			continue
		}
		weights[name] = pss(filepath.Dir(name))
	}
	for w := range maps.Values(weights) {
		mib += w
	}
	return mib
}
