package agent

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
)

// lingerDefault is how long claude may stay after its last result before it is
// ended. 2.1.329 would wait 600 s for a background command.
const lingerDefault = 15 * time.Second

// noBackground keeps claude from starting commands in the background, so that a
// run is over with its result.
const noBackground = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"

// claudeDriver runs one `claude -p` for each turn and speaks stream-json with it in
// both directions (ADR 0018): the prompt goes in as a user message, what claude asks
// in the middle of the turn is answered on its stdin, and stdin is closed with the
// result, so that nothing outlives the turn.
//
// `--setting-sources user` keeps the repository's own hooks and MCP servers from
// running without a question; the price is that claude does not read CLAUDE.md
// (ralph's prompt carries what it needs). AgentSpec.Project lets them in. A
// `--setting-sources`, permission or model flag in args wins.
//
// It is ended by an interrupt on the control channel, then INT, then KILL: the first
// always brings a result with what the turn has cost. On INT 2.1.329 leaves without
// one while it waits for an answer; on TERM it never says anything more.
//
// It adds one variable to the environment: noBackground=1, unless it is set.
type claudeDriver struct {
	spec    ralph.AgentSpec
	proc    *proc.Runner
	linger  time.Duration
	windows windows // the sizes of context windows, as earlier turns were told
}

func (d *claudeDriver) args(in ralph.TurnInput) []string {
	args := slices.Clone(d.spec.Command)
	if len(args) == 0 {
		args = []string{"claude"}
	}
	args = append(args, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	given := func(flags ...string) bool {
		return slices.ContainsFunc(slices.Concat(d.spec.Command, d.spec.Args), func(a string) bool {
			name, _, _ := strings.Cut(a, "=")
			return slices.Contains(flags, name)
		})
	}
	if !given("--permission-prompt-tool") {
		args = append(args, "--permission-prompt-tool", "stdio")
	}
	if !given("--setting-sources") {
		sources := "user"
		if d.spec.Project {
			sources = "user,project,local"
		}
		args = append(args, "--setting-sources", sources)
	}
	if !given("--permission-mode", "--dangerously-skip-permissions") {
		args = append(args, "--permission-mode", permissionMode(d.spec.Approvals, in.Env, os.Geteuid()))
	}
	if d.spec.Model != "" && !given("--model") {
		args = append(args, "--model", d.spec.Model) // on resume too: else the transcript's model is used
	}
	if in.Resume != "" {
		args = append(args, "--resume", in.Resume)
	}
	if in.MaxCost > 0 && !given("--max-budget-usd") {
		// Of this process alone, also on resume (seen in 2.1.329, whose total_cost_usd goes on).
		args = append(args, "--max-budget-usd", strconv.FormatFloat(in.MaxCost, 'f', -1, 64))
	}
	if len(in.Schema) > 0 && !in.Compact {
		args = append(args, "--json-schema", string(in.Schema))
	}
	return append(args, d.spec.Args...)
}

// permissionMode is how much claude asks for. With "ask" its own rules decide
// that: it changes files of its folder without a question. With "policy" each call
// comes to ralph, whatever claude or the person's settings allow (claudePreTool). With
// "never" it asks for nothing, where it lets itself be started so: root needs
// IS_SANDBOX=1. Elsewhere it asks as with "ask", and ralph's policy says yes.
func permissionMode(approvals string, env []string, uid int) string {
	switch {
	case approvals == "policy":
		return "default"
	case approvals == "never" && (uid != 0 || slices.Contains(env, "IS_SANDBOX=1")):
		return "bypassPermissions"
	}
	return "acceptEdits"
}

func (d *claudeDriver) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	if in.Compact {
		if in.Resume == "" {
			return ralph.TurnResult{}, fmt.Errorf("compact a session of claude: there is none: %w", ralph.ErrUnsupported)
		}
		in.Prompt, on.Stopping = compactPrompt, nil
	}
	env := in.Env
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, noBackground+"=") }) {
		env = append(slices.Clone(env), noBackground+"=1")
	}
	limit := in.Timeout
	in.Timeout = 0 // the clock stands still while claude waits for an answer
	t := newTurn(in, on)
	c := newClaude(t.emit, t.said)
	c.fill.windows = &d.windows
	talk := openTalk(ctx, t, c, on, limit)
	defer talk.close()
	talk.begin(in.Prompt, d.spec.Approvals)
	c.control = talk.heard
	stdout := &events{line: c.line}
	stderr := &pieces{emit: c.stderr}
	linger := time.AfterFunc(time.Hour, func() {
		t.mu.Lock()
		c.settled = true
		t.mu.Unlock()
		talk.end(errEnough)
	})
	linger.Stop()
	defer linger.Stop()
	feed := func(p []byte) {
		if c.settled {
			return
		}
		before := c.results
		stdout.Write(p)
		if c.results > before {
			talk.in.Close()
		}
		switch {
		case c.open:
			linger.Stop() // a turn of claude's own after the result
		case c.results > before:
			linger.Reset(d.linger)
		}
	}
	res, over, err := t.run(talk.run, d.proc, launch{
		args: d.args(in), env: env, stdin: talk.in, stdout: feed, stderr: stderr.Write, interrupt: true,
	})
	talkErr := talk.close()
	if err == nil {
		err = talkErr
	}
	if err != nil {
		return res, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	stdout.Close()
	stderr.Close()
	res.Events, res.Dropped = stdout.n+stderr.n, stdout.dropped
	res.Waited = talk.asks.stop()
	talk.settle(&res)
	if res.Exit != ralph.ExitSpawn {
		c.conclude(&res, over)
		if in.Compact {
			c.concludeCompact(&res)
		}
	}
	t.emit(turnDone(res))
	return res, nil
}

// turnDone is the end of a turn as an event.
func turnDone(res ralph.TurnResult) ralph.StreamEvent {
	e := ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: res.Session, Status: ralph.TurnFailed}
	switch res.Exit {
	case ralph.ExitOK:
		e.Status = ralph.TurnCompleted
	case ralph.ExitUser, ralph.ExitTimeout:
		e.Status = ralph.TurnInterrupted
	}
	e.Err = res.Err
	return e
}
