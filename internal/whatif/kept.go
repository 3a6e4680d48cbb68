package whatif

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// keptFile is where answers are kept that no session was decided by: they were paid for. It is
// in no journal, since nothing follows from them.
const keptFile = "asked.jsonl"

// Kept is one of them.
type Kept struct {
	At      time.Time     `json:"at"`
	Receipt int64         `json:"receipt,omitempty"`
	Thread  ralph.TaskID  `json:"thread"`
	Turn    int           `json:"turn"`
	Record  advice.Record `json:"record"`
}

// Keep adds an answer to the file, and returns its path in the repository.
func Keep(root string, k Kept) (string, error) {
	b, err := json.Marshal(k)
	if err != nil {
		return "", fmt.Errorf("write an answer of a model: %w", err)
	}
	path := filepath.Join(workspace.StateDir(root), keptFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("keep an answer of a model: %w", err)
	}
	// One write, so that two commands at once do not write into each other's lines. A line that a
	// full disk cut short is passed over by who reads.
	_, err = f.Write(append(append([]byte{}, b...), '\n'))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("keep an answer of a model: %w", err)
	}
	return filepath.ToSlash(filepath.Join("ralph/.state", keptFile)), nil
}

// keptAnswers are those that were kept, oldest first.
func keptAnswers(root string) ([]Kept, error) {
	b, err := os.ReadFile(filepath.Join(workspace.StateDir(root), keptFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the answers of models that were kept: %w", err)
	}
	var all []Kept
	for s := bufio.NewReader(bytes.NewReader(b)); ; {
		line, err := s.ReadBytes('\n')
		var k Kept
		if len(line) > 0 && json.Unmarshal(line, &k) == nil {
			all = append(all, k)
		}
		if err != nil {
			return all, nil
		}
	}
}

// answerOf is the newest answer of a model to a question, if there is one.
func answerOf(all []Kept, model, hash string, input json.RawMessage) (advice.Record, bool) {
	input = compact(input)
	for n := len(all) - 1; n >= 0; n-- {
		r := all[n].Record
		if r.Outcome == advice.Answered && r.By == model && r.Hash == hash && bytes.Equal(compact(r.Input), input) {
			return r, true
		}
	}
	return advice.Record{}, false
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
