// Package git owns everything that ralph does with a git repository, in place
// in the user's checkout and in worktrees of ralph's own: reading HEAD, snapshots
// of the work tree, the commit of a spec, putting the changes of a failed spec
// away; making, cleaning and removing worktrees. It goes through the
// git program, an index of its own and refs below refs/ralph/, so that the
// user's index, stashes and branches are only touched where the result says so.
//
// It does NOT own when any of this happens, what a commit message says, or the
// contents of ralph's own files, which it leaves out of everything it writes.
package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/git/coprocess"
	"github.com/ralph-loop/ralph/internal/git/index"
	"github.com/ralph-loop/ralph/internal/git/unchanged"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	neverlist "github.com/ralph-loop/ralph/internal/operation"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/regular"
)

// The oldest git whose options are all used here.
const minMajor, minMinor = 2, 30

var (
	// git tells its version in a trace event, which saves a second process.
	versionEvent = lazyregexp.New(`"event":"version".*"exe":"(\d+)\.(\d+)`)
	hashes       = lazyregexp.New(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)
)

// Repo is one checkout: a work tree with its git folder. Its methods that
// write may be called from several goroutines; they take turns.
type Repo struct {
	p    *proc.Runner
	env  []string
	root string // top of the work tree
	// program is git's path: looking for it in a long PATH costs each command.
	program string
	version [2]int // of that git: major, minor
	gitDir  string // of this work tree: HEAD, index
	common  string // of all work trees: objects, refs, info/exclude
	// ours is a worktree that ralph made: its index is ralph's too, so there is
	// no private one beside it.
	ours   bool
	module bool  // a submodule of such a worktree: its settings are its agent's to write
	home   *Repo // of a worktree of ours: the checkout that it belongs to
	shield *shield
	hooks  hooksAt

	mu    sync.Mutex // held by whoever uses the private index
	index private
	files unchanged.Tree // as they were when git last added them to the private index
	past  []string       // repositories inside without a commit, past which that went
	from  string         // the commit at which the work here began; "": HEAD's
	line  lineage
	at    EnteredPlace // of a worktree of ours

	// stashes is held by whoever changes the list of stashes, or asks whether one is on
	// it: all worktrees have the same list, and git takes one off by a position that the
	// others move.
	stashes *sync.Mutex

	pool     worktrees
	settings *index.Known[string] // of a checkout, for its worktrees and submodules too

	asked   coprocess.Pool // of a checkout, for its worktrees too
	commits committing
	trees   index.Known[map[string]TreeEntry]
}

// lineage is a commit that is known to have base among its ancestors: the last
// one made here. It saves asking git again before the next.
type lineage struct{ base, head string }

// Open finds the checkout that dir, any folder in it, belongs to. env is the
// complete environment for git; variables that would lead git to another
// repository or index are left out, since ralph may be started by a hook.
// The error is a *ralph.Refusal when this is no checkout ralph can work in.
func Open(ctx context.Context, p *proc.Runner, dir string, env []string) (*Repo, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open git repository: %w", err)
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open git repository: %w", err)
	}
	env = cleanEnv(env)
	program, err := proc.LookPath("git", dir, env)
	if err != nil {
		return nil, Refuse("git was not found in PATH", fmt.Sprintf("install git %d.%d or newer", minMajor, minMinor))
	}
	r := &Repo{p: p, env: env, root: dir, program: program, stashes: new(sync.Mutex), shield: new(shield), settings: new(index.Known[string])}
	out, trace, res, err := r.Output(ctx, Call{
		Args: []string{"rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--show-toplevel"}, Env: []string{"GIT_TRACE2_EVENT=2"},
	})
	if err != nil {
		return nil, fmt.Errorf("open git repository: %w", err)
	}
	if res.Ended != proc.EndedSelf {
		return nil, fmt.Errorf("open git repository: %w", context.Cause(ctx))
	}
	said := WithoutTrace(trace)
	if r.version, err = checkVersion(trace); err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	switch {
	case strings.Contains(said, "not a git repository"):
		return nil, Refuse(dir+" is not in a git repository", "run `git init` first")
	case lines[0] == "true":
		return nil, Refuse("a bare repository has no files to work on", "make a work tree, with `git worktree add <folder>` there or `git clone` elsewhere, and run ralph in it")
	case len(lines) > 1 && lines[1] == "false":
		return nil, Refuse(dir+" is inside a git folder", "use the work tree it belongs to")
	case res.Code != 0:
		return nil, Refuse("git cannot open the repository", said)
	case len(lines) != 4:
		return nil, fmt.Errorf("open git repository: cannot read the answer of git rev-parse: %q", out)
	}
	r.gitDir, r.root = filepath.FromSlash(lines[2]), filepath.FromSlash(lines[3])
	r.common, err = commonDir(r.gitDir)
	if err == nil {
		err = checkCommon(r.gitDir, r.common)
	}
	if err != nil {
		return nil, fmt.Errorf("open git repository: %w", err)
	}
	return r, nil
}

// Root returns the top folder of the work tree, absolute.
func (r *Repo) Root() string { return r.root }

// Version returns git's when the repository was opened: major, minor.
func (r *Repo) Version() [2]int { return r.version }

// commonDir follows the commondir file of a linked work tree's git folder.
// (git rev-parse --git-common-dir answers relative to changing folders.)
func commonDir(gitDir string) (string, error) {
	b, err := regular.ReadFile(filepath.Join(gitDir, "commondir"), regular.Large)
	if os.IsNotExist(err) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	dir := filepath.FromSlash(strings.TrimSpace(string(b)))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(gitDir, dir)
	}
	return dir, nil
}

func checkVersion(trace []byte) (v [2]int, err error) {
	need := fmt.Sprintf("%d.%d", minMajor, minMinor)
	m := versionEvent.FindSubmatch(trace)
	if m == nil { // before 2.22 there is no such event
		return v, Refuse("git is older than "+need, "install git "+need+" or newer")
	}
	v[0], _ = strconv.Atoi(string(m[1]))
	v[1], _ = strconv.Atoi(string(m[2]))
	if slices.Compare(v[:], []int{minMajor, minMinor}) < 0 {
		return v, Refuse(fmt.Sprintf("git %d.%d is older than %s", v[0], v[1], need), "install git "+need+" or newer")
	}
	return v, nil
}

// WithoutTrace returns what git said to people.
func WithoutTrace(stderr []byte) string {
	var said []string
	for line := range strings.Lines(string(stderr)) {
		if !strings.HasPrefix(line, "{") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	return strings.Join(said, "; ")
}

// Call is one git command.
type Call struct {
	Args  []string // from the subcommand on
	Conf  []string // key=value, for this command alone
	Env   []string // for this command alone
	Index string   // index file instead of the user's
	Repo  string   // folder of git of another repository than this one
	Stdin string
	Write bool // takes locks, and runs hooks in the user's language
	Hooks bool // a commit: hooks of the person's run, in a worktree of ralph's too
	Tied  bool // ends with ralph, as all that write do
	own   bool // is told where the repository's own hooks are
	Plain bool // looks at no repository
}

// Run runs a command at the top of the work tree and returns its stdout.
func (r *Repo) Run(ctx context.Context, c Call) (string, error) {
	stdout, stderr, res, err := r.Output(ctx, c)
	if err := Failed(ctx, c.Args, res, err, stderr); err != nil {
		return "", err
	}
	return string(stdout), nil
}

// Output runs a command at the top of the work tree, and leaves its end to the caller.
func (r *Repo) Output(ctx context.Context, c Call) (stdout, stderr []byte, res proc.Result, err error) {
	cmd, err := r.command(ctx, c)
	if err == nil {
		err = neverlist.Own(cmd.Args)
	}
	if err != nil {
		return nil, nil, proc.Result{}, err
	}
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	}
	return r.p.Output(ctx, cmd)
}

// Failed tells why a git command failed, nil when it did not.
func Failed(ctx context.Context, args []string, res proc.Result, err error, stderr []byte) error {
	switch {
	case err != nil:
		return fmt.Errorf("git %s: %w", args[0], err)
	case res.Ended != proc.EndedSelf:
		return fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	case res.Signal != "":
		return &Error{Args: args, Exit: -1, Stderr: string(bytes.TrimSpace(stderr)) + "\nended by " + res.Signal}
	case res.Code != 0:
		return &Error{Args: args, Exit: res.Code, Stderr: string(stderr)}
	}
	return nil
}

// Line returns the single line that a command answers with.
func (r *Repo) Line(ctx context.Context, c Call) (string, error) {
	out, err := r.Run(ctx, c)
	return strings.TrimSpace(out), err
}

// IsHash reports whether a text is a full object id.
func IsHash(s string) bool { return hashes.MatchString(s) }

// CheckHash keeps anything that git could read as an option or another
// revision out of its arguments.
func CheckHash(what, hash string) error {
	if !IsHash(hash) {
		return fmt.Errorf("%s %q is not a full object id", what, hash)
	}
	return nil
}
