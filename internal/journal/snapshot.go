package journal

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"
	"sync"

	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/ralph-loop/ralph"
)

// snapshot is the folded state at the end of a segment: the first line of its file. Version
// and Shape are its key: only the build that folds and writes State in the very same way may
// believe it. The tasks of the plan, which are most of it, are in the lines behind it, some in
// each, so that they are read by all cores at once.
type snapshot struct {
	Version int          `json:"version"` // ralph.FoldVersion
	Shape   string       `json:"shape"`   // stateShape
	State   *ralph.State `json:"state"`
	Tasks   int          `json:"tasks,omitempty"`
	// Red are the tasks, by their place, whose red checks are their newest: written once.
	Red []int `json:"red,omitempty"`
}

// tasksInLine is how many tasks a line of a snapshot has: enough for each core to have its
// share of a plan of hundreds.
const tasksInLine = 64

func encodeSnapshot(s *ralph.State) ([]byte, error) {
	head := snapshot{Version: ralph.FoldVersion, Shape: stateShape(), State: s.Clone(), Tasks: len(s.Plan.Tasks)}
	tasks := slices.Clone(s.Plan.Tasks)
	head.State.Plan.Tasks = nil
	for i, t := range tasks {
		if t.Run.Red != nil && t.Run.Red == t.Run.Checks {
			c := *t
			c.Run.Red = nil
			tasks[i], head.Red = &c, append(head.Red, i)
		}
	}
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(head); err != nil {
		return nil, err
	}
	for chunk := range slices.Chunk(tasks, tasksInLine) {
		if err := lines.Encode(chunk); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// decodeSnapshot returns nil for what is no snapshot of this build, or not all of one. It does not read with
// encoding/json, which also finds out how to write each type: that was a seventh of `ralph status`.
func decodeSnapshot(b []byte) *ralph.State {
	first, rest, _ := bytes.Cut(b, []byte("\n"))
	lines := bytes.Split(bytes.TrimSuffix(rest, []byte("\n")), []byte("\n"))
	if len(rest) == 0 {
		lines = nil
	}
	chunks := make([][]*ralph.Task, len(lines))
	bad := make([]bool, len(lines))
	var work sync.WaitGroup
	next := make(chan int, len(lines))
	for i := range lines {
		next <- i
	}
	close(next)
	for range min(runtime.GOMAXPROCS(0), len(lines)) {
		work.Go(func() {
			for i := range next {
				bad[i] = jsonv1.Unmarshal(lines[i], &chunks[i]) != nil
			}
		})
	}
	var s snapshot
	known := jsonv1.Unmarshal(first, &s) == nil && s.Version == ralph.FoldVersion && s.Shape == stateShape() && s.State != nil
	work.Wait()
	if !known || slices.Contains(bad, true) {
		return nil
	}
	tasks := slices.Concat(chunks...)
	if len(tasks) != s.Tasks || len(s.State.Plan.Tasks) > 0 {
		return nil
	}
	for _, i := range s.Red {
		if i < 0 || i >= len(tasks) || tasks[i] == nil {
			return nil
		}
		tasks[i].Run.Red = tasks[i].Run.Checks
	}
	s.State.Plan.Tasks = tasks
	return s.State
}
