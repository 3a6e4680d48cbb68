package policy

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// unseen are the changes of settings in a task's work that a person has still to see before
// it is merged.
func unseen(s *ralph.State, t *ralph.Task, c Config) []ralph.Finding {
	if !c.Diff.Looks(ralph.CheckSettings) || t.Run.Queue.Approved {
		return nil
	}
	return s.Unseen(t.Run.Queue.Settings)
}

// settingsWords names the files of changes.
func settingsWords(list []ralph.Finding) string {
	var names []string
	for _, f := range list {
		names = append(names, f.Path)
	}
	const most = 3
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "...")
	}
	return strings.Join(names, ", ")
}

// settingsDetail is what a person decides by: each file, and how it changes.
func settingsDetail(list []ralph.Finding, patch string) string {
	var b strings.Builder
	for _, f := range list {
		b.WriteString(f.Path + ": " + f.What + "\n")
	}
	return b.String() + "\n" + text.Plain(patch)
}
