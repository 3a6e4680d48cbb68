package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/views"
	"golang.org/x/sys/unix"
)

// brokenPrefix begins the names of files with what a repair moved aside.
const brokenPrefix = "journal-broken-"

// Repair keeps what can be read of a journal that is corrupt in its middle, and moves the
// rest aside. It returns what was cut, nil when the journal is whole. The plan and
// the inbox stay as their files say: what they have more than the journal now has is read
// back as edits. A journal at which an engine works is refused with a *LockedError.
//
// Whenever it is cut off, the journal is either as corrupt as before, or mended: what is
// moved aside is safe before anything is taken away, and the corrupt file goes last.
func Repair(ctx context.Context, opt Options) (*ralph.JournalCut, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	cut, err := repair(ctx, opt)
	if cut == nil || err != nil {
		return cut, err
	}
	j, err := Open(opt)
	if err != nil {
		return cut, err
	}
	err = j.Update(ctx, "cli", func(*ralph.State) ([]ralph.Fact, error) { return nil, nil })
	return cut, errors.Join(err, j.Close())
}

func repair(ctx context.Context, opt Options) (*ralph.JournalCut, error) {
	j := &File{opt: opt, dir: filepath.Join(opt.Root, views.StateDir), moved: make(chan struct{}), told: -1, flock: unix.Flock, clock: NewClock(opt.Now)}
	j.views.Init(opt.views())
	if _, err := os.Stat(j.dir); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	engine, _, err := j.Lock(opt.Me, opt.Alive)
	if err != nil {
		return nil, err
	}
	defer engine.Unlock() //nolint:errcheck // closing the descriptor frees it in any case
	j.lock = newWriteLock(j.dir)
	if err := j.lock.take(ctx); err != nil {
		return nil, err
	}
	defer j.lock.file.Unlock() //nolint:errcheck // as in Update
	b, err := j.firstBreak()
	if err != nil || b == nil {
		return nil, err
	}
	return j.cutAt(b)
}

// brk is where a journal cannot be read any further.
type brk struct {
	files []string // all segments, the open one last
	texts [][]byte // what is in them
	at    int      // the one with the break
	good  int      // how much of it comes before
	cause *ralph.CorruptError
}

// firstBreak folds the journal from its first fact on, without a snapshot, up to the first
// write that cannot be read or does not follow. A torn last write is none: the next goes
// over it.
func (j *File) firstBreak() (*brk, error) {
	b := &brk{files: append(j.segments(), journalName)}
	for _, name := range b.files {
		text, err := os.ReadFile(filepath.Join(j.dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		b.texts = append(b.texts, text)
	}
	err := j.foldTexts(b, b.texts)
	cause, ok := errors.AsType[*ralph.CorruptError](err)
	if !ok {
		return nil, err
	}
	if errors.Is(cause, ralph.ErrNewer) {
		return nil, &ralph.Refusal{Why: cause.Error(), Hint: "nothing was changed: work with the ralph that wrote it, or a newer one", Kind: ralph.ErrUsage}
	}
	b.cause = cause
	if j.disowned(b) {
		b.dropLast()
		known := append(slices.Clone(b.texts[:b.at]), b.texts[b.at][:b.good])
		return b, j.foldTexts(&brk{files: b.files}, known)
	}
	return b, nil
}

// foldTexts folds one segment after the other, and notes how far it came.
func (j *File) foldTexts(b *brk, texts [][]byte) error {
	j.state = &ralph.State{}
	for at, text := range texts {
		j.offset, j.line = 0, 0
		err := j.fold(decoded(bytes.NewReader(text)))
		b.at, b.good = at, int(j.offset)
		if cause, ok := errors.AsType[*ralph.CorruptError](err); ok {
			cause.File = views.StateDir + "/" + b.files[at]
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// disowned reports whether the fact at the break is the next one, and says that the one
// before it was another: then somebody changed that one, and it is not kept either.
func (j *File) disowned(b *brk) bool {
	line, _, _ := bytes.Cut(b.texts[b.at][b.good:], []byte("\n"))
	e, err := ralph.UnmarshalEvent(line)
	return err == nil && j.state.Seq > 0 && e.Seq == j.state.Seq+1 && e.Prev != j.state.Hash
}

// dropLast moves the break before the last write that was taken for good.
func (b *brk) dropLast() {
	for b.good == 0 && b.at > 0 {
		b.at--
		b.good = len(b.texts[b.at])
	}
	for first := true; b.good > 0; first = false {
		start := bytes.LastIndexByte(b.texts[b.at][:b.good-1], '\n') + 1
		e, err := ralph.UnmarshalEvent(b.texts[b.at][start : b.good-1])
		if !first && (err != nil || !e.More) {
			return
		}
		b.good = start
	}
}

// cutAt moves aside what follows the break and ends the journal with the fact that says so.
func (j *File) cutAt(b *brk) (*ralph.JournalCut, error) {
	aside := b.rest()
	cut := ralph.JournalCut{Lost: j.state.Seq + 1, Until: newest(aside), Lines: bytes.Count(aside, []byte("\n")), Why: b.cause.Error()}
	if len(aside) > 0 && aside[len(aside)-1] != '\n' {
		cut.Lines++
	}
	name, err := j.moveAside(aside)
	if err != nil {
		return nil, err
	}
	cut.File = views.StateDir + "/" + name
	j.clock.NotBefore(j.state.At)
	e := ralph.Event{Seq: j.state.Seq + 1, At: j.clock.Now().UTC(), By: "cli", Prev: j.state.Hash, Fact: cut}
	line, err := ralph.MarshalEvent(&e)
	if err != nil {
		return nil, err
	}
	j.state.Apply(e)
	if err := j.views.Anew(j.state); err != nil {
		return nil, err
	}
	return &cut, j.endWith(b, append(append(bytes.Clone(b.texts[b.at][:b.good]), line...), '\n'))
}

// rest is all that comes after the break.
func (b *brk) rest() []byte {
	rest := bytes.Clone(b.texts[b.at][b.good:])
	for _, text := range b.texts[b.at+1:] {
		if len(rest) > 0 && rest[len(rest)-1] != '\n' {
			rest = append(rest, '\n')
		}
		rest = append(rest, text...)
	}
	return rest
}

// newest is the highest number of a fact in lines that can be read; 0 without one.
func newest(lines []byte) int64 {
	var last int64
	for line := range bytes.Lines(lines) {
		if e, err := ralph.UnmarshalEvent(bytes.TrimRight(line, "\n")); err == nil {
			last = max(last, e.Seq)
		}
	}
	return last
}

// moveAside writes what a repair takes out of the journal to a file that is not there yet.
func (j *File) moveAside(text []byte) (string, error) {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s%d.jsonl", brokenPrefix, n)
		path := filepath.Join(j.dir, name)
		old, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(old, text) {
			continue
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("move the rest of the journal aside: %w", err)
		}
		if _, err := views.WriteAtomic(path, text, 0o600, true); err != nil {
			return "", fmt.Errorf("move the rest of the journal aside: %w", err)
		}
		return name, nil
	}
}

// endWith makes text the open segment behind those before the break, and takes away what
// came after. The file with the break is the last to go: until then it is found again.
func (j *File) endWith(b *brk, text []byte) error {
	gone := append([]string{snapshotName}, b.files[b.at+1:]...)
	for _, name := range gone {
		if err := os.Remove(filepath.Join(j.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("repair the journal: %w", err)
		}
	}
	if err := j.dropPast(); err != nil {
		return fmt.Errorf("repair the journal: %w", err)
	}
	if _, err := views.WriteAtomic(filepath.Join(j.dir, journalName), text, 0o600, true); err != nil {
		return fmt.Errorf("repair the journal: %w", err)
	}
	if broken := b.files[b.at]; broken != journalName {
		if err := os.Remove(filepath.Join(j.dir, broken)); err != nil {
			return fmt.Errorf("repair the journal: %w", err)
		}
	}
	return views.SyncDir(j.dir)
}
