package report

import (
	"encoding/json"
	"fmt"

	"github.com/ralph-loop/ralph"
)

// told is what programs are told of an event besides its line in the journal.
type told struct {
	Names      []string        `json:"event"` // every name that it goes by
	Session    ralph.SessionID `json:"session,omitempty"`
	Task       *TaskRef        `json:"task,omitempty"`
	Completed  *int            `json:"completed,omitempty"` // session.ended: its tasks that are done
	Hook       string          `json:"hook,omitempty"`
	Repository string          `json:"repository,omitempty"`
}

// TaskRef is the task, or the stage, that an event is about, as it is after it.
type TaskRef struct {
	ID     ralph.TaskID     `json:"id"`
	Name   string           `json:"name,omitempty"`
	Kind   ralph.TaskKind   `json:"kind,omitempty"`
	Phase  string           `json:"phase,omitempty"`
	Status ralph.TaskStatus `json:"status,omitempty"`
	Spec   string           `json:"spec,omitempty"`
	Dir    string           `json:"dir,omitempty"`    // where it works, relative to the repository: "." is the checkout
	Branch string           `json:"branch,omitempty"` // its own, with worktrees
}

// RefTo describes a task; only its id is known of one that is gone.
func RefTo(s *ralph.State, id ralph.TaskID) *TaskRef {
	if id == "" {
		return nil
	}
	t := s.Task(id)
	if t == nil {
		return &TaskRef{ID: id}
	}
	ref := &TaskRef{ID: id, Name: t.Name, Kind: t.Kind, Phase: t.Phase, Status: t.Status, Spec: t.Spec, Dir: t.Run.Worktree.Dir, Branch: t.Run.Worktree.Branch}
	if ref.Kind == "" {
		ref.Kind = ralph.KindBuild
	}
	if ref.Dir == "" {
		ref.Dir = "."
	}
	return ref
}

// EventJSON is an event as programs get it, from `ralph log --json` and as a
// hook's input: the line of the journal as it stands there, from t to fact, and
// after that event (its names), session and task. hook and repository are for a
// hook alone. s is the state after the event.
func EventJSON(e ralph.Event, names []string, s *ralph.State, hook, repository string) ([]byte, error) {
	line, err := ralph.MarshalEvent(&e)
	if err != nil {
		return nil, err
	}
	t := told{Names: names, Session: s.Session.ID, Task: RefTo(s, About(e.Fact)), Hook: hook, Repository: repository}
	if _, ended := e.Fact.(ralph.SessionEnded); ended {
		t.Completed = &s.Session.Count.TasksDone
	}
	more, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode the names of fact %d: %w", e.Seq, err)
	}
	line[len(line)-1] = ','
	return append(line, more[1:]...), nil
}

// hookRan: who reads it wrote the hook, so its own last words say most.
func hookRan(f ralph.HookRan) []string {
	line := fmt.Sprintf("HOOK: %s: %s", f.Hook, f.Error)
	if f.Stop {
		line = fmt.Sprintf("HOOK: %s says stop", f.Hook)
	}
	if last := lastWords(f.Output); last != "" {
		line += ": " + last
	}
	return []string{OneLine(line)}
}
