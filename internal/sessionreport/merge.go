package sessionreport

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// addMerge folds the merge queue, landing, and what people do with tasks.
func (d *draft) addMerge(e ralph.Event) {
	at := e.At
	switch f := e.Fact.(type) {
	case ralph.MergeQueued:
		if r := d.member(f.Task); r.queuedAt.IsZero() {
			r.queuedAt = at
		}
	case ralph.Merged:
		d.mergeTried(f, at)
	case ralph.Advanced:
		x := d.stages[f.Task]
		if x == nil || f.Moved != "" {
			return
		}
		x.took += f.Took
		if f.Error != "" {
			d.merges = append(d.merges, MergeRow{At: at, Members: x.members, Outcome: "error", Error: report.OneLine(f.Error)})
			return
		}
		d.mergeDone(f.Task, x, f.Commit, at)
	case ralph.Landed:
		d.landed(f, at)
	case ralph.SavedWork:
		if f.Task != "" {
			d.savedWork(d.member(f.Task), f.Saved, at)
		}
	default:
		d.addRecovery(e)
	}
}

// addRecovery folds what people do with tasks (B-076 to B-082).
func (d *draft) addRecovery(e ralph.Event) {
	at := e.At
	switch f := e.Fact.(type) {
	case ralph.TaskRetried:
		d.again(f.ID).note(at, "B-076", "a person gave it another try")
	case ralph.TaskRejected:
		r := d.member(f.ID)
		r.queuedAt = time.Time{}
		r.note(at, "", "sent back: "+f.Reason)
	case ralph.SkipWanted:
		d.member(f.ID).note(at, "B-065", "a person wants it left out: "+f.Reason)
	case ralph.TaskRolledBack:
		r := d.again(f.ID)
		words := "a person undid its work"
		if f.Revert != "" {
			words += ", by the commit " + text.ShortHash(f.Revert)
		}
		r.Commit, r.Findings = "", nil
		r.note(at, "B-078", words)
		d.savedWork(r, f.Saved, at)
	case ralph.TaskCleaned:
		r := d.member(f.ID)
		r.note(at, "B-079", "a person took its worktree away")
		d.savedWork(r, f.Saved, at)
	case ralph.TaskExtended:
		d.member(f.ID).note(at, "B-082", "a person gave it "+f.Words())
	case ralph.TaskMessaged:
		d.member(f.ID).note(at, "B-021", "a person told its agent: "+report.OneLine(f.Text))
	case ralph.TaskAssigned:
		d.member(f.ID).note(at, "B-091", "a person chose it to be next")
	}
}

// again is the row of a task that a person made pending once more.
func (d *draft) again(id ralph.TaskID) *row {
	r := d.member(id)
	d.countEnd(r, ralph.TaskPending)
	r.Retries++
	d.retries++
	r.queuedAt = time.Time{}
	return r
}

// mergeTried is an attempt to merge.
func (d *draft) mergeTried(f ralph.Merged, at time.Time) {
	x := d.stages[f.Task]
	if x == nil {
		x = &stage{kind: ralph.KindMerge, members: f.Members}
		d.stages[f.Task] = x
	}
	x.took += f.Took
	x.how, x.misfit = f.How, f.Conflict != nil
	switch {
	case f.Error != "":
		d.merges = append(d.merges, MergeRow{At: at, Members: f.Members, Outcome: "error", Error: report.OneLine(f.Error)})
	case f.Conflict != nil:
		d.conflict(f, x, at)
	case f.Advanced:
		d.mergeDone(f.Task, x, f.Commit, at)
	}
}

func (d *draft) conflict(f ralph.Merged, x *stage, at time.Time) {
	d.totals.Conflicts++
	files := report.ConflictPaths(f.Conflict)
	d.mark(f.Task, "conflict", strings.Join(files, ", "), at)
	d.merges = append(d.merges, MergeRow{
		At: at, Members: f.Members, Outcome: "conflict", Misfit: f.At, Files: files, TookSeconds: x.took.Seconds(),
	})
	who := f.At
	if who == "" && len(f.Members) == 1 {
		who = f.Members[0]
	}
	if who == "" {
		return
	}
	r := d.member(who)
	for _, p := range files {
		if !slices.Contains(r.Conflicts, p) {
			r.Conflicts = append(r.Conflicts, p)
		}
	}
	words := "conflicts with what is merged, in " + text.List(files, 5)
	if n := len(f.Members); n > 1 {
		words = fmt.Sprintf("in a batch of %d it conflicts in %s", n, text.List(files, 5))
	}
	r.note(at, "X-72", words)
}

// mergeDone is a merge that counts.
func (d *draft) mergeDone(id ralph.TaskID, x *stage, commit string, at time.Time) {
	d.mark(id, "merged", text.ShortHash(commit), at)
	outcome := "clean"
	if x.how == "fast-forward" {
		outcome = x.how
	}
	longest := 0.0
	for _, m := range x.members {
		r := d.member(m)
		r.MergedAt, r.MergeCommit, r.MergeHow = at, commit, outcome
		if r.Resolves > 0 {
			r.MergeHow = "resolved"
			d.totals.MergesResolved++
		} else {
			d.totals.MergesClean++
		}
		if !r.queuedAt.IsZero() {
			wait := at.Sub(r.queuedAt).Seconds()
			d.waits = append(d.waits, wait)
			longest = max(longest, wait)
		}
		r.queuedAt = time.Time{}
		d.merged++
	}
	if slices.ContainsFunc(x.members, func(m ralph.TaskID) bool { return d.byID[m].MergeHow == "resolved" }) {
		outcome = "resolved"
	}
	d.merges = append(d.merges, MergeRow{
		At: at, Members: x.members, Outcome: outcome, Commit: commit, WaitSeconds: longest, TookSeconds: x.took.Seconds(), PassedOver: x.passedOver,
	})
}

// stageEnded is the end of a stage: a merge that is red shows only here.
func (d *draft) stageEnded(f ralph.TaskEnded, at time.Time) {
	x := d.stages[f.ID]
	if x == nil || !f.Status.Ended() {
		return
	}
	delete(d.stages, f.ID)
	switch {
	case x.kind == ralph.KindMerge && f.Status == ralph.TaskDone:
		d.outcome(f.ID, outcomeMerged)
	case x.kind == ralph.KindMerge && x.misfit:
		d.outcome(f.ID, outcomeConflict)
	case x.kind == ralph.KindMerge && f.Status == ralph.TaskFailed:
		d.outcome(f.ID, outcomeRed)
		d.merges = append(d.merges, MergeRow{At: at, Members: x.members, Outcome: "red", Checks: x.red, TookSeconds: x.took.Seconds()})
		d.noteRed(x, f.Why, at)
	case x.kind == ralph.KindResolve && f.Status != ralph.TaskDone && x.parent != "":
		d.member(x.parent).note(at, f.Why.Rule, "no agent could mend its merge: "+f.Why.Text)
	case x.kind == ralph.KindResolve && x.parent != "":
		d.member(x.parent).note(at, f.Why.Rule, "an agent mended its merge")
	}
}

func (d *draft) noteRed(x *stage, why ralph.Why, at time.Time) {
	words := why.Text
	if n := len(x.members); n > 1 {
		words = fmt.Sprintf("in a batch of %d: %s; merged again in halves", n, words)
	}
	for _, m := range x.members {
		d.member(m).note(at, why.Rule, words)
	}
}

// outcome says how the newest span of a stage ended, once that is known.
func (d *draft) outcome(id ralph.TaskID, outcome string) {
	for i := len(d.spans) - 1; i >= 0; i-- {
		if d.spans[i].stage == id {
			d.spans[i].Outcome = outcome
			return
		}
	}
}

func (d *draft) landed(f ralph.Landed, at time.Time) {
	held := f.Dirty
	if f.Error != "" {
		held = []string{report.OneLine(f.Error)}
	}
	waits := len(d.landings) > 0 && len(d.landings[len(d.landings)-1].Held) > 0 && d.landings[len(d.landings)-1].To.IsZero()
	if waits && !slices.Equal(d.landings[len(d.landings)-1].Held, held) {
		d.landings[len(d.landings)-1].To = at
		waits = false
	}
	switch {
	case f.How != "" && f.How != "already":
		d.landings = append(d.landings, LandingRow{At: at, From: f.From, Tip: f.To, How: f.How, Tasks: d.merged})
		d.marks = append(d.marks, Mark{At: at, Lane: "merge", Kind: "landed", Text: text.ShortHash(f.To)})
		d.merged = 0
	case len(held) > 0 && !waits:
		d.landings = append(d.landings, LandingRow{At: at, From: f.From, Tip: f.To, Held: held})
	}
}
