package policy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tally"
)

// spending is what one scope has used of its budget.
type spending struct {
	scope  string
	task   ralph.TaskID
	limit  Budget
	usage  ralph.Usage
	turns  int
	time   time.Duration
	alerts []string
}

func ofSession(s *ralph.State, c Config, now time.Time) spending {
	x := s.Session
	return spending{scope: "session", limit: c.Budget, usage: x.Usage, turns: x.Turns, time: s.Running(now), alerts: x.Alerts}
}

// ofSpec is what the spec has used, over interruptions, planning included.
func ofSpec(s *ralph.State, c Config, now time.Time) spending {
	p := s.Plan
	return spending{scope: "spec", limit: c.SpecBudget, usage: p.Usage, turns: p.Turns, time: s.JobElapsed(now), alerts: p.Alerts}
}

func ofTask(t *ralph.Task, c Config) spending {
	r := t.Run
	return spending{scope: "task", task: t.ID, limit: c.TaskBudget, usage: r.Usage, turns: r.Iterations, time: r.Spent, alerts: r.Alerts}
}

// tokens are those that count: cache reads are left out, they are a tenth of
// the price and many times the number.
func tokens(u ralph.Usage) int64 { return u.Input + u.Output + u.CacheWrite }

// measure is one thing that a budget limits.
type measure struct {
	what        string
	used, limit float64
	over        bool
	say         func(float64) string
}

// measures are the limits that are set. Time and money are passed strictly; the last
// allowed iteration is the last. Where a cost limit is set and an agent reported no
// cost, the unknown counts as over.
func (x spending) measures() []measure {
	var out []measure
	add := func(what string, used, limit float64, over bool, say func(float64) string) {
		if limit > 0 {
			out = append(out, measure{what, used, limit, over, say})
		}
	}
	b, spent := x.limit, float64(tokens(x.usage))
	add("tokens", spent, float64(b.Tokens), spent > float64(b.Tokens), func(v float64) string { return fmt.Sprintf("%.0f tokens", v) })
	used := x.usage != (ralph.Usage{})
	add("cost", x.usage.Cost, b.Cost, used && (x.usage.Cost > b.Cost || !x.usage.Known), ralph.Dollars)
	add("time", float64(x.time), float64(b.Time), x.time > b.Time, func(v float64) string { return time.Duration(v).Round(time.Second).String() })
	add("iterations", float64(x.turns), float64(b.Iterations), x.turns >= b.Iterations, func(v float64) string { return fmt.Sprintf("%.0f iterations", v) })
	return out
}

// over says which limit is passed, "" for none.
func (x spending) over() string {
	_, words := x.passed()
	return words
}

// passed is the first limit that is passed: what it limits, and in words.
func (x spending) passed() (what, words string) {
	for _, m := range x.measures() {
		switch {
		case !m.over:
		case m.what == "cost" && !x.usage.Known:
			return m.what, "an agent reported no cost, which counts as over a cost limit"
		case m.what == "cost" && x.scope == "session":
			return m.what, fmt.Sprintf("%s spent, the limit is %s", m.say(m.used), m.say(m.limit))
		default:
			return m.what, fmt.Sprintf("%s of the %s used, the limit is %s", m.say(m.used), x.scope, m.say(m.limit))
		}
	}
	return "", ""
}

// OverBudget reports whether a limit of the session is passed, and which.
func OverBudget(s *ralph.State, c Config, now time.Time) (bool, ralph.Reason) {
	stop, over := overBudget(s, c, now)
	return over, stop.Reason
}

func overBudget(s *ralph.State, c Config, now time.Time) (Stop, bool) {
	if c.MaxCost > 0 {
		x := ofSession(s, c, now)
		x.limit = Budget{Cost: c.MaxCost}
		if why := x.over(); why != "" {
			return Stop{Reason: ralph.ReasonMaxCost, Detail: why}, true
		}
	}
	scopes := []spending{ofSession(s, c, now)}
	if s.Session.OnPlan() { // the plan is its one spec, and ends with it
		scopes = append(scopes, ofSpec(s, c, now))
	}
	for _, x := range scopes {
		what, why := x.passed()
		switch what {
		case "":
		case "iterations":
			return Stop{Reason: ralph.ReasonBudget, Detail: why, Cause: "max_iterations"}, true
		default:
			return Stop{Reason: ralph.ReasonBudget, Detail: why}, true
		}
	}
	return Stop{}, false
}

// overSpec says which limit the spec has passed, that fails with it; "" for none.
func overSpec(s *ralph.State, c Config, now time.Time) string {
	if s.Job == nil || s.Session.OnPlan() || c.PlanOnly && len(s.Plan.Tasks) > 0 || landing(s) {
		return ""
	}
	return ofSpec(s, c, now).over()
}

// nearly is the share of a budget at which people are warned.
const nearly = 0.8

// budgetWarning is the first warning that is due and not out yet.
func budgetWarning(s *ralph.State, c Config, now time.Time) (ralph.Fact, bool) {
	session := ofSession(s, c, now)
	if c.MaxCost > 0 && (session.limit.Cost == 0 || c.MaxCost < session.limit.Cost) {
		session.limit.Cost = c.MaxCost
	}
	if f, ok := session.warning(); ok {
		return f, true
	}
	if f, ok := ofSpec(s, c, now).warning(); ok && s.Job != nil {
		return f, true
	}
	if c.TaskBudget == (Budget{}) {
		return nil, false
	}
	for t := range s.InPlan(tally.Active) {
		if f, ok := ofTask(t, c).warning(); ok {
			return f, true
		}
	}
	return nil, false
}

func (x spending) warning() (ralph.Fact, bool) {
	for _, m := range x.measures() {
		if m.over || m.used < nearly*m.limit || slices.Contains(x.alerts, ralph.BudgetAlert(m.what)) {
			continue
		}
		text := fmt.Sprintf("%.0f %% of the %s's budget is used: %s of %s", 100*m.used/m.limit, x.scope, m.say(m.used), m.say(m.limit))
		return ralph.BudgetWarned{Scope: x.scope, Task: x.task, What: m.what, Text: text}, true
	}
	return nil, false
}

// expected is what a turn will use: the mean of the session's turns so far. Before
// there are any nobody knows, and nothing is reserved.
func expected(s *ralph.State) ralph.Usage {
	n := int64(s.Session.Turns)
	if n == 0 {
		return ralph.Usage{}
	}
	u := s.Session.Usage
	return ralph.Usage{Input: tokens(u) / n, Cost: u.Cost / float64(n), Known: true}
}

// crowded reports whether the turns under way may use up a budget before this one
// ends: then it waits for them. A turn alone is never held; it is settled after its
// end.
func crowded(s *ralph.State, c Config, next ralph.Usage, now time.Time) bool {
	under := s.Turning()
	if under == 0 {
		return false
	}
	reserved := s.Reserved()
	full := func(x spending) bool {
		b, u := x.limit, x.usage.Add(reserved).Add(next)
		return b.Cost > 0 && u.Cost > b.Cost || b.Tokens > 0 && tokens(u) > b.Tokens || b.Iterations > 0 && x.turns+under >= b.Iterations
	}
	session := ofSession(s, c, now)
	capped := session
	capped.limit = Budget{Cost: c.MaxCost}
	return full(session) || full(capped) || full(ofSpec(s, c, now))
}

// minCost is by how much the cap of a turn is above what is left of a budget: an
// agent that stops at its cap has then passed the limit, strictly, and the run
// ends. With nothing left a cap of 0 would mean none.
const minCost = 0.01

// maxCost is what a turn may cost at most, over all budgets; 0 when none is set.
func maxCost(s *ralph.State, t *ralph.Task, c Config) float64 {
	most := 0.0
	cap := func(limit, used float64) {
		if limit <= 0 {
			return
		}
		cents := math.Ceil(math.Round(max(limit-used, 0)*1e6) / 1e4) // of what is left, without the noise of sums
		if left := cents/100 + minCost; most == 0 || left < most {
			most = left
		}
	}
	reserved := s.Reserved().Cost
	cap(c.MaxCost, s.Session.Usage.Cost+reserved)
	cap(c.Budget.Cost, s.Session.Usage.Cost+reserved)
	cap(c.SpecBudget.Cost, s.Plan.Usage.Cost+reserved)
	if t.TakesSlot() {
		cap(c.TaskBudget.Cost, t.Run.Usage.Cost)
	}
	return most
}

// timeUp is when a part of the time of the session or the spec is used up, zero when
// none is limited or it is already. No fact comes with that, so waits look then.
func timeUp(s *ralph.State, c Config, now time.Time, part float64) time.Time {
	var first time.Time
	if !s.Session.RestAt.IsZero() {
		return first // the clock stands still until there is a fact
	}
	for _, x := range []spending{ofSession(s, c, now), ofSpec(s, c, now)} {
		left := time.Duration(part*float64(x.limit.Time)) - x.time
		if x.limit.Time > 0 && left >= 0 && (x.scope == "session" || s.Job != nil) {
			first = sooner(first, now.Add(left+time.Microsecond)) // the limit is passed strictly
		}
	}
	return first
}

// sooner is the earlier of two times, of which zero is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// shorter bounds the time of a turn by what is left of the budgets of time; 0 is no limit.
func shorter(timeout time.Duration, s *ralph.State, t *ralph.Task, c Config, now time.Time) time.Duration {
	scopes := []spending{ofSession(s, c, now), ofSpec(s, c, now)}
	if t.TakesSlot() {
		scopes = append(scopes, ofTask(t, c))
	}
	for _, x := range scopes {
		if x.limit.Time <= 0 {
			continue
		}
		// A second more: the check after the turn is strict, and 0 would be no limit.
		if left := max(0, x.limit.Time-x.time) + time.Second; timeout == 0 || left < timeout {
			timeout = left
		}
	}
	return timeout
}
