package ralph

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// What stood still, since when, why, and what ended it: folded from the facts, so that
// `ralph status` can tell of a night without reading them again.

// StillKind is why something stood still.
type StillKind string

// The kinds.
const (
	StillLimit    StillKind = "limit"      // an agent at its limit
	StillBusy     StillKind = "overloaded" // an agent's service has no room
	StillNetwork  StillKind = "network"    // nothing answers an agent
	StillLogin    StillKind = "login"      // an agent is not logged in
	StillErrors   StillKind = "errors"     // the wait before another try, after an error
	StillDisk     StillKind = "disk"       // a disk was full: the engine ended
	StillBroken   StillKind = "broken"     // the engine ended for something else that did not work
	StillPause    StillKind = "pause"      // a person paused it
	StillFailures StillKind = "failures"   // it paused after failures in a row
	StillAsleep   StillKind = "asleep"     // the machine slept
	StillCrash    StillKind = "crash"      // the engine died, or was killed
	StillStalled  StillKind = "stalled"    // the watchdog: it did nothing and nobody knows why
	StillPerson   StillKind = "person"     // a person was asked
	StillLanding  StillKind = "landing"    // merged work does not land: a person's changes are in the way
)

// Still is a stretch of time in which work, or a part of it, stood still.
type Still struct {
	N     int        `json:"n"` // counts up
	Kind  StillKind  `json:"kind"`
	From  time.Time  `json:"from"`
	To    time.Time  `json:"to,omitzero"` // zero: it lasts
	Agent string     `json:"agent,omitempty"`
	Task  TaskID     `json:"task,omitempty"`
	Gate  ApprovalID `json:"gate,omitempty"`
	Why   string     `json:"why,omitempty"`   // in the words of whoever noticed
	Ended string     `json:"ended,omitempty"` // what ended it
	Tries int        `json:"tries,omitempty"`
	Until time.Time  `json:"until,omitzero"`  // when it should end by itself, as far as is known
	TryAt time.Time  `json:"try_at,omitzero"` // a turn under way tries since then whether it is over
}

// Open reports whether it lasts.
func (x *Still) Open() bool { return x.To.IsZero() }

// Period is a time from an instant to another one.
type Period struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Standing is what stood still lately, and what went on beside it.
type Standing struct {
	List []Still `json:"list,omitempty"` // oldest first
	// Worked is when steps were under way, as far back as the list goes.
	Worked []Period `json:"worked,omitempty"`
	Last   int      `json:"last,omitempty"` // the newest N
	// Quiet are the longest silences between two facts of late: a sleep is in one of them.
	Quiet []Period `json:"quiet,omitempty"`
	// Own is since when an agent tries again by itself in the middle of its turn.
	Own []Still `json:"own,omitempty"`
}

const (
	maxStill  = 120
	maxWorked = 400
	maxQuiet  = 12
	// sleepAtLeast is how much longer than its step a silence must last to be a sleep.
	sleepAtLeast = 2 * time.Minute
)

// stand folds what begins and ends a standstill. It comes before the fact itself is
// folded, so that s is the state before it.
func (s *State) stand(e Event) {
	x := &s.Stood
	if s.Session.Live() && e.At.Sub(s.At) >= sleepAtLeast && !s.At.IsZero() {
		x.Quiet = append(slices.Clone(x.Quiet), Period{s.At, e.At})
		x.Quiet = x.Quiet[max(0, len(x.Quiet)-maxQuiet):]
	}
	switch f := e.Fact.(type) {
	case SessionStarted:
		s.standAtStart(e.At)
	case SessionEnded:
		x.closeAll(e.At, "the session ended: "+string(f.Reason))
		if f.Reason == ReasonError {
			kind := StillBroken
			if NoSpaceWords(f.Detail) {
				kind = StillDisk
			}
			x.open(Still{Kind: kind, From: e.At, Why: f.Detail})
		}
	case Control:
		s.standByControl(f, e.At)
	case AgentRetries:
		x.Own = append(slices.Clone(x.Own), Still{Agent: f.Agent, From: e.At, Kind: kindOfClass(f.Class)})
		x.Own = x.Own[max(0, len(x.Own)-maxQuiet):]
	case AgentLimited:
		s.standByLimit(f, e.At)
	case Retrying:
		x.open(Still{Kind: StillErrors, From: e.At, To: f.Until, Agent: f.Agent, Task: f.Task, Why: f.Error, Tries: 1, Ended: "it was tried again"})
	case StepStarted:
		x.close(e.At, "it went on", func(y *Still) bool { return y.Kind == StillStalled })
		if turn, ok := f.Step.(Turn); ok {
			x.edit(func(y *Still) bool { return y.ofAgent(turn.Agent) && y.TryAt.IsZero() }, func(y *Still) { y.TryAt = e.At })
		}
	case Stalled:
		x.open(Still{Kind: StillStalled, From: f.Since, Why: f.Why})
	case Asked:
		task := cmp.Or(f.Approval.About, f.Approval.Task)
		x.open(Still{Kind: StillPerson, From: e.At, Task: task, Gate: f.Approval.ID, Why: f.Approval.Text, Until: f.Approval.Deadline})
	case Answered:
		x.close(e.At, answerWords(f), func(y *Still) bool { return y.Kind == StillPerson && y.Gate == f.ID })
	case JournalCut:
		x.closeAll(s.At, "the journal was cut")
	case Landed:
		s.standByLanding(f, e.At)
	case TurnEnded:
		s.standByTurn(f, e.At)
	}
	if len(x.List) > 0 {
		x.worked(x.WorkedBy(e))
	}
}

// WorkedBy is when the step was under way that an event is the outcome of, without the
// time in which it waited for a person. A turn that its agent could not do is no work.
func (x *Standing) WorkedBy(e Event) []Period {
	task, took := tookOf(e.Fact)
	if took <= 0 {
		return nil
	}
	var asked []Period
	for _, y := range x.List {
		if y.Kind == StillPerson && y.Task == task {
			asked = append(asked, Period{y.From, y.EndAt(e.At)})
		}
	}
	return Without([]Period{{e.At.Add(-took), e.At}}, Union(asked))
}

// withdrawn ends the waits for answers that nobody wants any more. It comes after the fold.
func (s *State) withdrawn(at time.Time) {
	s.Stood.close(at, "it was not needed any more", func(y *Still) bool {
		return y.Kind == StillPerson && !slices.ContainsFunc(s.Approvals, func(g *Approval) bool { return g.ID == y.Gate })
	})
}

// standAtStart ends what stood still before an engine starts; a session that nobody ended
// was cut when its engine was last heard of: facts of people came later.
func (s *State) standAtStart(at time.Time) {
	x := &s.Stood
	if s.Session.Live() && !s.Session.Immediate { // who was told to end at once did not die
		x.closeAll(s.LastHeard(), "the engine died")
		x.open(Still{Kind: StillCrash, From: s.LastHeard(), To: at, Ended: "it was started again", Why: "the engine ended without a word: killed, crashed, or the machine went off"})
	}
	x.closeAll(at, "it was started again")
	x.Own = nil
	for _, g := range s.Approvals {
		if !g.InTurn && g.Kind != ApprovalStart && g.Kind != ApprovalStep {
			x.open(Still{Kind: StillPerson, From: at, Task: cmp.Or(g.About, g.Task), Gate: g.ID, Why: g.Text, Until: g.Deadline})
		}
	}
}

func (s *State) standByControl(f Control, at time.Time) {
	x := &s.Stood
	paused := func(y *Still) bool { return y.Kind == StillPause || y.Kind == StillFailures }
	if f.Want == WantRun && f.From == PauseLimits {
		s.sleptOver(at)
	}
	if f.Want != WantPause {
		ended := "a person let it go on"
		switch {
		case f.Want == WantStop:
			ended = "it was stopped: " + f.Cause
		case f.Cause != "":
			ended = f.Cause
		}
		x.close(at, ended, func(y *Still) bool { return f.Immediate || paused(y) }) // no end of a session follows one at once
		return
	}
	if slices.ContainsFunc(x.List, func(y Still) bool { return y.Open() && paused(&y) }) || !s.Session.Live() {
		return
	}
	switch f.From {
	case PauseFailures:
		x.open(Still{Kind: StillFailures, From: at, Why: f.Cause})
	case PauseLimits: // its agents stand still, and say so themselves
	default:
		x.open(Still{Kind: StillPause, From: at, Why: f.Cause})
	}
}

func (s *State) standByLimit(f AgentLimited, at time.Time) {
	x := &s.Stood
	kind := kindOfClass(f.Class)
	if f.Class == "" {
		kind = StillLimit
		if t := s.Task(f.Task); t != nil && t.Run.Last != nil && t.Run.Last.Err != nil && t.Run.Last.Err.Class == ErrClassBusy {
			kind = StillBusy
		}
	}
	known := false
	x.edit(func(y *Still) bool { return y.ofAgent(f.Agent) && y.Kind == kind }, func(y *Still) {
		known = true
		y.TryAt, y.Until, y.Why = time.Time{}, f.Until, cmp.Or(f.Message, y.Why)
		y.Tries++
	})
	x.close(at, "then something else kept it from work", func(y *Still) bool { return y.ofAgent(f.Agent) && y.Kind != kind })
	if known {
		return
	}
	from := at
	for _, own := range x.Own {
		if own.Agent == f.Agent && own.From.Before(from) {
			from = own.From
		}
	}
	x.forget(f.Agent)
	x.open(Still{Kind: kind, From: from, Agent: f.Agent, Task: f.Task, Why: f.Message, Until: f.Until, Tries: 1})
}

// standByTurn: a turn that an agent does to its end shows that it can be used again, since
// the turn began. One that lasted longer than it took was interrupted by a sleep.
func (s *State) standByTurn(f TurnEnded, at time.Time) {
	x := &s.Stood
	began := time.Time{}
	if t := s.Task(f.Task); t != nil {
		began = t.Run.TurnAt
	}
	if !f.Limited() && f.Exit != ExitUser {
		x.forget(f.Agent)
		x.edit(func(y *Still) bool { // nobody needs it: another one does the work since
			return y.Agent != f.Agent && y.ofAgent(y.Agent) && y.TryAt.IsZero() && !y.Until.IsZero() && y.Until.Before(began)
		}, func(y *Still) { y.To, y.Ended = later(y.Until, y.From), "its time was over; "+f.Agent+" works" })
		x.edit(func(y *Still) bool { return y.ofAgent(f.Agent) && !y.TryAt.IsZero() && !began.Before(y.From) }, func(y *Still) {
			y.To, y.Ended = y.TryAt, y.Agent+" answers again"
		})
	}
	if began.IsZero() || f.Took <= 0 {
		return
	}
	slept := at.Sub(began) - f.Took
	if slept < sleepAtLeast {
		return
	}
	silence := Period{}
	for _, q := range x.Quiet {
		if !q.From.Before(began.Add(-time.Second)) && q.To.Sub(q.From) > silence.To.Sub(silence.From) {
			silence = q
		}
	}
	if silence.To.IsZero() {
		return
	}
	s.slept(Period{later(silence.To.Add(-slept), silence.From), silence.To})
}

// slept notes a sleep of the machine; each of the turns that it interrupted tells of it.
func (s *State) slept(p Period) {
	x := &s.Stood
	known := false
	x.editAll(func(y *Still) bool { return y.Kind == StillAsleep && y.From.Before(p.To) && p.From.Before(y.To) }, func(y *Still) {
		known = true
		if p.From.Before(y.From) {
			y.From = p.From
		}
		y.To = later(y.To, p.To)
	})
	if !known {
		x.open(Still{Kind: StillAsleep, From: p.From, To: p.To, Why: "the machine slept, or its clock was set", Ended: "it woke up"})
	}
}

// sleptOver: the pause of limits ends by itself at once when one of them is over. Where it
// ended much later, and nothing happened meanwhile, the machine was not awake.
func (s *State) sleptOver(at time.Time) {
	var due time.Time
	for _, l := range s.Limits {
		if l.Class != ErrClassAuth && (due.IsZero() || l.Until.Before(due)) {
			due = l.Until
		}
	}
	if !due.IsZero() && at.Sub(due) >= sleepAtLeast && !s.At.After(due) {
		s.slept(Period{due, at})
	}
}

func (s *State) standByLanding(f Landed, at time.Time) {
	x := &s.Stood
	held := func(y *Still) bool { return y.Kind == StillLanding }
	switch {
	case f.How != "":
		x.close(at, "it landed", held)
	case len(f.Dirty) > 0 && !slices.ContainsFunc(x.List, func(y Still) bool { return y.Open() && held(&y) }):
		x.open(Still{Kind: StillLanding, From: at, Why: "changed in your checkout: " + strings.Join(f.Dirty[:min(5, len(f.Dirty))], ", ")})
	}
}

// ofAgent reports whether it lasts and is about an agent that cannot be used.
func (x *Still) ofAgent(agent string) bool {
	return x.Open() && x.Agent == agent && x.Kind != StillErrors
}

func (x *Standing) open(y Still) {
	x.Last++
	y.N = x.Last
	list := append(slices.Clone(x.List), y)
	x.List = list[max(0, len(list)-maxStill):]
}

// edit changes what lasts, on a copy of the list: a clone of the state may share it.
func (x *Standing) edit(which func(*Still) bool, change func(*Still)) {
	x.editAll(func(y *Still) bool { return y.Open() && which(y) }, change)
}

func (x *Standing) editAll(which func(*Still) bool, change func(*Still)) {
	copied := false
	for i := range x.List {
		if !which(&x.List[i]) {
			continue
		}
		if !copied {
			x.List, copied = slices.Clone(x.List), true
		}
		change(&x.List[i])
	}
}

func (x *Standing) close(at time.Time, ended string, which func(*Still) bool) {
	x.edit(which, func(y *Still) { y.To, y.Ended = y.EndAt(at), ended })
}

func (x *Standing) closeAll(at time.Time, ended string) {
	x.close(at, ended, func(*Still) bool { return true })
}

// EndAt is until when it counts at an instant: of one that lasts to the turn that tries
// whether it is over.
func (x *Still) EndAt(at time.Time) time.Time {
	end := at
	switch {
	case !x.Open() && x.To.Before(at):
		end = x.To
	case x.Open() && !x.TryAt.IsZero():
		end = x.TryAt
	}
	return later(end, x.From)
}

func (x *Standing) forget(agent string) {
	if len(x.Own) > 0 {
		x.Own = slices.DeleteFunc(slices.Clone(x.Own), func(y Still) bool { return y.Agent == agent })
	}
}

// worked notes that steps were under way.
func (x *Standing) worked(list []Period) {
	if len(list) == 0 {
		return
	}
	x.Worked = Union(append(slices.Clone(x.Worked), list...))
	for len(x.Worked) > 0 && (len(x.Worked) > maxWorked || x.Worked[0].To.Before(x.List[0].From)) {
		x.Worked = x.Worked[1:]
	}
}

// Union are the same times without overlaps, in their order.
func Union(list []Period) []Period {
	list = slices.DeleteFunc(slices.Clone(list), func(p Period) bool { return !p.From.Before(p.To) })
	slices.SortFunc(list, func(a, b Period) int { return a.From.Compare(b.From) })
	out := list[:0]
	for _, p := range list {
		if n := len(out); n > 0 && !p.From.After(out[n-1].To) {
			out[n-1].To = later(out[n-1].To, p.To)
			continue
		}
		out = append(out, p)
	}
	return out
}

// Without are the times of a list that are in none of another; both are unions.
func Without(list, cut []Period) []Period {
	var out []Period
	for _, p := range list {
		for _, c := range cut {
			if !c.From.Before(p.To) || !p.From.Before(c.To) {
				continue
			}
			if p.From.Before(c.From) {
				out = append(out, Period{p.From, c.From})
			}
			p.From = c.To
		}
		if p.From.Before(p.To) {
			out = append(out, p)
		}
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func kindOfClass(class ErrorClass) StillKind {
	switch class {
	case ErrClassAuth:
		return StillLogin
	case ErrClassNetwork:
		return StillNetwork
	case ErrClassBusy:
		return StillBusy
	}
	return StillLimit
}

// answerWords say who ended a wait for a person.
func answerWords(f Answered) string {
	switch {
	case f.Rule != "":
		return "rule " + string(f.Rule) + " answered"
	case f.Verdict == Expired:
		return "nobody answered in time"
	case f.Verdict == Withdrawn:
		return "it was not needed any more"
	case f.Verdict != "":
		return string(f.Verdict)
	}
	return "answered"
}

// tookOf is the task and the time of the step that a fact is the outcome of.
func tookOf(f Fact) (TaskID, time.Duration) {
	switch f := f.(type) {
	case TurnEnded:
		if f.Limited() {
			return "", 0
		}
		return f.Task, f.Took
	case ChecksRan:
		return f.Task, f.Took
	case BaselineRan:
		return f.Task, f.Took
	case Merged:
		return f.Task, f.Took
	case Committed:
		return f.Task, f.Took
	case Compacted:
		return f.Task, f.Took
	case Prepared:
		return f.Task, f.Took
	}
	return "", 0
}

// NoSpaceWords reports whether an error's words say that a disk is full.
func NoSpaceWords(words string) bool {
	words = strings.ToLower(words)
	return strings.Contains(words, "no space left") || strings.Contains(words, "quota exceeded") || strings.Contains(words, "disk is full")
}
