package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// shake speaks a driver's protocol with a shell script.
func shake(t *testing.T, driver, script string, edit func(*ralph.TurnInput)) (agent.Handshake, error) {
	t.Helper()
	h, ok := agent.HandshakerOf(driver, proc.NewRunner(""))
	if !ok {
		t.Fatalf("%s has no handshake", driver)
	}
	spec := ralph.AgentSpec{Name: "a", Driver: driver, Command: []string{"sh", "-c", script}}
	in := input(t, spec)
	in.Timeout, in.Grace = time.Minute, time.Second
	if edit != nil {
		edit(&in)
	}
	return h.Handshake(t.Context(), in)
}

// What agents said of themselves before any turn: claude 2.1.197 and 2.1.329, codex
// 0.169.0, opencode 1.18.33 (issue 5, 8).
func TestHandshakes(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		driver, file string
		want         agent.Handshake
		err          string
	}{
		{"claude", "claude-2.1.197", agent.Handshake{Protocol: "stream-json", LoggedIn: &no, Models: []string{"default", "opus[1m]", "sonnet"}}, ""},
		{"claude", "claude-2.1.329", agent.Handshake{
			Protocol: "stream-json", Version: "2.1.329", LoggedIn: &yes, Account: "by ANTHROPIC_API_KEY", Models: []string{"default", "fable"},
		}, ""},
		{"codex", "codex-not-logged-in", agent.Handshake{Protocol: "app-server", Version: "0.169.0", LoggedIn: &no, Models: []string{"gpt-6.1-sol", "gpt-5.5"}}, ""},
		{"codex", "codex-own-provider", agent.Handshake{
			Protocol: "app-server", Version: "0.169.0", LoggedIn: &yes, Account: "by a provider of its own, which needs no login",
		}, ""},
		{"codex", "codex-refuses", agent.Handshake{}, "initialize: Already initialized (-32600)"},
		{"acp", "acp-opencode", agent.Handshake{Protocol: "ACP 1", Version: "1.18.33", Words: ""}, ""},
		{"acp", "acp-newer", agent.Handshake{}, "version 2 of the Agent Client Protocol; ralph speaks 1"},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			file, err := filepath.Abs("testdata/handshake/" + c.file + ".jsonl")
			if err != nil {
				t.Fatal(err)
			}
			got, err := shake(t, c.driver, `read first; cat '`+file+`'; cat >/dev/null`, nil)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An agent that does not answer, dies, is not there, or stays when all was said, ends;
// the error says which it was.
func TestHandshakeOfABadAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script, err string
		edit              func(*ralph.TurnInput)
	}{
		{"dies", "echo bad flag >&2; exit 2", "it ended with code 2 before it answered: bad flag", nil},
		{"hangs", "sleep 60", "it did not answer within 300ms", func(in *ralph.TurnInput) { in.Timeout, in.Grace = 300*time.Millisecond, 100*time.Millisecond }},
		{"is not there", "", "no-such-agent", func(in *ralph.TurnInput) { in.Agent.Command = []string{"no-such-agent"} }},
		{"stays", `read l; echo '{"id":1,"result":{"protocolVersion":1}}'; exec sleep 60`, "", func(in *ralph.TurnInput) { in.Grace = 100 * time.Millisecond }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			got, err := shake(t, "acp", c.script, c.edit)
			switch {
			case c.err == "" && (err != nil || got.Protocol != "ACP 1"):
				t.Errorf("%+v, %v", got, err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("error %v, want %s", err, c.err)
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// A person's stop ends it, with what it has started.
func TestHandshakeIsStopped(t *testing.T) {
	t.Parallel()
	h, _ := agent.HandshakerOf("codex", proc.NewRunner(""))
	ctx, stop := context.WithCancel(t.Context())
	in := input(t, ralph.AgentSpec{Driver: "codex", Command: []string{"sh", "-c", "setsid sh -c 'echo up; exec sleep 60' & wait"}})
	in.Timeout, in.Grace = time.Minute, 200*time.Millisecond
	in.Raw = firstOutput(func() { stop() })
	got, err := h.Handshake(ctx, in)
	if err == nil || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat("/proc/self"); err == nil && got.Leftover == 0 {
		t.Error("what it had started was not found")
	}
}

type firstOutput func()

func (f firstOutput) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// Versions are asked of known programs alone; those that are old, or not the one whose
// protocol was tested, are named.
func TestVersions(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	program := func(name, text string) ralph.AgentSpec {
		ralphtest.Program(t, filepath.Join(bin, name), "#!/bin/sh\n"+text+"\n")
		return ralph.AgentSpec{Name: name, Command: []string{filepath.Join(bin, name)}}
	}
	p := proc.NewRunner("")
	for _, c := range []struct {
		spec           ralph.AgentSpec
		version, stale string
		err            string
		limit          time.Duration
	}{
		{program("claude", "echo '2.1.96 (Claude Code)'"), "2.1.96", "older than 2.1.197", "", time.Minute},
		{program("codex", `echo "codex-cli 0.170.0"`), "0.170.0", "not 0.169.0", "", time.Minute},
		{program("opencode", `test "$OPENCODE_DISABLE_AUTOUPDATE" = 1 && echo 1.20.0`), "1.20.0", "", "", time.Minute},
		{program("gemini", "echo oops >&2; exit 3"), "", "", "`gemini --version` ended with code 3: oops", time.Minute},
		{program("copilot", "exec sleep 60"), "", "", "`copilot --version` said nothing within 200ms", 200 * time.Millisecond},
		{program("goose", "echo no number"), "", "", `names no version: "no number"`, time.Minute},
		{program("my-agent", "touch "+bin+"/started"), "", "", "not supported", time.Minute},
	} {
		v, err := agent.Version(t.Context(), p, c.spec, bin, environ(t), c.limit)
		if v != c.version || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: version %q, %v; want %q, %s", c.spec.Name, v, err, c.version, c.err)
		}
		if stale := agent.Stale(c.spec, v); (stale == "") != (c.stale == "") || !strings.Contains(stale, c.stale) {
			t.Errorf("%s: %q, want %q", c.spec.Name, stale, c.stale)
		}
	}
	if _, err := os.Stat(filepath.Join(bin, "started")); err == nil {
		t.Error("a person's own program was started")
	}
}

// A login is a variable or a file with something in it; without one nothing is claimed.
func TestLogins(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file(".claude/.credentials.json", `{"claudeAiOauth":{}}`)
	file("elsewhere/auth.json", `{"OPENAI_API_KEY":"sk-x"}`)
	file(".local/share/opencode/auth.json", `{}`)
	file(".gemini/oauth_creds.json", "not JSON")
	for _, c := range []struct {
		program string
		env     []string
		want    agent.Login
	}{
		{"claude", nil, agent.Login{Known: true, Words: ".claude/.credentials.json"}},
		{"/usr/bin/claude", []string{"ANTHROPIC_API_KEY=x"}, agent.Login{Known: true, Words: "ANTHROPIC_API_KEY is set"}},
		{"codex", nil, agent.Login{}},
		{"codex", []string{"CODEX_HOME=" + home + "/elsewhere"}, agent.Login{Known: true, Words: "$CODEX_HOME/auth.json"}},
		{"opencode", nil, agent.Login{}},
		{"gemini", nil, agent.Login{}},
		{"my-agent", []string{"ANTHROPIC_API_KEY=x"}, agent.Login{}},
	} {
		got := agent.LoginOf(ralph.AgentSpec{Command: []string{c.program}}, append([]string{"HOME=" + home}, c.env...))
		if got != c.want {
			t.Errorf("%s %v: %+v, want %+v", c.program, c.env, got, c.want)
		}
	}
	if got := agent.LoginOf(ralph.AgentSpec{Command: []string{"claude"}}, nil); got.Known {
		t.Errorf("without HOME: %+v", got)
	}
}
