package page

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/services"
	"github.com/ralph-loop/ralph/internal/status"
)

// BarModel is the control bar.
type BarModel struct {
	Status  status.StatusRecord
	Stage   status.Stage
	Engine  status.Engine
	Running time.Duration // of the session, as it is now
	Since   time.Time     // what its clock counts from; zero while it stands
	At      int           // turns under way
	Needs   int           // things that wait for a person
	Gates   int           // gates among them
	Outside bool          // there are services to be shown
	Usage   ralph.Usage
	Trouble string // which file cannot be read, "" for none
	Tokens  string
	Ended   string // why the last session ended, where none runs
	Mode    string // of that session, with which it goes on
	Offers  []action.Available
}

// BarOf is the control bar, which stands on every page.
func BarOf(l Look) BarModel {
	s := l.State
	outside := services.List(s, l.Now)
	m := BarModel{
		Outside: len(outside) > 0,
		Status:  status.Of(s, l.Engine, l.Now), Stage: status.QueryStage(s), Engine: l.Engine,
		Running: s.Running(status.At(l.Engine, s, l.Now)), At: s.Turning(), Usage: s.Session.Usage, Mode: s.Session.Mode,
		Tokens: Amount(s.Session.Usage.Input + s.Session.Usage.Output + s.Session.Usage.CacheRead + s.Session.Usage.CacheWrite),
		Offers: action.AllAvailable(s, l.World(), action.Engine, ""), Trouble: l.Trouble,
	}
	m.Since = ClockOf(s, l.Engine)
	needs := status.NeedsBeside(outside, s, l.Engine, l.Now)
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
func endedWords(l Look) string {
	x := l.State.Session
	switch {
	case x.ID == "":
		return ""
	case x.Live() && !l.Engine.Alive && x.Immediate:
		return "ended at once"
	case x.Live() && !l.Engine.Alive:
		return "cut when its engine died"
	case x.Detail != "":
		return fmt.Sprintf("%s: %s", x.Ended, x.Detail)
	}
	return string(x.Ended)
}
