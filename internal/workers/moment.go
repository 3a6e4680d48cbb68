package workers

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// File is where a coordinator writes down what it knows of this moment, relative to the repository. It is no fact:
// nothing is decided by it, and nobody misses it when it is gone.
const File = "ralph/.state/fleet.json"

// Moment is a fleet as its coordinator saw it last.
type Moment struct {
	At    time.Time `json:"at"`
	Until time.Time `json:"until"` // how long it is believed: a coordinator that lives has written another one by then
	Pid   int       `json:"pid"`   // of the coordinator

	Address   string `json:"address"` // of the Temporal server
	Namespace string `json:"namespace"`
	Queue     string `json:"queue"`

	Workers []Worker `json:"workers"`
	Steps   []Step   `json:"steps"` // of this coordinator
}

// Worker is one worker.
type Worker struct {
	Name    string    `json:"name"`
	State   State     `json:"state"`
	Agents  []string  `json:"agents"`
	Labels  []string  `json:"labels,omitempty"`
	Slots   int       `json:"slots"`
	Busy    int       `json:"busy"` // slots with a step, whoever's it is
	Version string    `json:"version"`
	Heard   time.Time `json:"last_heard"`
	Wrong   []string  `json:"wrong,omitempty"` // why it gets no steps

	Every time.Duration `json:"-"` // how often it lets hear of itself; 0: it is older, and asks for steps once a minute
}

// State is how a worker stands.
type State string

// The states.
const (
	Ready    State = "ready"
	Draining State = "draining" // it takes no more steps, and ends those under way
	Ended    State = "ended"    // it has said goodbye
	Lost     State = "lost"     // nothing was heard of it for too long; Heard is since when
)

// Free is how many steps more it takes.
func (w Worker) Free() int {
	if w.State != Ready {
		return 0
	}
	return max(0, w.Slots-w.Busy)
}

// Step is a step that is carried out on a worker, or waits for one.
type Step struct {
	ID      string       `json:"-"`
	Task    ralph.TaskID `json:"task"`
	Worker  string       `json:"worker,omitempty"` // "": it waits for one
	Since   time.Time    `json:"since"`
	Attempt int          `json:"attempt,omitempty"`
	Trouble string       `json:"trouble,omitempty"` // why the attempt before did not work out
	Missing string       `json:"missing,omitempty"` // what no worker has that it asks for, and how to start one that has
	Quiet   bool         `json:"-"`                 // the trouble was that nothing was heard of who carried it out
	Heard   time.Time    `json:"-"`                 // the last word of who carries it out
	Mine    bool         `json:"-"`                 // it is of this coordinator
}

// Of is the step of a task that is under way; nil for none, and where there is no fleet.
func (m *Moment) Of(task ralph.TaskID) *Step {
	if m == nil {
		return nil
	}
	if i := slices.IndexFunc(m.Steps, func(s Step) bool { return s.Task == task }); i >= 0 {
		return &m.Steps[i]
	}
	return nil
}

// Where says in words where the step of a task is carried out: "" for this machine.
func (m *Moment) Where(task ralph.TaskID) string {
	switch s := m.Of(task); {
	case s == nil:
		return ""
	case s.Worker == "":
		return "waits for a worker"
	default:
		return "on " + s.Worker
	}
}

// Missing says of the step of a task which waits what no worker has that it asks for, and how to start one that has: "" for
// nothing, and for this machine.
func (m *Moment) Missing(task ralph.TaskID) string {
	if s := m.Of(task); s != nil && s.Worker == "" {
		return text.OneLine(s.Missing)
	}
	return ""
}

// Drainable are the names of workers that take steps.
func (m *Moment) Drainable() []string {
	var out []string
	if m != nil {
		for _, w := range m.Workers {
			if w.State == Ready {
				out = append(out, w.Name)
			}
		}
	}
	return out
}

// Slots counts the slots of all workers that take steps or end some, and those of them that have one.
func (m *Moment) Slots() (busy, all int) {
	for _, w := range m.Workers {
		if w.State == Ready || w.State == Draining {
			busy, all = busy+w.Busy, all+w.Slots
		}
	}
	return busy, all
}

// Same reports whether two moments show the same but for clocks.
func (m *Moment) Same(other *Moment) bool {
	return m != nil && other != nil && m.Pid == other.Pid && slices.EqualFunc(m.Workers, other.Workers, func(a, b Worker) bool {
		return a.Name == b.Name && a.State == b.State && a.Slots == b.Slots && a.Busy == b.Busy && a.Version == b.Version &&
			slices.Equal(a.Agents, b.Agents) && slices.Equal(a.Labels, b.Labels) && slices.Equal(a.Wrong, b.Wrong)
	}) && slices.EqualFunc(m.Steps, other.Steps, func(a, b Step) bool {
		return a.Task == b.Task && a.Worker == b.Worker && a.Attempt == b.Attempt && a.Trouble == b.Trouble && a.Missing == b.Missing
	})
}

const (
	// waits is how long nothing may be heard of an older worker without a step: it asks for one once a minute.
	waits = 75 * time.Second
	// missed is how many of its words in a row may not be heard.
	missed = 3
	// forget is how long a worker that was lost is told of.
	forget = time.Hour
)

// Gone reports whether nothing was heard of the worker for so long that it is taken for lost. beat is how long nothing may
// be heard of one at least.
func (w Worker) Gone(now time.Time, beat time.Duration) bool {
	most := waits
	if w.Every > 0 {
		most = max(beat, missed*w.Every)
	}
	return now.Sub(w.Heard) > most
}

// Judge says how workers stand, by what is heard of them. The zero Judge has heard of none.
type Judge struct {
	known map[string]Worker
	had   map[string]string // who carried a step out, by the step
	gone  map[string]bool   // whose step was taken away, for nothing was heard of it
}

// Look takes in what is heard at a moment: the workers that have asked for steps, with when (Heard), and all steps under
// way. beat is how long nothing may be heard of who has a step. A worker is lost when its step was taken from it for
// that, or when it has not let hear of itself for longer than it would take to; and no more once it is heard of again.
func (j *Judge) Look(now time.Time, beat time.Duration, seen []Worker, steps []Step) []Worker {
	if j.known == nil {
		j.known, j.had, j.gone = map[string]Worker{}, map[string]string{}, map[string]bool{}
	}
	before := maps.Clone(j.known)
	for _, w := range seen {
		if old := before[w.Name].Heard; old.After(w.Heard) {
			w.Heard = old
		}
		j.known[w.Name] = w
	}
	running := map[string]bool{}
	for _, s := range steps {
		running[s.ID] = true
		if w, ok := j.known[s.Worker]; ok && s.Heard.After(w.Heard) {
			w.Heard = s.Heard
			j.known[s.Worker] = w
		}
	}
	for name, w := range j.known {
		if w.Heard.After(before[name].Heard) {
			delete(j.gone, name)
		}
		w.Busy = 0
		j.known[name] = w
	}
	for _, s := range steps {
		last := j.had[s.ID]
		refused := s.Trouble != "" && !s.Quiet                                                      // it said why it could not
		if last != "" && last != s.Worker && !refused && now.Sub(j.known[last].Heard) >= beat*2/3 { // clocks are not that exact
			j.gone[last] = true
		}
		j.had[s.ID] = s.Worker
		if w, ok := j.known[s.Worker]; ok {
			w.Busy++
			j.known[s.Worker] = w
		}
	}
	for id := range j.had {
		if !running[id] {
			delete(j.had, id)
		}
	}
	return j.list(now, beat)
}

// list is all that is worth a word, by name.
func (j *Judge) list(now time.Time, beat time.Duration) []Worker {
	out := []Worker{}
	for name, w := range j.known {
		quiet := now.Sub(w.Heard)
		switch {
		case w.State == Ended || quiet > forget:
			delete(j.known, name)
			delete(j.gone, name)
			continue
		case j.gone[name] && quiet >= beat, w.Gone(now, beat):
			w.State = Lost
		}
		out = append(out, w)
	}
	slices.SortFunc(out, func(a, b Worker) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
