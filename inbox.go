package ralph

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

func (s *State) editSpec(id SpecID, edit func(*Spec)) {
	for i, x := range s.Inbox {
		if x.ID == id {
			c := *x
			c.Line = ""
			edit(&c)
			s.Inbox[i] = &c
		}
	}
}

// Commands are pure: facts, or a refusal. Effects call them inside
// journal.Update, so they decide on fresh state.

// SpecFile checks a spec name as people give it and returns it relative to
// ralph/specs. Names that leave the folder are refused; whether
// the file is there and no symlink leads out is for the caller to look at.
func SpecFile(name string) (string, error) {
	clean := path.Clean(strings.TrimPrefix(strings.TrimPrefix(name, "./"), "ralph/specs/"))
	bad := func(why string) (string, error) {
		return "", &Refusal{Why: fmt.Sprintf("spec %q %s", name, why), Hint: "name a file inside ralph/specs, like feature-x.md", Kind: ErrUsage}
	}
	switch {
	case strings.TrimSpace(name) == "":
		return bad("is empty")
	case strings.ContainsAny(name, "\x00\n\r\\"):
		return bad("has a character that a spec name cannot have")
	case path.IsAbs(name), clean == "..", strings.HasPrefix(clean, "../"), strings.Contains(name, "../"):
		return bad("leaves ralph/specs")
	case clean == ".", !strings.HasSuffix(clean, ".md"):
		return bad("is no markdown file (.md)")
	case strings.HasPrefix(clean, "-"):
		return bad("begins with a dash")
	}
	return clean, nil
}

// AddSpec queues a spec. The id must be new; see NewSpecID.
func (s *State) AddSpec(id SpecID, file string, now time.Time) []Fact {
	return []Fact{SpecAdded{Spec{ID: id, File: file, Status: SpecPending, AddedAt: now.UTC().Truncate(time.Second)}}}
}

// Queued returns the records of a file that wait or run.
func (s *State) Queued(file string) []*Spec {
	var out []*Spec
	for _, x := range s.Inbox {
		if x.File == file && (x.Status == SpecPending || x.Status == SpecActive) {
			out = append(out, x)
		}
	}
	return out
}

// RemoveSpec takes a record out by id or by file and returns it.
// A file with several records is refused with their ids.
func (s *State) RemoveSpec(idOrFile string) (*Spec, []Fact, error) {
	spec := s.Spec(SpecID(idOrFile))
	if spec == nil {
		file := strings.TrimPrefix(strings.TrimPrefix(idOrFile, "./"), "ralph/specs/")
		var found []*Spec
		var ids []string
		for _, x := range s.Inbox {
			if x.File == file {
				found, ids = append(found, x), append(ids, string(x.ID))
			}
		}
		switch len(found) {
		case 0:
			return nil, nil, &Refusal{Why: fmt.Sprintf("%s is not in the inbox", idOrFile), Hint: "`[[inbox]]` lists what is", Kind: ErrNotFound}
		case 1:
			spec = found[0]
		default:
			return nil, nil, &Refusal{Why: fmt.Sprintf("%s is in the inbox %d times", file, len(found)), Hint: "remove one by its id: " + strings.Join(ids, ", "), Kind: ErrUsage}
		}
	}
	if spec.Status == SpecActive {
		return nil, nil, &Refusal{Why: fmt.Sprintf("%s %s is active", spec.ID, spec.File), Hint: "stop the agent first (Ctrl+C in its terminal, or `[[stop]]`)", Kind: ErrActive}
	}
	return spec, []Fact{SpecRemoved{spec.ID}}, nil
}

// ClearInbox removes the pending records.
func (s *State) ClearInbox() []Fact {
	var facts []Fact
	for _, x := range s.Inbox {
		if x.Status == SpecPending {
			facts = append(facts, SpecRemoved{x.ID})
		}
	}
	return facts
}

// SpecAdded puts a spec into the inbox.
type SpecAdded struct {
	Spec Spec `json:"spec"`
}

// Kind implements Fact.
func (SpecAdded) Kind() string { return "spec.added" }

// About implements Fact.
func (SpecAdded) About() TaskID { return "" }

func (f SpecAdded) fold(s *State, _ Event) {
	spec := f.Spec
	s.Inbox = append(s.Inbox, &spec)
}

// SpecEdited replaces a record that was changed in the file by a person.
type SpecEdited struct {
	Spec Spec `json:"spec"`
}

// Kind implements Fact.
func (SpecEdited) Kind() string { return "spec.edited" }

// About implements Fact.
func (SpecEdited) About() TaskID { return "" }

func (f SpecEdited) fold(s *State, _ Event) {
	s.editSpec(f.Spec.ID, func(x *Spec) { *x = f.Spec })
}

// SpecRemoved takes a record out of the inbox.
type SpecRemoved struct {
	ID SpecID `json:"id"`
}

// Kind implements Fact.
func (SpecRemoved) Kind() string { return "spec.removed" }

// About implements Fact.
func (SpecRemoved) About() TaskID { return "" }

func (f SpecRemoved) fold(s *State, e Event) {
	s.remember(nil, s.Spec(f.ID))
	s.Inbox = slices.DeleteFunc(slices.Clone(s.Inbox), func(x *Spec) bool { return x.ID == f.ID })
}

// InboxOrdered gives the records a new order, after a person moved lines.
type InboxOrdered struct {
	IDs []SpecID `json:"ids"`
}

// Kind implements Fact.
func (InboxOrdered) Kind() string { return "inbox.ordered" }

// About implements Fact.
func (InboxOrdered) About() TaskID { return "" }

func (f InboxOrdered) fold(s *State, _ Event) {
	s.Inbox = ordered(s.Inbox, f.IDs, func(x *Spec) SpecID { return x.ID })
}

// SpecStatus is where an inbox record stands.
type SpecStatus string

// The inbox statuses; nothing else may stand in the file.
const (
	SpecPending SpecStatus = "pending"
	SpecActive  SpecStatus = "active"
	SpecDone    SpecStatus = "done"
	SpecFailed  SpecStatus = "failed"
)

// Valid reports whether s is one of the four statuses.
func (s SpecStatus) Valid() bool {
	return s == SpecPending || s == SpecActive || s == SpecDone || s == SpecFailed
}

// Spec is one record of the inbox. One file may be queued
// several times; each time is a record of its own.
type Spec struct {
	ID        SpecID     `json:"id"`
	File      string     `json:"spec"` // relative to ralph/specs
	Status    SpecStatus `json:"status"`
	Priority  int        `json:"priority,omitempty"` // higher comes first; 0 where nobody says one
	AddedAt   time.Time  `json:"added_at"`
	StartedAt time.Time  `json:"started_at,omitzero"`
	EndedAt   time.Time  `json:"completed_at,omitzero"`
	Error     string     `json:"error,omitempty"`

	// Line is the record as a person wrote it, kept as long as nothing in the
	// record changes, so that a rewrite leaves it byte for byte.
	Line string `json:"line,omitempty"`
	// Extra holds the fields we do not know, as one JSON object.
	Extra RawObject `json:"extra,omitempty"`
}

// Spec returns the inbox record with the id, nil when there is none.
func (s *State) Spec(id SpecID) *Spec {
	for _, x := range s.Inbox {
		if x.ID == id {
			return x
		}
	}
	return nil
}

// CountInbox counts the records with a status.
func (s *State) CountInbox(status SpecStatus) int {
	n := 0
	for _, x := range s.Inbox {
		if x.Status == status {
			n++
		}
	}
	return n
}

// EditedByFile is what a person's edit of an inbox line makes of the record.
func (x *Spec) EditedByFile(edited Spec) (Spec, *Kept) {
	over := x.Status == SpecActive || x.Status == SpecDone
	if edited.Status == x.Status || !over && edited.Status != SpecActive {
		return edited, nil
	}
	asked := edited.Status
	edited.Status, edited.Line = x.Status, ""
	edited.StartedAt, edited.EndedAt = x.StartedAt, x.EndedAt
	why := fmt.Sprintf("%s is %s (the file says %s", x.ID, x.Status, asked)
	if x.Status == SpecDone && asked == SpecPending {
		why += "; queue it again to have it done once more"
	}
	return edited, &Kept{string(x.ID), why + ")"}
}

// KeepsSpec is likewise for a record of the inbox.
func (x *Spec) KeepsSpec() *Kept {
	if x.Status == SpecActive {
		return &Kept{string(x.ID), fmt.Sprintf("%s is at work (its line is gone)", x.ID)}
	}
	return nil
}
