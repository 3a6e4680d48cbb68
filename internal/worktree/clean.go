package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
)

// drop deletes the branches that are merged into a commit, and returns the others.
// Worktrees of the pool that stand on one get off it first.
func (w Worktrees) drop(ctx context.Context, into string, branches []string) (kept []string, err error) {
	for _, b := range branches {
		if err := worktrees.FreeBranch(ctx, w.Repo, b, ""); err != nil {
			return branches, err
		}
	}
	return refs.DropBranches(ctx, w.Repo, into, branches)
}

// TreesFolder holds the worktrees, relative to the repository.
const TreesFolder = "ralph/.worktrees"

// CleanUp takes away what a session that ended needs no more: worktrees that no
// task owns, and branches whose work is merged (B-069). What holds work stays, and
// is named. It may be called again.
func (w Worktrees) CleanUp(ctx context.Context, s *ralph.State) ralph.CleanedUp {
	var out ralph.CleanedUp
	// Branches first: a worktree that is removed may be remembered with its branch for a while.
	if err := errors.Join(w.dropBranches(ctx, s, &out), w.dropTrees(ctx, s, &out)); err != nil {
		out.Error = err.Error()
	}
	slices.Sort(out.Kept)
	slices.Sort(out.Branches)
	return out
}

func (w Worktrees) dropTrees(ctx context.Context, s *ralph.State, out *ralph.CleanedUp) error {
	owned := map[string]bool{}
	for t := range s.Work() {
		owned[t.Run.Worktree.Dir] = true
	}
	folder := filepath.Join(w.Repo.Root(), TreesFolder)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		name := TreesFolder + "/" + e.Name()
		switch {
		case strings.HasPrefix(e.Name(), "."): // git's sweep takes care of those
		case owned[name]:
			out.Kept = append(out.Kept, name)
		default:
			saved, failed := worktrees.Remove(ctx, w.Repo, filepath.Join(folder, e.Name()), "worktree-"+e.Name())
			out.Saved = append(out.Saved, SavedAs(saved)...)
			if failed != nil {
				out.Kept, err = append(out.Kept, name), errors.Join(err, failed)
				continue
			}
			out.Removed = append(out.Removed, name)
		}
	}
	_ = os.Remove(folder) // only when it is empty
	return err
}

func (w Worktrees) dropBranches(ctx context.Context, s *ralph.State, out *ralph.CleanedUp) error {
	i := s.Plan.Integration
	if i == nil {
		return nil
	}
	there, err := worktrees.Recoverable(ctx, w.Repo)
	if err != nil {
		return err
	}
	inUse := branchesInUse(s)
	var done []string
	for _, k := range there {
		branch, isBranch := strings.CutPrefix(k.Ref, "refs/heads/")
		switch {
		case k.Kind == worktrees.KeptMerge && k.Merged:
			// A merge that was not taken: it can be made again from its branches. (The
			// commit of a spec that has not landed is held there too. It follows one commit;
			// its subject may be anything, commit.message.)
			err = errors.Join(err, refs.Drop(ctx, w.Repo, k.Ref[strings.LastIndexByte(k.Ref, '/')+1:]))
		case !isBranch || !ownBranch(branch):
		case inUse[branch]:
			out.Kept = append(out.Kept, branch)
		default:
			done = append(done, branch)
		}
	}
	kept, failed := w.drop(ctx, i.Tip, done)
	out.Kept = append(out.Kept, kept...)
	for _, b := range done {
		if failed == nil && !slices.Contains(kept, b) {
			out.Branches = append(out.Branches, b)
		}
	}
	return errors.Join(err, failed)
}

// ownBranch reports whether ralph makes branches of such a name.
func ownBranch(name string) bool {
	for _, prefix := range []string{"ralph/t-", "ralph/merged-", "ralph/spec-"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// branchesInUse are the branches whose work goes on or has not landed.
func branchesInUse(s *ralph.State) map[string]bool {
	branches := map[string]bool{}
	if i := s.Plan.Integration; i.Landed != i.Tip {
		branches[i.Branch] = true
	}
	branches[s.Plan.Integration.Out.Branch] = true // with all of the tasks, where each goes out on its own
	for _, p := range s.Pulls {
		branches[p.Branch] = true // people have it, whatever its name is like
	}
	for t := range s.Work() {
		q := t.Run.Queue.State
		if t.Status != ralph.TaskDone || q != "" && q != ralph.MergeMerged {
			branches[t.Run.Worktree.Branch] = true
		}
	}
	return branches
}
