// Package past owns what was read of the journal for those who go on looking at it, kept for whoever looks
// next: the newest lines, what became of gates, the past of tasks, reports of sessions, histories of
// moments. What takes a walk over all of it is done in the background, once for all.
//
// It does NOT own how far the whole journal is known (web/index), or when one looks (observe/watch).
package past

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

const (
	// maxFeed is how many lines the feed shows, the newest first.
	maxFeed = 80
	// feedReach is how many facts are read for them where none were read before.
	feedReach = 400
	// FeedFold is how many facts may be folded before a page goes out, which takes
	// milliseconds.
	FeedFold = 4000
)

// Journal is what is read.
type Journal interface {
	// Each reads the facts after one, in order.
	Each(after int64, visit func(ralph.Event) error) error
}

// Feed is what was decided lately, and what came of it. It reads each fact once.
type Feed struct {
	mu    sync.Mutex
	seq   int64
	then  *ralph.State // as it was with seq: a line is told with the numbers of its time
	rough bool         // the history has not been read so far yet: the numbers are today's until it has
	log   report.Log
	items []page.FeedItem // oldest first
}

// At are the items up to a state, newest first. before gives a state before a fact, as
// near as is known.
func (f *Feed) At(source Journal, s *ralph.State, before func(seq int64) *ralph.State) ([]page.FeedItem, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.seq + 1 // that has lines
	if f.then == nil || f.rough || s.Seq < f.seq || s.Seq-f.seq > feedReach {
		first = max(0, s.Seq-feedReach) + 1
		f.then, f.log, f.items = before(first), report.Log{}, nil
		f.seq, f.rough = f.then.Seq, first-f.then.Seq > FeedFold
		if f.rough {
			f.seq = first - 1
		}
	}
	if s.Seq > f.seq {
		err := source.Each(f.seq, func(e ralph.Event) error {
			f.seq = e.Seq
			then := s
			if !f.rough {
				f.then.Apply(e)
				then = f.then
			}
			if items := f.told(e, then, s); e.Seq >= first {
				f.items = append(f.items, items...)
			}
			return nil
		})
		if err != nil {
			f.then = nil // half of them are in: the next look begins anew
			return nil, fmt.Errorf("read the newest facts: %w", err)
		}
		f.items = slices.Clone(f.items[max(0, len(f.items)-maxFeed):])
	}
	return newest(f.items), nil
}

// newest turns the items round, and leaves out progress that a newer line of the same
// task says again: an agent reports it in each iteration.
func newest(items []page.FeedItem) []page.FeedItem {
	said := map[ralph.TaskID]string{}
	out := make([]page.FeedItem, 0, len(items))
	for _, x := range slices.Backward(items) {
		if x.Label == "progress" {
			if said[x.Task] == x.Text {
				continue
			}
			said[x.Task] = x.Text
		}
		out = append(out, x)
	}
	return out
}

// told are the items of one event: a decision with its rule and reason, or the lines of
// the log. then is the state after it; s is the newest one, for what a line leads to.
func (f *Feed) told(e ralph.Event, then, s *ralph.State) []page.FeedItem {
	lines := f.log.Lines(e, then)
	item := page.FeedItem{Seq: e.Seq, At: e.At, Task: e.Fact.About()}
	if t := s.Task(item.Task); t == nil || t.Kind != "" && t.Kind != ralph.KindBuild {
		item.Stage, item.Task = item.Task, ""
		if t != nil && len(t.Members) > 0 {
			item.Task = t.Members[0]
		}
	}
	switch x := e.Fact.(type) {
	case ralph.StepStarted:
		if f.log.Quiet() {
			return nil // one more try while there is no network
		}
		item.Decision, item.Text, item.Rule, item.Why = true, report.StepWords(x.Step), x.Why.Rule, x.Why.Text
		return []page.FeedItem{item}
	case ralph.TurnEnded:
		if words := itemWords(x.Summary); words != "" {
			lines = append([]string{"TURN: " + words}, lines...)
		}
	case ralph.Asked:
		lines = lines[:min(1, len(lines))] // how to answer stands with what needs a person
	}
	var out []page.FeedItem
	for _, line := range lines {
		item := item
		item.Label, item.Text = labelled(line)
		out = append(out, item)
	}
	return out
}

// labelled takes the word off a line of the log: `MERGE: checks green`.
func labelled(line string) (label, text string) {
	label, text, ok := strings.Cut(line, ": ")
	if !ok || label != strings.ToUpper(label) {
		return "", line
	}
	return strings.ToLower(label), text
}

// maxFiles are the changed files of a turn that are named.
const maxFiles = 4

// itemWords say what an agent did in a turn: its tools, and the files it changed.
func itemWords(x ralph.TurnSummary) string {
	var parts []string
	for _, i := range x.Items {
		parts = append(parts, fmt.Sprintf("%d %s", i.N, strings.ReplaceAll(string(i.Kind), "_", " ")))
	}
	if n := len(x.Files); n > 0 {
		words := strings.Join(x.Files[:min(n, maxFiles)], ", ")
		if n > maxFiles {
			words += fmt.Sprintf(" and %d more", n-maxFiles)
		}
		parts = append(parts, "changed "+words)
	}
	return cmp.Or(strings.Join(parts, ", "), "")
}
