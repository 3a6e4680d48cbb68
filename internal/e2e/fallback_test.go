//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// A real agent that is at its limit is left for another real agent, which does the
// work.
func TestFallbackToAnotherAgent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, first, then string
		limited           modeltest.API
		how               modeltest.Reply
	}{
		{"claude to codex", "claude-2.1.329", "codex-0.169.0", modeltest.Messages, modeltest.Reply{Kind: modeltest.RateLimit, RetryAfter: time.Hour}},
		{"codex to claude", "codex-0.169.0", "claude-2.1.329", modeltest.Responses, modeltest.Reply{Kind: modeltest.UsageLimit}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			first, then := programs()[c.first], programs()[c.then]
			work := script(func(q modeltest.Request) modeltest.Reply {
				if q.Results {
					return complete("I wrote it.")
				}
				return modeltest.Do(modeltest.Write(filepath.Join(p.dir, "hello.txt"), "hello\n"))
			})
			m := modeltest.New(t, func(q modeltest.Request) modeltest.Reply {
				if q.API == c.limited {
					return c.how
				}
				return work(q)
			})
			p.begin(p.settings(m, "never", first, then))
			out, code := p.run(p.ralph, "agent")
			if code != 0 {
				t.Fatalf("ralph agent: exit code %d\n%s", code, out)
			}
			log := p.must(p.ralph, "log", "--json")
			if !strings.Contains(log, `"class":"rate_limit"`) || !strings.Contains(log, `"agent":"`+then.name+`"`) {
				t.Errorf("no limit of %s, or no turn of %s in the journal:\n%s\n%s", first.name, then.name, out, log)
			}
			p.checkHello(out)
		})
	}
}
