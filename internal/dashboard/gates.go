package dashboard

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// MaxDiff bounds what the dashboard shows of a task's patch, in bytes.
const MaxDiff = 256 << 10

// gateFiles looks up for the dashboard what only git and files know of a gate (web.Gates).
// Pages are made often: git is asked now and then.
type gateFiles struct {
	env  workspace.Env
	root string

	mu   sync.Mutex
	last map[ralph.ApprovalID]lookedUp
}

// lookedUp is what was found about a gate.
type lookedUp struct {
	detail gates.Detail
	task   *ralph.Task // as it was then
	at     time.Time
}

const (
	// A look is good so long, while nothing is recorded of the task and while something is.
	lookGood, lookStale = 10 * time.Second, 2 * time.Second
	maxLooked           = 100
)

// NewGateFiles returns what the pages of gates read.
func NewGateFiles(env workspace.Env, root string) *gateFiles {
	return &gateFiles{env: env, root: root, last: map[ralph.ApprovalID]lookedUp{}}
}

// Detail is an open gate with everything to decide by.
func (f *gateFiles) Detail(ctx context.Context, s *ralph.State, g *ralph.Approval) gates.Detail {
	f.mu.Lock()
	defer f.mu.Unlock()
	task := s.Task(g.Task)
	if last, ok := f.last[g.ID]; ok {
		if age := time.Since(last.at); age < lookStale || age < lookGood && last.task == task {
			return last.detail
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lookGood)
	defer cancel()
	d := observe.GateDetail(ctx, f.env, s, g, f.root)
	if d.Patch != "" {
		d.Diff, d.DiffCut = readPart(filepath.Join(f.root, d.Patch), MaxDiff)
	}
	if len(f.last) >= maxLooked {
		clear(f.last)
	}
	f.last[g.ID] = lookedUp{d, task, time.Now()}
	return d
}

// readPart is the beginning of a file, up to a whole line, and how many bytes come after it.
func readPart(name string, most int) (text string, cut int64) {
	f, err := os.Open(name)
	if err != nil {
		return "", 0
	}
	defer f.Close()
	b := make([]byte, most)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", 0
	}
	b = b[:n]
	info, err := f.Stat()
	if err != nil || info.Size() <= int64(n) {
		return string(b), 0
	}
	for len(b) > 0 && b[len(b)-1] != '\n' {
		b = b[:len(b)-1]
	}
	return string(b), info.Size() - int64(len(b))
}
