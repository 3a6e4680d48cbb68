package workspace_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Checks run what agents wrote: in a sandbox they see no login, but those that a person
// passes on (S4, issue 15 point 2). What agents get is a list of what may pass.
func TestEnvironmentsWithoutLogins(t *testing.T) {
	t.Parallel()
	environ := []string{
		"PATH=/bin", "HOME=/home/me", "CI=true", "RALPH_TASK=t-1", "GITHUB_TOKEN=ghp_0123456789abcdef", "AWS_SECRET_ACCESS_KEY=0123456789abcdef",
		"NPM_TOKEN=npm_0123456789abcdef", "SSH_AUTH_SOCK=/run/agent.1", "GIT_AUTHOR_EMAIL=me@example.com", "GIT_AUTHOR_NAME=Somebody Else", "DATABASE_URL=postgres://localhost/x",
	}
	env, left := workspace.CheckEnv(environ, []string{"NPM_TOKEN"}, true)
	want := []string{"PATH=/bin", "HOME=/home/me", "CI=true", "NPM_TOKEN=npm_0123456789abcdef", "GIT_AUTHOR_EMAIL=me@example.com", "GIT_AUTHOR_NAME=Somebody Else", "DATABASE_URL=postgres://localhost/x"}
	if !slices.Equal(env, want) || !slices.Equal(left, []string{"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK"}) {
		t.Errorf("in a sandbox %q, left out %q", env, left)
	}
	if env, left := workspace.CheckEnv(environ, nil, false); len(env) != len(environ)-1 || len(left) > 0 {
		t.Errorf("without one %q, left out %q", env, left)
	}
	for _, kv := range workspace.BaseEnv(environ) {
		if slices.Contains(environ[4:8], kv) {
			t.Errorf("an agent gets %s", kv)
		}
	}
}

// What opens the fleet reaches neither agents nor checks, whatever the settings of a repository pass
// on: they come to a worker from elsewhere.
func TestNothingThatOpensTheFleetIsPassedOn(t *testing.T) {
	t.Parallel()
	opens := []string{"RALPH_FLEET_KEY", "TEMPORAL_API_KEY", "TEMPORAL_TLS_CLIENT_KEY_PATH", "TEMPORAL_TLS_CLIENT_CERT_PATH", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS"}
	environ := []string{"MODEL_KEY=mine", "TEMPORAL_ADDRESS=127.0.0.1:7233"}
	for _, name := range opens {
		environ = append(environ, name+"=secret")
	}
	pass := append([]string{"MODEL_KEY"}, opens...)
	if got := workspace.AgentEnv(ralph.AgentSpec{Driver: "exec", PassEnv: pass}, environ); !slices.Equal(got, []string{"MODEL_KEY=mine"}) {
		t.Errorf("an agent gets %q", got)
	}
	if got := workspace.BaseEnv(environ); strings.Contains(strings.Join(got, " "), "secret") {
		t.Errorf("every agent gets %q", got)
	}
	for _, sandboxed := range []bool{false, true} {
		if got, _ := workspace.CheckEnv(environ, pass, sandboxed); strings.Contains(strings.Join(got, " "), "secret") || !slices.Contains(got, "MODEL_KEY=mine") {
			t.Errorf("checks get %q", got)
		}
	}
}
