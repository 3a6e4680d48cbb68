package session

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git/landing"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/queue"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// choosePlace decides where agents work: in the checkout, or in worktrees.
func (x *Session) choosePlace(ctx context.Context) error {
	c := x.Config
	switch {
	case x.Mode == "autopilot" && c.Isolation == "none":
		return &ralph.Refusal{
			Why:  "`ralph autopilot` works in worktrees, and isolation is none (" + c.Where("isolation").String() + ")",
			Hint: "set isolation: auto, or work in your checkout with `ralph construct`", Kind: ralph.ErrUsage,
		}
	case x.Mode == "autopilot":
		x.isolated = true
	case x.Mode == ralph.ModeAuto:
		return x.placeThreads(ctx)
	case x.Mode == "agent" && c.Isolation == "none" && c.Parallel > 1:
		return &ralph.Refusal{
			Why:  fmt.Sprintf("%d agents at work at the same time need worktrees, and isolation is none", c.Parallel),
			Hint: "set isolation: auto, or parallel: 1", Kind: ralph.ErrUsage,
		}
	case x.Mode == "agent":
		if c.Land.How != string(ralph.LandCommit) && c.Isolation == "none" && !x.DryRun {
			return &ralph.Refusal{
				Why:  "land.how is " + c.Land.How + " (" + c.Where("land.how").String() + "): a branch for each spec needs worktrees, and isolation is none",
				Hint: "set isolation: auto, or land.how: commit", Kind: ralph.ErrUsage,
			}
		}
		x.isolated = !x.DryRun && (c.Isolation == "worktree" || c.Parallel > 1 || c.Land.How != string(ralph.LandCommit))
		if !x.isolated && !x.DryRun && c.Isolation == "auto" && x.onlyLandlock() && landing.CanMerge(x.Repo) == nil {
			x.isolated = true // it cannot keep anything of the checkout
		}
	case x.Mode == "construct" && (c.Parallel > 1 || c.Isolation == "worktree"):
		x.Notices = append(x.Notices, "construct works in one slot, in your checkout; `ralph autopilot` works on the plan in worktrees")
	}
	return x.placed(ctx)
}

// placed is the end of choosePlace.
func (x *Session) placed(ctx context.Context) error {
	x.boundPlace()
	if x.isolated {
		return landing.CanMerge(x.Repo)
	}
	return x.onBase(ctx)
}

func (x *Session) onlyLandlock() bool { return x.Sandbox != nil && x.Sandbox.Kind == sandbox.Landlock }

// boundPlace tells the sandbox where agents work, and puts the hooks of the repository into it.
func (x *Session) boundPlace() {
	if x.Sandbox == nil {
		return
	}
	x.Sandbox.Isolated = x.isolated
	if x.onlyLandlock() && !x.isolated && (!x.DryRun || x.Config.Isolation == "none") {
		x.Notices = append(x.Notices, profile.LandlockInPlace+"; install bubblewrap, or let agents work in worktrees (isolation: worktree, `ralph autopilot`)")
	}
	x.Repo.Shield(filepath.Join(workspace.StateDir(x.Root), "sandbox", "hooks"), func(dir string, argv []string) ([]string, error) {
		return x.Sandbox.Argv(dir, argv, x.Env.Environ)
	})
}

// onBase: in place, work goes to the branch that is checked out, which has to be the
// one that the settings name.
func (x *Session) onBase(ctx context.Context) error {
	base := x.Config.BaseBranch
	if base == "" {
		return nil
	}
	head, err := x.Repo.Head(ctx)
	if err != nil || head.Branch == base {
		return err
	}
	hint := "git switch " + base
	if at, err := x.Repo.Ref(ctx, "refs/heads/"+base); err == nil && at == "" {
		hint = "there is no such branch: make it (git switch -c " + base + ")"
	}
	return &ralph.Refusal{
		Why:  fmt.Sprintf("base_branch is %s, and %s is checked out", base, worktree.OrHead(head.Branch)),
		Hint: hint + ", or change base_branch in ralph/config.yaml", Kind: ralph.ErrUsage,
	}
}

// lookAtDirt: in place, a person's own changes must not get into a spec's commit.
// With worktrees nothing of them is taken along, so they are only worth a word.
func (x *Session) lookAtDirt(ctx context.Context, s *ralph.State, resumed bool) error {
	inPlace, holder := false, (*ralph.Task)(nil)
	switch {
	case x.isolated || x.AllowDirty:
	case x.Mode == "agent":
		holder = x.holdsCheckout(s)
		inPlace = holder != nil || !resumed && !s.OwnDirt()
	case x.Mode == ralph.ModeAuto:
		holder = x.holdsCheckout(s)
		inPlace = holder != nil || x.beginsThread(s)
	}
	if !inPlace && !x.isolated {
		return nil
	}
	dirty, err := x.Repo.Dirty(ctx)
	if err != nil {
		return err
	}
	if inPlace {
		inside, err := worktrees.Inside(ctx, x.Repo)
		if err != nil {
			return err
		}
		dirty = append(dirty, inside...)
	}
	if len(dirty) == 0 {
		return nil
	}
	if x.isolated {
		x.Notices = append(x.Notices, "your checkout has changes ("+text.List(dirty, 3)+"): agents do not see them, and ralph does not touch them; "+
			"finished work that needs these files waits on its branch until you have committed or stashed them")
		return nil
	}
	files, rest := text.Few(dirty, 10, "\n  "), "commit them (git add -A && git commit), stash them (git stash -u), or take them along on purpose with --allow-dirty"
	if holder == nil {
		return &ralph.Refusal{Why: "the work tree has changes that are not committed:\n  " + files + "\nralph would put them into its first commit", Hint: rest, Kind: ralph.ErrUsage}
	}
	goOn := "thread-continue"
	if holder.Run.Thread.Want == ralph.ThreadPause {
		goOn = "thread-resume"
	}
	return &ralph.Refusal{
		Why:  fmt.Sprintf("the thread %s has left its changes in your checkout, and nothing else begins there:\n  %s", holder.ID, files),
		Hint: fmt.Sprintf("`[[%s %s]]`, then `ralph auto`, goes on with it; or %s", goOn, holder.ID, rest), Kind: ralph.ErrUsage,
	}
}

// holdsCheckout is a thread whose unfinished work may lie in the checkout and which this session does not
// go on with: one that a stop condition or a person ended, one that is paused, and for specs any.
func (x *Session) holdsCheckout(s *ralph.State) *ralph.Task {
	for _, t := range s.Threads() {
		r := t.Run
		begun := !t.Status.Ended() && r.Worktree.Dir == "" && !r.StartedAt.IsZero()
		if t.LeftChanges() || begun && (x.Mode == "agent" || r.Thread.Want == ralph.ThreadPause) {
			return t
		}
	}
	return nil
}

// needsCheckout refuses to go on in place with a plan whose tasks have work in
// worktrees: it would be done again there, and what is finished would never be merged
//
func (x *Session) needsCheckout(s *ralph.State) error {
	if x.isolated || x.DryRun || !x.goesOnWith(s) {
		return nil
	}
	var ids []string
	for _, t := range s.Plan.Tasks {
		q := t.Run.Queue.State
		open := t.Status != ralph.TaskDone && !t.LeftOut() // failed ones may be tried again
		if open && t.Run.Worktree.Dir != "" || t.Status == ralph.TaskDone && q != "" && q != ralph.MergeMerged {
			ids = append(ids, string(t.ID))
		}
	}
	if len(ids) == 0 && !s.Unlanded() {
		return nil
	}
	why := fmt.Sprintf("the plan of %s has work in worktrees that is not merged yet", s.Plan.File)
	if len(ids) > 0 {
		why += ": " + text.List(ids, 5)
	}
	hint := "`ralph autopilot` goes on with it; `ralph plan " + s.Plan.File + " --force` begins anew in your checkout"
	if x.Mode == "agent" {
		hint = "`RALPH_ISOLATION=worktree ralph agent` goes on with it; `ralph plan " + s.Plan.File + " --force` begins anew in your checkout"
	}
	return &ralph.Refusal{Why: why, Hint: hint, Kind: ralph.ErrUsage}
}

// goesOnWith reports whether this session works on the plan that is there.
func (x *Session) goesOnWith(s *ralph.State) bool {
	if s.Plan.File == "" || x.Mode != "agent" {
		return x.Mode == "construct" && x.Only == s.Plan.File
	}
	for _, spec := range s.Inbox {
		if spec.Status == ralph.SpecActive {
			return spec.File == s.Plan.File
		}
	}
	waiting := queue.Waiting(s)
	return len(waiting) > 0 && waiting[0].File == s.Plan.File
}

// policyOf is what policy decides this session with.
func (x *Session) policyOf(planOnly bool) policy.Config {
	c, p := x.Config, workspace.PolicyConfig(x.Config)
	p.Agents, p.Checks = x.Chain, len(x.Checks) > 0
	for _, g := range x.Checks {
		p.Commands, p.CheckNames = append(p.Commands, g.Command), append(p.CheckNames, g.Name)
	}
	x.Bound(&p, x.Env.Environ)
	p.Unattended = x.Unattended
	p.Watch = x.Watch && !planOnly
	p.Session, p.Only, p.PlanOnly, p.Isolated = x.Mode, x.Only, planOnly, x.isolated
	p.Commit = x.Mode == "agent"
	p.AutoCommit = p.AutoCommit && x.Mode == "construct" // in agent mode D's one commit wins
	p.Parallel = 1
	if x.isolated {
		p.Parallel = c.Parallel
	}
	switch x.Mode {
	case "autopilot":
		p.Parallel = workspace.SlotsOf(c)
	case ralph.ModeAuto:
		if x.isolated {
			p.Parallel = workspace.SlotsOf(c)
		}
		if !c.Where("gate.on_timeout").Given() {
			p.OnTimeout = "stop" // who goes on by itself does not go on without an answer
		}
	}
	return p
}
