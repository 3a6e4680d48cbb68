package ralph

import (
	"slices"
	"strings"
	"time"
)

// Tracked is an issue of a tracker that became a spec, as the tracker was last known to have it.
type Tracked struct {
	Ref     string    `json:"ref"` // owner/repo#12
	URL     string    `json:"url,omitempty"`
	Title   string    `json:"title,omitempty"`
	Author  string    `json:"author,omitempty"`
	Closed  bool      `json:"closed,omitempty"`
	Labels  []string  `json:"labels,omitempty"`
	Updated time.Time `json:"updated,omitzero"`
	Source  string    `json:"source,omitempty"` // Jira, Azure DevOps: the query that it came from
	Body    string    `json:"body,omitempty"`   // the sum of its text and comments
	Spec    SpecID    `json:"spec,omitempty"`   // "": it was passed over
	File    string    `json:"file,omitempty"`
}

// Item returns what is known of an issue, nil for nothing. One of a repository that was renamed is
// the same under both names.
func (s *State) Item(ref string) *Tracked {
	for _, t := range s.Tracked {
		if t.Ref == ref || s.newest(t.Ref) == s.newest(ref) {
			return t
		}
	}
	return nil
}

// newest is the name of an issue with what its repository is called now.
func (s *State) newest(ref string) string {
	repo, n, _ := strings.Cut(ref, "#")
	if now := s.Renamed(GitHub, repo); now != "" {
		return now + "#" + n
	}
	return ref
}

// maxTracked bounds what is remembered of issues; the oldest leave first.
const maxTracked = 1000

// IssueSeen says what was found of an issue: it was queued, or it has changed since.
type IssueSeen struct {
	Issue Tracked `json:"issue"`
	What  string  `json:"what"` // for people: queued, closed, edited, ...
}

// Kind implements Fact.
func (IssueSeen) Kind() string { return "issue.seen" }

// About implements Fact.
func (IssueSeen) About() TaskID { return "" }

func (f IssueSeen) fold(s *State, _ Event) {
	issue := f.Issue
	s.Tracked = slices.DeleteFunc(slices.Clone(s.Tracked), func(t *Tracked) bool { return t.Ref == issue.Ref })
	s.Tracked = append(s.Tracked, &issue)
	if n := len(s.Tracked) - maxTracked; n > 0 {
		s.Tracked = s.Tracked[n:]
	}
}

// Polled says that the issues of a source cannot be had, or can be had again.
type Polled struct {
	Source string    `json:"source"`
	Error  string    `json:"error,omitempty"` // "": they can be had again
	Until  time.Time `json:"until,omitzero"`  // when it is asked again
}

// Kind implements Fact.
func (Polled) Kind() string { return "inbox.polled" }

// About implements Fact.
func (Polled) About() TaskID { return "" }

func (Polled) fold(*State, Event) {} // it tells, and changes nothing
