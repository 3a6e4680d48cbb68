package receipts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/rules"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// Seen is what a decision looked at: the state before it, as far as it concerns one task.
type Seen struct {
	Task    *ralph.Task       `json:"task"`    // null for one that is forgotten
	Session ralph.Session     `json:"session"` // without its settings, which stand beside it
	Job     *ralph.Job        `json:"job"`
	Tasks   map[string]int    `json:"tasks"` // of the plan, by status
	Limits  []ralph.Limit     `json:"limits"`
	Gates   []*ralph.Approval `json:"gates"`
	counts  string
}

// SeenOf is what the decision for a task saw in a state.
func SeenOf(s *ralph.State, id ralph.TaskID) Seen {
	x := Seen{
		Task: s.Task(id), Session: s.Session, Job: s.Job, Tasks: map[string]int{}, counts: report.TaskCounts(s),
		Limits: append([]ralph.Limit{}, s.Limits...), Gates: append([]*ralph.Approval{}, s.Approvals...),
	}
	x.Session.Config = nil
	for _, t := range s.Plan.Tasks {
		x.Tasks[string(t.Status)]++
	}
	return x
}

// Evidence is one receipt, whole: `ralph receipts <seq>`.
type Evidence struct {
	Receipt
	Line   string          `json:"line_hash"`      // SHA-256 of its line in the journal, which the next line carries
	Args   json.RawMessage `json:"args,omitempty"` // the step's own
	State  Seen            `json:"state"`
	Config json.RawMessage `json:"config"`          // the recorded settings
	Same   bool            `json:"same"`            // decided once more, it comes out the same
	Again  string          `json:"again"`           // what comes out now, in words
	Rules  int             `json:"rules,omitempty"` // the revision of the rules that decided, when it is not today's
}

// Text is the evidence for people, and how to check it.
func (e Evidence) Text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		if name != "" {
			name += ":"
		}
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "Receipt %d  %s  %s\n%s  %s\n\n", e.Seq, e.At.Local().Format("2006-01-02 15:04:05"), e.Session, e.Task, report.OneLine(e.Name))
	line("Decided", "%s", e.What)
	line("Why", "%s", strings.TrimPrefix(e.Rule+": "+report.OneLine(e.Why), ": "))
	if s := rules.Sentence(e.Rule); s != "" {
		line("Rule", "%s", s)
	}
	line("Saw", "the state after fact %d, at %s", e.BasedOnSeq, e.Now.Local().Format("15:04:05.000"))
	for _, words := range e.State.words(e) {
		line("", "%s", words)
	}
	for i, x := range e.Settings() {
		name := ""
		if i == 0 {
			name = "Settings"
		}
		line(name, "%s: %s", x.Name, x.Value)
	}
	switch {
	case e.Outcome != nil:
		line("Outcome", "fact %d at %s: %s", e.Outcome.Seq, e.Outcome.At.Local().Format("15:04:05"), e.Outcome.Words)
	case e.Cut:
		line("Outcome", "none that is known: the engine died")
	default:
		line("Outcome", "none yet")
	}
	if e.Stop != nil {
		line("Stopped", "by %s, where the work would have gone on", *e.Stop)
	}
	b.WriteByte('\n')
	switch {
	case e.Same:
		line("Check", "decided once more from the same state, time and settings it comes out the same")
	case e.Rules > 0:
		line("Check", "decided once more it comes out otherwise: %s; the rules were those of revision %d", e.Again, e.Rules)
	default:
		line("Check", "DECIDED ONCE MORE IT COMES OUT OTHERWISE: %s", e.Again)
	}
	line("", "[[replay]] decides every receipt once more")
	line("", "[[verify]] proves the chain of facts down to the commits; this line is %.12s", e.Line)
	line("", "[[receipts %d --json]] has all of the state and the settings", e.Seq)
	return b.String()
}

// Settings are the recorded ones that decisions turn on.
func (e Evidence) Settings() []report.Setting { return report.SettingRows(report.SettingsOf(e.Config)) }

// Words are the facts of the state that the decision turned on, each `name: words`.
func (e Evidence) Words() []string { return e.State.words(e) }

// words are the facts of the state that decisions turn on.
func (x Seen) words(e Evidence) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if t := x.Task; t != nil {
		r := t.Run
		add("task:    %s, %s so far (%d cut by errors), %d without a change", t.Status, text.Count(r.Iterations, t.Counted()), r.Errored, r.Unchanged)
		add("spent:   %s, %s", ralph.Dollars(r.Usage.Cost), ralph.Elapsed(r.Spent))
		if r.Last != nil {
			add("turn:    %s", turnOutcome(*r.Last))
		}
		if r.Checks != nil {
			add("checks:  %s", checksOutcome(*r.Checks))
		}
		hits := 0
		for _, h := range r.LimitHits {
			hits += h.Count
		}
		if r.ErrorTries+hits > 0 {
			add("errors:  %d in a row, %d hits of a limit", r.ErrorTries, hits)
		}
		if r.Context.Window > 0 {
			add("context: %d%%", report.InPercent(r.Context.Part()))
		}
		if q := t.Run.Queue.State; q != "" {
			add("merge:   %s", report.MergeState(t))
		}
	}
	s := x.Session
	mode := s.Mode
	if s.Auto != "" {
		mode += ", " + string(s.Auto)
	}
	add("session: %s; %s wanted; %s, %s", mode, orElse(string(s.Want), string(s.Want), string(ralph.WantRun)), text.Count(s.Turns, "turn"), ralph.Dollars(s.Usage.Cost))
	add("tasks:   %s", x.counts)
	for _, l := range x.Limits {
		add("limit:   %s", l.Words(func(t time.Time) string { return report.ClockWords(t, e.Now) }))
	}
	if i := slices.IndexFunc(x.Gates, func(g *ralph.Approval) bool { return g.Task == e.Task }); i >= 0 {
		add("gate:    %s %s", x.Gates[i].ID, report.OneLine(x.Gates[i].Text))
	}
	return out
}

// ReceiptList is `ralph receipts`: a line for each, oldest first.
func ReceiptList(list []Receipt) string {
	var b strings.Builder
	wide, most := 6, 0
	for _, x := range list {
		wide = max(wide, len(whose(x.Task)))
		most = max(most, len(fmt.Sprint(x.Seq)))
	}
	day := ""
	for _, x := range list {
		if at := x.At.Local().Format("2006-01-02"); at != day {
			day = at
			fmt.Fprintf(&b, "%s\n", day)
		}
		why := strings.TrimPrefix(x.Rule+" "+report.Clip(x.Why, 120), " ")
		fmt.Fprintf(&b, "%*d  %s  %-*s  %s (%s)%s\n", most, x.Seq, x.At.Local().Format("15:04:05"), wide, whose(x.Task), x.What, why, x.came())
	}
	return b.String()
}

// whose names the task of a receipt. The ids of stages are long: their kind has to do,
// and the task that they belong to.
func whose(id ralph.TaskID) string {
	kind, _, stage := strings.Cut(string(id), ":")
	if !stage {
		return string(id)
	}
	if parent := report.ParentIn(id); parent != id {
		kind += " " + string(parent)
	}
	return kind
}

// came says what came of it; an end is its own outcome.
func (x Receipt) came() string {
	switch {
	case x.Step == (ralph.Finish{}).StepName():
		return ""
	case x.Outcome != nil:
		return " -> " + report.Clip(x.Outcome.Words, 160)
	case x.Cut:
		return " -> cut: the engine died"
	}
	return " -> under way"
}
