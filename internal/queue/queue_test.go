package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/queue"
)

// C-011, X-65: specs are worked on by priority, and in the order of the inbox where that is the same; with no
// priorities that is first in, first out. What does not wait has no place.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		priorities []int
		want       string
	}{
		"none":            {[]int{0, 0, 0, 0, 0}, "1 2 3 4 5"},
		"one first":       {[]int{0, 0, 0, 7, 0}, "4 1 2 3 5"},
		"one last":        {[]int{-1, 0, 0, 0, 0}, "2 3 4 5 1"},
		"all":             {[]int{1, 3, 2, 3, 1}, "2 4 3 1 5"},
		"far apart, same": {[]int{5, -5, 5, -5, 5}, "1 3 5 2 4"},
	} {
		s := &ralph.State{}
		for i, p := range c.priorities {
			s.Inbox = append(s.Inbox, &ralph.Spec{ID: ralph.SpecID(fmt.Sprint(i + 1)), Status: ralph.SpecPending, Priority: p})
		}
		s.Inbox = append(s.Inbox, &ralph.Spec{ID: "done", Status: ralph.SpecDone, Priority: 9}, &ralph.Spec{ID: "at work", Status: ralph.SpecActive, Priority: 9})
		var got []string
		for _, x := range queue.Waiting(s) {
			got = append(got, string(x.ID))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// C-011: the priority in the front matter of a spec.
func TestSpecPriority(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"# Title\npriority: 5\n":                                   0,
		"---\npriority: 5\n---\n# Title\n":                         5,
		"\ufeff---\r\ntitle: x\r\npriority: -3 # later\r\n---\r\n": -3,
		"---\npriority: high\n...\n":                               1,
		"---\npriority: \"low\"\n---\n":                            -1,
		"---\npriority: medium\n---\n":                             0,
		"---\ntitle: x\n---\npriority: 5\n":                        0,
		"---\npriority: 5\nno end":                                 0,
		"---\n  priority: 5\n---\n":                                0, // of something else
		"":                                                         0,
	} {
		if got, err := queue.SpecPriority(text); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"---\npriority: soon\n---\n", "---\npriority: 1.5\n---\n", "---\npriority: 1001\n---\n", "---\npriority: -1001\n---\n"} {
		if _, err := queue.SpecPriority(text); !errors.Is(err, ralph.ErrUsage) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
