package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// How full the window is, live and at the end, as the real program said it. Only
// compactions that claude began itself are counted, a subagent's window is
// not claude's.
func TestClaudeContext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		live string // thousands of tokens used, of the window
		end  ralph.ContextUse
		own  int
	}{
		{"197-compact-auto", "20/200 35/200 50/200 65/200 80/200 0/200 1/200", ralph.ContextUse{Used: 1500, Window: 200_000}, 1},
		{"329-compact-auto", "20/200 35/200 50/200 65/200 80/200 2/200 1/200", ralph.ContextUse{Used: 1500, Window: 200_000}, 1},
		{"329-resume", "1/1000", ralph.ContextUse{Used: 1900, Window: 1_000_000}, 0},
		{"329-subagent", "0/1000 1/1000 0/1000", ralph.ContextUse{Used: 100, Window: 1_000_000}, 0},
		{"329-max-budget", "100/1000", ralph.ContextUse{Used: 100_000, Window: 1_000_000}, 0},
		{"197-no-key", "", ralph.ContextUse{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var live []string
			hear := func(u ralph.ContextUse) { live = append(live, fmt.Sprintf("%d/%d", u.Used/1000, u.Window/1000)) }
			res := replayedAs(t, recording{name: c.name}, ralph.TurnInput{Prompt: "Do it"}, ralph.TurnHooks{Context: hear})
			if got := strings.Join(live, " "); got != c.live || res.Context != c.end || res.Compacts != c.own {
				t.Errorf("live %s\nwant %s\nend %+v, %d compactions, want %+v, %d", got, c.live, res.Context, res.Compacts, c.end, c.own)
			}
		})
	}
}

// A turn that is to compact says how much is left, and fails when nothing was
// compacted, although claude calls that a success.
func TestClaudeCompacts(t *testing.T) {
	t.Parallel()
	as := ralph.TurnInput{Resume: "abc", Compact: true}
	for name, left := range map[string]ralph.ContextUse{
		"197-compact-manual": {Used: 651, Window: 200_000},
		"329-compact-manual": {Used: 2673, Window: 1_000_000},
	} {
		res := replayedAs(t, recording{name: name}, as, ralph.TurnHooks{})
		if res.Exit != ralph.ExitOK || res.Context != left || res.Compacts != 0 || !res.Usage.Known {
			t.Errorf("%s: %+v", name, res)
		}
	}
	res := replayedAs(t, recording{name: "197-slash-compact"}, as, ralph.TurnHooks{})
	if res.Exit != ralph.ExitFailed || res.Err == nil || !strings.HasSuffix(res.Err.Message, "Error: No messages to compact") {
		t.Errorf("nothing to compact: %+v %+v", res, res.Err)
	}
}

// A driver that cannot compact says so, and starts nothing.
func TestCompactIsRefused(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]ralph.AgentSpec{
		"exec":                     {Driver: "exec", Command: []string{"sh", "-c", "touch started"}},
		"claude without a session": {Driver: "claude", Command: []string{"sh", "-c", "touch started"}},
	} {
		in := input(t, spec)
		in.Compact = true
		if name == "exec" {
			in.Resume = "abc"
		}
		_, err := open(t, spec).Turn(t.Context(), in, ralph.TurnHooks{})
		if _, stat := os.Stat(filepath.Join(in.Dir, "started")); !errors.Is(err, ralph.ErrUnsupported) || stat == nil {
			t.Errorf("%s: %v, started: %v", name, err, stat == nil)
		}
	}
}

// The window of a model that is in no list is known from the second turn on, and
// a turn that needs more than what was believed is not measured by that.
func TestClaudeLearnsTheWindow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fake := filepath.Join(dir, "claude")
	ralphtest.Program(t, fake, `#!/bin/sh
read -r line
echo '{"type":"system","subtype":"init","session_id":"s","model":"'$MODEL'"}'
echo '{"type":"assistant","message":{"model":"x","usage":{"input_tokens":'$USED'},"content":[]},"parent_tool_use_id":null}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"ok","modelUsage":{"'$MODEL'":{"contextWindow":400000},"other":{"contextWindow":7}}}'
`)
	spec := ralph.AgentSpec{Driver: "claude", Command: []string{fake}}
	d := open(t, spec)
	for _, c := range []struct{ model, used, want string }{
		{"new-model", "100000", "100000/0 100000/400000"},
		{"new-model", "100000", "100000/400000"},
		{"claude-haiku-4-5-20251001", "300000", "300000/0 300000/400000"}, // the list says 200000
	} {
		in := input(t, spec, "MODEL="+c.model, "USED="+c.used)
		var live []string
		_, err := d.Turn(t.Context(), in, ralph.TurnHooks{Context: func(u ralph.ContextUse) { live = append(live, fmt.Sprintf("%d/%d", u.Used, u.Window)) }})
		if !slices.Equal(live, strings.Fields(c.want)) || err != nil {
			t.Errorf("%s: %v, want %s (%v)", c.model, live, c.want, err)
		}
	}
}
