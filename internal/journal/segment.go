package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/ralph-loop/ralph"
)

// snapshot is the folded state at the end of a segment.
type snapshot struct {
	Version int          `json:"version"`
	State   *ralph.State `json:"state"`
}

const snapshotVersion = 1

// reload folds the state anew: the snapshot, then the current segment. A
// snapshot that is missing or unreadable costs only time: all segments are folded.
func (j *File) reload() error {
	if j.f != nil {
		j.f.Close() //nolint:errcheck // only read from here on
		j.f = nil
	}
	flags := os.O_RDWR | os.O_CREATE
	if j.opt.Read {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(filepath.Join(j.dir, journalName), flags, 0o600)
	if j.opt.Read && errors.Is(err, os.ErrNotExist) {
		j.state = &ralph.State{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	j.f, j.info, j.offset, j.line = f, info, 0, 0
	j.state = j.readSnapshot()
	fold := func() error { return j.fold(io.NewSectionReader(f, 0, 1<<62)) }
	older := j.hasSegments()
	if j.state.Seq > 0 || !older {
		if err := fold(); err == nil || !older && j.state.Seq == 0 {
			return err
		}
	}
	// The snapshot is missing or does not fit the segment: fold everything.
	j.offset, j.line, j.state = 0, 0, &ralph.State{}
	if err := j.foldSegments(); err != nil {
		return err
	}
	return fold()
}

func (j *File) readSnapshot() *ralph.State {
	b, err := os.ReadFile(filepath.Join(j.dir, snapshotName))
	if err != nil {
		return &ralph.State{}
	}
	var s snapshot
	if json.Unmarshal(b, &s) != nil || s.Version != snapshotVersion || s.State == nil {
		return &ralph.State{}
	}
	return s.State
}

// rotate writes a snapshot and begins a new segment. Called under the lock. The
// order matters: a crash between the steps leaves a snapshot that is newer than
// the current segment begins, which reload notices and folds everything.
func (j *File) rotate() error {
	b, err := json.Marshal(snapshot{snapshotVersion, j.state})
	if err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	if err := renameio.WriteFile(filepath.Join(j.dir, snapshotName), b, 0o600, renameio.WithStaticPermissions(0o600)); err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	current := filepath.Join(j.dir, journalName)
	if err := os.Rename(current, filepath.Join(j.dir, segmentName(j.state.Seq))); err != nil {
		return fmt.Errorf("begin a new journal segment: %w", err)
	}
	return j.reload()
}

// segmentName names an ended segment by the seq of its last fact.
func segmentName(last int64) string { return fmt.Sprintf("journal-%012d.jsonl", last) }

// segments lists the ended segments, oldest first.
func (j *File) segments() []string {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, "journal-") && strings.HasSuffix(n, ".jsonl") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

func (j *File) hasSegments() bool { return len(j.segments()) > 0 }

func (j *File) foldSegments() error {
	return j.eachSegmentLine(0, j.foldLine)
}

// eachSegmentLine calls visit for each line of the ended segments that may hold
// facts after seq.
func (j *File) eachSegmentLine(after int64, visit func([]byte) error) error {
	for _, name := range j.segments() {
		var last int64
		if _, err := fmt.Sscanf(name, "journal-%d.jsonl", &last); err == nil && last <= after {
			continue
		}
		if err := eachLine(filepath.Join(j.dir, name), visit); err != nil {
			return err
		}
	}
	return nil
}

func eachLine(path string, visit func([]byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(make([]byte, 256<<10), 64<<20)
	for n := 1; sc.Scan(); n++ {
		if err := visit(sc.Bytes()); err != nil {
			var corrupt *ralph.CorruptError
			if errors.As(err, &corrupt) {
				corrupt.File, corrupt.Line = stateDir+"/"+filepath.Base(path), n
			}
			return err
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	return nil
}

// Each calls visit for every event after seq, in order, over all segments. It
// checks the chain as it goes. A torn last line is left out.
func (j *File) Each(after int64, visit func(ralph.Event) error) error {
	prev := ""
	seen := false
	each := func(line []byte) error {
		e, err := ralph.UnmarshalEvent(line)
		if err != nil {
			return &ralph.CorruptError{File: journalFile, Why: err.Error()}
		}
		if seen && e.Prev != prev {
			return &ralph.CorruptError{File: journalFile, Why: fmt.Sprintf("the chain of facts is broken at fact %d", e.Seq)}
		}
		prev, seen = e.Hash, true
		if e.Seq <= after {
			return nil
		}
		return visit(e)
	}
	if err := j.eachSegmentLine(after, each); err != nil {
		return err
	}
	current, err := os.ReadFile(filepath.Join(j.dir, journalName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	n := 0
	for line := range strings.Lines(string(current)) {
		n++
		if !strings.HasSuffix(line, "\n") {
			break
		}
		if err := each([]byte(strings.TrimSuffix(line, "\n"))); err != nil {
			var corrupt *ralph.CorruptError
			if errors.As(err, &corrupt) && corrupt.Line == 0 {
				corrupt.Line = n
			}
			return err
		}
	}
	return nil
}
