package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph/internal/agent/claude"
	"github.com/ralph-loop/ralph/internal/config"
)

// What Claude Code calls in a session that a person started. The turns of ralph itself
// need none of it: the driver answers there, over claude's control channel.

const (
	maxHookInput = 16 << 20

	// claudeWaits is how long claude waits for a hook whose settings do not say; then it
	// lets the call pass. hookSpare is what ralph leaves of that to answer in.
	claudeWaits = 10 * time.Minute
	hookSpare   = time.Minute
	// longestHook bounds the wait where gate.timeout is 0, no limit: claude has one.
	longestHook = 24 * time.Hour
)

// hookInput is what Claude Code writes to a hook's stdin, as far as it is read.
type hookInput struct {
	Session string          `json:"session_id"`
	Dir     string          `json:"cwd"`
	Event   string          `json:"hook_event_name"`
	Tool    string          `json:"tool_name"`
	Input   json.RawMessage `json:"tool_input"`
}

// hookFlags say which sessions a hook is for, and how long claude waits for it.
type hookFlags struct {
	session string
	any     bool
	wait    time.Duration
}

func sessionID() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`) }

// printHookSettings writes claude's settings. The timeout of pre-tool-use is longer than
// ralph waits; without a session there is no Stop hook, which would keep every session.
func printHookSettings(env Env, id string) error {
	c, err := settingsOf(env)
	if err != nil {
		return err
	}
	wait := cmp.Or(c.Gate.Timeout, longestHook)
	hook := func(words, matcher string, timeout time.Duration) []any {
		if id != "" {
			words += " --session " + id
		}
		h := map[string]any{"type": "command", "command": shellQuote(env.Self) + " hook " + words}
		if timeout > 0 {
			h["timeout"] = int64((timeout + time.Second - 1) / time.Second)
		}
		m := map[string]any{"hooks": []any{h}}
		if matcher != "" {
			m["matcher"] = matcher
		}
		return []any{m}
	}
	hooks := map[string]any{"PreToolUse": hook("pre-tool-use --wait "+wait.String(), claude.Asked(), wait+hookSpare)}
	if id != "" {
		hooks["Stop"] = hook("stop", "", 0)
	}
	return printJSON(env.Stdout, map[string]any{"hooks": hooks})
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// readHook reads what claude writes to the hook of an event.
func readHook(env Env, event string) (hookInput, error) {
	var in hookInput
	b, err := io.ReadAll(io.LimitReader(env.Stdin, maxHookInput))
	if err != nil {
		return in, fmt.Errorf("read the hook's input: %w", err)
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return in, fmt.Errorf("the hook's input is not what Claude Code writes: %w", err)
	}
	switch {
	case in.Event != "" && in.Event != event:
		return in, fmt.Errorf("the hook's input is of the event %s: put the command below %s in the settings", in.Event, event)
	case in.Session == "":
		return in, errors.New("the hook's input is not what Claude Code writes: it names no session")
	}
	return in, nil
}

// inTurn reports a turn of ralph, which sees to what its agent does by itself.
func inTurn(env Env) bool { return slices.Contains(env.Environ, "RALPH=1") }

// runPreTool judges a tool call. Of all ways to fail only a denial in JSON and exit code
// 2 keep claude from making the call, so that each of them ends in one of the two.
func runPreTool(ctx context.Context, env Env, f *hookFlags) error {
	if inTurn(env) {
		fmt.Fprintln(env.Stderr, "ralph hook: this session is a turn of ralph, which sees to it itself")
		return nil
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	out, err := judgeTool(ctx, env, f)
	if err != nil {
		fmt.Fprintln(env.Stderr, "ralph hook:", err)
		out = claude.PreTool("deny", "ralph cannot say whether this is allowed: "+err.Error())
	}
	if out == nil {
		return nil
	}
	if err := json.NewEncoder(env.Stdout).Encode(out); err != nil {
		fmt.Fprintln(env.Stderr, "ralph hook: denied, for the answer cannot be written:", err)
		return exitError{exitUsage}
	}
	return nil
}

// judgeTool returns what the hook prints, nil for nothing.
func judgeTool(ctx context.Context, env Env, f *hookFlags) (any, error) {
	in, err := readHook(env, "PreToolUse")
	switch {
	case err != nil:
		return nil, err
	case f.session != "" && in.Session != f.session:
		return nil, nil
	case in.Tool == "":
		return nil, errors.New("the hook's input is not what Claude Code writes: it names no tool")
	case f.wait <= 0:
		return nil, errors.New("--wait must be longer than nothing")
	}
	h, err := newHold(env, in, f.wait)
	if err != nil {
		return nil, err
	}
	return h.judge(ctx)
}

// hookSettings are the repository's settings, and the folder of the repository. Outside
// of one there are the defaults: settings of a person's whole machine lead there too.
func hookSettings(env Env) (config.Config, string, error) {
	root, err := findRoot(env)
	if err != nil {
		c, err := config.Load("", env.Environ, nil)
		return c, "", err
	}
	c, err := loadConfig(env, root, nil)
	return c, root, err
}
