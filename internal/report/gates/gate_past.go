package gates

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// End is what became of a gate, or of a request that nobody was asked about.
type End struct {
	Gate   ralph.Approval // of a request without a gate: what it asked; it has no ID
	Seq    int64          // of the fact that ended it
	At     time.Time
	How    string // approved, denied, answered, expired, withdrawn, ended
	By     string // cli, web, engine, a hook; of a rule or a setting: which
	Text   string // the answer, or why not
	Person bool   // a person's word of that moment, not a rule's
}

// Words is one sentence for whoever comes second.
func (x End) Words() string {
	by, s := x.By, ""
	if by == "engine" {
		by = "ralph itself"
	}
	if x.Text != "" {
		s = ": " + text.Visible(Beginning(x.Text))
	}
	at := x.At.Local().Format("2006-01-02 15:04:05")
	switch x.How {
	case gateEnded:
		return fmt.Sprintf("its task ended at %s%s", at, s)
	case string(ralph.Expired):
		return fmt.Sprintf("it expired at %s%s", at, s)
	}
	return fmt.Sprintf("it was %s at %s by %s%s", x.How, at, by, s)
}

// gateEnded is the end of a gate whose task ended without it.
const gateEnded = "ended"

// Past gathers what became of gates, from the facts that it is given.
type Past struct {
	Only ralph.ApprovalID // only this one; "" for all
	Most int              // keep only so many ends, the newest; 0 for all

	asked map[ralph.ApprovalID]*ralph.Approval // without an end so far
	ends  []End
}

// Waits takes in a gate that was asked before the first event.
func (p *Past) Waits(g *ralph.Approval) {
	if p.asked == nil {
		p.asked = map[ralph.ApprovalID]*ralph.Approval{}
	}
	p.asked[g.ID] = g
}

// Add takes in the next event.
func (p *Past) Add(e ralph.Event) {
	switch f := e.Fact.(type) {
	case ralph.Asked:
		if p.Only == "" || f.Approval.ID == p.Only {
			p.Waits(&f.Approval)
		}
	case ralph.Answered:
		if g := p.asked[f.ID]; g != nil { // the first answer counts
			x := End{Gate: *g, Seq: e.Seq, At: e.At, How: report.AnsweredAs(f), By: e.By, Text: f.Text, Person: f.Rule == "" && e.By != "engine"}
			if f.Rule != "" {
				x.By = "rule " + string(f.Rule)
			}
			p.end(x)
		}
	case ralph.RequestAnswered:
		if p.Only == "" {
			g := ralph.Approval{Kind: string(f.Request.Kind), Task: f.Task, Text: report.RequestWords(f.Request), Request: &f.Request, AskedAt: e.At}
			p.end(End{Gate: g, Seq: e.Seq, At: e.At, How: report.AnsweredAs(ralph.Answered{Verdict: f.Verdict}), By: f.Rule, Text: f.Text})
		}
	case ralph.TurnEnded:
		p.over(e, f.Task, true, string(ralph.Withdrawn), "its turn ended")
	case ralph.TaskEnded:
		p.over(e, f.ID, false, gateEnded, fmt.Sprintf("%s, %s", f.Status, f.Why.Text))
	}
}

// over ends the gates of a task that nobody waits at any more.
func (p *Past) over(e ralph.Event, task ralph.TaskID, inTurn bool, how, why string) {
	for _, id := range slices.Sorted(maps.Keys(p.asked)) {
		if g := p.asked[id]; g.Task == task && g.InTurn == inTurn && g.By == "" {
			p.end(End{Gate: *g, Seq: e.Seq, At: e.At, How: how, By: e.By, Text: why})
		}
	}
}

func (p *Past) end(x End) {
	delete(p.asked, x.Gate.ID)
	p.ends = append(p.ends, x)
	if p.Most > 0 && len(p.ends) >= 2*p.Most { // now and then, so that each costs little
		p.ends = slices.Clone(p.ends[len(p.ends)-p.Most:])
	}
}

// Ends are the ends, newest first.
func (p *Past) Ends() []End {
	out := slices.Clone(p.ends)
	slices.Reverse(out)
	if p.Most > 0 && len(out) > p.Most {
		out = out[:p.Most]
	}
	return out
}

// Of is the end of a gate, nil while there is none; asked is the gate while it has none.
func (p *Past) Of(id ralph.ApprovalID) (end *End, asked *ralph.Approval) {
	if g := p.asked[id]; g != nil {
		return nil, g
	}
	for i := len(p.ends) - 1; i >= 0; i-- {
		if p.ends[i].Gate.ID == id {
			return &p.ends[i], nil
		}
	}
	return nil, nil
}
