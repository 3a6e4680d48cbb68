//go:build e2e

package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// obedient is a model that does what the probes of `ralph agent-check` ask for.
func obedient(never <-chan struct{}) modeltest.Handler {
	return func(q modeltest.Request) modeltest.Reply {
		command := func(text string) modeltest.Reply {
			if q.Results {
				return modeltest.Reply{Text: "OK"}
			}
			return modeltest.Do(modeltest.Run(text))
		}
		switch p := q.Prompt; {
		case strings.Contains(p, "the two lines below"):
			_, lines, _ := strings.Cut(p, "\n\n")
			return modeltest.Reply{Text: lines}
		case strings.Contains(p, "exactly these two lines"):
			return modeltest.Reply{Text: "All is done.\n<ralph>COMPLETE</ralph>"}
		case strings.Contains(p, "from 1 to 3000"):
			return modeltest.Reply{Text: "one\n", Wait: never}
		case strings.Contains(p, "nohup sleep"):
			return command("nohup sleep 300 >/dev/null 2>&1 &")
		case strings.Contains(p, "date >"):
			return command("sh -c 'date > made-by-agent-check'")
		case strings.Contains(p, "told to remember"):
			if strings.Contains(q.Text, "pelican") {
				return modeltest.Reply{Text: "pelican"}
			}
			return modeltest.Reply{Text: "nothing"}
		case strings.Contains(p, "by the schema"):
			return modeltest.Reply{Answer: map[string]string{"word": "pelican"}}
		}
		return modeltest.Reply{Text: "OK"}
	}
}

// What each real program can do, by the probes of the drivers' own tests: issue 5, 7.
// With -short not the older of two versions.
func TestAgentCheckOfRealAgents(t *testing.T) {
	names := slices.Sorted(maps.Keys(programs()))
	if testing.Short() {
		names = slices.DeleteFunc(names, func(name string) bool { return name == "claude-2.1.197" })
	}
	eachOf(t, names, func(t *testing.T, a program) {
		m := modeltest.New(t, obedient(make(chan struct{})))
		p := newPlace(t)
		p.begin(p.settings(m, "ask", a))
		rounds := [][]string{
			{},
			{"--turns", "--yes", "--only", "echo,signal,kill,time limit,stop"},
			{"--turns", "--yes", "--only", "leftovers,resume,usage,structured"},
			{"--turns", "--yes", "--only", "approval,denial"},
		}
		if a.name == "opencode" { // each turn begins with ten seconds of starting it
			rounds = [][]string{{}, {"--turns", "--yes", "--only", "stop,resume"}}
		}
		for _, args := range rounds {
			out, code := p.run(append([]string{p.ralph, "agent-check", a.name}, args...)...)
			t.Logf("%s", out)
			if code != 0 || !strings.Contains(out, " 0 failed") {
				failed := slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return !strings.HasPrefix(line, "FAILED") })
				t.Errorf("agent-check %q: exit code %d\n%s", args, code, strings.Join(failed, "\n"))
			}
		}
		p.checkAlone()
		text, _ := p.run(p.ralph, "doctor", "--json")
		var findings []struct {
			Agent *struct{ Name, Path string } `json:"agent"`
		}
		if err := json.Unmarshal([]byte(text), &findings); err != nil || !strings.Contains(text, a.path(t)) {
			t.Errorf("ralph doctor: %v\n%s", err, text)
		}
	})
}
