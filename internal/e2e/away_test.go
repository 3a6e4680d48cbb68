//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// retries has the agents try again by themselves as they usually do, which other tests
// keep them from.
func retries(config string) string {
	return strings.ReplaceAll(config, `"CLAUDE_CODE_MAX_RETRIES": "0"`, `"CLAUDE_CODE_MAX_RETRIES": "10"`)
}

// R-H4: real agents without a login or a network, which try again by themselves for three
// minutes or not: it is told at once what it is, and the spec stays pending.
func TestAgentsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"claude-2.1.329", "codex-0.169.0"} {
		for _, c := range []struct{ name, words string }{
			{"401", "not logged in: run `" + map[string]string{"claude-2.1.329": "claude /login", "codex-0.169.0": "codex login"}[a] + "`"},
			{"refused", "no connection since "},
		} {
			t.Run(a+" "+c.name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				p.env = append(p.env, "RALPH_LIMITS_WAIT=off", "RALPH_ERRORS_RATE_LIMIT_PATIENCE=3s") // not to wait for a person, nor for half a minute
				m := modeltest.New(t, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Kind: modeltest.Auth} })
				p.begin(retries(p.settings(m, "never", programs()[a])))
				if c.name == "refused" {
					m.Close()
				}
				out, code := p.run(p.ralph, "agent")
				inbox := p.must(p.ralph, "inbox")
				if code != 3 || !strings.Contains(out, c.words) || !strings.Contains(inbox, "pending") || strings.Contains(out, "RETRY:") {
					t.Errorf("exit code %d, want 3 and %q:\n%s\n%s", code, c.words, out, inbox)
				}
				if turns := strings.Count(p.must(p.ralph, "log", "--json"), `"t":"turn.ended"`); turns != 1 {
					t.Errorf("%d turns, want 1:\n%s", turns, out)
				}
				p.checkAlone()
			})
		}
	}
}

// F-22: Claude obeys a short wait again and again by itself. It loses its turn when that
// takes too long, and codex does the work.
func TestLimitThatAnAgentWaitsFor(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.env = append(p.env, "RALPH_ERRORS_RATE_LIMIT_PATIENCE=3s") // not half a minute
	work := script(func(q modeltest.Request) modeltest.Reply {
		if q.Results {
			return complete("I wrote it.")
		}
		return modeltest.Do(modeltest.Write(filepath.Join(p.dir, "hello.txt"), "hello\n"))
	})
	m := modeltest.New(t, func(q modeltest.Request) modeltest.Reply {
		if q.API == modeltest.Messages {
			return modeltest.Reply{Kind: modeltest.RateLimit, RetryAfter: 2 * time.Second}
		}
		return work(q)
	})
	p.begin(retries(p.settings(m, "never", programs()["claude-2.1.329"], programs()["codex-0.169.0"])))
	out, code := p.run(p.ralph, "agent")
	for _, want := range []string{"tries again by itself: rate_limit", "for longer than errors.rate_limit_patience", "AGENT: claude -> codex"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want 0 and %q:\n%s", code, want, out)
		}
	}
	p.checkHello(out)
}
