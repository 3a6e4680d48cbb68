package step

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	treesDir = "ralph/.worktrees"
	// mergeDir is where merged work is checked, and where the stages of a spec look
	// at it. No task owns it.
	mergeDir = treesDir + "/merge"
)

// Worktrees makes the places where tasks work beside each other. Folders are absolute.
type Worktrees interface {
	// Make makes the worktrees that are missing, at a commit.
	Make(ctx context.Context, dirs []string, commit string) error
	// Open returns the worktree in a folder; the same one each time.
	Open(dir string) (Trees, error)
	// Enter makes a worktree ready for a task. Nothing that it finds there is lost.
	Enter(ctx context.Context, in EnterInput) (Entered, error)
	// SetUp calls do unless it succeeded before with the same how in this very
	// worktree; anew says that its files are not those any more.
	SetUp(dir, how string, anew bool, do func() error) error
	// Copy copies what the patterns name from the checkout.
	Copy(ctx context.Context, dir string, patterns []string) error
	// Tidy takes away what checks left in a worktree.
	Tidy(ctx context.Context, dir string) error
	// Stash puts what is uncommitted into a stash, "" when there is nothing. The
	// same id finds what was stashed before a crash.
	Stash(ctx context.Context, dir, message, id string) (stash string, err error)
}

// EnterInput says which task a worktree is for.
type EnterInput struct {
	Dir    string
	Branch string // "": detached
	Mine   bool   // its work goes on here
	From   string // commit to start from
	Merged string // what is merged: branches in it may be reset
	ID     string // names what is put away
	Stash  string // to give back
}

// Entered is a worktree that is ready.
type Entered struct {
	Branch, Head, Tree string
	Fresh              bool // its files were written anew
	Conflicts          []string
	Saved              []ralph.Saved
	Empty              []string // submodules without files, as in the checkout
}

// Setup is what a new worktree needs before an agent may work in it (worktree.*).
type Setup struct {
	Commands []string
	Copy     []string
	Timeout  time.Duration // of all commands together; 0: no limit
}

func (s Setup) none() bool { return len(s.Commands) == 0 && len(s.Copy) == 0 }

// how identifies a set-up: with other settings it has to be done again.
func (s Setup) how() string {
	sum := sha256.Sum256([]byte(strings.Join(s.Commands, "\x00") + "\x00\x00" + strings.Join(s.Copy, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// dir is where a task works, absolute.
func (x *Executor) dir(t *ralph.Task) string {
	switch {
	case t.Run.Worktree.Dir != "":
		return filepath.Join(x.Root, filepath.FromSlash(t.Run.Worktree.Dir))
	case x.Config.Isolated && t.Kind != ralph.KindPrepare && !t.TakesSlot():
		return filepath.Join(x.Root, mergeDir)
	}
	return x.Root
}

// trees is git in a folder.
func (x *Executor) trees(dir string) (Trees, error) {
	if dir == x.Root {
		return x.Trees, nil
	}
	if x.Worktrees == nil {
		return nil, fmt.Errorf("this session works in the checkout, and the task has the worktree %s: `ralph autopilot` goes on there", dir)
	}
	return x.Worktrees.Open(dir)
}

// prepareAll is PREPARE with worktrees: the integration branch, and the pool of
// worktrees, made before any agent runs.
func (x *Executor) prepareAll(ctx context.Context, s *ralph.State, t *ralph.Task, spec string) ([]ralph.Fact, error) {
	begin := x.Now()
	x.merge.Lock()
	defer x.merge.Unlock()
	out, away := x.goesOut(s, spec), ""
	var err error
	if out.Branch != "" {
		out.Onto, away, err = x.Publishing.Open(ctx, out)
	}
	var started ralph.IntegrationStarted
	if err == nil {
		started, err = x.Merging.Start(ctx, s.Plan.Integration, x.integrationBranch(s.Job), out.Branch)
		started.Out = out
	}
	if err == nil {
		err = x.Worktrees.Make(ctx, x.pool(s), started.Tip)
	}
	if err == nil && x.usesMergeDir() {
		err = x.enterMergeDir(ctx, t.ID, started.Tip)
	}
	if err != nil {
		return failedToPrepare(ctx, t, begin, x.Now(), err)
	}
	facts := []ralph.Fact{
		ralph.Prepared{Task: t.ID, Head: started.From, Branch: started.Base, Tree: started.Tree, Took: x.Now().Sub(begin)},
		started,
	}
	if away != "" {
		facts = append(facts, ralph.Noted{Task: t.ID, Text: x.Redact.String(out.Remote + " could not be asked what it has on " + out.Branch + ": " + away + "; what is there is merged before the push")})
	}
	return facts, nil
}

// integrationBranch names the branch that a job's work is merged into.
func (x *Executor) integrationBranch(j *ralph.Job) string {
	if j.Spec != "" {
		return "ralph/spec-" + string(j.Spec)
	}
	id := string(j.ID)
	return "ralph/merged-" + id[strings.LastIndexByte(id, '-')+1:]
}

// usesMergeDir reports whether anything happens in the merge worktree.
func (x *Executor) usesMergeDir() bool { return len(x.Checks) > 0 || x.Config.Commit }

// pool are the worktrees that the tasks of a plan will need. How many tasks a spec
// has is not known before its plan.
func (x *Executor) pool(s *ralph.State) []string {
	n := x.Config.Parallel
	if left := s.Plan.Unfinished(); left > 0 {
		n = min(n, left)
	}
	owned := map[string]bool{}
	for _, t := range s.Plan.Tasks {
		if t.Status != ralph.TaskPending { // one that is pending goes on in its own
			owned[t.Run.Worktree.Dir] = true
		}
	}
	var dirs []string
	for k := 1; len(dirs) < n; k++ {
		if dir := fmt.Sprintf("%s/%d", treesDir, k); !owned[dir] {
			dirs = append(dirs, filepath.Join(x.Root, dir))
		}
	}
	if x.usesMergeDir() {
		dirs = append(dirs, filepath.Join(x.Root, mergeDir))
	}
	return dirs
}

// failedToPrepare is an outcome, unless the work was cut.
func failedToPrepare(ctx context.Context, t *ralph.Task, begin, end time.Time, err error) ([]ralph.Fact, error) {
	if ctx.Err() != nil {
		return nil, err
	}
	return []ralph.Fact{ralph.Prepared{Task: t.ID, Dir: t.Run.Worktree.Dir, Error: err.Error(), Took: end.Sub(begin)}}, nil
}

// prepareTask gives a task its worktree: on a branch of its own at the integration
// tip, or as it left it when its work goes on (B-005, B-076).
func (x *Executor) prepareTask(ctx context.Context, s *ralph.State, t *ralph.Task) ([]ralph.Fact, error) {
	begin := x.Now()
	p, empty, err := x.enterTask(ctx, s, t)
	if err == nil && t.Kind == ralph.KindResolve {
		err = x.beginResolve(ctx, s, t, &p)
	}
	if err != nil {
		return failedToPrepare(ctx, t, begin, x.Now(), err)
	}
	p.Took = x.Now().Sub(begin)
	facts := []ralph.Fact{p}
	if p.Fresh && len(empty) > 0 {
		facts = append(facts, ralph.Noted{Task: t.ID, Text: "without files here as in your checkout: submodule " + strings.Join(empty, ", ") +
			" (`git submodule update --init` there, if agents or checks need them)"})
	}
	return facts, nil
}

// enterTask also returns the submodules that have no files.
func (x *Executor) enterTask(ctx context.Context, s *ralph.State, t *ralph.Task) (ralph.Prepared, []string, error) {
	p, i := t.Run.Worktree, s.Plan.Integration
	if i == nil || p.Dir == "" {
		return ralph.Prepared{}, nil, errors.New("the task was started without a worktree or an integration branch")
	}
	in := EnterInput{
		Dir: x.dir(t), Branch: p.Branch, Mine: p.Branch != "", From: i.Tip, Merged: i.Tip, ID: "before-" + plain(t.ID), Stash: t.Run.Stash,
	}
	switch {
	case firstResolve(t): // the branch is there, but in the worktree is what another task left
		from, err := x.Resolving.Tip(ctx, p.Branch, parentCommit(s, t))
		if err != nil {
			return ralph.Prepared{}, nil, err
		}
		in.Mine, in.From, in.Merged = false, from, from
	case in.Branch == "":
		in.Branch = "ralph/" + plain(t.ID)
	}
	e, err := x.Worktrees.Enter(ctx, in)
	if err != nil {
		return ralph.Prepared{}, nil, err
	}
	if err := x.setUp(ctx, t.ID, in.Dir, e.Fresh); err != nil {
		return ralph.Prepared{}, nil, err
	}
	out := ralph.Prepared{
		Task: t.ID, Dir: p.Dir, Branch: e.Branch, Head: e.Head, Tree: e.Tree, Fresh: e.Fresh, Conflicts: e.Conflicts, Saved: e.Saved,
	}
	if !in.Mine {
		out.Base = e.Head
	}
	return out, e.Empty, nil
}

// plain is an id as part of the name of a file, a branch or a ref.
func plain(id ralph.TaskID) string { return strings.ReplaceAll(string(id), ":", "-") }

// taskDir is where the records of a task are, relative to the repository.
func taskDir(id ralph.TaskID) string { return filepath.Join(stateTasks, plain(id)) }

// enterMergeDir brings the merge worktree to a commit. The caller has x.merge locked.
func (x *Executor) enterMergeDir(ctx context.Context, task ralph.TaskID, commit string) error {
	dir := filepath.Join(x.Root, mergeDir)
	e, err := x.Worktrees.Enter(ctx, EnterInput{Dir: dir, From: commit, Merged: commit, ID: "merge-worktree"})
	if err != nil {
		return err
	}
	return x.setUp(ctx, task, dir, e.Fresh)
}

// snapshot looks at a task's worktree. An agent may have destroyed it, or what
// links it to the repository: then it is made good, and looked at again.
func (x *Executor) snapshot(ctx context.Context, s *ralph.State, t *ralph.Task) (tree, head string, err error) {
	look := func() error {
		trees, err := x.trees(x.dir(t))
		if err == nil {
			tree, head, err = trees.Snapshot(ctx)
		}
		return err
	}
	if err = look(); err == nil || ctx.Err() != nil {
		return tree, head, err
	}
	if t.Run.Worktree.Dir == "" {
		back, failed := x.restoreBranch(ctx, s, t)
		if !back || failed != nil {
			return "", "", errors.Join(err, failed)
		}
		err = look()
		return tree, head, err
	}
	if _, _, failed := x.enterTask(ctx, s, t); failed != nil {
		return "", "", errors.Join(err, failed)
	}
	err = look()
	return tree, head, err
}

// Stash puts away what a task that was cut has uncommitted in its worktree
// (B-074, X-27); Prepare gives it back. A resolve keeps its worktree as it is: a merge
// under way cannot be stashed.
func (x *Executor) Stash(ctx context.Context, s *ralph.State, id ralph.TaskID) ([]ralph.Fact, error) {
	t := s.Task(id)
	if t == nil || t.Run.Worktree.Dir == "" || t.Kind == ralph.KindResolve {
		return nil, nil
	}
	message := "ralph: " + text.OneLine(string(id)+" "+t.Name) + " was cut"
	key := fmt.Sprintf("%s-%s-%d", plain(id), s.Session.ID, t.Run.Iterations)
	stash, err := x.Worktrees.Stash(ctx, x.dir(t), message, key)
	if err != nil {
		return nil, fmt.Errorf("stash what %s has uncommitted: %w", id, err)
	}
	if stash == "" {
		return nil, nil
	}
	return []ralph.Fact{ralph.Shelved{Task: id, How: "stash", Stash: stash}}, nil
}
