// Package push carries out what an agent's `git push` asks for, by the commits that people have
// seen: it reads the call, finds out what it would do to the remote, and does that and nothing
// else. It does NOT own who may allow it.
package push

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/proc"
)

// ErrRefused is that a push asks for something that ralph does not do for an agent.
var ErrRefused = errors.New("ralph does not push that for an agent")

// Args is what an agent's `git push` asks for, references still by name.
type Args struct {
	Remote   string
	Refs     []Ref
	Upstream bool // -u
	Tags     bool // --tags
	Follow   bool // --follow-tags
	Force    bool
	Delete   bool
	Dry      bool
	Options  []string // -o
}

// Ref is one reference of a push.
type Ref struct {
	Src, Dst string // Src "": it is taken away; Dst "": as Src is called
	Force    bool
}

// Parse reads the words behind `git push`. What cannot be said by names of references is
// refused: ralph pushes what people have seen, and nothing else.
func Parse(args []string) (Args, error) {
	var p Args
	var operands []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, value, given := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			operands = append(operands, args[i+1:]...)
			i = len(args)
		case arg == "-u" || arg == "--set-upstream":
			p.Upstream = true
		case arg == "-f" || name == "--force" || name == "--force-with-lease" || arg == "--force-if-includes":
			p.Force = true
		case arg == "-d" || arg == "--delete":
			p.Delete = true
		case arg == "--tags":
			p.Tags = true
		case arg == "--follow-tags":
			p.Follow = true
		case arg == "-n" || arg == "--dry-run":
			p.Dry = true
		case slices.Contains([]string{"-q", "--quiet", "-v", "--verbose", "--progress", "--no-progress", "--porcelain", "--no-verify", "--verify", "--atomic", "--thin", "--no-thin", "-4", "-6", "--no-force-with-lease", "--no-signed", "--no-follow-tags"}, arg):
		case arg == "-o" || arg == "--push-option":
			if i+1 < len(args) {
				i++
				p.Options = append(p.Options, args[i])
			}
		case name == "--push-option" && given:
			p.Options = append(p.Options, value)
		case name == "--repo" && given:
			p.Remote = value
		case arg == "-uf" || arg == "-fu":
			p.Upstream, p.Force = true, true
		case arg == "-uq" || arg == "-qu":
			p.Upstream = true
		case strings.HasPrefix(arg, "-"):
			return p, fmt.Errorf("%w: the option %s; name the branches and tags to push", ErrRefused, arg)
		default:
			operands = append(operands, arg)
		}
	}
	if len(operands) > 0 {
		p.Remote, operands = operands[0], operands[1:]
	}
	for i := 0; i < len(operands); i++ {
		spec := operands[i]
		if spec == "tag" && i+1 < len(operands) {
			i++
			spec = "refs/tags/" + operands[i] + ":refs/tags/" + operands[i]
		}
		r := Ref{Force: p.Force || strings.HasPrefix(spec, "+")}
		src, dst, colon := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		r.Src, r.Dst = src, dst
		switch {
		case strings.ContainsAny(spec, "*^"), colon && src == "" && dst == "":
			return p, fmt.Errorf("%w: %q; name the branches and tags to push", ErrRefused, spec)
		case p.Delete:
			r.Src, r.Dst = "", src
		}
		p.Refs = append(p.Refs, r)
	}
	return p, nil
}

// Step is one reference of a push as the remote has it now, and would have it then.
type Step struct {
	Ref      string // its full name there
	Src      string // what the agent called it
	Old, New string // commits; Old "" is not there yet, New "" is taken away
	Forced   bool   // commits of the remote would be lost, or may be
}

// Plan is a push whose references are known as commits.
type Plan struct {
	Remote, URL string
	Steps       []Step
	pushing     Args
	branch      string
	common      string
}

// pushEnv lets git speak with nobody but remotes, and run none of a repository's hooks.
func pushEnv(r *git.Repo, dir string) []string {
	return append(r.Environ(false), "GIT_DIR="+dir, "GIT_ALLOW_PROTOCOL=https:http:ssh:git:file", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=/dev/null", "GIT_CONFIG_KEY_1=push.recurseSubmodules", "GIT_CONFIG_VALUE_1=no")
}

// Prepare finds out what a push from dir, a work tree of this repository, would do. The
// repository's own settings name the remote's address and nothing more: an agent may have
// written them. The remote is asked from an empty repository beside it, with the person's own
// settings and credentials.
func Prepare(ctx context.Context, r *git.Repo, dir string, p Args) (Plan, error) {
	plan := Plan{Remote: p.Remote, pushing: p}
	ask := func(args ...string) (string, error) {
		return said(ctx, r, dir, r.Environ(true, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false"), args...)
	}
	branch, err := ask("symbolic-ref", "-q", "--short", "HEAD")
	if err != nil {
		branch = ""
	}
	plan.branch = branch
	if plan.Remote == "" {
		if plan.Remote, err = ask("config", "--get", "branch."+branch+".remote"); err != nil || plan.Remote == "" || plan.Remote == "." {
			plan.Remote = "origin"
		}
	}
	if strings.HasPrefix(plan.Remote, "-") {
		return plan, fmt.Errorf("%w: the remote %q", ErrRefused, plan.Remote)
	}
	plan.URL = plan.Remote
	if url, err := ask("remote", "get-url", "--push", plan.Remote); err == nil && url != "" {
		plan.URL, _, _ = strings.Cut(url, "\n")
	}
	if strings.Contains(plan.URL, "::") || strings.HasPrefix(plan.URL, "-") {
		return plan, fmt.Errorf("%w: to the address %q", ErrRefused, plan.URL)
	}
	if strings.HasPrefix(plan.URL, ".") && !filepath.IsAbs(plan.URL) { // git reads it from the work tree
		top, err := ask("rev-parse", "--show-toplevel")
		if err != nil {
			return plan, fmt.Errorf("find the work tree: %w", err)
		}
		plan.URL = filepath.Join(top, plan.URL)
	}
	if plan.common, err = ask("rev-parse", "--path-format=absolute", "--git-common-dir"); err != nil {
		return plan, fmt.Errorf("find the repository of %s: %w", dir, err)
	}
	if plan.common != r.Common() {
		return plan, fmt.Errorf("%w: from another repository, %s", ErrRefused, dir)
	}
	err = beside(plan.common, func(at string) error { return planRefs(ctx, r, at, p, &plan, ask) })
	return plan, err
}

// planRefs resolves the references of a plan, with what the remote has.
func planRefs(ctx context.Context, r *git.Repo, at string, p Args, plan *Plan, ask func(...string) (string, error)) error {
	refs := p.Refs
	if len(refs) == 0 && (!p.Tags || p.Follow) {
		if plan.branch == "" {
			return fmt.Errorf("%w: no branch is checked out; name what to push", ErrRefused)
		}
		r := Ref{Src: "refs/heads/" + plan.branch, Dst: "refs/heads/" + plan.branch, Force: p.Force}
		if merge, err := ask("config", "--get", "branch."+plan.branch+".merge"); err == nil && strings.HasPrefix(merge, "refs/heads/") {
			r.Dst = merge
		}
		refs = []Ref{r}
	}
	if p.Tags {
		tags, err := ask("for-each-ref", "--format=%(refname)", "refs/tags")
		if err != nil {
			return fmt.Errorf("list the tags: %w", err)
		}
		for _, tag := range strings.Fields(tags) {
			refs = append(refs, Ref{Src: tag, Dst: tag, Force: p.Force})
		}
	}
	there, err := said(ctx, r, at, pushEnv(r, at), "ls-remote", "--", plan.URL)
	if err != nil {
		return fmt.Errorf("ask %s what it has: %w", plan.Remote, err)
	}
	has := map[string]string{}
	for line := range strings.Lines(there) {
		if id, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			has[name] = id
		}
	}
	for _, ref := range refs {
		s := Step{Src: ref.Src}
		full := ""
		if ref.Src != "" {
			if s.New, err = ask("rev-parse", "--verify", "--quiet", "--end-of-options", ref.Src); err != nil || !git.IsHash(s.New) {
				return fmt.Errorf("%w: there is no %q here", ErrRefused, ref.Src)
			}
			if full, err = ask("rev-parse", "--verify", "--quiet", "--symbolic-full-name", "--end-of-options", ref.Src); err != nil {
				full = ""
			}
		}
		s.Ref = destination(ref, full, has)
		if s.Ref == "" {
			return fmt.Errorf("%w: %q has no name there; write it as commit:refs/heads/name", ErrRefused, ref.Src)
		}
		if s.Old = has[s.Ref]; s.Old == s.New {
			continue // it is there, or gone, already
		}
		if s.Old != "" && s.New != "" {
			_, known := ask("merge-base", "--is-ancestor", s.Old, s.New)
			s.Forced = known != nil || strings.HasPrefix(s.Ref, "refs/tags/")
		}
		plan.Steps = append(plan.Steps, s)
	}
	return nil
}

// destination is the full name of a reference there.
func destination(ref Ref, full string, has map[string]string) string {
	dst := ref.Dst
	if dst == "" {
		if !strings.HasPrefix(full, "refs/heads/") && !strings.HasPrefix(full, "refs/tags/") {
			return ""
		}
		return full
	}
	if strings.HasPrefix(dst, "refs/") {
		return dst
	}
	for _, at := range []string{"refs/heads/", "refs/tags/"} {
		if has[at+dst] != "" {
			return at + dst
		}
	}
	if strings.HasPrefix(full, "refs/tags/") {
		return "refs/tags/" + dst
	}
	return "refs/heads/" + dst
}

// Run does what a plan says and nothing else: each reference goes from the commit that the
// plan found to the one that it named, or git refuses. It returns what git says.
// A fence that stands around the remote is minded.
func Run(ctx context.Context, r *git.Repo, plan Plan, fence *Fence) (said string, code int, err error) {
	if len(plan.Steps) == 0 {
		return "Everything up-to-date\n", 0, nil
	}
	args := []string{"push", "--porcelain", "--no-verify"}
	if plan.pushing.Dry {
		args = append(args, "--dry-run")
	}
	for _, o := range plan.pushing.Options {
		args = append(args, "--push-option="+o)
	}
	var specs []string
	for _, s := range plan.Steps {
		args = append(args, "--force-with-lease="+s.Ref+":"+s.Old)
		specs = append(specs, s.New+":"+s.Ref)
	}
	failed := errors.New("git has said why")
	push := func(options []string, more ...string) error {
		return beside(plan.common, func(at string) error {
			out, errs, res, err := r.Outside(ctx, at, pushEnv(r, at), slices.Concat(args, options, []string{"--", plan.URL}, specs, more)...)
			said, code = withoutFence(string(errs)+string(out)), res.Code
			switch {
			case err == nil && res.Ended != proc.EndedSelf:
				err = errors.New("git did not end by itself")
			case err == nil && code != 0:
				err = failed
			}
			return err
		})
	}
	if fence.at(plan.URL) == nil || plan.pushing.Dry {
		err = push(nil)
	} else {
		err = fence.guard(ctx, plan.URL, func(options []string, spec string) error { return push(options, spec) })
	}
	if err != nil && !errors.Is(err, failed) {
		return said, 1, fmt.Errorf("push to %s: %w", plan.Remote, err)
	}
	return said, code, nil
}

// withoutFence is what git says without the refs that nobody asked for.
func withoutFence(words string) string {
	var kept []string
	for line := range strings.Lines(words) {
		if !strings.Contains(line, FenceSpace) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// Note notes in the repository what a remote has now, as git does after a push of its own:
// the branches of a remote by name, and with -u what the branch follows.
func Note(ctx context.Context, r *git.Repo, dir string, plan Plan) error {
	if plan.Remote == plan.URL || plan.pushing.Dry {
		return nil
	}
	env := r.Environ(true, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=/dev/null")
	var errs error
	for _, s := range plan.Steps {
		name, branch := strings.CutPrefix(s.Ref, "refs/heads/")
		at := "refs/remotes/" + plan.Remote + "/" + name
		switch {
		case !branch:
			continue
		case s.New == "":
			_, _ = said(ctx, r, dir, env, "update-ref", "-d", at) // it need not be there
			continue
		}
		_, err := said(ctx, r, dir, env, "update-ref", at, s.New)
		errs = errors.Join(errs, err)
		if plan.pushing.Upstream && plan.branch != "" && (s.Src == "HEAD" || strings.TrimPrefix(s.Src, "refs/heads/") == plan.branch) {
			errs = errors.Join(errs, follow(ctx, r, dir, plan, s.Ref))
		}
	}
	return errs
}

// follow has the branch of a plan follow a reference of the remote. git would put a new file in
// the place of its settings, and what keeps an agent from writing the old one would be gone (the
// sandbox covers that very file): a branch that follows nothing is added to the file's end, and
// what another follows stays.
func follow(ctx context.Context, r *git.Repo, dir string, plan Plan, ref string) error {
	section := "branch." + plan.branch
	has := map[string]string{}
	for _, key := range []string{"remote", "merge"} {
		value, err := said(ctx, r, dir, r.Environ(true), "config", "--get", section+"."+key)
		if err != nil {
			value = "" // it is not set
		}
		has[key] = strings.TrimSuffix(value, "\n")
	}
	switch {
	case has["remote"] == plan.Remote && has["merge"] == ref:
		return nil
	case has["remote"] != "" || has["merge"] != "":
		return fmt.Errorf("it is pushed, but %s still follows %s of %s: that is a person's to change (git branch --set-upstream-to)", plan.branch, has["merge"], has["remote"])
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", "", "\x00", "").Replace
	text := fmt.Sprintf("[branch \"%s\"]\n\tremote = \"%s\"\n\tmerge = \"%s\"\n", quote(plan.branch), quote(plan.Remote), quote(ref))
	return appendSettings(filepath.Join(plan.common, "config"), text)
}

// appendSettings adds to a file of git's settings, by one write and below git's own lock.
func appendSettings(file, text string) error {
	lock, err := os.OpenFile(file+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("lock git's settings: %w", err)
	}
	defer os.Remove(file + ".lock")
	defer lock.Close()
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("open git's settings: %w", err)
	}
	defer f.Close()
	last := make([]byte, 1)
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			text = "\n" + text
		}
	}
	if _, err := f.WriteString(text); err != nil {
		return fmt.Errorf("write git's settings: %w", err)
	}
	return nil
}

// beside runs f with an empty repository that has the objects of another one, and none of its
// settings and hooks. What git needs of one is four files: no process is started for it, as each
// step of a fleet comes here four times.
func beside(common string, f func(dir string) error) error {
	dir, held, err := folder("")
	if err != nil {
		return fmt.Errorf("make a folder to push from: %w", err)
	}
	defer func() { _ = errors.Join(os.RemoveAll(dir), held.Close()) }()
	for _, name := range []string{"objects/info", "refs/heads"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/none\n", "config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
		"objects/info/alternates": filepath.Join(common, "objects") + "\n",
	} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
		}
	}
	if err != nil {
		return fmt.Errorf("make a repository to push from: %w", err)
	}
	return f(dir)
}

// said is what a command of git in a folder prints.
func said(ctx context.Context, r *git.Repo, dir string, env []string, args ...string) (string, error) {
	out, errs, res, err := r.Outside(ctx, dir, env, args...)
	switch {
	case err != nil:
		return "", err
	case res.Ended != proc.EndedSelf:
		return "", errors.New("git did not end by itself")
	case res.Code != 0:
		return "", fmt.Errorf("git %s ended with %d: %s", args[0], res.Code, strings.TrimSpace(string(errs)))
	}
	return strings.TrimSpace(string(out)), nil
}
