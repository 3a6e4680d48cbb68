package claude

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
)

// A claude that stays after its result is ended, and the result stands; one that
// goes on with a turn of its own is left alone.
func TestClaudeAfterItsResult(t *testing.T) {
	t.Parallel()
	const (
		first = `echo '{"type":"system","subtype":"init"}'; echo '{"type":"result","subtype":"success","result":"first","total_cost_usd":1}';`
		// One write, so that a busy machine does not part them.
		on     = `printf '%s\n' '{"type":"system","subtype":"init"}' '{"type":"result","subtype":"success","result":"first","total_cost_usd":1}' '{"subtype":"init","type":"system"}';`
		second = `echo '{"type":"result","subtype":"success","result":"second","total_cost_usd":2}';`
	)
	for name, c := range map[string]struct {
		script  string
		linger  time.Duration
		timeout time.Duration
		exit    ralph.ExitKind
		text    string
		known   bool
	}{
		"stays":           {first + "sleep 60", 100 * time.Millisecond, 0, ralph.ExitOK, "first", true},
		"over its time":   {first + ": >begun; sleep 60", time.Hour, 500 * time.Millisecond, ralph.ExitOK, "first", true},
		"goes on":         {on + "sleep 1.5;" + second, time.Second, 0, ralph.ExitOK, "second", true},
		"goes on, hangs":  {on + ": >begun; sleep 60", time.Minute, 500 * time.Millisecond, ralph.ExitTimeout, "first", false},
		"goes on, killed": {first + `echo '{"subtype":"init","type":"system"}'; kill -9 $$`, time.Hour, 0, ralph.ExitCrashed, "first", false},
		"interrupted":     {`trap 'echo '\''{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","total_cost_usd":1}'\''; exit 0' INT; : >begun; sleep 60 & wait`, time.Hour, 500 * time.Millisecond, ralph.ExitTimeout, "", true},
		"ended, speaks":   {`trap 'echo '\''{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"}'\''; exit 0' INT;` + first + "sleep 60 & wait", 100 * time.Millisecond, 0, ralph.ExitOK, "first", true},
		"killed at last":  {first + `kill -9 $$`, time.Hour, 0, ralph.ExitOK, "first", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &driver{spec: ralph.AgentSpec{Command: []string{"sh", "-c", c.script}}, proc: proc.NewRunner(t.TempDir()), linger: c.linger}
			in := ralph.TurnInput{Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Timeout: c.timeout, Grace: time.Second}
			res, err := d.Turn(t.Context(), in, ralph.TurnHooks{})
			// A busy machine may end it before it has said a word: then a longer limit shows what is to be seen.
			for in.Timeout > 0 && in.Timeout < time.Minute && !isThere(filepath.Join(in.Dir, "begun")) {
				in.Timeout *= 3
				res, err = d.Turn(t.Context(), in, ralph.TurnHooks{})
			}
			if err != nil || res.Exit != c.exit || res.Text != c.text || res.Usage.Known != c.known {
				t.Errorf("%s %q %+v %+v, %v", res.Exit, res.Text, res.Usage, res.Err, err)
			}
		})
	}
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
