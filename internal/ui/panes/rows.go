package panes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/ui/draw"
)

// Tab is one of the lists on the left.
type Tab int

// The tabs, in the order of their numbers.
const (
	TabSlots Tab = iota
	TabPlan
	TabNeeds
	TabMerge
	TabInbox
	TabThreads
	TabDecisions
	TabServices
	Tabs
)

func (t Tab) String() string {
	return [...]string{"Slots", "Plan", "Needs you", "Merge", "Inbox", "Threads", "Decisions", "Services"}[t]
}

// Short is its name where there is little room.
func (t Tab) Short() string {
	switch t {
	case TabNeeds:
		return "You"
	case TabThreads:
		return "Auto"
	case TabDecisions:
		return "Log"
	case TabServices:
		return "Out"
	case TabSlots, TabPlan, TabMerge, TabInbox, Tabs:
	}
	return t.String()
}

// Row is one thing of a list.
type Row struct {
	Key   string // the same as long as it is the same thing
	About action.Subject
	ID    string       // of what the action is about
	Task  ralph.TaskID // or stage, whose work is shown
	Gate  *ralph.Approval
	Ask   string // what else waits for a person, and what helps
	File  string // of a spec
	Seq   int64  // of a decision
	Lines []RowLine
	Rest  bool // it only tells: it cannot be chosen
}

// RowLine is one line of a row: its right part stays when there is little room.
type RowLine struct{ Left, Right draw.Line }

// Words are all that a row says, for the search.
func (r Row) Words() string {
	var b strings.Builder
	b.WriteString(r.ID + " " + string(r.Task))
	for _, l := range r.Lines {
		b.WriteString(" " + l.Left.String() + " " + l.Right.String())
	}
	return strings.ToLower(b.String())
}

// Say is a row that only tells.
func Say(words string) Row {
	return Row{Key: "say " + words, Rest: true, Lines: []RowLine{{Left: draw.Of(draw.Dim, words)}}}
}

// Rows are the rows of a tab.
func Rows(t Tab, l Look, lately []screen.Happened) []Row {
	switch t {
	case TabSlots:
		return slotRows(l)
	case TabPlan:
		return planRows(l)
	case TabNeeds:
		return needRows(l)
	case TabMerge:
		return mergeRows(l)
	case TabInbox:
		return inboxRows(l)
	case TabThreads:
		return threadRows(l)
	case TabServices:
		return serviceRows(l)
	case TabDecisions, Tabs:
	}
	return decisionRows(l, lately)
}

func workTone(s screen.WorkState) (draw.Style, string) {
	switch s {
	case screen.Working:
		return draw.Good, "▶"
	case screen.Checking, screen.BetweenTurns:
		return draw.Accent, "◆"
	case screen.WaitsForYou:
		return draw.Warn, "?"
	case screen.WorkCut, screen.MayBeStuck:
		return draw.Warn, "!"
	}
	return draw.Warn, "◷"
}

func slotRows(l Look) []Row {
	var out []Row
	busy := 0
	for _, w := range l.Standing().Work {
		tone, sign := workTone(w.State)
		r := Row{Key: "work " + string(w.At), About: action.Task, ID: string(w.Task), Task: w.At}
		place := "  "
		if w.Slot > 0 {
			busy++
			place = fmt.Sprintf("%d ", w.Slot)
		}
		name := cmp.Or(w.Name, string(w.Kind))
		if w.Task != "" {
			name = string(w.Task) + " " + name
		}
		left := draw.Of(draw.Dim, place).Add(tone, sign+" ").Add(draw.Strong, name)
		if w.Kind == ralph.KindResolve {
			left = draw.Of(draw.Dim, place).Add(tone, sign+" resolve ").Add(draw.Strong, name)
		}
		r.Lines = append(r.Lines, RowLine{left, workProgress(w)})
		second := draw.Of(draw.Plain, "    ")
		if w.State != screen.Working && w.State != screen.Checking && !(w.State == screen.BetweenTurns && w.Doing) { // its words say it better
			second = second.Add(tone, string(w.State)+" ")
		}
		if w.Worker != "" {
			second = second.Add(draw.Accent, w.Worker+": ")
		}
		if w.Words != "" {
			second = second.Add(draw.Dim, text.Line(w.Words, 300))
		} else if w.State == screen.Working {
			second = second.Add(draw.Dim, strings.TrimSpace(w.Agent+" works"))
		}
		r.Lines = append(r.Lines, RowLine{Left: second})
		out = append(out, r)
	}
	out = append(out, nobodyElse(l, busy)...)
	if len(out) == 0 {
		out = append(out, nobodyWorks(l)...)
	}
	return append(out, workerRows(l)...)
}

// nobodyElse says how many slots are free.
func nobodyElse(l Look, busy int) (out []Row) {
	stage := l.Standing().Stage
	if n := stage.Parallel - busy; l.Engine.Alive && stage.Mode == "autopilot" && n > 0 {
		out = append(out, Say(text.Count(n, "free slot")))
	}
	return out
}

// workProgress is how far a piece of work is, in few signs.
func workProgress(w screen.Work) draw.Line {
	words := ""
	if w.Iteration > 0 {
		words = fmt.Sprint(w.Iteration)
		if w.Of > 0 {
			words += fmt.Sprintf("/%d", w.Of)
		}
	}
	if w.Progress > 0 {
		words += fmt.Sprintf(" %d%%", w.Progress)
	}
	return draw.Of(draw.Dim, strings.TrimSpace(words))
}

// nobodyWorks says what there would be to do.
func nobodyWorks(l Look) []Row {
	out := []Row{Say("Nobody works now.")}
	if l.Engine.Alive {
		return out
	}
	if n := l.State.Plan.Unfinished(); n > 0 {
		out = append(out, Say(text.Count(n, "task")+" of the plan to be done."))
	}
	if n := l.State.CountInbox(ralph.SpecPending); n > 0 {
		out = append(out, Say(text.Count(n, "spec")+" in the queue."))
	}
	return out
}

// TaskSign is how a status of a task is drawn.
func TaskSign(s ralph.TaskStatus) (draw.Style, string) {
	switch s {
	case ralph.TaskActive:
		return draw.Good, "▶"
	case ralph.TaskDone:
		return draw.Good, "✓"
	case ralph.TaskFailed, ralph.TaskTimeout:
		return draw.Bad, "✗"
	case ralph.TaskBlocked:
		return draw.Warn, "!"
	case ralph.TaskSkipped:
		return draw.Dim, "-"
	}
	return draw.Dim, "○"
}

func planRows(l Look) []Row {
	var out []Row
	phase := ""
	for _, t := range l.State.Plan.Tasks {
		if t.Phase != "" && t.Phase != phase {
			phase = t.Phase
			out = append(out, Row{Key: "phase " + phase, Rest: true, Lines: []RowLine{{Left: draw.Of(draw.Accent, phase)}}})
		}
		out = append(out, Row{Key: "task " + string(t.ID), About: action.Task, ID: string(t.ID), Task: t.ID, Lines: []RowLine{taskLine(t)}})
	}
	if len(out) == 0 {
		out = append(out, Say("There is no plan."), Say("An engine plans the next spec;"), Say(": add     adds a task by hand."))
	}
	return out
}

func taskLine(t *ralph.Task) RowLine {
	tone, sign := TaskSign(t.Status)
	name := draw.Strong
	if t.Status.Ended() {
		name = draw.Plain
	}
	left := draw.Of(tone, sign+" ").Add(draw.Dim, string(t.ID)+" ").Add(name, t.Name)
	word := string(t.Status)
	switch {
	case t.Status == ralph.TaskDone && t.Unmerged():
		word = string(t.Run.Queue.State)
	case t.Status == ralph.TaskDone && t.Run.Accepted:
		word = "accepted"
	case t.Status == ralph.TaskDone, t.Status == ralph.TaskPending && t.Run.Assigned:
		word = map[bool]string{true: "next", false: ""}[t.Status == ralph.TaskPending]
	case t.Status == ralph.TaskPending:
		word = ""
		if t.Priority == "high" {
			word = "high"
		}
	case t.Status == ralph.TaskActive && t.Run.Progress > 0:
		word = fmt.Sprintf("%d%%", t.Run.Progress)
	}
	return RowLine{left, draw.Of(tone, word)}
}

func needRows(l Look) []Row {
	var out []Row
	for i, n := range l.Standing().Needs {
		r := Row{Key: fmt.Sprintf("need %s %d", n.Kind, i), About: action.Engine}
		what := n.What
		if n.Gate != nil {
			r.Key, r.About, r.ID, r.Gate = "gate "+string(n.Gate.ID), action.Gate, string(n.Gate.ID), n.Gate
			r.Task, what = cmp.Or(n.Gate.About, n.Gate.Task), n.Gate.Text
		} else {
			if len(n.Tasks) > 0 {
				r.About, r.ID, r.Task = action.Task, string(n.Tasks[0]), n.Tasks[0]
			}
			r.Ask = what + "\n\nWhat helps: " + n.Command
		}
		r.Lines = []RowLine{{draw.Of(draw.Warn, "! "+n.Kind), draw.Of(draw.Dim, Called(r.Task))}, {Left: draw.Of(draw.Strong, "  "+text.Line(what, 300))}}
		out = append(out, r)
	}
	if len(out) == 0 {
		out = append(out, Say("Nothing waits for you."))
	}
	for _, r := range l.State.Rules {
		if l.State.Expired(r, l.Now) != "" {
			continue
		}
		out = append(out, Row{Key: "rule " + string(r.ID), About: action.Rule, ID: string(r.ID), Lines: []RowLine{
			{draw.Of(draw.Dim, "rule "+string(r.ID)), draw.Of(draw.Dim, string(r.Scope))}, {Left: draw.Of(draw.Plain, "  "+text.Line(report.RuleWords(r), 300))},
		}})
	}
	return out
}

func mergeRows(l Look) []Row {
	var out []Row
	stage := l.Standing().Stage
	for _, q := range stage.Queue {
		tone := draw.Accent
		if q.Doing == "held" || q.Gate != "" {
			tone = draw.Warn
		}
		r := Row{Key: "merge " + string(q.Task), About: action.Task, ID: string(q.Task), Task: q.Task}
		if q.Gate != "" {
			r.About, r.ID = action.Gate, string(q.Gate)
			if i := slices.IndexFunc(l.State.Approvals, func(g *ralph.Approval) bool { return g.ID == q.Gate }); i >= 0 {
				r.Gate = l.State.Approvals[i]
			}
		}
		r.Lines = []RowLine{
			{draw.Of(draw.Dim, string(q.Task)+" ").Add(draw.Strong, q.Name), draw.Of(tone, q.Doing)},
			{Left: draw.Of(draw.Dim, "  "+text.Line(q.Words, 300))},
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		out = append(out, Say("Nothing is on its way to be merged."))
	}
	if x := stage.Landing; x != nil {
		base := cmp.Or(x.Base, "the checkout")
		words := fmt.Sprintf("%s is at %s: all has landed", base, text.ShortHash(x.Tip))
		switch {
		case x.Moved != "":
			words = fmt.Sprintf("%s went on to %s, which is merged first", base, text.ShortHash(x.Moved))
		case len(x.Held) > 0:
			words = fmt.Sprintf("%s waits at %s: %s", base, text.ShortHash(x.Landed), text.List(x.Held, 3))
		case x.Behind:
			words = fmt.Sprintf("%s lands on %s next", text.ShortHash(x.Tip), base)
		}
		out = append(out, Say(""), Say(words))
	}
	c := l.State.Session.Count
	if c.MergesClean+c.MergesResolved > 0 {
		out = append(out, Say(fmt.Sprintf("%d merged clean, %d resolved", c.MergesClean, c.MergesResolved)))
	}
	return out
}

func inboxRows(l Look) []Row {
	var out []Row
	rank := map[ralph.SpecStatus]int{ralph.SpecActive: 0, ralph.SpecPending: 1, ralph.SpecFailed: 2, ralph.SpecDone: 3}
	list := slices.Clone(l.State.Inbox)
	slices.SortStableFunc(list, func(a, b *ralph.Spec) int { return cmp.Compare(rank[a.Status], rank[b.Status]) })
	for _, x := range list {
		tone, sign := draw.Dim, "○"
		switch x.Status {
		case ralph.SpecActive:
			tone, sign = draw.Good, "▶"
		case ralph.SpecDone:
			tone, sign = draw.Good, "✓"
		case ralph.SpecFailed:
			tone, sign = draw.Bad, "✗"
		}
		out = append(out, Row{Key: "spec " + string(x.ID), About: action.Spec, ID: string(x.ID), File: x.File, Lines: []RowLine{
			{draw.Of(tone, sign+" ").Add(draw.Strong, x.File), draw.Of(tone, string(x.Status))},
		}})
	}
	if len(out) == 0 {
		out = append(out, Say("No spec is queued."), Say(": queue     queues one."))
	}
	return out
}

func labelTone(label string) draw.Style {
	switch label {
	case "error", "failed", "stopped", "conflict", "stop":
		return draw.Bad
	case "needs you", "note", "retry", "limit", "paused", "pause", "stuck", "context", "budget":
		return draw.Warn
	case "landed", "land", "complete", "done", "commit", "committed":
		return draw.Good
	}
	return draw.Accent
}

func decisionRows(_ Look, lately []screen.Happened) []Row {
	var out []Row
	for _, x := range lately {
		r := Row{Key: fmt.Sprintf("fact %d %s", x.Seq, x.Text), Task: x.Task, Seq: cmp.Or(x.Receipt, x.Seq), About: action.Task, ID: string(x.Task)}
		at := draw.Of(draw.Dim, x.At.Local().Format("15:04:05 "))
		switch {
		case x.Thread != nil:
			r.Lines = threadDecided(at, x)
		case x.Decision:
			r.Lines = []RowLine{{at.Add(draw.Strong, x.Text), draw.Of(draw.Dim, Called(x.Task))}, because(x.Why, x.Rule)}
		default:
			if x.Label != "" {
				at = at.Add(labelTone(x.Label), x.Label+" ")
			}
			r.Lines = []RowLine{{Left: at.Add(draw.Dim, text.Line(x.Text, 300))}}
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		out = append(out, Say("Nothing has been decided yet."))
	}
	return out
}

// because is the line below a decision.
func because(why, rule string) RowLine {
	x := RowLine{Left: draw.Of(draw.Dim, "         "+text.Line(why, 300))}
	if rule != "" {
		x.Right = draw.Of(draw.Dim, rule)
	}
	return x
}

// Called is how a task is named in a list: a stage by what it is for, since nobody types its id.
func Called(id ralph.TaskID) string {
	kind, rest, stage := strings.Cut(string(id), ":")
	if !stage {
		return string(id)
	}
	for part := range strings.SplitSeq(rest, ":") {
		if strings.HasPrefix(part, "t-") {
			return kind + " " + part
		}
	}
	return kind
}

// Counts are what stands beside the name of a tab.
func (t Tab) Counts(l Look) string {
	switch t {
	case TabSlots:
		if n := len(l.Standing().Work); n > 0 {
			return fmt.Sprint(n)
		}
	case TabPlan:
		if x := l.Standing().Status; x.TotalSteps > 0 {
			return fmt.Sprintf("%d/%d", x.CompletedSteps, x.TotalSteps)
		}
	case TabNeeds:
		if n := len(l.Standing().Needs); n > 0 {
			return fmt.Sprint(n)
		}
	case TabMerge:
		if n := len(l.Standing().Stage.Queue); n > 0 {
			return fmt.Sprint(n)
		}
	case TabThreads:
		return countThreads(l)
	case TabServices:
		return countServices(l)
	case TabInbox:
		if n := l.State.CountInbox(ralph.SpecPending) + l.State.CountInbox(ralph.SpecActive); n > 0 {
			return fmt.Sprint(n)
		}
	}
	return ""
}
