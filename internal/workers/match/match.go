// Package match owns what a step needs of the worker that carries it out, what a worker has, and which
// worker fits: its agents, its labels, and the words for what none has.
//
// It does NOT own which of those that fit gets a step (internal/fleet/place), nor what is seen of a fleet
// at a moment (internal/workers).
package match

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/labels"
)

// Worker is one worker, as it was seen last.
type Worker struct {
	Name    string    `json:"name"`
	State   string    `json:"state,omitempty"` // "draining": it takes no more steps; "lost": nothing was heard of it for too long
	Agents  []string  `json:"agents"`
	Labels  []string  `json:"labels,omitempty"` // none: it is older than labels
	Slots   int       `json:"slots"`
	Version string    `json:"version"`
	Pid     int       `json:"pid"`
	Seen    time.Time `json:"last_seen"`
	Wrong   []string  `json:"wrong,omitempty"`

	Versions map[string]string `json:"agent_versions,omitempty"` // of its agents, where they tell it
	Run      string            `json:"run,omitempty"`            // no other start of it has the same
}

// Offers are its agents with their versions, for people.
func (w Worker) Offers() string {
	list := make([]string, len(w.Agents))
	for i, a := range w.Agents {
		list[i] = a
		if v := w.Versions[a]; v != "" {
			list[i] += " " + v
		}
	}
	return strings.Join(list, ", ")
}

// Needs is what a worker must have to carry out a step.
type Needs struct {
	Agent  string   `json:"agent,omitempty"`  // "": any will do
	Labels []string `json:"labels,omitempty"` // each once, in the order of letters
	Repo   string   `json:"repo,omitempty"`   // its address
}

// Of reports whether a worker has all of it.
func (n Needs) Of(w Worker) bool {
	return len(w.Wrong) == 0 && (n.Agent == "" || slices.Contains(w.Agents, n.Agent)) && len(labels.Missing(n.Labels, w.Labels)) == 0
}

// Missing says what no worker has of it, and how to start one that has; "" where one has all.
func (n Needs) Missing(list []Worker) string {
	if slices.ContainsFunc(list, n.Of) {
		return ""
	}
	good := slices.DeleteFunc(slices.Clone(list), func(w Worker) bool { return len(w.Wrong) > 0 })
	agents, there := []string{}, []string{}
	for _, w := range good {
		agents, there = append(agents, w.Agents...), append(there, w.Labels...)
	}
	var lacks []string
	if n.Agent != "" && !slices.Contains(agents, n.Agent) {
		lacks = append(lacks, "the agent "+n.Agent)
	}
	if missing := labels.Missing(n.Labels, there); len(missing) > 0 {
		lacks = append(lacks, kind(missing)+strings.Join(missing, ", "))
	}
	what := "no worker has " + strings.Join(lacks, " and ")
	switch {
	case len(list) == 0:
		what = "there is no worker"
	case len(good) == 0:
		what = "no worker is of this version and key (`ralph fleet workers`)"
	case len(lacks) == 0: // each has some of it
		what = "no single worker has " + n.words()
	}
	return what + "; start one that has: " + n.command()
}

func kind(list []string) string {
	if len(list) == 1 {
		return "the label "
	}
	return "the labels "
}

func (n Needs) words() string {
	var all []string
	if n.Agent != "" {
		all = append(all, "the agent "+n.Agent)
	}
	if len(n.Labels) > 0 {
		all = append(all, kind(n.Labels)+strings.Join(n.Labels, ", "))
	}
	return strings.Join(all, " and ")
}

// command starts a worker that has it. The agent is found where it is installed; labels of the machine
// itself are said all the same: it may be started on one that has them by another name.
func (n Needs) command() string {
	repo := n.Repo
	if repo == "" {
		repo = "ADDRESS"
	}
	c := "ralph worker --repo " + repo
	if n.Agent != "" {
		c += " --agent " + n.Agent
	}
	for _, l := range n.Labels {
		if !strings.HasPrefix(l, "os=") && !strings.HasPrefix(l, "arch=") {
			c += " --label " + l
		}
	}
	for _, l := range n.Labels {
		if name, value, ok := strings.Cut(l, "="); ok && (name == "os" || name == "arch") {
			c += fmt.Sprintf(" (on a machine with %s %s)", name, value)
		}
	}
	return c
}
