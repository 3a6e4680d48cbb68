// Package fleet carries steps out on other machines, through Temporal: the coordinator's Doer, the
// worker, and looking at both. One short workflow is one step of one task; what a step needs and
// what came of it travels as git commits, sealed where there is a key.
//
// It does NOT own the loop (engine), a step (step), nor git's side of travelling
// (internal/git/carry, internal/git/push). It is the only package that knows Temporal.
package fleet

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/base"
	"github.com/ralph-loop/ralph/internal/policy"
)

// format counts the changes of what travels. Who has another one has other queues, and is never
// given a step that it would misread.
const format = 3

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
// setting is in Temporal, but for parcels: small work, sealed, in which nothing looks like a secret.
type In struct {
	Repo    string        // where the refs are, a URL of git
	Ref     string        // refs/ralph/fleet/<journal>/<key>/in
	Commit  string        // that it is at; "" where it comes as a parcel
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
	Labels  []string      `json:",omitempty"` // that the worker must have
	Ahead   time.Duration `json:",omitempty"` // how far the coordinator's clock is before the server's
	Parcel  []byte        `json:",omitempty"` // the work, as internal/git/carry makes it
	From    base.Base     `json:",omitzero"`  // what the parcel is made from
	Until   time.Time     `json:",omitzero"`  // by the server's clock, how long its coordinator has the lease for certain
}

// Out is what came of a step: a commit or a parcel, likewise.
type Out struct {
	Ref    string
	Commit string
	Parcel []byte `json:",omitempty"`
	Worker string
	Lease  int64 // for which it was done
}
