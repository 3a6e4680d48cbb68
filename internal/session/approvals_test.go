package session

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/doctor"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Issue 15, point 4: auto is what users have, and stands on a sandbox: without one it is ask.
// A word that a person has written wins.
func TestApprovalsHere(t *testing.T) {
	t.Parallel()
	both, none := profile.Offered{ABI: 7, Bwrap: "/usr/bin/bwrap"}, profile.Offered{}
	for _, tt := range []struct {
		set, kind string // of the settings; "": as users have it; "in place": isolation: none too
		in        string // the sandbox that agents run in
		o         profile.Offered
		word, why string
	}{
		{"", "auto", sandbox.Bubblewrap, both, "auto", "in a sandbox (bubblewrap)"},
		{"", "auto", sandbox.Landlock, both, "auto", "in a sandbox (landlock)"},
		{"", "auto", sandbox.Off, none, "ask", "neither landlock nor bubblewrap"},
		{"", "off", sandbox.Off, both, "ask", "sandbox.kind is off"},
		{"auto", "off", sandbox.Off, both, "ask", "sandbox.kind is off"},
		{"ask", "auto", sandbox.Bubblewrap, both, "ask", ""},
		{"policy", "auto", sandbox.Off, none, "policy", ""},
		{"never", "auto", sandbox.Landlock, both, "never", ""},
		{"in place", "auto", sandbox.Landlock, both, "ask", "landlock keeps nothing in your checkout"},
		{"in place", "auto", sandbox.Bubblewrap, both, "auto", "in a sandbox (bubblewrap)"},
	} {
		c := config.Defaults()
		c.Sandbox.Kind = tt.kind
		if tt.set == "in place" {
			c.Isolation, tt.set = "none", ""
		}
		if tt.set != "" {
			c.Gate.Approvals = tt.set
		}
		if word, why := bootstrap.ApprovalsHere(c, tt.in, tt.o); word != tt.word || !strings.Contains(why, tt.why) {
			t.Errorf("gate.approvals %q, sandbox.kind %s, in %s: %s: %s, want %s: %s", tt.set, tt.kind, tt.in, word, why, tt.word, tt.why)
		}
	}
}

// R-H6: the first line says what waits and how long, and how that is changed; at a terminal
// the person sees it by themselves.
func TestAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		approvals  string
		asks       bool
		unattended bool
		terminal   bool
		timeout    time.Duration
		stop       bool
		want       string
	}{
		{"at a terminal", "ask", true, false, true, 30 * time.Minute, false, ""},
		{"ask", "ask", true, false, false, 30 * time.Minute, false, "nobody at the terminal: each command that does more than read waits 30m for you (`ralph gates`), then is refused, and the agent goes on; questions wait until you answer (`ralph gates`); --unattended waits for nobody; `ralph config edit gate.approvals=policy` asks less"},
		{"auto", "auto", true, false, false, 90 * time.Second, true, "nobody at the terminal: what leaves the sandbox, and what gate.patterns or the never list hold, waits 1m30s for you (`ralph gates`), then ends the session; questions"},
		{"an agent that cannot ask", "ask", false, false, false, 0, false, "nobody at the terminal: what gate.patterns or the never list hold waits until you answer (`ralph gates`); questions"},
		{"unattended", "policy", true, true, true, time.Hour, false, "unattended: what does more than read, change the work tree or run the checks and questions wait for nobody: each is refused, and the agent goes on (gate.on_timeout: skip)"},
	} {
		c := config.Defaults()
		c.Gate.Approvals, c.Gate.Timeout = tt.approvals, tt.timeout
		if tt.stop {
			c.Gate.OnTimeout = "stop"
		}
		x := &Session{Env: workspace.Env{Terminal: tt.terminal}, Unattended: tt.unattended, Parts: &bootstrap.Parts{
			Config: c, Approvals: tt.approvals, Chain: []string{"a"}, Agents: map[string]step.ConfiguredAgent{"a": {Asks: tt.asks}},
		}}
		if got := x.alone(); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

// The doctor believes what it sees: a runner without a sandbox lets a child write outside,
// and that is found.
func TestTryWrites(t *testing.T) {
	t.Parallel()
	err := doctor.TryWrites(t.Context(), proc.NewRunner(""), os.Environ())
	if err == nil || !strings.Contains(err.Error(), "has written outside") {
		t.Errorf("without a sandbox: %v", err)
	}
	wrong := proc.NewRunner("").Wrapped(func(c proc.Command) proc.Command {
		c.Args = []string{"/bin/sh", "-c", "echo no such sandbox >&2; exit 7"}
		return c
	})
	if err := doctor.TryWrites(t.Context(), wrong, os.Environ()); err == nil || !strings.Contains(err.Error(), "no such sandbox") {
		t.Errorf("a sandbox in which nothing starts: %v", err)
	}
}
