package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
)

// newestFacts is how many kinds of facts a stall's report tells.
const newestFacts = 50

// stallRecorder keeps what the report of a stall needs beside the state. It is used under the
// journal's mutex alone.
type stallRecorder struct {
	root, version string
	kinds         []string
}

// observe notes each fact, and writes the report of a stall.
func (b *stallRecorder) observe(e ralph.Event, s *ralph.State) error {
	b.kinds = append(b.kinds, e.Fact.Kind())
	b.kinds = b.kinds[max(0, len(b.kinds)-newestFacts):]
	f, stalled := e.Fact.(ralph.Stalled)
	if !stalled || f.Report == "" {
		return nil
	}
	content, err := json.MarshalIndent(status.NewStallReport(s, f, b.kinds, b.version), "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report of the stall: %w", err)
	}
	file := filepath.Join(b.root, filepath.FromSlash(ralph.StallReport(e.Seq)))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("write the report of the stall: %w", err)
	}
	if err := renameio.WriteFile(file, append(content, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the report of the stall: %w", err)
	}
	return nil
}
