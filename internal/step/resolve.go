package step

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
	"github.com/ralph-loop/ralph/internal/records"
)

// Resolving is the merge of what landed meanwhile into a task's branch, in its
// worktree, where an agent resolves the conflicts.
type Resolving interface {
	// Tip is where a branch is, or commit when it is gone or does not contain that.
	Tip(ctx context.Context, branch, commit string) (string, error)
	// Begin merges a commit and returns the files in conflict; none when the merge
	// is committed, or was before.
	Begin(ctx context.Context, dir, commit, message string) ([]string, error)
	// Left returns the files with conflicts that are not resolved; undone says that
	// the merge of the commit is neither under way nor done.
	Left(ctx context.Context, dir, commit string) (left []string, undone bool, err error)
}

// firstResolve reports whether a resolve has not been in a worktree yet.
func firstResolve(t *ralph.Task) bool {
	return t.Kind == ralph.KindResolve && t.Run.Worktree.Head == ""
}

// parentCommit is the work that a resolve is about.
func parentCommit(s *ralph.State, t *ralph.Task) string {
	if parent := s.Task(t.Parent); parent != nil {
		return parent.Run.Commit
	}
	return ""
}

// beginResolve merges the integration tip into the branch of the task, and leaves
// both sides in the files that git cannot merge. From then on Base is that tip:
// what was red there is not blamed on the merge.
func (x *Executor) beginResolve(ctx context.Context, s *ralph.State, t *ralph.Task, p *ralph.Prepared) error {
	dir, tip := x.dir(t), t.Run.Worktree.Base
	if firstResolve(t) {
		tip = s.Plan.Integration.Tip
		p.Base = tip
	} else {
		left, undone, err := x.Resolving.Left(ctx, dir, tip)
		if err != nil || !undone {
			p.Conflicts = left
			return err
		}
	}
	name := t.Name
	if parent := s.Task(t.Parent); parent != nil {
		name = parent.Name
	}
	trailers := []string{taskTrailer + ": " + string(t.Parent)}
	message := x.titled(s, t, prompt.MergeMessage("what landed meanwhile into "+name, "Task "+string(t.Parent)+": "+name, trailers))
	conflicts, err := x.Resolving.Begin(ctx, dir, tip, message)
	if err != nil {
		return fmt.Errorf("merge %.9s into %s: %w", tip, p.Branch, err)
	}
	if p.Conflicts = conflicts; len(conflicts) > 0 {
		return nil // the index still knows what is in conflict: nothing may be staged
	}
	p.Tree, p.Head, err = x.snapshot(ctx, s, t)
	return err
}

// resolveInput completes the prompt of a resolve: the task that it is about, and
// both sides of what does not fit.
func (x *Executor) resolveInput(s *ralph.State, t *ralph.Task, in *prompt.Input) {
	t, parent := records.Task(x.Root, t), records.Task(x.Root, s.Task(t.Parent))
	if parent == nil {
		return
	}
	about := *parent
	about.Run = t.Run
	if m := parent.Run.Queue.Merged; m != nil && m.Conflict != nil {
		in.Conflicts = conflictFiles(t.Run.Worktree.Conflicts, m.Conflict.Files)
	} else {
		in.Conflicts = conflictFiles(t.Run.Worktree.Conflicts, nil)
	}
	if t.Run.Last == nil && about.Run.Red == nil {
		about.Run.Red = parent.Run.Red // what was red on the merged tree
	}
	in.Task = &about
}

// maxSides is how much of both sides of conflicts a prompt shows, in bytes.
const maxSides = 64 << 10

// conflictFiles are the files in conflict with as much of both sides as has room;
// the agent has them in its folder.
func conflictFiles(paths []string, known []ralph.ConflictFile) []ralph.ConflictFile {
	room := maxSides
	out := make([]ralph.ConflictFile, 0, len(paths))
	for _, path := range paths {
		f := ralph.ConflictFile{Path: path}
		for _, k := range known {
			if k.Path == path {
				f = k
			}
		}
		if len(f.Marked) > room {
			f.Marked = ""
		}
		room -= len(f.Marked)
		f.Marked = strings.TrimRight(f.Marked, "\n")
		out = append(out, f)
	}
	return out
}
