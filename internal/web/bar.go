package web

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// barOf is the control bar, which stands on every page.
func barOf(l *snapshot) view.BarModel {
	s := l.state
	m := view.BarModel{
		Status: status.Of(s, l.engine, l.now), Stage: status.QueryStage(s), Engine: l.engine,
		Running: s.Running(l.now), At: s.Turning(), Usage: s.Session.Usage, Mode: s.Session.Mode,
		Tokens: view.Amount(s.Session.Usage.Input + s.Session.Usage.Output + s.Session.Usage.CacheRead + s.Session.Usage.CacheWrite),
		Offers: action.AllAvailable(s, l.world(), action.Engine, ""), Trouble: l.trouble,
	}
	m.Since = clockOf(s, l.engine)
	needs := status.Needs(s, l.engine, l.now)
	m.Needs = len(needs)
	for _, n := range needs {
		if n.Gate != nil {
			m.Gates++
		}
	}
	m.Ended = endedWords(l)
	return m
}

// endedWords say how the newest session came to rest: its stop condition.
func endedWords(l *snapshot) string {
	x := l.state.Session
	switch {
	case x.ID == "":
		return ""
	case x.Live() && !l.engine.Alive:
		return "when its engine died"
	case x.Detail != "":
		return fmt.Sprintf("%s: %s", x.Ended, x.Detail)
	}
	return string(x.Ended)
}

// clockOf is what the clock of a session counts from: when it would have begun had it
// never been interrupted. Zero while the clock stands.
func clockOf(s *ralph.State, engine status.Engine) time.Time {
	x := s.Session
	if !engine.Alive || !x.Live() || !x.RestAt.IsZero() {
		return time.Time{}
	}
	return x.Since.Add(-x.Elapsed)
}
