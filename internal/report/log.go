package report

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ralph-loop/ralph"
)

// Log is the agent log with its memory: it reads all events in order, and says
// what one event alone cannot tell. The zero Log is ready for use.
//
//   - A slot is free after what its task left in the same write: done, merge
//     queued, slot freed (B-006).
//   - Iterations of a spec count up, also when several tasks have one at once.
//   - A landing names how many tasks it brought, and one that waits says so once
//     for each list of files, not at every try.
//   - While there is no network, the tries of each minute make no lines.
type Log struct {
	free    []string                        // slots freed in the write that goes on
	members map[ralph.TaskID][]ralph.TaskID // of the merges at work
	turns   int                             // the newest iteration of the spec
	waits   string                          // the newest line of a landing that did not happen
	merged  int                             // tasks merged since the last landing
	counted bool                            // merged is all of them: the beginning was seen
	out     outage
}

// Clone is a log that goes on from here by itself.
func (l *Log) Clone() *Log {
	c := *l
	c.free, c.members = slices.Clone(l.free), maps.Clone(l.members)
	c.out.held = slices.Clone(l.out.held)
	return &c
}

// Lines is as the function Lines, for the next event.
func (l *Log) Lines(e ralph.Event, s *ralph.State) []string {
	var out []string
	switch f := e.Fact.(type) {
	case ralph.Landed:
		out = l.landed(f, s)
	case ralph.TaskEnded:
		out = append(l.stageEnded(f), lines(e, s)...)
	case ralph.StepStarted:
		out = l.iteration(f, s, lines(e, s))
	default:
		l.remember(e)
		out = lines(e, s)
	}
	l.free = append(l.free, freed(e)...)
	if !e.More {
		out, l.free = append(out, l.free...), nil
	}
	return l.quietly(e, s, out)
}

// remember keeps what later events are told with.
func (l *Log) remember(e ralph.Event) {
	switch f := e.Fact.(type) {
	case ralph.SessionStarted, ralph.JobStarted:
		l.turns = 0
	case ralph.IntegrationStarted:
		l.merged, l.counted, l.waits = 0, f.From == f.Tip, ""
	case ralph.TaskAdded:
		if f.Task.Kind == ralph.KindMerge {
			if l.members == nil {
				l.members = map[ralph.TaskID][]ralph.TaskID{}
			}
			l.members[f.Task.ID] = f.Task.Members
		}
	case ralph.Merged:
		if f.Advanced {
			l.merged += len(f.Members)
		}
	case ralph.Advanced:
		if f.Error == "" && f.Moved == "" {
			l.merged += len(l.members[f.Task])
		}
	}
}

func (l *Log) landed(f ralph.Landed, s *ralph.State) []string {
	if f.How != "" {
		n := l.merged
		if !l.counted {
			n = 0
		}
		l.merged, l.counted, l.waits = 0, true, ""
		return landed(f, s, n)
	}
	out := landed(f, s, 0)
	if len(out) == 1 && out[0] == l.waits {
		return nil
	}
	if len(out) > 0 {
		l.waits = out[0]
	}
	return out
}

// stageEnded says that a batch did not go together. A single task's conflict or red
// checks were said already.
func (l *Log) stageEnded(f ralph.TaskEnded) []string {
	members := l.members[f.ID]
	if f.Status.Ended() {
		delete(l.members, f.ID)
	}
	if f.Status != ralph.TaskFailed || len(members) < 2 {
		return nil
	}
	return []string{fmt.Sprintf("MERGE: %s do not go together: again in halves", IDs(members))}
}

// iteration numbers the turn that begins: turns at the same time have numbers of their own.
func (l *Log) iteration(f ralph.StepStarted, s *ralph.State, out []string) []string {
	if turn, ok := f.Step.(ralph.Turn); !ok || turn.Stage == ralph.KindPlan || len(out) < 2 {
		return out
	}
	l.turns = max(l.turns, s.Plan.Turns) + 1
	out[0] = iterationLine(l.turns)
	return out
}
