package config

import (
	"time"

	"github.com/ralph-loop/ralph"
)

// Defaults returns the settings of a repository without a ralph/config.yaml.
func Defaults() Config {
	breaker := Breaker{Failures: 5, Window: 2 * time.Minute, Reset: 2 * time.Minute, Successes: 2}
	return Config{
		Version:   1,
		Mode:      "autopilot",
		Parallel:  1,
		Isolation: "auto",
		Agent: Agent{
			Primary: "claude", Fallback: []string{"codex"}, RecoverPrimary: true, Context: "fresh", MCP: true,
		},
		Agents: builtinAgents(),
		Task: Task{
			MaxIterations: 50, StuckThreshold: 5, Timeout: 30 * time.Minute,
			NoProgressTurns: 5, Progress: "change", SameErrorTurns: 3, Delay: 500 * time.Millisecond,
		},
		Construct: Construct{
			StageTimeout: 5 * time.Minute, MaxRounds: 10,
			ContextWarn: 0.70, ContextCompact: 0.85, ContextKill: 0.95,
		},
		Errors: Errors{
			Strategy: "retry", MaxRetries: 2, RetryBase: 2 * time.Second,
			MaxRateLimitRetries: 3, RateLimitBase: 5 * time.Second, MaxConsecutive: 3,
			RateLimitPatience: 30 * time.Second, NetworkRetry: time.Minute,
		},
		Log:     Log{Level: "info"},
		Limits:  Limits{Wait: "auto"},
		Scoring: Scoring{Unblocks: 10, Critical: 50, QuickWin: 30, NearComplete: 20, Retry: -15},
		Commit:  Commit{Message: "ralph: {summary}", Anchors: "unsigned"},
		Quality: Quality{Timeout: 10 * time.Minute, MaxOutput: 64 << 10, Baseline: "strict", Changes: "restore"},
		Test:    Test{Coverage: 80, Retries: 3, Retry: "agent"},
		Diff:    Diff{Empty: "red", Weakened: "gate", Secrets: "gate"},
		Gate: Gate{
			Patterns: []string{
				"deploy", "migrate", "publish", "push --force", "rm -rf", "drop table", "delete from",
				"npm publish", "terraform apply", "production", "api.*key", "secret", "password",
			},
			Timeout: 30 * time.Minute, OnTimeout: "skip", Scope: "agent", Approvals: "auto", Self: "hold",
			Shims: defaultShims(),
		},
		Sandbox:   Sandbox{Kind: "auto", Write: agentFolders(), Hide: powers(), HidePrivate: true},
		Worktree:  Worktree{SetupTimeout: 10 * time.Minute},
		Merge:     Merge{Auto: true, Batch: 1, ConflictRetries: 3, Resolver: "agent"},
		Land:      Land{How: "commit", Per: "spec", Branch: "ralph/{spec}", Remote: "origin", AutoMerge: "off", Follow: true, Allow: []string{"team"}, Poll: time.Minute},
		AgentMode: AgentMode{MaxFailures: 3, OnFailure: "stash"},
		Auto:      Auto{Commit: "end", Review: "end"},
		Decision: Decision{
			Engine: "rules", Timeout: time.Minute, MinConfidence: 0.6, History: 10, Cooldown: time.Second, MaxCompactions: 3,
		},
		Guidance: Guidance{Mode: "off"},
		Sync: Sync{
			EveryTasks: 5,
			LivingDocs: LivingDocs{Path: "docs/ralph"},
			GitHub:     GitHub{TokenEnv: "GITHUB_TOKEN"},
			Jira:       Jira{UserEnv: "JIRA_USER", TokenEnv: "JIRA_TOKEN"},
			ADO:        ADO{TokenEnv: "AZURE_DEVOPS_TOKEN"},
		},
		Breakers: Breakers{
			GitHub: Breaker{Failures: 3, Window: time.Minute, Reset: time.Minute, Successes: 2},
			Jira:   breaker,
			ADO:    breaker,
		},
		Web:   Web{Addr: "127.0.0.1:7777"},
		Fleet: Fleet{Engine: "temporal", Address: "127.0.0.1:7233", Namespace: "default", TaskQueue: "ralph", Remote: "origin"},
	}
}

// builtinAgents returns the agents that need no configuration. The
// environment variables named here reach the agent; nothing else of the user's
// keys does.
func builtinAgents() []ralph.AgentSpec {
	return []ralph.AgentSpec{
		{
			Name: "claude", Driver: "claude", Command: []string{"claude"},
			PassEnv: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
		},
		{
			Name: "codex", Driver: "codex", Command: []string{"codex", "app-server"},
			PassEnv: []string{"OPENAI_API_KEY", "CODEX_HOME"},
		},
		{
			Name: "opencode", Driver: "acp", Command: []string{"opencode", "acp"},
			PassEnv: []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT"},
		},
		{
			Name: "gemini", Driver: "acp", Command: []string{"gemini", "--acp"},
			// Without it the program ends with exit 55 in a folder it has not asked about.
			Env:     map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
			PassEnv: []string{"GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
		},
		{
			Name: "copilot", Driver: "acp", Command: []string{"copilot", "--acp", "--no-auto-update"},
			PassEnv: []string{
				"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "COPILOT_MODEL", "COPILOT_PROVIDER_BASE_URL",
				"COPILOT_PROVIDER_TYPE", "COPILOT_PROVIDER_API_KEY",
			},
		},
		{
			Name: "goose", Driver: "acp", Command: []string{"goose", "acp"},
			PassEnv: []string{"GOOSE_PROVIDER", "GOOSE_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"},
		},
		{
			Name: "aider", Driver: "exec", Command: []string{"aider"}, Prompt: "file", Output: "aider",
			// It commits by itself unless told not to; commits are ralph's.
			Args: []string{
				"--message-file", "{prompt_file}", "--yes-always", "--no-auto-commits", "--no-dirty-commits",
				"--no-stream", "--no-pretty", "--no-check-update", "--analytics-disable",
				"--no-show-model-warnings", "--no-detect-urls", "--no-suggest-shell-commands",
			},
			PassEnv: []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_API_BASE"},
		},
		{
			Name: "cursor", Driver: "exec", Command: []string{"cursor-agent"}, Prompt: "arg", Output: "cursor",
			// Without --force it proposes changes and writes none.
			Args:    []string{"-p", "--output-format", "stream-json", "--force", "{prompt}"},
			PassEnv: []string{"CURSOR_API_KEY"},
		},
		{Name: "local", Driver: "api", Model: "ollama:qwen3"},
		{Name: "demo", Driver: "scripted", Scenario: "demo"},
	}
}

// defaultShims are the programs whose calls can be what gate.patterns and the never list
// are about: they reach other machines, publish, or destroy. Each call of one costs a
// few milliseconds more, so what only reads or builds is not among them.
func defaultShims() []string {
	return []string{
		"git", "gh", "glab", "rm", "dd", "mkfs", "shred",
		"npm", "npx", "pnpm", "yarn", "bun", "cargo", "twine", "gem", "docker", "podman",
		"kubectl", "helm", "terraform", "tofu", "pulumi", "aws", "gcloud", "az",
		"fly", "flyctl", "vercel", "netlify", "heroku", "wrangler", "firebase",
		"psql", "mysql", "mariadb", "sqlite3", "mongosh", "redis-cli", "dropdb", "ssh",
	}
}

// agentFolders are where agents and the tools that they build with keep what is their own.
func agentFolders() []string {
	return []string{
		"~/.claude", "~/.claude.json", "~/.codex", "~/.gemini", "~/.copilot", "~/.config/opencode", "~/.local/share/opencode",
		"~/.local/state", "~/.cache", "~/.npm", "~/.yarn", "~/.local/share/pnpm/store", "~/.bun/install/cache",
		"~/go/pkg", "~/.cargo/registry", "~/.cargo/git", "~/.cargo/.package-cache*", "~/.m2/repository", "~/.ivy2", "~/.sbt",
		"~/.gradle/caches", "~/.gradle/daemon", "~/.gradle/wrapper", "~/.gradle/native", "~/.gradle/notifications", "~/.gradle/.tmp",
		"~/.nuget/packages", "~/.local/share/NuGet", "~/.composer/cache", "~/.bundle/cache", "~/.hex", "~/.mix", "~/.pub-cache", "~/.konan",
	}
}

// powers are what a program that holds it can do more with than develop software: push,
// publish, deploy, log in elsewhere, or have others do as it likes. Agents' own logins are
// not among them, and nothing that builds need.
func powers() []string {
	return []string{
		"~/.ssh", "~/.gnupg", "~/.git-credentials", "~/.config/git/credentials", "~/.netrc", "~/.config/gh", "~/.config/glab-cli", "~/.config/hub",
		"~/.npmrc", "~/.pypirc", "~/.cargo/credentials*", "~/.gem/credentials", "~/.m2/settings.xml", "~/.gradle/gradle.properties",
		"~/.docker/config.json", "~/.config/containers/auth.json", "~/.kube", "~/.aws", "~/.config/gcloud", "~/.azure", "~/.config/doctl", "~/.fly",
		"~/.terraform.d/credentials*", "~/.pulumi/credentials*", "~/.vault-token", "~/.config/netlify", "~/.local/share/com.vercel.cli", "~/.config/.wrangler",
		"~/.pgpass", "~/.my.cnf", "~/.password-store", "~/.config/op", "~/.local/share/keyrings", "~/.mozilla", "~/.config/google-chrome", "~/.config/chromium",
		"~/.b2_account_info", "~/.config/b2", "~/.config/rclone", "~/.s3cfg", "~/.boto", "~/.mc", "~/.oci", "~/.aliyun", "~/.bluemix", "~/.config/openstack",
		"~/.config/linode-cli", "~/.config/hcloud", "~/.config/scw", "~/.civo.json", "~/.vultr-cli.yaml", "~/.cf", "~/.railway", "~/.supabase", "~/.expo",
		"~/.config/configstore", "~/.config/stripe", "~/.cloudflared", "~/.sentryclirc", "~/.terraformrc", "~/.config/sops", "~/.config/tea",
		"~/.hex/hex.config", "~/.composer/auth.json", "~/.config/composer/auth.json", "~/.config/dart/pub-credentials.json", "~/.local/share/gem/credentials", "~/.pause",
		"/run/docker.sock", "/run/containerd", "/run/podman", "/run/crio", "/run/k3s", "/run/libvirt", "/run/lxd", "/run/snapd.socket", "/var/snap/lxd/common/lxd/unix.socket",
		"/run/dbus/system_bus_socket", "/run/systemd/private", "/run/initctl", // what stops the machine when it is asked
		"/tmp/tmux-*", "/tmp/ssh-*", "/tmp/.X11-unix",
	}
}
