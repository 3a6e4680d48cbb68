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
	// Answers is the number of the receipt whose step the facts of this write come of, 0 for
	// all others. Apply passes over what answers a step that its task is not at any more.
	Answers int64
	Fact    Fact
}

// MarshalEvent returns the journal line of e, without the newline, and sets
// e.Hash. The line is one JSON object {"t","seq","at","by","prev","fact"}, with "answers" before
// the fact of an outcome, and "more" where the write goes on.
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
	if e.Answers != 0 {
		b = fmt.Appendf(b, `%s%d,`, answers, e.Answers)
	}
	if e.More {
		b = append(b, more...)
	}
	b = append(b, `"fact":`...)
	b = append(b, fact...)
	b = append(b, '}')
	e.Hash = LineHash(b)
	return b, nil
}

const (
	answers = `"answers":`   // begins the number of the receipt that an event answers
	more    = `"more":true,` // marks an event whose write goes on with the next one
)

// LineHash is the hash of one journal line, in hex.
func LineHash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// eventJSON is Event as it stands in the file.
type eventJSON struct {
	T    string    `json:"t"`
	Seq  int64     `json:"seq"`
	At   time.Time `json:"at"`
	By   string    `json:"by"`
	Prev string    `json:"prev"`
	More bool      `json:"more"`
	// Answers is as in Event.
	Answers int64           `json:"answers"`
	Fact    json.RawMessage `json:"fact"`
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
	return Event{Seq: j.Seq, At: j.At, By: j.By, Prev: j.Prev, Hash: LineHash(line), More: j.More, Answers: j.Answers, Fact: fact}, nil
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
	var errAnswers error
	if bytes.HasPrefix(rest, []byte(answers)) {
		j.Answers, errAnswers = strconv.ParseInt(next(answers, `,`), 10, 64)
	}
	rest, j.More = bytes.CutPrefix(rest, []byte(more))
	fact, found := bytes.CutPrefix(rest, []byte(`"fact":`))
	if !found {
		return eventJSON{}, false
	}
	var errSeq, errAt error
	j.Seq, errSeq = strconv.ParseInt(seq, 10, 64)
	j.At, errAt = time.Parse(time.RFC3339Nano, at)
	j.Fact, found = bytes.CutSuffix(fact, []byte("}"))
	return j, found && errSeq == nil && errAt == nil && errAnswers == nil
}
