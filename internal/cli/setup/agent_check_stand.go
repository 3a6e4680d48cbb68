package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agentcheck"
	"github.com/ralph-loop/ralph/internal/demo"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// stand is where an agent is checked: a temporary repository, and processes of its own.
type stand struct {
	env   workspace.Env
	spec  ralph.AgentSpec
	procs *proc.Runner
	temp  string
	n     int
}

func newStand(ctx context.Context, env workspace.Env, spec ralph.AgentSpec, root string) (*stand, error) {
	temp, err := os.MkdirTemp("", "ralph-agent-check-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to check the agent in: %w", err)
	}
	st := &stand{env: env, spec: rooted(spec, root), procs: proc.NewRunner(""), temp: temp}
	if err := st.makeRepo(ctx); err != nil {
		st.remove()
		return nil, err
	}
	return st, nil
}

// remove takes the folder away. Agents may leave what cannot be removed at once, which
// the system's own cleaning of temporary files then finds.
func (st *stand) remove() { _ = os.RemoveAll(st.temp) }

// rooted makes paths in an agent's command that name files of the repository absolute:
// the agent works elsewhere.
func rooted(spec ralph.AgentSpec, root string) ralph.AgentSpec {
	at := func(words []string, program bool) []string {
		out := append([]string(nil), words...)
		for i, w := range out {
			if filepath.IsAbs(w) || strings.HasPrefix(w, "-") || program && i == 0 && !strings.ContainsRune(w, '/') {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, w)); err == nil && filepath.IsLocal(w) && w != "." {
				out[i] = filepath.Join(root, w)
			}
		}
		return out
	}
	spec.Command, spec.Args = at(spec.Command, true), at(spec.Args, false)
	return spec
}

func (st *stand) makeRepo(ctx context.Context) error {
	dir := filepath.Join(st.temp, "repo")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a repository to check the agent in: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# A repository to try an agent in\n"), 0o644); err != nil {
		return fmt.Errorf("make a repository to check the agent in: %w", err)
	}
	for _, args := range [][]string{
		{"git", "init", "-q", "."},
		{"git", "add", "-A"},
		{"git", "-c", "user.name=ralph", "-c", "user.email=check@ralph.invalid", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "A file"},
	} {
		_, stderr, res, err := st.procs.Output(ctx, proc.Command{Args: args, Dir: dir, Env: demo.Environ(st.env.Environ)})
		if err == nil && res.Code != 0 {
			err = errors.New(strings.TrimSpace(string(stderr)))
		}
		if err != nil {
			return fmt.Errorf("make a repository to check the agent in: %w", err)
		}
	}
	return nil
}

// subject is the agent as the probes see it.
func (st *stand) subject(supports agent.Supports) *agentcheck.Subject {
	s := &agentcheck.Subject{Spec: st.spec, Supports: supports, Open: st.open}
	if st.spec.Driver == "scripted" {
		s.Plays = func(b agentcheck.Behaviour) bool {
			_, ok := agentcheck.Scenario(b)
			return ok
		}
		return s
	}
	s.Model, s.Kill, s.Plays = true, st.procs.Kill, askable
	if h, ok := agent.HandshakerOf(st.spec.Driver, st.procs); ok {
		s.Handshaker = h
	}
	if agent.CanTellVersion(st.spec) {
		s.Version = func(ctx context.Context) (string, error) {
			return agent.Version(ctx, st.procs, st.spec, st.temp, st.environ(), checkVersionLimit)
		}
	}
	return s
}

// askable are the behaviours that a model shows when it is asked for them.
func askable(b agentcheck.Behaviour) bool {
	switch b {
	case agentcheck.Fail, agentcheck.Limited, agentcheck.Flood, agentcheck.Deaf:
		return false
	}
	return true
}

// environ is what the agent gets in a turn.
func (st *stand) environ() []string {
	return append(st.env.OfPerson(workspace.BaseEnv(st.env.Environ)), workspace.AgentEnv(st.spec, st.env.Environ)...)
}

// open opens the agent's driver anew for each turn: nothing is shared between probes.
func (st *stand) open(b agentcheck.Behaviour) (agent.Driver, ralph.TurnInput, error) {
	spec, self := st.spec, st.env.Self
	st.n++
	scratch := filepath.Join(st.temp, fmt.Sprintf("scratch-%d", st.n))
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return nil, ralph.TurnInput{}, fmt.Errorf("make a folder for the turn: %w", err)
	}
	switch {
	case spec.Driver == "scripted":
		text, _ := agentcheck.Scenario(b)
		spec.Scenario = filepath.Join(scratch, "scenario.yaml")
		if err := os.WriteFile(spec.Scenario, []byte(text), 0o600); err != nil {
			return nil, ralph.TurnInput{}, fmt.Errorf("write a scenario: %w", err)
		}
		if b == agentcheck.Missing {
			self = filepath.Join(st.temp, "no-such-program")
		}
	case b == agentcheck.Missing && spec.Driver == "api":
		self = filepath.Join(st.temp, "no-such-program")
	case b == agentcheck.Missing:
		spec.Command = append([]string{filepath.Join(st.temp, "no-such-program")}, spec.Command[min(1, len(spec.Command)):]...)
	case b == agentcheck.Asks:
		spec.Approvals = "ask"
	}
	in := ralph.TurnInput{Agent: spec, Dir: filepath.Join(st.temp, "repo"), Env: st.environ(), Scratch: scratch, Timeout: time.Minute}
	d, err := agent.Open(spec, st.procs, self)
	if err != nil && handshakes(spec.Driver) && b == agentcheck.Complete {
		return nil, in, nil // its handshake needs no driver
	}
	return d, in, err
}
