package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// What a session of threads needs beside the others (ralph auto).

// openThreads opens the agents that threads were given to, those of the plan too.
func (x *Session) openThreads() error {
	if x.Mode != ralph.ModeAuto {
		return nil
	}
	if err := x.OpenModels(x.Env.Environ); err != nil {
		return err
	}
	if err := x.OpenGuidance(x.Env.Environ, x.Threads); err != nil {
		return err
	}
	open, err := x.openThreadsOf()
	if err != nil {
		return err
	}
	names := make([]string, 0, len(open)+len(x.Threads))
	for _, t := range open {
		names = append(names, t.Run.Thread.Agent)
	}
	for _, n := range x.Threads {
		names = append(names, n.Agent)
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		if err := x.OpenAgent(x.Env, name); err != nil {
			return err
		}
	}
	return nil
}

// openThreadsOf are the threads of the plan that have not ended.
func (x *Session) openThreadsOf() ([]*ralph.Task, error) {
	s, _, err := workspace.ReadState(x.Env, false, false)
	if err != nil {
		return nil, err
	}
	return s.OpenThreads(), nil
}

// placeThreads decides where threads work: one in the checkout, several in worktrees. What has
// begun in one place goes on there.
func (x *Session) placeThreads(ctx context.Context) error {
	s, file, err := workspace.ReadState(x.Env, false, false)
	if err != nil {
		return err
	}
	if file.Holder() != nil {
		return nil // an engine that is there is the lock's matter
	}
	open := s.OpenThreads()
	c, n := x.Config, len(open)+len(x.Threads)
	x.isolated = c.Isolation == "worktree" || n > 1 || c.Isolation == "auto" && x.onlyLandlock() ||
		s.Plan.Integration != nil && !x.beginsPlan(s) // the plan's work is merged there
	for _, t := range open {
		begun := !t.Run.StartedAt.IsZero()
		switch {
		case begun && t.Run.Worktree.Dir != "":
			x.isolated = true
		case begun && n > 1:
			return &ralph.Refusal{
				Why:  fmt.Sprintf("thread %s has begun in your checkout, and several threads need worktrees", t.ID),
				Hint: fmt.Sprintf("`ralph auto` goes on with it alone; `ralph thread stop %s` ends it", t.ID), Kind: ralph.ErrUsage,
			}
		case begun:
			x.isolated = false
		}
	}
	if x.isolated && c.Isolation == "none" {
		return &ralph.Refusal{
			Why:  fmt.Sprintf("%d threads at the same time need worktrees, and isolation is none (%s)", n, c.Where("isolation")),
			Hint: "set isolation: auto, or give it one thread", Kind: ralph.ErrUsage,
		}
	}
	return x.placed(ctx)
}

// beginsPlan reports whether new threads begin a plan of their own: nothing is left of the one
// that is there.
func (x *Session) beginsPlan(s *ralph.State) bool {
	return len(x.Threads) > 0 && s.Plan.Closed && s.Plan.Unfinished() == 0 && !s.Unlanded()
}

// beginsThread reports whether a thread has its first turn in this session: what is changed in the
// checkout would get into its commit.
func (x *Session) beginsThread(s *ralph.State) bool {
	return len(x.Threads) > 0 || slices.ContainsFunc(s.OpenThreads(), func(t *ralph.Task) bool { return t.Run.StartedAt.IsZero() })
}

// newThreads are the facts of the threads that this start begins. A plan of which nothing is
// left makes room for them.
func (x *Session) newThreads(s *ralph.State) ([]ralph.Fact, error) {
	var facts []ralph.Fact
	if x.beginsPlan(s) {
		facts = append(facts, ralph.PlanStarted{})
	}
	for _, n := range x.Threads {
		if n.ID == "" {
			n.ID = ralph.TaskID(workspace.NewID("t"))
		}
		added, err := s.AddThread(n)
		if err != nil {
			return nil, err
		}
		facts = append(facts, added...)
	}
	return facts, nil
}
