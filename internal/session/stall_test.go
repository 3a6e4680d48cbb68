package session

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
)

// The report of a stall is in the file that its fact names, with the newest kinds of facts.
func TestStallReportFile(t *testing.T) {
	b := stallRecorder{root: t.TempDir(), version: "v1"}
	s := &ralph.State{}
	for n := range int64(newestFacts + 9) {
		if err := b.observe(ralph.Event{Seq: n + 1, Fact: ralph.Noted{Text: "x"}}, s); err != nil {
			t.Fatal(err)
		}
	}
	f := ralph.Stalled{Report: ralph.StallReport(99)}
	if err := b.observe(ralph.Event{Seq: 99, Fact: f}, s); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(b.root, f.Report))
	if err != nil {
		t.Fatal(err)
	}
	var r status.StallReport
	if err := json.Unmarshal(content, &r); err != nil || len(r.Facts) != newestFacts || r.Facts[newestFacts-1] != "stalled" || r.Ralph != "v1" {
		t.Errorf("%v: %+v", err, r)
	}
}
