package journal

import (
	"bufio"
	"errors"
	"io"
	"iter"

	"github.com/ralph-loop/ralph"
)

// read is a line of the journal that was decoded, or could not be.
type read struct {
	event ralph.Event
	err   error
	size  int64 // of the line, with its newline
}

// decoded yields the lines of r that have their newline. What comes behind the last one is
// still being written, or torn. An error is one of reading.
func decoded(r io.Reader) iter.Seq2[read, error] {
	return func(yield func(read, error) bool) {
		br := bufio.NewReaderSize(r, 64<<10)
		var long []byte
		for {
			line, err := br.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				long = append(long, line...)
				continue
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(read{}, err)
				return
			}
			if len(long) > 0 {
				long = append(long, line...)
				line = long
			}
			e, err := ralph.UnmarshalEvent(line[:len(line)-1])
			if !yield(read{e, err, int64(len(line))}, nil) {
				return
			}
			long = long[:0]
		}
	}
}

// decodeAhead begins to decode the current segment while the snapshot is read: both together
// are most of what a short command takes. The result waits for it, and may be asked twice.
func (j *File) decodeAhead() func() iter.Seq2[read, error] {
	if j.f == nil {
		return nil
	}
	var lines []read
	var failed error
	done := make(chan struct{})
	current := io.NewSectionReader(j.f, 0, 1<<62)
	go func() {
		defer close(done)
		for line, err := range decoded(current) {
			if err != nil {
				failed = err
				return
			}
			lines = append(lines, line)
			if line.err != nil { // nothing behind it is read
				return
			}
		}
	}()
	return func() iter.Seq2[read, error] {
		<-done
		return func(yield func(read, error) bool) {
			for _, line := range lines {
				if !yield(line, nil) {
					return
				}
			}
			if failed != nil {
				yield(read{}, failed)
			}
		}
	}
}
