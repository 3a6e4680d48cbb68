package ralph_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
)

// maker draws one kind of fact. Ids come from small sets, so that facts meet.
type maker struct {
	kind string
	draw func(*rapid.T) ralph.Fact
}

func pick[T any](rt *rapid.T, name string, of ...T) T { return rapid.SampledFrom(of).Draw(rt, name) }

func taskID(rt *rapid.T) ralph.TaskID {
	return pick[ralph.TaskID](rt, "task", "t-1", "t-2", "t-3", "land:j", "investigate:j:1")
}
func specID(rt *rapid.T) ralph.SpecID     { return pick[ralph.SpecID](rt, "spec", "q-1", "q-2") }
func gateID(rt *rapid.T) ralph.ApprovalID { return pick[ralph.ApprovalID](rt, "gate", "g-1", "g-2") }
func issueID(rt *rapid.T) ralph.IssueID   { return pick[ralph.IssueID](rt, "issue", "i-1", "i-2") }
func words(rt *rapid.T) string            { return pick(rt, "words", "", "why", "ä \"quoted\" <b>\n") }

func took(rt *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(0, 1e12).Draw(rt, "took"))
}
func when(rt *rapid.T) time.Time        { return start.Add(took(rt).Truncate(time.Microsecond)) }
func number(rt *rapid.T, most int) int  { return rapid.IntRange(0, most).Draw(rt, "n") }
func yes(rt *rapid.T) bool              { return rapid.Bool().Draw(rt, "yes") }
func why(rt *rapid.T) ralph.Why         { return ralph.Why{Rule: "B-022", Text: words(rt)} }
func extra(rt *rapid.T) ralph.RawObject { return pick[ralph.RawObject](rt, "extra", "", `{"x":1}`) }
func drawFact(rt *rapid.T) ralph.Fact   { return rapid.SampledFrom(makers()).Draw(rt, "kind").draw(rt) }

func drawUsage(rt *rapid.T) ralph.Usage {
	return ralph.Usage{Input: int64(number(rt, 9)), Cost: 0.5, Known: yes(rt)}
}

func status(rt *rapid.T) ralph.TaskStatus {
	return pick(rt, "status", ralph.TaskPending, ralph.TaskActive, ralph.TaskDone, ralph.TaskFailed, ralph.TaskBlocked, ralph.TaskTimeout, ralph.TaskSkipped)
}

func specStatus(rt *rapid.T) ralph.SpecStatus {
	return pick(rt, "status", ralph.SpecPending, ralph.SpecActive, ralph.SpecDone, ralph.SpecFailed)
}

func drawSpec(rt *rapid.T) ralph.Spec {
	return ralph.Spec{ID: specID(rt), File: "a.md", Status: specStatus(rt), AddedAt: when(rt), Error: words(rt), Extra: extra(rt)}
}

func drawTask(rt *rapid.T) ralph.Task {
	t := ralph.Task{ID: taskID(rt), Name: "n", Status: status(rt), RetryCount: number(rt, 3), Extra: extra(rt), Line: words(rt)}
	switch t.ID {
	case "land:j":
		t.Kind = ralph.KindLand
	case "investigate:j:1":
		t.Kind = ralph.KindInvestigate
	default:
		t.Deps = pick(rt, "deps", nil, []ralph.TaskID{"t-1"})
	}
	return t
}

func drawStep(rt *rapid.T) ralph.Step {
	return pick[ralph.Step](rt, "step", ralph.Prepare{}, ralph.Check{}, ralph.Commit{}, ralph.Commit{OnlyTask: true}, ralph.Shelve{How: "stash"},
		ralph.Ask{Kind: "question", Text: "which?"}, ralph.Wait{Until: start}, ralph.Finish{Status: ralph.TaskDone, Retry: true}, ralph.Done{},
		ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 2, Resume: "r", Feedback: "f", Timeout: time.Minute})
}

func drawTurn(rt *rapid.T) ralph.TurnEnded {
	f := ralph.TurnEnded{
		Task: taskID(rt), Stage: pick(rt, "stage", ralph.KindBuild, ralph.KindPlan), Agent: pick(rt, "agent", "a", "b"), Iteration: number(rt, 5),
		Exit:   pick(rt, "exit", ralph.ExitOK, ralph.ExitFailed, ralph.ExitCrashed, ralph.ExitTimeout, ralph.ExitUser, ralph.ExitSpawn),
		Signal: ralph.Signal{Kind: pick(rt, "signal", ralph.SignalNone, ralph.SignalComplete, ralph.SignalProgress), Text: words(rt), Percent: number(rt, 100)},
		Usage:  drawUsage(rt), Mismatch: words(rt), Tree: words(rt), Head: words(rt), Changed: yes(rt), Took: took(rt),
	}
	if yes(rt) {
		f.Err = &ralph.AgentError{Class: pick(rt, "class", ralph.ErrClassLimit, ralph.ErrClassServer), Message: words(rt), ResetAt: when(rt)}
	}
	return f
}

func makers() []maker {
	return append(makersOfTasks(), []maker{
		{"session.started", func(rt *rapid.T) ralph.Fact {
			f := ralph.SessionStarted{ID: "s-1", Mode: "agent", Resumed: yes(rt), Config: []byte(`{"parallel":1}`), Pid: 7, DryRun: yes(rt)}
			if yes(rt) {
				f.Carry = &ralph.Carry{StartedAt: when(rt), Completed: 1, Failed: 2, Cost: 3, Current: specID(rt)}
			}
			return f
		}},
		{"session.ended", func(rt *rapid.T) ralph.Fact { return ralph.SessionEnded{Reason: ralph.ReasonEmpty, Detail: words(rt)} }},
		{"control", func(rt *rapid.T) ralph.Fact {
			return ralph.Control{Want: pick(rt, "want", ralph.WantRun, ralph.WantPause, ralph.WantStop), Cause: words(rt)}
		}},
		{"spec.added", func(rt *rapid.T) ralph.Fact { return ralph.SpecAdded{Spec: drawSpec(rt)} }},
		{"spec.edited", func(rt *rapid.T) ralph.Fact { return ralph.SpecEdited{Spec: drawSpec(rt)} }},
		{"spec.removed", func(rt *rapid.T) ralph.Fact { return ralph.SpecRemoved{ID: specID(rt)} }},
		{"inbox.ordered", func(rt *rapid.T) ralph.Fact { return ralph.InboxOrdered{IDs: []ralph.SpecID{specID(rt), "q-9"}} }},
		{"job.started", func(rt *rapid.T) ralph.Fact {
			return ralph.JobStarted{Job: "j", ID: specID(rt), File: "a.md", Resume: yes(rt)}
		}},
		{"job.ended", func(rt *rapid.T) ralph.Fact {
			return ralph.JobEnded{Status: specStatus(rt), Error: words(rt), Rule: "D-048", Commit: words(rt)}
		}},
		{"round.started", func(rt *rapid.T) ralph.Fact { return ralph.RoundStarted{Round: number(rt, 9)} }},
		{"plan.started", func(*rapid.T) ralph.Fact { return ralph.PlanStarted{File: "a.md"} }},
		{"plan.ordered", func(rt *rapid.T) ralph.Fact { return ralph.PlanOrdered{IDs: []ralph.TaskID{taskID(rt), "t-9"}} }},
		{"reject.added", func(rt *rapid.T) ralph.Fact {
			return ralph.RejectAdded{Reject: ralph.Reject{ID: taskID(rt), Reason: words(rt), Extra: extra(rt)}}
		}},
		{"issue.added", func(rt *rapid.T) ralph.Fact {
			return ralph.IssueAdded{Issue: ralph.Issue{ID: issueID(rt), Desc: words(rt), Looked: yes(rt)}}
		}},
		{"issue.removed", func(rt *rapid.T) ralph.Fact { return ralph.IssueRemoved{ID: issueID(rt)} }},
		{"agent.limited", func(rt *rapid.T) ralph.Fact {
			return ralph.AgentLimited{Agent: pick(rt, "agent", "a", "b"), Until: when(rt)}
		}},
	}...)
}

func makersOfTasks() []maker {
	return []maker{
		{"task.added", func(rt *rapid.T) ralph.Fact { return ralph.TaskAdded{Task: drawTask(rt)} }},
		{"task.edited", func(rt *rapid.T) ralph.Fact { return ralph.TaskEdited{Task: drawTask(rt)} }},
		{"task.removed", func(rt *rapid.T) ralph.Fact { return ralph.TaskRemoved{ID: taskID(rt)} }},
		{"task.started", func(rt *rapid.T) ralph.Fact { return ralph.TaskStarted{ID: taskID(rt)} }},
		{"task.ended", func(rt *rapid.T) ralph.Fact {
			return ralph.TaskEnded{ID: taskID(rt), Status: status(rt), Retry: yes(rt), Why: why(rt), BasedOnSeq: int64(number(rt, 9)), DecidedAt: when(rt)}
		}},
		{"task.rejected", func(rt *rapid.T) ralph.Fact { return ralph.TaskRejected{ID: taskID(rt), Reason: words(rt)} }},
		{"task.accepted", func(rt *rapid.T) ralph.Fact { return ralph.TaskAccepted{ID: taskID(rt)} }},
		{"step.started", func(rt *rapid.T) ralph.Fact {
			return ralph.StepStarted{Task: taskID(rt), Step: drawStep(rt), Why: why(rt), BasedOnSeq: int64(number(rt, 9)), DecidedAt: when(rt)}
		}},
		{"prepared", func(rt *rapid.T) ralph.Fact {
			return ralph.Prepared{Task: taskID(rt), Head: words(rt), Branch: "main", Tree: words(rt), Error: words(rt)}
		}},
		{"turn.ended", func(rt *rapid.T) ralph.Fact { return drawTurn(rt) }},
		{"checks.ran", func(rt *rapid.T) ralph.Fact {
			return ralph.ChecksRan{Task: taskID(rt), Pass: yes(rt), Tree: words(rt), Results: []ralph.CheckResult{{Name: "test", Output: words(rt)}}, Took: took(rt)}
		}},
		{"committed", func(rt *rapid.T) ralph.Fact {
			return ralph.Committed{Task: taskID(rt), Commit: words(rt), Error: words(rt)}
		}},
		{"shelved", func(rt *rapid.T) ralph.Fact {
			return ralph.Shelved{Task: taskID(rt), How: "stash", Stash: words(rt), Error: words(rt)}
		}},
		{"asked", func(rt *rapid.T) ralph.Fact {
			return ralph.Asked{Approval: ralph.Approval{ID: gateID(rt), Kind: "question", Task: taskID(rt), Text: words(rt), AskedAt: when(rt), Deadline: when(rt)}}
		}},
		{"answered", func(rt *rapid.T) ralph.Fact { return ralph.Answered{ID: gateID(rt), Text: words(rt)} }},
		{"noted", func(rt *rapid.T) ralph.Fact {
			return ralph.Noted{Task: taskID(rt), Text: words(rt), Rule: pick(rt, "rule", "", ralph.RuleStuck)}
		}},
	}
}
