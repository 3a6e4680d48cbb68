package web

import (
	"context"
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/past"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Gates says what only git and files know of a gate.
type Gates interface {
	// Detail is an open gate with everything to decide by.
	Detail(ctx context.Context, s *ralph.State, g *ralph.Approval) gates.Detail
}

// gatesPage is the page of all that waits for a person.
func gatesPage(_ context.Context, r *request) (view.Page, error) {
	ends, from, err := r.server.gatesPast.Ends(r.server.opt.Source, r.State)
	if err != nil {
		return view.Page{}, fmt.Errorf("read what was decided: %w", err)
	}
	m := page.GatesOf(r.Look.Look, ends, from)
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
	id := ralph.ApprovalID(r.PathValue("id"))
	m := view.GateModel{ID: id}
	if i := slices.IndexFunc(r.State.Approvals, func(g *ralph.Approval) bool { return g.ID == id }); i >= 0 {
		g := r.State.Approvals[i]
		m.Waits(r.Look.Look, g, r.server.detail(ctx, r.State, g), r.server.whole)
		_, _, _ = r.server.gatesPast.Ends(r.server.opt.Source, r.State) // so that its end is seen, whatever was before
	} else if err := r.server.became(r, &m); err != nil {
		return view.Page{}, err
	}
	if d := m.Detail; d != nil {
		m.Task, m.Held = r.State.Task(d.Of()), gates.HeldBy(&d.Approval)
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
func (x *Server) detail(ctx context.Context, s *ralph.State, g *ralph.Approval) gates.Detail {
	if x.opt.Gates == nil {
		return gates.DetailOf(s, g)
	}
	return x.opt.Gates.Detail(ctx, s, g)
}

// became fills in what became of a gate that does not wait any more: from the newest facts,
// else by a walk over the whole journal.
func (x *Server) became(r *request, m *view.GateModel) error {
	ends, from, err := x.gatesPast.Ends(x.opt.Source, r.State)
	if err != nil {
		return fmt.Errorf("read what was decided: %w", err)
	}
	i := slices.IndexFunc(ends, func(e gates.End) bool { return e.Gate.ID == m.ID })
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
	m.Ended(r.Look.Look)
	return nil
}

// wasGate looks for a gate in the whole journal, in the background.
func (x *Server) wasGate(r *request, m *view.GateModel) error {
	found := x.jobs.Of("gate "+string(m.ID), r.State.Seq, func(past.Walk) bool { return true },
		func(_ context.Context, step func() error) (any, error) {
			p := gates.Past{Only: m.ID}
			err := x.opt.Source.Each(0, func(e ralph.Event) error {
				p.Add(e)
				return step()
			})
			end, asked := p.Of(m.ID)
			if end == nil && asked != nil { // its engine died, and nobody waits any more
				end = &gates.End{Gate: *asked, At: asked.AskedAt, How: string(ralph.Withdrawn), Text: "nobody waits for it any more"}
			}
			return end, err
		})
	switch {
	case !found.Done:
		m.Walk = &view.Walk{What: "Looking for it", Read: found.Read, Total: found.Total}
	case found.Err != nil:
		return found.Err
	default:
		m.End, _ = found.Result.(*gates.End)
	}
	return nil
}
