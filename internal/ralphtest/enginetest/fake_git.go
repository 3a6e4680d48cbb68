package enginetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
)

// FakeGit is git as work in worktrees needs it, in memory: branches as the sets of
// tasks whose work they hold. Like a repository it outlives an engine, does each
// thing once however often it is asked, and it notes what must never be.
type FakeGit struct {
	// Conflicts says whether a task's nth attempt to merge (from 1) conflicts, and in
	// what kind of way; "" is none. nil: none ever.
	Conflicts func(id ralph.TaskID, try int) string
	// Red says whether the checks are red on what holds these tasks, nil: never.
	Red func(held []ralph.TaskID) bool
	// Dirty says whether a person's changes are in the way of a landing.
	Dirty func(try int) bool
	// Move says whether a person commits to the base branch before a landing.
	Move func(try int) bool
	// Broken says whether a worktree cannot be made ready.
	Broken func(id ralph.TaskID, try int) bool
	Took   time.Duration // of each of these steps

	mu      sync.Mutex
	commits map[string]*heldWork // what a commit holds
	tip     string
	base    string
	made    int
	tries   map[string]int
	busy    map[string]ralph.TaskID // worktree -> who works in it
	Bad     []string                // what must never be
}

// NewForest returns a repository with one commit.
func NewForest() *FakeGit {
	return &FakeGit{commits: map[string]*heldWork{"c0": nil}, tip: "c0", base: "c0", tries: map[string]int{}, busy: map[string]ralph.TaskID{}}
}

// Landed are the tasks whose work is on the base branch.
func (w *FakeGit) Landed() []ralph.TaskID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.commits[w.base].list()
}

func (w *FakeGit) bad(format string, args ...any) {
	w.Bad = append(w.Bad, fmt.Sprintf(format, args...))
}

// try counts how often something was tried. Called with mu held.
func (w *FakeGit) try(what string, id ralph.TaskID) int {
	w.tries[what+string(id)]++
	return w.tries[what+string(id)]
}

func (w *FakeGit) commit(on *heldWork, added []ralph.TaskID) string {
	w.made++
	name := fmt.Sprintf("c%d", w.made)
	w.commits[name] = &heldWork{on, added}
	return name
}

// heldWork is what a commit holds: the work of tasks, on top of what the one before it holds. A list of its
// own for each commit would be most of the memory of a plan of ten thousand tasks.
type heldWork struct {
	on    *heldWork
	added []ralph.TaskID
}

func (h *heldWork) has(id ralph.TaskID) bool {
	for ; h != nil; h = h.on {
		if slices.Contains(h.added, id) {
			return true
		}
	}
	return false
}

// list is all of it, in its order.
func (h *heldWork) list() []ralph.TaskID {
	var parts [][]ralph.TaskID
	for ; h != nil; h = h.on {
		parts = append(parts, h.added)
	}
	slices.Reverse(parts)
	return slices.Concat(parts...)
}

// at marks a worktree as in use for the time of a turn.
func (w *FakeGit) at(s *ralph.State, t *ralph.Task) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !t.TakesSlot() {
		return func() {}
	}
	dir := t.Run.Worktree.Dir
	if other, taken := w.busy[dir]; taken {
		w.bad("%s and %s work in %s", t.ID, other, dir)
	}
	for _, dep := range t.Deps {
		if d := s.Task(dep); d != nil && d.Status == ralph.TaskDone && d.Run.Queue.Commit != "" && !w.commits[t.Run.Worktree.Base].has(dep) && !w.commits[w.tip].has(dep) {
			w.bad("%s works without the merged work of %s", t.ID, dep)
		}
	}
	w.busy[dir] = t.ID
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.busy, dir)
	}
}

// do carries out the steps that are about worktrees and merging.
func (w *FakeGit) do(s *ralph.State, t *ralph.Task, step ralph.Step) ([]ralph.Fact, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch step := step.(type) {
	case ralph.Prepare:
		return w.prepare(t), true
	case ralph.Baseline:
		return []ralph.Fact{ralph.BaselineRan{Task: t.ID, Commit: step.Commit}}, true
	case ralph.Check:
		if t.Kind != ralph.KindMerge {
			return nil, false
		}
		m := t.Run.Queue.Merged
		pass := w.Red == nil || !w.Red(w.commits[m.Commit].list())
		return []ralph.Fact{ralph.ChecksRan{Task: t.ID, Pass: pass, Tree: m.Tree, Results: []ralph.CheckResult{{Name: "test", Pass: pass}}}}, true
	case ralph.Merge:
		return []ralph.Fact{w.merge(t, step)}, true
	case ralph.Advance:
		f := ralph.Advanced{Task: t.ID, Commit: step.To, Tree: "tree-" + step.To}
		switch w.tip {
		case step.From, step.To:
			w.tip = step.To
		default:
			f.Moved = w.tip
		}
		return []ralph.Fact{f}, true
	case ralph.Land:
		return []ralph.Fact{w.land(s, t)}, true
	}
	return nil, false
}

func (w *FakeGit) prepare(t *ralph.Task) []ralph.Fact {
	if t.Kind == ralph.KindPrepare {
		return []ralph.Fact{
			ralph.Prepared{Task: t.ID, Head: w.base, Branch: "main", Tree: "tree-" + w.base},
			ralph.IntegrationStarted{Branch: "ralph/merged", Base: "main", From: w.base, Tip: w.tip, Tree: "tree-" + w.tip},
		}
	}
	if w.Broken != nil && w.Broken(t.ID, w.try("place", t.ID)) {
		return []ralph.Fact{ralph.Prepared{Task: t.ID, Error: "no room"}}
	}
	p := t.Run.Worktree
	f := ralph.Prepared{Task: t.ID, Dir: p.Dir, Branch: "ralph/" + string(t.ID), Base: w.tip, Head: w.tip, Tree: "tree-" + w.tip}
	if p.Branch != "" {
		f.Base, f.Head = "", p.Head // its work goes on
	}
	if t.Kind == ralph.KindResolve {
		f.Branch, f.Base, f.Conflicts = "ralph/"+string(t.Parent), w.tip, []string{"a.go"}
	}
	return []ralph.Fact{f}
}

func (w *FakeGit) merge(t *ralph.Task, step ralph.Merge) ralph.Fact {
	f := ralph.Merged{Task: t.ID, Members: step.Members, From: step.Into, How: "merge"}
	if w.tip != step.Into {
		f.Moved = w.tip
		return f
	}
	held, added := w.commits[w.tip], []ralph.TaskID(nil)
	if len(step.Members) == 0 {
		added = w.commits[w.base].list()
	}
	for _, id := range step.Members {
		if held.has(id) || slices.Contains(added, id) {
			continue // an engine that died had merged it
		}
		if w.Conflicts != nil {
			if kind := w.Conflicts(id, w.try("merge", id)); kind != "" {
				f.Conflict, f.At = &ralph.Conflict{Ours: w.tip, Theirs: string(id), Files: []ralph.ConflictFile{{Path: "a.go", Kind: kind}}}, id
				return f
			}
		}
		added = append(added, id)
	}
	if len(added) == 0 && len(step.Members) > 0 {
		f.Commit, f.Tree, f.How, f.Advanced = w.tip, "tree-"+w.tip, "nothing", true
		return f
	}
	f.Commit = w.commit(held, added)
	f.Tree = "tree-" + f.Commit
	if step.Free || slices.Contains(step.Green, f.Tree) {
		f.Advanced, w.tip = true, f.Commit
	}
	return f
}

func (w *FakeGit) land(s *ralph.State, t *ralph.Task) ralph.Fact {
	i := s.Plan.Integration
	f := ralph.Landed{Task: t.ID, From: i.Landed, To: i.Tip}
	try := w.try("land", "")
	if w.Move != nil && w.Move(try) {
		w.base = w.commit(w.commits[w.base], nil)
	}
	switch {
	case w.Dirty != nil && w.Dirty(try):
		f.Dirty = []string{"a.go"}
	case w.base == f.To:
		f.How = "already"
	case w.base != f.From:
		f.Moved = w.base
	default:
		f.How, w.base = "fast-forward", f.To
	}
	return f
}
