// Package journal owns the file of facts: appending with a lock and fsync,
// repair of a torn tail, the hash chain, segments and snapshots, the session
// lock, and the views of the state that people read and edit (inbox.jsonl,
// plan.jsonl, .agent-session, session.json). It owns no decision and no word:
// what facts mean is the root package's.
package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/views"
	"golang.org/x/sys/unix"
)

// Options says where the journal lies and which views this process needs.
type Options struct {
	Root  string                     // the repository
	Inbox bool                       // read inbox.jsonl back when a person changed it; construct must not
	Plan  bool                       // likewise plan.jsonl
	Read  bool                       // never write: a query on a read-only disk, `log`, `replay`
	Now   func() time.Time           // nil: time.Now
	NewID func(prefix string) string // for tasks and issues that a person wrote without an id; needed with Plan
	// Observe is called for every event that is folded after Open, in order, with
	// the state after it, under the journal's mutex: it must be quick, and must
	// keep neither. nil: nobody looks.
	Observe func(ralph.Event, *ralph.State)
	// Redact takes the secrets out of a fact before it is recorded, and before anybody hears
	// of it. nil: facts are recorded as they are.
	Redact func(ralph.Fact) ralph.Fact
	// Me and Alive are for looking at the session lock: where this process runs, and
	// whether a process of that pid and Owner.Start does. Without them only the
	// kernel says who holds it.
	Me    Owner
	Alive func(pid int, start string) bool
	// SegmentSize is the size in bytes after which a new segment begins, so that
	// start-up does not grow with history; 0 is the default of 256 KiB.
	SegmentSize int64
}

// views are the options of the files that people read and edit.
func (o Options) views() views.Options {
	return views.Options{Root: o.Root, Inbox: o.Inbox, Plan: o.Plan, NewID: o.NewID, Redact: o.Redact}
}

const (
	journalName  = "journal.jsonl"
	journalFile  = views.StateDir + "/" + journalName
	snapshotName = "snapshot.json"
	segmentSize  = 256 << 10
	planDelay    = 100 * time.Millisecond // how long changes of task states gather before plan.jsonl is written

	maxPlanDelay = time.Second

	// openGC is the GOGC of opening: nothing that is read then is garbage, so that looking
	// for some makes a command slower and frees nothing.
	openGC = 800
)

// File is the journal of one repository. It is safe for concurrent use, and
// for use by several processes at once.
type File struct {
	opt   Options
	dir   string // absolute ralph/.state
	lock  *writeLock
	clock *Clock
	flock func(fd, how int) error // of the session lock: the kernel's

	mu       sync.Mutex
	f        *os.File
	info     os.FileInfo // of f, to notice that another process began a new segment
	offset   int64       // how far f has been folded
	line     int         // lines folded of f, for messages
	state    *ralph.State
	moved    chan struct{} // closed when the state moves
	views    views.Views
	shown    shown         // what Shown returned
	fence    func() error  // the session lock is still ours
	dirty    *time.Timer   // pending write of plan.jsonl
	planTook time.Duration // the last time
	told     int64         // seq of the last event given to Observe
	closed   bool
	unsynced bool  // f holds facts that are not on the disk yet
	snapshot int64 // bytes of the newest snapshot
	anew     bool  // the last reload folded all segments: there was no snapshot to believe
	renew    bool  // the first write begins a new segment, with a snapshot that this build believes
}

// ErrGone is a journal that somebody deleted while ralph worked, such as an
// agent with `git clean -fdx`. What it had is lost.
var ErrGone = errors.New("it was deleted while ralph works")

func gone() error { return fmt.Errorf("the journal %s is gone: %w", journalFile, ErrGone) }

// Open opens or makes the journal and folds what is not in the snapshot.
func Open(opt Options) (*File, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.SegmentSize == 0 {
		opt.SegmentSize = segmentSize
	}
	j := &File{opt: opt, dir: filepath.Join(opt.Root, views.StateDir), moved: make(chan struct{}), told: -1, flock: unix.Flock, clock: NewClock(opt.Now)}
	j.lock = newWriteLock(j.dir)
	j.views.Init(opt.views())
	defer debug.SetGCPercent(debug.SetGCPercent(openGC))
	if opt.Read {
		if err := j.openRead(); err != nil {
			return j, err
		}
		j.told = j.state.Seq
		return j, nil
	}
	if err := keepFolder(j.dir); err != nil {
		return nil, err
	}
	if err := j.reload(); err != nil {
		return nil, err
	}
	// Only from here on: two builds at work on one journal would else make segments without end.
	j.renew = j.anew
	j.told = j.state.Seq
	j.clock.NotBefore(j.state.At)
	return j, nil
}

// apply folds one event and shows it.
func (j *File) apply(e ralph.Event) {
	j.state.Apply(e)
	if j.opt.Observe != nil && j.told >= 0 && e.Seq > j.told {
		j.opt.Observe(e, j.state)
		j.told = e.Seq
	}
}

// openRead folds the journal and looks once whether the views can be read.
func (j *File) openRead() error {
	if err := j.reload(); err != nil {
		return err
	}
	return j.views.Show(j.state.Clone())
}

// Close writes what is still to be written and lets go of the file.
func (j *File) Close() error {
	err := j.Flush(context.Background())
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.f != nil {
		err = errors.Join(err, j.sync(), j.f.Close())
		j.f = nil
	}
	return err
}

// State returns what the facts add up to now. The result never changes.
func (j *File) State() *ralph.State {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.catchUp() // a file that cannot be read is reported by the next Update
	s := j.state.Clone()
	if j.opt.Read {
		_ = j.views.Show(s) // Open has reported a view that cannot be read
	}
	return s
}

// Lend lends decide what the facts add up to now, for the time of the call: decide neither keeps nor changes it,
// and asks the journal for nothing.
func (j *File) Lend(decide func(*ralph.State)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.catchUp() // as in State
	_, _ = j.state.Lend(func(s *ralph.State) ([]ralph.Fact, error) { decide(s); return nil, nil })
}

// Root is the repository.
func (j *File) Root() string { return j.opt.Root }

// Now is the time that a fact recorded now would have: that of the engine's
// decisions. It never goes back, and goes on when the system's clock does.
func (j *File) Now() time.Time { return j.clock.Now() }

// Update takes the lock, catches up, reads views back that a person changed,
// runs decide on the newest state and appends its facts with one write and one
// fsync. An error of decide or of that write leaves none of them; an error of a
// view comes after they are recorded. decide must not keep or change the state.
func (j *File) Update(ctx context.Context, by string, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	return j.Answer(ctx, by, 0, decide)
}

// Answer is Update with facts that are the outcome of a step: they carry the number of its
// receipt.
func (j *File) Answer(ctx context.Context, by string, receipt int64, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.opt.Read {
		return errors.New("the journal is open for reading only")
	}
	if j.closed {
		return fmt.Errorf("write the journal %s: %w", journalFile, os.ErrClosed)
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := j.lock.take(ctx); err != nil {
		return err
	}
	defer j.lock.file.Unlock() //nolint:errcheck // closing the descriptor frees it in any case
	if err := j.catchUp(); err != nil {
		return err
	}
	if j.fence != nil && by == "engine" {
		if err := j.fence(); err != nil {
			return err
		}
	}
	if err := j.cutTornTail(); err != nil {
		return err
	}
	if j.state.Seq == 0 {
		if err := j.views.ForgetBases(); err != nil {
			return err
		}
	}
	edits, err := j.readBack()
	if err != nil {
		return err
	}
	facts, err := j.state.Lend(decide)
	facts = j.redacted(facts)
	if err == nil {
		err = j.append(by, receipt, facts)
	}
	if err != nil {
		facts = nil
	}
	if len(edits) == 0 && len(facts) == 0 && (err != nil || !j.views.Stale()) {
		return err
	}
	j.views.MovedBy(facts)
	viewErr := j.afterAppend(append(edits, facts...))
	if viewErr != nil && len(facts) > 0 {
		viewErr = &views.ViewError{Err: viewErr}
	}
	return errors.Join(err, viewErr)
}

// readBack records what people changed in the views. An edit that could not be
// recorded is looked at again the next time, or the next write would undo it.
func (j *File) readBack() ([]ralph.Fact, error) {
	edits, err := j.views.ReadBack(j.state)
	edits = j.redacted(edits)
	if err == nil {
		err = j.append("file", 0, edits)
	}
	if err != nil {
		j.views.Forget()
		return nil, err
	}
	return edits, j.views.Rebase()
}

// redacted are facts as they may be recorded.
func (j *File) redacted(facts []ralph.Fact) []ralph.Fact {
	if j.opt.Redact == nil {
		return facts
	}
	out := make([]ralph.Fact, len(facts))
	for i, f := range facts {
		out[i] = j.opt.Redact(f)
	}
	return out
}

// afterAppend brings the views in line and begins a new segment when it is time.
func (j *File) afterAppend(facts []ralph.Fact) error {
	full := j.offset >= j.segmentLimit() || j.renew && j.offset > 0
	if j.views.Stale() || full {
		if err := j.sync(); err != nil {
			return fmt.Errorf("write the journal %s: %w", journalFile, err)
		}
	}
	later, err := j.views.Write(j.state, facts)
	if err != nil {
		return err
	}
	if later {
		j.flushLater()
	}
	if full {
		return j.rotate()
	}
	return nil
}

// segmentLimit is how long the current segment grows. Where the snapshot is longer than a
// segment, it is written no more often than there are as many bytes of facts: what a task
// costs stays the same however many there are.
func (j *File) segmentLimit() int64 {
	if j.snapshot > segmentSize {
		return max(j.opt.SegmentSize, j.snapshot)
	}
	return j.opt.SegmentSize
}

// append writes facts as lines and folds them. On any error the file is cut
// back to what it was, so that a full disk leaves no half fact.
func (j *File) append(by string, receipt int64, facts []ralph.Fact) error {
	if len(facts) == 0 {
		return nil
	}
	now := j.clock.Now().UTC().Truncate(time.Microsecond)
	if now.Before(j.state.At) {
		now = j.state.At // within the same microsecond, or a small step back: facts keep their order
	}
	var buf bytes.Buffer
	events := make([]ralph.Event, len(facts))
	prev, seq := j.state.Hash, j.state.Seq
	for i, fact := range facts {
		seq++
		e := ralph.Event{Seq: seq, At: now, By: by, Prev: prev, More: i < len(facts)-1, Answers: receipt, Fact: fact}
		line, err := ralph.MarshalEvent(&e)
		if err != nil {
			return err
		}
		buf.Write(line)
		buf.WriteByte('\n')
		events[i], prev = e, e.Hash
	}
	if j.fence != nil && by == "engine" { // again: the machine may have slept since Update looked
		if err := j.fence(); err != nil {
			return err
		}
	}
	_, err := j.f.WriteAt(buf.Bytes(), j.offset)
	if err == nil {
		j.unsynced = true
		if !decidedAgain(by, facts) {
			err = j.sync()
		}
	}
	if err != nil {
		if cut := j.f.Truncate(j.offset); cut != nil {
			err = errors.Join(err, cut)
		}
		return fmt.Errorf("write the journal %s: %w (nothing was recorded; free some space and start again)", journalFile, err)
	}
	j.offset += int64(buf.Len())
	j.line += len(events)
	for _, e := range events {
		j.apply(e)
	}
	j.wake()
	return nil
}

// decidedAgain reports whether facts may be lost with the power, as nothing came
// of them yet: the engine starts or ends a task or stage, which it would decide again from
// the facts before. The next fact with an effect, a receipt at the latest, makes
// them durable with itself, for one fsync instead of two. Files made from them
// wait for that. A killed process loses nothing: the kernel has what was written.
func decidedAgain(by string, facts []ralph.Fact) bool {
	for _, fact := range facts {
		switch f := fact.(type) {
		case ralph.TaskStarted, ralph.TaskEnded, ralph.MergeQueued:
		case ralph.TaskAdded:
			if f.Task.IsBuild() {
				return false
			}
		default:
			return false
		}
	}
	return by == "engine"
}

// sync makes durable what was written.
func (j *File) sync() error {
	if !j.unsynced {
		return nil
	}
	if err := datasync(j.f); err != nil {
		return err
	}
	j.unsynced = false
	return nil
}

func (j *File) wake() {
	j.clock.NotBefore(j.state.At)
	close(j.moved)
	j.moved = make(chan struct{})
}

// catchUp folds what other processes appended. It takes no lock: a line counts
// when its newline is there.
func (j *File) catchUp() error {
	if j.closed {
		return nil
	}
	for {
		// A segment that ended while it was opened may have been read twice, once by each of its
		// names: what does not fit together then is read again.
		if err := j.foldNew(); err != nil && !j.replaced() {
			return err
		}
		now, err := os.Stat(filepath.Join(j.dir, journalName))
		missing := errors.Is(err, os.ErrNotExist)
		switch {
		case err != nil && !missing:
			return fmt.Errorf("read the journal: %w", err)
		case missing && j.f == nil && j.opt.Read: // nothing was recorded yet
			return nil
		case missing && j.f != nil && !j.ended():
			return gone()
		case !missing && j.f != nil && os.SameFile(now, j.info):
			return nil
		}
		if err := j.reload(); err != nil { // another process began a new segment
			return err
		}
	}
}

// foldNew folds what came into the open segment.
func (j *File) foldNew() error {
	if j.f == nil {
		return nil
	}
	size, err := j.f.Seek(0, io.SeekEnd)
	switch {
	case err != nil:
		return fmt.Errorf("read the journal: %w", err)
	case size < j.offset: // another process took back a write that failed
		return j.reload()
	case size > j.offset:
		return j.fold(decoded(io.NewSectionReader(j.f, j.offset, size-j.offset)))
	}
	return nil
}

// fold applies what complete writes brought and checks the chain. What a write
// that was cut left behind stays out: it is not folded, and the next write goes
// over it.
func (j *File) fold(lines iter.Seq2[read, error]) error {
	moved := false
	var group []ralph.Event // of one write, so far
	var size int64          // of their lines
	for read, err := range lines {
		if err != nil { // never taken for a torn line, which would be cut off
			return fmt.Errorf("read the journal: %w", err)
		}
		if err := j.follows(read.event, read.err, group); err != nil {
			return err
		}
		group, size = append(group, read.event), size+read.size
		if read.event.More {
			continue
		}
		for _, e := range group {
			j.apply(e)
		}
		j.offset += size
		j.line += len(group)
		group, size, moved = group[:0], 0, true
	}
	if moved {
		j.wake()
	}
	return nil
}

// follows checks that an event, or what went wrong when its line was read, follows the state
// and the group read so far.
func (j *File) follows(e ralph.Event, err error, group []ralph.Event) error {
	seq, hash, n := j.state.Seq, j.state.Hash, j.line+len(group)+1
	if len(group) > 0 {
		last := group[len(group)-1]
		seq, hash = last.Seq, last.Hash
	}
	if err != nil {
		return &ralph.CorruptError{File: journalFile, Line: n, Why: err.Error(), Err: err}
	}
	if e.Seq != seq+1 || e.Prev != hash {
		return &ralph.CorruptError{File: journalFile, Line: n, Why: fmt.Sprintf("the chain of facts is broken: fact %d does not follow fact %d", e.Seq, seq)}
	}
	return nil
}

// foldLine folds a line of an ended segment, whose writes are all complete.
func (j *File) foldLine(line []byte) error {
	e, err := ralph.UnmarshalEvent(line)
	if err := j.follows(e, err, nil); err != nil {
		return err
	}
	j.apply(e)
	return nil
}

// cutTornTail removes an unfinished last write, left by a process that died in
// the middle of it. It is called under the lock, so nobody is writing.
func (j *File) cutTornTail() error {
	size, err := j.f.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if size == j.offset {
		return nil
	}
	if err := j.f.Truncate(j.offset); err != nil {
		return fmt.Errorf("cut the torn last write of the journal: %w", err)
	}
	return nil
}

// flushLater writes plan.jsonl a little later, so that a burst of task changes
// costs one write. A crash before that is mended by the next open.
func (j *File) flushLater() {
	if j.dirty == nil {
		// A long plan on a slow disk takes its time: writing it may take a twentieth
		// of the run, not more.
		delay := min(max(planDelay, 19*j.planTook), maxPlanDelay)
		j.dirty = time.AfterFunc(delay, func() { _ = j.Flush(context.Background()) })
	}
}

// Flush writes views that wait to be written.
func (j *File) Flush(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dirty == nil || j.closed {
		return nil
	}
	j.dirty.Stop()
	j.dirty = nil
	if err := j.lock.take(ctx); err != nil {
		return err
	}
	defer j.lock.file.Unlock() //nolint:errcheck // as in Update
	if err := j.catchUp(); err != nil {
		return err
	}
	if _, err := j.readBack(); err != nil {
		return err
	}
	if err := j.sync(); err != nil {
		return fmt.Errorf("write the journal %s: %w", journalFile, err)
	}
	begin := time.Now()
	err := j.views.WriteLater(j.state)
	j.planTook = time.Since(begin)
	return err
}
