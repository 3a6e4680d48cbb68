package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/tally"
)

// The limit coordinator: a limit is a state with a time at which
// it ends, shared by all tasks and slots: a breaker that is open until then (Trip). An agent that is not logged in, or has no
// connection, is in such a state as well: no work is to blame for it. While it is soft (a short backoff), who
// needs the agent waits; when it is hard, the next agent of the chain takes over;
// when all are, the engine pauses. After a limit one turn tries alone.

// probeTime is how long the first turn after a limit goes alone: an agent at its
// limit says so within seconds, and a turn may take half an hour.
const probeTime = 10 * time.Second

// networkRetry is the wait between two tries of an agent that nothing answers.
const networkRetry = time.Minute

// maxLimitWait bounds the wait for a limit whose end nobody knows: such limits may
// last for hours, and nobody wants to be told of each try.
const maxLimitWait = 15 * time.Minute

// option is which agent does a turn: one now, or none before until. all says that
// waiting a little does not help: every agent is at a hard limit.
type option struct {
	agent string
	until time.Time
	all   bool
}

// chooseAgent takes the first agent of the chain that may be used. A task stays on
// its agent while it can; new ones go to the primary, or without
// recover_primary to the one that the last switch led to.
func chooseAgent(s *ralph.State, t *ralph.Task, c Config, now time.Time) option {
	none := option{all: true}
	for _, agent := range preferred(s, t, c) {
		until, hard := unusable(s, t, agent, now)
		switch {
		case until.IsZero():
			return option{agent: agent}
		case !hard:
			return option{until: until}
		}
		none.until = sooner(none.until, until)
	}
	return none
}

// startOf is the start of a task, after the way back to the primary agent when its limit
// is over: first whose turn it is, then the next task.
func startOf(s *ralph.State, c Config, now time.Time, start ralph.TaskStarted) Move {
	t := s.Task(start.ID)
	if until, all := allLimited(s, c, now); all {
		// It would be given back at once, and started again: a mode that ends at the first
		// error does not pause, and waits for what is about to fail.
		return Hold{Until: until, Why: nobodyFree(s, c)}
	}
	from := cmp.Or(ownAgent(t), t.Run.Agent, s.Session.Agent, c.Agents[0])
	if to := chooseAgent(s, t, c, now).agent; to == c.Agents[0] && to != from {
		return record(switched(s, t, from, to, c), start)
	}
	return record(start)
}

// ownAgent is the agent that a person chose for a thread, which stays with it; "" for none.
func ownAgent(t *ralph.Task) string {
	if t.Run.Thread == nil {
		return ""
	}
	return t.Run.Thread.Agent
}

// ownLimit is until when a thread's own agent is at a hard limit, zero where it is not: a start would be given back
// at once.
func ownLimit(s *ralph.State, t *ralph.Task, now time.Time) time.Time {
	if own := ownAgent(t); own != "" && !now.IsZero() {
		if until, hard := unusable(s, t, own, now); hard {
			return until
		}
	}
	return time.Time{}
}

// ownLimits holds until the first thread goes on that could start now and waits for its own agent alone; ok only where
// one does.
func ownLimits(s *ralph.State, c Config, now time.Time) (m Move, ok bool) {
	if len(s.Limits) == 0 || len(s.OpenThreads()) == 0 {
		return nil, false
	}
	var until time.Time
	for x := range readyOf(s, c) {
		if s.Session.Auto != ralph.Semi || chosen(x.task) {
			until = sooner(until, ownLimit(s, x.task, now))
		}
	}
	return Hold{Until: until, Why: "waiting for the agent of a thread"}, !until.IsZero()
}

// preferred is the chain with the agent in front that the task should go on with.
func preferred(s *ralph.State, t *ralph.Task, c Config) []string {
	if own := ownAgent(t); own != "" {
		return []string{own}
	}
	first := t.Run.Agent
	if t.Run.Iterations == 0 && !c.RecoverPrimary {
		first = s.Session.Agent
	}
	if first == "" || !slices.Contains(c.Agents, first) {
		return c.Agents
	}
	rest := slices.DeleteFunc(slices.Clone(c.Agents), func(a string) bool { return a == first })
	return append([]string{first}, rest...)
}

// unusable is until when an agent cannot do a turn of t, zero when it can now.
func unusable(s *ralph.State, t *ralph.Task, agent string, now time.Time) (until time.Time, hard bool) {
	l := s.Limit(agent)
	if l == nil {
		return time.Time{}, false
	}
	if breakerOf(*l, now).Now() == ralph.BreakerOpen {
		return l.Until, l.Hard
	}
	if probe := firstProbe(s, t, *l, now); !probe.IsZero() && now.Before(probe.Add(probeTime)) {
		return probe.Add(probeTime), false
	}
	return time.Time{}, false
}

// breakerOf is the limit of an agent as a breaker: open until its end, then half-open.
func breakerOf(l ralph.Limit, now time.Time) ralph.Breaker {
	open := ralph.Breaker{State: ralph.BreakerOpen, Opened: l.Since, Until: l.Until, Why: l.Message}
	return breaker.Trip(open, breaker.CallBegins, "", breaker.Config{}, now)
}

// firstProbe is when the first of the turns began that try an agent after its limit,
// t's own left out; zero when there is none.
func firstProbe(s *ralph.State, t *ralph.Task, l ralph.Limit, now time.Time) time.Time {
	since := l.Until
	if since.After(now) {
		since = time.Time{} // the clock went back: every turn is after it
	}
	var first time.Time
	for x := range s.Marked(tally.Turning) {
		began := x.Run.TurnAt
		if x.ID == t.ID || x.Run.Agent != l.Agent || began.IsZero() || began.Before(since) || began.After(now) {
			continue
		}
		first = sooner(first, began)
	}
	return first
}

// afterLimit goes on after a turn that met a limit: on the same agent when the
// wait is over, on the next one of the chain when waiting does not help, and with
// none left the task is given back before anything else. It uses up no retry.
func afterLimit(s *ralph.State, t *ralph.Task, c Config, now time.Time) (ralph.Step, ralph.Why) {
	last := t.Run.Last
	what := fmt.Sprintf("is at its limit (%d)", t.Run.Hits(last.Agent))
	if l := s.Limit(last.Agent); l != nil && l.Away() {
		what = "cannot be used now"
	}
	why := ralph.Why{Rule: "X-33", Text: fmt.Sprintf("%s %s: %s", last.Agent, what, errorText(last))}
	ch := chooseAgent(s, t, c, now)
	switch {
	case ch.all:
		return release("X-38", givenBackText(s, t, c))
	case ch.agent == "":
		return waitThenTurn(s, t, c, now, ch.until, why)
	case ch.agent != last.Agent:
		why = ralph.Why{Rule: "X-36", Text: "switch to " + ch.agent + ": " + why.Text}
	}
	return waitThenTurn(s, t, c, now, now, why)
}

// limited is the fact of a turn that met a limit: until when, and whether the same
// agent is asked again after a short wait. A limit that is known
// to last longer already stays.
func limited(s *ralph.State, t *ralph.Task, f ralph.TurnEnded, c Config, now time.Time) ralph.AgentLimited {
	known := s.Limit(f.Agent)
	out := ralph.AgentLimited{Agent: f.Agent, Since: now, Task: f.Task, Try: t.Run.Hits(f.Agent) + 1, Message: errorText(&f)}
	switch f.Err.Class {
	case ralph.ErrClassAuth: // a person has to do something: no time helps
		out.Until, out.Hard, out.Class, out.Login = now.Add(ralph.Never), true, f.Err.Class, c.Logins[f.Agent]
	case ralph.ErrClassNetwork:
		c := breaker.Config{Failures: 1, Reset: cmp.Or(c.NetworkRetry, networkRetry)}
		out.Until, out.Hard, out.Class = breaker.Trip(ralph.Breaker{}, breaker.CallFailed, "", c, now).Until, true, f.Err.Class
	default:
		out.Until, out.Hard = limitEnds(f.Err, out.Try, c, now)
	}
	out.Again = out.Class != "" && known != nil && known.Class == out.Class
	if known != nil && !known.Over(now) {
		out.Hard = out.Hard || known.Hard
		if known.Until.After(out.Until) {
			out.Until, out.Class, out.Login, out.Again = known.Until, known.Class, known.Login, known.Away()
		}
	}
	if !out.Hard {
		out.BackoffMS = out.Until.Sub(now).Milliseconds()
	}
	return out
}

// limitEnds is until when a limit is heeded, and whether others take over meanwhile. The
// time that the service names wins. An agent that has waited by itself for longer than one
// is patient is not asked again at once.
func limitEnds(e *ralph.AgentError, try int, c Config, now time.Time) (until time.Time, hard bool) {
	longest := Backoff(c.LimitBase, limitFactor, c.MaxLimitRetries)
	until = now.Add(min(Backoff(max(c.LimitBase, e.Wait), limitFactor, try), max(longest, maxLimitWait)))
	if e.ResetAt.After(now) {
		until = e.ResetAt
	}
	return until, try > c.MaxLimitRetries || until.Sub(now) > longest || e.Retried
}

// inUse are the agents that what is left may be done by: the chain, or those of the threads that are open.
func inUse(s *ralph.State, c Config) []string {
	if c.Session != ralph.ModeAuto || len(s.Limits) == 0 {
		return c.Agents
	}
	var all []string
	for _, t := range s.OpenThreads() {
		if t.Run.Thread.Want != ralph.ThreadPause {
			all = append(all, preferred(s, t, c)...)
		}
	}
	if len(all) == 0 {
		return c.Agents
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// allLimited is when the first agent in use may be used again, ok only while
// every one is at a hard limit. Zero: not before a person has logged in.
func allLimited(s *ralph.State, c Config, now time.Time) (until time.Time, ok bool) {
	agents := inUse(s, c)
	for _, agent := range agents {
		l := s.Limit(agent)
		if l == nil || !l.Hard || breakerOf(*l, now).Now() != ralph.BreakerOpen {
			return time.Time{}, false
		}
		if l.Class != ralph.ErrClassAuth { // that one only a person ends
			until = sooner(until, l.Until)
		}
	}
	return until, len(agents) > 0
}

// pauseForLimits pauses the engine before anything else is started.
func pauseForLimits(s *ralph.State, c Config, until time.Time) Move {
	cause := nobodyFree(s, c) + ": " + limitWords(s, c)
	if c.LimitWait != "ask" && !until.IsZero() {
		cause += "; it goes on by itself"
	}
	agents := inUse(s, c)
	again := slices.ContainsFunc(agents, func(a string) bool {
		l := s.Limit(a)
		return l != nil && l.Class == ralph.ErrClassNetwork && l.First.Before(l.Since)
	})
	return record(
		ralph.AllLimited{Task: lastLimited(s), Agents: agents, Until: until, Again: again},
		ralph.Control{Want: ralph.WantPause, Cause: cause, From: ralph.PauseLimits},
	)
}

// nobodyFree says that no agent can work now.
func nobodyFree(s *ralph.State, c Config) string {
	if anyAway(s, c) {
		return "no agent can be used now"
	}
	use := inUse(s, c)
	if slices.ContainsFunc(c.Agents, func(a string) bool { return !slices.Contains(use, a) }) {
		return "each agent that may do what is left is at its limit"
	}
	return "every agent is at its limit"
}

// anyAway reports whether an agent in use is not logged in or has no connection.
func anyAway(s *ralph.State, c Config) bool {
	return slices.ContainsFunc(inUse(s, c), func(a string) bool {
		l := s.Limit(a)
		return l != nil && l.Away()
	})
}

// givenBackText is why a task was given back that no agent could do.
func givenBackText(s *ralph.State, t *ralph.Task, c Config) string {
	if own := s.Limit(ownAgent(t)); own != nil && !own.Away() {
		return own.Agent + " is at its limit, and the thread stays with it"
	}
	if anyAway(s, c) {
		return "No agent can be used now: " + limitWords(s, c)
	}
	return "All agents rate limited"
}

// lastLimited is the task whose turn met the newest limit.
func lastLimited(s *ralph.State) ralph.TaskID {
	var newest ralph.Limit
	for _, l := range s.Limits {
		if l.Since.After(newest.Since) {
			newest = l
		}
	}
	return newest.Task
}

func limitWords(s *ralph.State, c Config) string {
	clock := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	var words []string
	for _, agent := range inUse(s, c) {
		switch l := s.Limit(agent); {
		case l == nil:
		case l.Away():
			words = append(words, l.Words(clock))
		default:
			words = append(words, agent+" until "+clock(l.Until))
		}
	}
	return strings.Join(words, ", ")
}

// limitsOver ends a pause that came from limits when one of them has ended, unless
// a person shall do that (limits.wait: ask).
func limitsOver(s *ralph.State, c Config, now time.Time) Move {
	if c.LimitWait == "ask" {
		return Hold{Why: "paused: " + s.Session.Cause}
	}
	if until, ok := allLimited(s, c, now); ok {
		return Hold{Until: until, Why: "paused: " + s.Session.Cause}
	}
	return record(ralph.Control{Want: ralph.WantRun, From: ralph.PauseLimits, Cause: "an agent may be used again"})
}
