package place

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
)

// Memory is what the coordinator keeps of a task: who has its worktree, and the refs that
// nobody needs once the outcome is written.
type Memory struct {
	Worker string   `json:"worker,omitempty"`
	Labels []string `json:"labels,omitempty"` // that it has, as far as they were asked for
	Step   string   `json:"step,omitempty"`   // the newest that was begun, by its key
	Refs   []string `json:"refs,omitempty"`   // of it, at the remote
	Turn   string   `json:"turn,omitempty"`   // the folder of the turn under way, among those of the task
}

func memoryOf(root string, id ralph.TaskID) string {
	return filepath.Join(root, "ralph/.state/fleet", strings.ReplaceAll(string(id), ":", "-")+".json")
}

// Remembered is what is kept of a task. Where nothing is, any worker will do.
func Remembered(root string, id ralph.TaskID) (m Memory) {
	if b, err := os.ReadFile(memoryOf(root, id)); err != nil || json.Unmarshal(b, &m) != nil {
		return Memory{}
	}
	return m
}

// Remember keeps it.
func Remember(root string, id ralph.TaskID, m Memory) error {
	b, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(memoryOf(root, id)), 0o700)
	}
	if err == nil {
		err = git.WriteFile(memoryOf(root, id), string(b))
	}
	if err != nil {
		return fmt.Errorf("remember where %s is worked on: %w", id, err)
	}
	return nil
}

// Forget forgets all tasks.
func Forget(root string) { _ = os.RemoveAll(filepath.Dir(memoryOf(root, "x"))) }
