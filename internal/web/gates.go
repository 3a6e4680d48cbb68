package web

import (
	"context"
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Gates says what only git and files know of a gate.
type Gates interface {
	// Detail is an open gate with everything to decide by.
	Detail(ctx context.Context, s *ralph.State, g *ralph.Gate) report.GateDetail
}

// maxEnds are listed of what was decided lately, and of what was answered without a person.
const maxEnds = 30

// gates is the page of all that waits for a person.
func gates(_ context.Context, r *request) (view.Page, error) {
	x := r.server
	w := r.world()
	var m view.GatesModel
	for _, g := range r.state.Gates {
		row := view.GateRow{Gate: g, Task: taskName(r.state, g), Held: report.HeldBy(g), Gone: !g.Answerable(r.engine.Alive, r.now)}
		if !row.Gone {
			row.Offers = action.AllAvailable(r.state, w, action.Gate, string(g.ID))
		}
		m.Open = append(m.Open, row)
	}
	slices.SortStableFunc(m.Open, func(a, b view.GateRow) int { return a.Gate.AskedAt.Compare(b.Gate.AskedAt) })
	ends, from, err := x.gatesPast.ends(x.opt.Source, r.state)
	if err != nil {
		return view.Page{}, fmt.Errorf("read what was decided: %w", err)
	}
	m.From = from
	for _, e := range ends {
		row := view.EndRow{GateEnd: e, Task: taskName(r.state, &e.Gate)}
		switch {
		case e.Gate.ID == "" && len(m.Auto) < maxEnds:
			m.Auto = append(m.Auto, row)
		case e.Gate.ID != "" && len(m.Ends) < maxEnds:
			m.Ends = append(m.Ends, row)
		}
	}
	for _, rule := range slices.Backward(r.state.Rules) {
		m.Rules = append(m.Rules, view.RuleRow{
			Rule: rule, What: report.RuleWords(rule), Reach: report.RuleReach(rule), Expired: r.state.Expired(rule, r.now),
			Offers: action.AllAvailable(r.state, w, action.Rule, string(rule.ID)),
		})
	}
	return view.Page{Title: "Gates", Sections: []view.Section{
		{ID: "open", Body: view.GatesOpen(m)},
		{ID: "ended", Class: "half", Body: view.GatesEnded(m)},
		{ID: "auto", Class: "half", Body: view.GatesAuto(m)},
		{ID: "rules", Body: view.GatesRules(m)},
	}}, nil
}

// gate is the page of one gate: all there is to decide by while it waits, and what became
// of it afterwards.
func gate(ctx context.Context, r *request) (view.Page, error) {
	id := ralph.GateID(r.PathValue("id"))
	m := view.GateModel{ID: id}
	if i := slices.IndexFunc(r.state.Gates, func(g *ralph.Gate) bool { return g.ID == id }); i >= 0 {
		g := r.state.Gates[i]
		d := r.server.detail(ctx, r.state, g)
		m.Detail, m.Gone = &d, !g.Answerable(r.engine.Alive, r.now)
		m.Offers = action.AllAvailable(r.state, r.world(), action.Gate, string(id))
		m.Checks = r.server.doubts(r.state, g)
		_, _, _ = r.server.gatesPast.ends(r.server.opt.Source, r.state) // so that its end is seen, whatever was before
	} else if err := r.server.became(r, &m); err != nil {
		return view.Page{}, err
	}
	if d := m.Detail; d != nil {
		m.Task, m.Held = r.state.Task(d.Of()), report.HeldBy(&d.Gate)
	}
	return view.Page{Title: "Gate " + string(id), Sections: []view.Section{
		{ID: "head", Body: view.GateHead(m)},
		{ID: "ask", Class: "gate-left", Body: view.GateAsk(m)},
		{ID: "decide", Class: "gate-right", Body: view.GateDecide(m)},
		{ID: "against", Class: "gate-left", Body: view.GateEvidence(m)},
		{ID: "task", Class: "gate-right", Body: view.GateTask(m)},
		{ID: "changes", Class: "gate-left", Body: view.GateChanges(m)},
	}}, nil
}

// detail is an open gate with what git and files know.
func (x *Server) detail(ctx context.Context, s *ralph.State, g *ralph.Gate) report.GateDetail {
	if x.opt.Gates == nil {
		return report.GateDetailOf(s, g)
	}
	return x.opt.Gates.Detail(ctx, s, g)
}

// doubts are the checks that a test gate is about: not green, or with findings.
func (x *Server) doubts(s *ralph.State, g *ralph.Gate) []ralph.CheckResult {
	t := s.Task(g.Task)
	if g.Kind != ralph.GateTest || t == nil || t.Run.Checks == nil {
		return nil
	}
	t = x.whole(t)
	return slices.DeleteFunc(slices.Clone(t.Run.Checks.Results), func(r ralph.CheckResult) bool {
		return r.Pass && len(r.Findings) == 0 && r.Coverage == nil
	})
}

// became fills in what became of a gate that does not wait any more: from the newest facts,
// else by a walk over the whole journal.
func (x *Server) became(r *request, m *view.GateModel) error {
	ends, from, err := x.gatesPast.ends(x.opt.Source, r.state)
	if err != nil {
		return fmt.Errorf("read what was decided: %w", err)
	}
	i := slices.IndexFunc(ends, func(e report.GateEnd) bool { return e.Gate.ID == m.ID })
	if i >= 0 {
		m.End = &ends[i]
	} else if from > 0 {
		if err := x.wasGate(r, m); err != nil || m.Walk != nil {
			return err
		}
	}
	if m.End == nil && m.Detail == nil {
		return &ralph.Refusal{Why: fmt.Sprintf("there is no gate %s", m.ID), Hint: "/gates lists what waits and what was decided lately", Kind: ralph.ErrNotFound}
	}
	if m.Detail == nil {
		d := report.GateDetailOf(&ralph.State{}, &m.End.Gate)
		m.Detail = &d
	}
	// What could have been said, for words that somebody has typed and not sent.
	was := *r.state
	was.Gates = []*ralph.Gate{&m.Detail.Gate}
	m.Last = action.AllAvailable(&was, action.Context{Engine: true, Now: r.now}, action.Gate, string(m.ID))
	return nil
}

// wasGate looks for a gate in the whole journal, in the background.
func (x *Server) wasGate(r *request, m *view.GateModel) error {
	found := x.jobs.of("gate "+string(m.ID), r.state.Seq, func(walk) bool { return true },
		func(_ context.Context, step func() error) (any, error) {
			p := report.GatePast{Only: m.ID}
			err := x.opt.Source.Each(0, func(e ralph.Event) error {
				p.Add(e)
				return step()
			})
			end, asked := p.Of(m.ID)
			if end == nil && asked != nil { // its engine died, and nobody waits any more
				end = &report.GateEnd{Gate: *asked, At: asked.AskedAt, How: string(ralph.Withdrawn), Text: "nobody waits for it any more"}
			}
			return end, err
		})
	switch {
	case !found.done:
		m.Walk = &view.Walk{What: "Looking for it", Read: found.read, Total: found.total}
	case found.err != nil:
		return found.err
	default:
		m.End, _ = found.result.(*report.GateEnd)
	}
	return nil
}

// taskName is the name of the task that a gate is about.
func taskName(s *ralph.State, g *ralph.Gate) string {
	id := g.About
	if id == "" {
		id = g.Task
	}
	if t := s.Task(id); t != nil {
		return t.Name
	}
	return ""
}
