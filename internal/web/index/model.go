package index

import (
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
)

// Bounds of what is kept however long the journal is.
const (
	maxLines   = 400
	maxDecided = 200
	maxWords   = 400 // bytes of a line, of a question, of an answer
	wideSeries = 50  // sessions, the newest, whose series are fine
)

// Session is what is known of one session, from its start to the start of the next.
type Session struct {
	ID        ralph.SessionID
	Mode      string
	Autonomy  ralph.Autonomy
	Version   string
	Log       string // the agent log, relative to the repository
	StartedAt time.Time
	EndedAt   time.Time
	Ended     ralph.Reason // "" while it goes on, and after a crash
	Detail    string
	Resumed   int // times it went on after a cut
	Parallel  int
	First     int64 // facts; a session that was resumed has all between as well
	Last      int64
	LastAt    time.Time
	Running   time.Duration // up to LastAt, without pauses and cuts
	Specs     int           // completed
	SpecsFail int
	Tasks     int // begun in it
	Totals    ralph.Totals
	Busy      time.Duration // sum over the slots
	Peak      int           // most slots at work at a time
	Agents    []Share
	Durations Histogram // of its iterations
	Series    Series
}

func (s *Session) copied() Session {
	c := *s
	c.Agents = slices.Clone(s.Agents)
	c.Series.Buckets = slices.Clone(s.Series.Buckets)
	return c
}

// Share is what one agent did.
type Share struct {
	Agent  string
	Turns  int
	Failed int // turns that ended in an error or a limit
	Time   time.Duration
	Cost   float64
	Tokens int64
}

// Task is where the facts of a task lie, and how it went.
type Task struct {
	ID         ralph.TaskID
	Build      bool // of a plan; else a stage
	First      int64
	Last       int64
	At         time.Time       // of First
	LastAt     time.Time       // of Last
	Session    ralph.SessionID // the newest that worked on it
	Iterations int
	Status     ralph.TaskStatus
}

// Day are the figures of one day.
type Day struct {
	At       time.Time // its beginning
	Cost     float64
	Tokens   int64
	Turns    int
	Done     int
	Failed   int
	Timeout  int
	Merges   int
	Sessions int // that began
	Busy     time.Duration
	Peak     int // most slots at work at a time
}

// Line is a line of the log.
type Line struct {
	Seq   int64
	At    time.Time
	Names []string // of its event (docs/events.md), its kind last
	Task  ralph.TaskID
	Tasks []ralph.TaskID // whose history it belongs to
	Rule  string         // that the decision behind it follows
	Text  string
}

// Decision is a gate with what came of it.
type Decision struct {
	Gate     ralph.ApprovalID
	Kind     string
	Task     ralph.TaskID
	Text     string
	AskedAt  time.Time
	At       time.Time
	Seq      int64
	Session  ralph.SessionID
	Verdict  ralph.Verdict // "": it was a question, and Answer is the answer
	Answer   string
	By       string       // who: a person's name, cli, web, engine
	Rule     ralph.RuleID // the rule that answered; "": a person, or nobody
	WasNever bool         // it was on the never list
}

// ring keeps the newest of many.
type ring[T any] struct {
	list []T
	most int
	at   int // the oldest, once it is full
}

func (r *ring[T]) add(v T) {
	if len(r.list) < r.most {
		r.list = append(r.list, v)
		return
	}
	r.list[r.at] = v
	r.at = (r.at + 1) % r.most
}

// newest are the newest n, oldest first.
func (r *ring[T]) newest(n int) []T {
	all := slices.Concat(r.list[r.at:], r.list[:r.at])
	return all[max(0, len(all)-n):]
}
