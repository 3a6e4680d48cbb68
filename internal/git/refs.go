package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/regular"
)

// RefConf lets git itself wait for whoever holds a reference or its log.
func RefConf() []string {
	ms := fmt.Sprint(RefLockWait.Milliseconds())
	return []string{"core.filesRefLockTimeout=" + ms, "core.packedRefsTimeout=" + ms}
}

// BranchTip returns the commit of a branch, "" when there is no such branch.
func (r *Repo) BranchTip(ctx context.Context, branch string) (string, error) {
	ref := "refs/heads/" + branch
	if tip, ok := r.LooseRef(ref); ok {
		return tip, nil
	}
	tip, err := r.Ref(ctx, ref)
	if err != nil {
		return "", fmt.Errorf("read branch %s: %w", branch, err)
	}
	return tip, nil
}

// UpdateRefs carries out lines of `update-ref --stdin`, all or none. A git that stays does it where
// no hook of the person's is to be told.
func (r *Repo) UpdateRefs(ctx context.Context, why string, lines ...string) error {
	var refs []string
	for _, line := range lines {
		if f := strings.Fields(line); len(f) > 1 {
			refs = append(refs, f[1])
		}
	}
	r.FreeRefs(ctx, refs...)
	if r.nobodyTold(ctx) {
		if err := r.updateKept(ctx, why, lines); err == nil || ctx.Err() != nil || r.stands(ctx, lines) {
			return context.Cause(ctx)
		}
	}
	_, err := r.Run(ctx, Call{
		Args: []string{"update-ref", "-m", "ralph: " + why, "--stdin"}, Stdin: strings.Join(lines, "\n") + "\n",
		Write: true, Conf: RefConf(),
	})
	return err
}

// nobodyTold reports whether the repository has no hook that hears of references.
func (r *Repo) nobodyTold(ctx context.Context) bool {
	dir, err := r.top().realHooks(ctx)
	return err == nil && Stat(filepath.Join(dir, "reference-transaction")) == nil
}

// updateKept has a git that stays change references in one transaction. One that does not take
// it ends, and who asks does it anew by a git that says why.
func (r *Repo) updateKept(ctx context.Context, why string, lines []string) error {
	question := "start\n" + strings.Join(lines, "\n") + "\ncommit\n"
	return r.Ask(ctx, []byte(question), func(out *bufio.Reader) error {
		for _, want := range []string{"start: ok", "commit: ok"} {
			line, err := out.ReadString('\n')
			if err == nil && strings.TrimSpace(line) != want {
				err = fmt.Errorf("git update-ref said %q", line)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, "update-ref", "-m", "ralph: "+why, "--stdin")
}

// stands reports whether references are as lines of `update-ref --stdin` want them: the git that
// was told to may have been killed before it said that it had.
func (r *Repo) stands(ctx context.Context, lines []string) bool {
	return !slices.ContainsFunc(lines, func(line string) bool {
		f := strings.Fields(line)
		at, err := r.Ref(ctx, f[1])
		return err != nil || f[0] == "delete" && at != "" || f[0] != "delete" && at != f[2]
	})
}

// LooseRef returns what a ref's own file says; packed refs have none.
func (r *Repo) LooseRef(name string) (string, bool) {
	b, err := regular.ReadFile(filepath.Join(r.common, filepath.FromSlash(name)), regular.Large)
	if err != nil {
		return "", false
	}
	hash := string(bytes.TrimSpace(b))
	return hash, IsHash(hash)
}

// BranchSpace is where branches of ralph's own are.
const BranchSpace = "ralph/"

// HeadBranch reads the branch from the text of a HEAD.
func HeadBranch(head string) string {
	branch, ok := strings.CutPrefix(strings.TrimSpace(head), "ref: refs/heads/")
	if !ok {
		return ""
	}
	return branch
}

// CheckBranch keeps what git could read as an option out of its arguments.
func CheckBranch(branch string) error {
	if strings.HasPrefix(branch, "-") || strings.ContainsAny(branch, " ~^:?*[\\\x7f") || strings.Contains(branch, "..") {
		return fmt.Errorf("%q is not the name of a branch", branch)
	}
	return nil
}
