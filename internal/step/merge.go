package step

import (
	"context"
	"errors"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
)

// Merging brings the work of tasks together, beside every checkout.
type Merging interface {
	// Start makes the integration branch name at the base, or goes on with the
	// known one while work on it has not landed. onto is the base, "" what the settings say.
	Start(ctx context.Context, known *ralph.Integration, name, onto string) (ralph.IntegrationStarted, error)
	// Merge merges sides into the integration branch. The fact lacks Task, Members and Took.
	Merge(ctx context.Context, in MergeInput) (ralph.Merged, error)
	// Advance moves the integration branch. moved is where it is instead, "" when it moved.
	Advance(ctx context.Context, branch, from, to string) (moved string, err error)
	// Squash makes one commit of the tip's tree, on top of the base.
	Squash(ctx context.Context, in SquashInput) (ralph.Committed, error)
	// WithFiles returns a commit on top of tip that has these files as well; ignored are those
	// of them that git ignores in dir.
	WithFiles(ctx context.Context, dir, tip string, files map[string][]byte) (commit string, ignored []string, err error)
	// Land brings the base branch up. The fact lacks Task and Took.
	Land(ctx context.Context, in LandInput) (ralph.Landed, error)
}

// MergeInput says what to merge.
type MergeInput struct {
	Branch string // the integration branch, expected at Into
	Into   string
	Sides  []Side
	Green  []string // trees whose checks passed
	Free   bool     // there is nothing to check
}

// Side is the work of one task, or the base branch's.
type Side struct {
	Task         ralph.TaskID
	Branch       string // merged as it is now, when it contains Commit; "": Commit alone
	Commit       string
	Message      string
	Trailer, Key string
	Was          string // where a branch that people may rewrite was when it was merged last
}

// SquashInput says what becomes one commit.
type SquashInput struct {
	Dir          string // the merge worktree
	Base, Landed string // the base branch, and where it was when last seen
	Tip          string
	Message      string
	Trailer, Key string
}

// LandInput says what to land.
type LandInput struct {
	Base   string // branch; "": the detached HEAD of the checkout
	Landed string // where it was when last seen
	To     string
	// Squashed: To is one commit of what Tip has. With it landed, the branches that
	// led to it are done with.
	Squashed bool
	Tip      string
	Branches []string
	Key      string
}

// mergeTrailer names the commit that a merge brings in.
const mergeTrailer = "Ralph-Merge"

// mergeMembers merges done tasks into the integration branch, or with no members
// what the base branch has got meanwhile.
func (x *Executor) mergeMembers(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Merge) ([]ralph.Fact, error) {
	begin := x.Now()
	merged := func(m ralph.Merged) []ralph.Fact {
		m.Task, m.Members, m.From, m.Took = t.ID, step.Members, step.Into, x.Now().Sub(begin)
		return []ralph.Fact{m}
	}
	i := s.Plan.Integration
	if i == nil {
		return merged(ralph.Merged{Error: "there is no integration branch"}), nil
	}
	in := MergeInput{Branch: i.Branch, Into: step.Into, Green: step.Green, Free: step.Free}
	for _, id := range step.Members {
		if m := s.Task(id); m != nil { // else a person took it out of the plan
			in.Sides = append(in.Sides, x.memberSide(s, m, step.Tips))
		}
	}
	if len(step.Members) == 0 && i.Moved != "" {
		side := baseSide(i)
		side.Message = x.titled(s, nil, side.Message)
		in.Sides = append(in.Sides, side)
	}
	if len(in.Sides) == 0 {
		return merged(ralph.Merged{How: "nothing", Commit: step.Into, Tree: i.Tree, Advanced: true}), nil
	}
	m, err := x.Merging.Merge(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		m = ralph.Merged{Error: err.Error()}
	}
	if m.Conflict, err = x.keepConflict(m.Conflict, t.ID); err != nil {
		return nil, err
	}
	return merged(m), nil
}

// memberSide is a task's branch. Its merge is named by the commit that is merged:
// when a crash hides that it was made, the same step finds it by that. (The receipt
// would not do: the task's own commit carries it too.)
func (x *Executor) memberSide(s *ralph.State, m *ralph.Task, tip bool) Side {
	side := Side{Task: m.ID, Commit: m.Run.Commit, Trailer: mergeTrailer, Key: m.Run.Commit}
	if tip {
		side.Branch = m.Run.Worktree.Branch
	}
	trailers := []string{taskTrailer + ": " + string(m.ID)}
	if m.Run.CommitKey != "" {
		trailers = append(trailers, receiptOf(s, m.Run.CommitKey)...)
	}
	side.Message = x.titled(s, m, prompt.MergeMessage(m.Name, "Task "+string(m.ID)+": "+m.Name, append(trailers, side.Trailer+": "+side.Key)))
	return side
}

func baseSide(i *ralph.Integration) Side {
	base := i.Base
	if base == "" {
		base = "HEAD"
	}
	return Side{
		Commit: i.Moved, Trailer: mergeTrailer, Key: i.Moved, Was: i.Landed,
		Message: prompt.MergeMessage(base, "What "+base+" has got meanwhile.", []string{mergeTrailer + ": " + i.Moved}),
	}
}

// advance moves the integration branch to the merge that passed its checks.
func (x *Executor) advance(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Advance) ([]ralph.Fact, error) {
	begin := x.Now()
	f := ralph.Advanced{Task: t.ID, Commit: step.To}
	if m := t.Run.Queue.Merged; m != nil && m.Commit == step.To {
		f.Tree = m.Tree
	}
	err := errors.New("there is no integration branch")
	if i := s.Plan.Integration; i != nil {
		f.Moved, err = x.Merging.Advance(ctx, i.Branch, step.From, step.To)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		f.Error = err.Error()
	}
	f.Took = x.Now().Sub(begin)
	return []ralph.Fact{f}, nil
}

// land brings the base branch, and a clean checkout of it, up to what is merged;
// in agent mode up to the one commit of the spec.
func (x *Executor) land(ctx context.Context, s *ralph.State, t *ralph.Task) ([]ralph.Fact, error) {
	begin := x.Now()
	i := s.Plan.Integration
	if i == nil {
		return []ralph.Fact{ralph.Landed{Task: t.ID, Error: "there is no integration branch"}}, nil
	}
	in := LandInput{Base: i.Base, Landed: i.Landed, To: i.Tip, Tip: i.Tip}
	if t.Run.Commit != "" {
		in.To, in.Squashed, in.Key, in.Branches = t.Run.Commit, true, t.Run.CommitKey, []string{i.Branch}
		for _, m := range s.Plan.Tasks {
			if m.Run.Queue.State == ralph.MergeMerged && m.Run.Worktree.Branch != "" {
				in.Branches = append(in.Branches, m.Run.Worktree.Branch)
			}
		}
	}
	f, err := x.Merging.Land(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		f = ralph.Landed{From: i.Landed, To: in.To, Error: err.Error()}
	}
	f.Task, f.Took = t.ID, x.Now().Sub(begin)
	return []ralph.Fact{f}, nil
}
