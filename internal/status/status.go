// Package status owns how things stand: `ralph status`, `ralph query`, what needs a person, what
// happened while nobody looked, each as a function of State.
//
// It does NOT own the words for single facts (report), or who asks (cli, web).
package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/services"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workers"
)

// Engine is what is known of the process that works in the repository.
type Engine struct {
	Alive bool   `json:"alive"`
	Pid   int    `json:"pid"`
	Host  string `json:"host"`
	Carry bool   `json:"-"` // agent mode has left its session file
	// Words are the last words of the agents at work, as far as they are known.
	Words map[ralph.TaskID]string `json:"-"`
	Fleet *workers.Moment         `json:"fleet,omitempty"` // as its coordinator has written it down; nil without a fleet
}

// Then is what was known of the engine when the state was the newest, by the facts alone:
// whether it died at that moment no fact says.
func Then(s *ralph.State) Engine {
	return Engine{Alive: s.Session.Live(), Pid: s.Session.Pid, Host: s.Session.Host}
}

// Text is `ralph status`. The four lines of agent mode come first while such
// a session is active, then an empty line.
func Text(s *ralph.State, engine Engine, now time.Time) string {
	var b strings.Builder
	x := s.Session
	if x.Mode == "agent" && x.Live() {
		fmt.Fprintln(&b, "Mode: agent")
		current := "none"
		if s.Job != nil {
			current = fmt.Sprintf("%s (%s)", s.Job.File, s.Job.Spec)
		}
		fmt.Fprintln(&b, "Current spec:", current)
		fmt.Fprintf(&b, "Inbox: %d pending, %d active, %d done, %d failed\n", s.CountInbox(ralph.SpecPending),
			s.CountInbox(ralph.SpecActive), s.CountInbox(ralph.SpecDone), s.CountInbox(ralph.SpecFailed))
		running := s.Running(At(engine, s, now))
		fmt.Fprintf(&b, "Session: %s completed, %s spent, %s elapsed\n\n", text.Count(x.Completed, "spec"),
			x.Usage.Dollars(), ralph.Elapsed(running))
	}
	construct(&b, s, engine, now)
	return b.String()
}

// writer writes one line of the status, under a name.
type writer func(name, format string, args ...any)

// construct is the status without agent mode: what needs a person comes first.
func construct(b *strings.Builder, s *ralph.State, engine Engine, now time.Time) {
	outside := services.List(s, now)
	if list := NeedsBeside(outside, s, engine, now); len(list) > 0 {
		fmt.Fprintln(b, "Needs you:")
		for _, n := range list {
			fmt.Fprintf(b, "  %s\n      %s\n", n.What, n.Command)
		}
		fmt.Fprintln(b)
	}
	brief(b, s, engine, now)
	line := func(name, format string, args ...any) {
		if name != "" {
			name += ":"
		}
		fmt.Fprintf(b, "%-8s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("Engine", "%s", engineWords(s, engine))
	if engine.Alive && s.Session.Live() {
		controlStatus(line, s, now)
	}
	inboxStatus(line, s, engine)
	switch {
	case s.Plan.File == "" && len(s.Plan.Tasks) == 0 && s.CountInbox(ralph.SpecPending) > 0:
		line("Plan", "none yet")
	case s.Plan.File == "" && len(s.Plan.Tasks) == 0:
		line("Plan", "none ([[plan <spec>]], or queue one: [[queue <spec>]])")
	default:
		line("Spec", "%s", cmp.Or(s.Plan.File, "no spec"))
		line("Tasks", "%s", report.TaskCounts(s)+report.Unneeded(s))
		if n := len(s.Plan.Issues); n > 0 {
			line("Issues", "%d open", n)
		}
		if s.Job != nil && s.Session.Mode != report.Pilot {
			line("Round", "%d, %s", s.Job.Round, stageNow(s))
		}
		line("Spent", "%s, %s, %s", s.Plan.Usage.Dollars(), ralph.Elapsed(s.JobElapsed(At(engine, s, now))), text.Count(s.Plan.Turns, counted(s)))
	}
	if d := s.Decided; d != nil && s.Session.Live() {
		line("Decided", "%s", decisionWords(s, d))
	}
	budgetStatus(line, s, At(engine, s, now))
	workStatus(line, s, engine, now)
	parallelStatus(line, s, engine, now)
	threadStatus(line, s, engine.Alive)
	agentStatus(line, s, now)
	serviceStatus(line, outside, now)
}

// counted is what of the work on a plan is counted: of threads alone turns.
func counted(s *ralph.State) string {
	if len(s.Plan.Tasks) > 0 && len(s.Threads()) == len(s.Plan.Tasks) {
		return s.Plan.Tasks[0].Counted()
	}
	return "iteration"
}

// inboxStatus counts the queue; agent mode has a line of its own for it. Where specs wait
// and nobody works, it says what works on them.
func inboxStatus(line writer, s *ralph.State, engine Engine) {
	if len(s.Inbox) == 0 || s.Session.Mode == "agent" && s.Session.Live() {
		return
	}
	var parts []string
	for _, status := range []ralph.SpecStatus{ralph.SpecPending, ralph.SpecActive, ralph.SpecDone, ralph.SpecFailed} {
		if n := s.CountInbox(status); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	words := strings.Join(parts, ", ")
	if !engine.Alive && s.CountInbox(ralph.SpecPending)+s.CountInbox(ralph.SpecActive) > 0 {
		words += ": `[[start agent]]`"
	}
	line("Inbox", "%s", words)
}

// workStatus says what is at work outside of slots; of a dead engine, what was.
func workStatus(line writer, s *ralph.State, engine Engine, now time.Time) {
	if !engine.Alive {
		for _, t := range s.Plan.Tasks {
			switch {
			case t.Status != ralph.TaskActive || !s.Session.Live():
			case s.ApprovalOf(t.ID) != nil:
				line("Cut", "%s %s, was waiting for you when %s", t.ID, report.OneLine(t.Name), report.Died(s))
			default:
				where := ""
				if dir := t.Run.Worktree.Dir; dir != "" {
					where = " in " + report.OneLine(dir)
				}
				line("Cut", "%s %s, %s %d, was at work%s when %s", t.ID, report.OneLine(t.Name), t.Counted(), IterationOf(t), where, report.Died(s))
			}
		}
		return
	}
	for _, t := range s.Stages {
		if !t.Run.TurnAt.IsZero() && !t.TakesSlot() {
			line("Now", "%s", strings.Join(turnWords(t, []string{strings.ToUpper(string(t.Kind))}, now), ", "))
			said(line, engine, t.ID)
		}
	}
	for _, t := range s.Plan.Tasks {
		if t.Status != ralph.TaskActive || t.Run.Worktree.Slot != 0 {
			continue
		}
		parts := []string{string(t.ID) + " " + report.OneLine(t.Name), fmt.Sprintf("%s %d", t.Counted(), IterationOf(t))}
		if s.ApprovalOf(t.ID) != nil {
			parts[1] = "waiting for you"
		} else if t.Run.Thread != nil && ThreadIn(s, t, engine.Alive).State == ThreadPaused {
			parts[1] = "paused"
		} else if doing := DoingWords(s, t); doing != "" {
			parts = append(parts, doing)
		}
		line("Now", "%s", strings.Join(turnWords(t, parts, now), ", "))
		said(line, engine, t.ID)
	}
}

// IterationOf is the iteration that a task is at: the one that runs, or whose work is
// looked at; between the two the next.
func IterationOf(t *ralph.Task) int {
	r := t.Run
	judged := r.InFlight != 0 && r.Doing != "turn" && r.Doing != "prepare" && r.TurnAt.IsZero()
	unchecked := r.Last != nil && r.Last.Signal.Kind == ralph.SignalComplete && r.Checks == nil && r.TurnAt.IsZero()
	if r.Iterations > 0 && (judged || unchecked) {
		return r.Iterations
	}
	return r.Iterations + 1
}

// DoingWords say what is done for a task while no agent is at it, "" else.
func DoingWords(s *ralph.State, t *ralph.Task) string {
	if t.Run.InFlight == 0 {
		return ""
	}
	switch t.Run.Doing {
	case "check":
		if names := report.SettingsOf(s.Session.Config).CheckNames; len(names) > 0 {
			return "checking: " + report.OneLine(text.List(names, 3))
		}
		return "checking"
	case "baseline":
		return "looking what is red without its work"
	case "prepare":
		return "its place of work is made ready"
	case "compact":
		return "its session is made shorter"
	case "commit":
		return "committing"
	}
	return ""
}

// decisionWords say what was decided last, and why.
func decisionWords(s *ralph.State, d *ralph.Decision) string {
	what := d.Step
	if d.Agent != "" {
		what = fmt.Sprintf("%s turn %d of %s", d.Stage, d.Iteration, d.Agent)
	}
	words := what
	if kind := report.KindOf(s, d.Task); kind == ralph.KindBuild {
		words = report.Called(s, d.Task) + ": " + what
	} else if string(kind) != what && d.Agent == "" {
		words = string(kind) + ": " + what // a stage, which may be over: its id says nothing to people
	}
	if why := report.OneLine(d.Why.Text); why != "" {
		words += ": " + report.Clip(why, 200)
	}
	if d.Why.Rule != "" {
		words += " (" + d.Why.Rule + ")"
	}
	return words
}

// turnWords adds to parts which agent is at it, for how long, and how full its window is.
func turnWords(t *ralph.Task, parts []string, now time.Time) []string {
	r := t.Run
	if !r.TurnAt.IsZero() {
		parts = append(parts, r.Agent, ralph.Elapsed(now.Sub(r.TurnAt)))
	}
	return append(parts, contextWords(r)...)
}

// said adds the last words of the agent that is at a task.
func said(line writer, engine Engine, id ralph.TaskID) {
	if words := report.OneLine(engine.Words[id]); words != "" {
		line("", "> %s", report.Clip(words, 160))
	}
}

// At is the instant until which a job has run: now, or the last sign of a dead engine.
func At(engine Engine, s *ralph.State, now time.Time) time.Time {
	if engine.Alive {
		return now
	}
	return s.LastHeard()
}

func engineWords(s *ralph.State, engine Engine) string {
	x := s.Session
	switch {
	case engine.Alive && x.Want == ralph.WantPause && pauseKind(s) != ralph.PausePerson:
		return fmt.Sprintf("%s (%s), pid %d", s.Mode(), pauseKind(s), engine.Pid)
	case engine.Alive && x.Want != ralph.WantRun && x.Cause != "":
		return fmt.Sprintf("%s (%s), pid %d", s.Mode(), report.OneLine(x.Cause), engine.Pid)
	case engine.Alive:
		return fmt.Sprintf("%s, pid %d", s.Mode(), engine.Pid)
	case x.ID == "":
		return "idle"
	case x.Live():
		return "not running: " + report.LastEngine(s) + "; " + s.NextStart(engine.Carry)
	case x.Ended == ralph.ReasonInterrupted && x.Mode != "plan":
		return "idle: interrupted; " + s.NextStart(engine.Carry)
	}
	return fmt.Sprintf("idle (last session: %s)", x.Ended)
}

// stageNow names the stage that a job is in.
func stageNow(s *ralph.State) string {
	for _, t := range s.Stages {
		if t.Status == ralph.TaskActive {
			return strings.ToUpper(string(t.Kind))
		}
	}
	if s.CountTasks(ralph.TaskActive) > 0 {
		return "BUILD"
	}
	return "between stages"
}
