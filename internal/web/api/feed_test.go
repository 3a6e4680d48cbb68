package api

import (
	"context"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/watch"
)

// mistaken is a repository whose facts ralph makes a mistake about.
type mistaken struct{ watch.Source }

func (mistaken) State() *ralph.State                       { return &ralph.State{} }
func (mistaken) Wait(context.Context, int64) error         { return nil }
func (mistaken) Each(int64, func(ralph.Event) error) error { panic("no fact") }

// A mistake while facts are read for all streams together ends them with a word, and not
// the process.
func TestFeedOutlivesAMistake(t *testing.T) {
	t.Parallel()
	said := make(chan any, 1)
	f := newFeed(mistaken{}, func(what any) { said <- what })
	f.join()
	defer f.leave()
	for {
		_, moved, err := f.since(0)
		if err != nil {
			if !strings.Contains(err.Error(), "mistake in ralph: no fact") {
				t.Error(err)
			}
			break
		}
		<-moved
	}
	if what := <-said; what != "no fact" {
		t.Errorf("somebody was told %v", what)
	}
}
