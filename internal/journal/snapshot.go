package journal

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"

	jsonv1 "github.com/go-json-experiment/json/v1"
	"golang.org/x/sync/errgroup"

	"github.com/ralph-loop/ralph"
)

// snapshot is the folded state at the end of a segment: the head of its file. Version and
// Shape are its key: only the build that folds and writes State in the very same way may
// believe it. Behind it is a line with the state, and then lines with some records each of the
// inbox and of the plan, which are most of it, so that they are read by all cores at once.
type snapshot struct {
	Version int    `json:"version"` // ralph.FoldVersion
	Shape   string `json:"shape"`   // stateShape
	Specs   int    `json:"specs,omitempty"`
	Tasks   int    `json:"tasks,omitempty"`
	// Red are the tasks, by their place, whose red checks are their newest: written once.
	Red []int `json:"red,omitempty"`
}

// inLine is how many records a line of a snapshot has: enough for each core to have its
// share of hundreds.
const inLine = 64

// linesOf is how many lines n records take.
func linesOf(n int) int { return n/inLine + min(1, n%inLine) }

func encodeSnapshot(s *ralph.State) ([]byte, error) {
	head := snapshot{Version: ralph.FoldVersion, Shape: stateShape, Specs: len(s.Inbox), Tasks: len(s.Plan.Tasks)}
	rest, tasks := s.Clone(), slices.Clone(s.Plan.Tasks)
	rest.Inbox, rest.Plan.Tasks = nil, nil
	for i, t := range tasks {
		if t.Run.Red != nil && t.Run.Red == t.Run.Checks {
			c := *t
			c.Run.Red = nil
			tasks[i], head.Red = &c, append(head.Red, i)
		}
	}
	lines := []any{head, rest}
	for chunk := range slices.Chunk(s.Inbox, inLine) {
		lines = append(lines, chunk)
	}
	for chunk := range slices.Chunk(tasks, inLine) {
		lines = append(lines, chunk)
	}
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	for _, x := range lines {
		if err := to.Encode(x); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// decodeSnapshot returns nil for what is no snapshot of this build, or not all of one. It does not read with
// encoding/json, which also finds out how to write each type: that was a seventh of `ralph status`.
func decodeSnapshot(b []byte) *ralph.State {
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	var head snapshot
	if jsonv1.Unmarshal(first, &head) != nil || head.Version != ralph.FoldVersion || head.Shape != stateShape {
		return nil
	}
	lines := bytes.Split(bytes.TrimSuffix(rest, []byte("\n")), []byte("\n"))
	if min(head.Specs, head.Tasks) < 0 || len(lines) != 1+linesOf(head.Specs)+linesOf(head.Tasks) {
		return nil
	}
	specs, tasks := make([][]ralph.Spec, linesOf(head.Specs)), make([][]ralph.Task, linesOf(head.Tasks))
	s := &ralph.State{}
	into := []any{s}
	for i := range specs {
		specs[i] = make([]ralph.Spec, 0, inLine)
		into = append(into, &specs[i])
	}
	for i := range tasks {
		tasks[i] = make([]ralph.Task, 0, inLine)
		into = append(into, &tasks[i])
	}
	var work errgroup.Group
	work.SetLimit(runtime.GOMAXPROCS(0))
	for i, line := range lines {
		work.Go(func() error { return jsonv1.Unmarshal(line, into[i]) })
	}
	if work.Wait() != nil {
		return nil
	}
	s.Inbox, s.Plan.Tasks = pointers(specs), pointers(tasks)
	if len(s.Inbox) != head.Specs || len(s.Plan.Tasks) != head.Tasks {
		return nil
	}
	for _, i := range head.Red {
		if i < 0 || i >= len(s.Plan.Tasks) {
			return nil
		}
		s.Plan.Tasks[i].Run.Red = s.Plan.Tasks[i].Run.Checks
	}
	return s
}

// pointers are those of records that lie beside each other, line by line: new memory is most of what reading
// them costs.
func pointers[T any](lines [][]T) (out []*T) {
	for _, line := range lines {
		for i := range line {
			out = append(out, &line[i])
		}
	}
	return out
}
