package sessionreport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/rules"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxRows bounds every table but that of the tasks.
const maxRows = 200

// tables are the parts after the tasks, those that have something to say.
func (r *Result) tables(at clockFormat) []report.Table {
	all := []report.Table{
		r.sessionTable(at), r.mergeTable(at), r.landingTable(at), r.outsideTable(at), r.serviceTable(at), r.waitingTable(), r.gateTable(at),
		r.pauseTable(at), r.errorTable(at), r.limitTable(at), r.ruleTable(), r.settingTable(),
	}
	return slices.DeleteFunc(all, func(t report.Table) bool { return len(t.Rows) == 0 })
}

// clockFormat writes instants: with the day when there are several.
type clockFormat string

func (r *Result) clock() clockFormat {
	if r.Facts.To.UTC().Format(time.DateOnly) != r.Facts.From.UTC().Format(time.DateOnly) {
		return "Jan 2 15:04:05"
	}
	return time.TimeOnly
}

func (c clockFormat) at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(string(c))
}

// lasted writes seconds for people.
func lasted(seconds float64) string {
	return report.Took(time.Duration(seconds * float64(time.Second)))
}

func (r *Result) sessionTable(at clockFormat) report.Table {
	t := report.Table{Title: "Sessions", Head: []string{"session", "mode", "started", "#runtime", "end"}}
	if len(r.Sessions) < 2 {
		return t
	}
	for _, h := range r.Sessions {
		t.Add(maxRows, string(h.ID), h.Mode, at.at(h.StartedAt), lasted(h.RuntimeSeconds), endWords(h))
	}
	return t
}

// endWords says how a session ended.
func endWords(h SessionHead) string {
	if h.Ended == "" {
		return "not ended"
	}
	return strings.TrimSuffix(fmt.Sprintf("%s: %s", h.Ended, report.OneLine(h.Detail)), ": ")
}

// mergeTable lists merges; of many only those that were not simply clean.
func (r *Result) mergeTable(at clockFormat) report.Table {
	t := report.Table{Title: "Merges", Head: []string{"at", "tasks", "outcome", "commit", "#in the queue", "#took", "what"}}
	const few = 30
	left := 0
	for _, m := range r.Merges {
		if len(r.Merges) > few && (m.Outcome == "clean" || m.Outcome == "fast-forward") {
			left++
			continue
		}
		who := text.List(idWords(m.Members), 4)
		if len(m.Members) == 0 {
			who = "the base branch's own commits"
		}
		wait := ""
		if m.WaitSeconds > 0 {
			wait = lasted(m.WaitSeconds)
		}
		t.Add(maxRows, at.at(m.At), who, m.Outcome, text.ShortHash(m.Commit), wait, lasted(m.TookSeconds), mergeWhat(m))
	}
	if left > 0 {
		t.Note = strings.TrimSpace(fmt.Sprintf("%s more went through without a word: each is with its task. %s", text.Plural(left, "merge", "merges"), t.Note))
	}
	return t
}

func mergeWhat(m MergeRow) string {
	switch {
	case m.Error != "":
		return m.Error
	case len(m.Files) > 0 && m.Misfit != "" && len(m.Members) > 1:
		return fmt.Sprintf("%s conflicts in %s", m.Misfit, text.List(m.Files, 5))
	case len(m.Files) > 0:
		return "in " + text.List(m.Files, 5)
	case len(m.Checks) > 0:
		return "red on the merged tree: " + text.List(m.Checks, 5)
	}
	return ralph.PassedOverWords(m.PassedOver)
}

func idWords(list []ralph.TaskID) []string {
	out := make([]string, len(list))
	for i, id := range list {
		out[i] = string(id)
	}
	return out
}

func (r *Result) landingTable(at clockFormat) report.Table {
	t := report.Table{Title: "Landings", Head: []string{"at", "what", "from", "to", "#tasks"}}
	const few = 40
	for i, l := range r.Landings {
		if len(l.Held) > 0 {
			words := "waited: in the way " + text.List(l.Held, 5)
			if !l.To.IsZero() {
				words += ", for " + lasted(l.To.Sub(l.At).Seconds())
			}
			t.Add(maxRows, at.at(l.At), words, text.ShortHash(l.From), text.ShortHash(l.Tip), "")
			continue
		}
		if len(r.Landings) > few && i < len(r.Landings)-few {
			t.Note = "The earlier ones that went through are in the JSON."
			continue
		}
		t.Add(maxRows, at.at(l.At), l.How, text.ShortHash(l.From), text.ShortHash(l.Tip), fmt.Sprint(l.Tasks))
	}
	return t
}

func (r *Result) gateTable(at clockFormat) report.Table {
	t := report.Table{Title: "Questions and decisions", Head: []string{"asked", "gate", "task", "what", "outcome", "#waited"}}
	for _, g := range r.Gates {
		outcome := g.Outcome
		if g.Answer != "" {
			outcome += ": " + report.Clip(g.Answer, 200)
		}
		t.Add(maxRows, at.at(g.AskedAt), string(g.ID), string(g.Task), report.Clip(g.Text, 240), outcome, lasted(g.WaitSeconds))
	}
	return t
}

func (r *Result) pauseTable(at clockFormat) report.Table {
	t := report.Table{Title: "Pauses", Head: []string{"from", "to", "#lasted", "cause"}}
	for _, p := range r.Pauses {
		t.Add(maxRows, at.at(p.From), at.at(p.To), lasted(p.Seconds), report.Clip(p.Cause, 200))
	}
	return t
}

func (r *Result) errorTable(at clockFormat) report.Table {
	t := report.Table{Title: "Errors of agents", Head: []string{"agent", "class", "#times", "first", "last", "task", "the last one's words"}}
	for _, x := range r.Errors {
		t.Add(maxRows, x.Agent, x.Class, fmt.Sprint(x.Times), at.at(x.First), at.at(x.Last), string(x.Task), report.Clip(x.Message, 200))
	}
	return t
}

func (r *Result) limitTable(at clockFormat) report.Table {
	t := report.Table{Title: "Limits of agents", Head: []string{"at", "agent", "until"}}
	for _, l := range r.Limits {
		t.Add(maxRows, at.at(l.At), l.Agent, at.at(l.Until))
	}
	return t
}

func (r *Result) ruleTable() report.Table {
	t := report.Table{Title: "Decisions by rule", Head: []string{"rule", "#times", "what it says"}}
	for _, x := range r.Rules {
		t.Add(maxRows, x.Rule, fmt.Sprint(x.Times), report.Clip(cmp.Or(rules.Sentence(x.Rule), x.Text), 160))
	}
	return t
}

func (r *Result) settingTable() report.Table {
	t := report.Table{Title: "Settings", Head: []string{"name", "value"}}
	if n := len(r.Sessions); n > 0 {
		for _, x := range r.Sessions[n-1].Settings {
			t.Add(maxRows, x.Name, x.Value)
		}
	}
	return t
}

// troubled are the tasks that have something to explain: they did not simply get
// done, and merged. Checks that were red on the way are no trouble.
func (r *Result) troubled() []TaskRow {
	var out []TaskRow
	for _, t := range r.Tasks {
		smooth := t.Status == ralph.TaskDone && (t.Merge == "" || t.Merge == ralph.MergeMerged)
		if !smooth || len(t.Findings) > 0 || slices.ContainsFunc(t.Trail, func(e Event) bool { return e.Rule != ruleRed }) {
			out = append(out, t)
		}
	}
	return out
}

// maxLines bounds the events of all explained tasks together.
const maxLines = 1500

// room is how many runes an explanation and a line of it may have when n tasks are
// explained: a page has to stay readable, and below 2 MB.
func room(n int) (why, line int) {
	if n > 300 {
		return 140, 100
	}
	return 400, 200
}

// told are the events of a task's trail that are shown when n tasks are explained:
// the beginning and the end of a long one. skipped is how many are not.
func (t *TaskRow) told(n int) (events []Event, skipped int) {
	most := min(maxTrail+1, maxLines/max(1, n))
	if len(t.Trail) <= most {
		return t.Trail, 0
	}
	head := most / 3
	events = append(slices.Clone(t.Trail[:head]), t.Trail[len(t.Trail)-(most-head):]...)
	return events, len(t.Trail) - most
}

// word is the word for the task's status, and that nothing had to be done for it.
func (t *TaskRow) word(status string) string {
	if t.NothingToChange {
		return status + ", nothing to change"
	}
	return status
}

// stateWords is the status of a task with what its merge has come to.
func (t *TaskRow) stateWords() string {
	switch t.Merge {
	case "":
		return ""
	case ralph.MergeMerged:
		return t.MergeHow
	}
	return string(t.Merge)
}

// keyFigures are what people look for first.
func (r *Result) keyFigures() []figure {
	f := r.Figures
	done := f.TasksByStatus[string(ralph.TaskDone)]
	out := []figure{{"tasks done", fmt.Sprint(done), fmt.Sprintf("of %d, %s", f.Tasks, remainingWords(f))}}
	if n := f.TasksByStatus[string(ralph.TaskFailed)] + f.TasksByStatus[string(ralph.TaskTimeout)] + f.TasksByStatus[string(ralph.TaskBlocked)]; n > 0 {
		out = append(out, figure{"ended badly", fmt.Sprint(n), badWords(f)})
	}
	out = append(out, figure{"runtime", lasted(f.RuntimeSeconds), useWords(f)})
	resumed := 0
	for _, h := range r.Sessions {
		resumed += h.Resumed
	}
	if resumed > 0 {
		out = append(out, figure{"went on", fmt.Sprintf("%d×", resumed), "after its engine was killed or stopped"})
	}
	if f.Iterations > 0 {
		out = append(out,
			figure{"iterations", fmt.Sprint(f.Iterations), fmt.Sprintf("%.1f a task, most %d", f.PerTask.Average, f.PerTask.Most)},
			figure{"an iteration takes", lasted(f.AverageSeconds), fmt.Sprintf("%s to %s", lasted(f.FastestSeconds), lasted(f.SlowestSeconds))})
	}
	if f.MergesClean+f.MergesResolved+f.MergesPending+f.Conflicts > 0 {
		out = append(out, figure{
			"merged", fmt.Sprint(f.MergesClean + f.MergesResolved),
			fmt.Sprintf("%d clean, %d resolved, %d pending", f.MergesClean, f.MergesResolved, f.MergesPending),
		})
	}
	cost := ralph.Dollars(f.Cost)
	if !f.CostKnown && f.Iterations > 0 {
		cost = "≥ " + cost // some agent reported none
	}
	out = append(out, figure{"cost", cost, report.Many(f.Tokens) + " tokens"})
	if f.ChecksGreen+f.ChecksRed > 0 {
		note := fmt.Sprintf("%d red", f.ChecksRed)
		if f.PassedOver > 0 {
			note += fmt.Sprintf(", %d passed with a red check", f.PassedOver)
		}
		out = append(out, figure{"checks green", fmt.Sprint(f.ChecksGreen - f.PassedOver), note})
	}
	return out
}

// figure is one number with its name and a note.
type figure struct{ Name, Value, Note string }

func remainingWords(f Figures) string {
	if f.TasksRemaining == 0 {
		return "none left"
	}
	return fmt.Sprintf("%d left", f.TasksRemaining)
}

func badWords(f Figures) string {
	var parts []string
	for _, s := range []ralph.TaskStatus{ralph.TaskFailed, ralph.TaskTimeout, ralph.TaskBlocked} {
		if n := f.TasksByStatus[string(s)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, report.EndedWord(s)))
		}
	}
	return strings.Join(parts, ", ")
}

func useWords(f Figures) string {
	if f.BusySeconds == 0 {
		return ""
	}
	return fmt.Sprintf("slots busy %.0f%%", 100*f.SlotUse)
}

// headline is the session in a few words: mode, when, how it ended.
func (r *Result) headline() (title, when, end string) {
	h := r.Sessions[len(r.Sessions)-1]
	title = string(h.ID)
	if len(r.Sessions) > 1 {
		title = text.Plural(len(r.Sessions), "session", "sessions")
	}
	first := r.Sessions[0].StartedAt.UTC()
	last := cmp.Or(h.EndedAt, r.Facts.To).UTC()
	format := "15:04"
	if last.Sub(first) < 5*time.Minute {
		format = time.TimeOnly
	}
	from := "2006-01-02 " + format
	if first.Format(time.DateOnly) != last.Format(time.DateOnly) {
		format = from
	}
	when = fmt.Sprintf("%s to %s UTC", first.Format(from), last.Format(format))
	return title, when, endWords(h)
}
