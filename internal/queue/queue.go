// Package queue owns in which order specs are worked on: their priority, where it is said, and
// the order that follows. It does not own the inbox, its records and commands (the root).
package queue

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/specfile"
)

// maxPriority bounds how much before or behind others a spec may be.
const maxPriority = 1000

// Waiting are the records that are pending, in the order in which they are worked on: those of a
// higher priority first, of the same one in the order of the inbox.
func Waiting(s *ralph.State) []*ralph.Spec {
	var list []*ralph.Spec
	for _, x := range s.Inbox {
		if x.Status == ralph.SpecPending {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b *ralph.Spec) int { return cmp.Compare(b.Priority, a.Priority) })
	return list
}

// ReadPriority reads a priority as people write it: a whole number, higher first, or high, medium,
// low; "" is 0.
func ReadPriority(text string) (int, error) {
	text = strings.ToLower(strings.Trim(strings.TrimSpace(text), `"'`))
	switch text {
	case "", "medium":
		return 0, nil
	case "high":
		return 1, nil
	case "low":
		return -1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < -maxPriority || n > maxPriority {
		return 0, &ralph.Refusal{
			Why:  fmt.Sprintf("%q is no priority", text),
			Hint: fmt.Sprintf("give a whole number from -%d to %d, higher comes first; or high, medium, low", maxPriority, maxPriority), Kind: ralph.ErrUsage,
		}
	}
	return n, nil
}

// SpecPriority is what the head of a spec says about its own priority: `priority: 5`. 0 where it says nothing.
func SpecPriority(spec string) (int, error) {
	head, _ := specfile.Parse(spec)
	return ReadPriority(head.Priority)
}

// SetPriority gives a record that waits another priority.
func SetPriority(s *ralph.State, id ralph.SpecID, priority int) ([]ralph.Fact, error) {
	x := s.Spec(id)
	switch {
	case x == nil:
		return nil, &ralph.Refusal{Why: fmt.Sprintf("%s is not in the inbox", id), Hint: "`[[inbox]]` lists what is", Kind: ralph.ErrNotFound}
	case x.Status != ralph.SpecPending:
		return nil, &ralph.Refusal{Why: fmt.Sprintf("%s is %s", x.File, x.Status), Hint: "only one that waits has a place in the queue", Kind: ralph.ErrUsage}
	case x.Priority == priority:
		return nil, &ralph.Refusal{Why: fmt.Sprintf("%s has the priority %d already", x.File, priority), Kind: ralph.ErrUsage}
	}
	changed := *x
	changed.Priority, changed.Line = priority, ""
	return []ralph.Fact{ralph.SpecEdited{Spec: changed}}, nil
}
