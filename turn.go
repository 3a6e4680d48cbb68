package ralph

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

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
	Review  bool            // the agent shall review the uncommitted changes in its own way; there is no other prompt (E-042)
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
	// drivers that can still keep it at work (C-002). What it returns is told to the
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
	// Retried: the agent tried again by itself, until ralph ended its turn (F-22).
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

// Usage is tokens and dollars. Known is false when the agent reported no cost,
// which counts as over any cost limit that is set (product.md 14).
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

// SignalKind is what an agent says about its task (product.md 4).
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

// GateSpec is one check command (quality.commands, test.command).
type GateSpec struct {
	Name    string        `json:"name"` // what people see: the command itself, or "test"
	Command string        `json:"command"`
	Timeout time.Duration `json:"timeout,omitempty"`
	Test    bool          `json:"test,omitempty"` // it is the test command: the test gate
}

// The names of the checks that are no commands. Those of the diff look at what a task
// itself has changed, before any command runs (product.md 14).
const (
	CheckEmpty    = "empty diff"
	CheckWeakened = "weakened tests"
	CheckSecrets  = "secrets"
	// CheckSettings is red when the work changes settings: of ralph, git, CI or agents (S2).
	CheckSettings = "settings"
	// CheckSubmodules is red when files inside a submodule are changed and not committed
	// there: a commit of the repository would leave them out (R-H2).
	CheckSubmodules = "submodules"
	// CheckChanges is red when checks change files each time they run, and what they change
	// is to be kept (R-H1).
	CheckChanges = "changes"
	// CheckHook is red when a hook of the repository refused the commit (R-H7).
	CheckHook = "commit hook"
	// CheckCoverage is red when the tests reach less than test.coverage (C-061).
	CheckCoverage = "coverage"
)

// IsDiffCheck reports whether a check looks at a task's own diff: it says nothing of
// the commits below it, nor of anybody else's work.
func IsDiffCheck(name string) bool {
	switch name {
	case CheckEmpty, CheckWeakened, CheckSecrets, CheckSettings, CheckSubmodules, CheckChanges, CheckHook:
		return true
	}
	return false
}

// GateResult is what one check command did (B-036 to B-038).
type GateResult struct {
	Name    string `json:"name"`
	Command string `json:"command"`
	Exit    int    `json:"exit"` // -1 when it did not end by itself
	Pass    bool   `json:"pass"`
	Output  string `json:"output,omitempty"` // stderr and stdout, marked, head and tail
	Cut     int64  `json:"cut,omitempty"`    // bytes left out of Output when it ran
	// Brief are the bytes left out of Output here: the file has them that the fact names.
	Brief int64         `json:"brief,omitempty"`
	Why   string        `json:"why,omitempty"` // "timed out after 10m: it did not end", "not found", ...
	Took  time.Duration `json:"took"`
	// Hung: its time was over before it ended, so that it says nothing of what it checks.
	Hung bool `json:"hung,omitempty"`
	// Coverage is what the run says of the lines that tests reach; nil: it says nothing.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Reused: it is the result of an earlier run on exactly this tree.
	Reused bool `json:"reused,omitempty"`
	// Tries are the runs on this tree, where a red one was run again (test.retry: rerun).
	Tries int `json:"tries,omitempty"`
	// Test: it belongs to the test gate, as the test command or what it says of coverage.
	Test bool `json:"test,omitempty"`
	// Findings are what a check of the diff has found; secrets themselves are not in them.
	Findings []Finding `json:"findings,omitempty"`
	// Failed are the names of the tests that failed, as their tool writes them: sorted,
	// each once. nil: the output names none, and only Pass is known.
	Failed []string `json:"failed,omitempty"`
	// Headline is what a person wants to read first of a red result: the first failing
	// test or error in one line without escape codes, at most 300 bytes.
	Headline string `json:"headline,omitempty"`
}

// WhyRed says in one line why a check is red: "exit 1: TestX: want 1, got 2".
func (r GateResult) WhyRed() string {
	why := r.Why
	if why == "" {
		why = fmt.Sprintf("exit %d", r.Exit)
	}
	if r.Headline == "" || r.Headline == why {
		return why
	}
	return why + ": " + r.Headline
}

// Coverage is how much of the code its tests reach (C-061).
type Coverage struct {
	Percent float64 `json:"percent"` // 0 to 100
	Covered int64   `json:"covered"` // statements or lines, as the report counts
	Total   int64   `json:"total"`
	Format  string  `json:"format"` // go, istanbul, lcov, cobertura, jacoco, coverage.py
	File    string  `json:"file,omitempty"`
}
