package api

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/model"
)

// session is the record of a conversation, from which a later turn goes on: a file beside the
// folders of a task's turns, a message a line. Agents cannot write there.
type session struct {
	id      string
	history []model.Message
	file    *os.File
}

// lostError is a session that is not there any more.
type lostError struct{ id string }

func (e *lostError) Error() string {
	return "the session " + e.id + " is not there any more; the next turn begins a new one"
}

const sessionPrefix = "api-"

// openSession opens the record of the session that goes on, or of a new one.
func openSession(in ralph.TurnInput) (*session, error) {
	s := &session{id: in.Resume}
	if s.id == "" {
		s.id = sessionPrefix + strings.ToLower(rand.Text()[:12])
	}
	name := filepath.Base(s.id)
	if in.Resume != "" && (name != in.Resume || !strings.HasPrefix(name, sessionPrefix)) {
		return nil, &lostError{in.Resume}
	}
	file := filepath.Join(filepath.Dir(in.Scratch), name+".jsonl")
	kept := 0
	if in.Resume != "" {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &lostError{in.Resume}
		}
		if err != nil {
			return nil, fmt.Errorf("read the agent's session: %w", err)
		}
		list, n := parse(b)
		s.history, kept = whole(list), n
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil && in.Resume != "" {
		err = f.Truncate(int64(kept)) // what is written behind half a line would be lost with it
	}
	if err != nil {
		return nil, fmt.Errorf("keep the agent's session: %w", err)
	}
	s.file = f
	return s, nil
}

// recordLine is a line of the file.
type recordLine struct {
	model.Message
	Anew bool `json:"anew,omitempty"` // nothing before it counts any more
}

// parse reads a record, and says how many bytes of it are whole lines. One that was cut by a crash
// or a full disk is left out with all after it.
func parse(b []byte) (list []model.Message, size int) {
	for row := range bytes.Lines(b) {
		var r recordLine
		if !bytes.HasSuffix(row, []byte("\n")) || json.Unmarshal(row, &r) != nil {
			break
		}
		if r.Anew {
			list = nil
		}
		list = append(list, r.Message)
		size += len(row)
	}
	return list, size
}

// whole gives calls that nothing answered, as their turn was cut, an answer: providers refuse
// a history without.
func whole(list []model.Message) []model.Message {
	var out []model.Message
	for i, m := range list {
		out = append(out, m)
		if len(m.Calls) == 0 {
			continue
		}
		answered := map[string]bool{}
		for _, r := range list[i+1:] {
			if r.Role != model.Result {
				break
			}
			answered[r.CallID] = true
		}
		for _, c := range m.Calls {
			if !answered[c.ID] {
				out = append(out, model.Message{Role: model.Result, CallID: c.ID, Tool: c.Name, Failed: true, Text: "It was interrupted: nobody knows how far it came."})
			}
		}
	}
	return out
}

func (s *session) add(list []model.Message, anew bool) error {
	var b bytes.Buffer
	for i, m := range list {
		row, err := json.Marshal(recordLine{m, anew && i == 0})
		if err != nil {
			return fmt.Errorf("keep the agent's session: %w", err)
		}
		b.Write(append(row, '\n'))
	}
	if _, err := s.file.Write(b.Bytes()); err != nil {
		return fmt.Errorf("keep the agent's session: %w", err)
	}
	return nil
}

func (s *session) close() { _ = s.file.Close() } // each line was written whole
