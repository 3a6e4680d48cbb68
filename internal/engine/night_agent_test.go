package engine_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
)

// worker is an agent program.
type worker struct {
	n    *night
	name string
}

// Turn plays one: what is wrong with its service comes first, as programs have it.
func (a worker) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	free := ralph.Usage{Known: true}
	fails := func(class ralph.ErrorClass, until time.Time) (ralph.TurnResult, error) {
		return ralph.TurnResult{Exit: ralph.ExitFailed, Code: 1, Usage: free, Err: &ralph.AgentError{Class: class, Message: "scripted " + string(class), ResetAt: until}}, nil
	}
	for _, kind := range []string{"network", "overloaded", "login"} {
		class := map[string]ralph.ErrorClass{"network": ralph.ErrClassNetwork, "overloaded": ralph.ErrClassBusy, "login": ralph.ErrClassAuth}[kind]
		for wait := time.Second; a.n.is(kind, a.name) != nil; wait *= 2 { // it tries again by itself
			on.Event(ralph.StreamEvent{Kind: ralph.StreamError, WillRetry: true, Err: &ralph.AgentError{Class: class, Message: "retry", Wait: wait}})
			if sleep(ctx, wait) {
				return ralph.TurnResult{Exit: ralph.ExitUser, Code: -1, Usage: free}, nil
			}
		}
	}
	if x := a.n.is("limit", a.name); x != nil {
		return fails(ralph.ErrClassLimit, a.n.began.Add(x.From+x.For).UTC())
	}
	if a.n.is("limit untold", a.name) != nil {
		return fails(ralph.ErrClassLimit, time.Time{})
	}
	return a.works(ctx, in)
}

// works is a turn that comes to work, and is paid for.
func (a worker) works(ctx context.Context, in ralph.TurnInput) (ralph.TurnResult, error) {
	res := ralph.TurnResult{Exit: ralph.ExitOK, Usage: ralph.Usage{Input: 600, Output: 400, Cost: 0.1, Known: true}}
	task := env(in.Env, "RALPH_TASK_NAME")
	name := task
	if env(in.Env, "RALPH_SPEC") != "night.md" {
		name = strings.TrimSuffix(env(in.Env, "RALPH_SPEC"), ".md")
	}
	took := time.Duration(12+dice(name, in.Stage, "took")%16) * time.Minute
	switch {
	case in.Stage == ralph.KindPlan:
		took, res.Text = time.Minute, "```json\n{\"tasks\": [{\"name\": \"only\", \"accept\": \"it is\"}]}\n```\n"
	case in.Stage == ralph.KindVerify, in.Stage == ralph.KindInvestigate:
		took, res.Text = time.Minute, "```json\n{\"verdicts\": [], \"tasks\": [], \"issues\": []}\n```\n"
	case in.Stage == ralph.KindDecompose:
		took, res.Text = time.Minute, "```json\n{\"tasks\": [{\"name\": \"part\", \"accept\": \"it is\"}]}\n```\n"
	case name == "loops":
		took, res.Text = 3*time.Minute, "Let me look at that once more."
	case name == "hangs":
		took = 100 * time.Hour
	default:
		res.Text = "All of it is there.\n<ralph>COMPLETE</ralph>\n"
	}
	if in.Timeout > 0 && took >= in.Timeout {
		took, res.Exit, res.Code, res.Text = in.Timeout, ralph.ExitTimeout, -1, ""
	}
	if sleep(ctx, took) {
		return ralph.TurnResult{Exit: ralph.ExitUser, Code: -1}, nil
	}
	p := a.n.place(in.Dir)
	a.n.mu.Lock()
	defer a.n.mu.Unlock()
	if strings.Contains(res.Text, "COMPLETE") {
		p.tree += "+"
	}
	a.n.turns = append(a.n.turns, fmt.Sprintf("%s %s %s", in.Stage, name, task))
	return res, nil
}

// sleep reports whether ctx ended it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}

func env(list []string, name string) string {
	for _, kv := range list {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
