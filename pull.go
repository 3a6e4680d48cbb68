package ralph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// LandHow is how the work of a spec reaches people.
type LandHow string

// The ways; "" is LandCommit.
const (
	LandCommit LandHow = "commit" // on the base branch
	LandBranch LandHow = "branch" // on a branch of the spec's own, which is pushed
	LandPull   LandHow = "pr"     // and proposed as a pull request
)

// Outgoing says where the work of a spec goes when it does not land on the base branch:
// on a branch of its own, which people look at before it gets there.
type Outgoing struct {
	How    LandHow `json:"how,omitempty"`
	Branch string  `json:"branch,omitempty"` // without refs/heads/, here and on the remote
	Remote string  `json:"remote,omitempty"`
	Onto   string  `json:"onto,omitempty"` // the branch that it is proposed for
	// Tasks names the branches of single tasks, with {id}: these go out instead of Branch, which
	// has all of them and stays here. "": Branch goes out.
	Tasks string `json:"tasks,omitempty"`
}

// TaskBranch is the branch of a task, where tasks go out each on its own.
func (o Outgoing) TaskBranch(id TaskID) string {
	return strings.ReplaceAll(o.Tasks, "{id}", string(id))
}

// GoesOut reports whether a branch is one that the job brings out: nobody else pushes it meanwhile.
func (s *State) GoesOut(p *Pull) bool {
	i := s.Plan.Integration
	if s.Job == nil || i == nil || i.Out.Branch == "" {
		return false
	}
	return p.Branch == i.Out.Branch || p.Whole == i.Out.Branch && !p.Over() && s.Task(p.Task) != nil
}

// Pull is a branch that goes out, with its pull request where there is one. There is one for
// each branch: later rounds of its spec change it.
type Pull struct {
	Outgoing
	Spec  SpecID `json:"spec,omitempty"` // of the newest round
	File  string `json:"file"`
	Round int    `json:"round,omitempty"` // 0: the first
	// Task is the one task that it is of, where each goes out on its own, with its name. Whole is the
	// branch that has all of them and stays here; On are the branches whose work this one has as well.
	Task  TaskID   `json:"task,omitempty"`
	Name  string   `json:"name,omitempty"`
	Whole string   `json:"whole,omitempty"`
	On    []string `json:"on,omitempty"`
	// Commit is what the branch has here, Pushed what its remote was last known to have.
	Commit string `json:"commit"`
	Pushed string `json:"pushed,omitempty"`
	// Tried are the tries in a row that did not work, the newest at At with Error.
	// Parked: it is not tried again by itself, a person has to do something.
	Tried  int       `json:"tried,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Error  string    `json:"error,omitempty"`
	Parked bool      `json:"parked,omitempty"`
	// Request is its pull request as the service was last known to have it.
	Request PullRequest `json:"request,omitzero"`
}

// PullRequest is a pull request as a service has it.
type PullRequest struct {
	Repo   string     `json:"repo,omitempty"` // owner/name
	Number int        `json:"number,omitempty"`
	URL    string     `json:"url,omitempty"`
	State  PullState  `json:"state,omitempty"`
	Head   string     `json:"head,omitempty"`   // the commit that it is at
	Checks PullChecks `json:"checks,omitempty"` // of that commit
	Text   string     `json:"text,omitempty"`   // the sum of the text that it has
	Heard  Heard      `json:"heard,omitzero"`
	Went   string     `json:"went,omitempty"` // the head for which the newest round began
	// Error says why the service does not have what it should have; Parked: to try again
	// would not help.
	Error  string `json:"error,omitempty"`
	Parked bool   `json:"parked,omitempty"`
}

// Heard is the newest of what reviewers said that went into a round: of reviews, and of comments
// on lines, which a service numbers apart.
type Heard struct {
	Review int64 `json:"review,omitempty"`
	Line   int64 `json:"line,omitempty"`
}

// PullState is where a pull request stands.
type PullState string

// The states; "" is none.
const (
	PullOpen   PullState = "open"
	PullMerged PullState = "merged"
	PullClosed PullState = "closed"
)

// PullChecks is what the checks of a service say of a commit.
type PullChecks string

// What they say; "" is that there are none.
const (
	ChecksPending PullChecks = "pending"
	ChecksGreen   PullChecks = "green"
	ChecksRed     PullChecks = "red"
)

// Over reports whether nothing more comes of the branch: it was merged, or closed without that.
func (p *Pull) Over() bool { return p.Request.State == PullMerged || p.Request.State == PullClosed }

// Waits reports whether the remote is not known to have what the branch has here.
func (p *Pull) Waits() bool { return p.Commit != p.Pushed && !p.Over() }

// Pull returns what goes out on a branch, nil when nothing does.
func (s *State) Pull(branch string) *Pull {
	for _, p := range s.Pulls {
		if p.Branch == branch {
			return p
		}
	}
	return nil
}

// pushAnswered folds a person's word on a push.
func (s *State) pushAnswered(gate *Approval, f Answered) {
	s.editTask(gate.Task, func(t *Task) {
		t.Run.Here = f.Verdict == Approved
		if f.Verdict != Approved {
			t.Run.Refused = cmp.Or(f.Text, "a person said no")
		}
	})
	if f.Verdict == Approved {
		return
	}
	for _, p := range s.Pulls {
		if s.GoesOut(p) && p.Waits() {
			s.editPull(p.Branch, func(p *Pull) { p.Error, p.Parked = "not pushed: "+cmp.Or(f.Text, "a person said no"), true })
		}
	}
}

// ToPush are the branches of the job that are to be pushed and were not tried since a time, and how many the
// remote does not have. away: it could not be reached for one of them since.
func (s *State) ToPush(since time.Time) (due []*Pull, waiting int, away bool) {
	for _, p := range s.Pulls {
		if !s.GoesOut(p) || !p.Waits() {
			continue
		}
		waiting++
		tried := !p.At.Before(since)
		away = away || tried && !p.Parked
		if !tried && !p.Parked {
			due = append(due, p)
		}
	}
	return due, waiting, away
}

// DoneWith reports whether something went out on a branch, or on those of its tasks, and nothing more comes of it.
func (s *State) DoneWith(branch string) bool {
	known := false
	for _, p := range s.Pulls {
		if p.Branch == branch || p.Whole == branch {
			if known = p.Over(); !known {
				return false
			}
		}
	}
	return known
}

// maxPulls bounds what is remembered of branches that went out; those that are done with
// leave first.
const maxPulls = 200

// editPull changes what is known of a branch; the first time it makes it.
func (s *State) editPull(branch string, edit func(*Pull)) {
	if i := slices.IndexFunc(s.Pulls, func(p *Pull) bool { return p.Branch == branch }); i >= 0 {
		c := *s.Pulls[i]
		edit(&c)
		s.Pulls = slices.Clone(s.Pulls)
		s.Pulls[i] = &c
		return
	}
	p := Pull{Outgoing: Outgoing{Branch: branch}}
	edit(&p)
	s.Pulls = append(slices.Clone(s.Pulls), &p)
	if len(s.Pulls) > maxPulls {
		i := max(0, slices.IndexFunc(s.Pulls, func(p *Pull) bool { return !p.Waits() }))
		s.Pulls = slices.Delete(s.Pulls, i, i+1)
	}
}

// wentOut folds that the branch of a job is at a commit.
func (s *State) wentOut(commit string) {
	i := s.Plan.Integration
	if i == nil || i.Out.Branch == "" {
		return
	}
	if i.Out.Tasks != "" {
		s.tasksWentOut(i.Out)
		return
	}
	s.editPull(i.Out.Branch, func(p *Pull) {
		p.Outgoing, p.Commit, p.Request.Parked = i.Out, commit, false
		p.Tried, p.Error, p.Parked = 0, "", false
		if s.Job != nil {
			p.Spec, p.File = s.Job.Spec, s.Job.File
		}
	})
}

// tasksWentOut folds that all that is merged has landed, where each task goes out on its own: each
// commit of a task once.
func (s *State) tasksWentOut(out Outgoing) {
	for _, t := range s.Plan.Tasks {
		if t.Run.Queue.State != MergeMerged || t.Run.Commit == "" || t.Run.WentOut == t.Run.Commit {
			continue
		}
		branch := out.TaskBranch(t.ID)
		for n := 2; s.DoneWith(branch); n++ {
			branch = fmt.Sprintf("%s-%d", out.TaskBranch(t.ID), n)
		}
		s.editPull(branch, func(p *Pull) {
			p.Outgoing = Outgoing{How: out.How, Branch: branch, Remote: out.Remote, Onto: out.Onto}
			p.Task, p.Name, p.Whole, p.Commit, p.Request.Parked = t.ID, t.Name, out.Branch, t.Run.Commit, false
			p.Tried, p.Error, p.Parked = 0, "", false
			if s.Job != nil {
				p.Spec, p.File = s.Job.Spec, s.Job.File
			}
		})
		s.editTask(t.ID, func(t *Task) { t.Run.WentOut = t.Run.Commit })
	}
}

// Published is the outcome of Publish, and of each later try to push a branch. Without Error
// the remote has Commit.
type Published struct {
	Task   TaskID `json:"task,omitempty"` // "": tried again after the work was over
	Branch string `json:"branch"`
	Remote string `json:"remote"`
	Commit string `json:"commit,omitempty"` // what branch and remote have now
	// Merged is what others had pushed to the branch, and Commit has as well.
	Merged string `json:"merged,omitempty"`
	// On are the branches of other tasks whose work the commit has as well, where each task goes out on its own.
	On []string `json:"on,omitempty"`
	// Text is the file with the text of a pull request, relative to the repository.
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
	// Parked: to try again would not help, a person has to do something first.
	Parked bool          `json:"parked,omitempty"`
	Took   time.Duration `json:"took"`
}

// Kind implements Fact.
func (Published) Kind() string { return "published" }

// About implements Fact.
func (f Published) About() TaskID { return f.Task }

func (f Published) fold(s *State, e Event) {
	s.editTask(f.Task, func(t *Task) {
		t.Run.InFlight, t.Run.StepError, t.Run.Published = 0, f.Error, true
	})
	if s.Pull(f.Branch) == nil {
		return
	}
	s.editPull(f.Branch, func(p *Pull) {
		if p.At = e.At; len(f.On) > 0 {
			p.On = f.On
		}
		if f.Error != "" {
			p.Tried, p.Error, p.Parked = p.Tried+1, f.Error, f.Parked
			return
		}
		p.Commit, p.Pushed = f.Commit, f.Commit
		p.Tried, p.Error, p.Parked = 0, "", false
	})
}

// PullSeen is what a service says of a pull request: when it was opened or changed by ralph, and
// when something of it is otherwise than it was known to be.
type PullSeen struct {
	Branch  string      `json:"branch"`
	Request PullRequest `json:"request"`
	Opened  bool        `json:"opened,omitempty"` // by ralph, now
	// Round is the round that begins with what came back; its spec.added stands beside. Why says
	// what came back.
	Round int    `json:"round,omitempty"`
	Spec  SpecID `json:"spec,omitempty"` // of that round
	Why   string `json:"why,omitempty"`
}

// Kind implements Fact.
func (PullSeen) Kind() string { return "pull.seen" }

// About implements Fact.
func (PullSeen) About() TaskID { return "" }

func (f PullSeen) fold(s *State, _ Event) {
	if s.Pull(f.Branch) == nil {
		return
	}
	s.editPull(f.Branch, func(p *Pull) {
		p.Request = f.Request
		if f.Round > p.Round {
			p.Round, p.Spec = f.Round, f.Spec
		}
	})
}
