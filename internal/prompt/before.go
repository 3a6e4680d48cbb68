package prompt

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// redBefore tells an agent what of a red check was red before its work; "" when nothing
// of it was, as far as anybody knows.
func redBefore(before []ralph.RedCheck, r ralph.CheckResult) string {
	if ralph.SameWay(before, r) {
		return "Red before your work too, in the same way. It still counts: mend it if the task is about it or you can. " +
			"If it has nothing to do with your task, leave it, say so and that the task is complete: a person then decides."
	}
	var old, fresh []string
	for _, name := range r.Failed {
		known := slices.ContainsFunc(before, func(b ralph.RedCheck) bool { return b.Name == r.Name && slices.Contains(b.Failed, name) })
		if known {
			old = append(old, name)
		} else {
			fresh = append(fresh, name)
		}
	}
	was := slices.ContainsFunc(before, func(b ralph.RedCheck) bool { return b.Name == r.Name })
	switch {
	case len(old) > 0:
		return "Red before your work too: " + strings.Join(old, ", ") + ". Green before, and red since: " + strings.Join(fresh, ", ") + "."
	case was:
		return "It was red before your work as well, but not in this way: what you see is new."
	}
	return ""
}
