package ralph

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

func (s *State) sessionStarted(f SessionStarted, at time.Time) {
	if f.Resumed && s.Session.ID == f.ID {
		x := &s.Session
		if x.Live() { // it was cut: what ran until its engine was last heard of counts
			x.Elapsed = x.Ran
			if s.Job != nil {
				s.Plan.Elapsed = s.Plan.Ran
				s.editJob(func(j *Job) { j.Since = at })
			}
		}
		x.Since, x.Ended, x.Detail, x.EndedAt = at, "", "", time.Time{}
		x.Config, x.Pid, x.Host, x.Log, x.PlanOnly, x.Auto = f.Config, f.Pid, f.Host, f.Log, f.DryRun, f.Autonomy()
		x.Want, x.Cause, x.Immediate, x.Consecutive, x.TaskFailures, x.Streak, x.Planned = WantRun, "", false, 0, 0, nil, nil
		x.Pause, x.Ends, x.Approved, x.Bad, x.Errors, x.SpecErrors = "", "", false, nil, nil, 0
		x.Before = x.Completed
	} else {
		s.Totals.Sessions++
		s.Session = Session{
			ID: f.ID, Mode: f.Mode, StartedAt: at, Since: at, Config: f.Config,
			Pid: f.Pid, Host: f.Host, Log: f.Log, Want: WantRun, PlanOnly: f.DryRun, Auto: f.Autonomy(),
		}
		if c := f.Carry; c != nil {
			s.Session.StartedAt, s.Session.Completed, s.Session.Failed = c.StartedAt, c.Completed, c.Failed
			s.Session.Before = c.Completed
			s.Session.Usage, s.Session.Current = Usage{Cost: c.Cost, Known: true}, c.Current
		}
	}
	s.interruptTasks()
	s.unapprove()
	s.endLimits(true)
	s.forgetHits()
}

func (s *State) sessionEnded(f SessionEnded, at time.Time) {
	x := &s.Session
	x.Elapsed += max(0, at.Sub(x.Since))
	x.Ended, x.Detail, x.EndedAt = f.Reason, f.Detail, at
	s.dropApprovals(ApprovalStart, ApprovalStep) // there is nothing left to say yes to
}

// BudgetAlert marks that the warning of a budget is out.
func BudgetAlert(what string) string { return "budget." + what }

func (s *State) alerted(scope string, task TaskID, key string) {
	switch scope {
	case "session":
		s.Session.Alerts = append(slices.Clone(s.Session.Alerts), key)
	case "spec":
		s.Plan.Alerts = append(slices.Clone(s.Plan.Alerts), key)
	case "task":
		s.editTask(task, func(t *Task) { t.Run.Alerts = append(slices.Clone(t.Run.Alerts), key) })
	}
}

func (s *State) control(f Control) {
	x := &s.Session
	if f.Want == WantRun && f.From == "" {
		x.TaskFailures, x.Streak, x.Bad = 0, nil, nil // a person has looked at them
		s.endLimits(x.Pause != PauseLimits)
	}
	x.Want, x.Cause, x.Immediate, x.Pause, x.Ends = f.Want, f.Cause, f.Immediate, "", f.Ends
	if f.Want == WantPause {
		x.Pause = f.From
		if x.Pause == "" {
			x.Pause = PausePerson
		}
	}
}

// Steer says what a person wants of the engine. What does not follow from the state
// that it is in is refused, with both named; but a stop is heard in every
// state, and a pause that is not reached yet can be taken back.
func (s *State) Steer(want Want, cause string) ([]Fact, error) {
	x := &s.Session
	if !x.Live() {
		return nil, &Refusal{Why: "no session is running: " + s.Mode() + " cannot go to " + target(want), Hint: "`[[start agent]]` or `[[start autopilot]]` starts one", Kind: ErrUsage}
	}
	refuse := func(hint string) ([]Fact, error) {
		return nil, &Refusal{Why: fmt.Sprintf("the engine is %s: it cannot go to %s", s.Mode(), target(want)), Hint: hint, Kind: ErrUsage}
	}
	switch {
	case x.Want == WantStop && want == WantStop:
		return refuse("it ends when the current iterations do; `[[stop-now]]` ends it at once")
	case x.Want == WantStop:
		return refuse("start it again when it has ended: it goes on where it was")
	case want == WantPause && x.Auto == Manual:
		return refuse("mode manual runs at full speed without a pause (A-093): `[[stop]]`, or first `[[autopilot]]`")
	case want == WantPause && x.Want == WantPause && x.Pause != PauseLimits: // that one ends by itself
		return refuse("`[[resume]]` lets it go on")
	case want == WantRun && x.Want != WantPause && slices.ContainsFunc(s.Limits, Limit.Away): // others work meanwhile: it is asked again
	case want == WantRun && x.Want != WantPause && len(s.Approvals) > 0:
		return refuse("what waits are gates: `[[gates]]`")
	case want == WantRun && x.Want != WantPause:
		return refuse("it is not paused")
	}
	return []Fact{Control{Want: want, Cause: cause}}, nil
}

// target is the state that a command leads to.
func target(want Want) string {
	switch want {
	case WantPause:
		return "paused"
	case WantStop:
		return "stopping"
	}
	return "running"
}

// StopNow says that the engine shall end at once, agents in the middle of their
// turn as well (B-074); what they left is put away or kept.
func (s *State) StopNow(cause string) ([]Fact, error) {
	if s.Session.Want != WantStop {
		if _, err := s.Steer(WantStop, cause); err != nil {
			return nil, err
		}
	} else if !s.Session.Live() {
		return s.Steer(WantStop, cause)
	}
	return []Fact{Control{Want: WantStop, Cause: cause, Immediate: true}}, nil
}

// SetMode switches the mode of a running session.
func (s *State) SetMode(mode Autonomy) ([]Fact, error) {
	switch {
	case !slices.Contains(Autonomies(), mode):
		return nil, &Refusal{Why: fmt.Sprintf("there is no mode %q", mode), Hint: "use manual, step, semi or autopilot", Kind: ErrUsage}
	case !s.Session.Live():
		return nil, &Refusal{Why: "no session is running: " + s.Mode() + " cannot go to mode " + string(mode), Hint: "`[[start autopilot --mode " + string(mode) + "]]` starts one; `mode` in ralph/config.yaml is for every start", Kind: ErrUsage}
	case s.Session.Want == WantStop:
		return nil, &Refusal{Why: fmt.Sprintf("the engine is %s: it cannot go to mode %s", s.Mode(), mode), Hint: "choose it at the next start: --mode " + string(mode), Kind: ErrUsage}
	case s.Session.Auto == mode:
		return nil, &Refusal{Why: "it is in mode " + string(mode) + " already", Kind: ErrUsage}
	}
	return []Fact{ModeSet{Mode: mode}}, nil
}

// Resumable reports whether there is something to go on with: the session was cut, a
// person ended it, or its machinery broke; but manual and step keep nothing
// . While its engine lives that is the engine's own business: only
// the lock tells.
func (s *Session) Resumable() bool {
	cut := s.Live() || s.Ended == ReasonInterrupted || s.Ended == ReasonError
	return s.ID != "" && cut && !s.Auto.EndsAtError()
}

// OnPlan reports whether the session works on the tasks that are in the plan, and not on specs of
// the inbox: autopilot on all of them, auto on its threads.
func (s Session) OnPlan() bool { return s.Mode == "autopilot" || s.Mode == ModeAuto }

// ModeAuto is the mode of sessions of threads.
const ModeAuto = "auto"

// Resumable reports whether a start in a mode goes on with the newest session.
// only is the spec of a mode that works on one; file says whether agent mode left its
// session file.
func (s *State) Resumable(mode, only string, file bool) bool {
	last := s.Session
	if last.Mode != mode || !last.Resumable() {
		return false
	}
	switch mode {
	case "agent":
		return file
	case "autopilot", ModeAuto: // on the same plan; another one since then begins a session of its own
		return s.Job == nil || s.Job.File == s.Plan.File
	}
	if s.Job == nil { // it was given back when a person ended the session
		return mode == "construct" && s.Plan.File == only && s.Plan.Unfinished() > 0
	}
	return last.Live() && s.Job.File == only
}

// CanResume reports whether the next start of the same kind goes on with the newest
// session: what every surface offers and every start does.
func (s *State) CanResume(file bool) bool {
	mode, only := s.Session.Mode, ""
	if mode == "construct" {
		only = s.SpecFile()
	}
	return mode != "plan" && s.Resumable(mode, only, file)
}

// NextStart says what the next start of the same kind does.
func (s *State) NextStart(file bool) string {
	mode := s.Session.Mode
	switch {
	case mode == "":
		return "`[[start agent]]` starts one"
	case mode == ModeAuto && len(s.OpenThreads()) == 0:
		return "`[[thread-continue]]` has a thread go on that has stopped"
	case mode == "plan", s.CanResume(file):
		return fmt.Sprintf("`[[start %s]]` goes on where it was", mode)
	case s.Session.Auto.EndsAtError():
		return fmt.Sprintf("mode %s keeps no session: `[[start %s]]` begins a new one on what is left", s.Session.Auto, mode)
	}
	return fmt.Sprintf("`[[start %s]]` begins a new session on what is left", mode)
}

// SessionStarted opens a session, or resumes one that was cut.
type SessionStarted struct {
	ID      SessionID       `json:"id"`
	Mode    string          `json:"mode"`           // agent, autopilot, construct, plan
	Semi    bool            `json:"semi,omitempty"` // as it was written before there was Auto
	Auto    Autonomy        `json:"autonomy,omitempty"`
	Plan    string          `json:"plan_id,omitempty"`     // the spec of the plan that is there
	Steps   int             `json:"total_steps,omitempty"` // and its tasks
	Resumed bool            `json:"resumed,omitempty"`
	Config  json.RawMessage `json:"config,omitempty"` // policy.Config, so that replay has it
	Version string          `json:"version,omitempty"`
	Pid     int             `json:"pid,omitempty"`
	Host    string          `json:"host,omitempty"`
	Log     string          `json:"log,omitempty"` // the agent log, relative to the repository
	DryRun  bool            `json:"dry_run,omitempty"`
	Carry   *Carry          `json:"carry,omitempty"` // a session file without a journal beside it
	// Anchor is the commit that held in git how far the journal had come when the session
	// before this one ended.
	Anchor string `json:"anchor,omitempty"`
}

// Kind implements Fact.
func (SessionStarted) Kind() string { return "session.started" }

// About implements Fact.
func (SessionStarted) About() TaskID { return "" }

func (f SessionStarted) fold(s *State, e Event) {
	s.Stalled = nil
	s.turnsOver("")
	s.sessionStarted(f, e.At)
}

// Carry is what ralph/.agent-session says of a session the journal does not
// know, as after a fresh clone of the folder.
type Carry struct {
	StartedAt time.Time `json:"started_at"`
	Completed int       `json:"specs_completed"`
	Failed    int       `json:"specs_failed"`
	Cost      float64   `json:"total_cost"`
	Current   SpecID    `json:"current_spec_id"`
}

// SessionEnded closes a session with its reason.
type SessionEnded struct {
	Reason Reason `json:"reason"`
	Detail string `json:"detail,omitempty"`
	Cause  string `json:"cause,omitempty"` // in one word: all_done, no_tasks, max_iterations, ...
	Task   TaskID `json:"task,omitempty"`  // aborted: the task that failed
}

// Kind implements Fact.
func (SessionEnded) Kind() string { return "session.ended" }

// About implements Fact.
func (f SessionEnded) About() TaskID { return f.Task }

func (f SessionEnded) fold(s *State, e Event) {
	s.Stalled = nil
	s.sessionEnded(f, e.At)
}

// Reason is why a session ended.
type Reason string

// The reasons. Interrupted keeps ralph/.agent-session, the others delete it.
const (
	ReasonEmpty       Reason = "inbox empty"
	ReasonComplete    Reason = "complete"
	ReasonFailed      Reason = "failed"
	ReasonMaxSpecs    Reason = "max-specs reached"
	ReasonMaxCost     Reason = "max-cost exceeded"
	ReasonMaxFailures Reason = "max-failures reached"
	ReasonBudget      Reason = "budget exceeded"
	ReasonInterrupted Reason = "interrupted"
	ReasonAborted     Reason = "aborted"        // errors.strategy abort, or a mode that ends at the first error
	ReasonLimited     Reason = "agents limited" // limits.wait: off
	ReasonDenied      Reason = "start denied"
	ReasonHook        Reason = "stopped by a hook"
	ReasonUnanswered  Reason = "gate expired"       // gate.on_timeout: stop, and nobody answered an agent in time
	ReasonPerson      Reason = "a person is needed" // nothing failed: finished work waits for the checkout
	ReasonError       Reason = "error"              // machinery failed: disk, git
)

// Control is what a person wants of the engine.
type Control struct {
	Want      Want      `json:"want"`
	Cause     string    `json:"cause,omitempty"`
	From      PauseKind `json:"from,omitempty"` // pause: what it comes from; run: that this has ended by itself
	Immediate bool      `json:"now,omitempty"`  // stop: without the end of the iteration (B-074)
	// Ends is the reason that a stop gives the session, where it is not a person's
	// interruption: a start denied, a hook.
	Ends Reason `json:"ends,omitempty"`
}

// Kind implements Fact.
func (Control) Kind() string { return "control" }

// About implements Fact.
func (Control) About() TaskID { return "" }

func (f Control) fold(s *State, _ Event) {
	s.control(f)
}

// Want is the wanted state of the engine.
type Want string

// What a person can want.
const (
	WantRun   Want = "run"
	WantPause Want = "pause"
	WantStop  Want = "stop"
)

// The facts of control and resilience: modes, backoffs, limits of agents,
// budgets, the context window, and what people hooked into the loop.

// Autonomy is how much the engine does by itself: the config key `mode`.
type Autonomy string

// The modes, from a person's hand to none.
const (
	Manual    Autonomy = "manual"    // at full speed, ends at the first error; no pause, no retry, no other agent
	Stepwise  Autonomy = "step"      // each task waits for a person's approval, else like manual
	Semi      Autonomy = "semi"      // a person assigns the tasks
	Autopilot Autonomy = "autopilot" // on its own
)

// Autonomies are the modes that a person can choose.
func Autonomies() []Autonomy { return []Autonomy{Manual, Stepwise, Semi, Autopilot} }

// EndsAtError reports whether the first error ends the run.
func (a Autonomy) EndsAtError() bool { return a == Manual || a == Stepwise }

// PauseKind is what a pause comes from: `ralph status` names it, and each has its
// own sound.
type PauseKind string

// The kinds of pauses. Gates are no pauses of the engine: only their task waits.
const (
	PausePerson   PauseKind = "person"
	PauseFailures PauseKind = "failures" // too many tasks in a row failed
	PauseLimits   PauseKind = "limits"   // every agent is at its limit
)

// ModeSet switches the mode while the engine runs (TOGGLE_AUTOPILOT).
type ModeSet struct {
	Semi bool     `json:"semi,omitempty"` // as it was written before there were more than two
	Mode Autonomy `json:"mode,omitempty"`
}

// Kind implements Fact.
func (ModeSet) Kind() string { return "mode.set" }

// About implements Fact.
func (ModeSet) About() TaskID { return "" }

func (f ModeSet) fold(s *State, _ Event) {
	s.Session.Auto, s.Session.Errors, s.Session.SpecErrors = f.Autonomy(), nil, 0
	if s.Session.Auto != Stepwise {
		s.dropApprovals(ApprovalStep)
	}
}

// Autonomy is the mode that the fact means, written now or before.
func (f ModeSet) Autonomy() Autonomy { return orSemi(f.Mode, f.Semi) }

// Autonomy is the mode that the session starts in, written now or before.
func (f SessionStarted) Autonomy() Autonomy { return orSemi(f.Auto, f.Semi) }

func orSemi(mode Autonomy, semi bool) Autonomy {
	switch {
	case mode != "":
		return mode
	case semi:
		return Semi
	}
	return Autopilot
}

// BudgetWarned says that most of a budget is used up; said once each.
type BudgetWarned struct {
	Scope string `json:"scope"`          // session, spec, task
	Task  TaskID `json:"task,omitempty"` // scope task
	What  string `json:"what"`           // tokens, cost, time, iterations
	Text  string `json:"text"`
}

// Kind implements Fact.
func (BudgetWarned) Kind() string { return "budget.warned" }

// About implements Fact.
func (f BudgetWarned) About() TaskID { return f.Task }

func (f BudgetWarned) fold(s *State, _ Event) {
	s.alerted(f.Scope, f.Task, BudgetAlert(f.What))
}

// HookRan is what a person's executable in ralph/hooks did at an event. Stop: it
// was a pre- hook and said by exit code 2 that the loop shall end.
type HookRan struct {
	Hook   string        `json:"hook"`          // file name below ralph/hooks
	Seq    int64         `json:"for,omitempty"` // of the fact it was told of; 0 for a pre- hook
	Task   TaskID        `json:"task,omitempty"`
	Exit   int           `json:"exit"`
	Error  string        `json:"error,omitempty"`  // did not start, timed out, ended by exit code N
	Output string        `json:"output,omitempty"` // the end of what it printed
	Stop   bool          `json:"stop,omitempty"`
	Took   time.Duration `json:"took"`
}

// Kind implements Fact.
func (HookRan) Kind() string { return "hook.ran" }

// About implements Fact.
func (f HookRan) About() TaskID { return f.Task }

func (HookRan) fold(*State, Event) {} // of the checkout alone: inCheckout

// NoticeFailed says that a notice could not be brought to a person. Those that
// arrive leave no fact.
type NoticeFailed struct {
	Sink  string `json:"sink"` // desktop, sound, or a webhook's service and host
	Error string `json:"error"`
}

// Kind implements Fact.
func (NoticeFailed) Kind() string { return "notice.failed" }

// About implements Fact.
func (NoticeFailed) About() TaskID { return "" }

func (NoticeFailed) fold(*State, Event) {} // it tells, and changes nothing

// ActiveAgent is the agent that new tasks are given to: before the first turn
// the first of the chain that the session's settings name; "" without a session.
func (s *Session) ActiveAgent() string {
	var c struct {
		Agents []string `json:"agents"`
	}
	if s.Agent != "" || len(s.Config) == 0 || json.Unmarshal(s.Config, &c) != nil || len(c.Agents) == 0 {
		return s.Agent
	}
	return c.Agents[0]
}

// Session is one run of the engine; a resumed one keeps its id.
type Session struct {
	ID           SessionID       `json:"id,omitempty"`
	Mode         string          `json:"mode,omitempty"`
	StartedAt    time.Time       `json:"started_at,omitzero"`
	Since        time.Time       `json:"since,omitzero"`    // start of the stretch that runs now
	Elapsed      time.Duration   `json:"elapsed,omitempty"` // of the stretches before it
	RestAt       time.Time       `json:"rest_at,omitzero"`  // since when it waits for a person alone, which does not count
	HeardAt      time.Time       `json:"heard_at,omitzero"` // the newest fact of its engine: no later one knows that it worked
	Ran          time.Duration   `json:"ran,omitempty"`     // by then
	EndedAt      time.Time       `json:"ended_at,omitzero"`
	Ended        Reason          `json:"ended,omitempty"`
	Detail       string          `json:"detail,omitempty"`
	Config       json.RawMessage `json:"config,omitempty"`
	Pid          int             `json:"pid,omitempty"`
	Host         string          `json:"host,omitempty"`
	Log          string          `json:"log,omitempty"`
	Completed    int             `json:"completed"`        // specs
	Before       int             `json:"before,omitempty"` // of these, completed before this start of it
	Failed       int             `json:"failed"`
	Consecutive  int             `json:"consecutive,omitempty"`   // failed specs in a row
	TaskFailures int             `json:"task_failures,omitempty"` // failed tasks in a row
	Usage        Usage           `json:"usage,omitzero"`
	Turns        int             `json:"turns,omitempty"`
	Agent        string          `json:"agent,omitempty"`    // that new tasks are given to
	Fallback     string          `json:"fallback,omitempty"` // why it is not the primary one
	Want         Want            `json:"want,omitempty"`
	Cause        string          `json:"cause,omitempty"`
	Immediate    bool            `json:"now,omitempty"`       // the stop does not wait for the iteration
	Current      SpecID          `json:"current,omitempty"`   // stays after an interrupt
	LastTask     time.Time       `json:"last_task,omitzero"`  // when a build task ended, for task.delay
	Freed        []time.Time     `json:"freed,omitempty"`     // likewise in each slot, slot 1 first
	Planned      []SpecID        `json:"planned,omitempty"`   // --dry-run: planned once each (D-035)
	PlanOnly     bool            `json:"plan_only,omitempty"` // --dry-run
	Auto         Autonomy        `json:"autonomy,omitempty"`
	Approved     bool            `json:"approved,omitempty"` // the start, where one has to be
	Pause        PauseKind       `json:"pause,omitempty"`    // what the wanted pause comes from
	Ends         Reason          `json:"ends,omitempty"`     // the reason that the wanted stop gives
	Alerts       []string        `json:"alerts,omitempty"`   // warnings that are out: each is said once
	Count        Totals          `json:"count,omitzero"`     // of this session alone
	Streak       []TaskID        `json:"streak,omitempty"`   // the tasks behind TaskFailures (B-063)
	Bad          []TaskID        `json:"bad,omitempty"`      // failed or timed out in a row
	// What went wrong since the mode was set: a mode that ends at the first error does
	// not end for what was wrong before.
	Errors     []TaskID `json:"errors,omitempty"`      // failed or timed out
	SpecErrors int      `json:"spec_errors,omitempty"` // specs that failed
}

// FreedAt is when a build task left a slot, zero for never; slot 0 is the checkout.
func (s *Session) FreedAt(slot int) time.Time {
	switch {
	case slot == 0:
		return s.LastTask
	case slot <= len(s.Freed):
		return s.Freed[slot-1]
	}
	return time.Time{}
}

// leftSlot notes when a build task left its slot.
func (s *Session) leftSlot(slot int, at time.Time) {
	s.LastTask = at
	if slot == 0 {
		return
	}
	freed := make([]time.Time, max(slot, len(s.Freed)))
	copy(freed, s.Freed)
	freed[slot-1] = at
	s.Freed = freed
}

// Live reports whether the session has begun and not ended. After a crash it
// is true although nobody works on it: only the lock tells that apart.
func (s *Session) Live() bool { return s.ID != "" && s.Ended == "" }
