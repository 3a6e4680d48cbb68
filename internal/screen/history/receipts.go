package history

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// Receipts is a page of the list of decisions.
type Receipts struct {
	Task, Session, Text string // what was asked for
	Before              int64  // facts before this one; 0: the newest
	From                int64  // the fact after which was looked
	Rows                []receipts.Receipt
	Older, Newest       string // addresses; "" for none
}

// Receipt is the page of one decision.
type Receipt struct {
	Seq      int64
	Evidence *receipts.Evidence // nil while it is looked for
	Walk     *page.Walk
}

// Replay is the page of all that was decided again.
type Replay struct {
	Session   string
	Current   bool // with the settings of now
	Seq       int64
	Walk      *page.Walk
	Replayed  *Replayed
	At        time.Time
	ProofWalk *page.Walk
	Proved    *Proved
	ProofAt   time.Time
	ProofErr  string
}

// Replayed is a replay with the newest fact that it read.
type Replayed struct {
	receipts.Replay
	Seq int64
}

// Proved is a proof with the newest fact that it read.
type Proved struct {
	receipts.Proof
	Seq int64
}

// Came says what came of a decision.
func Came(x *receipts.Receipt) string {
	if x.Outcome != nil {
		return x.Outcome.Words
	}
	return ""
}

// maxReceipts are on one page.
const maxReceipts = 100

// errEnough ends a reading of the journal.
var errEnough = errors.New("enough was read")

// Journal is what is read of it.
type Journal interface {
	// Each reads the facts after one, in order.
	Each(after int64, visit func(ralph.Event) error) error
}

// ReceiptsOf lists decisions, newest first: ?task= ?session= ?q= choose, ?before= goes back.
// A page reads its own window of the journal alone.
func ReceiptsOf(now *ralph.State, x *index.Index, j Journal, q url.Values) (Receipts, error) {
	m := Receipts{Task: q.Get("task"), Session: q.Get("session"), Text: strings.TrimSpace(q.Get("q"))}
	end := now.Seq + 1
	if n, err := strconv.ParseInt(q.Get("before"), 10, 64); err == nil && n > 0 && n < end {
		end, m.Before = n, n
	}
	first, last := m.within(x, now)
	end = min(end, last)
	m.From = max(first, end-1-page.Window)
	list, err := decided(j, x, now, m.From, end, receipts.Receipts{Task: ralph.TaskID(m.Task), Session: ralph.SessionID(m.Session)})
	if err != nil {
		return m, fmt.Errorf("read the decisions: %w", err)
	}
	slices.Reverse(list)
	for i := range list {
		if !says(&list[i], m.Text) {
			continue
		}
		if len(m.Rows) == maxReceipts {
			m.From = m.Rows[maxReceipts-1].Seq - 1
			break
		}
		m.Rows = append(m.Rows, list[i])
	}
	if m.From > first {
		m.Older = receiptsAt(&m, m.From+1)
	}
	if m.Before > 0 {
		m.Newest = receiptsAt(&m, 0)
	}
	return m, nil
}

// within narrows a choice to where the history says that it lies: after first, before last.
// What still goes on has no last.
func (m *Receipts) within(x *index.Index, now *ralph.State) (first, last int64) {
	task, session, caught := ralph.TaskID(m.Task), ralph.SessionID(m.Session), x.Progress().Caught
	last = math.MaxInt64
	if from, to, ok := x.Task(task); ok {
		first = from - 1
		if caught && now.Task(task) == nil {
			last = to + page.Window // the merges of its work come after its own facts
		}
	}
	if s, ok := x.Session(session); ok {
		first = max(first, s.First-1)
		if caught && now.Session.ID != session {
			last = min(last, s.Last+1)
		}
	}
	return first, last
}

// sessionAt is the session at work after a fact, "" where that is not known.
func sessionAt(x *index.Index, seq int64) ralph.SessionID {
	for _, s := range x.Sessions() {
		if s.First <= seq {
			return s.ID
		}
	}
	return ""
}

// receiptsAt is the address of another page of the same choice.
func receiptsAt(m *Receipts, before int64) string {
	q := url.Values{}
	for name, value := range map[string]string{"task": m.Task, "session": m.Session, "q": m.Text} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if before > 0 {
		q.Set("before", fmt.Sprint(before))
	}
	if len(q) == 0 {
		return "/receipts"
	}
	return "/receipts?" + q.Encode()
}

// says reports whether a receipt has all the words.
func says(x *receipts.Receipt, words string) bool {
	if words == "" {
		return true
	}
	all := strings.ToLower(strings.Join([]string{fmt.Sprint(x.Seq), string(x.Task), x.Name, x.Step, x.What, x.Rule, x.Why, Came(x)}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(words)) {
		if !strings.Contains(all, word) {
			return false
		}
	}
	return true
}

// decided are the decisions after a fact and before another, oldest first. Names are those of
// now; what came of the last ones is looked for a little further on.
func decided(j Journal, x *index.Index, now *ralph.State, after, before int64, ask receipts.Receipts) ([]receipts.Receipt, error) {
	s := *now
	s.Session.ID = sessionAt(x, after)
	err := j.Each(after, func(e ralph.Event) error {
		if e.Seq >= before+page.AfterWindow {
			return errEnough
		}
		if s.Session.ID == "" && !e.At.Before(now.Session.StartedAt) {
			s.Session.ID = now.Session.ID
		}
		ask.Add(e, &s)
		if f, ok := e.Fact.(ralph.SessionStarted); ok {
			s.Session.ID = f.ID
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return slices.DeleteFunc(ask.List(), func(r receipts.Receipt) bool { return r.Seq >= before }), err
}
