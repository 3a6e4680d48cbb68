package session

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// who is asked, and what the answers mean.
func TestAskToResume(t *testing.T) {
	t.Parallel()
	const question = "Resume interrupted session? [Y/n] "
	cut := ralph.SessionStarted{ID: "s-1", Mode: "autopilot"}
	ended := func(reason ralph.Reason) []ralph.Fact {
		return []ralph.Fact{cut, ralph.SessionEnded{Reason: reason}}
	}
	for _, tt := range []struct {
		name     string
		facts    []ralph.Fact
		mode     string
		terminal bool
		stdin    string
		resume   bool
		begin    bool // --fresh
		asked    bool
		fresh    bool
		refused  string
	}{
		{name: "yes", facts: []ralph.Fact{cut}, terminal: true, stdin: "y\n", asked: true},
		{name: "an empty line is yes", facts: []ralph.Fact{cut}, terminal: true, stdin: "\n", asked: true},
		{name: "no", facts: []ralph.Fact{cut}, terminal: true, stdin: "n\n", asked: true, fresh: true},
		{name: "nobody at the keyboard", facts: []ralph.Fact{cut}, terminal: true, asked: true},
		{name: "no terminal", facts: []ralph.Fact{cut}, stdin: "n\n"},
		{name: "interrupted by Ctrl+C", facts: ended(ralph.ReasonInterrupted), terminal: true, stdin: "y\n", asked: true},
		{name: "complete", facts: ended(ralph.ReasonComplete), terminal: true, stdin: "n\n"},
		{name: "nothing yet", terminal: true, stdin: "n\n"},
		{name: "another command", facts: []ralph.Fact{cut}, mode: "construct", terminal: true, stdin: "n\n"},
		{name: "agent mode resumes by itself", facts: []ralph.Fact{ralph.SessionStarted{ID: "s-1", Mode: "agent"}}, mode: "agent", terminal: true, stdin: "n\n"},
		{name: "mode step keeps none", facts: []ralph.Fact{ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Auto: ralph.Stepwise}}, terminal: true, stdin: "y\n"},
		{name: "--resume asks nobody", facts: []ralph.Fact{cut}, terminal: true, stdin: "n\n", resume: true},
		{name: "--fresh asks nobody", facts: []ralph.Fact{cut}, terminal: true, stdin: "y\n", begin: true, fresh: true},
		{name: "--resume of nothing", terminal: true, resume: true, refused: "there is no interrupted session to resume"},
		{name: "both flags", facts: []ralph.Fact{cut}, resume: true, begin: true, fresh: true, refused: "exclude each other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, folder := range []string{"/.git", "/ralph/.state"} {
				if err := os.MkdirAll(dir+folder, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			j, err := journal.Open(journal.Options{Root: dir, NewID: workspace.NewID})
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			if err := j.Update(t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) { return tt.facts, nil }); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			x := Session{
				Env:    workspace.Env{Dir: dir, Stdin: strings.NewReader(tt.stdin), Stdout: &out, Terminal: tt.terminal},
				Mode:   "autopilot",
				Resume: tt.resume, Fresh: tt.begin, Parts: &bootstrap.Parts{Root: dir},
			}
			if tt.mode != "" {
				x.Mode = tt.mode
			}
			err = x.askToResume()
			if got := errText(err); !strings.Contains(got, tt.refused) || (got == "") != (tt.refused == "") {
				t.Errorf("error %q, want %q", got, tt.refused)
			}
			if asked := strings.HasSuffix(out.String(), question); asked != tt.asked || x.Fresh != tt.fresh {
				t.Errorf("asked %v (%q), fresh %v; want %v, %v", asked, out.String(), x.Fresh, tt.asked, tt.fresh)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
