package ralph

import (
	"fmt"
	"strings"
	"time"
)

// Stalled says that an engine has work and does nothing, for no reason that is known:
// written once for each silence.
type Stalled struct {
	Since  time.Time `json:"since"`
	Active []TaskID  `json:"active,omitempty"` // at work, without a step
	Ready  []TaskID  `json:"ready,omitempty"`  // could start
	Why    string    `json:"why,omitempty"`    // the loop's own word for its wait
	Report string    `json:"report,omitempty"` // what is needed to mend it, relative to the repository
}

// Kind implements Fact.
func (Stalled) Kind() string { return "stalled" }

// About implements Fact.
func (Stalled) About() TaskID { return "" }

func (f Stalled) fold(s *State, e Event) {
	s.Stalled = &f
}

// StallReport is where the report of a stall is kept. seq is that of its fact.
func StallReport(seq int64) string { return fmt.Sprintf("ralph/.state/reports/stalled-%d.json", seq) }

// Words say what stands still since when, and what a person does about it. clock writes times.
func (f Stalled) Words(clock func(time.Time) string) string {
	list := func(ids []TaskID, one, more string) string {
		const most = 5
		names := make([]string, 0, most)
		for _, id := range ids[:min(most, len(ids))] {
			names = append(names, string(id))
		}
		words := strings.Join(names, ", ")
		if n := len(ids) - most; n > 0 {
			words += fmt.Sprintf(" and %d more", n)
		}
		if len(ids) == 1 {
			return words + one
		}
		return words + more
	}
	var what []string
	if len(f.Active) > 0 {
		what = append(what, list(f.Active, " is at work without a step", " are at work without a step"))
	}
	if len(f.Ready) > 0 {
		what = append(what, list(f.Ready, " is ready", " are ready"))
	}
	if len(what) == 0 {
		what = []string{"the session has not ended"}
	}
	words := fmt.Sprintf("nothing happens since %s, and nothing known explains it: %s", clock(f.Since), strings.Join(what, ", "))
	words += "; look at `[[why]]`, then `[[stop-now]]` and start again: nothing recorded is lost"
	if f.Report != "" {
		words += "; please report it with " + f.Report
	}
	return words
}
