// Package recovery finds what ralph has put aside, worktree by worktree and ref by ref, and
// takes back what a task left.
//
// It does not own the journal's own recovery (internal/journal), nor what a person is asked.
package recovery

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/registry"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// The ledger: everything that ralph ever made to hold work, from the journal,
// joined with what git has of it now.

// Entry is one branch, worktree, stash or ref.
type Entry struct {
	ID     string       `json:"id"`   // what `ralph recover show` takes
	Kind   string       `json:"kind"` // branch, worktree, stash, recovery, merge
	Task   ralph.TaskID `json:"task,omitempty"`
	Ref    string       `json:"ref,omitempty"`
	Path   string       `json:"path,omitempty"` // of a worktree, absolute
	Commit string       `json:"commit,omitempty"`
	What   string       `json:"what,omitempty"`
	At     time.Time    `json:"at,omitzero"`
	State  string       `json:"state"`          // merged, branch, only, gone
	Gone   bool         `json:"gone,omitempty"` // the ref itself is not there any more
	base   string       // where a task's branch began
	loose  int          // files of a worktree that are in no commit
}

// Where the work of an entry is.
const (
	WorkMerged = "merged" // in the base or the integration branch
	WorkBranch = "branch" // on a branch, not merged
	WorkOnly   = "only"   // nowhere else
	WorkGone   = "gone"   // git does not have it any more
)

// noted is what the journal says of a ref, branch or stash.
type noted struct {
	task ralph.TaskID
	what string
	at   time.Time
	kind string
	base string
	hash string
}

// ledger is what the journal knows, by ref (a stash by its commit).
type ledger struct {
	refs   map[string]noted
	dirs   map[string]ralph.TaskID // which task a worktree had last
	tips   []string                // of base and integration branches
	merged map[string]bool         // commits that a merge took in
	inside map[string]string       // commits that became part of another one, which has their work
}

func readLedger(j *journal.File) (*ledger, error) {
	l := &ledger{refs: map[string]noted{}, dirs: map[string]ralph.TaskID{}, merged: map[string]bool{}, inside: map[string]string{}}
	s := &ralph.State{}
	err := j.Each(0, func(e ralph.Event) error {
		l.add(e, s)
		s.Apply(e)
		return nil
	})
	if i := s.Plan.Integration; i != nil {
		l.tips = append(l.tips, i.Tip, i.Landed)
	}
	return l, err
}

// add notes what an event made; s is the state before it.
func (l *ledger) add(e ralph.Event, s *ralph.State) {
	switch f := e.Fact.(type) {
	case ralph.Prepared:
		l.saved(f.Saved, f.Task, e.At)
		if f.Branch == "" || f.Dir == "" {
			return
		}
		id := f.Task
		if t := s.Task(id); t != nil && t.Parent != "" && t.Kind == ralph.KindResolve {
			id = t.Parent // it goes on on that task's branch
		}
		n := noted{task: id, what: taskName(s, id), at: e.At, kind: worktrees.KeptBranch, base: f.Base, hash: f.Head}
		if old, ok := l.refs[heads+f.Branch]; ok && n.base == "" {
			n.base = old.base
		}
		l.refs[heads+f.Branch], l.dirs[f.Dir] = n, id
	case ralph.MergeQueued:
		n := l.refs[heads+f.Branch]
		n.hash = f.Commit
		l.refs[heads+f.Branch] = n
	case ralph.IntegrationStarted:
		l.refs[heads+f.Branch] = noted{what: "where finished tasks are merged", at: e.At, kind: worktrees.KeptBranch, base: f.From, hash: f.Tip}
		l.tips = append(l.tips, f.From)
	case ralph.Merged:
		if f.Advanced {
			l.took(s, f.Members)
		}
	case ralph.Advanced:
		if t := s.Task(f.Task); t != nil && f.Error == "" && f.Moved == "" {
			l.took(s, t.Members)
		}
	case ralph.Committed:
		l.folded(f, s)
	case ralph.Shelved:
		if f.Stash != "" {
			l.refs[f.Stash] = noted{task: f.Task, what: "changes of " + taskName(s, f.Task), at: e.At, kind: worktrees.KeptStash, hash: f.Stash}
		}
		if f.Ref != "" {
			l.refs[f.Ref] = noted{task: f.Task, what: "changes of " + taskName(s, f.Task), at: e.At, kind: worktrees.KeptRecovery}
		}
	case ralph.SavedWork:
		l.saved(f.Saved, f.Task, e.At)
	case ralph.TaskRolledBack:
		l.saved(f.Saved, f.ID, e.At)
	case ralph.TaskCleaned:
		l.saved(f.Saved, f.ID, e.At)
	case ralph.CleanedUp:
		l.saved(f.Saved, "", e.At)
	}
}

func (l *ledger) saved(list []ralph.Saved, task ralph.TaskID, at time.Time) {
	for _, s := range list {
		if s.Ref == "" { // a folder that was moved aside is none of git's
			continue
		}
		l.refs[s.Ref] = noted{task: task, what: s.What, at: at, kind: worktrees.KeptRecovery, hash: s.Commit}
	}
}

// folded notes the commits whose work a commit has although they are not below it: an
// agent's that became part of the spec's, and all that was merged for a spec.
func (l *ledger) folded(f ralph.Committed, s *ralph.State) {
	if f.Error != "" || f.Commit == "" || f.Nothing {
		return
	}
	for _, c := range f.Folded {
		l.inside[c] = f.Commit
	}
	i := s.Plan.Integration
	if t := s.Task(f.Task); i == nil || t == nil || t.Kind != ralph.KindLand {
		return
	}
	l.inside[i.Tip] = f.Commit
	for c := range l.merged {
		if _, known := l.inside[c]; !known {
			l.inside[c] = f.Commit
		}
	}
}

func (l *ledger) took(s *ralph.State, members []ralph.TaskID) {
	for _, id := range members {
		if t := s.Task(id); t != nil {
			l.merged[t.Run.Commit] = true
		}
	}
}

func taskName(s *ralph.State, id ralph.TaskID) string {
	if t := s.Task(id); t != nil {
		return t.Name
	}
	return string(id)
}

const (
	heads        = "refs/heads/"
	recoveryRefs = "refs/ralph/recovery/"
	mergeRefs    = "refs/ralph/merge/"
)

// entries joins the ledger with git: what is there, then what is gone.
func (l *ledger) entries(ctx context.Context, env workspace.Env, repo *git.Repo) ([]Entry, error) {
	kept, err := worktrees.Recoverable(ctx, repo)
	if err != nil {
		return nil, err
	}
	var list []Entry
	there := map[string]bool{}
	for _, k := range kept {
		key := k.Ref
		if key == "" {
			key = k.Commit
		}
		there[key] = true
		list = append(list, l.entryOf(k, key))
	}
	trees, err := l.trees(ctx, env, repo)
	if err != nil {
		return nil, err
	}
	list = append(list, trees...)
	for key, n := range l.refs {
		if !there[key] && !strings.HasPrefix(key, "/") { // a folder that was moved aside is none of git's
			list = append(list, Entry{ID: shortRef(key), Kind: n.kind, Task: n.task, Ref: refOf(key), Commit: n.hash, What: n.what, At: n.at, Gone: true, base: n.base})
		}
	}
	if err := l.place(ctx, repo, list); err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b Entry) int { return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ID, b.ID)) })
	return list, nil
}

func (l *ledger) entryOf(k worktrees.Kept, key string) Entry {
	n := l.refs[key]
	e := Entry{ID: shortRef(key), Kind: k.Kind, Task: n.task, Ref: k.Ref, Commit: k.Commit, What: n.what, At: k.At, base: n.base}
	if e.What == "" {
		e.What = k.Subject
	}
	if e.Task == "" {
		e.Task = taskIn(key)
	}
	return e
}

// trees are ralph's worktrees that are there now.
func (l *ledger) trees(ctx context.Context, env workspace.Env, repo *git.Repo) ([]Entry, error) {
	registered, err := registry.List(ctx, repo)
	if err != nil {
		return nil, err
	}
	var list []Entry
	pool := filepath.Join(repo.Root(), "ralph/.worktrees") + string(filepath.Separator)
	for _, t := range registered {
		name, ours := strings.CutPrefix(t.Path, pool)
		if !ours {
			continue
		}
		dir := "ralph/.worktrees/" + filepath.ToSlash(name)
		what := "a worktree at no branch"
		if t.Branch != "" {
			what = "a worktree on " + t.Branch
		}
		e := Entry{ID: dir, Kind: "worktree", Task: l.dirs[dir], Path: t.Path, Commit: t.Head, What: what}
		if e.loose = looseFiles(ctx, env, t.Path); e.loose > 0 {
			e.What += ", " + report.Files(e.loose) + " not committed"
		}
		list = append(list, e)
	}
	return list, nil
}

// looseFiles are the files of a worktree that are in no commit. One that cannot be opened
// has none that ralph could bring back.
func looseFiles(ctx context.Context, env workspace.Env, dir string) int {
	tree, err := git.Open(ctx, proc.NewRunner(""), dir, env.Environ)
	if err != nil {
		return 0
	}
	files, err := tree.Dirty(ctx)
	if err != nil {
		return 0
	}
	return len(files)
}

// place says of each entry where else its work is.
func (l *ledger) place(ctx context.Context, repo *git.Repo, list []Entry) error {
	var hashes []string
	for _, e := range list {
		if e.Commit != "" {
			hashes = append(hashes, e.Commit)
		}
		if in := l.inside[e.Commit]; in != "" {
			hashes = append(hashes, in)
		}
	}
	tips := l.tips
	if head, err := repo.Head(ctx); err == nil && head.Commit != "" {
		tips = append(slices.Clone(tips), head.Commit)
	}
	unmerged := map[string]bool{}
	if len(tips) > 0 {
		var err error
		if unmerged, err = commits.Unreached(ctx, repo, hashes, tips); err != nil {
			return err
		}
	}
	unbranched, err := commits.Unreached(ctx, repo, hashes, nil)
	if err != nil {
		return err
	}
	for i := range list {
		switch e := &list[i]; {
		case e.loose > 0:
			e.State = WorkOnly // whatever its branch has: these files are nowhere else
		case e.Commit == "", e.Gone && unmerged[e.Commit] && !l.merged[e.Commit]:
			e.State = WorkGone
		case !unmerged[e.Commit], e.Gone, l.inside[e.Commit] != "" && !unmerged[l.inside[e.Commit]]:
			e.State = WorkMerged
		case !unbranched[e.Commit]:
			e.State = WorkBranch
		default:
			e.State = WorkOnly
		}
	}
	return nil
}

// shortRef is the name by which people call an entry.
func shortRef(key string) string {
	for _, prefix := range []string{heads, recoveryRefs} {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			return name
		}
	}
	if name, ok := strings.CutPrefix(key, mergeRefs); ok {
		return "merge/" + name
	}
	return key[:min(len(key), 12)] // a stash, by its commit
}

func refOf(key string) string {
	if strings.HasPrefix(key, "refs/") {
		return key
	}
	return ""
}

// taskIn finds a task's id in the name of a ref that no fact names: a crash came
// between the ref and its fact.
func taskIn(ref string) ralph.TaskID {
	at := strings.Index(ref, "/t-")
	if at < 0 {
		return ""
	}
	id := ref[at+1:]
	end := strings.IndexFunc(id[2:], func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	if end >= 0 {
		id = id[:2+end]
	}
	return ralph.TaskID(id)
}
