// Package doctor owns the examination of a repository and a machine: git, settings, agents,
// sandbox, checks, hooks, lock, disks; each finding with its fix. It proves by trying.
//
// It does NOT own any command (cli) or page (web), and mends nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/follow"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/landing"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Finding is one line of the doctor: what it looked at, what it saw, and the fix.
type Finding struct {
	Level string `json:"level"` // ok, note, problem
	What  string `json:"what"`
	Saw   string `json:"saw"`
	Fix   string `json:"fix,omitempty"`
	// Agent is what was seen of an agent, on the first finding about it.
	Agent *foundAgent `json:"agent,omitempty"`
	// Check is the result of a check that was run, without its output.
	Check *ralph.CheckResult `json:"check,omitempty"`
}

type examination struct {
	Findings []Finding
	Strange  bool // it brings along what nobody has said yes to: nothing of it runs
}

func (x *examination) ok(what, format string, args ...any) {
	x.Findings = append(x.Findings, Finding{Level: "ok", What: what, Saw: fmt.Sprintf(format, args...)})
}

func (x *examination) note(what, saw, fix string) {
	x.Findings = append(x.Findings, Finding{Level: "note", What: what, Saw: saw, Fix: fix})
}

func (x *examination) problem(what, saw, fix string) {
	x.Findings = append(x.Findings, Finding{Level: "problem", What: what, Saw: saw, Fix: fix})
}

// HideSecrets takes out of the findings what must not be seen: they quote commands and addresses.
func (x *examination) HideSecrets(env workspace.Env) {
	root, _ := workspace.FindRoot(env) // "" outside of a repository, where there are no settings of one
	x.Findings = redact.Value(workspace.RedactorOf(env, root)(), x.Findings)
}

// Examine looks at all there is, and says what it is about to look at.
func Examine(ctx context.Context, env workspace.Env, say func(what string)) *examination {
	var x examination
	say("git")
	root, ok := x.git(ctx, env)
	if !ok {
		return &x
	}
	say("settings")
	c := x.config(env, root)
	if x.trusts(ctx, env, root, c) { // else nothing that it brings along runs, not even for its version
		say("agents: their versions and logins")
		x.agents(ctx, env, root, c)
		say("services: whether they take the tokens")
		x.services(ctx, env, root, c)
	}
	say("what holds agents: sandbox and shims")
	x.below(env, c)
	x.proveSandbox(ctx, env, root, c)
	x.whoAnswers(env, c)
	say("checks and tests")
	x.checks(root, c)
	say("hooks and notifications")
	x.hooks(root)
	x.notify(env, root, c)
	say("state, lock, leftovers and disk")
	x.state(env, root)
	return &x
}

// Print writes the findings, each with its fix below it.
func (x *examination) Print(w io.Writer) {
	mark := map[string]string{"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
	for _, f := range x.Findings {
		fmt.Fprintf(w, "%s  %-9s %s\n", mark[f.Level], f.What, f.Saw)
		if f.Fix != "" {
			fmt.Fprintf(w, "         %-9s -> %s\n", "", f.Fix)
		}
	}
}

func (x *examination) git(ctx context.Context, env workspace.Env) (string, bool) {
	repo, err := git.Open(ctx, proc.NewRunner(""), env.Dir, env.Environ)
	if err != nil {
		x.refused("git", err)
		return "", false
	}
	if err := commits.Ready(ctx, repo); err != nil {
		x.refused("git", err)
	} else if head, err := repo.Head(ctx); err == nil {
		x.ok("git", "%s on branch %s", repo.Root(), head.Branch)
	}
	if err := landing.CanMerge(repo); err != nil {
		x.note("git", err.Error(), "only `ralph autopilot` and `parallel` above 1 need it")
	}
	if lock := repo.RealIndex() + ".lock"; git.Stat(lock) != nil {
		x.note("git", lock+" is there: a git is at work here, or was killed", "when none is, remove it, then `git reset -q`: before that, a commit of yours may take back what ralph has committed")
	} else if dirty, err := repo.Dirty(ctx); err == nil && len(dirty) > 0 {
		x.note("git", report.Files(len(dirty))+" changed and not committed", "commit or stash them before `ralph agent` (or --allow-dirty)")
	}
	return repo.Root(), true
}

func (x *examination) refused(what string, err error) {
	var r *ralph.Refusal
	if errors.As(err, &r) {
		x.problem(what, r.Why, r.Hint)
		return
	}
	x.problem(what, err.Error(), "")
}

func (x *examination) config(env workspace.Env, root string) config.Config {
	c, err := workspace.LoadConfig(env, root, nil)
	var list *setting.Error
	switch {
	case errors.As(err, &list):
		for _, p := range list.Problems {
			x.problem("config", p.Error(), "")
		}
		return c
	case err != nil:
		x.problem("config", err.Error(), "")
		return c
	}
	if _, err := os.Stat(filepath.Join(root, "ralph/config.yaml")); err != nil {
		x.note("config", "no ralph/config.yaml: the defaults hold", "ralph init writes one with every setting explained")
	} else {
		x.ok("config", "ralph/config.yaml is valid")
	}
	for _, l := range bootstrap.HeldAnyway(c) {
		x.note("config", l, "take it out of ralph/config.yaml")
	}
	if c.Gate.Approvals == "never" {
		x.note("config", "gate.approvals is never: agents do what they want to do, and nobody is asked but about the never list and gate.patterns", "set it to policy (what only reads needs nobody) or ask")
	}
	return c
}

func (x *examination) state(env workspace.Env, root string) {
	s, j, err := workspace.ReadState(env, true, true)
	if err != nil {
		x.problem("state", err.Error(), "mend or remove the line; nothing was changed")
		return
	}
	if owner := j.Holder(); owner != nil {
		x.ok("engine", "running, pid %d since %s", owner.Pid, owner.StartedAt.Local().Format("15:04:05"))
	} else if s.Session.Live() {
		x.note("engine", report.LastEngine(s), s.NextStart(j.Carries()))
	}
	x.ok("state", "%d facts, %s in the inbox, %s in the plan", s.Seq, report.Specs(len(s.Inbox)), report.Tasks(len(s.Plan.Tasks)))
	x.lock(j)
	for _, f := range follow.Look(j) {
		x.ok("follower", "%s has been told up to fact %d of %d", f.Name, f.Seq, s.Seq)
	}
	x.leftovers(root, j)
	if err := workspace.DiskSpace(root); err != nil {
		x.problem("disk", err.Error(), "free some space")
	}
}

// leftovers are processes that a dead engine's registry still names.
func (x *examination) leftovers(root string, j *journal.File) {
	entries, err := os.ReadDir(filepath.Join(root, "ralph/.state/procs"))
	if err != nil || len(entries) == 0 || j.Holder() != nil {
		return
	}
	words := "1 process"
	if len(entries) > 1 {
		words = fmt.Sprintf("%d processes", len(entries))
	}
	x.note("leftovers", words+" of an engine that died may still run", "the next start ends what does")
}
