package backend

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
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

// startLimit is how long a start may take until the engine holds its lock.
const startLimit = 60 * time.Second

// maxSaid bounds what of an engine's output a failed start is told by.
const maxSaid = 4 << 10

// Start starts an engine of this very program, in a session of its own: it outlives the
// surface. It returns when the engine holds the lock, or with its words when it
// has ended before.
func (b *Repository) Start(ctx context.Context, s action.Start) (string, error) {
	return b.Launch(ctx, s.Mode, startArgs(s), startEnv(b.env.Environ, s))
}

// Launch is Start with a command line that is made.
func (b *Repository) Launch(ctx context.Context, mode string, args, environ []string) (string, error) {
	if err := person.Required(b.env); err != nil {
		return "", err
	}
	out, name, err := b.startLog(mode)
	if err != nil {
		return "", err
	}
	defer out.Close()
	engine, err := proc.Detach(proc.Command{Args: append([]string{b.env.Self}, args...), Dir: b.root, Env: environ}, out)
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
			return b.startEnded(engine, mode, name)
		case <-limit.C:
			return fmt.Sprintf("%s is starting (pid %d); its output is in %s", mode, engine.Pid, name), nil
		case <-ctx.Done():
			return "", ctx.Err()
		case <-look.C:
			if owner := b.journal.Holder(); owner != nil && owner.Pid == engine.Pid {
				return fmt.Sprintf("%s works (pid %d)", mode, engine.Pid), nil
			}
		}
	}
}

// startEnded says what became of an engine that has ended at once: it may have had
// nothing to do.
func (b *Repository) startEnded(engine *proc.Detached, mode, name string) (string, error) {
	said := tail(filepath.Join(b.root, name), maxSaid)
	if engine.Code() == exit.OK {
		return fmt.Sprintf("%s has ended already. It said: %s", mode, said), nil
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
			out = append(out, setting.EnvName(path)+"="+value)
		}
	}
	if s.Retries != nil {
		out = append(out, setting.EnvName("errors.max_retries")+"="+strconv.Itoa(*s.Retries))
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
func (b *Repository) startLog(mode string) (*os.File, string, error) {
	const dir = "ralph/.state/starts"
	if err := os.MkdirAll(filepath.Join(b.root, dir), 0o755); err != nil {
		return nil, "", fmt.Errorf("make the folder of the engine's output: %w", err)
	}
	for at := time.Now().UTC(); ; at = at.Add(time.Second) {
		name := dir + "/" + mode + "-" + at.Format("20060102T150405Z") + ".log"
		f, err := os.OpenFile(filepath.Join(b.root, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
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
