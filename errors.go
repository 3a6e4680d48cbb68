package ralph

import (
	"errors"
	"fmt"
)

// The sentinels that callers tell apart. cli.Main alone maps errors to exit codes.
var (
	ErrNotFound = errors.New("not found")
	ErrActive   = errors.New("is active")
	ErrLocked   = errors.New("another engine holds the lock")
	ErrMoved    = errors.New("the journal moved on") // Record and Do: state is no longer the one decided on
	ErrUsage    = errors.New("usage")                // a command was given something it cannot take
	ErrNewer    = errors.New("written by a newer ralph?")

	// ErrUnsupported is a driver's answer to a TurnInput that asks for what it cannot
	// do, such as Compact. No process was started.
	ErrUnsupported = errors.New("not supported by the driver")
)

// CorruptError is a file that does not parse. Nothing was changed.
type CorruptError struct {
	File string // relative to the repository
	Line int    // from 1; 0 when it is the file as a whole
	Why  string
	Err  error // what Why is the text of, where there is one
}

func (e *CorruptError) Unwrap() error { return e.Err }

func (e *CorruptError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s is corrupt: %s", e.File, e.Why)
	}
	return fmt.Sprintf("%s:%d is corrupt: %s", e.File, e.Line, e.Why)
}

// Refusal is a command that the state does not allow; Hint says what to do instead.
type Refusal struct {
	Why  string
	Hint string
	Kind error // ErrNotFound, ErrActive or ErrUsage
}

func (e *Refusal) Error() string {
	if e.Hint == "" {
		return e.Why
	}
	return e.Why + ": " + e.Hint
}

func (e *Refusal) Unwrap() error { return e.Kind }
