package notify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/notice"
	"github.com/ralph-loop/ralph/internal/text"
)

// Urgency is how much a notice wants of a person.
type Urgency string

// The urgencies, from the least on.
const (
	Info    Urgency = "info"
	Trouble Urgency = "trouble"   // something went wrong; the work goes on or has ended
	Needs   Urgency = "needs-you" // something waits until a person acts
)

// Notice is one thing that a person is told.
type Notice struct {
	Event   string          `json:"event"` // a name of notice.Events
	Title   string          `json:"title"`
	Body    string          `json:"body"`              // what happened; begins with words of ours
	Command string          `json:"command,omitempty"` // that answers it
	Urgency Urgency         `json:"urgency"`
	At      time.Time       `json:"at"`
	Seq     int64           `json:"seq,omitempty"` // of its fact: who gets it twice knows it by that
	Session ralph.SessionID `json:"-"`
	Sound   notice.Sound    `json:"-"` // unless the settings have another one for the event
	// Heard: it is for the ear alone. What a person has just done, and what happens
	// many times a day, is not worth a message.
	Heard bool `json:"-"`
	// Key names the need: there is one notice for each.
	Key string `json:"-"`
}

// Notices are what an event tells a person; s is the state after it. Most events
// tell nothing. Their sounds are in internal/notice.
func Notices(e ralph.Event, s *ralph.State) []Notice {
	n, ok := noticeOf(e, s)
	if !ok {
		return nil
	}
	n.At, n.Seq, n.Session = e.At, e.Seq, s.Session.ID
	n.Title, n.Body = oneLine(n.Title, 120), oneLine(n.Body, 600)
	n.Urgency = cmp.Or(n.Urgency, Info)
	if n.Key == "" {
		n.Key = fmt.Sprintf("%s:%d", n.Event, e.Seq)
	}
	return []Notice{n}
}

func noticeOf(e ralph.Event, s *ralph.State) (Notice, bool) {
	switch f := e.Fact.(type) {
	case ralph.TaskStarted:
		t := s.Task(f.ID)
		return heard(notice.StepStart), t != nil && t.IsBuild()
	case ralph.TaskEnded:
		return taskEnded(f, s)
	case ralph.Asked:
		return asked(f.Approval, s), true
	case ralph.Control:
		return control(f, e.By, s)
	case ralph.JobEnded:
		return jobEnded(f, s)
	case ralph.Landed:
		return landed(f, s)
	case ralph.SessionStarted:
		return heard(notice.Started), true
	case ralph.SessionEnded:
		return sessionEnded(f, s)
	}
	return resilience(e, s)
}

// resilience is what limits, retries and budgets tell.
func resilience(e ralph.Event, s *ralph.State) (Notice, bool) {
	switch f := e.Fact.(type) {
	case ralph.Retrying:
		return heard(notice.Retrying), true
	case ralph.AgentLimited:
		return limited(f), true
	case ralph.AgentRetries:
		return retries(f), true
	case ralph.AgentSwitched:
		return heard(notice.Switched), true
	case ralph.AllLimited: // its pause tells nothing more
		if f.Again { // each minute without a network
			return Notice{}, false
		}
		if words := away(s); words != "" {
			return withSound(Notice{
				Event: notice.AllLimited, Title: "No agent can be used now", Urgency: Trouble, Command: "ralph resume",
				Body: "The work pauses, nothing counts as failed. " + words + ". `ralph resume` tries them at once.",
			}), true
		}
		return withSound(Notice{
			Event: notice.AllLimited, Title: "Every agent is at its limit", Urgency: Trouble, Command: "ralph resume",
			Body: fmt.Sprintf("The work pauses: %s cannot be used before %s. `ralph resume` tries them at once.", strings.Join(f.Agents, ", "), clock(f.Until)),
		}), true
	case ralph.ViewUnreadable:
		return withSound(Notice{
			Event: notice.File, Title: "A file cannot be read: " + f.File, Urgency: Needs, Command: "ralph status",
			Body: fmt.Sprintf("%s line %d: %s. The work goes on with what it said before.", f.File, f.Line, f.Why),
		}), true
	case ralph.Stalled:
		return withSound(Notice{
			Event: notice.Stalled, Title: "The engine has work and does nothing", Urgency: Trouble, Command: "ralph why",
			Body: action.Commands(f.Words(clock)) + ".",
		}), true
	case ralph.BudgetWarned:
		return withSound(Notice{
			Event: notice.Budget, Title: "A budget is nearly used up", Urgency: Trouble, Command: "ralph status", Body: "Budget of the " + f.Scope + ": " + f.Text,
		}), true
	}
	return Notice{}, false
}

// limited tells of an agent that somebody has to log in to; a limit ends by itself.
func limited(f ralph.AgentLimited) Notice {
	if f.Class != ralph.ErrClassAuth || f.Again {
		return heard(notice.Limited)
	}
	l := ralph.Limit{Agent: f.Agent, Class: f.Class, Login: f.Login}
	return withSound(Notice{
		Event: notice.Limited, Title: f.Agent + " is not logged in", Urgency: Trouble, Command: f.Login, Body: action.Commands(l.Words(clock)),
	})
}

// retries tells of an agent that has lost its connection, at its first try.
func retries(f ralph.AgentRetries) Notice {
	if f.Class != ralph.ErrClassNetwork {
		return heard(notice.Retrying)
	}
	return withSound(Notice{
		Event: notice.Retrying, Title: f.Agent + " has no connection", Urgency: Trouble, Command: "ralph status",
		Body: fmt.Sprintf("%s has no connection and tries again: %s", f.Agent, f.Message),
	})
}

// away says which agents are not logged in or have no connection, "" for none.
func away(s *ralph.State) string {
	var words []string
	for _, l := range s.Limits {
		if l.Away() {
			words = append(words, action.Commands(l.Words(clock)))
		}
	}
	return strings.Join(words, "; ")
}

// withSound gives a notice the sound of its event in the table.
func withSound(n Notice) Notice {
	event, _ := notice.Named(n.Event)
	n.Sound = event.Sound
	return n
}

func heard(event string) Notice { return withSound(Notice{Event: event, Title: event, Heard: true}) }

// taskEnded: only the end of a task counts, not the attempts before it.
func taskEnded(f ralph.TaskEnded, s *ralph.State) (Notice, bool) {
	t := s.Task(f.ID)
	if t == nil || !t.IsBuild() { // a stage's failure is told by the spec's
		return Notice{}, false
	}
	switch f.Status {
	case ralph.TaskDone:
		return heard(notice.StepDone), true
	case ralph.TaskSkipped:
		return heard(notice.StepSkipped), true
	case ralph.TaskFailed, ralph.TaskTimeout, ralph.TaskBlocked:
		return withSound(Notice{
			Event: notice.StepFailed, Title: "Task " + string(f.Status) + ": " + t.Name, Urgency: Trouble, Command: recovery(f, s),
			Body: fmt.Sprintf("Task %s %s: %s", f.ID, f.Status, f.Why.Text),
		}), true
	}
	return Notice{}, false
}

// recovery is what helps a task that ended badly. In place its spec ends with it,
// so there one looks first.
func recovery(f ralph.TaskEnded, s *ralph.State) string {
	if s.Session.Mode != "autopilot" {
		return fmt.Sprintf("ralph why %s", f.ID)
	}
	ended := ralph.Task{ID: f.ID, Status: f.Status, Run: ralph.Run{Attempt: ralph.Attempt{RanOut: f.RanOut}}}
	return action.Commands(ended.Recovery())
}

func gateKey(id ralph.ApprovalID) string { return "gate:" + string(id) }

func asked(g ralph.Approval, s *ralph.State) Notice {
	about := cmp.Or(g.About, g.Task)
	name := string(about)
	if t := s.Task(about); t != nil {
		name = t.Name
	}
	n := Notice{Event: notice.Gate, Urgency: Needs, Key: gateKey(g.ID)}
	if !g.Decidable() {
		n.Title = "An agent asks: " + name
		n.Body = fmt.Sprintf("Task %s asks: %s", about, g.Text)
		n.Command = fmt.Sprintf("ralph answer %s \"...\"", g.ID)
		for i, o := range g.Options {
			n.Body += fmt.Sprintf(" %d) %s", i+1, o)
		}
		return withSound(n)
	}
	n.Command = fmt.Sprintf("ralph approve %s", g.ID)
	more := fmt.Sprintf(" (`ralph gates %s` shows it, `ralph deny %[1]s` refuses it)", g.ID)
	switch g.Kind {
	case ralph.ApprovalStart:
		n.Title, n.Body = "A start waits for you", "The start waits for your approval: "+g.Text+more
	case ralph.ApprovalRequest, ralph.ApprovalOperation:
		n.Title, n.Body = "An agent waits for your approval: "+name, fmt.Sprintf("The agent of %s wants to %s%s%s", about, g.Text, held(g), more)
		if g.By != "" {
			n.Title, n.Body = "An agent of yours waits for your approval", fmt.Sprintf("An agent of yours wants to %s%s%s", g.Text, held(g), more)
		}
	case ralph.ApprovalTest:
		n.Title, n.Body = "Finished work needs your eye: "+name, fmt.Sprintf("The work of %s does not pass: %s%s", about, g.Text, more)
	case ralph.ApprovalCommit:
		n.Title, n.Body = "A commit waits for you", "The commit waits: "+g.Text+more
	case ralph.ApprovalPush:
		n.Title, n.Body = "A push waits for you", "Ralph wants to push finished work: "+g.Text+more
	case ralph.ApprovalStep:
		n.Title, n.Body = "The next task waits for you: "+name, fmt.Sprintf("Task %s waits for your approval: %s%s", about, g.Text, more)
	default:
		n.Title, n.Body = "A merge waits for you: "+name, fmt.Sprintf("The merge of %s needs you: %s%s", about, g.Text, more)
	}
	return withSound(n)
}

// held is which rule holds an operation.
func held(g ralph.Approval) string {
	if g.Kind != ralph.ApprovalOperation || g.Rule == "" {
		return ""
	}
	return " [" + g.Rule + "]"
}

// control: each pause has one sound by its cause.
func control(f ralph.Control, by string, s *ralph.State) (Notice, bool) {
	switch {
	case f.Want == ralph.WantRun && by == "engine" && away(s) != "": // one more try, each minute
		return Notice{}, false
	case f.Want == ralph.WantRun && by == "engine":
		return withSound(Notice{Event: notice.Resumed, Title: "The work goes on", Body: "The work goes on: " + cmp.Or(f.Cause, "the pause is over")}), true
	case f.Want == ralph.WantRun:
		return heard(notice.Resumed), true
	case f.Want != ralph.WantPause || f.From == ralph.PauseLimits: // AllLimited has told of it
		return Notice{}, false
	case f.From == ralph.PauseFailures:
		return withSound(Notice{
			Event: notice.Paused, Title: "Paused: too many failures in a row", Urgency: Needs, Command: "ralph resume",
			Body: "The work is paused: " + cmp.Or(streak(s), f.Cause),
		}), true
	}
	return heard(notice.Paused), true
}

// streak names the tasks that failed one after the other (B-063).
func streak(s *ralph.State) string {
	var words []string
	for _, id := range s.Session.Streak {
		word := string(id)
		if t := s.Task(id); t != nil {
			word += " " + t.Name
		}
		words = append(words, word)
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("%d tasks failed in a row: %s", len(words), strings.Join(words, ", "))
}

// jobEnded tells of the specs of agent mode. Elsewhere the end of the one spec is
// the end of the session.
func jobEnded(f ralph.JobEnded, s *ralph.State) (Notice, bool) {
	switch f.Status {
	case ralph.SpecDone:
		n := Notice{Event: notice.SpecDone, Title: "Spec done: " + s.Plan.File, Heard: s.Session.Mode != "agent"}
		n.Body = fmt.Sprintf("Spec %s is done, %d of %d tasks", s.Plan.File, s.CountTasks(ralph.TaskDone), len(s.Plan.Tasks))
		if f.Commit != "" {
			n.Body += fmt.Sprintf(", commit %.9s", f.Commit)
		}
		return withSound(n), true
	case ralph.SpecFailed:
		n := withSound(Notice{
			Event: notice.SpecFailed, Title: "Spec failed: " + s.Plan.File, Urgency: Trouble, Command: "ralph status",
			Body: fmt.Sprintf("Spec %s failed: %s", s.Plan.File, f.Error),
		})
		if failed(s) {
			n.Sound = "" // its task was heard already
		}
		return n, true
	}
	return Notice{}, false
}

// failed reports whether a task of the plan ended badly.
func failed(s *ralph.State) bool {
	return slices.ContainsFunc(s.Plan.Tasks, func(t *ralph.Task) bool {
		return t.Status == ralph.TaskFailed || t.Status == ralph.TaskTimeout || t.Status == ralph.TaskBlocked
	})
}

// landed tells once of work that cannot be brought to the base branch, however
// often that is tried.
func landed(f ralph.Landed, s *ralph.State) (Notice, bool) {
	i := s.Plan.Integration
	if i == nil || len(i.Held) == 0 || i.HeldTries != 1 {
		return Notice{}, false
	}
	why := "files that you changed are in the way: " + strings.Join(f.Dirty, ", ")
	if f.Error != "" {
		why = f.Error
	}
	return withSound(Notice{
		Event: notice.Held, Title: "Finished work waits for your checkout", Urgency: Needs, Command: "git status",
		Body: fmt.Sprintf("Finished work is kept on branch %s; %s. Commit or stash that, and it lands by itself.", i.Branch, why),
	}), true
}

// sessionEnded: a stop or an abort ends with neither the event nor the sound of
// a plan that is done.
func sessionEnded(f ralph.SessionEnded, s *ralph.State) (Notice, bool) {
	why := string(f.Reason)
	if f.Detail != "" {
		why += ": " + f.Detail
	}
	again := "ralph status"
	if s.Session.Mode == "agent" || s.Session.Mode == "autopilot" {
		again = "ralph " + s.Session.Mode
	}
	switch f.Reason {
	case ralph.ReasonComplete, ralph.ReasonEmpty:
		n := Notice{Event: notice.Complete, Title: "All done", Body: "Done: " + result(s), Command: "ralph report"}
		return withSound(n), s.Session.Completed > 0 || s.Session.Count.TasksDone > 0
	case ralph.ReasonInterrupted, ralph.ReasonDenied: // a person's own word
		return heard(notice.Stopped), true
	case ralph.ReasonAborted, ralph.ReasonError:
		n := withSound(Notice{Event: notice.Aborted, Title: "The work was broken off", Urgency: Trouble, Body: "Ended: " + why, Command: again})
		if f.Task != "" {
			n.Body += " (" + string(f.Task) + ")"
			if t := s.Task(f.Task); t != nil && t.IsBuild() && t.Status == ralph.TaskFailed {
				n.Sound = "" // the task was heard already
			}
		}
		return n, true
	}
	return withSound(Notice{Event: notice.Stopped, Title: "The work has ended: " + string(f.Reason), Urgency: Trouble, Body: "Ended: " + why + "; " + result(s), Command: again}), true
}

// result is what came of a session. In autopilot the tasks are what people gave it.
func result(s *ralph.State) string {
	x := s.Session
	var parts []string
	add := func(n int, what, how string) {
		if n == 1 {
			parts = append(parts, "1 "+what+" "+how)
		} else if n > 1 {
			parts = append(parts, fmt.Sprintf("%d %ss %s", n, what, how))
		}
	}
	if x.Mode != "autopilot" {
		add(x.Completed, "spec", "done")
		add(x.Failed, "spec", "failed")
	}
	add(x.Count.TasksDone, "task", "done")
	add(x.Count.TasksFail, "task", "failed")
	return strings.Join(append(parts, x.Usage.Dollars(), ralph.Elapsed(x.Elapsed)), ", ")
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "a time that nobody knows"
	}
	return t.UTC().Format("15:04 MST")
}

// oneLine makes a text fit into a message. Agents write it: what steers a
// terminal or turns the direction of writing is left out.
func oneLine(s string, most int) string { return text.Clip(text.SafeLine(s), most) }
