package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/services"
	"github.com/ralph-loop/ralph/internal/text"
)

// Need is one thing that waits for a person, with the command that helps.
type Need struct {
	Kind    string          // failures, limits, assign, stalled, file, landing, or the kind of its gate
	Gate    *ralph.Approval // what asks; nil for what is no gate
	Tasks   []ralph.TaskID  // that it is about
	What    string
	Command string
}

// Needs are what waits for a person, most pressing first. Gates wait also while no
// engine runs: the answer is there when it starts again.
func Needs(s *ralph.State, engine Engine, now time.Time) []Need {
	return NeedsBeside(services.List(s, now), s, engine, now)
}

// NeedsBeside is Needs for who has listed the services already.
func NeedsBeside(outside []services.Row, s *ralph.State, engine Engine, now time.Time) []Need {
	var out []Need
	x := s.Session
	live := engine.Alive && x.Live()
	if live && x.Want == ralph.WantPause {
		switch kind := pauseKind(s); {
		case kind == ralph.PauseFailures:
			what := fmt.Sprintf("paused: %s failed in a row: %s", text.Count(x.TaskFailures, "task"), report.IDs(x.Streak))
			out = append(out, Need{Kind: "failures", Tasks: x.Streak, What: what, Command: action.Commands(againWords(s, x.Streak) + ", then [[resume]]")})
		case kind == ralph.PauseLimits && login(s, now) != nil:
			l := login(s, now)
			out = append(out, Need{Kind: "login", What: fmt.Sprintf("paused: %s is not logged in", l.Agent), Command: action.Commands(loginCommand(l))})
		case kind == ralph.PauseLimits && report.SettingsOf(x.Config).LimitWait == waitAsk:
			out = append(out, Need{Kind: "limits", What: "paused: " + report.LimitedWords(s), Command: action.Commands("[[resume]]")})
		}
	}
	for _, g := range s.Approvals {
		if !g.Answerable(engine.Alive, now) {
			continue // who asked is gone; its turn runs again
		}
		out = append(out, gateNeed(g, now))
	}
	if live && x.Auto == ralph.Semi && s.Mode() == "waiting_user" {
		out = append(out, Need{Kind: "assign", What: "choose what comes next (`[[why]]` lists what is ready)", Command: action.Commands("[[assign <task>]]")})
	}
	if f := s.Stalled; live && f != nil {
		what := fmt.Sprintf("the engine has work and does nothing since %s, which is a fault of ralph: please report it with %s", report.ClockWords(f.Since, now), f.Report)
		out = append(out, Need{Kind: "stalled", Tasks: f.Active, What: what, Command: action.Commands("[[why]], then [[stop-now]], then start again")})
	}
	for _, u := range s.Unread {
		if live { // without an engine a command that reads the file says so itself
			out = append(out, Need{
				Kind: "file", What: fmt.Sprintf("%s (since %s); what it said before holds", report.UnreadableWords(u.ViewUnreadable), report.ClockWords(u.Since, now)),
				Command: "mend the line: it is read again by itself",
			})
		}
	}
	if l := landing(s); l != nil && l.Behind && len(l.Held) > 0 {
		command := "commit or stash what is in the way: then it lands by itself"
		if !x.Live() {
			command = "commit or stash what is in the way, then: git merge --ff-only " + l.Branch
		}
		what := fmt.Sprintf("%s does not land on %s: %s", l.Branch, report.BaseWords(l.Base), report.OneLine(text.List(l.Held, 5)))
		out = append(out, Need{Kind: "landing", What: what, Command: action.Commands(command)})
	}
	return append(out, serviceNeeds(outside)...)
}

// againWords name what has tasks worked on again: threads go on, others are tried once more.
func againWords(s *ralph.State, ids []ralph.TaskID) string {
	var threads, tasks bool
	for _, id := range ids {
		t := s.Task(id)
		thread := t != nil && t.Run.Thread != nil
		threads, tasks = threads || thread, tasks || !thread
	}
	switch {
	case threads && tasks:
		return "[[thread-continue <thread>]] or [[retry <task>]]"
	case threads:
		return "[[thread-continue <thread>]]"
	}
	return "[[retry <task>]]"
}

// login is the first agent that somebody has to log in to, nil for none.
func login(s *ralph.State, now time.Time) *ralph.Limit {
	for i, l := range s.Limits {
		if l.Class == ralph.ErrClassAuth && !l.Over(now) {
			return &s.Limits[i]
		}
	}
	return nil
}

func loginCommand(l *ralph.Limit) string {
	if l.Login == "" {
		return "log in to " + l.Agent + " (`[[doctor]]` says how), then [[resume]]"
	}
	return l.Login + ", then [[resume]]"
}

func gateNeed(g *ralph.Approval, now time.Time) Need {
	who := g.Task
	if g.About != "" {
		who = g.About
	}
	parts := []string{string(g.ID), g.Kind}
	if who != "" {
		parts = append(parts, string(who))
	}
	switch {
	case g.InTurn && g.Decidable():
		parts = append(parts, "waits for approval in the middle of its turn: "+report.OneLine(g.Text))
	case g.InTurn:
		parts = append(parts, "waits for an answer in the middle of its turn: "+report.OneLine(g.Text))
	default:
		parts = append(parts, report.OneLine(g.Text))
	}
	if len(g.Options) > 0 {
		parts = append(parts, report.OptionWords(g.Options))
	}
	if !g.Deadline.IsZero() {
		parts[len(parts)-1] += fmt.Sprintf(", until %s", report.ClockWords(g.Deadline, now))
	}
	if g.Never {
		parts[len(parts)-1] += "; no rule can approve it"
	}
	command := fmt.Sprintf("[[answer %s \"...\"]]", g.ID)
	if g.Decidable() {
		command = fmt.Sprintf("[[approve %s]]   or   [[deny %[1]s --reason \"...\"]]   ([[gates %[1]s]] shows it)", g.ID)
	}
	n := Need{Kind: g.Kind, Gate: g, What: strings.Join(parts, "  "), Command: action.Commands(command)}
	if who != "" {
		n.Tasks = []ralph.TaskID{who}
	}
	return n
}
