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

// addWork folds what happens to tasks.
func (d *draft) addWork(e ralph.Event, s *ralph.State) {
	at := e.At
	switch f := e.Fact.(type) {
	case ralph.TaskStarted:
		d.taskStarted(f.ID, f.Slot, at)
	case ralph.TaskEnded:
		d.taskEnded(f, at)
	case ralph.StepStarted:
		d.rule(f.Why)
		d.totals.Receipts++
		if _, open := d.open[f.Task]; !open { // it goes on where a session was cut, or after a person's word
			slot := 0
			if t := s.Task(f.Task); t != nil {
				slot = t.Run.Worktree.Slot
			}
			d.taskStarted(f.Task, slot, at)
		}
	case ralph.Prepared:
		d.prepared(f, at)
	case ralph.TurnEnded:
		d.turnEnded(f, at)
	case ralph.Compacted:
		if r := d.work(f.Task); r != nil { // no iteration
			r.WorkSeconds += f.Took.Seconds()
		}
	case ralph.StepLost:
		if r := d.work(f.Task); r != nil {
			r.note(at, "", f.Step+" lost: "+report.LostWords(f))
		}
	case ralph.ChecksRan:
		d.checksRan(f, at)
	case ralph.Committed:
		d.committed(f, at)
	case ralph.Shelved:
		if f.Stash != "" {
			d.work(f.Task).note(at, "X-27", fmt.Sprintf("its uncommitted changes are in the stash %.9s", f.Stash))
		}
	case ralph.Noted:
		if f.Task != "" {
			d.work(f.Task).note(at, f.Rule, f.Text)
		}
	default:
		d.addMerge(e)
	}
}

// laneOf is the lane of a task or stage; "" is a stage that is not shown.
func (d *draft) laneOf(id ralph.TaskID, slot int) (lane string, kind ralph.TaskKind) {
	kind = ralph.KindBuild
	if x := d.stages[id]; x != nil {
		kind = x.kind
	} else if d.isStage(id) {
		head, _, _ := strings.Cut(string(id), ":")
		kind = ralph.TaskKind(head)
	}
	switch {
	case slot > 0:
		return "slot", kind
	case kind == ralph.KindMerge:
		return "merge", kind
	case kind == ralph.KindPrepare, kind == ralph.KindLand, kind == ralph.KindShelve, kind == ralph.KindResolve:
		return "", kind
	}
	return "in place", kind
}

func (d *draft) taskStarted(id ralph.TaskID, slot int, at time.Time) {
	d.closeSpan(id, outcomeReleased, at)
	lane, kind := d.laneOf(id, slot)
	r := d.work(id)
	if r != nil {
		r.Slot = slot
	}
	if lane == "" {
		return
	}
	x := Span{Lane: lane, Slot: slot, Kind: kind, Task: id, From: at, Outcome: outcomeActive, stage: id}
	if st := d.stages[id]; st != nil {
		x.Members = st.members
		switch {
		case st.parent != "":
			x.Task = st.parent
		case len(st.members) > 0:
			x.Task = st.members[0]
		}
	}
	d.open[id] = len(d.spans)
	d.spans = append(d.spans, x)
}

func (d *draft) closeSpan(id ralph.TaskID, outcome string, at time.Time) {
	if i, ok := d.open[id]; ok {
		d.spans[i].To, d.spans[i].Outcome = at, outcome
		delete(d.open, id)
	}
}

// cutSpans closes what was open when an engine ended or died.
func (d *draft) cutSpans(at time.Time) {
	for i := range d.spans {
		if id := d.spans[i].stage; d.spans[i].Outcome == outcomeActive {
			d.closeSpan(id, outcomeCut, at)
		}
	}
}

// mark notes an instant on the lane of a task that is at work.
func (d *draft) mark(id ralph.TaskID, kind, text string, at time.Time) {
	if i, ok := d.open[id]; ok {
		x := d.spans[i]
		d.marks = append(d.marks, Mark{At: at, Lane: x.Lane, Slot: x.Slot, Kind: kind, Task: x.Task, Text: report.OneLine(text)})
	}
}

func (d *draft) taskEnded(f ralph.TaskEnded, at time.Time) {
	d.rule(f.Why)
	d.withdrawGates(at)
	d.closeSpan(f.ID, endWord(f), at)
	if d.isStage(f.ID) {
		d.stageEnded(f, at)
		return
	}
	r := d.member(f.ID)
	r.Rule = f.Why.Rule
	d.countEnd(r, f.Status)
	switch {
	case f.Status == ralph.TaskPending && f.Retry:
		d.retries++
		r.Retries++
		r.note(at, f.Why.Rule, "given another try: "+f.Why.Text)
	case f.Status == ralph.TaskPending:
		r.note(at, f.Why.Rule, "given back: "+f.Why.Text)
	case f.Status != ralph.TaskDone:
		r.note(at, f.Why.Rule, report.EndedWord(f.Status)+": "+f.Why.Text)
	}
}

// countEnd counts tasks, not ends: who ends again is counted as it ended last.
func (d *draft) countEnd(r *row, as ralph.TaskStatus) {
	counts := map[ralph.TaskStatus]*int{ralph.TaskDone: &d.totals.TasksDone, ralph.TaskFailed: &d.totals.TasksFail, ralph.TaskTimeout: &d.totals.TasksOut}
	if was := counts[r.counted]; was != nil {
		*was--
	}
	if n := counts[as]; n != nil {
		*n++
	}
	r.counted = as
}

// endWord is the outcome of the span that a task's end closes.
func endWord(f ralph.TaskEnded) string {
	switch {
	case f.Status == ralph.TaskPending && f.Retry:
		return outcomeRetry
	case f.Status == ralph.TaskPending:
		return outcomeReleased
	}
	return string(f.Status)
}

func (d *draft) prepared(f ralph.Prepared, at time.Time) {
	r := d.work(f.Task)
	if r == nil {
		return
	}
	if f.Error != "" {
		r.note(at, "X-52", "its worktree could not be made ready: "+f.Error)
	}
	d.savedWork(r, f.Saved, at)
}

func (d *draft) savedWork(r *row, list []ralph.Saved, at time.Time) {
	for _, x := range list {
		r.note(at, "", "saved "+report.SavedWords(x))
	}
}

func (d *draft) turnEnded(f ralph.TurnEnded, at time.Time) {
	if f.Failed() {
		d.cut++
		d.errorOf(f, at)
	}
	r := d.work(f.Task)
	if r == nil {
		return
	}
	if d.stages[f.Task] == nil {
		r.Iterations++
	}
	r.WorkSeconds += f.Worked().Seconds()
}

// spent counts what a fact says that was used. What came late is none of its task's any more.
func (d *draft) spent(e ralph.Event) {
	u, ok := report.SpentBy(e.Fact)
	if !ok {
		return
	}
	t := &d.totals
	if turn, is := e.Fact.(ralph.TurnEnded); is {
		t.AddTurn(turn)
	} else {
		t.Usage = t.Usage.Add(u)
	}
	d.points = append(d.points, Point{e.At, report.Cents(t.Usage.Cost), report.Tokens(t.Usage), t.Turns})
	if _, late := e.Fact.(ralph.StepLate); late {
		return
	}
	if r := d.work(e.Fact.About()); r != nil {
		r.Cost += u.Cost
		r.Tokens += report.Tokens(u)
	}
}

// errorOf counts a turn that failed, with others of its agent and class.
func (d *draft) errorOf(f ralph.TurnEnded, at time.Time) {
	class, message := string(f.Exit), ""
	if f.Err != nil {
		class, message = string(f.Err.Class), report.OneLine(f.Err.Message)
	}
	i := slices.IndexFunc(d.errors, func(x ErrorRow) bool { return x.Agent == f.Agent && x.Class == class })
	if i < 0 {
		d.errors = append(d.errors, ErrorRow{Agent: f.Agent, Class: class, First: at})
		i = len(d.errors) - 1
	}
	x := &d.errors[i]
	x.Times++
	x.Last, x.Task, x.Message = at, f.Task, message
	d.mark(f.Task, "error", class+": "+message, at)
	words := fmt.Sprintf("iteration %d of %s ended with an error (%s)", f.Iteration, f.Agent, class)
	if message != "" {
		words += ": " + message
	}
	r := d.work(f.Task)
	if r != nil {
		x.Task = r.ID
	}
	r.note(at, "X-43", words)
}

// ruleRed marks red checks of a task: the next iteration mends them, that is no
// trouble worth a word by itself.
const ruleRed = "B-023"

func (d *draft) checksRan(f ralph.ChecksRan, at time.Time) {
	var red, words []string
	for _, x := range f.Results {
		if !x.Pass && !slices.Contains(f.Known, x.Name) {
			red, words = append(red, x.Name), append(words, report.RedWords(x))
		}
	}
	over := f.PassedOver()
	switch {
	case f.Pass && len(over) > 0:
		d.totals.ChecksOK++
		d.totals.PassedOver++
	case f.Pass:
		d.totals.ChecksOK++
	default:
		d.totals.ChecksRed++
		d.mark(f.Task, "red", strings.Join(words, ", "), at)
	}
	if x := d.stages[f.Task]; x != nil && x.kind == ralph.KindMerge {
		x.took += f.Took
		x.red = red
		if x.passedOver = nil; f.Pass {
			x.passedOver = over
		}
		return
	}
	r := d.work(f.Task)
	if r == nil {
		return
	}
	r.WorkSeconds += f.Took.Seconds()
	if !f.Pass {
		r.RedChecks++
		r.note(at, ruleRed, "red: "+strings.Join(words, ", "))
	}
	if r.PassedOver = nil; f.Pass && len(over) > 0 {
		r.PassedOver = over
		r.note(at, "P-14", "passed over: "+ralph.PassedOverWords(over))
	}
}

func (d *draft) committed(f ralph.Committed, at time.Time) {
	r := d.work(f.Task)
	if f.Error != "" {
		r.note(at, "D-079", "git commit failed: "+f.Error)
		return
	}
	d.totals.Commits++
	if r == nil {
		return
	}
	r.Commit, r.Findings = f.Commit, f.Weakened
	if len(f.Weakened) > 0 {
		r.note(at, "P-14", fmt.Sprintf("its work takes tests away (%s): a person has to look before it is merged", text.Count(len(f.Weakened), "finding")))
	}
}
