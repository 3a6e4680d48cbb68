package workspace

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
)

// BaseEnv is what every agent gets of the person's environment: what a program
// needs to run at all. Keys come only by pass_env.
func BaseEnv(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM":
			out = append(out, kv)
		default:
			if strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") {
				out = append(out, kv)
			}
		}
	}
	return append(out, noCredentials()...)
}

// noKeys is ssh that offers no key.
const noKeys = "ssh -o IdentityAgent=none -o IdentitiesOnly=yes -o IdentityFile=/dev/null -o BatchMode=yes"

// noCredentials keeps the git of agents from what a person logs in with: helpers, agents
// and keys of ssh, questions. Pushes are ralph's own (internal/git/push). What the
// settings of an agent pass on, as SSH_AUTH_SOCK or GIT_SSH_COMMAND, it has all the same.
func noCredentials() []string {
	return []string{
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never", "GH_PROMPT_DISABLED=1",
		"GIT_SSH_COMMAND=" + noKeys,
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=credential.helper", "GIT_CONFIG_VALUE_0=", "GIT_CONFIG_KEY_1=core.askPass", "GIT_CONFIG_VALUE_1=",
	}
}

// opensFleet reports a variable that lets its owner speak for the coordinator or for workers, to
// the fleet or to the collector of their metrics. The
// settings of a repository come from elsewhere to a worker: they pass none of these on.
func opensFleet(name string) bool {
	return name == "RALPH_FLEET_KEY" || name == "TEMPORAL_API_KEY" || strings.HasPrefix(name, "TEMPORAL_TLS_CLIENT_") ||
		strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_") && strings.HasSuffix(name, "HEADERS")
}

// AgentEnv is what one agent gets besides: pass_env by name, but for what opens the fleet, env as it stands.
func AgentEnv(spec ralph.AgentSpec, environ []string) []string {
	var out []string
	pass := agent.PassEnv(spec)
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(pass, name) && !opensFleet(name) {
			out = append(out, kv)
		}
	}
	if slices.Contains(spec.PassEnv, "SSH_AUTH_SOCK") { // its keys are for the agent's git too
		out = append(out, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	}
	names := make([]string, 0, len(spec.Env))
	for name := range spec.Env {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, name+"="+spec.Env[name])
	}
	return out
}

// CheckEnv is the person's own environment: checks are their commands. ralph's
// variables for agents are left out, should it run inside one, and what opens the fleet. In a sandbox checks run what
// agents wrote, so what reads like a secret is left out as well, but for pass; left are the
// names of those.
func CheckEnv(environ, pass []string, sandboxed bool) (env, left []string) {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case strings.HasPrefix(name, "RALPH"), opensFleet(name):
		case sandboxed && !slices.Contains(pass, name) && givesPower(name, value):
			left = append(left, name)
		default:
			env = append(env, kv)
		}
	}
	slices.Sort(left)
	return env, left
}

// givesPower reports a variable that holds a login, or leads to one.
func givesPower(name, value string) bool {
	if name == "SSH_AUTH_SOCK" || name == "GPG_AGENT_INFO" {
		return true
	}
	author := strings.HasPrefix(name, "GIT_AUTHOR_") || strings.HasPrefix(name, "GIT_COMMITTER_")
	return !author && isSecret(name, value) && !harmless.MatchString(name)
}
