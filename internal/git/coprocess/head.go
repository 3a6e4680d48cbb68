package coprocess

import (
	"bytes"
	"errors"
)

// ErrFull ends a command that has said enough.
var ErrFull = errors.New("enough read")

// Head keeps the beginning of a stream. What is more than it takes is ErrFull.
type Head struct {
	buf  bytes.Buffer
	left int64
	full bool
}

// NewHead takes at most so many bytes.
func NewHead(most int64) *Head { return &Head{left: most} }

func (h *Head) Write(p []byte) (int, error) {
	if int64(len(p)) > h.left {
		h.buf.Write(p[:h.left])
		h.left, h.full = 0, true
		return 0, ErrFull
	}
	h.left -= int64(len(p))
	return h.buf.Write(p)
}

// Full reports whether there was more than it takes.
func (h *Head) Full() bool { return h.full }

// Bytes is what was written, as far as it was taken.
func (h *Head) Bytes() []byte { return h.buf.Bytes() }

// Lines are the whole lines in it.
func (h *Head) Lines() []byte {
	return h.buf.Bytes()[:bytes.LastIndexByte(h.buf.Bytes(), '\n')+1]
}
