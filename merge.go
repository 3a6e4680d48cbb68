package ralph

import (
	"slices"
	"time"
)

// ApprovalMerge is the kind of an approval before a merge that no agent can or may make.
const ApprovalMerge = "merge"

// CheckConflicts is the name of the check of a resolve that is red while conflicts
// are left in the files.
const CheckConflicts = "conflicts"

// isolated reports whether a task works in a worktree of its own.
func (s *State) isolated(id TaskID) bool {
	t := s.Task(id)
	return t != nil && (t.Run.Worktree.Dir != "" || s.Plan.Integration != nil && t.Kind != KindPrepare)
}

// placed folds a worktree that was made ready, or could not be.
func (s *State) placed(f Prepared, at time.Time) {
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.StepError = 0, f.Error
		r.Spent += f.Took
		p := &r.Worktree
		if f.Error != "" {
			p.Fails++
			r.LastAt = at
			return
		}
		p.Ready, p.Fails, p.Conflicts = true, 0, f.Conflicts
		p.Branch, p.Head = f.Branch, f.Head
		if f.Base != "" {
			p.Base = f.Base
		}
		if r.Last == nil || r.Tree == "" {
			r.Tree = f.Tree
		}
		r.Stash = "" // it was given back
	})
}

func (s *State) editIntegration(edit func(*Integration)) {
	if s.Plan.Integration != nil {
		c := *s.Plan.Integration
		edit(&c)
		s.Plan.Integration = &c
	}
}

// merged folds an attempt to merge.
func (s *State) merged(f Merged) {
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.StepError, r.Queue.Merged, r.Checks = 0, f.Error, &f, nil
		r.Tree = f.Tree
		if f.Error != "" || f.Moved != "" {
			r.StepFailures++
			r.Queue.Merged = nil
		}
	})
	s.tipMoved(f.Moved)
	if f.Conflict != nil {
		s.count(func(t *Totals) { t.Conflicts++ })
	}
	if f.Advanced {
		s.advanced(f.Task, f.Commit, f.Tree)
	}
}

// tipMoved takes up that the integration branch is elsewhere than was known.
func (s *State) tipMoved(to string) {
	if to != "" {
		s.editIntegration(func(i *Integration) { i.Tip, i.Tree = to, "" })
	}
}

// advanced moves the tip; the stage's members are merged.
func (s *State) advanced(stage TaskID, commit, tree string) {
	s.editIntegration(func(i *Integration) {
		i.Tip = commit
		if tree != "" {
			i.Tree = tree
		}
		if t := s.Task(stage); t != nil {
			i.Waiting += len(t.Members)
			if len(t.Members) == 0 && i.Moved != "" {
				i.Landed, i.Moved = i.Moved, "" // this merge was the base's own commits
			}
		}
	})
	t := s.Task(stage)
	if t == nil {
		return
	}
	s.editTask(stage, func(t *Task) { t.Run.InFlight, t.Run.Queue.State, t.Run.Queue.Commit = 0, MergeMerged, commit })
	s.keepBaseline(s.mergedBaseline(t, commit, tree))
	for _, id := range t.Members {
		s.editTask(id, func(m *Task) {
			q := &m.Run.Queue
			q.State, q.Commit, q.Merged = MergeMerged, commit, nil
			s.count(func(c *Totals) {
				if q.Resolves > 0 {
					c.MergesResolved++
				} else {
					c.MergesClean++
				}
			})
		})
	}
}

// mergedBaseline is what the checks said of a merge: what was passed over is red there.
func (s *State) mergedBaseline(stage *Task, commit, tree string) Baselined {
	checks := stage.Run.Checks
	for _, id := range stage.Members { // no check ran: the tree is one that a member was checked on
		if m := s.Task(id); m != nil && checks == nil {
			checks = m.Run.Checks
		}
	}
	b := Baselined{Commit: commit, Tree: tree}
	if checks != nil {
		b.Checks, b.Covered = commandsOf(checks.Results), PercentOf(checks.Results)
		b.Reds = redsOf(checks.Results, func(r CheckResult) bool { return slices.Contains(checks.Known, r.Name) })
	}
	return b
}

// landed folds what came of bringing the base branch up to date.
func (s *State) landed(f Landed, e Event) {
	s.editTask(f.Task, func(t *Task) {
		t.Run.InFlight, t.Run.StepError = 0, f.Error
		t.Run.LastAt = e.At
		if f.Error != "" {
			t.Run.StepFailures++
		}
		if f.Moved != "" {
			t.Run.Commit, t.Run.CommitKey = "", "" // the one commit has to be made again, on the new base
		}
	})
	s.editIntegration(func(i *Integration) {
		i.LandedAt, i.Held, i.Moved = e.At, f.Dirty, f.Moved
		switch {
		case f.How != "":
			if f.Task == "" && i.Tip == f.From { // a rollback, which no stage lands: the tip goes along
				i.Tip, i.Tree = f.To, ""
			}
			i.Landed = f.To
			i.Waiting -= i.Landing // what was merged meanwhile is not on it
			if f.To == i.Tip {
				i.Waiting = 0
			}
		case f.Error != "":
			i.Held = []string{f.Error}
		}
		i.Landing, i.HeldTries = 0, i.HeldTries+1
		if len(i.Held) == 0 {
			i.HeldTries = 0
		}
	})
}

// mergeEnded: a batch that does not merge or is red goes again in halves; a single
// task is to be resolved.
func (s *State) mergeEnded(stage *Task, f TaskEnded) {
	if f.Status == TaskDone {
		return
	}
	if len(stage.Members) == 0 {
		s.editIntegration(func(i *Integration) {
			i.Moved, i.Denied, i.Held = "", f.Why.Text, []string{f.Why.Text}
		})
	}
	for _, id := range stage.Members {
		s.editTask(id, func(m *Task) {
			q := &m.Run.Queue
			if q.State == MergeMerged || m.Status != TaskDone { // a person sent it back or left it out
				return
			}
			if n := len(stage.Members); n > 1 {
				q.Most = max(1, n/2)
				return
			}
			q.Merged = stage.Run.Queue.Merged
			if q.ResolvedAt != "" && q.Merged != nil && q.Merged.From == q.ResolvedAt {
				q.Tries++
			}
			q.State = MergeRed
			if q.Merged != nil && q.Merged.Conflict != nil {
				q.State = MergeConflict
			}
			m.Run.Red = stage.Run.Red
			if f.Status != TaskFailed { // a person ended it
				q.GaveUp = f.Why.Text
			}
		})
	}
}

// resolveEnded: done, and the branch goes into the queue again (its merge.queued
// follows); otherwise a person has to look.
func (s *State) resolveEnded(stage *Task, f TaskEnded) {
	s.editTask(stage.Parent, func(t *Task) {
		if t.Status != TaskDone {
			return
		}
		if f.Status == TaskDone {
			t.Run.Queue.ResolvedAt = stage.Run.Worktree.Base
			t.Run.Queue.Weakened = stage.Run.Queue.Weakened
			t.Run.Queue.Settings, t.Run.Queue.Shown = stage.Run.Queue.Settings, stage.Run.Queue.Shown
			if w := stage.Run.Waived; w != nil {
				t.Run.Queue.Let = append(slices.Clone(t.Run.Queue.Let), w.Reds...)
			}
			t.Run.Queue.Approved = false // nobody has looked at what came of it
			return
		}
		t.Run.Queue.GaveUp = f.Why.Text
	})
}

// mergeAnswered folds a person's word on a merge: approved, it is tried again as
// it is now; what denial means is said by the facts beside it.
func (s *State) mergeAnswered(gate *Approval, f Answered) {
	if f.Verdict != Approved {
		return
	}
	s.editTask(gate.Task, func(t *Task) {
		t.Run.Queue.Merged, t.Run.Checks, t.Run.Queue.Approved, t.Run.StepFailures = nil, nil, true, 0
	})
	s.editTask(gate.About, func(t *Task) {
		if t.Status != TaskDone { // sent back or left out meanwhile
			return
		}
		q := &t.Run.Queue
		s.sawSettings(q.Settings)
		q.State, q.Merged, q.Approved, q.GaveUp = MergeWaiting, nil, true, ""
	})
}

// The facts of work in worktrees: the integration branch, the merge queue, what
// people do with tasks that ended badly.

// IntegrationStarted says which branch a job's work is merged into before it
// lands on the base branch.
type IntegrationStarted struct {
	Branch string `json:"branch"` // without refs/heads/
	Base   string `json:"base"`   // the base branch; "" for a detached HEAD
	From   string `json:"from"`   // the base's commit
	Tip    string `json:"tip"`    // From, or further on when an earlier job's merges have not landed
	Tree   string `json:"tree"`
	// Out: the base is a branch of the spec's own, from which it goes on to people.
	Out Outgoing `json:"out,omitzero"`
}

// Kind implements Fact.
func (IntegrationStarted) Kind() string { return "integration.started" }

// About implements Fact.
func (IntegrationStarted) About() TaskID { return "" }

func (f IntegrationStarted) fold(s *State, _ Event) {
	old := s.Plan.Integration
	s.Plan.Integration = &Integration{Branch: f.Branch, Base: f.Base, Tip: f.Tip, Tree: f.Tree, Landed: f.From, Out: f.Out}
	if old != nil && f.Tip != f.From {
		s.Plan.Integration.Waiting = old.Waiting
	}
}

// MergeQueued puts a done task into the merge queue (B-006).
type MergeQueued struct {
	Task   TaskID `json:"task"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// Kind implements Fact.
func (MergeQueued) Kind() string { return "merge.queued" }

// About implements Fact.
func (f MergeQueued) About() TaskID { return f.Task }

func (f MergeQueued) fold(s *State, e Event) {
	s.editTask(f.Task, func(t *Task) {
		if t.Status != TaskDone {
			return // sent back meanwhile: its new attempt must not end on the old commit
		}
		t.Run.Queue.State, t.Run.Queue.Since, t.Run.Queue.Merged = MergeWaiting, e.Seq, nil
		t.Run.Worktree.Branch, t.Run.Commit = f.Branch, f.Commit
	})
}

// Merged is the outcome of Merge. Without Conflict and Error there is a commit;
// it counts when the integration branch has moved to it.
type Merged struct {
	Task     TaskID        `json:"task"` // the stage
	Members  []TaskID      `json:"members"`
	From     string        `json:"from"` // the tip before
	Commit   string        `json:"commit,omitempty"`
	Tree     string        `json:"tree,omitempty"`
	How      string        `json:"how,omitempty"` // merge, fast-forward, nothing
	Advanced bool          `json:"advanced,omitempty"`
	Conflict *Conflict     `json:"conflict,omitempty"`
	At       TaskID        `json:"at,omitempty"`    // the member that does not merge
	Moved    string        `json:"moved,omitempty"` // the integration branch is at this commit, not at From
	Error    string        `json:"error,omitempty"`
	Took     time.Duration `json:"took"`
}

// Kind implements Fact.
func (Merged) Kind() string { return "merged" }

// About implements Fact.
func (f Merged) About() TaskID { return f.Task }

func (f Merged) fold(s *State, _ Event) {
	s.merged(f)
}

// Advanced says that the integration branch is at a merge whose checks passed.
type Advanced struct {
	Task   TaskID        `json:"task"`
	Commit string        `json:"commit"`
	Tree   string        `json:"tree,omitempty"`
	Moved  string        `json:"moved,omitempty"` // it is at this commit instead: nothing was done
	Error  string        `json:"error,omitempty"`
	Took   time.Duration `json:"took"`
}

// Kind implements Fact.
func (Advanced) Kind() string { return "advanced" }

// About implements Fact.
func (f Advanced) About() TaskID { return f.Task }

func (f Advanced) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) {
		t.Run.InFlight, t.Run.StepError = 0, f.Error
		if f.Moved != "" || f.Error != "" {
			t.Run.Queue.Merged, t.Run.Checks = nil, nil // from the start, on the new tip
			t.Run.StepFailures++
		}
	})
	s.tipMoved(f.Moved)
	if f.Moved == "" && f.Error == "" {
		s.advanced(f.Task, f.Commit, f.Tree)
	}
}

// Landed is the outcome of Land.
type Landed struct {
	Task  TaskID        `json:"task"`
	From  string        `json:"from"`
	To    string        `json:"to"`
	How   string        `json:"how,omitempty"`   // fast-forward, branch, already; "" when it did not land
	Dirty []string      `json:"dirty,omitempty"` // files that a person has changed in the checkout: it is not touched
	Moved string        `json:"moved,omitempty"` // the base branch went on to this commit: merge it first
	Error string        `json:"error,omitempty"`
	Took  time.Duration `json:"took"`
	// Behind are submodules of the checkout that stay at the commit they were at.
	Behind []string `json:"behind,omitempty"`
}

// Kind implements Fact.
func (Landed) Kind() string { return "landed" }

// About implements Fact.
func (f Landed) About() TaskID { return f.Task }

func (f Landed) fold(s *State, e Event) {
	s.landed(f, e)
	if f.How != "" {
		s.wentOut(f.To)
	}
}

// CleanedUp says what was taken away at the end of a session.
type CleanedUp struct {
	Removed  []string `json:"removed,omitempty"`  // worktrees
	Kept     []string `json:"kept,omitempty"`     // worktrees and branches that still hold work
	Branches []string `json:"branches,omitempty"` // deleted, all of them merged
	Saved    []Saved  `json:"saved,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// Kind implements Fact.
func (CleanedUp) Kind() string { return "cleaned" }

// About implements Fact.
func (CleanedUp) About() TaskID { return "" }

func (CleanedUp) fold(*State, Event) {} // it tells, and changes nothing

// SavedWork notes something that was put under a recovery ref outside of a step
// that says so itself.
type SavedWork struct {
	Task  TaskID  `json:"task,omitempty"`
	Saved []Saved `json:"saved"`
}

// Kind implements Fact.
func (SavedWork) Kind() string { return "saved" }

// About implements Fact.
func (f SavedWork) About() TaskID { return f.Task }

func (SavedWork) fold(*State, Event) {} // it tells, and changes nothing

// Brief shortens both sides of the conflicts to what a fact holds.
func (c Conflict) Brief() (brief Conflict, shortened bool) {
	n, total := 0, 0
	for _, f := range c.Files {
		if total += len(f.Marked); f.Marked != "" {
			n++
		}
	}
	if total <= maxOutput {
		return c, false
	}
	brief = c
	brief.Files = make([]ConflictFile, len(c.Files))
	for i, f := range c.Files {
		f.Marked, f.Brief = Shorten(f.Marked, maxOutput/n)
		brief.Files[i] = f
	}
	return brief, true
}

// Worktree is where a task works when it has a worktree of its own (B-005).
type Worktree struct {
	Slot   int    `json:"slot,omitempty"`   // from 1; 0: it holds none now
	Dir    string `json:"dir,omitempty"`    // the worktree, relative to the repository; its own until the work is done
	Branch string `json:"branch,omitempty"` // ralph/<task>
	Base   string `json:"base,omitempty"`   // commit at which the branch began
	Head   string `json:"head,omitempty"`   // newest commit on it that is known
	Ready  bool   `json:"ready,omitempty"`  // made ready since the task was started
	Fails  int    `json:"fails,omitempty"`  // times in a row that it could not be made ready
	// Conflicts are the files in which a resolve finds both sides.
	Conflicts []string `json:"conflicts,omitempty"`
}

// Queue is a task's way through the merge queue. On a merge stage it is
// the newest attempt; the members have the rest.
type Queue struct {
	State    MergeState `json:"state,omitempty"`
	Since    int64      `json:"since,omitempty"`    // seq of merge.queued: the order of the queue
	Most     int        `json:"most,omitempty"`     // at most so many in its next batch, after a red one; 0: merge.batch
	Merged   *Merged    `json:"merged,omitempty"`   // the newest attempt to merge
	Resolves int        `json:"resolves,omitempty"` // how often an agent was asked to resolve it
	// ResolvedAt is the tip that the newest resolve brought in, and Tries how often the
	// merge did not work although nothing had come after it: only these use up
	// merge.conflict_retries, not the races that a resolve lost to other merges.
	ResolvedAt string    `json:"resolved_at,omitempty"`
	Tries      int       `json:"tries,omitempty"`
	GaveUp     string    `json:"gave_up,omitempty"`  // why no agent resolves it any more
	Weakened   []Finding `json:"weakened,omitempty"` // tests that its diff removes, skips or weakens
	Settings   []Finding `json:"settings,omitempty"` // settings that its diff changes (S2)
	Shown      string    `json:"shown,omitempty"`    // how, its beginning
	Approved   bool      `json:"approved,omitempty"` // a person looked at it and said: merge
	// Let is how checks were red that a person let pass while its merge was resolved.
	Let    []RedCheck `json:"let,omitempty"`
	Commit string     `json:"commit,omitempty"` // merged: the commit on the integration branch
}

// MergeState is where a task's work is on its way to the base branch. A task is
// done at once; what depends on it waits for the merge.
type MergeState string

// The merge states; "" is a task with nothing to merge.
const (
	MergeWaiting  MergeState = "queued"
	MergeConflict MergeState = "conflict" // does not merge: to be resolved
	MergeRed      MergeState = "red"      // merged, the checks fail: to be resolved
	MergeMerged   MergeState = "merged"
)

// Conflict is a merge that git cannot make.
type Conflict struct {
	Base   string         `json:"base,omitempty"` // commits
	Ours   string         `json:"ours"`
	Theirs string         `json:"theirs"`
	Files  []ConflictFile `json:"files"`
	// Whole is where Files lie whole, where they are shortened here.
	Whole
}

// ConflictFile is one file of a conflict, with both sides between markers.
type ConflictFile struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"` // content, add/add, modify/delete, rename, binary, submodule, ...
	Marked string `json:"marked,omitempty"`
	// Brief are the bytes left out of Marked here: the file has them that the fact names.
	Brief int64 `json:"brief,omitempty"`
}

// Saved is work that was put where nothing removes it.
type Saved struct {
	Ref    string `json:"ref"`
	Commit string `json:"commit"`
	What   string `json:"what"`
}

// Integration is the branch that tasks in worktrees are merged into. The base
// branch follows it, when everything on it has passed its checks.
type Integration struct {
	Branch   string    `json:"branch"`
	Base     string    `json:"base,omitempty"` // the base branch; "" for a detached HEAD
	Tip      string    `json:"tip"`
	Tree     string    `json:"tree,omitempty"`
	Landed   string    `json:"landed"` // the base's commit, as far as is known
	LandedAt time.Time `json:"landed_at,omitzero"`
	// Held says why it does not land: files changed in the checkout, or an error.
	Held []string `json:"held,omitempty"`
	// HeldTries are the landings in a row that were held: each makes the next one rarer.
	HeldTries int `json:"held_tries,omitempty"`
	// Waiting counts the tasks that are merged and not landed yet; Landing are those
	// of them that the landing under way brings along.
	Waiting int `json:"waiting,omitempty"`
	Landing int `json:"landing,omitempty"`
	// Denied: a person said that it shall not be brought together with the base.
	Denied string `json:"denied,omitempty"`
	// Moved: the base branch went on to this commit, which has to be merged first.
	Moved string `json:"moved,omitempty"`
	// Out says where the base branch goes when it is one of the spec's own.
	Out Outgoing `json:"out,omitzero"`
}
