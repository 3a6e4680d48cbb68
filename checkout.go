package ralph

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Checkout is what is known of the checkout in which agents work, as of the newest look
// at it. Whatever is otherwise at the next look, and no turn was under way between the
// two, is somebody else's (docs/adr/0030).
type Checkout struct {
	Head   string `json:"head,omitempty"`
	Branch string `json:"branch,omitempty"`
	Tree   string `json:"tree,omitempty"`
	// Open: a step that changes files has begun since. Cut: one of them came to no end, or
	// failed, so that nobody can tell what it did from what others did.
	Open bool `json:"open,omitempty"`
	Cut  bool `json:"cut,omitempty"`
	// New: no work has begun in this session, so whether it goes on with what is there is open.
	New bool `json:"new,omitempty"`
	// Commits are those that agents and ralph itself made since the work began.
	Commits []string `json:"commits,omitempty"`
	// Left are files with changes of somebody else's, which no commit of ralph takes along.
	Left []LeftFile `json:"left,omitempty"`
}

// LeftFile is a file that somebody changed while no agent was at work. A version is a mode
// and an id as git has them, "" for no file.
type LeftFile struct {
	Path string `json:"path"`
	Now  string `json:"now,omitempty"` // as it was found
	// Was is what an agent had made of it before, when that is in no commit: that version
	// goes into ralph's commit. "": the commit leaves the file as HEAD has it.
	Was string `json:"was,omitempty"`
	At  string `json:"at,omitempty"` // as HEAD had it then
	// ByChecks: checks ran while it was written, and nobody but them is known to have.
	ByChecks bool `json:"by_checks,omitempty"`
}

// OtherCommit is a commit that no agent of ralph made, or that is published.
type OtherCommit struct {
	Commit  string `json:"commit"`
	By      string `json:"by,omitempty"`
	Subject string `json:"subject,omitempty"`
}

// looked folds a look at the checkout.
func (c *Checkout) looked(head, branch, tree string) {
	c.Head, c.Tree, c.Open, c.Cut = head, tree, false, false
	if branch != "" {
		c.Branch = branch
	}
}

// leave folds files that checks wrote, which no commit is to take along. Of one that was
// left out before, a commit still gets the version that it would have got.
func (c *Checkout) leave(list []LeftFile) {
	for _, f := range list {
		i := slices.IndexFunc(c.Left, func(l LeftFile) bool { return l.Path == f.Path })
		c.Left = slices.Clone(c.Left)
		if i < 0 {
			c.Left = append(c.Left, f)
			continue
		}
		c.Left[i].Now = f.Now
	}
}

// ByChecks reports whether a file is left out of commits for what checks wrote.
func (c *Checkout) ByChecks(path string) bool {
	return slices.ContainsFunc(c.Left, func(l LeftFile) bool { return l.Path == path && l.ByChecks })
}

// mostWritten bounds what is remembered of the files that checks write.
const mostWritten = 200

// written folds tracked files that checks changed where nobody else was at work.
func (s *State) written(list []string) {
	for _, f := range list {
		if !slices.Contains(s.Written, f) && len(s.Written) < mostWritten {
			s.Written = append(slices.Clone(s.Written), f)
		}
	}
}

// mostTheirs bounds what is remembered of the settings that others changed.
const mostTheirs = 500

// theirs folds settings that others have changed.
func (s *State) theirs(list []LeftFile) {
	for _, f := range list {
		s.Theirs = slices.DeleteFunc(slices.Clone(s.Theirs), func(l LeftFile) bool { return l.Path == f.Path })
		s.Theirs = append(s.Theirs, LeftFile{Path: f.Path, Now: f.Now})
	}
	s.Theirs = s.Theirs[max(0, len(s.Theirs)-mostTheirs):]
}

// made folds commits of ralph's own side.
func (c *Checkout) made(commits ...string) {
	for _, hash := range commits {
		if hash != "" && !slices.Contains(c.Commits, hash) {
			c.Commits = append(slices.Clone(c.Commits), hash)
		}
	}
}

// inCheckout folds what a fact says of the checkout. Work in worktrees says nothing of it.
func (s *State) inCheckout(e Event) {
	c := &s.Checkout
	switch f := e.Fact.(type) {
	case SessionStarted:
		c.New = !f.Resumed
	case JobStarted:
		if c.New && !f.Resume {
			*c = Checkout{} // who starts anew with changes takes them along on purpose
		}
		c.New = false
	case StepStarted:
		switch f.Step.(type) {
		case Prepare, Baseline, Turn, Check, Commit, Shelve:
			if !s.isolated(f.Task) {
				c.Cut, c.Open = c.Cut || c.Open, true
			}
		}
	case HookRan:
		if f.Stop && f.Task != "" && !s.isolated(f.Task) {
			c.Open = false // it ran before the step, which was not done
		}
	case Prepared:
		if f.Error == "" && f.Dir == "" && !s.isolated(f.Task) {
			c.looked(f.Head, f.Branch, f.Tree)
			c.Branch, c.Commits = f.Branch, nil
		}
	case CheckoutFound:
		open := c.Open
		c.looked(f.Head, f.Branch, f.Tree)
		c.Branch, c.Left, c.Open = f.Branch, f.Left, open
		s.theirs(f.Settings)
		s.editJob(func(j *Job) { j.Head, j.Tree = f.Head, f.Tree })
		s.editTask(f.Task, func(t *Task) { t.Run.Tree = f.Tree }) // what somebody changed is no progress of its agent
	case TurnEnded:
		if f.Tree != "" && !s.isolated(f.Task) {
			c.looked(f.Head, "", f.Tree)
			c.made(f.Commits...)
		}
	case ChecksRan:
		if f.After != "" && !s.isolated(f.Task) {
			c.looked(c.Head, "", f.After)
			c.leave(f.Out)
		}
		s.written(f.Restored)
	case BaselineRan:
		if !s.isolated(f.Task) {
			c.Open, c.Tree = false, cmp.Or(f.After, c.Tree)
			c.leave(f.Out)
		}
		s.written(f.Restored)
	case Committed:
		switch {
		case s.isolated(f.Task) || f.Error != "" || c.Head == "":
		case f.Away != "":
			c.Open = false // nothing was done
		default:
			c.Head, c.Open = f.Commit, false
			c.made(f.Commit)
			if len(f.Left) == 0 && f.Tree != "" { // a hook of the repository may have changed files
				c.Tree = f.Tree
			}
		}
	case Shelved:
		if f.Error == "" && !s.isolated(f.Task) {
			c.Tree, c.Open = "", false // what is left are files of others, which are known
		}
	}
}

// hookRefused folds what a hook of the repository said against a commit. It may have changed
// files, so after the first time the checks look again; at the second it is a red check,
// which the agent reads (R-H7).
func (t *Task) hookRefused(f Committed) {
	r := &t.Run
	r.Hook, r.Rewritten = f.Hook, len(f.Rewritten) > 0
	switch {
	case f.Hook == "" || !t.TakesSlot():
	case r.Commits < 2:
		r.Checks = nil
	default:
		why := "a hook of the repository refused the commit"
		if r.Rewritten {
			why = "a hook of the repository changes files each time it runs: " + strings.Join(f.Rewritten[:min(5, len(f.Rewritten))], ", ")
		}
		red := ChecksRan{Task: t.ID, Tree: r.Tree, Results: []GateResult{{Name: CheckHook, Exit: 1, Why: why, Output: f.Hook}}}
		r.Checks, r.Red, r.Commits = &red, &red, 0
	}
}

func (s *State) committed(f Committed, at time.Time) {
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.Commit, r.StepError, r.Away, r.Here = 0, f.Commit, f.Error, f.Away, false
		r.Queue.Settings, r.Queue.Shown = f.Settings, f.Shown
		if f.Away != "" {
			r.AwayTries, r.LastAt = r.AwayTries+1, at
			return
		}
		r.Queue.Weakened = f.Weakened
		if f.Error != "" {
			r.Commits++
			t.hookRefused(f)
		} else {
			r.Place.Head = f.Commit
		}
	})
	if f.Error == "" && f.Away == "" {
		s.count(func(t *Totals) { t.Commits++ })
		s.editJob(func(j *Job) {
			if !s.isolated(f.Task) {
				j.Head = f.Commit
			}
		})
	}
}
