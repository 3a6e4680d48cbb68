package worktrees

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/regular"
)

// resume returns to the branch on which a task's work goes on, when the agent
// left HEAD elsewhere. Files stay as they are but where HEAD went to another
// history: then they are the other history's, and what was changed in them is
// kept before the branch's come back.
func resume(ctx context.Context, r *git.Repo, in EnterInput, out *Entered) error {
	r.FreeLocks(ctx)
	head, err := r.Head(ctx)
	if err != nil && !errors.Is(err, git.ErrNoCommits) {
		return err
	}
	unborn := err != nil
	out.Head = head.Commit
	if !unborn && (head.Branch == in.Branch || underWay(r) != "" && !out.Fresh) {
		return nil // an operation under way is part of the work
	}
	if path, err := checkedOutIn(ctx, r, in.Branch); err != nil {
		return err
	} else if path != "" {
		return git.Refuse("the branch "+in.Branch+" is checked out in "+path, "check out another one there: git -C '"+path+"' switch --detach")
	}
	r.FreeRefs(ctx, "refs/heads/"+in.Branch)
	tip, err := branchAgain(ctx, r, in, head.Commit)
	if err != nil {
		return err
	}
	out.Head = tip
	if unborn {
		return pointAt(ctx, r, in.Branch, true)
	}
	ahead, err := r.Descends(ctx, head.Commit, tip)
	if err != nil {
		return err
	}
	if ahead { // its work went on beside the branch
		out.Head = head.Commit
		if head.Commit == tip {
			return pointAt(ctx, r, in.Branch, false)
		}
		if _, err := r.Run(ctx, git.Call{Args: []string{"update-ref", "-m", "ralph: take along commits made beside the branch", "refs/heads/" + in.Branch, head.Commit, tip}, Write: true}); err != nil {
			return fmt.Errorf("move branch %s: %w", in.Branch, err)
		}
		return pointAt(ctx, r, in.Branch, false)
	}
	return comeBack(ctx, r, in, head, out)
}

// branchAgain returns the tip of the task's branch. One that was deleted is made
// again where this worktree was last on it.
func branchAgain(ctx context.Context, r *git.Repo, in EnterInput, head string) (string, error) {
	ref := "refs/heads/" + in.Branch
	tip, err := r.Ref(ctx, ref)
	if err != nil || tip != "" {
		return tip, err
	}
	for _, commit := range []string{lastOn(r.GitDir(), in.Branch), head, in.From} {
		if commit == "" {
			continue
		}
		if _, err := r.ReadCommit(ctx, commit); err != nil {
			continue // it was pruned
		}
		_, err := r.Run(ctx, git.Call{Args: []string{"update-ref", "-m", "ralph: the branch was deleted while its work went on", ref, commit, ""}, Write: true})
		if err != nil {
			return "", errors.Join(branchInTheWay(ctx, r, in.Branch), err)
		}
		return commit, nil
	}
	return "", git.Refuse("the commits of branch "+in.Branch+" are gone", "retry the task from its beginning")
}

// pointAt makes the branch HEAD's and changes no file. anew also makes the index
// that of the branch.
func pointAt(ctx context.Context, r *git.Repo, branch string, anew bool) error {
	_, err := r.Run(ctx, git.Call{Args: []string{"symbolic-ref", "-m", "ralph: back to " + branch, "HEAD", "refs/heads/" + branch}, Write: true})
	if err == nil && anew {
		_, err = r.Run(ctx, quietly(r, "reset", "-q"))
	}
	if err != nil {
		return fmt.Errorf("return to branch %s: %w", branch, err)
	}
	return nil
}

// comeBack checks out the task's branch again from another history.
func comeBack(ctx context.Context, r *git.Repo, in EnterInput, head git.Head, out *Entered) error {
	if err := openUp(r.Root()); err != nil {
		return err
	}
	saved, err := save(ctx, r, in.ID, head)
	if err != nil {
		return err
	}
	out.Saved = append(out.Saved, saved...)
	kept, err := holdHead(ctx, r, in.ID, head, in.From)
	if err != nil {
		return err
	}
	out.Saved = append(out.Saved, kept...)
	if _, err := r.Run(ctx, quietly(r, "reset", "-q")); err != nil { // save staged everything
		return err
	}
	if checkout(ctx, r, false, in.Branch) == nil {
		return nil // local changes went along
	}
	if _, err := r.Run(ctx, quietly(r, "reset", "-q", "--hard")); err != nil {
		return err
	}
	if _, err := r.Run(ctx, quietly(r, "clean", "-q", "-f", "-d")); err != nil {
		return err
	}
	return checkout(ctx, r, true, in.Branch)
}

// lastOn returns the commit of a branch when this worktree last was on it, as
// far as the log of its HEAD tells, "" when it does not.
func lastOn(gitDir, branch string) string {
	for _, l := range slices.Backward(headLog(gitDir)) {
		if strings.HasPrefix(l.why, "checkout: moving from "+branch+" to ") {
			return l.from
		}
		if strings.HasSuffix(l.why, " to "+branch) && strings.HasPrefix(l.why, "checkout: moving from ") {
			break // and has not left it since
		}
	}
	return lastCommit(gitDir)
}

// lastCommit returns the commit at which HEAD was last, "" when it is not known.
func lastCommit(gitDir string) string {
	for _, l := range slices.Backward(headLog(gitDir)) {
		for _, commit := range []string{l.to, l.from} { // zeros: its branch was deleted, or is new
			if strings.Trim(commit, "0") != "" {
				return commit
			}
		}
	}
	return ""
}

// logLine is one entry of a reference's log.
type logLine struct{ from, to, why string }

// headLog reads the log of HEAD; its format is that of git's files (git-reflog
// shows nothing once HEAD has no commit).
func headLog(gitDir string) []logLine {
	var lines []logLine
	log, _ := regular.Tail(gitDir, "logs/HEAD", 1<<18)
	for line := range strings.Lines(string(log)) {
		who, why, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		ids := strings.SplitN(who, " ", 3)
		if len(ids) == 3 && git.IsHash(ids[0]) && git.IsHash(ids[1]) {
			lines = append(lines, logLine{ids[0], ids[1], why})
		}
	}
	return lines
}
