package step

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
)

// StateGit is the folder of the files in which agents' git tells what it does to the
// history: <task>/<turn>. They are written by git's own hooks, so they are there after a
// crash. Of ralph's state it is all that an agent in the checkout may write.
const StateGit = "ralph/.state/git"

// gitReport is the file of the turn whose records are in dir.
func (x *Executor) gitReport(dir string) string {
	return filepath.Join(x.Root, StateGit, filepath.Base(filepath.Dir(dir)), filepath.Base(dir))
}

// Checkout is the person's own checkout, in which they may be at work beside agents.
type Checkout interface {
	// Look says what is otherwise in it than known says, which no agent did; ok is false
	// when nothing is.
	Look(ctx context.Context, known ralph.Checkout, agents AgentGit) (found ralph.CheckoutFound, ok bool, err error)
	// TakeBack takes a commit of in back that a hook of the repository changed, where an engine
	// was killed before it did; back is false where there is none.
	TakeBack(ctx context.Context, in CommitInput) (c ralph.Committed, back bool, err error)
	// RestoreBranch makes the branch of known again that was deleted under HEAD.
	RestoreBranch(ctx context.Context, known ralph.Checkout) (back bool, err error)
}

// inCheckout reports whether a task's work happens in the person's own checkout.
func (x *Executor) inCheckout(t *ralph.Task) bool { return !x.Config.Isolated && x.dir(t) == x.Root }

// agentGit is what agents did with git in this job: what the journal says of their turns,
// and what the reports say of turns that came to no end.
func (x *Executor) agentGit(s *ralph.State) (AgentGit, error) {
	var files []string
	// Most often there is something of few tasks, however many there are. Agents can write here:
	// what cannot be read says nothing.
	have, _ := os.ReadDir(filepath.Join(x.Root, StateGit))
	of := map[string]bool{}
	for t := range s.Work() {
		of[plain(t.ID)] = true
	}
	for _, e := range have {
		if !of[e.Name()] {
			continue
		}
		list, _ := os.ReadDir(filepath.Join(x.Root, StateGit, e.Name()))
		for _, f := range list {
			files = append(files, filepath.Join(x.Root, StateGit, e.Name(), f.Name()))
		}
	}
	slices.SortFunc(files, func(a, b string) int { return changedAt(a).Compare(changedAt(b)) })
	g := AgentGit{Commits: slices.Clone(s.Checkout.Commits)}
	if x.Reported == nil {
		return g, nil
	}
	err := x.Reported(files, &g)
	return g, err
}

// committedIn are the commits that a turn made in the checkout.
func (x *Executor) committedIn(s *ralph.State, t *ralph.Task, rec *record) ([]string, error) {
	if !x.inCheckout(t) || x.Reported == nil {
		return nil, nil
	}
	g := AgentGit{Commits: slices.Clone(s.Checkout.Commits)} // what it amends may be of an earlier turn
	err := x.Reported([]string{x.gitReport(rec.dir)}, &g)
	before := func(c string) bool { return slices.Contains(s.Checkout.Commits, c) }
	return slices.DeleteFunc(g.Commits, before), err
}

// lookBefore looks at the checkout before a turn begins, and records what others have
// done there since the newest look. The state that it returns knows of it.
func (x *Executor) lookBefore(ctx context.Context, s *ralph.State, t *ralph.Task) (*ralph.State, *ralph.Task, error) {
	if !x.inCheckout(t) || x.Journal == nil {
		return s, t, nil
	}
	f, ok, _, err := x.look(ctx, s, t)
	if err != nil || !ok {
		return s, t, err
	}
	err = x.Journal.Update(ctx, "engine", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil })
	if err != nil {
		return s, t, fmt.Errorf("record what was found in the checkout: %w", err)
	}
	s = s.Clone()
	s.Apply(ralph.Event{Seq: s.Seq, Hash: s.Hash, At: s.At, Fact: f})
	return s, s.Task(t.ID), nil
}

// look says what others have done in the checkout since the newest look at it, and what agents did.
func (x *Executor) look(ctx context.Context, s *ralph.State, t *ralph.Task) (f ralph.CheckoutFound, ok bool, agents AgentGit, err error) {
	if agents, err = x.agentGit(s); err != nil || x.Checkout == nil {
		return f, false, agents, err
	}
	if f, ok, err = x.Checkout.Look(ctx, s.Checkout, agents); err != nil {
		return f, false, agents, fmt.Errorf("look at the checkout: %w", err)
	}
	f.Task = t.ID
	if ok && !s.Checkout.Cut {
		f.Settings, err = x.theirs(ctx, s.Checkout.Tree, f.Tree)
	}
	return f, ok, agents, err
}

// lookToEnd is look before a commit, or before changes are put away.
func (x *Executor) lookToEnd(ctx context.Context, s *ralph.State, t *ralph.Task) (f ralph.CheckoutFound, found []ralph.Fact, agents AgentGit, err error) {
	f, ok, agents, err := x.look(ctx, s, t)
	if err == nil && ok {
		found = []ralph.Fact{f}
	}
	return f, found, agents, err
}

// dropReport removes the report of a turn in which git told nothing, with the task's folder: its
// hooks have gone with the turn, and each look would read it.
func (x *Executor) dropReport(rec *record) {
	report := x.gitReport(rec.dir)
	if info, err := os.Stat(report); err == nil && info.Size() == 0 {
		_ = os.Remove(report)
		_ = os.Remove(filepath.Dir(report)) // where nothing else is in it
	}
}

// restoreBranch makes the checkout's branch again that an agent has deleted in its turn. Its files
// are there; what it committed meanwhile is in the logs of HEAD.
func (x *Executor) restoreBranch(ctx context.Context, s *ralph.State, t *ralph.Task) (bool, error) {
	if !x.inCheckout(t) || x.Checkout == nil || x.Journal == nil {
		return false, nil
	}
	back, err := x.Checkout.RestoreBranch(ctx, s.Checkout)
	if err != nil || !back {
		return false, err
	}
	text := fmt.Sprintf("the branch %s was deleted in this turn: it is at %.7s again, and all files are as they were (`git reflog` has what was committed since)", s.Checkout.Branch, s.Checkout.Head)
	return true, x.Journal.Update(ctx, "engine", func(*ralph.State) ([]ralph.Fact, error) {
		return []ralph.Fact{ralph.Noted{Task: t.ID, Text: text}}, nil
	})
}

func changedAt(name string) (at time.Time) {
	if info, err := os.Stat(name); err == nil {
		at = info.ModTime()
	}
	return at
}
