// Package outgoing brings the work of specs out on branches of their own: it makes the branch
// ready for a job, pushes it without ever forcing it, merges what others pushed, and keeps the
// text of its pull request.
//
// It does NOT own when that happens (internal/policy), or what the text says (internal/specdoc).
package outgoing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/specdoc"
	"github.com/ralph-loop/ralph/internal/specfile"
)

// Branches are the branches of specs in a repository.
type Branches struct {
	Repo   *git.Repo
	Base   string // base_branch; "" is what is checked out
	Redact *redact.Redactor
	Fence  *push.Fence // each push goes through it; nil: whoever may push does

	How     ralph.LandHow // land.how
	PerTask bool          // land.per
	Name    string        // land.branch: the template of their names
	Remote  string        // land.remote
}

// Where is where the work of the job goes when that is not the base branch; the head of the
// spec says more than the settings.
func (p Branches) Where(s *ralph.State, spec string) ralph.Outgoing {
	head, _ := specfile.Parse(spec)
	how := cmp.Or(head.Land, p.How)
	if how == "" || how == ralph.LandCommit {
		return ralph.Outgoing{}
	}
	out := ralph.Outgoing{How: how, Remote: p.Remote, Branch: head.Branch}
	if out.Branch == "" || out.Branch != specfile.BranchName(out.Branch) {
		at := s.Job.Since
		if spec := s.Spec(s.Job.Spec); spec != nil {
			at = spec.AddedAt
		}
		name := specfile.Branch(p.Name, s.Job.File, cmp.Or(string(s.Job.Spec), string(s.Job.ID)), at)
		if p.PerTask {
			name, out.Tasks = name+"-all", specfile.TaskBranches(p.Name, s.Job.File, at)
		}
		out.Branch = name
		for n := 2; s.DoneWith(out.Branch); n++ { // it was merged or closed at the service
			out.Branch = fmt.Sprintf("%s-%d", name, n)
		}
	}
	return out
}

// Publish pushes the branch of the job, and keeps the text of its pull request. That the push
// does not work is an outcome, but that it was cut.
func (p Branches) Publish(ctx context.Context, s *ralph.State, spec string, in ralph.Publish) (ralph.Published, error) {
	work := specdoc.Of(s, spec)
	known := s.Pull(in.Branch)
	if known != nil && known.Task != "" {
		work.Only, work.On = known.Name, known.On
	}
	if t := s.Task(in.Of); t != nil {
		on, err := p.builtOn(ctx, s, known, t.Run.Commit)
		if err != nil {
			return ralph.Published{}, err
		}
		work.On = on
		work = work.OfTask(t, in.Branch)
	}
	name, err := p.keepText(work, in.Branch)
	if err != nil {
		return ralph.Published{}, err
	}
	f := ralph.Published{Branch: in.Branch, Remote: in.Remote, Error: in.Remote + " could not be reached for the branch before"}
	if !in.Later {
		f, err = p.Push(ctx, in)
	}
	f.Text, f.On = name, work.On
	return f, err
}

// builtOn are the branches of other tasks of the job whose commits a commit has as well.
func (p Branches) builtOn(ctx context.Context, s *ralph.State, known *ralph.Pull, commit string) ([]string, error) {
	var on []string
	for _, other := range s.Pulls {
		t := s.Task(other.Task)
		if known == nil || other.Branch == known.Branch || other.Whole != known.Whole || t == nil || t.Run.Commit == "" {
			continue
		}
		has, err := p.Repo.Contains(ctx, t.Run.Commit, commit)
		if err != nil {
			return nil, err
		}
		if has {
			on = append(on, other.Branch)
		}
	}
	return on, nil
}

// Push pushes a branch. What others have pushed to it is merged first.
func (p Branches) Push(ctx context.Context, in ralph.Publish) (ralph.Published, error) {
	f, err := p.push(ctx, in)
	if err == nil || ctx.Err() != nil {
		return f, err
	}
	_, refused := errors.AsType[*ralph.Refusal](err)
	return ralph.Published{
		Branch: in.Branch, Remote: in.Remote, Error: p.Redact.String(strings.TrimSpace(err.Error())),
		Parked: refused || errors.Is(err, push.ErrRefused), // to try again would not help
	}, nil
}

// TextFile is where the text of a branch's pull request is, relative to the repository.
func TextFile(branch string) string {
	return "ralph/.state/pulls/" + strings.ReplaceAll(branch, "/", "-") + ".md"
}

// keepText writes the text of a pull request for people, on top of what the rounds before say.
func (p Branches) keepText(work specdoc.Work, branch string) (string, error) {
	name := TextFile(branch)
	file := filepath.Join(p.Repo.Root(), filepath.FromSlash(name))
	before, err := os.ReadFile(file)
	if err != nil {
		before = nil // the first round
	}
	if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
		err = os.WriteFile(file, []byte(p.Redact.String(work.PullText(string(before)))), 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("write the text of a pull request: %w", err)
	}
	return name, nil
}
