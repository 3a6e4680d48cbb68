package ralph

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// Event is a fact with its place in the journal. Prev is the hash of the line
// before it, so the events form a chain; Hash is the hash of its own line and
// is never written, since the next event carries it.
type Event struct {
	Seq  int64
	At   time.Time
	By   string // who: engine, cli, file, a person's name
	Prev string
	Hash string
	// More says that the next event came in the same write. The facts of a write
	// hold together: a reader takes all of them or, should a crash have cut the
	// write, none.
	More bool
	Fact Fact
}

// MarshalEvent returns the journal line of e, without the newline, and sets
// e.Hash. The line is one JSON object {"t","seq","at","by","prev","fact"}, with "more" before the
// fact where the write goes on.
func MarshalEvent(e *Event) ([]byte, error) {
	fact, err := json.Marshal(e.Fact)
	if err != nil {
		return nil, fmt.Errorf("encode fact %s: %w", e.Fact.Kind(), err)
	}
	by, err := json.Marshal(e.By)
	if err != nil {
		return nil, fmt.Errorf("encode author %q: %w", e.By, err)
	}
	b := make([]byte, 0, len(fact)+200)
	b = fmt.Appendf(b, `{"t":%q,"seq":%d,"at":"%s","by":%s,"prev":%q,`,
		e.Fact.Kind(), e.Seq, e.At.UTC().Format(time.RFC3339Nano), by, e.Prev)
	if e.More {
		b = append(b, more...)
	}
	b = append(b, `"fact":`...)
	b = append(b, fact...)
	b = append(b, '}')
	e.Hash = LineHash(b)
	return b, nil
}

// more marks an event whose write goes on with the next one.
const more = `"more":true,`

// LineHash is the hash of one journal line, in hex.
func LineHash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// eventJSON is Event as it stands in the file.
type eventJSON struct {
	T    string          `json:"t"`
	Seq  int64           `json:"seq"`
	At   time.Time       `json:"at"`
	By   string          `json:"by"`
	Prev string          `json:"prev"`
	More bool            `json:"more"`
	Fact json.RawMessage `json:"fact"`
}

// UnmarshalEvent reads one journal line (without the newline).
func UnmarshalEvent(line []byte) (Event, error) {
	j, ok := splitEvent(line)
	if !ok {
		if err := json.Unmarshal(line, &j); err != nil {
			return Event{}, err
		}
	}
	fact, err := unmarshalFact(j.T, j.Fact)
	if err != nil {
		return Event{}, fmt.Errorf("fact %s: %w", j.T, err)
	}
	return Event{Seq: j.Seq, At: j.At, By: j.By, Prev: j.Prev, Hash: LineHash(line), More: j.More, Fact: fact}, nil
}

// splitEvent takes a line apart that is exactly as MarshalEvent writes it, which
// saves json two passes over it. Any other line is left to json.
func splitEvent(line []byte) (j eventJSON, ok bool) {
	rest := line
	next := func(before, after string) string { // what stands between the two
		body, found := bytes.CutPrefix(rest, []byte(before))
		value, tail, closed := bytes.Cut(body, []byte(after))
		if !found || !closed || bytes.IndexByte(value, '\\') >= 0 {
			rest = nil
			return ""
		}
		rest = tail
		return string(value)
	}
	j.T = next(`{"t":"`, `",`)
	seq := next(`"seq":`, `,`)
	at := next(`"at":"`, `",`)
	j.By = next(`"by":"`, `",`)
	j.Prev = next(`"prev":"`, `",`)
	rest, j.More = bytes.CutPrefix(rest, []byte(more))
	fact, found := bytes.CutPrefix(rest, []byte(`"fact":`))
	if !found {
		return eventJSON{}, false
	}
	var errSeq, errAt error
	j.Seq, errSeq = strconv.ParseInt(seq, 10, 64)
	j.At, errAt = time.Parse(time.RFC3339Nano, at)
	j.Fact, found = bytes.CutSuffix(fact, []byte("}"))
	return j, found && errSeq == nil && errAt == nil
}

func decodeFact[F Fact](b []byte) (Fact, error) {
	var f F
	err := json.Unmarshal(b, &f)
	return f, err
}

func unmarshalFact(kind string, b []byte) (Fact, error) {
	if decode := decoderOf(kind); decode != nil {
		return decode(b)
	}
	return nil, fmt.Errorf("unknown kind %q: %w", kind, ErrNewer)
}

func decoderOf(kind string) func([]byte) (Fact, error) {
	switch kind {
	case "session.started":
		return decodeFact[SessionStarted]
	case "session.ended":
		return decodeFact[SessionEnded]
	case "control":
		return decodeFact[Control]
	case "view.read":
		return decodeFact[ViewRead]
	case "stalled":
		return decodeFact[Stalled]
	case "view.unreadable":
		return decodeFact[ViewUnreadable]
	case "journal.cut":
		return decodeFact[JournalCut]
	case "spec.added":
		return decodeFact[SpecAdded]
	case "spec.edited":
		return decodeFact[SpecEdited]
	case "spec.removed":
		return decodeFact[SpecRemoved]
	case "inbox.ordered":
		return decodeFact[InboxOrdered]
	case "job.started":
		return decodeFact[JobStarted]
	case "job.ended":
		return decodeFact[JobEnded]
	case "round.started":
		return decodeFact[RoundStarted]
	case "plan.started":
		return decodeFact[PlanStarted]
	case "plan.ordered":
		return decodeFact[PlanOrdered]
	}
	return taskDecoderOf(kind)
}

func taskDecoderOf(kind string) func([]byte) (Fact, error) {
	switch kind {
	case "task.added":
		return decodeFact[TaskAdded]
	case "task.edited":
		return decodeFact[TaskEdited]
	case "task.removed":
		return decodeFact[TaskRemoved]
	case "task.started":
		return decodeFact[TaskStarted]
	case "task.ended":
		return decodeFact[TaskEnded]
	case "task.rejected":
		return decodeFact[TaskRejected]
	case "task.accepted":
		return decodeFact[TaskAccepted]
	case "reject.added":
		return decodeFact[RejectAdded]
	case "issue.added":
		return decodeFact[IssueAdded]
	case "issue.removed":
		return decodeFact[IssueRemoved]
	case "step.started":
		return decodeFact[StepStarted]
	case "prepared":
		return decodeFact[Prepared]
	case "turn.ended":
		return decodeFact[TurnEnded]
	case "checks.ran":
		return decodeFact[ChecksRan]
	case "committed":
		return decodeFact[Committed]
	case "shelved":
		return decodeFact[Shelved]
	case "asked":
		return decodeFact[Asked]
	case "answered":
		return decodeFact[Answered]
	case "request.answered":
		return decodeFact[RequestAnswered]
	case "sandbox.refused":
		return decodeFact[SandboxRefused]
	case "rule.added":
		return decodeFact[RuleAdded]
	case "rule.revoked":
		return decodeFact[RuleRevoked]
	case "signalled":
		return decodeFact[Signalled]
	case "checkout.found":
		return decodeFact[CheckoutFound]
	case "noted":
		return decodeFact[Noted]
	}
	return parallelDecoderOf(kind)
}

func parallelDecoderOf(kind string) func([]byte) (Fact, error) {
	switch kind {
	case "integration.started":
		return decodeFact[IntegrationStarted]
	case "merge.queued":
		return decodeFact[MergeQueued]
	case "merged":
		return decodeFact[Merged]
	case "advanced":
		return decodeFact[Advanced]
	case "baseline.ran":
		return decodeFact[BaselineRan]
	case "landed":
		return decodeFact[Landed]
	case "cleaned":
		return decodeFact[CleanedUp]
	case "saved":
		return decodeFact[SavedWork]
	case "task.retried":
		return decodeFact[TaskRetried]
	case "skip.wanted":
		return decodeFact[SkipWanted]
	case "task.rolledback":
		return decodeFact[TaskRolledBack]
	case "task.cleaned":
		return decodeFact[TaskCleaned]
	case "task.told":
		return decodeFact[TaskTold]
	case "task.extended":
		return decodeFact[TaskExtended]
	case "task.assigned":
		return decodeFact[TaskAssigned]
	}
	return controlDecoderOf(kind)
}

func controlDecoderOf(kind string) func([]byte) (Fact, error) {
	switch kind {
	case "mode.set":
		return decodeFact[ModeSet]
	case "retrying":
		return decodeFact[Retrying]
	case "agent.limited":
		return decodeFact[AgentLimited]
	case "agent.retries":
		return decodeFact[AgentRetries]
	case "agent.switched":
		return decodeFact[AgentSwitched]
	case "agents.limited":
		return decodeFact[AllLimited]
	case "budget.warned":
		return decodeFact[BudgetWarned]
	case "context.warned":
		return decodeFact[ContextWarned]
	case "compacted":
		return decodeFact[Compacted]
	case "hook.ran":
		return decodeFact[HookRan]
	case "notice.failed":
		return decodeFact[NoticeFailed]
	}
	return nil
}

// receiptJSON is StepStarted with its step named.
type receiptJSON struct {
	Task TaskID          `json:"task"`
	Step json.RawMessage `json:"step"`
	Why  Why             `json:"why"`
	Saw  int64           `json:"saw"`
	Now  time.Time       `json:"now"`
}

// MarshalJSON writes the receipt with its step's name.
func (f StepStarted) MarshalJSON() ([]byte, error) {
	step, err := marshalStep(f.Step)
	if err != nil {
		return nil, err
	}
	return json.Marshal(receiptJSON{f.Task, step, f.Why, f.Saw, f.Now})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *StepStarted) UnmarshalJSON(b []byte) error {
	var j receiptJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	step, err := unmarshalStep(j.Step)
	if err != nil {
		return err
	}
	*f = StepStarted{Task: j.Task, Step: step, Why: j.Why, Saw: j.Saw, Now: j.Now}
	return nil
}

// SameStep reports whether two steps are equal, field by field.
func SameStep(a, b Step) bool {
	x, errX := marshalStep(a)
	y, errY := marshalStep(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
