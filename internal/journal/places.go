package journal

import (
	"io"
	"os"
	"sync"
)

// places say where in the current segment the facts are that were folded of it: who follows
// reads what is new, and not the segment from its beginning each time. It has a lock of its
// own, as facts are read also by who holds the journal's.
type places struct {
	mu      sync.Mutex
	segment os.FileInfo
	first   int64   // the number of the segment's first fact
	ends    []int64 // where each fact ends
}

// begin forgets what was known, for a new segment or one that is folded anew.
func (p *places) begin(segment os.FileInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.segment, p.ends = segment, nil
}

// add notes where the facts from first on end.
func (p *places) add(first int64, ends []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ends) == 0 {
		p.first = first
	}
	p.ends = append(p.ends, ends...)
}

// seek goes to the line of a fact, and says how many are before it. Where that is not known,
// or another line is there by now, f stays at its beginning.
func (p *places) seek(f *os.File, segment os.FileInfo, seq int64) (lines int, there bool) {
	p.mu.Lock()
	i, at := seq-p.first, int64(0)
	known := p.segment != nil && os.SameFile(segment, p.segment) && i >= 0 && i < int64(len(p.ends))
	if known && i > 0 {
		at = p.ends[i-1]
	}
	p.mu.Unlock()
	if !known {
		return 0, false
	}
	head := make([]byte, 128) // the beginning of a line, with its number
	n, _ := f.ReadAt(head, at)
	if seqOf(head[:n]) != seq {
		return 0, false
	}
	if _, err := f.Seek(at, io.SeekStart); err != nil {
		return 0, false
	}
	return int(i), true
}
