package worktree

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/lookup"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/shim"
)

// longestAliases bounds how long git may take to say which aliases it has.
const longestAliases = 10 * time.Second

// GitAliases are those that git has in a folder; nil when it does not say.
func GitAliases(dir string, env []string) map[string]string {
	ctx, cancel := context.WithTimeout(context.Background(), longestAliases)
	defer cancel()
	path, err := shim.Real("git", "", env)
	if err != nil {
		return nil
	}
	out, _, res, err := proc.NewRunner("").Output(ctx, proc.Command{Args: []string{path, "config", "--null", "--get-regexp", `^alias\.`}, Dir: dir, Env: env})
	if err != nil || res.Ended != proc.EndedSelf || res.Code > 1 {
		return nil
	}
	list := map[string]string{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if key, value, ok := strings.Cut(entry, "\n"); ok {
			list[strings.TrimPrefix(key, "alias.")] = value
		}
	}
	return list
}

// Disk is lookup.At with the aliases of git there.
func Disk(work string, env []string) lookup.Disk {
	d := lookup.At(work, env)
	d.Aliases = sync.OnceValue(func() map[string]string { return GitAliases(work, env) })
	return d
}

// Pushing is step.Executor.Push.
type Pushing struct {
	Repo  *git.Repo
	Fence *push.Fence // nil: whoever may push does
}

// Push does what a call of git asks for, by the commits that it comes to. What would lose
// something of the remote is allowed by name first.
func (p Pushing) Push(ctx context.Context, dir string, argv []string, allow func(context.Context, []string) error) (string, int, error) {
	at, args, ok := shim.PushCall(argv, dir)
	if !ok {
		return "", 1, push.ErrRefused
	}
	want, err := push.Parse(args)
	if err != nil {
		return "", 1, err
	}
	plan, err := push.Prepare(ctx, p.Repo, at, want)
	if err != nil {
		return "", 1, err
	}
	for _, s := range plan.Steps {
		if !s.Forced && s.New != "" || want.Dry {
			continue
		}
		one := shim.Push{Local: s.Src, LocalID: s.New, Remote: s.Ref, RemoteID: s.Old}
		if err := allow(ctx, one.Argv(plan.Remote, s.Forced)); err != nil {
			return "", shim.ExitHeld, err
		}
	}
	said, code, err := push.Run(ctx, p.Repo, plan, p.Fence)
	if err == nil && code == 0 {
		err = push.Note(ctx, p.Repo, at, plan)
	}
	return strings.ReplaceAll(said, plan.URL, plan.Remote), code, err
}
