package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/sessionreport"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// histories are answered from the index of the journal, and from the parts of it that
// they are about; one after the other, for each reads much.
func (x *API) histories() {
	get(x, "/receipts", "receipts", "The decisions, newest first, a page at a time", x.receipts)
	get(x, "/receipts/{seq}", "receipt", "One decision with what it saw, decided once more: ralph receipts <seq> --json", x.receipt)
	get(x, "/decisions", "decisions", "What was decided on threads, newest first, a page at a time", x.decisions)
	get(x, "/sessions", "sessions", "Every session of the journal, oldest first", x.sessions)
	get(x, "/report", "report", "What came of a session, as ralph report --format json prints it", x.report)
}

// alone does what reads much of the journal when nobody else does.
func (x *API) alone(ctx context.Context, do func() error) error {
	select {
	case x.fold <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-x.fold }()
	return do()
}

// reached sees to it that the index knows all that the state has, and returns the state.
func (x *API) reached(ctx context.Context) (*ralph.State, error) {
	x.opt.Index.Start()
	s := x.opt.Source.State()
	if err := x.opt.Index.Reach(ctx, s.Seq); err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	return s, nil
}

// pageOf is the input of receipts.
type pageOf struct {
	Limit   int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"at most so many"`
	Before  int64  `query:"before" minimum:"0" doc:"only those with a smaller number: next of the page before"`
	Task    string `query:"task" doc:"only of this task"`
	Session string `query:"session" doc:"only of this session"`
}

// page is a page of receipts.
type page struct {
	Receipts []receipts.Receipt `json:"receipts"`
	Next     int64              `json:"next,omitempty" doc:"before of the next page; none after the last one. A page may have fewer receipts than limit, or none, and a next: then there may be more"`
}

func (x *API) receipts(ctx context.Context, in *pageOf) (page, error) {
	p := page{Receipts: []receipts.Receipt{}}
	s, err := x.reached(ctx)
	if err != nil {
		return p, err
	}
	before := s.Seq + 1
	if in.Before > 0 {
		before = min(before, in.Before)
	}
	ask := receipts.Receipts{Task: ralph.TaskID(in.Task), Session: ralph.SessionID(in.Session)}
	err = x.alone(ctx, func() error {
		list, next, err := x.opt.Index.Decisions(ctx, ask, before, in.Limit, nil)
		p.Receipts, p.Next = append(p.Receipts, list...), next
		return err
	})
	return p, err
}

// decisionsOf is the input of decisions.
type decisionsOf struct {
	Limit      int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"at most so many"`
	Before     int64  `query:"before" minimum:"0" doc:"only those with a smaller seq: next of the page before"`
	Thread     string `query:"thread" doc:"only of this thread"`
	Action     string `query:"action" enum:"continue,review,pause,stop" doc:"only these"`
	Overridden bool   `query:"overridden" doc:"only where the rules did something else than was advised"`
	Stops      bool   `query:"stops" doc:"only where a stop condition was hit"`
}

// decisionPage is a page of decisions.
type decisionPage struct {
	Decisions []screen.Decision `json:"decisions"`
	Next      int64             `json:"next,omitempty" doc:"before of the next page; none after the last one. A page may have fewer decisions than limit, or none, and a next: then there may be more"`
}

// decisionWindow is how many facts one page looks through at most.
const decisionWindow = 20_000

func (x *API) decisions(ctx context.Context, in *decisionsOf) (decisionPage, error) {
	p := decisionPage{Decisions: []screen.Decision{}}
	s := x.opt.Source.State()
	end := s.Seq + 1
	if in.Before > 0 {
		end = min(end, in.Before)
	}
	after := max(0, end-1-decisionWindow)
	all := screen.Decisions{}
	err := x.alone(ctx, func() error {
		return x.opt.Source.Each(after, func(e ralph.Event) error {
			if e.Seq >= end {
				return errEnough
			}
			all.Add(e, s)
			return ctx.Err()
		})
	})
	if err != nil && !errors.Is(err, errEnough) {
		return p, fmt.Errorf("read the decisions: %w", err)
	}
	list := all.List(screen.DecisionFilter{Thread: ralph.TaskID(in.Thread), Action: ralph.ThreadAction(in.Action), Overridden: in.Overridden, Stops: in.Stops})
	if len(list) > in.Limit {
		list = list[:in.Limit]
		after = list[in.Limit-1].Seq - 1
	}
	if after > 0 {
		p.Next = after + 1
	}
	p.Decisions = append(p.Decisions, list...)
	return p, nil
}

// errEnough ends a reading of the journal.
var errEnough = errors.New("enough was read")

// numbered is the input of receipt.
type numbered struct {
	Seq int64 `path:"seq" minimum:"1" doc:"the number of its fact"`
}

func (x *API) receipt(ctx context.Context, in *numbered) (e receipts.Evidence, err error) {
	if x.opt.Proofs == nil {
		return e, &ralph.Refusal{Why: "nothing can be decided again here", Hint: "`ralph receipts` does it in a terminal", Kind: ralph.ErrUsage}
	}
	err = x.alone(ctx, func() error {
		var err error
		e, err = x.opt.Proofs.Evidence(ctx, x.opt.Index.Before(in.Seq), in.Seq, ctx.Err)
		return err
	})
	return e, err
}

// pastSession is one of the journal.
type pastSession struct {
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

func (x *API) sessions(ctx context.Context, _ *none) ([]pastSession, error) {
	list := []pastSession{}
	if _, err := x.reached(ctx); err != nil {
		return list, err
	}
	for _, s := range slices.Backward(x.opt.Index.Sessions()) {
		list = append(list, pastSession{s.ID, s.Mode, s.StartedAt, 1 + s.Resumed, s.EndedAt, s.Ended, s.Detail, s.Totals.TasksDone, s.Totals.Usage.Cost})
	}
	return list, nil
}

// ofSession is the input of report.
type ofSession struct {
	Session string `query:"session" doc:"of which session; the newest if not said"`
	All     bool   `query:"all" doc:"every session of the journal"`
}

func (x *API) report(ctx context.Context, in *ofSession) (json.RawMessage, error) {
	now, err := x.reached(ctx)
	if err != nil {
		return nil, err
	}
	if in.All {
		return x.reportOfAll(ctx)
	}
	id := ralph.SessionID(in.Session)
	if id == "" {
		id = now.Session.ID
	}
	s, ok := x.opt.Index.Session(id)
	if !ok {
		return nil, &ralph.Refusal{Why: fmt.Sprintf("there is no session %.60q in the journal", id), Hint: "/sessions lists all of them", Kind: ralph.ErrNotFound}
	}
	var b bytes.Buffer
	err = x.alone(ctx, func() error {
		return x.opt.Report(ctx, s, func(r *sessionreport.Result) error { return r.JSON(&b) })
	})
	return b.Bytes(), err
}

// reportOfAll reads the whole journal.
func (x *API) reportOfAll(ctx context.Context) (json.RawMessage, error) {
	r, s := sessionreport.NewReport(sessionreport.ReportOptions{All: true}), &ralph.State{}
	err := x.alone(ctx, func() error {
		return x.opt.Source.Each(0, func(e ralph.Event) error {
			s.Apply(e)
			r.Add(e, s)
			return ctx.Err()
		})
	})
	if err != nil {
		return nil, err
	}
	result, err := r.Result()
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// Reporter makes the report of a session, which write must not keep.
type Reporter func(ctx context.Context, s index.Session, write func(*sessionreport.Result) error) error
