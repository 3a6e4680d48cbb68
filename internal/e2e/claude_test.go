//go:build e2e

package e2e

import (
	"fmt"
	"testing"
)

// claude is the program that the tests of its driver run.
func claude(t *testing.T) string {
	t.Helper()
	return programs()["claude-2.1.329"].path(t)
}

// helloPlace is a repository with a spec in the inbox.
func helloPlace(t *testing.T, config string) *place {
	t.Helper()
	p := newPlace(t)
	p.begin(config)
	return p
}

// claudeConfig points the built-in agent claude at the binary and the model.
func claudeConfig(binary, url string) string {
	return fmt.Sprintf(`version: 1
agents:
  claude:
    command: [%q]
    env:
      ANTHROPIC_BASE_URL: %q
      ANTHROPIC_API_KEY: dummy
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1"
      CLAUDE_CODE_MAX_RETRIES: "0"
task: {delay: 0s}
gate: {approvals: never}
quality: {commands: [test -f hello.txt]}
errors: {retry_base: 1ms}
`, binary, url)
}
