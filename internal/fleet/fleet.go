// Package fleet carries steps out on other machines, through Temporal: the coordinator's Doer, the
// worker, and looking at both. One short workflow is one step of one task; what a step needs and
// what came of it travels as git commits, sealed where there is a key.
//
// It does NOT own the loop (engine), a step (step), nor git's side of travelling
// (internal/git/carry, internal/git/push). It is the only package that knows Temporal.
package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git/push"
	"github.com/ralph-loop/ralph/internal/policy"
)

// format counts the changes of what travels. Who has another one has other queues, and is never
// given a step that it would misread.
const format = 2

// revision is what must be the same at the coordinator and at a worker.
func revision() string { return fmt.Sprintf("%d.%d.%d", format, ralph.FoldVersion, policy.Revision) }

// The names of queues, below the configured one.

// agentQueue is read by workers that have an agent.
func agentQueue(base, agent string) string { return base + "/" + revision() + "/agent/" + agent }

// anyQueue is read by every worker.
func anyQueue(base string) string { return base + "/" + revision() + "/any" }

// hostQueue is read by one worker: the steps of a tree that it has go there first.
func hostQueue(base, name string) string { return base + "/" + revision() + "/worker/" + name }

// seenQueue is read by every worker of any version: it tells who is there.
func seenQueue(base string) string { return base + "/workers" }

// coordinatorQueue is read by the coordinator of a journal: the workflows, and what agents ask.
func coordinatorQueue(base, journal string) string { return base + "/coordinator/" + journal }

// In is what a workflow is started with. All else is in the commit: no prompt, no file and no
// setting is ever in Temporal.
type In struct {
	Repo    string        // where the refs are, a URL of git
	Ref     string        // refs/ralph/fleet/<journal>/<key>/in
	Commit  string        // that it is at
	Journal string        // of the coordinator
	Task    string        // for people who look at Temporal
	Step    string        // likewise
	Queue   string        // who can carry it out
	Held    string        // the lease of the coordinator
	Lease   int64         // its number
	Prefer  string        // the queue of the worker that has the tree; "" for none
	Base    string        // the configured queue
	Limit   time.Duration // of one attempt
	Beat    time.Duration // a worker that is not heard of for so long is lost
	Patient time.Duration // how long the preferred worker may take to begin
}

// Out is what came of a step: a commit, likewise.
type Out struct {
	Ref    string
	Commit string
	Worker string
	Lease  int64 // for which it was done
}

// key is what makes a step the same one after a restart of the coordinator: the task, how far it
// is, and what is to be done. Limits that shrink while time passes are no part of it.
func key(s *ralph.State, t *ralph.Task, step ralph.Step) (string, error) {
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

// workflowID is that of a step. It begins with what a person would look for.
func workflowID(base, journal string, task ralph.TaskID, key string) string {
	return strings.Join([]string{base, journal, string(task), key}, "/")
}

// refsOf is where the refs of a journal are.
func refsOf(journal string) string { return push.Space + journal + "/" }

func inRef(journal, key string) string { return path.Join(refsOf(journal), key, "in") }

// outRef is that of one attempt: one that was given up for lost and ends after all writes beside
// the one that counts.
func outRef(journal, key, attempt string) string {
	return path.Join(refsOf(journal), key, "out-"+attempt)
}

// keyOf is the key in a ref.
func keyOf(ref string) string { return path.Base(path.Dir(ref)) }
