package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/fleet/checkout"
	"github.com/ralph-loop/ralph/internal/fleet/ident"
	"github.com/ralph-loop/ralph/internal/fleet/note"
	"github.com/ralph-loop/ralph/internal/fleet/tail"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/carry"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/redact"
	stepping "github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// clone is a worker's repository for one coordinator: the objects, the worktrees of its tasks,
// and ralph/ as the newest step brought it. There are no files in the checkout itself.
type clone struct {
	w   *Worker
	dir string
	url string

	mu    sync.Mutex // held while files of the checkout are written and read
	repo  *git.Repo
	how   string // the settings that parts were opened with
	parts *bootstrap.Parts

	cut atomic.Bool // the remote took nothing when it was tried last

	worktrees checkout.Worktrees
}

// make opens the folder. A new one is an empty repository, which the first step fills.
func (c *clone) make(ctx context.Context) (err error) {
	c.repo, err = checkout.Open(ctx, c.dir, filepath.Join(c.w.o.Home, "procs"), c.w.env.Environ)
	return err
}

// carry carries out one step.
func (c *clone) carry(ctx context.Context, in In, said, attempt string) (Out, error) {
	job, err := c.fetch(ctx, in)
	if err != nil {
		return Out{}, err
	}
	ctx, leave, err := c.worktrees.Enter(ctx, job.note.Dir)
	if err != nil {
		return Out{}, err
	}
	defer leave()
	if err := c.prepare(ctx, job); err != nil {
		return Out{}, err
	}
	tree, anew, err := c.stand(ctx, job)
	if err != nil {
		return Out{}, err
	}
	hide := func() {}
	if turn, ok := job.step.(ralph.Turn); ok {
		hide = c.w.outputs.Show(in.Ref, tail.Source{Attempt: attempt, Repo: in.Repo, Root: c.dir, Task: job.note.Task, Iteration: turn.Iteration})
	}
	facts, parts, err := c.do(ctx, in, job, said, anew)
	hide()
	if ctx.Err() != nil {
		return Out{}, context.Cause(ctx)
	}
	if err != nil {
		return Out{}, err
	}
	return c.back(ctx, in, job, tree, parts, facts, attempt)
}

// job is a step as it came.
type job struct {
	place   carry.Snapshot
	note    note.Note
	step    ralph.Step
	policy  policy.Config
	folder  string   // of the records of its turns
	records []string // files that were in it before
}

// fetch brings the commit of a step and reads it.
func (c *clone) fetch(ctx context.Context, in In) (*job, error) {
	j := new(job)
	var sealed []byte
	var err error
	if j.place, sealed, err = c.receive(ctx, in); err != nil {
		return nil, err
	}
	if j.note, err = note.Decode(sealed, c.w.seal); err != nil {
		return nil, temporal.NewApplicationErrorWithCause(err.Error(), "note", err)
	}
	n := &j.note
	j.place.Branch = n.Branch
	j.folder = filepath.ToSlash(stepping.RecordsOf(n.Task))
	var receipt ralph.StepStarted
	if err := json.Unmarshal(n.Step, &receipt); err != nil {
		return nil, fmt.Errorf("read the step: %w", err)
	}
	j.step = receipt.Step
	if j.policy, err = policy.Decode(n.Policy); err != nil {
		return nil, err
	}
	if n.State == nil || n.State.Job == nil || n.State.Task(n.Task) == nil {
		return nil, fmt.Errorf("the step came without its task %s and what it is part of", n.Task)
	}
	return j, nil
}

// prepare makes the checkout that of the step: settings, specs, who commits, folders of turns.
func (c *clone) prepare(ctx context.Context, j *job) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := j.note
	records := filepath.Join(c.dir, filepath.FromSlash(j.folder))
	if err := os.RemoveAll(records); err != nil { // another worker's turns have come since
		return fmt.Errorf("clear the records of %s: %w", n.Task, err)
	}
	for _, name := range n.Turns {
		if !fs.ValidPath(name) {
			return fmt.Errorf("the folder of a turn is called %q", name)
		}
		if err := os.MkdirAll(filepath.Join(records, filepath.FromSlash(name)), 0o700); err != nil {
			return fmt.Errorf("make the folders of turns: %w", err)
		}
	}
	if err := note.Place(c.dir, n.Files, note.ForWorker(j.folder)); err != nil {
		return err
	}
	_, j.records = note.Listed(c.dir, j.folder)
	if who, err := c.repo.Author(ctx); err != nil || who != n.Name+" <"+n.Email+">" { // it is, but for the first step
		for key, value := range map[string]string{"user.name": n.Name, "user.email": n.Email} {
			if _, err := c.repo.Run(ctx, git.Call{Args: []string{"config", "--local", key, value}, Write: true}); err != nil {
				return err
			}
		}
	}
	// HEAD has to be a commit; no files are at it.
	if head, err := c.repo.Head(ctx); err != nil || head.Commit != j.place.Head {
		if err := c.repo.UpdateRefs(ctx, "the newest step began here", "update HEAD "+j.place.Head); err != nil {
			return err
		}
	}
	return info.Exclude(c.repo, workspace.RuntimePaths())
}

// stand makes the worktree just as it was at the coordinator. One that is so already, as the step
// before was done here, is left alone.
func (c *clone) stand(ctx context.Context, j *job) (tree *git.Repo, anew bool, err error) {
	dir := filepath.Join(c.dir, filepath.FromSlash(j.note.Dir))
	made, err := worktrees.Make(ctx, c.repo, []string{dir}, j.place.Head)
	if err != nil {
		return nil, false, err
	}
	if tree, err = c.repo.Tree(dir); err != nil {
		return nil, false, err
	}
	is, err := carry.Look(ctx, tree)
	switch {
	case err != nil:
		is = carry.Snapshot{}
	case len(made) == 0 && is == j.place:
		return tree, false, nil
	}
	return tree, len(made) > 0, carry.Become(ctx, tree, is, j.place)
}

// do carries the step out, as at the coordinator.
func (c *clone) do(ctx context.Context, in In, j *job, said string, anew bool) ([]ralph.Fact, *bootstrap.Parts, error) {
	env := c.w.env
	env.Dir = c.dir
	parts, err := c.open(ctx, env, j)
	if err != nil {
		return nil, nil, err
	}
	pc := j.policy
	parts.Bound(&pc, env.Environ)
	x := parts.Executor(env, pc, nil)
	x.Now = func() time.Time { return time.Now().Add(in.Ahead) }
	x.Setup.Copy = nil // what git does not have is not sent to other machines
	x.DiskSpace = func() error { return workspace.DiskSpace(c.dir) }
	x.Journal = &line{client: c.w.client, queue: coordinatorQueue(in.Base, in.Journal), id: said, task: j.note.Task, beat: in.Beat, state: j.note.State}
	step := j.step
	if turn, ok := step.(ralph.Turn); ok {
		if err := parts.OpenAgent(env, turn.Agent); err != nil {
			return nil, nil, err
		}
		if turn.Resume != "" && !c.sessions().Has(turn.Resume) {
			turn.Resume = "" // it is on another machine: the turn begins anew, with all that it is told
			step = turn
		}
	}
	if compact, ok := step.(ralph.Compact); ok && !c.sessions().Has(compact.Session) {
		compact.Session = ""
		step = compact
	}
	facts, err := x.DoBrought(ctx, j.note.State, j.note.Task, step, anew)
	for _, f := range facts {
		if f, ok := f.(ralph.TurnEnded); ok && err == nil {
			err = c.sessions().Keep(f.Session)
		}
	}
	return facts, parts, err
}

// open opens what a step works with by the settings that came; the same settings are opened once.
func (c *clone) open(ctx context.Context, env workspace.Env, j *job) (*bootstrap.Parts, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := sha256.New()
	sum.Write(j.note.Files["ralph/config.yaml"])
	for _, k := range slices.Sorted(maps.Keys(j.note.Flags)) {
		fmt.Fprintf(sum, "\n%s=%s", k, j.note.Flags[k])
	}
	how := hex.EncodeToString(sum.Sum(nil))
	if c.parts != nil && c.how == how {
		return c.parts, nil
	}
	parts, err := bootstrap.Open(ctx, env, j.note.Flags)
	if err != nil {
		return nil, err
	}
	if parts.Sandbox != nil {
		parts.Sandbox.Isolated = true
		parts.Repo.Shield(filepath.Join(workspace.StateDir(c.dir), "sandbox", "hooks"), func(dir string, argv []string) ([]string, error) {
			return parts.Sandbox.Argv(dir, argv, env.Environ)
		})
	}
	c.parts, c.how = parts, how
	return parts, nil
}

// back sends what came of the step.
func (c *clone) back(ctx context.Context, in In, j *job, tree *git.Repo, parts *bootstrap.Parts, facts []ralph.Fact, attempt string) (Out, error) {
	place, err := carry.Look(ctx, tree)
	if err != nil {
		return Out{}, err
	}
	n := note.Note{Version: c.w.env.Version, Branch: place.Branch, Dir: j.note.Dir, Task: j.note.Task, Where: c.w.o.Name, Lease: in.Lease, Files: map[string][]byte{}, SentAt: time.Now()}
	for i, clean := 0, workspace.RedactFacts(func() *redact.Redactor { return parts.Redact }); i < len(facts); i++ {
		facts[i] = clean(facts[i]) // of what this machine knows to be secret
	}
	if n.Facts, err = note.EncodeFacts(facts); err != nil {
		return Out{}, err
	}
	if err := note.NewFiles(c.dir, j.folder, j.records, n.Files); err != nil {
		return Out{}, err
	}
	b, err := n.Encode(c.w.seal)
	if err != nil {
		return Out{}, err
	}
	out := Out{Ref: ident.Out(in.Journal, ident.KeyOf(in.Ref), attempt), Worker: c.w.o.Name, Lease: in.Lease}
	if !c.w.seal.Off() {
		if out.Parcel, err = carry.Wrap(ctx, tree, j.place, nil, place, b, maxParcel, n.MayTravel(parts.Redact)); err == nil {
			return out, nil
		}
	}
	if out.Commit, err = carry.Pack(ctx, tree, place, b); err != nil {
		return Out{}, err
	}
	return out, c.send(ctx, in, out.Commit+":"+out.Ref)
}

// stubborn is for how many times In.Beat a remote that takes nothing is tried again: what an agent
// has done is paid, and another worker would ask one anew.
const stubborn = 10

// send pushes what a step has come to. A remote that is away is tried again for a while.
func (c *clone) send(ctx context.Context, in In, spec string) error {
	refs, until := push.Refs{Repo: c.repo, URL: c.url}, time.Now().Add(stubborn*in.Beat)
	return tryAgain(ctx, in.Beat, func() error {
		err := refs.Send(ctx, spec)
		c.cut.Store(err != nil)
		return err
	}, func(err error) bool {
		if time.Now().After(until) {
			return false
		}
		c.w.say("%s of %s is done and cannot be pushed, which is tried until %s: %v", in.Step, in.Task, until.Format(time.TimeOnly), err)
		return true
	})
}

func (c *clone) sessions() checkout.Sessions {
	return checkout.Sessions(filepath.Join(c.w.o.Home, "sessions"))
}
