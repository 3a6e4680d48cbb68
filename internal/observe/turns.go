package observe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Turns reads what agents were told, said, did and changed, from the folders of their turns.
// It is for one goroutine at a time.
type Turns struct {
	root string
	tail *OutputTail // for the agents by the settings
}

// NewTurns returns a reader of the turns in a repository.
func NewTurns(env workspace.Env, root string) *Turns {
	return &Turns{root: root, tail: NewOutputTail(env, root)}
}

// maxFile bounds how much of a file is read to be shown, in bytes.
const maxFile = 512 << 10

// Output is the file with the output of a task's turn under way, else of its newest turn;
// "" while there is none.
func (x *Turns) Output(t *ralph.Task) string {
	for n := t.Run.Iterations + 1; n >= max(1, t.Run.Iterations); n-- {
		if n > t.Run.Iterations && t.Run.TurnAt.IsZero() {
			continue
		}
		path := step.OutputOf(x.root, t.ID, n)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// Feed is what the agent of the newest turn does, or did; nil when nobody has written that down.
func (x *Turns) Feed(t *ralph.Task) *step.Feed {
	path := x.Output(t)
	if path == "" {
		return nil
	}
	b, _, err := readStart(filepath.Join(filepath.Dir(path), step.FeedName), maxFile)
	var f step.Feed
	if err != nil || json.Unmarshal(b, &f) != nil {
		return nil
	}
	return &f
}

// Patch is what a task has changed by the end of its newest turn, and how many bytes of it are
// left out.
func (x *Turns) Patch(id ralph.TaskID) (patch []byte, cut int64, err error) {
	return readStart(filepath.Join(x.root, step.RecordsOf(id), "diff.patch"), maxFile)
}

// Whole is a task with the outputs of its checks whole that its facts have in brief.
func (x *Turns) Whole(t *ralph.Task) *ralph.Task { return records.Task(x.root, t) }

// readStart is the beginning of a regular file; no bytes where there is none.
func readStart(path string, most int64) (b []byte, cut int64, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() { // a pipe would never end
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	defer f.Close()
	b, err = io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return b, max(0, info.Size()-int64(len(b))), nil
}

// Piece is one thing that an agent wrote or did, as it came.
type Piece struct {
	Kind ralph.WordsKind
	Text string
}

// Stream follows the output of one turn while it grows.
type Stream struct {
	Path   string
	Before int64 // bytes that were there before what is read
	at     int64
	begun  bool // the first line was met
	rest   string
	listen *agent.Listener
	heard  []Piece
	file   fs.FileInfo // that was read last
	spec   ralph.AgentSpec
}

// Follow begins to read an output near its end.
func (x *Turns) Follow(t *ralph.Task, path string) *Stream {
	s := &Stream{Path: path, spec: x.tail.spec(t.Run.Agent)}
	if info, err := os.Stat(path); err == nil {
		s.Before = max(0, info.Size()-maxStart)
	}
	s.at, s.begun = s.Before, s.Before == 0
	s.open()
	return s
}

func (s *Stream) open() {
	s.listen = agent.Listen(s.spec, func(w ralph.Words) { s.heard = append(s.heard, Piece{w.Kind, w.Text}) })
}

// anew begins to read another file under the name: the turn has begun again on another machine.
func (s *Stream) anew(info fs.FileInfo) (said []Piece) {
	if s.file != nil && (!os.SameFile(s.file, info) || info.Size() < s.at) {
		said = []Piece{{ralph.WordsResult, "… this turn was lost, and has begun again …"}}
		s.at, s.begun, s.rest, s.heard = 0, true, "", nil
		s.open()
	}
	s.file = info
	return said
}

const (
	maxStart = 256 << 10 // bytes of an output that are read at first
	maxRead  = 256 << 10 // bytes that are read at once: what came before them is passed over
	maxRest  = 64 << 10  // bytes of a line that does not end
)

// Read is what came since the last look.
func (s *Stream) Read() ([]Piece, error) {
	if info, err := os.Stat(s.Path); err == nil && info.Size() == s.at && (s.file == nil || os.SameFile(s.file, info)) {
		return nil, nil
	}
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, fmt.Errorf("read the output: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the output: %w", err)
	}
	said := s.anew(info)
	if info.Size() <= s.at {
		return said, nil
	}
	if over := info.Size() - s.at - maxRead; over > 0 {
		s.at, s.begun, s.rest = s.at+over, false, ""
	}
	b := make([]byte, info.Size()-s.at)
	n, err := f.ReadAt(b, s.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the output: %w", err)
	}
	b, s.at = b[:n], s.at+int64(n)
	if !s.begun { // the rest of a line whose beginning was not read
		_, after, ok := strings.Cut(string(b), "\n")
		if !ok {
			return said, nil
		}
		b, s.begun = []byte(after), true
	}
	if s.listen != nil {
		s.listen.Write(b)
		heard := s.heard
		s.heard = nil
		return append(said, heard...), nil
	}
	return append(said, s.lines(string(b))...), nil
}

// lines are the whole lines of an output without a protocol.
func (s *Stream) lines(words string) []Piece {
	words = s.rest + words
	s.rest = ""
	var out []Piece
	for line := range strings.Lines(words) {
		if !strings.HasSuffix(line, "\n") && len(line) < maxRest {
			s.rest = line
			break
		}
		out = append(out, Piece{ralph.WordsOutput, strings.TrimRight(line, "\n")})
	}
	return out
}
