package observe

import (
	"errors"
	"io"
	"os"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// maxTail is how much of an agent's output is read for its last words.
const maxTail = 64 << 10

// OutputTail finds out what the agents at work said last, from the files that keep their
// output: a second terminal has no other way to know.
type OutputTail struct {
	env   workspace.Env
	root  string
	specs map[string]ralph.AgentSpec // by agent; nil until the settings are read
	heard map[ralph.TaskID]outputTail
}

// outputTail are the last words in an output of a size.
type outputTail struct {
	path  string
	size  int64
	words string
}

// NewOutputTail returns one that has read nothing yet.
func NewOutputTail(env workspace.Env, root string) *OutputTail {
	return &OutputTail{env: env, root: root, heard: map[ralph.TaskID]outputTail{}}
}

// Words are the last words of each agent that is in the middle of a turn.
func (l *OutputTail) Words(s *ralph.State, engine status.Engine) map[ralph.TaskID]string {
	out := map[ralph.TaskID]string{}
	if !engine.Alive {
		return out
	}
	for t := range s.Work() {
		if !t.Run.TurnAt.IsZero() {
			out[t.ID] = l.hear(t)
		}
	}
	return out
}

// hear reads the end of a task's output if it has grown. What cannot be read has no words.
func (l *OutputTail) hear(t *ralph.Task) string {
	path, old := step.OutputOf(l.root, t.ID, t.Run.Iterations+1), l.heard[t.ID]
	info, err := os.Stat(path)
	if err != nil || old.path == path && old.size == info.Size() {
		return old.of(path)
	}
	tail, begun, err := readTail(path, info.Size())
	if err != nil {
		return old.of(path)
	}
	now := outputTail{path, info.Size(), agent.LastWords(l.spec(t.Run.Agent), tail, begun)}
	if now.words == "" {
		now.words = old.of(path) // what came since are no words, but the result of a tool
	}
	l.heard[t.ID] = now
	return now.words
}

func (h outputTail) of(path string) string {
	if h.path != path {
		return ""
	}
	return h.words
}

func readTail(path string, size int64) (tail []byte, begun bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	from := max(0, size-maxTail)
	tail = make([]byte, size-from)
	n, err := f.ReadAt(tail, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return tail[:n], from == 0, err
}

// spec is the agent, by the settings of now.
func (l *OutputTail) spec(name string) ralph.AgentSpec {
	if l.specs == nil {
		l.specs = map[string]ralph.AgentSpec{}
		if c, err := workspace.LoadConfig(l.env, l.root, nil); err == nil { // else no words: the start says what is wrong
			for _, a := range c.Agents {
				l.specs[a.Name] = a
			}
		}
	}
	return l.specs[name]
}
