package advice

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
)

// Outcome is what came of asking.
type Outcome string

// The outcomes.
const (
	Answered Outcome = "answered" // a model gave an answer of the type that was asked for
	Invalid  Outcome = "invalid"  // a model gave none, twice
	Refused  Outcome = "refused"  // a model will not answer
	Nobody   Outcome = "nobody"   // no model could be asked
	Unasked  Outcome = "unasked"  // the rules left nothing open
)

// maxBad is how much of an answer that is none is kept, in bytes. One that counts is kept
// whole: the signature bounds it.
const maxBad = 4 << 10

// Record is what was asked and answered, for the receipt. It has no secrets, and is enough
// to decide again without a model.
type Record struct {
	Signature string          `json:"signature"`
	Version   int             `json:"version"`
	Hash      string          `json:"hash"`
	Outcome   Outcome         `json:"outcome"`
	By        string          `json:"by,omitempty"`   // the model whose word it was
	Why       string          `json:"why,omitempty"`  // why there is no answer
	Input     json.RawMessage `json:"input,omitzero"` // as the models saw it
	Asked     []Attempt       `json:"asked,omitempty"`
	Usage     ralph.Usage     `json:"usage,omitzero"` // of all attempts
}

// Attempt is one time that a model was asked.
type Attempt struct {
	Engine  string        `json:"engine"`            // as settings spell it
	Model   string        `json:"model,omitempty"`   // as the provider names what answered
	Answer  string        `json:"answer,omitempty"`  // its words; of those that are no answer the beginning
	Sum     string        `json:"sum,omitempty"`     // SHA-256 of all of its words, where they are not all here
	Problem string        `json:"problem,omitempty"` // why it is no answer, as the model was told
	Error   string        `json:"error,omitempty"`   // why it could not be asked
	Tries   int           `json:"tries,omitempty"`
	Took    time.Duration `json:"took"`
	Usage   ralph.Usage   `json:"usage,omitzero"`
}

// answered keeps the words of a model.
func (a *Attempt) answered(words string, valid bool) {
	if a.Answer = words; valid || len(words) <= maxBad {
		return
	}
	sum := sha256.Sum256([]byte(words))
	a.Answer, a.Sum = text.Cut(words, maxBad), hex.EncodeToString(sum[:])
}

// Again reads the answer out of a record, as it was read then. It asks nobody. An error
// says that the record is of another signature, or has no answer.
func Again[In any, Out signature.Answer[In]](s signature.Signature[In, Out], r Record) (Out, error) {
	var none Out
	i := s.Info()
	switch {
	case r.Signature != i.Name || r.Hash != i.Hash:
		return none, fmt.Errorf("the record is of %s %d (%s), this is %s %d (%s): decide it again with the ralph that made it", r.Signature, r.Version, r.Hash, i.Name, i.Version, i.Hash)
	case r.Outcome != Answered || len(r.Asked) == 0:
		return none, errors.New("the record has no answer: " + string(r.Outcome))
	}
	var in In
	if err := json.Unmarshal(r.Input, &in); err != nil {
		return none, fmt.Errorf("read the input of the record: %w", err)
	}
	return s.Parse(in, r.Asked[len(r.Asked)-1].Answer)
}
