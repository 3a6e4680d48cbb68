package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/views"
)

// reload folds the state anew. It takes no lock: when another process began a
// new segment meanwhile, what was read does not fit together and is read again.
func (j *File) reload() error {
	for {
		err := j.reloadOnce()
		if err == nil || !j.replaced() {
			return err
		}
	}
}

// replaced reports whether the open segment is no longer the current one.
func (j *File) replaced() bool {
	if j.f == nil {
		return false
	}
	now, err := os.Stat(filepath.Join(j.dir, journalName))
	if err != nil {
		return errors.Is(err, os.ErrNotExist) && j.ended()
	}
	return !os.SameFile(now, j.info)
}

// ended reports whether the open segment was renamed by a rotation.
func (j *File) ended() bool {
	return slices.ContainsFunc(j.segments(), func(name string) bool {
		info, err := os.Stat(filepath.Join(j.dir, name))
		return err == nil && os.SameFile(info, j.info)
	})
}

// reloadOnce folds the snapshot, then the current segment. A snapshot that is
// missing, unreadable, of another moment or another build costs only time: all segments
// are folded.
func (j *File) reloadOnce() error {
	if err := j.openCurrent(); err != nil {
		return err
	}
	if j.opt.Observe != nil && j.told >= 0 {
		if err := j.foldMissed(); err != nil {
			return err
		}
	}
	current := j.decodeAhead()
	j.state, j.anew = j.readSnapshot(), false
	segments := j.segments()
	if len(segments) == 0 || lastSeq(segments[len(segments)-1]) == j.state.Seq {
		alone := len(segments) == 0 && j.state.Seq == 0
		if err := j.foldCurrent(current); err == nil || alone {
			return err
		}
	}
	j.offset, j.line, j.state, j.anew = 0, 0, &ralph.State{}, true
	if err := j.eachSegmentLine(0, nil, j.foldLine); err != nil {
		return err
	}
	return j.foldCurrent(current)
}

// foldMissed folds the segments that others began and ended since the last look,
// one fact after the other: who observes is shown each.
func (j *File) foldMissed() error {
	return j.eachSegmentLine(j.state.Seq, j.info, func(line []byte) error {
		e, err := ralph.UnmarshalEvent(line)
		if err == nil && e.Seq <= j.state.Seq {
			return nil
		}
		return j.foldLine(line)
	})
}

// openCurrent opens the current segment, or makes it. For a reader there may be none.
func (j *File) openCurrent() error {
	if j.f != nil {
		j.f.Close() //nolint:errcheck // what was written is synced
		j.f = nil
	}
	j.offset, j.line = 0, 0
	j.unsynced = false // who began a new segment has synced all of the one before
	flags := os.O_RDWR | os.O_CREATE
	if j.opt.Read {
		flags = os.O_RDONLY
	}
	f, err := os.OpenFile(filepath.Join(j.dir, journalName), flags, 0o600)
	if j.opt.Read && errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the journal: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open the journal: %w", err), f.Close())
	}
	j.f, j.info = f, info
	return nil
}

func (j *File) foldCurrent(current func() iter.Seq2[read, error]) error {
	if j.f == nil {
		return nil
	}
	return j.fold(current())
}

func (j *File) readSnapshot() *ralph.State {
	b, err := os.ReadFile(filepath.Join(j.dir, snapshotName))
	if err != nil {
		return &ralph.State{}
	}
	s := decodeSnapshot(b)
	if s == nil {
		return &ralph.State{}
	}
	j.snapshot = int64(len(b))
	return s
}

// rotate writes a snapshot and begins a new segment. Called under the lock. The
// order matters: a crash between the steps leaves a snapshot that is newer than
// the current segment begins, which reload notices and folds everything. A
// snapshot that cannot be written (a full disk) is tried again after the next
// fact: the facts of this one are safe.
func (j *File) rotate() error {
	b, err := encodeSnapshot(j.state)
	if err != nil {
		return fmt.Errorf("write the snapshot: %w", err)
	}
	if _, err := views.WriteAtomic(filepath.Join(j.dir, snapshotName), b, 0o600, true); err != nil {
		return nil
	}
	j.keepPast()
	current := filepath.Join(j.dir, journalName)
	if err := os.Rename(current, filepath.Join(j.dir, segmentName(j.state.Seq))); err != nil {
		return fmt.Errorf("begin a new journal segment: %w", err)
	}
	j.renew, j.snapshot = false, int64(len(b))
	return j.openCurrent() // the state is what the snapshot has
}

// segmentName names an ended segment by the seq of its last fact.
func segmentName(last int64) string { return fmt.Sprintf("journal-%012d.jsonl", last) }

// lastSeq is the inverse of segmentName; 0 when somebody gave a file such a name.
func lastSeq(name string) int64 {
	var last int64
	if _, err := fmt.Sscanf(name, "journal-%d.jsonl", &last); err != nil {
		return 0
	}
	return last
}

// segments lists the ended segments, oldest first.
func (j *File) segments() []string {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if n := e.Name(); strings.HasPrefix(n, "journal-") && strings.HasSuffix(n, ".jsonl") && !strings.HasPrefix(n, brokenPrefix) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// eachSegmentLine calls visit for each line of the ended segments that may hold
// facts after seq, up to the segment that is the file until, if one is.
func (j *File) eachSegmentLine(after int64, until os.FileInfo, visit func([]byte) error) error {
	for _, name := range j.segments() {
		path := filepath.Join(j.dir, name)
		if info, err := os.Stat(path); err == nil && until != nil && os.SameFile(info, until) {
			return nil
		}
		if last := lastSeq(name); last > 0 && last <= after {
			continue
		}
		if err := eachLine(path, visit); err != nil {
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
			if corrupt, ok := errors.AsType[*ralph.CorruptError](err); ok {
				corrupt.File, corrupt.Line = views.StateDir+"/"+filepath.Base(path), n
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
// checks the chain as it goes, from the event with seq on: who asks for what comes
// after it has read what was before, and follows a busy engine at small cost. A torn
// last write is left out.
func (j *File) Each(after int64, visit func(ralph.Event) error) error {
	prev := ""
	seen := false
	var group []ralph.Event // of one write: an unfinished last one is left out
	each := func(line []byte) error {
		if !seen && seqOf(line) < after {
			return nil
		}
		e, err := ralph.UnmarshalEvent(line)
		if err != nil {
			return &ralph.CorruptError{File: journalFile, Why: err.Error(), Err: err}
		}
		if seen && e.Prev != prev {
			return &ralph.CorruptError{File: journalFile, Why: fmt.Sprintf("the chain of facts is broken at fact %d", e.Seq)}
		}
		prev, seen = e.Hash, true
		if e.Seq > after {
			group = append(group, e)
		}
		if e.More {
			return nil
		}
		for _, e := range group {
			if err := visit(e); err != nil {
				return err
			}
		}
		group = group[:0]
		return nil
	}
	// The current segment is opened before the others are listed: should it end
	// meanwhile it is read once, as what it was.
	f, err := os.Open(filepath.Join(j.dir, journalName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the journal: %w", err)
	}
	if err != nil {
		return j.eachSegmentLine(after, nil, each)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	at := nearEnd(f, info.Size(), after)
	if at == 0 {
		if err := j.eachSegmentLine(after, info, each); err != nil {
			return err
		}
	}
	return eachCompleteLine(f, at, each)
}

// nearEnd is where in the current segment a line begins from which on it can be read for what
// comes after a fact: who follows does not read all of it each time. 0: at the beginning.
func nearEnd(f *os.File, size, after int64) int64 {
	end := make([]byte, 32<<10)
	n, _ := f.ReadAt(end, max(0, size-int64(len(end))))
	first := bytes.IndexByte(end[:n], '\n') + 1
	if first == 0 || seqOf(end[first:n]) > after {
		return 0
	}
	return max(0, size-int64(len(end))) + int64(first)
}

// seqOf is the number of the event in a line that is as ralph.MarshalEvent writes it,
// without taking the line apart; of any other line it is the highest there is.
func seqOf(line []byte) int64 {
	rest, isEvent := bytes.CutPrefix(line, []byte(`{"t":"`))
	_, rest, named := bytes.Cut(rest, []byte(`","seq":`))
	number, _, ended := bytes.Cut(rest[:min(len(rest), 24)], []byte(`,`))
	seq, err := strconv.ParseInt(string(number), 10, 64)
	if !isEvent || !named || !ended || err != nil {
		return math.MaxInt64
	}
	return seq
}

// eachCompleteLine calls visit for each line of the current segment that has its newline, from
// a place on.
func eachCompleteLine(f *os.File, at int64, visit func([]byte) error) error {
	b, err := io.ReadAll(io.NewSectionReader(f, at, math.MaxInt64-at))
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	n := 0
	for line := range bytes.Lines(b) {
		n++
		line, complete := bytes.CutSuffix(line, []byte("\n"))
		if !complete {
			break
		}
		if err := visit(line); err != nil {
			if corrupt, ok := errors.AsType[*ralph.CorruptError](err); ok && corrupt.Line == 0 {
				before := make([]byte, at)
				_, _ = f.ReadAt(before, 0) // a line that is not counted is a line of a worse message
				corrupt.Line = bytes.Count(before, []byte("\n")) + n
			}
			return err
		}
	}
	return nil
}
