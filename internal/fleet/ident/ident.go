// Package ident owns how a step is called while it travels: the key that makes it the same one after a restart
// of the coordinator, its workflow, and its refs at the remote.
//
// It does NOT own what is sent by them (internal/fleet).
package ident

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git/push"
)

// Key is what makes a step the same one after a restart of the coordinator: the task, how far it
// is, and what is to be done. Limits that shrink while time passes are no part of it.
func Key(s *ralph.State, t *ralph.Task, step ralph.Step) (string, error) {
	if turn, ok := step.(ralph.Turn); ok {
		turn.Timeout, turn.Reserve, turn.MaxCost = 0, ralph.Usage{}, 0
		step = turn
	}
	if c, ok := step.(ralph.Compact); ok {
		c.MaxCost = 0
		step = c
	}
	var of struct {
		Task    ralph.TaskID
		Retries int
		Base    string
		Turns   int
		LastAt  time.Time
		Checks  *ralph.ChecksRan
		Short   int
		Step    json.RawMessage
	}
	of.Task, of.Retries, of.Base = t.ID, t.RetryCount, t.Run.Worktree.Base
	of.Turns, of.LastAt, of.Checks, of.Short = t.Run.Iterations, t.Run.LastAt, t.Run.Checks, t.Run.Shortened
	b, err := json.Marshal(ralph.StepStarted{Step: step})
	if err != nil {
		return "", err
	}
	of.Step = b
	if b, err = json.Marshal(of); err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(s.Journal+"\n"), b...))
	return hex.EncodeToString(sum[:8]), nil
}

// Workflow is that of a step. It begins with what a person would look for.
func Workflow(base, journal string, task ralph.TaskID, key string) string {
	return strings.Join([]string{base, journal, string(task), key}, "/")
}

// Step is whose step a workflow is: what Workflow was made of. ok is false for one of another base, and for
// what is no step.
func Step(base, workflow string) (journal string, task ralph.TaskID, ok bool) {
	parts := strings.Split(workflow, "/")
	if len(parts) != 4 || parts[0] != base {
		return "", "", false
	}
	return parts[1], ralph.TaskID(parts[2]), true
}

// Refs is where the refs of a journal are.
func Refs(journal string) string { return push.Space + journal + "/" }

// In is that by which a step goes to a worker.
func In(journal, key string) string { return path.Join(Refs(journal), key, "in") }

// Out is the ref of one attempt: one that was given up for lost and ends after all writes beside
// the one that counts.
func Out(journal, key, attempt string) string {
	return path.Join(Refs(journal), key, "out-"+attempt)
}

// KeyOf is the key in a ref.
func KeyOf(ref string) string { return path.Base(path.Dir(ref)) }
