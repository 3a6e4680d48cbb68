// Package roster owns what a worker says of itself, which is its identity at the server, and makes of all that was said
// there who is there and how each stands.
//
// It does NOT own how that is said and heard (internal/fleet), nor who is lost (internal/workers).
package roster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/seal"
	"github.com/ralph-loop/ralph/internal/workers"
	"github.com/ralph-loop/ralph/internal/workers/match"
)

// Said is what a worker says of itself.
type Said struct {
	Name     string   `json:"name"`
	Agents   []string `json:"agents"`
	Slots    int      `json:"slots"`
	Version  string   `json:"version"`
	Revision string   `json:"revision"`
	Key      string   `json:"key"` // a fingerprint
	Pid      int      `json:"pid"`
	Labels   []string `json:"labels,omitempty"`
	Run      string   `json:"run,omitempty"` // no other start of it has the same

	Versions map[string]string `json:"agent_versions,omitempty"` // by agent
	State    workers.State     `json:"state,omitempty"`          // "": it takes steps
	Every    int               `json:"every,omitempty"`          // seconds until it is heard of again, at most; 0: it is older than this
}

// most bounds what a worker says of itself, in bytes: the server takes no more.
const most = 1000

// Identity is it as the server keeps it.
func (s Said) Identity() (string, error) {
	b, err := json.Marshal(s)
	if err == nil && len(b) > most {
		err = &ralph.Refusal{Why: fmt.Sprintf("the name, agents and labels of this worker take %d bytes, and the server takes %d", len(b), most), Hint: "give it fewer or shorter ones: --label, --agent", Kind: ralph.ErrUsage}
	}
	return string(b), err
}

// Of is what an identity says; ok is false where it is no worker's.
func Of(identity string) (s Said, ok bool) {
	return s, json.Unmarshal([]byte(identity), &s) == nil
}

// Seen is a worker as the server knows it.
type Seen struct {
	Said

	At time.Time // when it was heard of last
}

// Newest is each worker as it stood last: its newest start, and of that how far it is to its end. The questions of
// one start end in no order.
func Newest(list []Seen) []Seen {
	rank := func(s Seen) int { return slices.Index([]workers.State{"", workers.Draining, workers.Ended}, s.State) }
	newest := map[[2]string]time.Time{} // of a start
	for _, s := range list {
		if of := [2]string{s.Name, s.Run}; s.At.After(newest[of]) {
			newest[of] = s.At
		}
	}
	for i, s := range list {
		list[i].At = newest[[2]string{s.Name, s.Run}]
	}
	slices.SortFunc(list, func(a, b Seen) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), b.At.Compare(a.At), strings.Compare(a.Run, b.Run), rank(b)-rank(a))
	})
	return slices.CompactFunc(list, func(a, b Seen) bool { return a.Name == b.Name })
}

// Reader is who looks at workers: what must be the same for them to get steps from there.
type Reader struct{ Key, Revision, Version string }

// wrong is why a worker gets no steps from there.
func (r Reader) wrong(s Seen) (out []string) {
	if s.Revision != r.Revision {
		out = append(out, "is another version of ralph and gets no steps of this one: install "+r.Version+" there")
	}
	if s.Key != r.Key {
		out = append(out, "has another "+seal.KeyVar+" than this machine")
	}
	return out
}

// Worker is a worker as those show it who know nothing of the server.
func (r Reader) Worker(s Seen) workers.Worker {
	return workers.Worker{
		Name: s.Name, State: cmp.Or(s.State, workers.Ready), Agents: s.Agents, Labels: s.Labels, Slots: s.Slots, Version: s.Version,
		Heard: s.At, Wrong: r.wrong(s), Every: time.Duration(s.Every) * time.Second,
	}
}

// View is a worker for `ralph fleet`.
func (r Reader) View(s Seen) match.Worker {
	return match.Worker{
		Name: s.Name, State: string(s.State), Agents: s.Agents, Labels: s.Labels, Slots: s.Slots, Version: s.Version, Versions: s.Versions,
		Pid: s.Pid, Seen: s.At, Run: s.Run, Wrong: r.wrong(s),
	}
}

// Views are the workers that have not ended, for `ralph fleet`, at a moment of the server's. ready are those of them that
// take steps.
func (r Reader) Views(list []Seen, now time.Time, beat time.Duration) (all, ready []match.Worker) {
	for _, s := range list {
		if s.State == workers.Ended {
			continue
		}
		x := r.View(s)
		if s.Every > 0 && r.Worker(s).Gone(now, beat) { // an older one is silent while it is busy
			x.State = string(workers.Lost)
		}
		all = append(all, x)
		if x.State == "" {
			ready = append(ready, x)
		}
	}
	return all, ready
}
