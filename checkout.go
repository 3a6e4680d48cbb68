package ralph

import (
	"cmp"
	"slices"
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

// maxWritten bounds what is remembered of the files that checks write.
const maxWritten = 200

// written folds tracked files that checks changed where nobody else was at work.
func (s *State) written(list []string) {
	for _, f := range list {
		if !slices.Contains(s.Written, f) && len(s.Written) < maxWritten {
			s.Written = append(slices.Clone(s.Written), f)
		}
	}
}

// maxTheirs bounds what is remembered of the settings that others changed.
const maxTheirs = 500

// theirs folds settings that others have changed.
func (s *State) theirs(list []LeftFile) {
	for _, f := range list {
		s.Theirs = slices.DeleteFunc(slices.Clone(s.Theirs), func(l LeftFile) bool { return l.Path == f.Path })
		s.Theirs = append(s.Theirs, LeftFile{Path: f.Path, Now: f.Now})
	}
	s.Theirs = s.Theirs[max(0, len(s.Theirs)-maxTheirs):]
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

func (s *State) committed(f Committed, at time.Time) {
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.Commit, r.StepError, r.Away, r.Lost, r.Here = 0, f.Commit, f.Error, f.Away, f.Lost, false
		r.Queue.Settings, r.Queue.Shown = f.Settings, f.Shown
		if f.Away != "" {
			r.AwayTries, r.LastAt = r.AwayTries+1, at
			return
		}
		r.Queue.Weakened = f.Weakened
		if f.Error != "" {
			r.StepFailures++
			t.hookRefused(f)
		} else {
			r.Worktree.Head = f.Commit
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

// Prepared is the outcome of Prepare.
type Prepared struct {
	Task   TaskID `json:"task"`
	Head   string `json:"head"` // commit that the work starts from
	Branch string `json:"branch,omitempty"`
	Tree   string `json:"tree"`
	Error  string `json:"error,omitempty"` // the spec is not there, ... (D-076)
	// Inside are the files that were changed inside submodules before the work began.
	Inside []string `json:"inside,omitempty"`

	// Clean: in the checkout, there is nothing but what the commit has.
	Clean bool `json:"clean,omitempty"`

	// With worktrees.
	Dir       string        `json:"dir,omitempty"`
	Base      string        `json:"base,omitempty"`      // where the branch began, when this start made it
	Fresh     bool          `json:"fresh,omitempty"`     // the worktree was made for it
	Conflicts []string      `json:"conflicts,omitempty"` // resolve: files with both sides in them
	Saved     []Saved       `json:"saved,omitempty"`     // what was found there and put away
	Took      time.Duration `json:"took,omitempty"`
}

// Kind implements Fact.
func (Prepared) Kind() string { return "prepared" }

// About implements Fact.
func (f Prepared) About() TaskID { return f.Task }

func (f Prepared) fold(s *State, e Event) {
	if f.Dir != "" || s.isolated(f.Task) {
		s.placed(f, e.At)
		return
	}
	s.editJob(func(j *Job) { j.Base, j.Branch, j.Head, j.Tree, j.Inside = f.Head, f.Branch, f.Head, f.Tree, f.Inside })
	s.editTask(f.Task, func(t *Task) { t.Run.InFlight, t.Run.Tree, t.Run.StepError, t.Run.Clean = 0, f.Tree, f.Error, f.Clean })
}

// Committed is the outcome of Commit.
type Committed struct {
	Task    TaskID `json:"task"`
	Commit  string `json:"commit,omitempty"`
	Short   string `json:"short,omitempty"`
	Subject string `json:"subject,omitempty"`
	Tree    string `json:"tree,omitempty"`
	Error   string `json:"error,omitempty"`
	// Hook is what a hook of the repository said when it refused the commit, the end of it.
	Hook string `json:"hook,omitempty"`
	// Rewritten are files that a hook changed while the commit was made, which was taken
	// back: the checks have not seen them so.
	Rewritten []string `json:"rewritten,omitempty"`
	// Nothing: there was nothing to commit, and Commit is where the work stands.
	Nothing bool `json:"nothing,omitempty"`
	// Away says why no commit could be made where the work began, in a checkout that
	// somebody has taken elsewhere: to another branch, or into a rebase. A person decides.
	Away string `json:"away,omitempty"`
	Lost string `json:"lost,omitempty"` // the commit of an agent that is not there, where that is why
	// Kept are commits of others since the work began, newest first: the commit is on top
	// of them. KeptMore are not listed. Apart are commits of the agent that stay as they
	// are, since a commit of somebody else stands on them.
	Kept     []OtherCommit `json:"kept,omitempty"`
	KeptMore int           `json:"kept_more,omitempty"`
	Apart    []string      `json:"apart,omitempty"`
	// Folded are commits of the agent that became part of this one.
	Folded []string `json:"folded,omitempty"`
	// Gone is the commit on which the work began, when it is not in the history any more.
	Gone string `json:"gone,omitempty"`
	// Left are files with changes of others that are not in the commit; Shared are in it,
	// and commits of others changed them too.
	Left   []string `json:"left,omitempty"`
	Shared []string `json:"shared,omitempty"`
	Stale  bool     `json:"stale,omitempty"` // a git of others held the index, or was killed: what is staged is older
	// Weakened are the tests that the task's whole diff removes, skips or weakens.
	Weakened []Finding `json:"weakened,omitempty"`
	// Settings are the settings that it changes and nobody has approved. With Away nothing
	// is committed, and a person is asked.
	Settings []Finding     `json:"settings,omitempty"`
	Shown    string        `json:"shown,omitempty"` // the diff of Settings, its beginning
	Took     time.Duration `json:"took"`
}

// Kind implements Fact.
func (Committed) Kind() string { return "committed" }

// About implements Fact.
func (f Committed) About() TaskID { return f.Task }

func (f Committed) fold(s *State, e Event) {
	s.committed(f, e.At)
}

// Shelved is the outcome of Shelve.
type Shelved struct {
	Task  TaskID `json:"task"`
	How   string `json:"how"`
	Stash string `json:"stash,omitempty"` // the stash's commit id
	Ref   string `json:"ref,omitempty"`   // refs/ralph/recovery/..., kept
	Error string `json:"error,omitempty"`
	// As in Committed: what stays on the branch, and in the files.
	Kept     []OtherCommit `json:"kept,omitempty"`
	KeptMore int           `json:"kept_more,omitempty"`
	Apart    []string      `json:"apart,omitempty"`
	Left     []string      `json:"left,omitempty"`
}

// Kind implements Fact.
func (Shelved) Kind() string { return "shelved" }

// About implements Fact.
func (f Shelved) About() TaskID { return f.Task }

func (f Shelved) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.Stash, r.StepError, r.Shelved = 0, f.Stash, f.Error, f.Error == ""
		if f.Error != "" {
			r.StepFailures++
		}
	})
}

// CheckoutFound is a look at the checkout that showed what no agent did: commits, another
// branch, changed files. It is written before the next turn or the commit begins.
type CheckoutFound struct {
	Task    TaskID        `json:"task,omitempty"`
	Head    string        `json:"head"`
	Branch  string        `json:"branch,omitempty"`
	Tree    string        `json:"tree"`
	From    string        `json:"from,omitempty"`    // the branch before, when it is another now
	Commits []OtherCommit `json:"commits,omitempty"` // new on the branch, newest first, at most 20
	More    int           `json:"more,omitempty"`    // and so many
	Gone    bool          `json:"gone,omitempty"`    // the commit before is not in the history any more
	Left    []LeftFile    `json:"left,omitempty"`    // all that are to be left alone, now
	Files   []string      `json:"files,omitempty"`   // of them, those that are new or changed
	Mixed   []string      `json:"mixed,omitempty"`   // changed since a step was cut: taken for the agent's
	// Settings are settings that others have changed, as they are now (S2).
	Settings []LeftFile `json:"settings,omitempty"`
}

// Kind implements Fact.
func (CheckoutFound) Kind() string { return "checkout.found" }

// About implements Fact.
func (CheckoutFound) About() TaskID { return "" }

func (CheckoutFound) fold(*State, Event) {} // of the checkout alone: inCheckout
