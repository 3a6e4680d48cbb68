// Package claudehook answers the hooks of a Claude Code session that a person started:
// whether a call of a tool is held, and whether the session may end.
//
// It does not own the turns of ralph itself, where the driver answers (internal/agent/claude).
package claudehook

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
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// What Claude Code calls in a session that a person started. The turns of ralph itself
// need none of it: the driver answers there, over claude's control channel.

const (
	MaxHookInput = 16 << 20

	// claudeWaits is how long claude waits for a hook whose settings do not say; then it
	// lets the call pass. hookSpare is what ralph leaves of that to answer in.
	ClaudeWaits = 10 * time.Minute
	HookSpare   = time.Minute
	// longestHook bounds the wait where gate.timeout is 0, no limit: claude has one.
	longestHook = 24 * time.Hour
)

// Input is what Claude Code writes to a hook's stdin, as far as it is read.
type Input struct {
	Session string          `json:"session_id"`
	Dir     string          `json:"cwd"`
	Event   string          `json:"hook_event_name"`
	Tool    string          `json:"tool_name"`
	Input   json.RawMessage `json:"tool_input"`
}

// Flags say which sessions a hook is for, and how long claude waits for it.
type Flags struct {
	Session string
	Any     bool
	Wait    time.Duration
}

// SessionID is what an id of one of claude's sessions looks like; it becomes part of a file's name.
func SessionID() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`) }

// PrintSettings writes claude's settings. The timeout of pre-tool-use is longer than
// ralph waits; without a session there is no Stop hook, which would keep every session.
func PrintSettings(env workspace.Env, id string) error {
	c, err := workspace.SettingsOf(env)
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
	hooks := map[string]any{"PreToolUse": hook("pre-tool-use --wait "+wait.String(), claude.Asked(), wait+HookSpare)}
	if id != "" {
		hooks["Stop"] = hook("stop", "", 0)
	}
	return workspace.PrintJSON(env.Stdout, map[string]any{"hooks": hooks})
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// readHook reads what claude writes to the hook of an event.
func readHook(env workspace.Env, event string) (Input, error) {
	var in Input
	b, err := io.ReadAll(io.LimitReader(env.Stdin, MaxHookInput))
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
func inTurn(env workspace.Env) bool { return slices.Contains(env.Environ, "RALPH=1") }

// PreTool judges a tool call. Of all ways to fail only a denial in JSON and exit code
// 2 keep claude from making the call, so that each of them ends in one of the two.
func PreTool(ctx context.Context, env workspace.Env, f *Flags) error {
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
		return exit.Error{Code: exit.Usage}
	}
	return nil
}

// judgeTool returns what the hook prints, nil for nothing.
func judgeTool(ctx context.Context, env workspace.Env, f *Flags) (any, error) {
	in, err := readHook(env, "PreToolUse")
	switch {
	case err != nil:
		return nil, err
	case f.Session != "" && in.Session != f.Session:
		return nil, nil
	case in.Tool == "":
		return nil, errors.New("the hook's input is not what Claude Code writes: it names no tool")
	case f.Wait <= 0:
		return nil, errors.New("--wait must be longer than nothing")
	}
	h, err := newHold(env, in, f.Wait)
	if err != nil {
		return nil, err
	}
	return h.judge(ctx)
}

// settings are the repository's settings, and the folder of the repository. Outside
// of one there are the defaults: settings of a person's whole machine lead there too.
func settings(env workspace.Env) (config.Config, string, error) {
	root, err := workspace.FindRoot(env)
	if err != nil {
		c, err := config.Load("", env.Environ, nil)
		return c, "", err
	}
	c, err := workspace.LoadConfig(env, root, nil)
	return c, root, err
}
