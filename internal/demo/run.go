// Package demo owns `ralph demo`: the repositories that it makes, and the engine's run in them.
//
// It does NOT own how its agent plays (agent/scripted).
package demo

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/scripted"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/workspace"
)

//go:embed demo demo_auto demo_issues demo_parallel
var demoFiles embed.FS

// Run makes the demo's repository in dir ("" for a temporary folder) and works on its two specs.
func Run(ctx context.Context, env workspace.Env, dir string, web bool) error {
	begin := time.Now()
	dir, mode, err := Make(ctx, env, dir, false, 1)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "A small repository with two specs in the queue: %s\n\n", dir)
	x, err := playDemo(ctx, env, dir, mode, web)
	defer x.HoldWeb(ctx)
	if err != nil {
		return err
	}
	return demoEnd(ctx, x.Env, dir, time.Since(begin))
}

// Make makes the demo's repository in dir ("" for a temporary folder), and says which engine
// works on what is in it: the specs of the queue, or with parallel the tasks of a plan. Its
// agents think pace times as long as they would.
func Make(ctx context.Context, env workspace.Env, dir string, parallel bool, pace int) (made, mode string, err error) {
	name, fill, mode := "demo", queueDemo, "agent"
	if parallel {
		name, fill, mode = "demo_parallel", planDemo, "autopilot"
	}
	made, err = makeDemo(ctx, env, dir, name, pace)
	if err == nil {
		err = fill(ctx, made, Environ(env.Environ))
	}
	return made, mode, err
}

// playDemo runs the engine in the demo's repository, and returns what is left of it: the
// environment there, and the dashboard where one is wanted.
func playDemo(ctx context.Context, env workspace.Env, dir, mode string, web bool) (*session.Session, error) {
	inside := env
	inside.Dir = dir
	inside.Environ = Environ(env.Environ)
	x := &session.Session{Env: inside, Mode: mode, Flags: map[string]string{}, Web: web, KeepWeb: true}
	err := x.Run(ctx)
	if err != nil {
		x.KeepWeb = false
		x.CloseWeb()
		fmt.Fprintf(env.Stdout, "\nThe demo's repository is kept: %s\n", dir)
	}
	return x, err
}

// Environ leaves out what would change the demo's settings, and gives git an
// identity of its own, so that an empty git config is enough.
func Environ(environ []string) []string {
	var out []string
	for _, kv := range environ {
		if !strings.HasPrefix(kv, "RALPH_") && !strings.HasPrefix(kv, "GIT_") {
			out = append(out, kv)
		}
	}
	return out
}

// makeDemo makes a repository of the files of a demo.
func makeDemo(ctx context.Context, env workspace.Env, dir, name string, pace int) (string, error) {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "ralph-demo-")
		if err != nil {
			return "", fmt.Errorf("make the demo's folder: %w", err)
		}
		dir = tmp
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("make the demo's folder: %w", err)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return "", &ralph.Refusal{Why: dir + " is not empty", Hint: "name a new folder", Kind: ralph.ErrUsage}
	}
	if err := writeDemoFiles(dir, name, pace); err != nil {
		return "", err
	}
	run := proc.NewRunner("")
	for _, args := range [][]string{
		{"git", "init", "-q", "."},
		{"git", "symbolic-ref", "HEAD", "refs/heads/main"},
		{"git", "config", "user.name", "ralph demo"},
		{"git", "config", "user.email", "demo@ralph.invalid"},
		{"git", "config", "commit.gpgsign", "false"},
		{"git", "add", "-A"},
		{"git", "commit", "-q", "-m", "A small project"},
	} {
		_, stderr, res, err := run.Output(ctx, proc.Command{Args: args, Dir: dir, Env: Environ(env.Environ)})
		if err != nil {
			return "", fmt.Errorf("make the demo's repository: %w", err)
		}
		if res.Code != 0 {
			return "", fmt.Errorf("make the demo's repository: %s: %s", strings.Join(args, " "), strings.TrimSpace(string(stderr)))
		}
	}
	return dir, nil
}

func writeDemoFiles(dir, demo string, pace int) error {
	place := map[string]string{
		"greeting.md": "ralph/specs/greeting.md", "farewell.md": "ralph/specs/farewell.md", "till.md": "ralph/specs/till.md",
		"config.yaml": "ralph/config.yaml",
	}
	return fs.WalkDir(demoFiles, demo, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, demo+"/")
		if to, ok := place[name]; ok {
			name = to
		}
		text, err := demoFiles.ReadFile(path)
		if pace > 1 && name == "ralph/config.yaml" {
			text = bytes.ReplaceAll(text, []byte("scenario: "), fmt.Appendf(nil, "env: {%s: %q}, scenario: ", scripted.PaceVar, strconv.Itoa(pace)))
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("write the demo's files: %w", err)
		}
		return nil
	})
}

func queueDemo(ctx context.Context, dir string, environ []string) error {
	if err := workspace.ExcludeRuntime(dir, environ); err != nil {
		return err
	}
	j, err := journal.Open(journal.Options{Root: dir, Inbox: true, NewID: workspace.NewID})
	if err != nil {
		return err
	}
	err = j.Update(ctx, "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		facts := s.AddSpec("q-demo", "greeting.md", time.Now())
		return append(facts, s.AddSpec("q-bye1", "farewell.md", time.Now())...), nil
	})
	return errors.Join(err, j.Close())
}

// demoEnd tells where everything lies and what to try next.
func demoEnd(ctx context.Context, env workspace.Env, dir string, d time.Duration) error {
	s, _, err := workspace.ReadState(env, true, true)
	if err != nil {
		return err
	}
	log, stderr, res, err := proc.NewRunner("").Output(ctx, proc.Command{
		Args: []string{"git", "log", "--reverse", "--format=  %h  %s", "-2"}, Dir: dir, Env: env.Environ,
	})
	if err != nil {
		return fmt.Errorf("read the demo's commits: %w", err)
	}
	if res.Code != 0 {
		return fmt.Errorf("read the demo's commits: %s", stderr)
	}
	_, err = fmt.Fprintf(env.Stdout, `
Done in %s: %s, %d iterations, %s mended, %s (made-up money).

Commits:
%s
Repository:
  %s

Try next:
  git -C %[7]s log -1
  %[8]s -C %[7]s status
  %[8]s -C %[7]s replay     (every decision made again: the same)
  %[8]s -C %[7]s serve      (all of it in a browser)

Then, in a repository of yours: ralph init
`, ralph.Elapsed(d), report.Specs(s.Session.Completed), s.Session.Turns, report.RedChecks(s.Totals.ChecksRed), ralph.Dollars(s.Session.Usage.Cost),
		log, dir, selfWords(env))
	return err
}

// selfWords is how the person can call this program again from where it was
// started. `go run` builds it into a folder that is gone afterwards.
func selfWords(env workspace.Env) string {
	if strings.Contains(env.Self, "go-build") {
		return "go run ./cmd/ralph"
	}
	if path, err := proc.LookPath("ralph", env.Dir, env.Environ); err == nil && path == env.Self {
		return "ralph"
	}
	return env.Self
}
