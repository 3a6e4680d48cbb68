package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// What Claude Code calls in a session that a person started. The turns of ralph itself
// need none of it: the driver answers there, over claude's control channel.

const (
	// mostHookBlocks is how often a session is kept from ending over one task. claude
	// itself gives up after eight in a row, with an empty answer.
	mostHookBlocks = 3
	maxHookInput   = 16 << 20
	hookNotes      = "ralph/.state/hooks"
)

// hookInput is what Claude Code writes to a hook's stdin, as far as it is read.
type hookInput struct {
	Session string `json:"session_id"`
	Tool    string `json:"tool_name"`
	Input   struct {
		Command string `json:"command"`
	} `json:"tool_input"`
}

func newHook(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "hook", Short: "What Claude Code calls in a session of your own", Hidden: true,
		Long: `Hooks for a Claude Code session that you start yourself. They act in the session with
the id of --session and in no other, and never in the turns that ralph runs.

  id=$(uuidgen)
  claude --session-id $id --settings "$(ralph hook settings --session $id)"

stop keeps the session at work while the plan has a ready task, and says which;
pre-tool-use asks you about commands that gate.patterns name.`,
		Example: "  ralph hook settings --session 5f0c...", Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	add := func(name, short string, run func(*cobra.Command, string) error) {
		var session string
		c := &cobra.Command{
			Use: name, Short: short, Args: cobra.NoArgs, Example: "  ralph hook " + name + " --session 5f0c...",
			RunE: func(c *cobra.Command, _ []string) error { return run(c, session) },
		}
		c.Flags().StringVar(&session, "session", "", "the `id` of the session that it is for")
		cmd.AddCommand(c)
	}
	add("stop", "Stop hook: while a task is ready, block the stop and say which", func(_ *cobra.Command, id string) error {
		return runHook(env, id, hookStop)
	})
	add("pre-tool-use", "PreToolUse hook: ask about commands that gate.patterns name", func(_ *cobra.Command, id string) error {
		return runHook(env, id, hookPreTool)
	})
	add("settings", "Print the settings that put both hooks into a session", func(_ *cobra.Command, id string) error {
		if !sessionID().MatchString(id) {
			return usage("--session needs the id that `claude --session-id` gets")
		}
		return printHookSettings(env, id)
	})
	return cmd
}

func sessionID() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`) }

func printHookSettings(env Env, id string) error {
	hook := func(name, matcher string) []any {
		h := map[string]any{"hooks": []any{map[string]any{"type": "command", "command": shellQuote(env.Self) + " hook " + name + " --session " + id}}}
		if matcher != "" {
			h["matcher"] = matcher
		}
		return []any{h}
	}
	return printJSON(env.Stdout, map[string]any{"hooks": map[string]any{"Stop": hook("stop", ""), "PreToolUse": hook("pre-tool-use", "Bash")}})
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// runHook answers a hook, when it is of the session it is for. Whatever goes wrong is
// a word on stderr and no answer: with exit code 2 claude would take it for a block.
func runHook(env Env, session string, answer func(Env, hookInput) (any, error)) error {
	in, err := readHook(env, session)
	if err == nil {
		var out any
		if out, err = answer(env, in); err == nil && out != nil {
			err = json.NewEncoder(env.Stdout).Encode(out)
		}
	}
	if err != nil {
		fmt.Fprintln(env.Stderr, "ralph hook:", err)
	}
	return nil
}

func readHook(env Env, session string) (hookInput, error) {
	var in hookInput
	b, err := io.ReadAll(io.LimitReader(env.Stdin, maxHookInput))
	if err != nil {
		return in, fmt.Errorf("read the hook's input: %w", err)
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return in, fmt.Errorf("the hook's input is not what Claude Code writes: %w", err)
	}
	switch {
	case slices.Contains(env.Environ, "RALPH=1"):
		return in, errors.New("this session is a turn of ralph, which sees to it itself")
	case !sessionID().MatchString(session):
		return in, errors.New("bound to no session: see `ralph hook --help`")
	case in.Session != session:
		return in, fmt.Errorf("this is session %q, the hook is for %s", in.Session, session)
	}
	return in, nil
}

// hookStop is document C's feedback loop for a session of a person's own: a stop is
// blocked, and the next instruction given, while a task is ready (C-002).
func hookStop(env Env, in hookInput) (any, error) {
	s, _, err := readState(env, false, true)
	if err != nil {
		return nil, err
	}
	if s.Session.Live() {
		return nil, errors.New("ralph itself is at work here")
	}
	c, err := scheduleConfig(env, s)
	if err != nil {
		return nil, err
	}
	ready := policy.Ready(s, c)
	if len(ready) == 0 {
		return nil, nil
	}
	next := ready[0]
	n, err := countBlock(env, in.Session, next.ID)
	if err != nil {
		return nil, err
	}
	if n > mostHookBlocks {
		return nil, fmt.Errorf("%s was asked for %d times: the session may end", next.ID, mostHookBlocks)
	}
	return map[string]string{"decision": "block", "reason": nextWords(next, len(ready))}, nil
}

func nextWords(t *ralph.Task, ready int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The plan has work left (%d ready). Next: %s, %s.", ready, t.ID, t.Name)
	if t.Notes != "" {
		b.WriteString("\n" + t.Notes)
	}
	if t.Accept != "" {
		b.WriteString("\nIt is done when: " + t.Accept)
	}
	fmt.Fprintf(&b, "\nDo it, see the checks pass, then run `ralph task done %s`; if it cannot be done, run `ralph task skip %s`.", t.ID, t.ID)
	return b.String()
}

// countBlock counts how often a session was kept at the same task. The count is no
// part of the journal: it is about a session that ralph does not run.
func countBlock(env Env, session string, task ralph.TaskID) (int, error) {
	root, err := findRoot(env)
	if err != nil {
		return 0, err
	}
	if err := excludeRuntime(root, env.Environ); err != nil {
		return 0, err
	}
	file := filepath.Join(root, hookNotes, session+".json")
	var last struct {
		Task ralph.TaskID `json:"task"`
		N    int          `json:"n"`
	}
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("read how often the session was asked: %w", err)
	}
	if err == nil && json.Unmarshal(b, &last) != nil || last.Task != task {
		last.Task, last.N = task, 0
	}
	last.N++
	if b, err = json.Marshal(last); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return 0, fmt.Errorf("keep how often the session was asked: %w", err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return 0, fmt.Errorf("keep how often the session was asked: %w", err)
	}
	return last.N, nil
}

// hookPreTool asks about a command that a pattern of gate.patterns finds. It never
// allows anything: all else goes claude's own way.
func hookPreTool(env Env, in hookInput) (any, error) {
	if in.Input.Command == "" {
		return nil, nil
	}
	c, err := settingsOf(env)
	if err != nil {
		return nil, err
	}
	for _, pattern := range slices.Concat(c.Gate.Patterns, c.Gate.ExtraPatterns) {
		re, err := regexp.Compile("(?i)" + pattern)
		if err != nil {
			return nil, fmt.Errorf("gate pattern %q: %w", pattern, err)
		}
		if re.MatchString(in.Input.Command) {
			return map[string]any{"hookSpecificOutput": map[string]string{
				"hookEventName": "PreToolUse", "permissionDecision": "ask",
				"permissionDecisionReason": "gate.patterns has " + pattern,
			}}, nil
		}
	}
	return nil, nil
}
