package replay

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/policy"
)

// The proof chain: what `ralph verify` finds in a history by itself,
// and what git has to bear out.

// Verified is what a history proves. Broken lists the links that do not hold,
// oldest first; none is a proof.
type Verified struct {
	Facts    int64    `json:"facts"`
	Sessions int      `json:"sessions"`
	Receipts int      `json:"receipts"` // decisions taken again
	Tasks    int      `json:"tasks"`    // counted done by the engine
	ByHand   int      `json:"by_hand"`  // counted done by a person
	Waived   int      `json:"waived"`   // of Tasks: a person let a check pass that was not green
	Merges   int      `json:"merges"`
	Landings int      `json:"landings"`
	Kept     int      `json:"kept"`  // commits of others that were kept where agents worked
	Left     int      `json:"left"`  // commits without files that others had changed
	Older    int      `json:"older"` // decisions by older rules, which today's would take differently
	Broken   []Broken `json:"broken"`
	// PassedOver are the red checks that held up no task that was done, and no merge.
	PassedOver []Passed `json:"passed_over"`

	Claims []Claim `json:"-"`
	// Files are the records of turns, as they were when their facts were written.
	Files []FileClaim `json:"-"`
}

// FileClaim is what the journal says of a file in the records of a turn.
type FileClaim struct {
	Seq  int64
	Task ralph.TaskID
	Path string // relative to the repository
	Sum  string // SHA-256
}

// Passed is a red check that was passed over.
type Passed struct {
	Seq  int64        `json:"seq"`
	Task ralph.TaskID `json:"task"`
	Link string       `json:"link"` // done, merge
	ralph.PassedOver
}

// Broken is a link of the chain that does not hold.
type Broken struct {
	Seq  int64        `json:"seq"` // the fact that says what is not so; 0 when it is none
	Task ralph.TaskID `json:"task,omitempty"`
	Link string       `json:"link"` // chain, decision, outcome, checks, rule, done, merge, landing, commit
	Why  string       `json:"why"`
}

// Claim is what the journal says of a commit that is on the base branch.
type Claim struct {
	Seq      int64
	Commit   string
	Tree     string         // "" when the journal does not say
	Tasks    []ralph.TaskID // its Ralph-Task trailers name no other, and at least one of these; none: there is no such trailer
	Receipts []string       // its Ralph-Receipt trailer is one of these; none: it needs none
}

// Verify follows a history from its first fact. It decides every receipt again, and
// looks that each task that the engine counted done had its signal and green checks
// on the tree that was committed, and that each merge had green checks on its tree.
// The claims are for the caller to hold against git. An error means that the events
// cannot be read at all. events is gone through twice.
func Verify(events iter.Seq[ralph.Event]) (Verified, error) {
	replayed, err := Replay(events, ReplayOptions{})
	if err != nil {
		return Verified{}, err
	}
	v := &verifier{
		out:      Verified{Sessions: replayed.Sessions, Receipts: replayed.Receipts, Broken: []Broken{}, PassedOver: []Passed{}},
		receipts: map[ralph.TaskID][]string{}, proven: map[string]bool{}, trees: map[ralph.TaskID]string{},
		commits: map[string]Claim{}, known: map[string]bool{}, checks: map[ralph.TaskID]ralph.Check{}, files: map[string]FileClaim{}, over: map[string][]ralph.PassedOver{},
	}
	for _, d := range replayed.Differences {
		if d.Rules != 0 {
			v.out.Older++
			continue
		}
		v.broken(d.Seq, d.Task, "decision", "decided: %s; decided again: %s", d.Was, d.Now)
	}
	for e := range events {
		if err := v.look(e); err != nil {
			return Verified{}, err
		}
		v.s.Apply(e)
		v.outcome(e)
	}
	v.out.Facts = v.s.Seq
	for _, path := range slices.Sorted(maps.Keys(v.files)) {
		v.out.Files = append(v.out.Files, v.files[path])
	}
	slices.SortStableFunc(v.out.Broken, func(a, b Broken) int { return int(a.Seq - b.Seq) })
	return v.out, nil
}

// verifier remembers what later facts are held against.
type verifier struct {
	s        ralph.State // before the fact that is looked at
	c        policy.Config
	out      Verified
	receipts map[ralph.TaskID][]string // of its commits
	proven   map[string]bool           // trees whose checks passed
	trees    map[ralph.TaskID]string   // that a task's newest commit holds
	commits  map[string]Claim          // made for a task or a spec, by hash
	known    map[string]bool           // commits that may land
	waiting  []Claim                   // merged, not landed
	checks   map[ralph.TaskID]ralph.Check
	files    map[string]FileClaim          // by path, the newest
	over     map[string][]ralph.PassedOver // by tree, what was passed over at its newest run
}

func (v *verifier) broken(seq int64, task ralph.TaskID, link, format string, args ...any) {
	v.out.Broken = append(v.out.Broken, Broken{Seq: seq, Task: task, Link: link, Why: fmt.Sprintf(format, args...)})
}

func (v *verifier) file(e ralph.Event, task ralph.TaskID, path, sum string) {
	v.files[path] = FileClaim{Seq: e.Seq, Task: task, Path: path, Sum: sum}
}

// whole claims the file with what a fact shortens.
func (v *verifier) whole(e ralph.Event, task ralph.TaskID, w ralph.Whole) {
	if w.Record != "" {
		v.file(e, task, w.Path(), w.Record)
	}
}

// outcome: one that its task was not waiting for is never written (OutcomeFacts); the state is
// that after it.
func (v *verifier) outcome(e ralph.Event) {
	switch e.Fact.(type) {
	case ralph.StepLate, ralph.StepLost: // they say so
		return
	}
	if e.Answers != 0 && v.s.Answering.Receipt != e.Answers {
		v.broken(e.Seq, e.Fact.About(), "outcome", "%s answers receipt %d, and no task was at that step", e.Fact.Kind(), e.Answers)
	}
}

func (v *verifier) look(e ralph.Event) (err error) {
	switch f := e.Fact.(type) {
	case ralph.SessionStarted:
		v.c, err = policy.Decode(f.Config)
	case ralph.StepStarted:
		switch step := f.Step.(type) {
		case ralph.Commit:
			v.receipts[f.Task] = append(v.receipts[f.Task], e.Hash)
		case ralph.Check:
			v.checks[f.Task] = step
		}
	case ralph.TurnEnded:
		for _, file := range f.Files {
			v.file(e, f.Task, path.Join(f.Dir, file.Name), file.Sum)
		}
	case ralph.ChecksRan:
		v.whole(e, f.Task, f.Whole)
		v.ran(e, f)
	case ralph.BaselineRan:
		v.whole(e, f.Task, f.Whole)
	case ralph.RequestAnswered:
		v.ruled(e, f)
	case ralph.Committed:
		v.committed(e, f)
	case ralph.Shelved:
		v.out.Kept += len(f.Kept) + f.KeptMore
	case ralph.TaskEnded:
		if f.Status == ralph.TaskDone {
			v.done(e, f)
		}
	case ralph.IntegrationStarted:
		v.known[f.Tip], v.known[f.From] = true, true
	case ralph.Merged:
		if f.Conflict != nil {
			v.whole(e, f.Task, f.Conflict.Whole)
		}
		if f.Advanced {
			v.advanced(e, f.Task, f)
		}
	case ralph.Advanced:
		if t := v.s.Task(f.Task); t != nil && f.Error == "" && f.Moved == "" && t.Run.Queue.Merged != nil {
			v.advanced(e, f.Task, *t.Run.Queue.Merged)
		}
	case ralph.TaskRolledBack:
		v.known[f.Revert] = f.Revert != ""
	case ralph.Landed:
		v.landed(e, f)
	}
	return err
}

// ran: what is red passes only when the decision to run the checks said how it may be red,
// or a person did of this very tree.
func (v *verifier) ran(e ralph.Event, f ralph.ChecksRan) {
	if !f.Pass {
		return
	}
	v.proven[f.Tree], v.over[f.Tree] = true, f.PassedOver()
	t := v.s.Task(f.Task)
	if t == nil || v.c.Revision < policy.StrictRules { // older rules went by names of commands
		return
	}
	step := v.checks[f.Task]
	for _, r := range f.Results {
		w := t.Run.Waived
		here := w != nil && w.Tree == f.Tree
		switch {
		case r.Pass:
		case !slices.Contains(f.Known, r.Name):
			v.broken(e.Seq, t.ID, "checks", "%s is red, and the checks are said to pass", r.Name)
		case ralph.SameWay(step.Before, r), ralph.SameWay(step.Let, r), here && ralph.SameWay(w.Reds, r):
		case here && slices.Contains(w.Checks, r.Name) && (ralph.IsDiffCheck(r.Name) || r.Name == ralph.CheckCoverage):
		case r.Name == ralph.CheckCoverage && slices.ContainsFunc(step.Let, func(x ralph.RedCheck) bool { return x.Name == r.Name }):
		default:
			v.broken(e.Seq, t.ID, "checks", "%s was passed over, and nobody let it be red in this way", r.Name)
		}
	}
}

// ruled: a rule answers for a person only in what that person answered.
func (v *verifier) ruled(e ralph.Event, f ralph.RequestAnswered) {
	if f.Request.Op != ralph.OpCheck {
		return
	}
	rule := approval.Matching(f.Request, approval.ActiveRules(&v.s, f.Task, e.At))
	if rule == nil || rule.ID != f.By || rule.Verdict != f.Verdict {
		v.broken(e.Seq, f.Task, "rule", "red checks were answered by the rule %s, which says nothing of them", f.By)
	}
}

// passedOver notes the red checks behind something that went through.
func (v *verifier) passedOver(seq int64, task ralph.TaskID, link string, list []ralph.PassedOver) {
	for _, p := range list {
		v.out.PassedOver = append(v.out.PassedOver, Passed{seq, task, link, p})
	}
}

// committed notes a commit. One that an agent made by itself carries no receipt.
func (v *verifier) committed(e ralph.Event, f ralph.Committed) {
	t := v.s.Task(f.Task)
	if t == nil || f.Error != "" || f.Commit == "" {
		return
	}
	v.trees[t.ID] = f.Tree
	claim := Claim{Seq: e.Seq, Commit: f.Commit, Tree: f.Tree}
	inPlace := t.Run.Worktree.Dir == "" && v.s.Plan.Integration == nil
	before := t.Run.Worktree.Head
	if inPlace && v.s.Job != nil {
		before = v.s.Job.Head
	}
	v.out.Kept += len(f.Kept) + f.KeptMore
	if slices.ContainsFunc(f.Left, func(path string) bool { return !v.s.Checkout.ByChecks(path) }) {
		v.out.Left++
	}
	if f.Commit != before && !f.Nothing {
		claim.Receipts = v.receipts[t.ID]
		if t.Kind != ralph.KindLand {
			claim.Tasks = []ralph.TaskID{t.ID}
		}
		if t.Kind == ralph.KindResolve {
			claim.Tasks = append(claim.Tasks, t.Parent)
		}
	}
	v.commits[f.Commit] = claim
	if inPlace {
		v.out.Claims = append(v.out.Claims, claim)
	}
}

// done: the signal, and green checks on exactly the tree that was committed.
func (v *verifier) done(e ralph.Event, f ralph.TaskEnded) {
	t := v.s.Task(f.ID)
	if t == nil || !t.TakesSlot() {
		return
	}
	if f.BasedOnSeq == 0 {
		v.out.ByHand++
		return
	}
	v.out.Tasks++
	r := t.Run
	switch tree := v.trees[t.ID]; {
	case t.Responded(): // it was asked something, and had no turn
	case !claimsDone(t):
		v.broken(e.Seq, t.ID, "done", "counted done without the signal COMPLETE")
	case !policy.Checked(t, v.c):
	case r.Checks == nil || !r.Checks.Pass:
		v.broken(e.Seq, t.ID, "done", "counted done without green checks")
	case v.c.Isolated && r.Commit != "" && tree != "" && tree != r.Checks.Tree && !v.proven[tree]:
		v.broken(e.Seq, t.ID, "done", "its commit holds tree %.9s, the checks passed on tree %.9s", tree, r.Checks.Tree)
	default:
		if policy.Waived(t) {
			v.out.Waived++ // its waiver is folded from a person's answer, or from a rule made of one
		}
		v.passedOver(e.Seq, t.ID, "done", r.Checks.PassedOver())
	}
}

// claimsDone reports whether somebody says that the task is done: its agent in the last turn, of
// a thread also before a review, or the decision to stop a thread.
func claimsDone(t *ralph.Task) bool {
	if th := t.Run.Thread; th != nil {
		return th.Claimed || th.Decision != nil && th.Decision.Action == ralph.ThenStop && th.Decision.Stop == ""
	}
	return t.Run.Last != nil && t.Run.Last.Signal.Kind == ralph.SignalComplete
}

// advanced: green checks on exactly the merged tree, or a tree proven before.
func (v *verifier) advanced(e ralph.Event, stage ralph.TaskID, m ralph.Merged) {
	if m.How == "nothing" || m.Commit == "" {
		return
	}
	v.out.Merges++
	v.known[m.Commit] = true
	if v.c.Checks && !v.proven[m.Tree] {
		v.broken(e.Seq, stage, "merge", "%.9s was merged, but no checks passed on its tree %.9s", m.Commit, m.Tree)
	}
	if v.c.Checks {
		v.passedOver(e.Seq, stage, "merge", v.over[m.Tree])
	}
	claim := Claim{Seq: e.Seq, Commit: m.Commit, Tree: m.Tree, Tasks: m.Members}
	for _, id := range m.Members {
		t := v.s.Task(id)
		if t == nil {
			continue
		}
		if made, ok := v.commits[t.Run.Commit]; ok {
			v.waiting = append(v.waiting, made)
		}
		// A merge carries the receipt of the work that it brings, or where an agent
		// made the commit itself, that commit.
		claim.Receipts = append(claim.Receipts, v.receipts[id]...)
		claim.Receipts = append(claim.Receipts, t.Run.Commit)
	}
	if m.How == "merge" {
		v.waiting = append(v.waiting, claim)
	}
}

// landed: only what was merged, or the one commit of a spec.
func (v *verifier) landed(e ralph.Event, f ralph.Landed) {
	if f.How == "" {
		return
	}
	v.out.Landings++
	claim, one := v.commits[f.To]
	switch {
	case one && v.c.Commit:
		v.out.Claims = append(v.out.Claims, claim)
		v.waiting = nil // they became this one commit
	case v.known[f.To]:
		v.out.Claims = append(v.out.Claims, v.waiting...)
		v.waiting = nil
	default:
		v.broken(e.Seq, f.Task, "landing", "%.9s landed, which no merge made", f.To)
	}
}

// Bear holds a claim against the commit that git has, and returns the links that
// do not hold. tasks and receipts are the values of its trailers.
func (c Claim) Bear(tree string, tasks, receipts []string) []Broken {
	var out []Broken
	broken := func(format string, args ...any) {
		out = append(out, Broken{Seq: c.Seq, Link: "commit", Why: fmt.Sprintf("commit %.9s ", c.Commit) + fmt.Sprintf(format, args...)})
	}
	if c.Tree != "" && tree != c.Tree {
		broken("holds tree %.9s, the journal says %.9s", tree, c.Tree)
	}
	if len(c.Receipts) > 0 && !slices.ContainsFunc(receipts, func(r string) bool { return slices.Contains(c.Receipts, r) }) {
		broken("carries no Ralph-Receipt of this journal")
	}
	if len(c.Tasks) == 0 {
		return out
	}
	if len(tasks) == 0 {
		broken("carries no Ralph-Task")
	}
	for _, id := range tasks {
		if !slices.Contains(c.Tasks, ralph.TaskID(id)) {
			broken("is for task %s, the journal says for %s", id, c.Tasks[0])
		}
	}
	return out
}
