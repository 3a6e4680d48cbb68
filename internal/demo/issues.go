package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/demo/hub"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// RunIssues is Run with a tracker on this machine: an issue becomes a spec and a pull request, a
// check of the service sends it round once more, the service goes away and comes back.
func RunIssues(ctx context.Context, env workspace.Env, dir string, web bool) error {
	begin := time.Now()
	dir, err := makeDemo(ctx, env, dir, "demo_issues", 1)
	if err != nil {
		return err
	}
	bare := filepath.Join(dir, ".git", "demo-hub.git")
	for _, args := range [][]string{
		{"git", "init", "-q", "--bare", bare},
		{"git", "remote", "add", "origin", bare},
		{"git", "push", "-q", "origin", "HEAD:refs/heads/main"},
	} {
		_, stderr, res, err := proc.NewRunner("").Output(ctx, proc.Command{Args: args, Dir: dir, Env: Environ(env.Environ)})
		if err == nil && res.Code != 0 {
			err = errors.New(strings.TrimSpace(string(stderr)))
		}
		if err != nil {
			return fmt.Errorf("make the demo's remote: %w", err)
		}
	}
	service := hub.New("demo/greetings", bare)
	url, end, err := serveHub(service)
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintf(env.Stdout, "A small repository, and a tracker in the shape of GitHub on this machine: %s\n\n", dir)
	inside := env
	inside.Dir, inside.Environ = dir, append(Environ(env.Environ), "DEMO_TOKEN=no-secret")
	x := &session.Session{Env: inside, Mode: "agent", Flags: map[string]string{"sync.github.base_url": url}, Web: web, KeepWeb: true, Watch: true}
	defer x.HoldWeb(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	said := make(chan error, 1)
	go func() {
		err := play(ctx, inside, service)
		if err != nil {
			cancel(err)
		}
		said <- err
	}()
	err = x.Run(ctx)
	cancel(nil)
	if played := <-said; played != nil && !errors.Is(played, context.Canceled) {
		err = played
	}
	if err != nil {
		x.KeepWeb = false
		x.CloseWeb()
		fmt.Fprintf(env.Stdout, "\nThe demo's repository is kept: %s\n", dir)
		return err
	}
	return issuesEnd(env, service, dir, time.Since(begin))
}

// serveHub serves the tracker on loopback.
func serveHub(h http.Handler) (url string, end func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("serve the demo's tracker: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}

// play is the people and the service of the demo, one after the other.
func play(ctx context.Context, env workspace.Env, h *hub.Hub) error {
	tell := func(words string) { fmt.Fprintf(env.Stdout, "THEY: %s\n", words) }
	wait := func(what string, so func(*ralph.State) bool) error { return waitFor(ctx, env, what, so) }
	pull := func(n int, so func(*ralph.Pull) bool) func(*ralph.State) bool {
		return func(s *ralph.State) bool { return len(s.Pulls) >= n && so(s.Pulls[n-1]) }
	}
	if err := wait("the session to begin", func(s *ralph.State) bool { return s.Session.Live() }); err != nil {
		return err
	}
	tell("Mia labels an issue: Greet people by name")
	h.Issue("Greet people by name", "`sh greet.sh Mia` prints `Hello, Mia!`.", "mia", "MEMBER", "ralph")
	if err := wait("the pull request", pull(1, func(p *ralph.Pull) bool { return p.Request.Number > 0 })); err != nil {
		return err
	}
	tell("the service's own check, lint, is red")
	h.Check("lint", "failure", "greet.sh: say in a comment what it does")
	if err := wait("another round", pull(1, func(p *ralph.Pull) bool { return p.Round == 2 && p.Commit != p.Request.Went && !p.Waits() })); err != nil {
		return err
	}
	tell("lint is green; then the service goes away")
	h.Check("lint", "success", "")
	h.Away(true)
	h.Issue("Say goodbye", "`sh farewell.sh Mia` prints `Goodbye, Mia!`.", "mia", "MEMBER", "ralph")
	if err := waitFor(ctx, env, "time", func() func(*ralph.State) bool {
		until := time.Now().Add(time.Second)
		return func(*ralph.State) bool { return time.Now().After(until) }
	}()); err != nil {
		return err
	}
	tell("the service is back")
	h.Away(false)
	if err := wait("the second pull request", pull(2, func(p *ralph.Pull) bool { return p.Request.Number > 0 })); err != nil {
		return err
	}
	tell("Mia merges the first pull request, which closes its issue")
	if err := h.Merge(2); err != nil {
		return err
	}
	if err := wait("the merge to be seen", pull(1, func(p *ralph.Pull) bool { return p.Request.State == ralph.PullMerged })); err != nil {
		return err
	}
	j, err := workspace.OpenJournal(env, false, false)
	if err != nil {
		return fmt.Errorf("stop the demo: %w", err)
	}
	err = j.Update(context.WithoutCancel(ctx), "cli", func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(ralph.WantStop, "the demo is over") })
	return errors.Join(err, j.Close())
}

// waitFor waits for something to be so in the demo's repository.
func waitFor(ctx context.Context, env workspace.Env, what string, so func(*ralph.State) bool) error {
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	over := time.NewTimer(time.Minute)
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over.C:
			return fmt.Errorf("the demo waited a minute for %s", what)
		case <-look.C:
		}
		if s, _, err := workspace.ReadState(env, false, false); err == nil && so(s) { // else it is about to begin
			return nil
		}
	}
}

// issuesEnd tells what came of it and what to try next.
func issuesEnd(env workspace.Env, h *hub.Hub, dir string, d time.Duration) error {
	var things []string
	for line := range strings.Lines(h.Tell()) {
		if strings.HasPrefix(line, "issue") || strings.HasPrefix(line, "pull") {
			things = append(things, "  "+line)
		}
	}
	_, err := fmt.Fprintf(env.Stdout, `
Done in %s. The tracker has:
%s
The text of the first pull request:
  %s/ralph/.state/pulls/ralph-issue-1-greet-people-by-name.md

Repository:
  %[3]s

Try next:
  %[4]s -C %[3]s report
  %[4]s -C %[3]s verify     (every link, from decisions over checks to commits)

Then, in a repository of yours: docs/issues.md
`, ralph.Elapsed(d), strings.Join(things, ""), dir, selfWords(env))
	return err
}
