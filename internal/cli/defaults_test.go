package cli

import (
	"reflect"
	"testing"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// The settings that the tests of policy and engine begin with are the defaults that users
// have, but for these, and why. A rule that only holds with another setting is tested
// with that setting, in the open.
func TestSettingsOfTests(t *testing.T) {
	t.Parallel()
	others := map[string]string{
		"Session": "of the command, not of the settings", "Commit": "of the command", "Checks": "of the repository",
		"LimitWait":   "\"\" pauses as `auto` does, and ends by nobody's word; limits_test.go has each",
		"Baseline":    "\"\" is `strict`",
		"Coverage":    "scripted checks report none; testgate_test.go",
		"TestRetries": "0 asks at once, so that no test waits for four red runs; testgate_test.go",
		"TestRetry":   "\"\" is `agent`",
		"Diff":        "the scripted executor has no trees to compare; testgate_test.go, and the scripts of cmd/ralph",
		"ContextWarn": "scripted turns report no context; context_test.go",
		"ContextKill": "likewise",
		"Patterns":    "no command is asked for; clear_test.go", "Approvals": "likewise", "GateScope": "\"\" is `agent`",
		"GateTimeout": "a gate that expires is tested where it is set", "OnTimeout": "\"\" is `skip`",
		"Batch": "0 and 1 are the same: one merge at a time; merge_test.go", "Resolver": "only with worktrees; crew_test.go",
		"ConflictRetries": "only with worktrees; crew_test.go", "MaxConsecutive": "agent mode has max_failures of its own; strategy_test.go",
		"Patience":     "0 ends an agent's own tries at once; unusable_test.go sets the default",
		"NetworkRetry": "0 is a minute as well; unusable_test.go", "Logins": "the programs are not those of users",
		"ContextCompact": "only with agent.context: continue; context_test.go",
	}
	want, got := reflect.ValueOf(workspace.PolicyConfig(config.Defaults())), reflect.ValueOf(enginetest.Settings())
	for i, f := range reflect.VisibleFields(want.Type()) {
		differ := !reflect.DeepEqual(want.Field(i).Interface(), got.Field(i).Interface())
		switch why, listed := others[f.Name]; {
		case differ && !listed:
			t.Errorf("tests begin with %s %v, users have %v: make it the same in enginetest.Settings, or say here why not", f.Name, got.Field(i), want.Field(i))
		case !differ && listed:
			t.Errorf("%s is as users have it: take it out here (%s)", f.Name, why)
		}
		delete(others, f.Name)
	}
	for name := range others {
		t.Errorf("there is no setting %s", name)
	}
}
