package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// NewTasks makes build tasks of planned ones. ids holds one id per planned task,
// in the same order; deps that name a task of the plan become its id, all others
// are ids already. parent is the task that was split, or "".
func NewTasks(plan []PlannedTask, spec string, parent ralph.TaskID, ids []ralph.TaskID) []ralph.Task {
	byName := indexNames(plan)
	tasks := make([]ralph.Task, 0, len(plan))
	for i, p := range plan {
		var deps []ralph.TaskID
		for _, dep := range p.Deps {
			id := ralph.TaskID(dep)
			if at, ok := byName[dep]; ok {
				id = ids[at]
			}
			if !slices.Contains(deps, id) {
				deps = append(deps, id)
			}
		}
		tasks = append(tasks, ralph.Task{
			ID: ids[i], Kind: ralph.KindBuild, Spec: spec, Parent: parent, Status: ralph.TaskPending,
			Name: p.Name, Notes: p.Notes, Accept: p.Accept,
			Deps: deps, Tags: p.Tags, Priority: p.Priority, Phase: p.Phase,
		})
	}
	return tasks
}

// indexNames returns the place of each name; the first one where a name stands
// twice, as it may in a checklist, which has no deps.
func indexNames(plan []PlannedTask) map[string]int {
	byName := make(map[string]int, len(plan))
	for i, p := range plan {
		if _, ok := byName[p.Name]; !ok {
			byName[p.Name] = i
		}
	}
	return byName
}

// findCycle returns the names of a cycle of deps, first and last the same, or
// nil. Tasks outside the plan cannot depend on it, so they are in no cycle.
func findCycle(plan []PlannedTask) []string {
	byName := indexNames(plan)
	done := make([]bool, len(plan))
	var path []int
	var visit func(i int) []string
	visit = func(i int) []string {
		if at := slices.Index(path, i); at >= 0 {
			var names []string
			for _, j := range append(path[at:], i) {
				names = append(names, plan[j].Name)
			}
			return names
		}
		if done[i] {
			return nil
		}
		path = append(path, i)
		for _, dep := range plan[i].Deps {
			if j, ok := byName[dep]; ok {
				if cycle := visit(j); cycle != nil {
					return cycle
				}
			}
		}
		path = path[:len(path)-1]
		done[i] = true
		return nil
	}
	for i := range plan {
		if cycle := visit(i); cycle != nil {
			return cycle
		}
	}
	return nil
}

// checkCycle returns the words of a mismatch for a cycle, "" when there is none.
func checkCycle(plan []PlannedTask) string {
	if cycle := findCycle(plan); cycle != nil {
		return fmt.Sprintf("tasks form a cycle: %s", strings.Join(cycle, " -> "))
	}
	return ""
}
