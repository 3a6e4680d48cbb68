package agent

import (
	"context"
	"fmt"
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

// claudeDriver runs `claude -p` once per turn and reads its stream-json.
//
// The prompt goes in by stdin: list flags would swallow it as an argument, and
// one that begins with "-" would be an option. `--setting-sources user` keeps
// the repository's own hooks and MCP servers from running without a question;
// the price is that claude does not read CLAUDE.md (ralph's prompt carries what
// it needs). A `--setting-sources`, permission or model flag in args wins.
//
// It is ended by INT: then claude still prints a result, with what the turn has
// cost, and ends the command that it runs. On TERM it says nothing more.
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
	args = append(args, "-p", "--output-format", "stream-json", "--verbose")
	given := func(flags ...string) bool {
		return slices.ContainsFunc(slices.Concat(d.spec.Command, d.spec.Args), func(a string) bool {
			name, _, _ := strings.Cut(a, "=")
			return slices.Contains(flags, name)
		})
	}
	if !given("--setting-sources") {
		args = append(args, "--setting-sources", "user")
	}
	if !given("--permission-mode", "--dangerously-skip-permissions") {
		args = append(args, "--permission-mode", "acceptEdits")
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

func (d *claudeDriver) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	if in.Compact {
		if in.Resume == "" {
			return ralph.TurnResult{}, fmt.Errorf("compact a session of claude: there is none: %w", ralph.ErrUnsupported)
		}
		in.Prompt = compactPrompt
	}
	env := in.Env
	if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, noBackground+"=") }) {
		env = append(slices.Clone(env), noBackground+"=1")
	}
	t := newTurn(in, on)
	c := newClaude(t.said)
	c.fill = fill{told: t.context, windows: &d.windows}
	stdout := &events{line: c.line}
	stderr := &pieces{emit: c.stderr}
	linger := time.AfterFunc(time.Hour, func() {
		t.mu.Lock()
		c.settled = true
		t.mu.Unlock()
		t.stop(errEnough)
	})
	linger.Stop()
	defer linger.Stop()
	feed := func(p []byte) {
		if c.settled {
			return
		}
		before := c.results
		stdout.Write(p)
		switch {
		case c.open:
			linger.Stop() // a turn of claude's own after the result
		case c.results > before:
			linger.Reset(d.linger)
		}
	}
	res, over, err := t.run(ctx, d.proc, launch{
		args: d.args(in), env: env, stdin: strings.NewReader(in.Prompt), stdout: feed, stderr: stderr.Write, interrupt: true,
	})
	if err != nil {
		return res, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	stdout.Close()
	stderr.Close()
	res.Events, res.Dropped = stdout.n+stderr.n, stdout.dropped
	if res.Exit != ralph.ExitSpawn {
		c.conclude(&res, over)
		if in.Compact {
			c.concludeCompact(&res)
		}
	}
	return res, nil
}

// conclude settles the turn. The last result decides (its is_error and subtype,
// as "success" is also the subtype of an API error), the exit code only where
// there is none. A result also outweighs our own timeout, when claude was only slow
// to leave: not one that says that it was interrupted. A person's stop outweighs
// the result.
func (c *claude) conclude(res *ralph.TurnResult, over bool) {
	res.Text = c.answerText()
	res.Session = c.session
	res.Denied = c.denied
	res.Usage = c.usage.total(c.open || c.results == 0)
	if res.Compacts = c.fill.own; c.fill.use.Used > 0 {
		res.Context = c.fill.use
	}
	finished := c.results > 0 && !c.open
	switch {
	case res.Exit == ralph.ExitUser && !over:
		return
	case finished:
		c.judge(res)
		return
	case res.Exit == ralph.ExitTimeout, res.Exit == ralph.ExitCrashed:
		return
	case res.Code == 129 || res.Code == 143:
		// claude catches HUP and TERM and leaves with these codes.
		res.Exit = ralph.ExitCrashed
		return
	}
	res.Exit = ralph.ExitFailed
	res.Err = failure(c.errs.String(), c.noise.String())
	if res.Code == 0 {
		res.Err.Class = ralph.ErrClassOutput
	}
	if res.Err.Message == "" {
		res.Err.Message = fmt.Sprintf("claude ended with exit code %d without a result event; "+
			"is it Claude Code (`claude --version`), and do args leave --output-format alone?", res.Code)
	}
}

// judge settles a turn that has a result.
func (c *claude) judge(res *ralph.TurnResult) {
	r := &c.last
	if !r.IsError && r.Subtype == "success" {
		res.Exit = ralph.ExitOK
		if len(r.Structured) > 0 && string(r.Structured) != "null" {
			res.Answer = slices.Clone(r.Structured)
		}
		return
	}
	out := res.Exit == ralph.ExitTimeout
	res.Exit = ralph.ExitFailed
	if strings.HasPrefix(r.Terminal, "aborted_") {
		if res.Exit = ralph.ExitCrashed; out {
			res.Exit = ralph.ExitTimeout // our own SIGINT; somebody else's is as good as a kill
		}
		return
	}
	res.Err = c.apiError()
	if strings.HasPrefix(res.Err.Message, noConversation) {
		res.Session = "" // so that the next try does not ask for it again
	}
}

// noConversation is how claude refuses to resume a session it does not have.
const noConversation = "No conversation found"

// apiError types the error of the last result: structured fields first, in the
// order of how much they say, the error's text last.
func (c *claude) apiError() *ralph.AgentError {
	r := &c.last
	e := &ralph.AgentError{Status: r.Status, Message: r.Result}
	if e.Message == "" {
		e.Message = strings.Join(r.Errors, "\n")
	}
	if e.Message == "" {
		e.Message = "claude: " + r.Subtype
	}
	e.Message = cutBack(e.Message, maxMessage)
	if e.Status == 0 && r.Kind == "" {
		e.Status = c.retryStatus // 2.1.197 says 529 only in its retries
	}
	e.Class = c.class(e)
	if e.Class == ralph.ErrClassLimit {
		e.ResetAt, e.Limit = c.resetAt, c.limit
	}
	return e
}

func (c *claude) class(e *ralph.AgentError) ralph.ErrorClass {
	r := &c.last
	switch r.Subtype {
	case "error_max_turns", "error_max_budget_usd":
		return ralph.ErrClassBudget
	case "error_max_structured_output_retries":
		return ralph.ErrClassOutput
	case "error_during_execution":
		return ralph.ErrClassOther
	}
	switch {
	case r.Terminal == "prompt_too_long", r.Terminal == "rapid_refill_breaker":
		return ralph.ErrClassContext
	case r.Stop == "refusal":
		return ralph.ErrClassRefusal
	case e.Status == 429, c.apiErr == "rate_limit", r.Kind == "rate_limit_error":
		return ralph.ErrClassLimit
	case e.Status == 529, r.Kind == "overloaded_error":
		return ralph.ErrClassBusy
	case e.Status == 401, e.Status == 403, c.apiErr == "authentication_failed":
		return ralph.ErrClassAuth
	case c.apiErr == "billing_error", c.apiErr == "model_not_found", e.Status >= 400 && e.Status < 500,
		c.apiErr == "invalid_request":
		return ralph.ErrClassRequest
	case c.apiErr == "server_error" && busyText.MatchString(e.Message):
		return ralph.ErrClassBusy // a stream that broke off overloaded has no field for it
	case c.apiErr == "server_error", e.Status >= 500:
		return ralph.ErrClassServer
	}
	return ralph.ErrClassOther
}
