package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// Engine is what is known of the process that works in the repository.
type Engine struct {
	Alive bool
	Pid   int
	Host  string
}

// Status is `ralph status`. The four lines of agent mode come first while such
// a session is active, then an empty line (D-054 to D-058).
func Status(s *ralph.State, engine Engine, now time.Time) string {
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
		running := s.Running(now)
		if !engine.Alive {
			running = s.Running(s.At)
		}
		fmt.Fprintf(&b, "Session: %s completed, %s spent, %s elapsed\n\n", count(x.Completed, "spec"),
			ralph.Dollars(x.Usage.Cost), ralph.Elapsed(running))
	}
	construct(&b, s, engine, now)
	return b.String()
}

// construct is the status without agent mode: what needs a person comes first.
func construct(b *strings.Builder, s *ralph.State, engine Engine, now time.Time) {
	if list := needs(s); len(list) > 0 {
		fmt.Fprintln(b, "Needs you:")
		for _, n := range list {
			fmt.Fprintf(b, "  %s\n      %s\n", n.what, n.command)
		}
		fmt.Fprintln(b)
	}
	line := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-8s %s\n", name+":", fmt.Sprintf(format, args...))
	}
	line("Engine", "%s", engineWords(s, engine))
	if s.Plan.File == "" && len(s.Plan.Tasks) == 0 {
		line("Plan", "none (ralph plan <spec>, or queue one: ralph inbox add <spec>)")
	} else {
		line("Spec", "%s", orNone(s.Plan.File))
		line("Tasks", "%s", taskCounts(s))
		if n := len(s.Plan.Issues); n > 0 {
			line("Issues", "%d open", n)
		}
		if s.Job != nil && s.Session.Mode != pilot {
			line("Round", "%d, %s", s.Job.Round, stageNow(s))
		}
		line("Spent", "%s, %s, %s", ralph.Dollars(s.Plan.Usage.Cost), ralph.Elapsed(s.JobElapsed(at(engine, s, now))), count(s.Plan.Turns, "iteration"))
	}
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskActive && t.Run.Place.Slot == 0 {
			doing := fmt.Sprintf("iteration %d", t.Run.Iterations+1)
			if s.Gate(t.ID) != nil {
				doing = "waiting for you"
			}
			line("Now", "%s %s, %s", t.ID, t.Name, doing)
		}
	}
	crewStatus(line, s, at(engine, s, now))
	for _, l := range s.Limits {
		if l.Until.After(now) {
			line("Limit", "%s until %s", l.Agent, l.Until.Local().Format("15:04:05"))
		}
	}
}

// at is the instant until which a job has run: now, or the last sign of a dead engine.
func at(engine Engine, s *ralph.State, now time.Time) time.Time {
	if engine.Alive {
		return now
	}
	return s.At
}

func engineWords(s *ralph.State, engine Engine) string {
	x := s.Session
	switch {
	case engine.Alive && x.Cause != "":
		return fmt.Sprintf("%s (%s), pid %d", s.Mode(), x.Cause, engine.Pid)
	case engine.Alive && x.Auto == ralph.Semi:
		return fmt.Sprintf("%s (semi: you assign the tasks), pid %d", s.Mode(), engine.Pid)
	case engine.Alive:
		return fmt.Sprintf("%s, pid %d", s.Mode(), engine.Pid)
	case x.ID == "":
		return "idle"
	case x.Live():
		return fmt.Sprintf("not running: the last one was cut; `ralph %s` goes on where it was", x.Mode)
	case x.Ended == ralph.ReasonInterrupted && x.Mode == "agent":
		return "idle: interrupted; `ralph agent` goes on where it was"
	}
	return fmt.Sprintf("idle (last session: %s)", x.Ended)
}

func taskCounts(s *ralph.State) string {
	var parts []string
	for _, status := range []ralph.TaskStatus{ralph.TaskPending, ralph.TaskActive, ralph.TaskDone, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskSkipped} {
		n := s.CountTasks(status)
		if n > 0 || status == ralph.TaskPending || status == ralph.TaskDone {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	return strings.Join(parts, ", ")
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
