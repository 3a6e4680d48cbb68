package observe

import (
	"errors"
	"io"
	"maps"
	"os"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/observe/wanted"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// What is read of an agent's output for its last words: a little, and where that has none, for it is
// the result of a tool, more.
const (
	shortTail = 8 << 10
	maxTail   = 64 << 10
)

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

// Words are the last words of each agent that is in the middle of a turn. Who asks for them looks at
// those turns: the output of one on another machine comes while that goes on.
func (l *OutputTail) Words(s *ralph.State, engine status.Engine) map[ralph.TaskID]string {
	out := map[ralph.TaskID]string{}
	if !engine.Alive {
		return out
	}
	for t := range s.Work() {
		if !t.Run.TurnAt.IsZero() {
			wanted.Of(l.root, t.ID).Ask()
			out[t.ID] = l.hear(t)
		}
	}
	maps.DeleteFunc(l.heard, func(id ralph.TaskID, _ outputTail) bool { _, works := out[id]; return !works }) // a day has thousands
	return out
}

// hear reads the end of a task's output if it has grown. What cannot be read has no words.
func (l *OutputTail) hear(t *ralph.Task) string {
	path, old := step.OutputOf(l.root, t.ID, t.Run.Iterations+1), l.heard[t.ID]
	info, err := os.Stat(path)
	if err != nil || old.path == path && old.size == info.Size() {
		return old.of(path)
	}
	now := outputTail{path: path, size: info.Size()}
	for _, most := range []int64{shortTail, maxTail} {
		tail, begun, err := readTail(path, info.Size(), most)
		if err != nil {
			return old.of(path)
		}
		if now.words = agent.LastWords(l.spec(t.Run.Agent), tail, begun); now.words != "" || begun {
			break
		}
	}
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

func readTail(path string, size, most int64) (tail []byte, begun bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	from := max(0, size-most)
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
