package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/recovery"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// around is what actions are offered by beside the journal: it is looked at rarely.
type around struct {
	at    time.Time
	usual ralph.Allowance
	carry bool
	specs []string
}

// aroundEvery is how often the dashboard looks at files that are no facts.
const aroundEvery = 2 * time.Second

// maxSpecs bounds the specs that a form offers.
const maxSpecs = 200

// Context is what decides beside the state which actions are offered.
func (d *Backend) Context() action.Context {
	d.aroundMu.Lock()
	defer d.aroundMu.Unlock()
	if now := time.Now(); now.Sub(d.around.at) >= aroundEvery || now.Before(d.around.at) {
		d.around = around{at: now, usual: d.around.usual, specs: specFiles(d.root)}
		if c, err := workspace.LoadConfig(d.Env, d.root, nil); err == nil { // what is wrong with it the start says
			d.around.usual = ralph.Allowance{Iterations: c.Task.MaxIterations, Time: c.Task.Timeout}
		}
		_, err := os.Stat(filepath.Join(d.root, "ralph/.agent-session"))
		d.around.carry = err == nil
	}
	return action.Context{
		Engine: d.writer.Holder() != nil, Now: d.writer.Now(), Usual: d.around.usual, Carry: d.around.carry,
		Specs: d.around.specs, By: "web", ID: workspace.NewID,
	}
}

// specFiles are the specs that are there, in the folder itself.
func specFiles(root string) []string {
	entries, err := os.ReadDir(filepath.Join(root, "ralph/specs"))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") && !e.IsDir() && len(out) < maxSpecs {
			out = append(out, e.Name())
		}
	}
	return out
}

// Update appends what a person decides. An agent that reaches the dashboard from inside
// its turn decides nothing.
func (d *Backend) Update(ctx context.Context, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	return d.writer.Update(ctx, "web", func(s *ralph.State) ([]ralph.Fact, error) {
		facts, err := decide(s)
		persons := func(f ralph.Fact) bool {
			switch f.(type) {
			case ralph.Answered, ralph.RuleAdded, ralph.RuleRevoked:
				return true
			}
			return false
		}
		if err == nil && slices.ContainsFunc(facts, persons) {
			err = person.Required(d.Env)
		}
		return ralph.Witnessed(facts, person.WitnessOf(ctx)), err
	})
}

// Closed says why a gate takes no word any more.
func (d *Backend) Closed(id ralph.GateID) error { return report.NotOpen(id, d.writer.Each) }

// RollBack undoes the work of a task.
func (d *Backend) RollBack(ctx context.Context, id ralph.TaskID) (string, error) {
	return d.undo(ctx, id, func(u *recovery.Undo) error { return u.Rollback(nil) })
}

// CleanUp takes the worktree of a task away.
func (d *Backend) CleanUp(ctx context.Context, id ralph.TaskID) (string, error) {
	return d.undo(ctx, id, (*recovery.Undo).Cleanup)
}

func (d *Backend) undo(ctx context.Context, id ralph.TaskID, do func(*recovery.Undo) error) (string, error) {
	// A browser that goes away does not leave git half way.
	u, err := recovery.NewUndo(context.WithoutCancel(ctx), d.Env, d.writer, "web", id)
	if err == nil {
		err = do(u)
	}
	if err != nil {
		return "", err
	}
	return strings.Join(u.Said(), "; "), nil
}

// SpecFile checks that a file is in ralph/specs, or writes it.
func (d *Backend) SpecFile(name, text string) (string, error) {
	if text == "" {
		return workspace.SpecThere(d.Env, name)
	}
	return workspace.NewSpec(d.root, name, []byte(text))
}

// startLimit is how long a start may take until the engine holds its lock.
const startLimit = 60 * time.Second

// maxSaid bounds what of an engine's output a failed start is told by.
const maxSaid = 4 << 10

// Start starts an engine of this very program, in a session of its own: it outlives the
// dashboard. It returns when the engine holds the lock, or with its words when it
// has ended before.
func (d *Backend) Start(ctx context.Context, s action.Start) (string, error) {
	if err := person.Required(d.Env); err != nil {
		return "", err
	}
	out, name, err := d.startLog(s.Mode)
	if err != nil {
		return "", err
	}
	defer out.Close()
	engine, err := proc.Detach(proc.Command{Args: append([]string{d.Env.Self}, startArgs(s)...), Dir: d.root, Env: startEnv(d.Env.Environ, s)}, out)
	if err != nil {
		return "", err
	}
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-engine.Done():
			return d.startEnded(engine, s, name)
		case <-limit.C:
			return fmt.Sprintf("%s is starting (pid %d); its output is in %s", s.Mode, engine.Pid, name), nil
		case <-ctx.Done():
			return "", ctx.Err()
		case <-look.C:
			if owner := d.writer.Holder(); owner != nil && owner.Pid == engine.Pid {
				return fmt.Sprintf("%s works (pid %d); its output is in %s", s.Mode, engine.Pid, name), nil
			}
		}
	}
}

// startEnded says what became of an engine that has ended at once: it may have had
// nothing to do.
func (d *Backend) startEnded(engine *proc.Detached, s action.Start, name string) (string, error) {
	said := tail(filepath.Join(d.root, name), maxSaid)
	if engine.Code() == exit.OK {
		return fmt.Sprintf("%s has ended already. It said: %s", s.Mode, said), nil
	}
	words := strings.TrimSpace(strings.TrimPrefix(said, "ralph: "))
	if words == "" {
		words = fmt.Sprintf("it ended with exit code %d", engine.Code())
	}
	return "", &ralph.Refusal{Why: "the engine did not start: " + words, Hint: "all that it said is in " + name}
}

// startEnv is the environment of a start: what it sets for this run alone, the program
// reads there like anything that a person sets so.
func startEnv(environ []string, s action.Start) []string {
	out := slices.Clone(environ)
	for path, value := range map[string]string{"agent.primary": s.Agent, "errors.strategy": s.Strategy} {
		if value != "" {
			out = append(out, config.EnvName(path)+"="+value)
		}
	}
	if s.Retries != nil {
		out = append(out, config.EnvName("errors.max_retries")+"="+strconv.Itoa(*s.Retries))
	}
	return out
}

// startArgs is the command line of a start.
func startArgs(s action.Start) []string {
	args := []string{s.Mode}
	if s.Autonomy != "" {
		args = append(args, "--mode", s.Autonomy)
	}
	if s.Parallel > 0 {
		args = append(args, "--parallel", strconv.Itoa(s.Parallel))
	}
	switch {
	case s.Resume:
		args = append(args, "--resume")
	case s.Fresh:
		args = append(args, "--fresh")
	}
	if s.Spec != "" && s.Mode == "construct" {
		args = append(args, "--", s.Spec)
	}
	return args
}

// startLog opens the file that takes what an engine prints which no terminal shows.
func (d *Backend) startLog(mode string) (*os.File, string, error) {
	const dir = "ralph/.state/starts"
	if err := os.MkdirAll(filepath.Join(d.root, dir), 0o755); err != nil {
		return nil, "", fmt.Errorf("make the folder of the engine's output: %w", err)
	}
	for at := time.Now().UTC(); ; at = at.Add(time.Second) {
		name := dir + "/" + mode + "-" + at.Format("20060102T150405Z") + ".log"
		f, err := os.OpenFile(filepath.Join(d.root, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("make the file of the engine's output: %w", err)
		}
		return f, name, nil
	}
}

// tail is the end of a file as plain text.
func tail(file string, most int64) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-most)
	b := make([]byte, info.Size()-from)
	n, _ := f.ReadAt(b, from)
	return strings.TrimSpace(text.Visible(string(b[:n])))
}
