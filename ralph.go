// Package ralph owns the words of the program: specs, tasks, steps, facts, the
// state that facts add up to, and the commands that people give. Everything in
// it is pure. It owns no file, no process, no clock and no decision: the file
// is internal/journal's, decisions are internal/policy's.
package ralph

// The identifiers. Their shapes are part of the file formats.
type (
	SpecID     string // "q-a1b2", a record of the inbox
	TaskID     string // "t-1a2b", or "<kind>:<job>:<round>" for the stages of a job
	IssueID    string // "i-1a2b"
	ApprovalID string // "g-1a2b"
	SessionID  string // "s-20250120T100000Z-1a2b"
	TreeID     string // where work happens: "." is the user's checkout
)

// RawObject is a JSON object kept as text, so that unknown fields survive.
type RawObject string

// MarshalJSON writes the object as it was read.
func (r RawObject) MarshalJSON() ([]byte, error) {
	if r == "" {
		return []byte("null"), nil
	}
	return []byte(r), nil
}

// UnmarshalJSON keeps the object as it stands.
func (r *RawObject) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*r = ""
		return nil
	}
	*r = RawObject(b)
	return nil
}
