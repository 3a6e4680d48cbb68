package replay

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
)

// Redecided is a decision taken once more.
type Redecided struct {
	Same bool   `json:"same"`
	Now  string `json:"now"` // what comes out now, in words
	// Rules is the revision of the rules that decided, when it is not today's.
	Rules int `json:"rules,omitempty"`
}

// Redecide takes the decision of one receipt once more: s is the state before it, with
// the settings that its session recorded. ok is false when the fact is no receipt. The
// error says that the settings cannot be read.
func Redecide(s *ralph.State, f ralph.Fact) (Redecided, bool, error) {
	r, ok := receipt(f)
	if !ok {
		return Redecided{}, false, nil
	}
	c, err := policy.Decode(s.Session.Config)
	if err != nil {
		return Redecided{}, true, err
	}
	var out Redecided
	out.Now, out.Same = again(s, r, c)
	if rules := max(1, c.Revision); rules != policy.Revision {
		out.Rules = rules
	}
	return out, true, nil
}
