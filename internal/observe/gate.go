package observe

import (
	"context"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// GateDetail is a gate with everything to decide by: what the state has, what the task has
// changed by the end of its last turn, and what is changed in its work tree by now, for in
// the middle of a turn no patch has it. Where git does not tell, a person still has the
// rest to decide by.
func GateDetail(ctx context.Context, env workspace.Env, s *ralph.State, g *ralph.Approval, root string) gates.Detail {
	d := wholeDetail(s, g, root)
	about := s.Task(d.Of())
	if about == nil {
		return d
	}
	if d.Changes = worktree.PatchChanges(root, about.ID); len(d.Changes) > 0 {
		d.Patch = worktree.PatchFile(about.ID)
	}
	t := s.Task(g.Task)
	if t == nil || t.Status != ralph.TaskActive || g.Kind == ralph.ApprovalMerge {
		return d
	}
	repo, err := git.Open(ctx, proc.NewRunner(""), root, env.Environ)
	if err == nil && t.Run.Worktree.Dir != "" {
		repo, err = repo.Tree(filepath.Join(root, t.Run.Worktree.Dir))
	}
	if err != nil {
		return d
	}
	if d.Changed, err = repo.Dirty(ctx); err == nil {
		d.Folder = repo.Root()
	}
	return d
}

// maxQuoted is how much of one output a gate shows, in bytes.
const maxQuoted = 8 << 10

// wholeDetail is what the state says of a gate, with the outputs whole that it has in brief.
func wholeDetail(s *ralph.State, g *ralph.Approval, root string) gates.Detail {
	d := gates.DetailOf(s, g)
	t := records.Task(root, s.Task(d.Of()))
	if t == nil {
		return d
	}
	d.Detail = records.Detail(root, s.Task(d.Of()), d.Detail, maxQuoted)
	return d.With(t)
}
