// Package early answers `ralph status`, the command that people and their scripts give most, before
// the packages are initialised that only other commands need: libraries make tables there for
// longer than it takes to read the journal.
//
// It does NOT own what is said (internal/status), and says nothing that main would not: whatever
// is not plain (another flag, an engine at work, whose words are to be read, a repository that is
// not set up, anything that fails) leads on into main, which does it all again.
//
// Its imports are few on purpose: see internal/fastpath. TestBeforeStatus in cmd/ralph holds that.
package early

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/locate"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/termtext"
)

func init() {
	switch words := os.Args[1:]; {
	case slices.Equal(words, []string{"status"}), slices.Equal(words, []string{"status", "--json"}):
		if answered(len(words) > 1) {
			os.Exit(0)
		}
	}
}

// noGarbage lets the heap grow fourfold before anything is collected: the process ends before.
const noGarbage = 400

// answered reports that the status was printed. Nothing was where it is false.
func answered(asJSON bool) bool {
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(noGarbage))
	}
	dir, err := os.Getwd()
	if err != nil {
		return false
	}
	root, ok := locate.Root(dir)
	if !ok {
		return false
	}
	if _, err := os.Stat(filepath.Join(root, "ralph")); err != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(root, "ralph/.state/session.lock")); err == nil {
		return false // an engine is at work, or was: main would read all of it again
	}
	edited := false // a person changed a view: main knows what in it is a secret
	j, err := journal.Open(journal.Options{
		Root: root, Inbox: true, Plan: true, Read: true, Me: locate.Me(), Alive: proc.Alive,
		Redact: func(f ralph.Fact) ralph.Fact { edited = true; return f },
	})
	if err != nil || j.Holder() != nil {
		return false
	}
	s, engine, now := j.State(), status.Engine{Carry: j.Carries()}, j.Now()
	if edited {
		return false
	}
	var text strings.Builder
	if asJSON {
		enc := json.NewEncoder(&text) // as workspace.PrintJSON
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(status.All(s, engine, now)); err != nil {
			return false
		}
	} else {
		text.WriteString(status.Text(s, engine, now))
	}
	said := text.String()
	if !asJSON && term.IsTerminal(int(os.Stdout.Fd())) {
		said = termtext.Fit(said, os.Environ())
	}
	_, err = os.Stdout.WriteString(action.Commands(said))
	return err == nil
}
