package history

import (
	"cmp"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/sessionreport"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// SessionModel is the page of one session.
type SessionModel struct {
	Read    Reading // of the history, and then of its report
	ID      ralph.SessionID
	Mode    string
	Version string
	Status  string // of the badge
	Ended   string // its word
	Detail  string
	Started time.Time
	EndedAt time.Time
	Older   ralph.SessionID // the session before it and after it
	Newer   ralph.SessionID
	LogFile bool // its agent log is still there

	Report *sessionreport.Page // nil while it is being made
	Slots  chart.Chart
}

// SessionOf is a session without its report: LogFile and Report are for who reads them.
func SessionOf(l page.Look, s *index.Session, all []index.Session) SessionModel {
	m := SessionModel{ID: s.ID, Mode: cmp.Or(s.Mode, "session"), Version: s.Version, Detail: s.Detail, Started: s.StartedAt, EndedAt: s.EndedAt}
	m.Status, m.Ended = EndOf(s, l)
	m.Older, m.Newer, _ = Around(s, all)
	m.Slots = SlotsOf(chart.Chart{ID: "chart-slots", Title: "Slots at work", Desc: "Slots at work over the time of the session."}, s)
	return m
}

// Around names the sessions before and after one, and says which fact is the last that
// its report needs: the start of the next session ends it. All are the newest first.
func Around(s *index.Session, all []index.Session) (older, newer ralph.SessionID, last int64) {
	last = s.Last
	for _, o := range all {
		switch {
		case o.First > s.First:
			newer, last = o.ID, s.Last+1
		case o.First < s.First && older == "":
			older = o.ID
		}
	}
	return older, newer, last
}
