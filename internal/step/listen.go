package step

import (
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
)

// listener hears what an agent says in a turn: it shows it to people, and looks
// for signals in the output of agents that have no message of their own (exec).
type listener struct {
	live Live
	task ralph.TaskID

	mu      sync.Mutex
	scanner *prompt.Scanner
	heard   bool // there was plain output: its signal counts, not the text's
}

func newListener(live Live, task ralph.TaskID, text string) *listener {
	return &listener{live: live, task: task, scanner: prompt.NewScanner(text)}
}

func (l *listener) said(s ralph.Said) {
	if s.Kind == ralph.SaidOutput {
		l.mu.Lock()
		l.heard = true
		l.scanner.Line(s.Text, s.More)
		l.mu.Unlock()
	}
	if l.live != nil {
		l.live.Said(l.task, s)
	}
}

// signal is the agent's signal: from the whole output of an exec agent, however
// long, else from the final message of the others (product.md 4).
func (l *listener) signal(final, told string) ralph.Signal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard {
		return l.scanner.Signal()
	}
	return prompt.ReadSignal(final, told)
}
