package sessionreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxPoints bounds the points of spending: a curve needs no more.
const maxPoints = 500

// result puts together what was gathered. current: nothing came after it, so what
// the state says now is so.
func (d *draft) result(all, current bool) *Result {
	out := &Result{
		Version: ResultVersion, Scope: "session", Facts: d.facts, Sessions: d.sessions(), Tasks: d.taskRows(),
		Spans: d.spansNow(), Marks: report.OrEmpty(d.marks), Merges: report.OrEmpty(d.merges), Landings: report.OrEmpty(d.landings), Outside: d.outside, Services: d.servicesNow(),
		Gates: d.gatesNow(), Pauses: d.pausesNow(), Limits: report.OrEmpty(d.limits), Errors: report.OrEmpty(d.errors),
		Rules: slices.Clone(report.OrEmpty(d.rules)), Spending: thin(d.points, maxPoints), Needs: []NeedRow{},
	}
	if all {
		out.Scope = "all"
	}
	slices.SortStableFunc(out.Rules, func(a, b RuleRow) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), strings.Compare(a.Rule, b.Rule))
	})
	out.Figures = d.figures(out)
	if current {
		out.Needs = d.needsNow(out.Tasks)
	}
	return out
}

// sessions are the heads with the time of a session that still runs.
func (d *draft) sessions() []SessionHead {
	out := make([]SessionHead, len(d.heads))
	for i, h := range d.heads {
		out[i] = *h
		out[i].stretch(d.facts.To)
	}
	return out
}

// spansNow are the spans; what is at work goes up to the newest fact.
func (d *draft) spansNow() []Span {
	out := slices.Clone(report.OrEmpty(d.spans))
	for i := range out {
		if out[i].To.IsZero() {
			out[i].To = d.facts.To
		}
	}
	return out
}

func (d *draft) gatesNow() []GateRow {
	out := slices.Clone(report.OrEmpty(d.gates))
	for i := range out {
		if out[i].EndedAt.IsZero() {
			out[i].WaitSeconds = d.facts.To.Sub(out[i].AskedAt).Seconds()
		}
	}
	return out
}

func (d *draft) pausesNow() []PauseRow {
	out := slices.Clone(report.OrEmpty(d.pauses))
	for i := range out {
		if out[i].To.IsZero() {
			out[i].Seconds = d.facts.To.Sub(out[i].From).Seconds()
		}
	}
	return out
}

// thin keeps at most n points, the first and the last among them. Of a curve that
// only rises that leaves the shape.
func thin(points []Point, n int) []Point {
	if len(points) <= n {
		return slices.Clone(report.OrEmpty(points))
	}
	out := make([]Point, 0, n)
	for i := range n {
		out = append(out, points[i*(len(points)-1)/(n-1)])
	}
	return out
}

func (d *draft) taskRows() []TaskRow {
	if d.state != nil {
		for _, t := range d.state.Plan.Tasks {
			if r := d.byID[t.ID]; r != nil && !r.frozen {
				r.setTask(t)
			}
		}
	}
	out := make([]TaskRow, 0, len(d.rows))
	for _, r := range d.rows {
		if r.touched || !r.replaced {
			out = append(out, d.taskRow(r))
		}
	}
	return out
}

// taskRow is what is so of a task at the end, beside what was gathered on the way.
func (d *draft) taskRow(r *row) TaskRow {
	x := r.TaskRow
	x.Trail, x.Cost = r.trail(), report.Cents(r.Cost)
	t := r.task
	if t == nil {
		x.Why = "it is in the plan no more"
		return x
	}
	q := t.Run.Queue
	x.Status, x.Reason, x.Merge = t.Status, report.OneLine(t.Run.Reason), q.State
	x.StartedAt, x.EndedAt = t.Run.StartedAt, t.Run.EndedAt
	x.Commit, x.NothingToChange = cmp.Or(x.Commit, t.Run.Commit), t.NothingToChange()
	x.Worktree, x.Branch = t.Run.Worktree.Dir, t.Run.Worktree.Branch
	if q.State == ralph.MergeMerged {
		x.MergeHow, x.MergeCommit = cmp.Or(x.MergeHow, report.MergeHow(t, "")), cmp.Or(x.MergeCommit, q.Commit)
	} else {
		x.MergeHow, x.MergeCommit = "", ""
	}
	x.Why = d.why(r, x)
	if n := len(x.Trail); n > 0 && x.Trail[n-1].Text == x.Why {
		x.Trail = x.Trail[:n-1] // said once
	}
	return x
}

// trail is what happened on the way; where it was too much, it says so.
func (r *row) trail() []Event {
	if r.dropped == 0 {
		return r.Trail
	}
	more := Event{At: r.Trail[trailHead].At, Text: fmt.Sprintf("(%d more)", r.dropped)}
	return slices.Insert(slices.Clone(r.Trail), trailHead, more)
}

// why says in a sentence why a task is as it is.
func (d *draft) why(r *row, x TaskRow) string {
	switch x.Status {
	case ralph.TaskDone:
		return whyDone(r, x)
	case ralph.TaskActive:
		return "at work when this was written"
	case ralph.TaskPending:
		if waits := d.waitsFor(r.task); len(waits) > 0 {
			return "waits for " + text.List(waits, 5)
		}
		if !r.touched {
			return "not begun"
		}
		return "pending again: " + cmp.Or(x.Reason, "its turn has not come")
	}
	return strings.TrimSuffix(report.EndedWord(x.Status)+": "+x.Reason, ": ")
}

func whyDone(r *row, x TaskRow) string {
	words := "done"
	if !r.touched {
		words = "done before"
	}
	if x.NothingToChange {
		words += ", nothing to change"
	}
	switch x.Merge {
	case ralph.MergeMerged:
		words += map[string]string{"resolved": ", merged after its conflict was mended", "fast-forward": ", merged as it was"}[x.MergeHow]
		if x.MergeHow == "clean" {
			words += ", merged clean"
		}
	case ralph.MergeWaiting:
		words += ", waits in the merge queue"
		if q := r.task.Run.Queue; len(q.Weakened) > 0 && !q.Approved {
			words += ": its work takes tests away, and a person has to look first"
		}
	case ralph.MergeConflict:
		words += ", not merged: it conflicts in " + text.List(x.Conflicts, 3)
	case ralph.MergeRed:
		words += ", not merged: the checks are red on the merged tree"
	}
	if why := r.task.Run.Queue.GaveUp; why != "" && x.Merge != ralph.MergeMerged {
		words += "; a person has to look: " + report.OneLine(why)
	}
	return words
}

// waitsFor are the tasks that a task depends on and that are not there yet: done,
// and with worktrees merged.
func (d *draft) waitsFor(t *ralph.Task) []string {
	var out []string
	for _, id := range t.Deps {
		r := d.byID[id]
		if r == nil || r.task == nil {
			continue
		}
		switch q := r.task.Run.Queue.State; {
		case r.task.Status != ralph.TaskDone:
			out = append(out, fmt.Sprintf("%s (%s)", id, r.task.Status))
		case q != "" && q != ralph.MergeMerged:
			out = append(out, fmt.Sprintf("%s (done, not merged)", id))
		}
	}
	return out
}

func (d *draft) figures(out *Result) Figures {
	f := Figures{Counts: status.CountsOf(d.totals), Tasks: len(out.Tasks), TasksByStatus: map[string]int{}, Retries: d.retries, IterationsCut: d.cut}
	began, sum := 0, 0
	for _, t := range out.Tasks {
		f.TasksByStatus[string(t.Status)]++
		if !t.Status.Ended() {
			f.TasksRemaining++
		}
		if t.Merge != "" && t.Merge != ralph.MergeMerged {
			f.MergesPending++
		}
		if t.Iterations > 0 {
			began++
			sum += t.Iterations
		}
		if t.Iterations > f.PerTask.Most {
			f.PerTask.Most, f.PerTask.Task = t.Iterations, t.ID
		}
	}
	if began > 0 {
		f.PerTask.Average = float64(sum) / float64(began)
	}
	room := 0.0 // slots x time
	for _, h := range out.Sessions {
		f.RuntimeSeconds += h.RuntimeSeconds
		room += h.RuntimeSeconds * float64(max(1, h.Parallel))
	}
	for _, x := range out.Spans {
		if x.Lane == "slot" || x.Lane == "in place" {
			f.BusySeconds += x.To.Sub(x.From).Seconds()
		}
	}
	if room > 0 {
		f.SlotUse = min(1, f.BusySeconds/room)
	}
	f.MergeWaitMedian = median(d.waits)
	return f
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// maxHelp bounds the failed tasks that are named among what needs a person.
const maxHelp = 8

// needsNow is what waits for a person, then what they may want to try again.
func (d *draft) needsNow(tasks []TaskRow) []NeedRow {
	out := []NeedRow{}
	for _, n := range status.Needs(d.state, status.Engine{Alive: true}, d.state.At) { // a report tells of the journal, not of processes
		out = append(out, NeedRow{n.What, n.Command})
	}
	n := 0
	for _, t := range tasks {
		if t.Status != ralph.TaskFailed && t.Status != ralph.TaskTimeout && t.Status != ralph.TaskBlocked {
			continue
		}
		if n++; n > maxHelp {
			continue
		}
		command := fmt.Sprintf("[[retry %s]]", t.ID)
		if x := d.state.Task(t.ID); x != nil && x.Status == t.Status {
			command = x.Recovery()
		}
		out = append(out, NeedRow{fmt.Sprintf("%s %s %s", t.ID, report.OneLine(t.Name), t.Why), action.Commands(command)})
	}
	if n > maxHelp {
		out = append(out, NeedRow{fmt.Sprintf("%d more tasks ended badly", n-maxHelp), action.Commands("[[task list]]")})
	}
	return out
}
