package step

import (
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/prompt"
)

// signalScanner hears what an agent says in a turn: it shows it to people, and looks
// for signals in the output of agents that have no message of their own (exec).
type signalScanner struct {
	live Live
	task ralph.TaskID

	mu      sync.Mutex
	scanner *prompt.Scanner
	heard   bool // there was plain output: its signal counts, not the text's
}

func newListener(live Live, task ralph.TaskID, text string) *signalScanner {
	return &signalScanner{live: live, task: task, scanner: prompt.NewScanner(text)}
}

// event is the hook of the turn, besides whoever else hears it.
func (l *signalScanner) event(e ralph.StreamEvent) {
	words, ok := e.Words()
	if !ok {
		return
	}
	if words.Kind == ralph.WordsOutput {
		l.mu.Lock()
		l.heard = true
		l.scanner.Line(words.Text, words.More)
		l.mu.Unlock()
	}
	if l.live != nil {
		l.live.Say(l.task, words)
	}
}

// signal is the agent's signal: from the whole output of an exec agent, however
// long, else from the final message of the others.
func (l *signalScanner) signal(final, told string) ralph.Signal {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard {
		return l.scanner.Signal()
	}
	return prompt.ReadSignal(final, told)
}

// signalled is what the agent of the turn under way has said by a command or a tool.
func (x *Executor) signalled(id ralph.TaskID) ralph.Signal {
	if x.Journal == nil {
		return ralph.Signal{}
	}
	if t := x.Journal.State().Task(id); t != nil {
		return t.Run.Signalled
	}
	return ralph.Signal{}
}

// lastSaid is the turn's signal, of its words and of its commands: the same signal, so
// the same rules. The final message comes after every command, so its word is the
// later one; PROGRESS only counts when neither says more.
func lastSaid(words, command ralph.Signal) ralph.Signal {
	ends := func(s ralph.Signal) bool { return s.Kind != ralph.SignalNone && s.Kind != ralph.SignalProgress }
	switch {
	case ends(words), !ends(command) && words.Kind != ralph.SignalNone:
		return words
	}
	return command
}
