package api

import (
	"context"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/services"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/text"
)

// named is the input of a query for one thing.
type named struct {
	ID string `path:"id" doc:"its id"`
}

// queries are answered from the newest state.
func (x *API) queries() {
	src := x.opt.Source
	get(x, "/status", "status", "Where the work stands, as ralph status --json prints it", func(context.Context, *none) (status.StatusJSON, error) {
		s := src.State()
		return status.All(s, src.Engine(s), src.Now()), nil
	})
	get(x, "/tasks", "tasks", "The tasks of the plan, in order", func(context.Context, *none) ([]status.TaskRecord, error) {
		return status.QueryTasks(src.State()), nil
	})
	get(x, "/tasks/{id}", "task", "One task", func(_ context.Context, in *named) (status.TaskRecord, error) {
		t := src.State().Task(ralph.TaskID(in.ID))
		if t == nil {
			return status.TaskRecord{}, notFound("no task %s in the plan", text.Line(in.ID, 80))
		}
		return status.QueryTask(t), nil
	})
	get(x, "/threads", "threads", "The threads of the plan, in order, as ralph thread list --json prints them", func(context.Context, *none) ([]status.Thread, error) {
		s := src.State()
		return status.Threads(s, src.Engine(s).Alive), nil
	})
	get(x, "/threads/{id}", "thread", "One thread: goal, state, limits, its agent's plan, the last decisions", func(_ context.Context, in *named) (status.Thread, error) {
		s := src.State()
		t, err := status.ThreadOf(s, ralph.TaskID(in.ID), src.Engine(s).Alive)
		if err != nil {
			return status.Thread{}, notFound("no thread %s in the plan", text.Line(in.ID, 80))
		}
		return t, nil
	})
	get(x, "/next", "next", "The tasks that would start now, best first, with each part of their scores", x.next)
	get(x, "/inbox", "inbox", "The queue of specs, oldest first", func(context.Context, *none) ([]status.InboxRecord, error) {
		return status.QueryInbox(src.State()), nil
	})
	get(x, "/services", "services", "Trackers and remotes: breaker, limit, next try, what waits or is parked, why, and what helps", func(context.Context, *none) ([]services.Row, error) {
		return services.Query(src.State(), src.Now()), nil
	})
	get(x, "/issues", "issues", "The open issues", func(context.Context, *none) ([]status.IssueRecord, error) {
		return status.QueryIssues(src.State()), nil
	})
	get(x, "/stage", "stage", "What is worked on now", func(context.Context, *none) (status.Stage, error) {
		return status.QueryStage(src.State()), nil
	})
	get(x, "/stats", "stats", "Statistics of the whole journal", func(context.Context, *none) (status.Stats, error) {
		s := src.State()
		return status.QueryStats(s, src.Engine(s), src.Now()), nil
	})
	get(x, "/gates", "gates", "What waits for a person, oldest first", func(context.Context, *none) ([]*ralph.Approval, error) {
		return x.gates(), nil
	})
	get(x, "/gates/{id}", "gate", "One gate with all to decide by; of one that is closed the error says whose answer it was", x.gate)
	get(x, "/rules", "rules", "The answers that hold from now on", func(context.Context, *none) ([]status.RuleRecord, error) {
		return status.QueryRules(src.State(), src.Now()), nil
	})
	get(x, "/offers", "offers", "The actions that may be taken now on a subject", x.offers)
}

// gates are those that somebody waits at.
func (x *API) gates() []*ralph.Approval {
	s := x.opt.Source.State()
	engine, now := x.opt.Source.Engine(s).Alive, x.opt.Source.Now()
	return slices.DeleteFunc(slices.Clone(status.QueryGates(s)), func(g *ralph.Approval) bool { return !g.Answerable(engine, now) })
}

// gate is a gate that somebody waits at, with what git and files know of it.
func (x *API) gate(ctx context.Context, in *named) (gates.Detail, error) {
	s, list := x.opt.Source.State(), x.gates()
	i := slices.IndexFunc(list, func(g *ralph.Approval) bool { return string(g.ID) == in.ID })
	switch {
	case i < 0:
		return gates.Detail{}, gates.NotOpen(ralph.ApprovalID(in.ID), x.opt.Source.Each)
	case x.opt.Gates == nil:
		return gates.DetailOf(s, list[i]), nil
	}
	return x.opt.Gates.Detail(ctx, s, list[i]), nil
}

func (x *API) next(context.Context, *none) ([]screen.Ready, error) {
	if x.opt.Next == nil {
		return []screen.Ready{}, nil
	}
	list, err := x.opt.Next(x.opt.Source.State())
	if list == nil {
		list = []screen.Ready{}
	}
	return list, err
}

// about is the input of offers.
type about struct {
	Subject string `query:"subject" required:"true" enum:"engine,task,gate,spec,inbox,rule,plan,service" doc:"what they are about"`
	ID      string `query:"id" doc:"which task, gate, record of the inbox or rule"`
}

func (x *API) offers(_ context.Context, in *about) ([]action.Available, error) {
	list := action.AllAvailable(x.opt.Source.State(), x.opt.Backend.Context(), action.Subject(in.Subject), in.ID)
	if list == nil {
		list = []action.Available{}
	}
	return list, nil
}
