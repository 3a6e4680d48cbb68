package api

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report"
)

// named is the input of a query for one thing.
type named struct {
	ID string `path:"id" doc:"its id"`
}

// queries are answered from the newest state.
func (x *API) queries() {
	src := x.opt.Source
	get(x, "/status", "status", "Where the work stands, as ralph status --json prints it", func(context.Context, *none) (report.StatusJSON, error) {
		s := src.State()
		return report.StatusAll(s, src.Engine(s), src.Now()), nil
	})
	get(x, "/tasks", "tasks", "The tasks of the plan, in order", func(context.Context, *none) ([]report.TaskRecord, error) {
		return report.QueryTasks(src.State()), nil
	})
	get(x, "/tasks/{id}", "task", "One task", func(_ context.Context, in *named) (report.TaskRecord, error) {
		t := src.State().Task(ralph.TaskID(in.ID))
		if t == nil {
			return report.TaskRecord{}, notFound("no task %s in the plan", in.ID)
		}
		return report.QueryTask(t), nil
	})
	get(x, "/inbox", "inbox", "The queue of specs, oldest first", func(context.Context, *none) ([]report.InboxRecord, error) {
		return report.QueryInbox(src.State()), nil
	})
	get(x, "/issues", "issues", "The open issues", func(context.Context, *none) ([]report.IssueRecord, error) {
		return report.QueryIssues(src.State()), nil
	})
	get(x, "/stage", "stage", "What is worked on now", func(context.Context, *none) (report.Stage, error) {
		return report.QueryStage(src.State()), nil
	})
	get(x, "/stats", "stats", "Statistics of the whole journal", func(context.Context, *none) (report.Stats, error) {
		return report.QueryStats(src.State(), src.Now()), nil
	})
	get(x, "/gates", "gates", "What waits for a person, oldest first", func(context.Context, *none) ([]*ralph.Gate, error) {
		return x.gates(), nil
	})
	get(x, "/gates/{id}", "gate", "One gate; of one that is closed the error says whose answer it was", func(_ context.Context, in *named) (*ralph.Gate, error) {
		list := x.gates()
		if i := slices.IndexFunc(list, func(g *ralph.Gate) bool { return string(g.ID) == in.ID }); i >= 0 {
			return list[i], nil
		}
		return nil, report.NotOpen(ralph.GateID(in.ID), src.Each)
	})
	get(x, "/rules", "rules", "The answers that hold from now on", func(context.Context, *none) ([]report.RuleRecord, error) {
		return report.QueryRules(src.State(), src.Now()), nil
	})
	get(x, "/offers", "offers", "The actions that may be taken now on a subject", x.offers)
}

// gates are those that somebody waits at.
func (x *API) gates() []*ralph.Gate {
	s := x.opt.Source.State()
	engine, now := x.opt.Source.Engine(s).Alive, x.opt.Source.Now()
	return slices.DeleteFunc(slices.Clone(report.QueryGates(s)), func(g *ralph.Gate) bool { return !g.Heard(engine, now) })
}

// about is the input of offers.
type about struct {
	Subject string `query:"subject" required:"true" enum:"engine,task,gate,spec,inbox,rule,plan" doc:"what they are about"`
	ID      string `query:"id" doc:"which task, gate, record of the inbox or rule"`
}

func (x *API) offers(_ context.Context, in *about) ([]action.Offer, error) {
	list := action.Offers(x.opt.Source.State(), x.opt.Desk.World(), action.Subject(in.Subject), in.ID)
	if list == nil {
		list = []action.Offer{}
	}
	return list, nil
}

// histories are answered from the whole journal, one after the other: each reads it all.
func (x *API) histories() {
	get(x, "/receipts", "receipts", "The decisions, newest first, a page at a time", x.receipts)
	get(x, "/receipts/{seq}", "receipt", "One decision", x.receipt)
	get(x, "/sessions", "sessions", "Every session of the journal, oldest first", x.sessions)
	get(x, "/report", "report", "What came of a session, as ralph report --format json prints it", x.report)
}

// whole reads the journal from its beginning: visit gets each event with the state before
// it, after the state after it.
func (x *API) whole(ctx context.Context, visit, after func(e ralph.Event, s *ralph.State)) error {
	select {
	case x.fold <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.fold }()
	s := &ralph.State{}
	return x.opt.Source.Each(0, func(e ralph.Event) error {
		if visit != nil {
			visit(e, s)
		}
		s.Apply(e)
		if after != nil {
			after(e, s)
		}
		return ctx.Err()
	})
}

// pageOf is the input of receipts.
type pageOf struct {
	Limit   int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"at most so many"`
	Before  int64  `query:"before" minimum:"0" doc:"only those with a smaller number: the seq of the last one of the page before"`
	Task    string `query:"task" doc:"only of this task"`
	Session string `query:"session" doc:"only of this session"`
}

// page is a page of receipts.
type page struct {
	Receipts []report.Receipt `json:"receipts"`
	Next     int64            `json:"next,omitempty" doc:"before of the next page; none after the last one"`
}

func (x *API) receipts(ctx context.Context, in *pageOf) (page, error) {
	ask := report.Receipts{Task: ralph.TaskID(in.Task), Session: ralph.SessionID(in.Session)}
	if in.Before == 0 {
		ask.Most = in.Limit + 1
	}
	if err := x.whole(ctx, ask.Add, nil); err != nil {
		return page{}, err
	}
	list := ask.List()
	slices.SortFunc(list, func(a, b report.Receipt) int { return int(b.Seq - a.Seq) })
	if in.Before > 0 {
		list = slices.DeleteFunc(list, func(r report.Receipt) bool { return r.Seq >= in.Before })
	}
	p := page{Receipts: list}
	if len(list) > in.Limit {
		p.Receipts = list[:in.Limit]
		p.Next = p.Receipts[in.Limit-1].Seq
	}
	if p.Receipts == nil {
		p.Receipts = []report.Receipt{}
	}
	return p, nil
}

// numbered is the input of receipt.
type numbered struct {
	Seq int64 `path:"seq" doc:"the number of its fact"`
}

func (x *API) receipt(ctx context.Context, in *numbered) (report.Receipt, error) {
	ask := report.Receipts{Only: in.Seq}
	if err := x.whole(ctx, ask.Add, nil); err != nil {
		return report.Receipt{}, err
	}
	list := ask.List()
	if len(list) == 0 {
		return report.Receipt{}, notFound("fact %d is no decision", in.Seq)
	}
	return list[0], nil
}

// session is one of the journal.
type session struct {
	ID        ralph.SessionID `json:"id"`
	Mode      string          `json:"mode"`
	StartedAt time.Time       `json:"started_at"`
	Starts    int             `json:"starts" doc:"1, and one more for each time that it was resumed"`
	EndedAt   time.Time       `json:"ended_at,omitzero"`
	Reason    ralph.Reason    `json:"reason,omitempty" doc:"why it ended; none while it runs, or when it was cut off"`
	Detail    string          `json:"detail,omitempty"`
	TasksDone int             `json:"tasks_done"`
	Cost      float64         `json:"cost"`
}

func (x *API) sessions(ctx context.Context, _ *none) ([]session, error) {
	list := []session{}
	at := map[ralph.SessionID]int{}
	err := x.whole(ctx, nil, func(e ralph.Event, s *ralph.State) {
		if f, ok := e.Fact.(ralph.SessionStarted); ok {
			i, known := at[f.ID]
			if !known {
				i = len(list)
				at[f.ID], list = i, append(list, session{ID: f.ID, Mode: f.Mode, StartedAt: e.At})
			}
			list[i].Starts++
			list[i].EndedAt, list[i].Reason, list[i].Detail = time.Time{}, "", ""
		}
		if i, ok := at[s.Session.ID]; ok {
			list[i].TasksDone, list[i].Cost = s.Session.Count.TasksDone, s.Session.Usage.Cost
			if f, ended := e.Fact.(ralph.SessionEnded); ended {
				list[i].EndedAt, list[i].Reason, list[i].Detail = e.At, f.Reason, f.Detail
			}
		}
	})
	return list, err
}

// ofSession is the input of report.
type ofSession struct {
	Session string `query:"session" doc:"of which session; the newest if not said"`
	All     bool   `query:"all" doc:"every session of the journal"`
}

func (x *API) report(ctx context.Context, in *ofSession) (json.RawMessage, error) {
	r := report.NewReport(report.ReportOptions{Session: ralph.SessionID(in.Session), All: in.All})
	if err := x.whole(ctx, nil, r.Add); err != nil {
		return nil, err
	}
	result, err := r.Result()
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}
