package past

import (
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/screen/page"
)

// Gates is what became of gates lately. It reads only what is new.
type Gates struct {
	mu    sync.Mutex
	seq   int64
	from  int64
	gates gates.Past
}

// Ends are what became of gates in the newest facts, newest first, and from which fact on.
func (p *Gates) Ends(source Journal, s *ralph.State) (ends []gates.End, from int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gates.Most = 400
	if s.Seq > p.seq {
		if p.seq == 0 {
			p.seq = max(0, s.Seq-page.Window)
			p.from = p.seq
			for _, g := range s.Approvals { // some were asked before
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
