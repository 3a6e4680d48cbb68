//go:build e2e

package e2e

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// driven is one turn of the driver with a real claude in a repository that brings
// hooks and an MCP server of its own.
type driven struct {
	dir    string
	spec   ralph.AgentSpec
	hooks  ralph.TurnHooks
	script func(n int, q modeltest.Request) modeltest.Reply
	ctx    context.Context // nil: the test's
	user   string          // the person's own settings of claude
	mcp    string          // the repository's .mcp.json
}

func (c *driven) run(t *testing.T, a program) ralph.TurnResult {
	t.Helper()
	c.dir = t.TempDir()
	if c.mcp == "" {
		c.mcp = `{"mcpServers":{"strange":{"command":"sh","args":["-c","touch MCP_RAN; cat"]}}}`
	}
	for name, text := range map[string]string{
		".claude/settings.json": `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch HOOK_RAN"}]}]},"permissions":{"allow":["Bash"]}}`,
		".mcp.json":             c.mcp,
	} {
		file := filepath.Join(c.dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	init := exec.Command("git", "init", "-q", c.dir)
	init.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	n := 0
	m := modeltest.New(t, func(q modeltest.Request) modeltest.Reply {
		if len(q.Tools) == 0 {
			return modeltest.Reply{Text: "a title"}
		}
		n++
		return c.script(n, q)
	})
	c.spec.Name, c.spec.Driver, c.spec.Command = "claude", "claude", []string{a.path(t)}
	d, err := agent.Open(c.spec, proc.NewRunner(t.TempDir()), "")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if c.user != "" {
		if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".claude/settings.json"), []byte(c.user), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	vars := m.ClaudeEnv()
	for _, k := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, k+"="+vars[k])
	}
	if c.ctx == nil {
		c.ctx = t.Context()
	}
	res, err := d.Turn(c.ctx, ralph.TurnInput{
		Agent: c.spec, Stage: ralph.KindBuild, Prompt: "Do it.", Dir: c.dir, Env: env, Timeout: 5 * time.Minute, Grace: 5 * time.Second, Scratch: t.TempDir(),
	}, c.hooks)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func (c *driven) has(name string) bool {
	_, err := os.Stat(filepath.Join(c.dir, name))
	return err == nil
}

func eachClaude(t *testing.T, test func(t *testing.T, a program)) {
	eachOf(t, []string{"claude-2.1.197", "claude-2.1.329"}, test)
}

// asked collects what is asked and answers it.
type asked struct{ all []ralph.Request }

func (k *asked) answer(r ralph.Reply) func(context.Context, ralph.Request) (ralph.Reply, error) {
	return func(_ context.Context, q ralph.Request) (ralph.Reply, error) {
		k.all = append(k.all, q)
		return r, nil
	}
}

// The repository's own hooks and MCP servers run only when the settings say so.
func TestClaudeProject(t *testing.T) {
	t.Parallel()
	eachClaude(t, func(t *testing.T, a program) {
		for _, project := range []bool{false, true} {
			c := driven{spec: ralph.AgentSpec{Project: project}, script: func(int, modeltest.Request) modeltest.Reply { return modeltest.Reply{Text: "done"} }}
			res := c.run(t, a)
			if res.Exit != ralph.ExitOK || c.has("HOOK_RAN") != project || c.has("MCP_RAN") != project {
				t.Errorf("project %t: %s, hook ran %t, MCP server ran %t", project, res.Exit, c.has("HOOK_RAN"), c.has("MCP_RAN"))
			}
		}
	})
}

// Claude asks for each call that changes, runs or reaches something, in every mode,
// whatever its args, the person's settings and their hooks allow; what is denied does not
// run (C-034, C-036, X-77). This is what the gate stands on.
func TestClaudeAsksWhateverItIsAllowed(t *testing.T) {
	t.Parallel()
	const hooks = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'"}]}],` +
		`"PermissionRequest":[{"hooks":[{"type":"command","command":"touch PERMITTED; echo '{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\"}}}'"}]}]}}`
	eachClaude(t, func(t *testing.T, a program) {
		for _, c := range []struct {
			name, approvals string
			args            []string
			user            string
		}{
			{"ask", "ask", nil, ""},
			{"never", "never", nil, ""},
			{"skip permissions", "policy", []string{"--dangerously-skip-permissions"}, ""},
			{"accept edits", "policy", []string{"--permission-mode", "acceptEdits"}, ""},
			{"settings of its own", "policy", []string{"--permission-mode=bypassPermissions", "--settings", `{"permissions":{"allow":["Bash","Write"]}}`}, ""},
			{"allowed tools", "policy", []string{"--allowedTools", "Bash,Write"}, `{"permissions":{"allow":["Bash","Bash(ls:*)","Write"],"defaultMode":"bypassPermissions"}}`},
			{"hooks that allow", "policy", nil, hooks},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				var k asked
				d := driven{spec: ralph.AgentSpec{Approvals: c.approvals, Args: c.args}, user: c.user, hooks: ralph.TurnHooks{Ask: k.answer(ralph.Reply{Text: "not in this house"})}}
				d.script = func(n int, _ modeltest.Request) modeltest.Reply {
					switch n {
					case 1:
						return modeltest.Do(modeltest.Run("ls"))
					case 2:
						return modeltest.Do(modeltest.Write(filepath.Join(d.dir, "a.txt"), "a"))
					case 3:
						return modeltest.Do(modeltest.Run("ls && env X=1 sh -c 'echo > RAN'"))
					}
					return modeltest.Reply{Text: "done"}
				}
				res := d.run(t, a)
				var ops []ralph.Operation
				for _, q := range k.all {
					ops = append(ops, q.Op)
				}
				if want := []ralph.Operation{ralph.OpCommand, ralph.OpEdit, ralph.OpCommand}; res.Exit != ralph.ExitOK || !slices.Equal(ops, want) || d.has("a.txt") || d.has("RAN") {
					t.Errorf("%s, asked %v, a.txt %t, RAN %t", res.Exit, ops, d.has("a.txt"), d.has("RAN"))
				}
				// A person's PermissionRequest hook that says yes races with ralph's answer to
				// the same question: what is denied must not get so far.
				if d.has("PERMITTED") {
					t.Error("the person's hook was asked for what ralph denies")
				}
			})
		}
	})
}

// Claude's shell stays where a cd took it: what is asked next says so, for it is judged
// by where it would run (E-077).
func TestClaudeSaysWhereItsShellIs(t *testing.T) {
	t.Parallel()
	eachClaude(t, func(t *testing.T, a program) {
		var k asked
		c := driven{spec: ralph.AgentSpec{Approvals: "policy"}, hooks: ralph.TurnHooks{Ask: k.answer(ralph.Reply{Allow: true})}}
		c.script = func(n int, _ modeltest.Request) modeltest.Reply {
			switch n {
			case 1:
				return modeltest.Do(modeltest.Run("mkdir -p ralph/hooks && cd ralph/hooks"))
			case 2:
				return modeltest.Do(modeltest.Run("echo x > y"))
			}
			return modeltest.Reply{Text: "done"}
		}
		res := c.run(t, a)
		if res.Exit != ralph.ExitOK || len(k.all) != 2 {
			t.Fatalf("%s, asked %+v", res.Exit, k.all)
		}
		stayed := c.has("ralph/hooks/y")
		if said := strings.HasSuffix(k.all[1].Dir, "/ralph/hooks"); !stayed || !said {
			t.Errorf("it ran in ralph/hooks: %t; it said %q", stayed, k.all[1].Dir)
		}
	})
}

// A question is answered, a turn without a signal is kept at work, and a stop while
// claude waits for an answer still says what the turn has cost (C-002, E-027, E-080).
func TestClaudeTalks(t *testing.T) {
	t.Parallel()
	eachClaude(t, func(t *testing.T, a program) {
		var k asked
		c := driven{hooks: ralph.TurnHooks{
			Ask: k.answer(ralph.Reply{Text: "blue"}),
			Stopping: func(words string) string {
				if strings.Contains(words, "COMPLETE") {
					return ""
				}
				return "You have not said COMPLETE."
			},
		}}
		told := ""
		c.script = func(n int, q modeltest.Request) modeltest.Reply {
			switch n {
			case 1:
				return modeltest.Do(modeltest.Ask("Which colour?", "Red", "Blue"))
			case 2:
				told = q.Last
				return modeltest.Reply{Text: "I stop."}
			}
			return modeltest.Reply{Text: "COMPLETE " + q.Last}
		}
		res := c.run(t, a)
		if res.Exit != ralph.ExitOK || len(k.all) != 1 || !slices.Equal(k.all[0].Options, []string{"Red", "Blue"}) || !strings.Contains(told, "Blue") || !strings.Contains(res.Text, "You have not said COMPLETE") {
			t.Errorf("%s, asked %+v, told %s, said %s %+v", res.Exit, k.all, told, res.Text, res.Err)
		}
	})
	eachClaude(t, func(t *testing.T, a program) {
		c := driven{script: func(int, modeltest.Request) modeltest.Reply {
			return modeltest.Do(modeltest.Run("env X=1 sh -c 'echo > RAN'"))
		}}
		c.hooks.Ask = func(context.Context, ralph.Request) (ralph.Reply, error) {
			return ralph.Reply{Stop: true, Text: "nobody answered"}, nil
		}
		if res := c.run(t, a); res.Exit != ralph.ExitUser || !res.Usage.Known || res.Usage.Input == 0 || c.has("RAN") {
			t.Errorf("stopped by its answer: %s %+v", res.Exit, res.Usage)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var k2 asked
		c = driven{ctx: ctx, hooks: ralph.TurnHooks{Ask: k2.answer(ralph.Reply{Allow: true})}, script: func(int, modeltest.Request) modeltest.Reply { return modeltest.Do(modeltest.Run("sleep 60")) }}
		c.hooks.Event = func(e ralph.StreamEvent) {
			if e.Kind == ralph.StreamItem {
				stop()
			}
		}
		if res := c.run(t, a); res.Exit != ralph.ExitUser || !res.Usage.Known || res.Leftover != 0 {
			t.Errorf("stopped by a person: %s %+v, %d left", res.Exit, res.Usage, res.Leftover)
		}
	})
}
