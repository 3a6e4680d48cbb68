package ralph

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ralph-loop/ralph/internal/tally"
)

func (s *State) turnEnded(f TurnEnded, at time.Time) {
	usage := f.Spent()
	s.Session.Usage = s.Session.Usage.Add(usage)
	s.Session.Turns++
	s.Plan.Usage = s.Plan.Usage.Add(usage)
	if f.Stage != KindPlan {
		s.Plan.Turns++
	}
	s.editJob(func(j *Job) {
		if s.isolated(f.Task) {
			return // its worktree is not the job's
		}
		if f.Tree != "" {
			j.Tree = f.Tree
		}
		if f.Head != "" {
			j.Head = f.Head
		}
	})
	s.count(func(t *Totals) { t.AddTurn(f) })
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.threadTurn(f)
		if f.Stage != KindReview || f.Changed { // who only looked has changed nothing that was checked
			r.Checks = nil
		}
		r.InFlight, r.Last, r.LastAt = 0, &f, at
		if f.Stage == KindReview { // in a session of its own: the thread goes on in the one it has
			f.Session, f.Context = r.Session, r.Context
		}
		r.Agent, r.Reserved, r.Context = f.Agent, Usage{}, f.Context
		if f.Session != r.Session { // another session has another window
			r.Alerts = slices.DeleteFunc(slices.Clone(r.Alerts), func(a string) bool { return a == AlertContext })
		}
		r.Iterations++
		if f.Failed() {
			r.Errored++
		}
		if f.Err == nil || !f.Err.OfAgent() { // an agent that cannot be used takes none of the task's time
			r.Spent += f.Worked()
		}
		r.Usage = r.Usage.Add(usage)
		r.Session, r.Tree = f.Session, f.Tree
		if f.Head != "" {
			r.Worktree.Head = f.Head
		}
		switch {
		case f.Changed:
			r.Unchanged, r.Warned = 0, false
		case !f.Failed():
			r.Unchanged++
		}
		r.foldError(f)
		switch {
		case f.Mismatch != "":
			r.Mismatches++
		case !f.Failed():
			r.Mismatches = 0
		}
		if f.Signal.Kind == SignalProgress {
			r.Progress, r.Note = f.Signal.Percent, f.Signal.Text
		}
		if !f.Failed() {
			r.Told, r.Handover = 0, ""
			s.agentWorks(f.Agent, r.TurnAt)
		}
		r.TurnAt = time.Time{}
	})
}

// AddTurn counts one turn.
func (t *Totals) AddTurn(f TurnEnded) {
	t.Turns++
	took := f.Worked()
	t.TurnTime += took
	t.Usage = t.Usage.Add(f.Spent())
	t.TurnMax = max(t.TurnMax, took)
	if t.TurnMin == 0 || took < t.TurnMin {
		t.TurnMin = took
	}
}

// Worked is how long the turn took without its waits: the clock stands still while a person thinks.
func (f *TurnEnded) Worked() time.Duration { return max(0, f.Took-f.Summary.Waited) }

// Spent is what the turn used. A program that did not start cost nothing.
func (f *TurnEnded) Spent() Usage {
	u := f.Usage
	if f.Exit == ExitSpawn {
		u.Known = true
	}
	return u.counted()
}

// AlertContext marks that the warning of a filling window is out; a new session of
// the agent takes it back.
const AlertContext = "context"

// Spent is what the compaction used. Without an agent that was asked it cost nothing.
func (f *Compacted) Spent() Usage {
	u := f.Usage
	if f.How == CompactHandover && u == (Usage{}) {
		u.Known = true
	}
	return u.counted()
}

// compacted: what it cost counts like a turn's, but it is no iteration.
func (s *State) compacted(f Compacted) {
	usage := f.Spent()
	s.Session.Usage = s.Session.Usage.Add(usage)
	s.Plan.Usage = s.Plan.Usage.Add(usage)
	s.count(func(t *Totals) { t.Usage = t.Usage.Add(usage) })
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		r.InFlight, r.Context, r.Agent = 0, f.After, f.Agent
		r.Spent += f.Took
		r.Usage = r.Usage.Add(usage)
		r.Shortened = r.Iterations
		r.Alerts = slices.DeleteFunc(slices.Clone(r.Alerts), func(a string) bool { return a == AlertContext })
		r.Session, r.Handover = f.Session, f.Summary
		if f.How == CompactHandover {
			r.Session = ""
		}
	})
}

// Turning counts the turns under way.
func (s *State) Turning() int {
	n := 0
	for t := range s.Marked(tally.Turning) {
		if !t.Run.TurnAt.IsZero() {
			n++
		}
	}
	return n
}

// Reserved is what the turns under way may still use.
func (s *State) Reserved() Usage {
	sum := Usage{Known: true}
	for t := range s.Marked(tally.Turning) {
		if t.Run.Reserved != (Usage{}) {
			sum = sum.Add(t.Run.Reserved)
		}
	}
	return sum
}

// What errors and limits of turns add up to.

// Failed reports whether the turn ended in an error of any kind. A driver that
// had to end the turn itself may have no typed error for it.
func (f *TurnEnded) Failed() bool { return f.Exit != ExitOK || f.Err != nil }

// Limited reports whether it ended because the agent cannot be used now: it is at its
// limit, not logged in, or nothing answers it.
func (f *TurnEnded) Limited() bool { return f.Err != nil && f.Err.OfAgent() }

// class is the kind of its error, for counting the same kind in a row.
func (f *TurnEnded) class() string {
	if f.Err != nil {
		return string(f.Err.Class)
	}
	return string(f.Exit)
}

// foldError keeps the counters of the error strategy and of limits apart.
// A turn with all its retries is one error for task.same_error_turns (E-073), and
// only a change between two of them ends the row.
func (r *Run) foldError(f TurnEnded) {
	r.said(f)
	if !f.Failed() {
		r.ErrorTries = 0
		if f.Changed {
			r.SameError, r.ErrorKind = 0, ""
		}
		r.hit(f.Agent, 0)
		return
	}
	if f.Limited() {
		if c := f.Err.Class; c == ErrClassLimit || c == ErrClassBusy {
			r.hit(f.Agent, r.Hits(f.Agent)+1)
		}
		return
	}
	r.ErrorTries++
	switch {
	case r.ErrorTries > 1: // a retry, which errors.max_retries counts
	case r.ErrorKind == f.class():
		r.SameError++
	default:
		r.SameError, r.ErrorKind = 1, f.class()
	}
}

// said counts how often in a row an agent ended with the very same words.
func (r *Run) said(f TurnEnded) {
	words := ""
	if f.Failed() && f.Err != nil {
		words = f.Err.Message
	}
	if words == "" || words != r.ErrorSaid {
		r.ErrorSaid, r.SaidTimes = words, 0
	}
	if words != "" {
		r.SaidTimes++
	}
}

// uncount takes back that the last turn was an error.
func (r *Run) uncount() {
	if r.Last == nil || !r.Last.Failed() {
		return
	}
	r.Last, r.Checks, r.Told, r.RetryAt = nil, nil, 0, time.Time{}
	r.ErrorTries = max(0, r.ErrorTries-1)
	if r.ErrorTries == 0 { // else it was a retry of an error that counts
		r.SameError = max(0, r.SameError-1)
	}
}

// hit sets the count of an agent's limit. The counters are the agents' own,
// and no release ends them: who waits for hours asks ever more rarely.
func (r *Run) hit(agent string, count int) {
	r.LimitHits = slices.DeleteFunc(slices.Clone(r.LimitHits), func(h Hits) bool { return h.Agent == agent })
	if count > 0 {
		r.LimitHits = append(r.LimitHits, Hits{agent, count})
	}
}

// turnsOver ends what belongs to turns under way, of a task or of all with "": what was
// asked in the middle of them, and what was signalled.
func (s *State) turnsOver(task TaskID) {
	s.dropTurnApprovals(task)
	forget := func(t *Task) { t.Run.Signalled = Signal{} }
	if task != "" {
		s.editTask(task, forget)
		return
	}
	for _, list := range [][]*Task{s.Plan.Tasks, s.Stages} {
		for _, t := range list {
			if t.Run.Signalled != (Signal{}) {
				s.editTask(t.ID, forget)
			}
		}
	}
}

// TurnEnded is the outcome of a Turn.
type TurnEnded struct {
	Task      TaskID        `json:"task"`
	Stage     TaskKind      `json:"stage"`
	Agent     string        `json:"agent"`
	Iteration int           `json:"iteration"`
	Exit      ExitKind      `json:"exit"`
	Code      int           `json:"code,omitempty"`
	Signal    Signal        `json:"signal,omitzero"`
	Session   string        `json:"session,omitempty"`
	Usage     Usage         `json:"usage,omitzero"`
	Context   ContextUse    `json:"context,omitzero"`   // of the agent's session at the end of the turn
	Compacts  int           `json:"compacts,omitempty"` // compactions that the agent began by itself
	Err       *AgentError   `json:"error,omitempty"`
	Mismatch  string        `json:"mismatch,omitempty"` // why a structured answer was not accepted
	Answer    string        `json:"answer,omitempty"`   // plan, verify, ...: what was accepted, in words
	Tree      string        `json:"tree,omitempty"`     // work tree after the turn
	Head      string        `json:"head,omitempty"`
	Commits   []string      `json:"commits,omitempty"` // that the agent made in the turn, as its git told
	Changed   bool          `json:"changed,omitempty"` // the turn changed the tree or made a commit
	Denied    []string      `json:"denied,omitempty"`
	Leftover  int           `json:"leftover,omitempty"`
	Dropped   int64         `json:"dropped,omitempty"`
	Dir       string        `json:"dir,omitempty"`  // where its output lies, relative to the repository
	Tail      string        `json:"tail,omitempty"` // the last words, for people: at most 500 bytes
	Took      time.Duration `json:"took"`
	Ended     time.Time     `json:"ended,omitzero"`   // by the clock of the decisions, for what follows from it
	Summary   TurnSummary   `json:"summary,omitzero"` // zero where the driver tells no items apart
	Worker    string        `json:"worker,omitempty"` // of a fleet that carried it out; "" for this machine
	// Files are the files in Dir as they were then.
	Files []FileSum `json:"files,omitempty"`
}

// Kind implements Fact.
func (TurnEnded) Kind() string { return "turn.ended" }

// About implements Fact.
func (f TurnEnded) About() TaskID { return f.Task }

func (f TurnEnded) fold(s *State, e Event) {
	s.turnsOver(f.Task)
	s.turnEnded(f, e.At)
}

// FileSum is what a file of a turn's records held: the SHA-256 sum, in hexadecimal.
type FileSum struct {
	Name string `json:"name"`
	Sum  string `json:"sum"`
}

// Retrying says that a turn ended in an error and another one follows after a
// wait. Attempt is which retry it is, from 1.
type Retrying struct {
	Task      TaskID    `json:"task"`
	Agent     string    `json:"agent"`
	Attempt   int       `json:"attempt"`
	Of        int       `json:"of"`
	BackoffMS int64     `json:"backoff_ms"`
	Until     time.Time `json:"until"`
	Error     string    `json:"error"`
}

// Kind implements Fact.
func (Retrying) Kind() string { return "retrying" }

// About implements Fact.
func (f Retrying) About() TaskID { return f.Task }

func (f Retrying) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) { t.Run.Told, t.Run.RetryAt = f.Attempt, f.Until })
}

// ContextWarned says that an agent's window is rather full; said once a session of the agent.
type ContextWarned struct {
	Task  TaskID     `json:"task"`
	Agent string     `json:"agent"`
	Use   ContextUse `json:"use"`
}

// Kind implements Fact.
func (ContextWarned) Kind() string { return "context.warned" }

// About implements Fact.
func (f ContextWarned) About() TaskID { return f.Task }

func (f ContextWarned) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) { t.Run.Alerts = append(slices.Clone(t.Run.Alerts), AlertContext) })
}

// ContextUse is how much of its context window an agent's session fills, in tokens.
type ContextUse struct {
	Used   int64 `json:"used"`
	Window int64 `json:"window"`
}

// Part is the filled part of the window, from 0 to 1; 0 when the window is not known.
func (u ContextUse) Part() float64 {
	if u.Window <= 0 {
		return 0
	}
	return float64(u.Used) / float64(u.Window)
}

// Compacted is the outcome of Compact: the agent has made its session shorter, or
// its session is left and the next one begins with a summary.
type Compacted struct {
	Task    TaskID        `json:"task"`
	Agent   string        `json:"agent"`
	How     string        `json:"how"` // CompactAgent, CompactHandover
	Before  ContextUse    `json:"before"`
	After   ContextUse    `json:"after,omitzero"` // zero: not known, or a new session
	Session string        `json:"session,omitempty"`
	Summary string        `json:"summary,omitempty"` // handover: what the next session is told
	Usage   Usage         `json:"usage,omitzero"`
	Error   string        `json:"error,omitempty"` // why the agent could not, so that it became a handover
	Took    time.Duration `json:"took"`
	Worker  string        `json:"worker,omitempty"` // of a fleet that carried it out
}

// Kind implements Fact.
func (Compacted) Kind() string { return "compacted" }

// About implements Fact.
func (f Compacted) About() TaskID { return f.Task }

func (f Compacted) fold(s *State, _ Event) {
	s.compacted(f)
}

// How a session was made shorter.
const (
	CompactAgent    = "agent"
	CompactHandover = "handover"
)

// Signalled is a signal that an agent gave by `ralph signal` or a tool instead of in its
// words. It counts for the turn under way, like a tag in the final message.
type Signalled struct {
	Task   TaskID `json:"task"`
	Signal Signal `json:"signal"`
	Via    string `json:"via"` // command, mcp
}

// Kind implements Fact.
func (Signalled) Kind() string { return "signalled" }

// About implements Fact.
func (f Signalled) About() TaskID { return f.Task }

func (f Signalled) fold(s *State, _ Event) {
	s.editTask(f.Task, func(t *Task) {
		r := &t.Run
		progress := f.Signal.Kind == SignalProgress
		if progress {
			r.Progress, r.Note = f.Signal.Percent, f.Signal.Text
		}
		if k := r.Signalled.Kind; !progress || k == SignalNone || k == SignalProgress {
			r.Signalled = f.Signal // how far it is does not undo a word that ends the turn
		}
	})
}

// TurnInput is one turn as a driver gets it.
type TurnInput struct {
	Agent   AgentSpec
	Stage   TaskKind
	Prompt  string
	Dir     string          // working directory: the checkout or the task's worktree
	Env     []string        // complete environment of the process, K=V
	Resume  string          // the agent's own session to go on with, "" for a new one
	Schema  json.RawMessage // JSON Schema of the answer, nil when a signal is the answer
	Timeout time.Duration   // 0: no limit; past it the whole process group is ended
	MaxCost float64         // dollars that the turn may cost, for drivers that can tell their agent; 0: no limit
	Compact bool            // the session of Resume shall be made shorter; there is no other prompt
	Review  bool            // the agent shall review in its own way, by Prompt; where it cannot it is a turn as any other
	Grace   time.Duration   // between TERM and KILL
	Scratch string          // a folder of this turn, for prompt files and the like
	// MCP is the command of ralph's own MCP server for this turn, for drivers that can
	// give their agent one; its environment is that of the turn. nil: none.
	MCP []string
	Raw RawSink // receives the agent's output as it came, may be nil
}

// RawSink takes an agent's raw output: its stdout and stderr, byte for byte.
// Write must not keep p. An error ends the turn as machinery failure.
type RawSink interface{ Write(p []byte) (int, error) }

// RawStreams is a RawSink that wants stdout and stderr apart: what comes in one of them
// goes on where the last piece of it ended, whatever the other said in between.
type RawStreams interface {
	RawSink
	Stream() RawSink
}

// TurnHooks is how a turn speaks while it goes on.
type TurnHooks struct {
	// Context is told how full the agent's window is, as often as the driver knows it.
	Context func(ContextUse)
	// Event is told the turn as one stream, whichever agent it is. Must not block. What
	// people read of it is StreamEvent.Words.
	Event func(StreamEvent)
	// Ask answers what the agent asks in the middle of the turn. It blocks, for hours
	// if need be, until there is an answer; it may be called several times at once.
	// ctx ends when the agent needs no answer any more. nil: all is denied.
	Ask func(ctx context.Context, r Request) (Reply, error)
	// Asking is told once, as the turn begins, how to ask so that the turn's time limit
	// stands still meanwhile: for requests that reach ralph beside the driver, from the
	// processes that the agent starts. nil: nobody wants to know.
	Asking func(ask func(ctx context.Context, r Request) (Reply, error))
	// Stopping is told the agent's last words when it is about to end its turn, by
	// drivers that can still keep it at work. What it returns is told to the
	// agent, which then goes on; "" lets it end. A driver asks at most a few times in a
	// turn. Must not block.
	Stopping func(words string) string
}

// ExitKind is how the agent's turn ended, as the exit matrix needs it (B-069 to B-075).
type ExitKind string

// The exits.
const (
	ExitOK      ExitKind = "ok"      // ended by itself without an error
	ExitFailed  ExitKind = "failed"  // non-zero exit, or an error in the driver's protocol
	ExitCrashed ExitKind = "crashed" // killed by a signal we did not send
	ExitTimeout ExitKind = "timeout" // ended by us: over its time
	ExitUser    ExitKind = "user"    // ended by us: stopped by a person
	ExitSpawn   ExitKind = "spawn"   // did not start (B-097, X-52)
)

// Usage is tokens and dollars. Known is false when the agent reported no cost,
// which counts as over any cost limit that is set.
type Usage struct {
	Input      int64   `json:"input,omitempty"`  // tokens, without cache reads and writes
	Output     int64   `json:"output,omitempty"` // tokens
	CacheRead  int64   `json:"cache_read,omitempty"`
	CacheWrite int64   `json:"cache_write,omitempty"`
	Cost       float64 `json:"cost,omitempty"` // US dollars
	Known      bool    `json:"known,omitempty"`
	// Unmetered counts the turns in a sum that reported no cost: one that reported
	// nothing at all is not the same as none.
	Unmetered int64 `json:"unmetered,omitempty"`
}

// Add returns the sum. The sum's cost is known when each part's is.
func (u Usage) Add(v Usage) Usage {
	known := u.Known && v.Known
	if u == (Usage{}) {
		known = v.Known
	}
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite,
		Cost: u.Cost + v.Cost, Known: known, Unmetered: u.Unmetered + v.Unmetered,
	}
}

// counted is u as one part of a sum.
func (u Usage) counted() Usage {
	if !u.Known && u.Unmetered == 0 {
		u.Unmetered = 1
	}
	return u
}

// TurnResult is how a turn ended, as a driver reports it.
type TurnResult struct {
	Exit     ExitKind
	Code     int             // exit code, where the process had one
	Text     string          // the final message; exec: the tail of the output, at most 1 MiB
	Answer   json.RawMessage // structured output where the driver has it
	Session  string          // the agent's own session id
	Usage    Usage
	Err      *AgentError
	Denied   []string      // tool calls that were denied because nobody could be asked
	Context  ContextUse    // at the end of the turn; zero where the agent does not say
	Compacts int           // compactions that the agent began by itself
	Events   int64         // events or lines read
	Bytes    int64         // bytes read
	Dropped  int64         // bytes that passed an output limit and were not kept
	Leftover int           // background processes that had to be ended after the turn
	Waited   time.Duration // for answers to requests; the time limit stands still meanwhile
}

// SignalKind is what an agent says about its task.
type SignalKind string

// The signals. SignalNone is no signal at all.
const (
	SignalNone     SignalKind = ""
	SignalComplete SignalKind = "COMPLETE"
	SignalBlocked  SignalKind = "BLOCKED"
	SignalHuman    SignalKind = "NEEDS_HUMAN"
	SignalProgress SignalKind = "PROGRESS"
)

// Signal is a signal with its text: why, the question, or what is done.
type Signal struct {
	Kind    SignalKind `json:"kind,omitempty"`
	Text    string     `json:"text,omitempty"`
	Percent int        `json:"percent,omitempty"` // PROGRESS only
}

// Dollars writes what a sum of turns has cost: `$0.82`, or `$0.82 or more` where an agent
// of one of them did not say.
func (u Usage) Dollars() string {
	if u.Unmetered > 0 {
		return Dollars(u.Cost) + " or more"
	}
	return Dollars(u.Cost)
}
