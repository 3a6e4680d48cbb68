package web

import (
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

const (
	// window is how many facts a page of the past looks at; older ones are on the next page.
	window = 5000
	// after are the facts behind a window in which the outcomes of its last decisions are.
	afterWindow = 500
)

// gatesPast is what became of gates lately. It reads only what is new.
type gatesPast struct {
	mu    sync.Mutex
	seq   int64
	from  int64
	gates report.GatePast
}

// ends are what became of gates in the newest facts, newest first, and from which fact on.
func (p *gatesPast) ends(source Source, s *ralph.State) (ends []report.GateEnd, from int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gates.Most = 400
	if s.Seq > p.seq {
		if p.seq == 0 {
			p.seq = max(0, s.Seq-window)
			p.from = p.seq
			for _, g := range s.Gates { // some were asked before
				p.gates.Waits(g)
			}
		}
		err = source.Each(p.seq, func(e ralph.Event) error {
			p.gates.Add(e)
			p.seq = e.Seq
			return nil
		})
	}
	return p.gates.Ends(), p.from, err
}
