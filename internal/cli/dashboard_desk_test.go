package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/dashboard"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// deskOf is the backend of a repository whose engine is a script.
func deskOf(t *testing.T, script string, environ ...string) *dashboard.Backend {
	t.Helper()
	y := newYard(t, 1)
	self := filepath.Join(t.TempDir(), "engine")
	y.must(os.WriteFile(self, []byte("#!/bin/sh\n"+script), 0o755))
	d, err := dashboard.OpenBackend(workspace.Env{Dir: y.dir, Environ: append(y.env, environ...), Self: self}, y.dir)
	y.must(err)
	t.Cleanup(d.Close)
	return d
}

// A start that is refused comes back with the engine's own words; one that had nothing to
// do says so. What is started is ralph itself, with the command line of the start.
func TestStartSaysWhatTheEngineSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		start  action.Start
		script string
		said   string
		why    string
	}{
		{action.Start{Mode: "autopilot", Parallel: 3, Autonomy: "semi", Fresh: true}, `echo "ralph: bad config: $*"; exit 2`, "", "the engine did not start: bad config: autopilot --mode semi --parallel 3 --fresh: all that it said is in ralph/.state/starts/autopilot-"},
		{action.Start{Mode: "construct", Spec: "a.md"}, `echo "ralph: $*" >&2; exit 1`, "", "the engine did not start: construct -- a.md: "},
		{action.Start{Mode: "autopilot", Spec: "a.md", Agent: "codex", Strategy: "skip", Retries: new(int)}, `echo "$* $RALPH_AGENT_PRIMARY $RALPH_ERRORS_STRATEGY $RALPH_ERRORS_MAX_RETRIES."`, "autopilot has ended already. It said: autopilot codex skip 0.", ""},
		{action.Start{Mode: "agent", Resume: true}, `printf '\033[31m%s\033[0m\n' "$*"`, "agent has ended already. It said: ", ""},
		{action.Start{Mode: "agent"}, `exit 3`, "", "it ended with exit code 3"},
	} {
		said, err := deskOf(t, tt.script).Start(t.Context(), tt.start)
		var refusal *ralph.Refusal
		if (err == nil) != (tt.why == "") || !strings.HasPrefix(said, tt.said) || err != nil && (!errors.As(err, &refusal) || !strings.Contains(err.Error(), tt.why)) {
			t.Errorf("%+v: %q, %v", tt.start, said, err)
		}
		if strings.Contains(said, "\033") {
			t.Errorf("it colours the page: %q", said)
		}
	}
}

// the engine leads a session of its own, so that neither the end of the dashboard
// nor Ctrl+C in its terminal reaches it.
func TestStartIsASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc here")
	}
	d := deskOf(t, `set -- $(cat /proc/$$/stat); echo "pid $1 group $5 session $6"`)
	said, err := d.Start(t.Context(), action.Start{Mode: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	var pid, group, session int
	_, words, _ := strings.Cut(said, "It said: ")
	if _, err := fmt.Sscanf(words, "pid %d group %d session %d", &pid, &group, &session); err != nil || pid != group || pid != session {
		t.Errorf("%v: %s", err, said)
	}
}

// A new spec from the dashboard is written where the command line writes it, and nowhere else.
func TestSpecFile(t *testing.T) {
	t.Parallel()
	d := deskOf(t, "")
	for _, tt := range []struct{ name, text, file, why string }{
		{"", "# Say hello\n", "say-hello.md", ""},
		{"new.md", "# New\n", "new.md", ""},
		{"new.md", "# Again\n", "", "exists already"},
		{"new.md", "", "new.md", ""},
		{"none.md", "", "", "does not exist"},
		{"../out.md", "# Out\n", "", "leaves ralph/specs"},
		{"blank.md", " \n", "", "is empty"},
	} {
		file, err := d.SpecFile(tt.name, tt.text)
		if file != tt.file || (err == nil) != (tt.why == "") || err != nil && !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%q %q: %q, %v", tt.name, tt.text, file, err)
		}
	}
}

// No agent decides at the dashboard of its own turn: that is a person's.
func TestNoAgentDecides(t *testing.T) {
	t.Parallel()
	d := deskOf(t, "", agentsock.EnvSocket+"=/x", agentsock.EnvNonce+"=y")
	_ = d.Update(t.Context(), func(*ralph.State) ([]ralph.Fact, error) {
		return []ralph.Fact{ralph.Asked{Approval: ralph.Approval{ID: "g-1", Kind: ralph.ApprovalStart}}}, nil
	})
	if _, err := action.Do(t.Context(), d, "approve", action.Input{ID: "g-1"}); err == nil || !strings.Contains(err.Error(), "a person decides this") {
		t.Errorf("an agent approves: %v", err)
	}
	if len(d.State().Approvals) != 1 {
		t.Error("the gate is gone")
	}
}
