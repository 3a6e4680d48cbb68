package notice_test

import (
	"testing"

	"github.com/ralph-loop/ralph/internal/notice"
)

// a notice is set by any name that its event goes by.
func TestNoticeNamed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"step-complete": "step-complete", "autopilot:step-complete": "step-complete", "task:completed": "step-complete", "AGENT_COMPLETED": "step-complete",
		"engine:started": "started", "task:selected": "step-start", "agent:switched": "agent-switched", "agent.switched": "agent-switched",
		"engine:paused": "paused", "RESUME": "resumed", "agents.limited": "all-limited", "engine:stopped": "stopped", "needs-human": "gate",
		"iteration:completed": "", "turn.ended": "", "nothing": "", "": "", "autopilot:": "",
	} {
		if got, ok := notice.Named(name); got.Name != want || ok != (want != "") {
			t.Errorf("%s is %q, want %q", name, got.Name, want)
		}
	}
	for _, e := range notice.Events() {
		if got, ok := notice.Named(e.Name); !ok || got.Name != e.Name {
			t.Errorf("%s is %q", e.Name, got.Name)
		}
	}
}
