package step

import (
	"context"
	"errors"
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// compact makes the agent's session shorter. Where the agent cannot, or where that
// did not help, the session is left: the next turn begins a new one that is handed
// over what is known. Either way there is an outcome, so that the task goes on.
func (x *Executor) compact(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Compact) ([]ralph.Fact, error) {
	begin := x.Now()
	f := ralph.Compacted{Task: t.ID, Agent: step.Agent, How: ralph.CompactAgent, Before: step.Use}
	f.Usage.Known = true // as long as no agent was asked it cost nothing
	why, err := x.compactByAgent(ctx, s, t, step, &f)
	if err != nil {
		return nil, err
	}
	if why != "" {
		f.How, f.After, f.Session, f.Error = ralph.CompactHandover, ralph.ContextUse{}, "", why
		from := t
		if step.From != "" {
			from = s.Task(step.From)
		}
		if from != nil { // a person may have taken it out of the plan
			f.Summary = x.handover(ctx, s, from)
		}
	}
	f.Took = x.Now().Sub(begin)
	return []ralph.Fact{f}, nil
}

// compactByAgent asks the agent. why is why its session is not shorter, "" when it is.
func (x *Executor) compactByAgent(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Compact, f *ralph.Compacted) (why string, err error) {
	if step.Session == "" {
		return "there is no session to go on with", nil
	}
	agent, ok := x.Agents[step.Agent]
	if !ok {
		return fmt.Sprintf("agent %q is not configured any more", step.Agent), nil
	}
	stage := t.Kind
	if stage == "" {
		stage = ralph.KindBuild
	}
	as := ralph.Turn{Stage: stage, Agent: step.Agent, Iteration: t.Run.Iterations, Resume: step.Session}
	rec, err := x.openRecord(t, fmt.Sprintf("%d.compact", as.Iteration), "")
	if err != nil {
		return "", err
	}
	res, err := agent.Turn(ctx, ralph.TurnInput{
		Agent: agent.Spec, Stage: stage, Dir: x.dir(t), Env: x.environment(s, t, as, agent), Resume: step.Session, Compact: true, MaxCost: step.MaxCost,
		Timeout: x.Config.StageTimeout, Grace: x.Grace, Scratch: rec.dir, Raw: rec.output,
	}, ralph.TurnHooks{Event: newListener(x.Live, t.ID, "").event})
	if closeErr := rec.close(); err == nil {
		err = closeErr
	}
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, ralph.ErrUnsupported):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("compact the session of agent %s: %w", step.Agent, err)
	}
	e := x.ended(t, as, agent, res)
	f.Usage, f.After, f.Session = e.Usage, res.Context, res.Session
	if e.Exit == ralph.ExitSpawn {
		f.Usage.Known = true // a program that did not start cost nothing
	}
	switch most := x.Config.ContextCompact; {
	case e.Failed():
		return failedCompact(e), nil
	case most > 0 && f.After.Part() >= most: // else it would be asked for again and again
		return fmt.Sprintf("%.0f %% of the window is still used after compacting", 100*f.After.Part()), nil
	case f.Session == "":
		f.Session = step.Session
	}
	return "", nil
}

// failedCompact says how an agent failed to compact.
func failedCompact(e ralph.TurnEnded) string {
	switch {
	case e.Err != nil && e.Err.Message != "":
		return fmt.Sprintf("%s: %s", e.Err.Class, cutText(text.OneLine(e.Err.Message), maxTail))
	case e.Exit == ralph.ExitTimeout:
		return "the agent ran out of time (construct.stage_timeout)"
	}
	return "the agent did not end well: " + string(e.Exit)
}
