package step

import (
	"context"

	"github.com/ralph-loop/ralph"
)

// Publishing brings branches of specs out (internal/outgoing).
type Publishing interface {
	// Where is where the work of the job goes, by settings and spec; zero: to the base branch.
	Where(s *ralph.State, spec string) ralph.Outgoing
	// Open makes a branch ready. onto is the branch that it is for, away why its remote could not be asked.
	Open(ctx context.Context, out ralph.Outgoing) (onto, away string, err error)
	// Publish pushes a branch. The fact lacks Task and Took.
	Publish(ctx context.Context, s *ralph.State, spec string, in ralph.Publish) (ralph.Published, error)
}

// publish pushes the branch of the job. That it does not work is an outcome: it is tried again.
func (x *Executor) publish(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Publish) ([]ralph.Fact, error) {
	begin := x.Now()
	spec, _ := x.specs.Read(x.Root, s.Job.File) // somebody may have taken it away: what came of it is told all the same
	f, err := x.Publishing.Publish(ctx, s, spec, step)
	if err != nil {
		return nil, err
	}
	f.Task, f.Took = t.ID, x.Now().Sub(begin)
	return []ralph.Fact{f}, nil
}

// goesOut is where the work of the job goes, zero for the base branch.
func (x *Executor) goesOut(s *ralph.State, spec string) ralph.Outgoing {
	if x.Publishing == nil {
		return ralph.Outgoing{}
	}
	return x.Publishing.Where(s, spec)
}
