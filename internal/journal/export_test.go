package journal

import "github.com/ralph-loop/ralph"

// WithoutFlock makes the journal see a file system whose locks are not heard of
// elsewhere, such as a network mount with local locks or a folder that is synced.
func WithoutFlock(j *File) { j.flock = func(int, int) error { return nil } }

// WithFlock makes every lock end with err.
func WithFlock(j *File, err error) { j.flock = func(int, int) error { return err } }

// StateShape names how State is written.
const StateShape = stateShape

// EncodeSnapshot is the text of a snapshot.
func EncodeSnapshot(s *ralph.State) ([]byte, error) { return encodeSnapshot(s) }

// DecodeSnapshot is the state in a snapshot, nil for one that is not believed.
func DecodeSnapshot(b []byte) *ralph.State { return decodeSnapshot(b) }
