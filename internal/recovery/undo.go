package recovery

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/landing"
	"github.com/ralph-loop/ralph/internal/git/refs"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// Undo takes back what a task left. The git side is done inside journal.Update:
// nothing may begin to work in a worktree between the look at its task and the
// fact that says what became of it.
type Undo struct {
	ctx     context.Context
	env     workspace.Env
	id      ralph.TaskID
	journal *journal.File
	repo    *git.Repo
	by      string // whose facts they are
	saved   []ralph.Saved
	words   string   // what was done
	left    []string // what was not done beside it
}

// NewUndo is an undo of what a task left, by a surface.
func NewUndo(ctx context.Context, env workspace.Env, j *journal.File, by string, id ralph.TaskID) (*Undo, error) {
	repo, err := git.Open(ctx, proc.NewRunner(""), env.Dir, env.Environ)
	if err != nil {
		return nil, err
	}
	return &Undo{ctx: ctx, env: env, id: id, journal: j, repo: repo, by: by}, nil
}

// Said is what was done, a line each.
func (u *Undo) Said() []string {
	var lines []string
	if u.words != "" {
		lines = append(lines, u.words)
	}
	for _, saved := range u.saved {
		line := "kept: " + saved.What
		if saved.Ref != "" {
			line = fmt.Sprintf("kept: %s (%s)", saved.Ref, saved.What)
		}
		lines = append(lines, line)
	}
	return append(lines, u.left...)
}

// Cleanup takes the worktree of a task away; what was changed in it is saved first, and told by Said.
func (u *Undo) Cleanup() error {
	return u.journal.Update(u.ctx, u.by, func(s *ralph.State) ([]ralph.Fact, error) {
		t, err := s.MayCleanUp(u.id)
		if err != nil {
			return nil, err
		}
		saved, err := worktrees.Remove(u.ctx, u.repo, filepath.Join(u.repo.Root(), t.Run.Worktree.Dir), string(t.ID))
		if err != nil {
			return nil, fmt.Errorf("take the worktree of %s away: %w", t.ID, err)
		}
		u.saved, u.words = worktree.SavedAs(saved), "removed "+t.Run.Worktree.Dir
		return []ralph.Fact{ralph.TaskCleaned{ID: t.ID, Dir: t.Run.Worktree.Dir, Saved: u.saved}}, nil
	})
}

// Rollback takes back what the task did.
func (u *Undo) Rollback() error {
	s := u.journal.State()
	t, err := s.MayRollBack(u.id)
	if err != nil {
		return err
	}
	if err := action.MayRollBack(s, u.journal.Holder() != nil, u.id); err != nil {
		return err
	}
	if t.Status == ralph.TaskDone {
		return u.revert()
	}
	return u.journal.Update(u.ctx, u.by, func(s *ralph.State) ([]ralph.Fact, error) {
		t, err := s.MayRollBack(u.id)
		if err != nil {
			return nil, err
		}
		return u.reset(t)
	})
}

// ownDir is the worktree that the task owns now, "" for none.
func (u *Undo) ownDir(t *ralph.Task) string {
	if t.Run.Worktree.Dir == "" {
		return ""
	}
	return filepath.Join(u.repo.Root(), t.Run.Worktree.Dir)
}

// reset takes an unmerged branch back to its base.
func (u *Undo) reset(t *ralph.Task) ([]ralph.Fact, error) {
	p := t.Run.Worktree
	if p.Base != "" {
		ref, err := worktrees.ResetBranch(u.ctx, u.repo, worktrees.ResetInput{Branch: p.Branch, Base: p.Base, ID: string(t.ID), Dir: u.ownDir(t)})
		if err != nil {
			return nil, fmt.Errorf("roll back %s: %w", t.ID, err)
		}
		if ref != "" {
			commit, err := u.keptAt(ref)
			if err != nil {
				return nil, err
			}
			u.saved = []ralph.Saved{{Ref: ref, Commit: commit, What: "the work of " + string(t.ID) + " before it was rolled back"}}
		}
	}
	u.words = p.Branch + " is back at its base"
	return []ralph.Fact{ralph.TaskRolledBack{ID: t.ID, Saved: u.saved}}, nil
}

func (u *Undo) keptAt(ref string) (string, error) {
	list, err := worktrees.Recoverable(u.ctx, u.repo)
	for _, k := range list {
		if k.Ref == ref {
			return k.Commit, nil
		}
	}
	return "", err
}

// revert undoes merged work with a commit on top of the base branch, made as an
// object only, and lands it.
func (u *Undo) revert() error {
	m, err := u.mergedAs()
	if err != nil {
		return err
	}
	return u.journal.Update(u.ctx, u.by, func(s *ralph.State) ([]ralph.Fact, error) {
		t, err := s.MayRollBack(u.id)
		if err != nil {
			return nil, err
		}
		if s.Plan.Integration == nil {
			return nil, &ralph.Refusal{Why: fmt.Sprintf("the branch that %s was merged into is not known any more", t.ID), Hint: "undo it by hand: git revert -m 1 " + m.To, Kind: ralph.ErrUsage}
		}
		return u.revertOn(t, s.Plan.Integration, m)
	})
}

// span is what a merge brought: everything after From up to To.
type span struct{ From, To string }

// mergedAs finds the span of commits with which the task was merged.
func (u *Undo) mergedAs() (span, error) {
	var newest ralph.Merged
	folded := &ralph.State{}
	err := u.journal.Each(0, func(e ralph.Event) error {
		m, ok := e.Fact.(ralph.Merged)
		if a, is := e.Fact.(ralph.Advanced); is && a.Error == "" && a.Moved == "" {
			if t := folded.Task(a.Task); t != nil && t.Run.Queue.Merged != nil {
				m, ok = *t.Run.Queue.Merged, true
				m.Advanced = true
			}
		}
		if ok && m.Advanced && slices.Contains(m.Members, u.id) {
			newest = m
		}
		folded.Apply(e)
		return nil
	})
	if err != nil {
		return span{}, err
	}
	if newest.Commit == "" {
		return span{}, &ralph.Refusal{Why: fmt.Sprintf("the journal has no merge of %s", u.id), Hint: "undo it by hand with git revert", Kind: ralph.ErrNotFound}
	}
	if len(newest.Members) == 1 {
		return span{newest.From, newest.Commit}, nil
	}
	return u.oneOf(newest)
}

// oneOf finds a task's own merge among those of a batch, by its trailer.
func (u *Undo) oneOf(m ralph.Merged) (span, error) {
	for at := m.Commit; at != m.From && at != ""; {
		records, err := commits.Commits(u.ctx, u.repo, []string{at})
		if err != nil {
			return span{}, err
		}
		r := records[at]
		if len(r.Parents) == 0 {
			break
		}
		if slices.Contains(r.Trailer("Ralph-Task"), string(u.id)) {
			return span{r.Parents[0], at}, nil
		}
		at = r.Parents[0]
	}
	return span{}, &ralph.Refusal{Why: fmt.Sprintf("%s was merged together with others, and its own commit is not to be found", u.id), Hint: "undo it by hand with git revert", Kind: ralph.ErrNotFound}
}

func (u *Undo) revertOn(t *ralph.Task, i *ralph.Integration, m span) ([]ralph.Fact, error) {
	base, tip, err := u.tips(i)
	if err != nil {
		return nil, err
	}
	landed, err := u.repo.Contains(u.ctx, m.To, base)
	if err != nil {
		return nil, err
	}
	onto := base
	if !landed && tip != "" { // merged, and waiting to land: it is undone where it waits
		if ok, err := u.repo.Contains(u.ctx, base, tip); err == nil && ok {
			onto = tip
		}
	}
	if tip == onto { // asked first: once the base has the revert, nothing may refuse it
		if err := refs.MayMove(u.repo, i.Branch); err != nil {
			return nil, fmt.Errorf("roll back %s: %w", t.ID, err)
		}
	}
	key := "rollback-" + string(t.ID) + "-" + m.To[:12]
	message := fmt.Sprintf("ralph: roll back %s\n\nThis undoes %s, task %s.\n\nRalph-Task: %s\n", t.Name, m.To, t.ID, t.ID)
	commit, err := landing.Revert(u.ctx, u.repo, landing.RevertInput{Onto: onto, From: m.From, To: m.To, Message: message, Key: key})
	if err != nil {
		return nil, fmt.Errorf("roll back %s: %w", t.ID, err)
	}
	facts := []ralph.Fact{ralph.TaskRolledBack{ID: t.ID, Revert: commit}}
	u.words = fmt.Sprintf("%.9s undoes it", commit)
	if onto == base {
		f, err := u.land(i, base, commit, key)
		if err != nil {
			return nil, err
		}
		facts = append(facts, f)
	}
	if tip == onto && commit != onto {
		err := refs.Advance(u.ctx, u.repo, i.Branch, onto, commit)
		if err != nil && onto != base {
			return nil, fmt.Errorf("roll back %s: %w", t.ID, err)
		}
		if err != nil { // the base has it, which is what counts: the next session brings the branch along
			u.left = append(u.left, fmt.Sprintf("%s was not moved with it: %v", i.Branch, err))
		}
	}
	return facts, nil
}

// tips are the commits of the base and of the integration branch, "" when that is gone.
func (u *Undo) tips(i *ralph.Integration) (base, tip string, err error) {
	if base, err = refs.BaseTip(u.ctx, u.repo, i.Base); err != nil {
		return "", "", err
	}
	tip, err = refs.Tip(u.ctx, u.repo, i.Branch)
	return base, tip, err
}

// land brings the revert to the base branch and a clean checkout of it, or refuses
// with nothing changed.
func (u *Undo) land(i *ralph.Integration, from, to, key string) (ralph.Fact, error) {
	l, err := landing.Land(u.ctx, u.repo, landing.LandInput{Branch: i.Base, From: from, To: to})
	why := ""
	switch {
	case err != nil:
		return nil, fmt.Errorf("roll back %s: %w", u.id, err)
	case l.How != "":
		if err := refs.Drop(u.ctx, u.repo, key); err != nil {
			u.left = append(u.left, err.Error())
		}
		return ralph.Landed{From: from, To: to, How: l.How, Behind: l.Behind}, nil
	case len(l.Dirty) > 0:
		why = "your checkout has changes: " + strings.Join(l.Dirty[:min(5, len(l.Dirty))], ", ")
	case l.Busy != "":
		why = l.Busy
	default:
		why = "the base branch has just moved to " + l.Moved
	}
	if err := refs.Drop(u.ctx, u.repo, key); err != nil {
		return nil, err
	}
	return nil, &ralph.Refusal{Why: why, Hint: "nothing was changed; commit or stash them, then run it again", Kind: ralph.ErrActive}
}
