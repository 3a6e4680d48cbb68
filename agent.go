package ralph

import (
	"fmt"
	"slices"
	"time"
)

// limited folds a limit. A turn that began before it and meets it later knows less:
// it neither shortens nor softens what is known.
func (s *State) limited(f AgentLimited, at time.Time) {
	l := Limit{Agent: f.Agent, Task: f.Task, Since: f.Since, Until: f.Until, Hard: f.Hard, Message: f.Message}
	if l.Since.IsZero() {
		l.Since = at
	}
	known := s.Limit(f.Agent)
	if f.Class != "" {
		l.Class, l.Login, l.First = f.Class, f.Login, l.Since
		if known != nil && known.Class == f.Class {
			l.First = known.First
		}
	}
	if known != nil && !known.Over(l.Since) {
		l.Hard = l.Hard || known.Hard
		if known.Until.After(l.Until) {
			l.Until, l.Class, l.Login, l.First = known.Until, known.Class, known.Login, known.First
		}
	}
	s.Limits = slices.DeleteFunc(slices.Clone(s.Limits), func(x Limit) bool { return x.Agent == f.Agent })
	s.Limits = append(s.Limits, l)
}

// agentWorks takes away the limit of an agent that did a turn which began after it.
func (s *State) agentWorks(agent string, began time.Time) {
	if l := s.Limit(agent); l != nil && !l.Until.After(began) {
		s.Limits = slices.DeleteFunc(slices.Clone(s.Limits), func(l Limit) bool { return l.Agent == agent })
	}
}

// endLimits ends all limits, or only those of agents that are away: a person who resumes
// knows better. They are not forgotten before an agent has worked, so that one turn tries
// alone.
func (s *State) endLimits(onlyAway bool) {
	s.Limits = slices.Clone(s.Limits)
	for i, l := range s.Limits {
		if !onlyAway || l.Away() {
			s.Limits[i] = Limit{Agent: l.Agent, Task: l.Task, Since: l.Since, Until: l.Since, Hard: l.Hard, Message: l.Message}
		}
	}
	if !onlyAway {
		s.forgetHits()
	}
}

// forgetHits begins all counters of limits anew: a person has started again.
func (s *State) forgetHits() {
	s.editTasks(func(t *Task) bool {
		hit := len(t.Run.LimitHits) > 0
		t.Run.LimitHits = nil
		return hit
	})
}

// AgentLimited says that an agent cannot be used until a time. All tasks and
// slots heed it.
type AgentLimited struct {
	Agent string    `json:"agent"`
	Until time.Time `json:"until"`
	Since time.Time `json:"since,omitzero"` // by the clock that Until is of; a fact's own time never goes back
	Task  TaskID    `json:"task,omitempty"` // whose turn met the limit
	Try   int       `json:"try,omitempty"`  // which hit in a row of this agent and task
	// BackoffMS is the wait before the same agent is asked again; 0 on the hit after
	// which the task turns to another agent.
	BackoffMS int64 `json:"backoff_ms"`
	// Hard: waiting a little does not help, so other tasks turn to another agent at once.
	Hard    bool   `json:"hard,omitempty"`
	Message string `json:"message,omitempty"`
	// Class is authentication or connection where it is no limit that keeps the agent from
	// work. Without a login Until is never: only a person ends that (Away).
	Class ErrorClass `json:"class,omitempty"`
	Login string     `json:"login,omitempty"` // authentication: the command that logs in
	Again bool       `json:"again,omitempty"` // it was so at the last try too
}

// Kind implements Fact.
func (AgentLimited) Kind() string { return "agent.limited" }

// About implements Fact.
func (f AgentLimited) About() TaskID { return f.Task }

func (f AgentLimited) fold(s *State, e Event) {
	s.limited(f, e.At)
}

// AgentRetries says that an agent tries again by itself in the middle of a turn, since it
// cannot be used now. Told once for as long as that lasts.
type AgentRetries struct {
	Task    TaskID     `json:"task"`
	Agent   string     `json:"agent"`
	Class   ErrorClass `json:"class"`
	Message string     `json:"message"`
}

// Kind implements Fact.
func (AgentRetries) Kind() string { return "agent.retries" }

// About implements Fact.
func (f AgentRetries) About() TaskID { return f.Task }

func (AgentRetries) fold(*State, Event) {} // it tells, and changes nothing

// AgentSwitched says that a task, and those that start after it, turn to another
// agent.
type AgentSwitched struct {
	Task   TaskID `json:"task"`
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"` // SwitchLimit, SwitchLogin, SwitchNetwork, SwitchBack
}

// Kind implements Fact.
func (AgentSwitched) Kind() string { return "agent.switched" }

// About implements Fact.
func (f AgentSwitched) About() TaskID { return f.Task }

func (f AgentSwitched) fold(s *State, _ Event) {
	s.Session.Agent, s.Session.Fallback = f.To, ""
	switch f.Reason {
	case SwitchLimit:
		s.Session.Fallback = "rate-limited"
	case SwitchLogin:
		s.Session.Fallback = "not logged in"
	case SwitchNetwork:
		s.Session.Fallback = "without a connection"
	}
	s.editTask(f.Task, func(t *Task) {
		if t.Run.Agent = f.To; t.Run.Iterations == 0 {
			t.Run.Session = "" // one that was taken over is another agent's
		}
	})
}

// Why the agent is another one.
const (
	SwitchLimit   = "rate-limit"
	SwitchLogin   = "not-logged-in"
	SwitchNetwork = "no-connection"
	SwitchBack    = "recovered" // the primary may be used again
)

// AllLimited says that no agent can be used before Until; the engine pauses.
type AllLimited struct {
	Task   TaskID    `json:"task,omitempty"` // whose turn met the last of the limits
	Agents []string  `json:"agents"`
	Until  time.Time `json:"until"`           // zero: not before a person has logged in
	Again  bool      `json:"again,omitempty"` // nothing has changed since the last pause but the time
}

// Kind implements Fact.
func (AllLimited) Kind() string { return "agents.limited" }

// About implements Fact.
func (f AllLimited) About() TaskID { return f.Task }

func (AllLimited) fold(*State, Event) {} // it tells, and changes nothing

// SandboxRefused says that the sandbox kept an agent from writing a file, as far as what the
// agent's own tools gave back shows it; of a path once a turn.
type SandboxRefused struct {
	Task    TaskID `json:"task"`
	Agent   string `json:"agent"`
	Sandbox string `json:"sandbox"` // its kind
	Path    string `json:"path"`
	Call    string `json:"call,omitempty"`    // the command or call that met it, where the agent tells
	Allowed string `json:"allowed,omitempty"` // by which gate or rule that call had been let pass
}

// Kind implements Fact.
func (SandboxRefused) Kind() string { return "sandbox.refused" }

// About implements Fact.
func (f SandboxRefused) About() TaskID { return f.Task }

func (SandboxRefused) fold(*State, Event) {} // it tells, and changes nothing

// Limit is an agent that cannot be used until a time. It stays after that, until a
// turn has shown that the agent works again: the first to try goes alone.
type Limit struct {
	Agent   string    `json:"agent"`
	Task    TaskID    `json:"task,omitempty"` // whose turn met it
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until"`
	Hard    bool      `json:"hard,omitempty"` // as in AgentLimited
	Message string    `json:"message,omitempty"`

	// As in AgentLimited, with First: since when it has been so over all tries.
	Class ErrorClass `json:"class,omitempty"`
	Login string     `json:"login,omitempty"`
	First time.Time  `json:"first,omitzero"`
}

// Away reports whether it is no limit that keeps the agent from work: it is not logged in,
// or nothing answers it.
func (l Limit) Away() bool { return l.Class != "" }

// Never is the end of what only a person ends: so far ahead that nothing waits for it.
const Never = 100 * 365 * 24 * time.Hour

// Words says what keeps the agent from work, with what helps. clock writes times.
func (l Limit) Words(clock func(time.Time) string) string {
	switch {
	case l.Class == ErrClassAuth && l.Login != "":
		return fmt.Sprintf("%s: not logged in: run `%s`, then resume", l.Agent, l.Login)
	case l.Class == ErrClassAuth:
		return l.Agent + ": not logged in, or its key is refused: the doctor says what helps, then resume"
	case l.Class == ErrClassNetwork:
		return fmt.Sprintf("%s: no connection since %s, next try %s", l.Agent, clock(l.First), clock(l.Until))
	}
	return fmt.Sprintf("%s: at its limit until %s", l.Agent, clock(l.Until))
}

// Over reports whether the agent may be tried again. A limit that began after now
// was noted before the clock went back: nobody knows, so one tries.
func (l Limit) Over(now time.Time) bool { return !l.Until.After(now) || l.Since.After(now) }

// Limit returns the limit of an agent, over or not; nil when there is none.
func (s *State) Limit(agent string) *Limit {
	for i, l := range s.Limits {
		if l.Agent == agent {
			return &s.Limits[i]
		}
	}
	return nil
}

// LimitedUntil returns when the agent may be used again, zero when it may now.
func (s *State) LimitedUntil(agent string, now time.Time) time.Time {
	if l := s.Limit(agent); l != nil && !l.Over(now) {
		return l.Until
	}
	return time.Time{}
}

// AgentSpec is one agent of the configuration: which driver speaks to which
// command (`agents:` in config.yaml).
type AgentSpec struct {
	Name     string   `json:"name"`
	Driver   string   `json:"driver"` // exec, scripted, claude, ...
	Command  []string `json:"command,omitempty"`
	Args     []string `json:"args,omitempty"`
	Model    string   `json:"model,omitempty"`
	Prompt   string   `json:"prompt,omitempty"` // exec: stdin, arg or file
	Scenario string   `json:"scenario,omitempty"`
	// BaseURL, KeyEnv and Window are of the driver api: where the model is asked, which
	// variable holds the key, how many tokens the model holds.
	BaseURL string `json:"base_url,omitempty"`
	KeyEnv  string `json:"key_env,omitempty"`
	Window  int    `json:"window,omitempty"`
	// Output is how an exec agent's stdout is read: text (also ""), jsonl with the rows
	// of Events, or the name of a preset, which has rows of its own.
	Output string     `json:"output,omitempty"`
	Events []EventRow `json:"events,omitempty"`
	// Resume are the arguments by which an exec agent goes on with {session}; none: it
	// cannot.
	Resume []string `json:"resume,omitempty"`
	// Approvals is what happens to what the agent asks (gate.approvals): auto, ask, policy
	// or never. Drivers keep their agent asking with each: ralph answers.
	Approvals string `json:"approvals,omitempty"`
	// Sandbox is the kind of the sandbox in which ralph starts the agent's processes, "" for
	// none. A driver then tells its agent to make none of its own within: it would be the
	// same promise, and some cannot be made there.
	Sandbox string `json:"sandbox,omitempty"`
	// Project lets the agent read the repository's own settings: its hooks and MCP
	// servers then run. Without it they do not, where the driver can tell its agent so.
	Project bool              `json:"project,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	PassEnv []string          `json:"pass_env,omitempty"`
}

// ErrorClass types an agent's error; policy never looks at exit codes alone.
type ErrorClass string

// The classes, from facts/*.md.
const (
	ErrClassLimit   ErrorClass = "rate_limit" // 429, plan limits
	ErrClassBusy    ErrorClass = "overloaded" // 529
	ErrClassAuth    ErrorClass = "authentication"
	ErrClassRequest ErrorClass = "bad_request" // also unknown model, billing
	ErrClassContext ErrorClass = "context_full"
	ErrClassNetwork ErrorClass = "connection" // nothing answers: no network, no such host, refused
	ErrClassServer  ErrorClass = "server"     // 5xx
	ErrClassRefusal ErrorClass = "refusal"    // the model refused
	ErrClassBudget  ErrorClass = "budget"     // the agent's own turn or money limit
	ErrClassOther   ErrorClass = "unknown"    // non-zero exit without a typed cause
	ErrClassSpawn   ErrorClass = "spawn"      // program missing or not executable
	ErrClassOutput  ErrorClass = "protocol"   // the agent broke its own protocol
)

// AgentError is a typed error of a turn.
type AgentError struct {
	Class   ErrorClass `json:"class"`
	Status  int        `json:"status,omitempty"` // HTTP status where there was one
	Message string     `json:"message"`
	ResetAt time.Time  `json:"reset_at,omitzero"` // when a limit ends, if the service said so
	Limit   string     `json:"limit,omitempty"`   // which limit, in the service's words: five_hour, seven_day, ...
	// Lasting: the program does not start, and would not the next time: no interpreter, not
	// executable, settings that cannot be.
	Lasting bool `json:"lasting,omitempty"`
	// Wait is how long to wait at least, where no time is named: what the agent said that
	// it waits before its own next try.
	Wait time.Duration `json:"wait,omitempty"`
	// Retried: the agent tried again by itself, until ralph ended its turn.
	Retried bool `json:"retried,omitempty"`
}

// OfAgent reports errors that say nothing of the work: the agent cannot be used now, with
// whatever task. They count against no task and no spec.
func (e *AgentError) OfAgent() bool {
	switch e.Class {
	case ErrClassLimit, ErrClassBusy, ErrClassAuth, ErrClassNetwork:
		return true
	}
	return false
}

// Permanent reports errors that trying again cannot mend.
func (e *AgentError) Permanent() bool {
	switch e.Class {
	case ErrClassRequest:
		return true
	case ErrClassSpawn: // a program that is missing may be back in a moment
		return e.Lasting
	}
	return false
}
