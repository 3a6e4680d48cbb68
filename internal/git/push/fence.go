package push

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/git"
)

// ErrFenced: the remote takes the pushes of another owner now.
var ErrFenced = errors.New("the remote takes the pushes of another one now")

// FenceSpace is where fences stand at a remote: no branch, no tag, nothing that a clone fetches.
const FenceSpace = "refs/ralph/lease/"

// lanes is how many pushes of one owner may be under way to one remote.
const lanes = 4

// raises bounds how often an owner before may push while its fence is taken.
const raises = 20

// Fence lets one owner after another push to a remote. Every push also moves a ref of the fence, from
// the very commit that its owner put there last, and the remote does both or none; a new owner first
// moves all these refs. So what an owner sends too late is refused there, whatever it believes: also
// what it had begun to send. That needs a remote with atomic pushes.
type Fence struct {
	repo *git.Repo
	name string      // of what is fenced
	refs string      // the prefix of its refs
	lost func(error) // told that another owner has it

	mu      sync.Mutex
	number  int64 // of this owner: each has a higher one than those before
	words   string
	nonce   string
	made    int    // commits
	tree    string // of nothing
	remotes map[string]*fenced
}

// fenced is a remote with the fence of this owner.
type fenced struct{ free chan *lane }

// lane is one ref of a fence. A push has it for itself.
type lane struct {
	ref   string
	at    string   // where it was last known to be
	tried []string // where it may be as well: pushes of which nobody heard the end
}

// NewFence is a fence around what has a name; it stands nowhere yet. lost is called from whatever
// push finds out.
func NewFence(r *git.Repo, name string, lost func(error)) *Fence {
	sum := sha256.Sum256([]byte(name))
	return &Fence{repo: r, name: name, refs: FenceSpace + hex.EncodeToString(sum[:8]) + "/", lost: lost, nonce: rand.Text(), remotes: map[string]*fenced{}}
}

// Own says who the owner is from now on: a number that only grows, and words for people.
func (f *Fence) Own(number int64, words string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.number, f.words = number, words
}

func (f *Fence) at(url string) *fenced {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.remotes[url]
}

// Number is that of the owner whose fence stands at a remote, with its words; 0 for none.
func (f *Fence) Number(ctx context.Context, url string) (number int64, words string, err error) {
	err = beside(f.repo.Common(), func(at string) error {
		there, err := f.list(ctx, at, url)
		if err != nil || len(there) == 0 {
			return err
		}
		if err := f.fetch(ctx, at, url); err != nil {
			return err
		}
		number, words, _, err = f.read(ctx, at, slices.Sorted(maps.Values(there))[0])
		return err
	})
	if err != nil {
		return 0, "", fmt.Errorf("look who pushes to the remote: %w", err)
	}
	return number, words, nil
}

// list are the refs of the fence at a remote, with where they are.
func (f *Fence) list(ctx context.Context, at, url string) (map[string]string, error) {
	out, err := said(ctx, f.repo, at, pushEnv(f.repo, at), "ls-remote", "--", url, f.refs+"*")
	if err != nil {
		return nil, err
	}
	there := map[string]string{}
	for line := range strings.Lines(out) {
		if id, ref, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			there[ref] = id
		}
	}
	return there, nil
}

// fetch brings the commits of the fence into this repository.
func (f *Fence) fetch(ctx context.Context, at, url string) error {
	env := append(pushEnv(f.repo, at), "GIT_OBJECT_DIRECTORY="+filepath.Join(f.repo.Common(), "objects"))
	_, err := said(ctx, f.repo, at, env, "fetch", "-q", "--no-tags", "--no-auto-maintenance", "--no-write-fetch-head", "--", url, "+"+f.refs+"*:refs/ralph/fence/*")
	return err
}

const numberWord = "ralph: lease "

// read is what a commit of a fence says: the number of its owner, words, and whether it is this one.
func (f *Fence) read(ctx context.Context, at, commit string) (number int64, words string, own bool, err error) {
	text, err := said(ctx, f.repo, at, pushEnv(f.repo, at), "log", "-1", "--format=%B", commit, "--")
	if err != nil {
		return 0, "", false, err
	}
	head, rest, _ := strings.Cut(text, "\n")
	digits, _, _ := strings.Cut(strings.TrimPrefix(head, numberWord), " ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, "", false, fmt.Errorf("the commit %s at %s is none of a lease", commit, f.refs)
	}
	words, rest, _ = strings.Cut(strings.TrimSpace(rest), "\n")
	return n, words, strings.HasPrefix(rest, f.nonce), nil
}

// mark makes a commit as there is no other one. It stands on the one before where that is here:
// a remote may be set to refuse all else.
func (f *Fence) mark(ctx context.Context, before string) (string, error) {
	f.mu.Lock()
	f.made++
	message := fmt.Sprintf("%s%d of %s\n\n%s\n%s %d", numberWord, f.number, f.name, f.words, f.nonce, f.made)
	tree := f.tree
	f.mu.Unlock()
	if tree == "" {
		var err error
		if tree, err = f.repo.Line(ctx, git.Call{Args: []string{"mktree"}, Write: true}); err != nil {
			return "", fmt.Errorf("mark a push: %w", err)
		}
		f.mu.Lock()
		f.tree = tree
		f.mu.Unlock()
	}
	text := "tree " + tree + "\n"
	if before != "" {
		if _, err := f.repo.ReadCommit(ctx, before); err == nil {
			text += "parent " + before + "\n"
		}
	}
	who := fmt.Sprintf("ralph <ralph@localhost> %d +0000", time.Now().Unix())
	id, err := f.repo.WriteObject(ctx, "commit", text+"author "+who+"\ncommitter "+who+"\n\n"+message+"\n")
	if err != nil {
		return "", fmt.Errorf("mark a push: %w", err)
	}
	return id, nil
}

// Raise takes the fence at a remote: from then on what the owner before sends is refused there. The
// same remote by another address is known by the fence that stands there.
func (f *Fence) Raise(ctx context.Context, url string) error {
	if f.at(url) != nil {
		return nil
	}
	err := beside(f.repo.Common(), func(at string) error {
		for try := 1; ; try++ {
			there, err := f.list(ctx, at, url)
			if err != nil {
				return err
			}
			if same := f.ours(there); same != nil {
				f.stands(url, same)
				return nil
			}
			if err := f.newest(ctx, at, url, there); err != nil {
				return err
			}
			done, err := f.raise(ctx, at, url, there)
			if err == nil {
				f.stands(url, done)
				return nil
			}
			if strings.Contains(err.Error(), "does not support --atomic") {
				return errors.New("it does not take atomic pushes (all refs or none), and without them a coordinator that comes back too late could not be kept off")
			}
			if now, lookErr := f.list(ctx, at, url); lookErr != nil || maps.Equal(now, there) || try == raises {
				return err // nobody was quicker: it is something else
			}
		}
	})
	if err != nil {
		return fmt.Errorf("take over the pushes to the remote: %w", err)
	}
	return nil
}

// newest refuses to take a fence from an owner that came after this one.
func (f *Fence) newest(ctx context.Context, at, url string, there map[string]string) error {
	if len(there) == 0 {
		return nil
	}
	if err := f.fetch(ctx, at, url); err != nil {
		return err
	}
	for _, commit := range there {
		n, words, own, err := f.read(ctx, at, commit)
		if err != nil {
			return err
		}
		f.mu.Lock()
		later := n >= f.number && !own
		f.mu.Unlock()
		if later {
			return fmt.Errorf("%w: lease %d, %s", ErrFenced, n, words)
		}
	}
	return nil
}

func (f *Fence) raise(ctx context.Context, at, url string, there map[string]string) (*fenced, error) {
	r := &fenced{free: make(chan *lane, lanes)}
	args, specs := []string{"push", "-q", "--no-verify", "--atomic"}, []string{}
	for i := range lanes {
		l := &lane{ref: f.refs + strconv.Itoa(i)}
		var err error
		if l.at, err = f.mark(ctx, there[l.ref]); err != nil {
			return nil, err
		}
		args, specs = append(args, "--force-with-lease="+l.ref+":"+there[l.ref]), append(specs, l.at+":"+l.ref)
		r.free <- l
	}
	_, err := said(ctx, f.repo, at, pushEnv(f.repo, at), append(append(args, "--", url), specs...)...)
	return r, err
}

func (f *Fence) stands(url string, r *fenced) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remotes[url] = r
}

// ours is the fence of this owner that stands where these refs are. It is asked before anything is
// pushed through it.
func (f *Fence) ours(there map[string]string) *fenced {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.remotes {
		same := len(there) == lanes
		for range len(r.free) {
			l := <-r.free
			same = same && there[l.ref] == l.at
			r.free <- l
		}
		if same {
			return r
		}
	}
	return nil
}

// guard has a push move a ref of the fence as well: push is given the options and the refspec for
// that. Where the remote has another fence by now it is ErrFenced, and nothing has changed there.
func (f *Fence) guard(ctx context.Context, url string, push func(options []string, spec string) error) error {
	r := f.at(url)
	if r == nil {
		return fmt.Errorf("%w: that remote was not there when this session began; begin a new one", ErrRefused)
	}
	var l *lane
	select {
	case l = <-r.free:
		defer func() { r.free <- l }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		next, err := f.mark(ctx, l.at)
		if err != nil {
			return err
		}
		l.tried = append(l.tried, next)
		err = push([]string{"--atomic", "--force-with-lease=" + l.ref + ":" + l.at}, next+":"+l.ref)
		if err == nil {
			l.at, l.tried = next, nil
			return nil
		}
		before := l.at
		if lookErr := f.settle(ctx, url, l); lookErr != nil {
			return lookErr
		}
		if l.at == before {
			return err // the fence stands: the push failed for another reason
		}
	}
}

// settle finds out where a ref of the fence is after a push that failed. That it cannot be found out
// is no error: the next push will.
func (f *Fence) settle(ctx context.Context, url string, l *lane) error {
	var fenced error
	_ = beside(f.repo.Common(), func(at string) error {
		there, err := f.list(ctx, at, url)
		if err != nil {
			return err
		}
		now := there[l.ref]
		switch {
		case now == l.at:
			return nil
		case slices.Contains(l.tried, now): // the answer to an earlier push was lost, or to this one
			l.at, l.tried = now, nil
			return nil
		}
		fenced = fmt.Errorf("%w: its fence is gone", ErrFenced)
		if now != "" && f.fetch(ctx, at, url) == nil {
			if n, words, _, err := f.read(ctx, at, now); err == nil {
				fenced = fmt.Errorf("%w: lease %d, %s", ErrFenced, n, words)
			}
		}
		return nil
	})
	if fenced != nil {
		f.lost(fenced)
	}
	return fenced
}

// Lower takes the fence away at all remotes, once no push is under way. What an owner before sends
// is refused all the same.
func (f *Fence) Lower(ctx context.Context) error {
	f.mu.Lock()
	remotes := maps.Clone(f.remotes)
	clear(f.remotes)
	f.mu.Unlock()
	var errs []error
	seen := map[*fenced]bool{}
	for _, url := range slices.Sorted(maps.Keys(remotes)) {
		if r := remotes[url]; !seen[r] {
			seen[r] = true
			errs = append(errs, f.lower(ctx, url, r))
		}
	}
	return errors.Join(errs...)
}

func (f *Fence) lower(ctx context.Context, url string, r *fenced) error {
	args, specs := []string{"push", "-q", "--no-verify", "--atomic"}, []string{}
	for range lanes {
		select {
		case l := <-r.free:
			if len(l.tried) > 0 {
				if err := f.settle(ctx, url, l); err != nil {
					return err
				}
			}
			args, specs = append(args, "--force-with-lease="+l.ref+":"+l.at), append(specs, ":"+l.ref)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	err := beside(f.repo.Common(), func(at string) error {
		_, err := said(ctx, f.repo, at, pushEnv(f.repo, at), append(append(args, "--", url), specs...)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("take the refs below %s away at the remote: %w", f.refs, err)
	}
	return nil
}
