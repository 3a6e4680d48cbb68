package panes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// View is one of the ways to look at what is chosen.
type View int

// The views.
const (
	ViewAsk View = iota
	ViewOutput
	ViewItems
	ViewDiff
	ViewChecks
	ViewWhy
	ViewReceipt
	ViewHistory
	ViewSpec
	ViewService
	ViewWorker
)

func (v View) String() string {
	return [...]string{"Asks", "Output", "Items", "Diff", "Checks", "Why", "Receipt", "History", "Spec", "Service", "Worker"}[v]
}

// Views are the views of a row, the one that is shown first at the beginning.
func Views(r Row, t Tab) []View {
	task := []View{ViewOutput, ViewItems, ViewDiff, ViewChecks, ViewWhy, ViewReceipt, ViewHistory}
	switch {
	case r.Rest:
		return nil
	case r.Gate != nil, r.Ask != "" && r.Task != "":
		return append([]View{ViewAsk}, task...)
	case r.Seq > 0:
		return []View{ViewReceipt, ViewHistory}
	case r.File != "":
		return []View{ViewSpec}
	case r.About == action.Service:
		return []View{ViewService}
	case r.About == action.Worker:
		return []View{ViewWorker}
	case r.Task == "":
		return []View{ViewAsk}
	case t == TabPlan, t == TabMerge, t == TabThreads:
		return []View{ViewWhy, ViewOutput, ViewItems, ViewDiff, ViewChecks, ViewReceipt, ViewHistory}
	}
	return task
}

// Reader reads what no state has. Its methods run beside the screen, one at a time.
type Reader struct {
	History History
	Env     workspace.Env
	Root    string
	Turns   *observe.Turns
}

// Wanted is a view of a row at one moment.
type Wanted struct {
	View View
	Row  Row
	Look Look
}

// Lines are what a view has to show.
func (d *Reader) Lines(ctx context.Context, w Wanted) []draw.Line {
	s := w.Look.State
	t := s.Task(w.Row.Task)
	switch w.View {
	case ViewAsk:
		return d.asks(ctx, w)
	case ViewSpec:
		return d.spec(w.Row.File)
	case ViewService:
		return service(w.Row.ID, w.Look)
	case ViewWorker:
		return worker(w.Row.ID, w.Look)
	case ViewReceipt:
		return d.receipt(w)
	case ViewHistory:
		return d.history(w)
	}
	if t == nil {
		return []draw.Line{draw.Of(draw.Dim, "Nothing is known of "+string(w.Row.Task)+" any more.")}
	}
	switch w.View {
	case ViewItems:
		return d.items(t, w)
	case ViewDiff:
		return d.diff(ctx, t, w)
	case ViewChecks:
		return checks(d.Turns.Whole(t))
	}
	return d.why(t, w)
}

// Prose are the lines of a text in words: names in front of a colon are dim.
func Prose(words string) []draw.Line {
	var out []draw.Line
	for line := range strings.Lines(strings.TrimRight(words, "\n")) {
		line = strings.TrimRight(line, "\r\n")
		name, rest, ok := strings.Cut(line, ": ")
		if ok && len(name) < 16 && name != "" && name[0] >= 'A' && name[0] <= 'Z' && !strings.Contains(name, " ") {
			out = append(out, draw.Of(draw.Dim, name+": ").Add(draw.Plain, rest))
			continue
		}
		out = append(out, draw.Of(draw.Plain, line))
	}
	return out
}

// Failed is an error as lines.
func Failed(err error) []draw.Line {
	return []draw.Line{draw.Of(draw.Bad, "This cannot be shown: ").Add(draw.Plain, text.OneLine(err.Error()))}
}

// asks is what waits for a person, with all there is to decide by.
func (d *Reader) asks(ctx context.Context, w Wanted) []draw.Line {
	if w.Row.Ask != "" {
		return Prose(w.Row.Ask)
	}
	if w.Row.Gate == nil {
		var out []draw.Line
		for _, l := range w.Row.Lines {
			out = append(out, l.Left)
		}
		return out
	}
	g := w.Row.Gate
	detail := gates.DetailOf(w.Look.State, g)
	if !w.Look.Past {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		detail = observe.GateDetail(ctx, d.Env, w.Look.State, g, d.Root)
	}
	words, _, _ := strings.Cut(detail.Words(w.Look.Now), "\nDecide:\n") // the keys say how
	out := Prose(words)
	for i, l := range out {
		if i > 0 && l.String() == strings.TrimSpace(text.FirstLine(g.Text)) {
			out[i] = l.With(draw.Bold)
		}
	}
	if !g.Answerable(w.Look.Engine.Alive, w.Look.Now) {
		out = append([]draw.Line{draw.Of(draw.Warn, "Nobody waits for this any more: its engine is gone.")}, out...)
	}
	if w.Look.Past {
		return out
	}
	if t := w.Look.State.Task(g.Task); t != nil && t.Kind == ralph.KindResolve {
		out = append(out, conflict(w.Look.State.Task(t.Parent))...)
	} else if t != nil && t.Status == ralph.TaskActive && len(detail.Changed) > 0 {
		if now := d.changed(ctx, t); len(now) > 0 {
			out = append(append(out, nil), draw.Patch(now)...)
		}
		return out
	}
	if len(detail.Changes) > 0 {
		patch, cut, err := d.Turns.Patch(detail.Of())
		if err == nil && len(patch) > 0 {
			out = append(out, nil)
			out = append(out, cutNote(draw.Patch(patch), cut)...)
		}
	}
	return out
}

func cutNote(lines []draw.Line, cut int64) []draw.Line {
	if cut > 0 {
		lines = append(lines, draw.Of(draw.Warn, fmt.Sprintf("… %d bytes more are not shown", cut)))
	}
	return lines
}

func (d *Reader) spec(file string) []draw.Line {
	b, err := regular.ReadFile(filepath.Join(d.Root, "ralph/specs", filepath.Base(file)), specfile.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return []draw.Line{draw.Of(draw.Warn, "ralph/specs/"+file+" is not there any more.")}
	}
	if err != nil {
		return Failed(err)
	}
	var out []draw.Line
	for line := range strings.Lines(text.Head(string(b), 256<<10)) {
		s := draw.Plain
		if strings.HasPrefix(line, "#") {
			s = draw.Strong
		}
		out = append(out, draw.As(s, strings.TrimRight(line, "\r\n")))
	}
	return out
}

// MaxFold is how many facts are folded for one view.
const MaxFold = 4000

// since visits the facts of the state's last stretch, with the state before each and the one
// after it; either may be nil.
func (d *Reader) since(s *ralph.State, before, after func(ralph.Event, *ralph.State)) (from int64, err error) {
	from = max(0, s.Seq-MaxFold)
	then := &ralph.State{}
	if from > 0 {
		if then, err = d.History.At(from); err != nil {
			return from, fmt.Errorf("read the state after fact %d: %w", from, err)
		}
		then = then.Clone()
	}
	err = d.History.Each(from, func(e ralph.Event) error {
		if e.Seq > s.Seq {
			return ErrEnough
		}
		if before != nil {
			before(e, then)
		}
		then.Apply(e)
		if after != nil {
			after(e, then)
		}
		return nil
	})
	if errors.Is(err, ErrEnough) {
		err = nil
	}
	return from, err
}

// ErrEnough ends the reading of facts early.
var ErrEnough = errors.New("enough")

// receipt are the decisions about a task, or one of them whole.
func (d *Reader) receipt(w Wanted) []draw.Line {
	if w.Row.Seq > 0 {
		then, err := d.History.At(max(0, w.Row.Seq-1))
		if err != nil {
			return Failed(err)
		}
		x, err := observe.Evidence(d.History, then.Clone(), w.Row.Seq, nil)
		if errors.Is(err, ralph.ErrNotFound) {
			return d.happened(w)
		}
		if err != nil {
			return Failed(err)
		}
		return Prose(x.Text())
	}
	ask := receipts.Receipts{Task: w.Row.Task, Most: 200}
	from, err := d.since(w.Look.State, ask.Add, nil)
	if err != nil {
		return Failed(err)
	}
	var out []draw.Line
	for _, x := range slices.Backward(ask.List()) {
		if len(out) > 0 {
			out = append(out, nil)
		}
		out = append(out, draw.Of(draw.Dim, fmt.Sprintf("%5d  %s  ", x.Seq, x.At.Local().Format("15:04:05"))).Add(draw.Strong, x.What))
		out = append(out, draw.Of(draw.Plain, "       "+x.Why).Add(draw.Dim, rule(x.Rule)))
		if x.Outcome != nil {
			out = append(out, draw.Of(draw.Dim, "       → ").Add(draw.Plain, x.Execution))
		}
	}
	return noneYet(out, from, "No decision about it yet.")
}

func rule(id string) string {
	if id == "" {
		return ""
	}
	return "  (" + id + ")"
}

func noneYet(out []draw.Line, from int64, words string) []draw.Line {
	if len(out) == 0 {
		out = append(out, draw.Of(draw.Dim, words))
	}
	if from > 0 {
		out = append(out, nil, draw.Of(draw.Dim, fmt.Sprintf("What was before fact %d is in [[log]].", from+1)))
	}
	return out
}

// happened is a fact that is no decision.
func (d *Reader) happened(w Wanted) []draw.Line {
	var out []draw.Line
	for _, l := range w.Row.Lines {
		out = append(out, l.Left.Join(draw.Line{{Style: draw.Plain, Text: "  "}}).Join(l.Right))
	}
	return append(out, nil, draw.Of(draw.Dim, fmt.Sprintf("Fact %d; it is no decision.", w.Row.Seq)))
}

// history are the lines of the log about a task, newest first.
func (d *Reader) history(w Wanted) []draw.Line {
	var log report.Log
	var out []draw.Line
	from, err := d.since(w.Look.State, nil, func(e ralph.Event, after *ralph.State) {
		lines := log.Lines(e, after)
		if !report.Concerns(e, after, w.Row.Task) {
			return
		}
		for _, line := range lines {
			l := draw.Of(draw.Dim, e.At.Local().Format("15:04:05  "))
			if label, words, ok := strings.Cut(line, ": "); ok && label == strings.ToUpper(label) {
				l, line = l.Add(labelTone(strings.ToLower(label)), strings.ToLower(label)+"  "), words
			}
			out = append(out, l.Add(draw.Plain, text.FirstLine(line)))
		}
	})
	if err != nil {
		return Failed(err)
	}
	slices.Reverse(out)
	return noneYet(out, from, "Nothing has happened to it yet.")
}

// items are what the agent plans and did in its newest turn.
func (d *Reader) items(t *ralph.Task, w Wanted) []draw.Line {
	if w.Look.Past {
		return NotThen()
	}
	f := d.Turns.Feed(t)
	if f == nil {
		return []draw.Line{draw.Of(draw.Dim, "This agent tells no items: what it prints is under Output.")}
	}
	var out []draw.Line
	for _, p := range f.Plan {
		tone, sign := draw.Dim, "○ "
		switch p.Status {
		case "completed":
			tone, sign = draw.Good, "✓ "
		case "in_progress":
			tone, sign = draw.Accent, "▶ "
		}
		out = append(out, draw.Of(tone, sign).Add(draw.Plain, p.Text))
	}
	if len(out) > 0 {
		out = append(out, nil)
	}
	if f.More > 0 {
		out = append(out, draw.Of(draw.Dim, fmt.Sprintf("… %d before these", f.More)))
	}
	for _, x := range f.Items {
		tone, sign := draw.Good, "✓ "
		switch {
		case x.Status == "":
			tone, sign = draw.Accent, "▶ "
		case x.Exit != nil && *x.Exit != 0, x.Status == "failed":
			tone, sign = draw.Bad, "✗ "
		}
		line := draw.Of(tone, sign).Add(draw.Dim, cmp.Or(x.Type, strings.ReplaceAll(string(x.Kind), "_", " "))+"  ").Add(draw.Plain, text.OneLine(x.Text))
		if len(x.Files) > 0 {
			line = line.Add(draw.Dim, "  "+text.List(x.Files, 4))
		}
		if x.Exit != nil && *x.Exit != 0 {
			line = line.Add(draw.Bad, fmt.Sprintf("  exit %d", *x.Exit))
		}
		out = append(out, line)
	}
	if len(out) == 0 {
		out = append(out, draw.Of(draw.Dim, "It has done nothing yet."))
	}
	return out
}

// NotThen says why something is not shown as it was.
func NotThen() []draw.Line {
	return []draw.Line{draw.Of(draw.Dim, "What agents said and changed is no fact: it is not shown as it was. esc leads back to now.")}
}

func (d *Reader) diff(ctx context.Context, t *ralph.Task, w Wanted) []draw.Line {
	if w.Look.Past {
		return NotThen()
	}
	if !t.Run.TurnAt.IsZero() {
		if f := d.Turns.Feed(t); f != nil && f.Diff != "" {
			head := []draw.Line{draw.Of(draw.Dim, "Changes of this turn, as the agent tells them"), nil}
			return append(head, cutNote(draw.Patch([]byte(f.Diff)), int64(f.Cut))...)
		}
		if now := d.changed(ctx, t); len(now) > 0 {
			return append([]draw.Line{draw.Of(draw.Dim, "Changed in its work tree by now, not committed"), nil}, draw.Patch(now)...)
		}
	}
	patch, cut, err := d.Turns.Patch(t.ID)
	if err != nil {
		return Failed(err)
	}
	if len(patch) == 0 {
		return []draw.Line{draw.Of(draw.Dim, "It has changed nothing by the end of its newest turn.")}
	}
	return cutNote(draw.Patch(patch), cut)
}

// changed is what a turn under way has changed by now. Where git does not tell, the rest of
// what is shown still helps.
func (d *Reader) changed(ctx context.Context, t *ralph.Task) []byte {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	patch, err := observe.WorkDiff(ctx, d.Env, d.Root, t)
	if err != nil {
		return nil
	}
	return patch
}

// checks are the newest run of a task's checks.
func checks(t *ralph.Task) []draw.Line {
	ran := cmp.Or(t.Run.Checks, t.Run.Red)
	if ran == nil {
		return []draw.Line{draw.Of(draw.Dim, "No checks have run for it yet.")}
	}
	out := []draw.Line{draw.Of(draw.Good, "✓ all green").Add(draw.Dim, "  "+report.Took(ran.Took))}
	if !ran.Pass {
		out[0] = draw.Of(draw.Bad, "✗ red").Add(draw.Dim, "  "+report.Took(ran.Took))
	}
	if words := ralph.PassedOverWords(ran.PassedOver()); words != "" {
		out = append(out, draw.Of(draw.Warn, "passed over: "+words))
	}
	for _, x := range ran.Results {
		out = append(out, nil)
		head := draw.Of(draw.Good, "✓ ")
		if !x.Pass {
			head = draw.Of(draw.Bad, "✗ ")
		}
		head = head.Add(draw.Strong, x.Name).Add(draw.Dim, fmt.Sprintf("  %s  %s", x.Command, report.Took(x.Took)))
		if !x.Pass && x.Exit != 0 {
			head = head.Add(draw.Bad, fmt.Sprintf("  exit %d", x.Exit))
		}
		out = append(out, head)
		if x.Why != "" {
			out = append(out, draw.Of(draw.Warn, "  "+x.Why))
		}
		for _, f := range x.Findings {
			out = append(out, draw.Of(draw.Warn, "  "+report.FindingWords(f)))
		}
		for _, l := range draw.Lines([]byte(text.Tail(x.Output, 32<<10))) {
			out = append(out, draw.Line{{Style: draw.Plain, Text: "  "}}.Join(l))
		}
	}
	return out
}

// why says what a task is, where it stands and for what reason.
func (d *Reader) why(t *ralph.Task, w Wanted) []draw.Line {
	if x, ok := screen.ThreadOf(w.Look.State, t.ID, w.Look.Engine, w.Look.Now); ok {
		return append(d.thread(x, w), taskFacts(t)...)
	}
	tone, sign := TaskSign(t.Status)
	name := t.Name
	if t.IsBuild() {
		name = string(t.ID) + " " + name
	}
	out := []draw.Line{draw.Of(tone, sign+" "+string(t.Status)+"  ").Add(draw.Strong, name)}
	reason := t.Run.Reason
	c, err := workspace.ScheduleConfig(d.Env, w.Look.State)
	if err == nil {
		if x := policy.Explain(w.Look.State, t.ID, c, w.Look.Now); x != nil {
			x.Lacks(t, w.Look.Engine.Fleet.Missing(t.ID))
			if reason != "" && !strings.Contains(x.Words, reason) {
				out = append(out, draw.Of(draw.Plain, reason))
			}
			reason = ""
			out = append(out, nil, draw.Of(draw.Plain, x.Words))
			for _, wait := range x.Waits {
				out = append(out, draw.Of(draw.Warn, "  waits: ").Add(draw.Plain, wait))
			}
			if !t.Status.Ended() {
				out = append(out, draw.Of(draw.Dim, fmt.Sprintf("  score %d", x.Score)))
				for _, p := range screen.ScoreParts(x.Parts, c.Scoring) {
					if p.Points != 0 {
						out = append(out, draw.Of(draw.Dim, fmt.Sprintf("  %+4d  %s", p.Points, p.Reason)))
					}
				}
			}
		}
	}
	if reason != "" {
		out = append(out, draw.Of(draw.Plain, reason))
	}
	for _, part := range []struct{ name, words string }{{"When it is done", t.Accept}, {"Notes", t.Notes}, {"Sent back", strings.Join(t.Run.Rejects, "\n")}} {
		if part.words != "" {
			out = append(out, nil, draw.Of(draw.Accent, part.name))
			out = append(out, Prose(part.words)...)
		}
	}
	return append(append(out, taskFacts(t)...), conflict(t)...)
}

// taskFacts are what is known of a task by its names: where it stands, what it comes after.
func taskFacts(t *ralph.Task) []draw.Line {
	var out []draw.Line
	facts := []struct{ name, words string }{
		{"Spec", t.Spec},
		{"Comes after", text.List(t.Deps, 8)},
		{"Tags", strings.Join(t.Tags, ", ")},
		{"Worker has", strings.Join(t.Worker, ", ")},
		{"Phase", t.Phase},
		{"Branch", t.Run.Worktree.Branch},
		{"Worktree", t.Run.Worktree.Dir},
		{"Commit", text.ShortHash(t.Run.Commit)},
		{"Merge", string(t.Run.Queue.State)},
		{"Held", t.Run.Queue.GaveUp},
		{"Conflicts", text.List(t.Run.Worktree.Conflicts, 8)},
	}
	first := true
	for _, f := range facts {
		if f.words == "" {
			continue
		}
		if first {
			out, first = append(out, nil), false
		}
		out = append(out, draw.Of(draw.Dim, fmt.Sprintf("%-12s ", f.name)).Add(draw.Plain, f.words))
	}
	return out
}

// conflict are both sides of what a task's merge met.
func conflict(t *ralph.Task) []draw.Line {
	if t == nil {
		return nil
	}
	q := t.Run.Queue.Merged
	if q == nil || q.Conflict == nil {
		return nil
	}
	out := []draw.Line{nil, draw.Of(draw.Warn, "Conflicts in "+text.List(report.ConflictPaths(q.Conflict), 8))}
	for _, f := range q.Conflict.Files[:min(3, len(q.Conflict.Files))] {
		out = append(out, nil, draw.Of(draw.Strong, f.Path))
		out = append(out, draw.Conflict([]byte(text.Cut(f.Marked, 4<<10)))...)
	}
	return out
}
