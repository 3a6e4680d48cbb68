package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
	"github.com/ralph-loop/ralph/internal/testdiff"
)

// Trees is one place where work happens: git in the checkout, or in a worktree.
type Trees interface {
	Start(ctx context.Context) (ralph.Prepared, error)
	Snapshot(ctx context.Context) (tree, head string, err error)
	Diff(ctx context.Context, from, to string, most int64) ([]byte, error)
	// Patch is Diff of two commits, with renames and more lines around each change.
	Patch(ctx context.Context, from, to string, most int64) ([]byte, error)
	Commit(ctx context.Context, in CommitInput) (ralph.Committed, error)
	Shelve(ctx context.Context, in ShelveInput) (ralph.Shelved, error)
	// Inside lists what a commit would leave out: files that are changed inside submodules and committed
	// nowhere, and repositories inside that are no submodules and that base, "" for HEAD, has not.
	Inside(ctx context.Context, base string) (files, nested []string, err error)
}

// CommitInput is a commit to make. Trailer proves, after a crash, that it was made.
type CommitInput struct {
	Base, Branch  string // where the job, or the task in its worktree, started
	Message       string
	Trailer, Key  string
	Fresh         bool   // the key is of this very attempt: no commit can carry it yet
	Tree          string // the tree of the last snapshot, when nothing ran since
	Squash        bool   // commits of the agent since Base become part of this one
	OnlyIfChanges bool   // else the commit of the agent, or Base, is the answer
	Here          bool   // on the branch that is checked out, whichever it is
	Without       string // the commit of an agent that is not there, and that a person has said is not waited for
	Agents        AgentGit
	Left          []ralph.LeftFile // files with changes of others, which it leaves out
	Checked, On   string           // the tree that is to be committed, and the commit that it was seen on: to tell what a hook made of it
	Pages         []string         // living docs: ralph wrote them for this commit, after that tree
	Concludes     bool             // a merge may be under way: Base is merged in by this commit
}

// receiptTrailer names the receipt behind a commit; taskTrailer whose work it is.
// journalTrailer in which journal the receipt is: others may work on the same branch.
const (
	receiptTrailer = "Ralph-Receipt"
	journalTrailer = "Ralph-Journal"
	taskTrailer    = "Ralph-Task"
	specTrailer    = "Ralph-Spec"
)

// commit makes a commit in place: of the whole spec, or with task.auto_commit of
// one task.
func (x *Executor) commit(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Commit) ([]ralph.Fact, error) {
	in := CommitInput{Base: s.Job.Base, Branch: s.Job.Branch, Trailer: receiptTrailer, Key: t.Run.CommitKey, Squash: !step.OnlyTask}
	if in.Here = step.Here; in.Here {
		in.Without = t.Run.Lost
	}
	in.Fresh = in.Key == s.Hash // nothing was recorded since the receipt that made the key
	if facts, err := x.takenBack(ctx, s, t, in); len(facts) > 0 || err != nil {
		return facts, err
	}
	seen, found, agents, err := x.lookToEnd(ctx, s, t)
	if err != nil {
		return nil, err
	}
	in.Agents, in.Left = agents, seen.Left
	if step.OnlyTask {
		trailers := append([]string{taskTrailer + ": " + string(t.ID)}, redTrailers(t.Run.Checks.PassedOver())...)
		trailers = append(trailers, receiptOf(s, in.Key)...)
		in.Message = x.titled(s, t, prompt.TaskCommitMessage(t.Name, s.Job.File, trailers))
		in.OnlyIfChanges = true
		in.Tree = cmp.Or(seen.Tree, treeIfUnchecked(t)) // what was looked at just now is what is judged and committed
	} else {
		in.Message = x.specMessage(s, in.Key)
	}
	facts, err := x.committed(ctx, t, in.Message, func() (ralph.Committed, error) {
		if held, err := x.heldCommit(ctx, s, t, seen.Tree, in.Left); held != nil || err != nil {
			return orNone(held), err
		}
		if !step.OnlyTask {
			var err error
			if in.Pages, err = x.pagesHere(s); err != nil {
				return ralph.Committed{}, err
			}
		}
		c, err := x.Trees.Commit(ctx, in)
		c.Nothing = step.OnlyTask && (c.Nothing || c.Commit != "" && c.Commit == t.Run.BeganAt)
		return c, err
	})
	return append(found, facts...), err
}

// takenBack tells of a commit that a hook changed, and that a killed engine left: it is taken
// back before anything is looked at.
func (x *Executor) takenBack(ctx context.Context, s *ralph.State, t *ralph.Task, in CommitInput) ([]ralph.Fact, error) {
	if in.Fresh || x.Checkout == nil {
		return nil, nil
	}
	in.Checked, in.On, in.Left, in.Pages = s.Checkout.Tree, s.Checkout.Head, s.Checkout.Left, x.Docs.Files(s.Job.File)
	in.Message = x.specMessage(s, in.Key)
	c, back, err := x.Checkout.TakeBack(ctx, in)
	if err != nil || !back {
		return nil, err
	}
	return x.committed(ctx, t, in.Message, func() (ralph.Committed, error) { return c, nil })
}

// treeToCommit is the tree that a task's commit is to hold: the one that was checked, "" where
// none was.
func treeToCommit(t *ralph.Task) string {
	if c := t.Run.Checks; c != nil && c.Pass {
		return c.Tree
	}
	return ""
}

// treeIfUnchecked is the tree of the last turn, "" when something else may have
// changed files since: checks, or whatever was before a fresh attempt.
func treeIfUnchecked(t *ralph.Task) string {
	if t.Run.Checks != nil || t.Run.Last == nil {
		return ""
	}
	return t.Run.Tree
}

// specMessage is the message of the one commit of a spec.
func (x *Executor) specMessage(s *ralph.State, key string) string {
	var trailers []string
	if s.Job.Spec != "" {
		trailers = append(trailers, specTrailer+": "+string(s.Job.Spec))
	}
	trailers = append(trailers, redTrailers(passedOver(s))...)
	return x.titled(s, nil, prompt.CommitMessage(prompt.CommitInfo{
		SpecFile: s.Job.File, Tasks: s.CountTasks(ralph.TaskDone), Duration: s.JobElapsed(x.Now()),
		Usage: s.Plan.Usage, Trailers: append(trailers, receiptOf(s, key)...),
	}))
}

// receiptOf are the trailers that bind a commit to the journal.
func receiptOf(s *ralph.State, key string) []string {
	receipt := receiptTrailer + ": " + key
	if s.Journal == "" {
		return []string{receipt}
	}
	return []string{journalTrailer + ": " + s.Journal, receipt}
}

// titled gives a message the subject of commit.message. t is nil for the commit of a spec.
func (x *Executor) titled(s *ralph.State, t *ralph.Task, message string) string {
	of := prompt.Subject{Template: x.Message, Spec: s.Job.File, ID: string(s.Job.Spec)}
	if t != nil {
		if parent := s.Task(t.Parent); t.Kind == ralph.KindResolve && parent != nil {
			t = parent
		}
		of.Task, of.ID = t.Name, string(t.ID)
	}
	return of.Title(message)
}

// committed makes a commit and tells of it. One that failed is an outcome: policy
// tries it again.
func (x *Executor) committed(ctx context.Context, t *ralph.Task, message string, do func() (ralph.Committed, error)) ([]ralph.Fact, error) {
	begin := x.Now()
	c, err := do()
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		c = ralph.Committed{Error: err.Error()}
	}
	c.Task, c.Took = t.ID, x.Now().Sub(begin)
	c.Subject, _, _ = strings.Cut(message, "\n")
	return []ralph.Fact{c}, nil
}

// commitTask commits a task's work on its branch. Commits of the agent stay
// below it; a resolve's commit is the merge itself.
func (x *Executor) commitTask(ctx context.Context, s *ralph.State, t *ralph.Task) ([]ralph.Fact, error) {
	p := t.Run.Worktree
	in := CommitInput{
		Base: p.Base, Branch: p.Branch, Trailer: receiptTrailer, Key: t.Run.CommitKey, Fresh: t.Run.CommitKey == s.Hash,
		OnlyIfChanges: true, Tree: treeIfUnchecked(t), Concludes: t.Kind == ralph.KindResolve, Checked: treeToCommit(t),
	}
	whose := t.ID
	if t.Kind == ralph.KindResolve {
		whose = t.Parent
	}
	trailers := []string{taskTrailer + ": " + string(whose)}
	if s.Job.Spec != "" {
		trailers = append(trailers, specTrailer+": "+string(s.Job.Spec))
	}
	trailers = append(trailers, redTrailers(t.Run.Checks.PassedOver())...)
	in.Message = x.titled(s, t, prompt.TaskCommitMessage(t.Name, s.Job.File, append(trailers, receiptOf(s, in.Key)...)))
	return x.committed(ctx, t, in.Message, func() (ralph.Committed, error) {
		c, err := x.commitIn(ctx, s, t, in)
		if _, refused := errors.AsType[*ralph.Refusal](err); refused && ctx.Err() == nil {
			// An agent may have deleted its branch or left it: come back to it, as for a turn.
			if _, _, failed := x.enterTask(ctx, s, t); failed == nil {
				c, err = x.commitIn(ctx, s, t, in)
			}
		}
		return c, err
	})
}

func (x *Executor) commitIn(ctx context.Context, s *ralph.State, t *ralph.Task, in CommitInput) (ralph.Committed, error) {
	trees, err := x.trees(x.dir(t))
	if err != nil {
		return ralph.Committed{}, err
	}
	c, err := trees.Commit(ctx, in)
	if err != nil || c.Error != "" {
		return c, err
	}
	c.Nothing = c.Commit == in.Base
	if c.Weakened, err = x.weakened(ctx, t, trees, in.Base, c.Commit); err != nil {
		return c, err
	}
	c.Settings, c.Shown, err = x.settings(ctx, s, x.dir(t), in.Base, c.Commit, nil)
	return c, err
}

func orNone(c *ralph.Committed) ralph.Committed {
	if c == nil {
		return ralph.Committed{}
	}
	return *c
}

// maxPatch is how much of a task's whole diff is kept and looked at, in bytes.
const maxPatch = 4 << 20

// weakened looks for tests that a task's whole work removes, skips or weakens,
// and keeps the patch for people. Without an answer there is no
// commit: what nobody looked at must not pass as harmless.
func (x *Executor) weakened(ctx context.Context, t *ralph.Task, trees Trees, from, to string) ([]ralph.Finding, error) {
	if from == to {
		return nil, nil
	}
	patch, err := trees.Patch(ctx, from, to, maxPatch)
	if err != nil {
		return nil, fmt.Errorf("look for weakened tests: %w", err)
	}
	if err := writeRecord(filepath.Join(x.Root, taskDir(t.ID), "diff.patch"), patch); err != nil {
		return nil, err
	}
	return weakenedIn(patch), nil
}

// weakenedIn are the tests that a patch removes, skips or weakens. What cannot be read
// is a finding as well.
func weakenedIn(patch []byte) []ralph.Finding {
	found, err := testdiff.Find(patch)
	if err != nil {
		found = append(found, testdiff.Finding{Kind: testdiff.Weakened, What: "a part of the diff could not be read: " + err.Error()})
	}
	var out []ralph.Finding
	for _, f := range found {
		out = append(out, ralph.Finding(f))
	}
	return out
}

// squash makes the one commit of a spec of what its tasks merged.
func (x *Executor) squash(ctx context.Context, s *ralph.State, t *ralph.Task) ([]ralph.Fact, error) {
	i := s.Plan.Integration
	if i == nil {
		return []ralph.Fact{ralph.Committed{Task: t.ID, Error: "there is no integration branch"}}, nil
	}
	message := x.specMessage(s, t.Run.CommitKey)
	return x.committed(ctx, t, message, func() (ralph.Committed, error) {
		x.merge.Lock()
		defer x.merge.Unlock()
		if err := x.enterMergeDir(ctx, t.ID, i.Tip); err != nil {
			return ralph.Committed{}, err
		}
		tip, err := x.withPages(ctx, s, i.Tip)
		if err != nil {
			return ralph.Committed{}, err
		}
		return x.Merging.Squash(ctx, SquashInput{
			Dir: filepath.Join(x.Root, mergeDir), Base: i.Base, Landed: i.Landed, Tip: tip,
			Message: message, Trailer: receiptTrailer, Key: t.Run.CommitKey,
		})
	})
}
