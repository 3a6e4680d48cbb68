package step

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
)

func readFeed(t *testing.T, dir string) Feed {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, FeedName))
	if err != nil {
		t.Fatal(err)
	}
	var f Feed
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFeed: while a turn goes on, its folder has the newest plan and diff of the agent and
// what it did, a line each (E-036, E-089, E-090, E-091).
func TestFeed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := newHeard().shown(dir, nil)
		h.add(ralph.StreamEvent{Kind: ralph.StreamTurn})
		h.add(ralph.StreamEvent{Kind: ralph.StreamPlan, Plan: []ralph.PlanStep{{Text: "look", Status: "in_progress"}}})
		h.add(ralph.StreamEvent{Kind: ralph.StreamDiff, Diff: "one"})
		time.Sleep(feedEvery + time.Millisecond) // the clock of the bubble
		synctest.Wait()
		if f := readFeed(t, dir); len(f.Plan) != 1 || f.Plan[0].Status != "in_progress" || f.Diff != "one" {
			t.Errorf("the first of it: %+v", f)
		}
		h.add(ralph.StreamEvent{Kind: ralph.StreamPlan, Plan: []ralph.PlanStep{{Text: "look", Status: "completed"}, {Text: "write", Status: "pending"}}})
		h.add(ralph.StreamEvent{Kind: ralph.StreamDiff, Diff: strings.Repeat("ä", feedDiff)})
		for i := range feedItems + 5 {
			h.add(ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: ralph.Item{ID: fmt.Sprint(i), Kind: ralph.ItemCommand, Text: fmt.Sprintf("make %d %s", i, strings.Repeat("x", 1000))}})
		}
		h.close()
		f := readFeed(t, dir)
		if len(f.Plan) != 2 || f.Plan[0].Status != "completed" {
			t.Errorf("the second plan is not shown: %+v", f.Plan)
		}
		if len(f.Diff) > feedDiff || f.Cut+len(f.Diff) != 2*feedDiff || !strings.HasPrefix(f.Diff, "ä") {
			t.Errorf("a long diff: %d bytes, %d cut", len(f.Diff), f.Cut)
		}
		if len(f.Items) != feedItems || f.More != 5 || !strings.HasPrefix(f.Items[feedItems-1].Text, "make 64 ") || len(f.Items[0].Text) > feedText || f.Items[0].Status != ralph.ItemCompleted {
			t.Errorf("%d items, %d before them, %+v", len(f.Items), f.More, f.Items[0])
		}
		h.add(ralph.StreamEvent{Kind: ralph.StreamDiff, Diff: "late"})
		time.Sleep(2 * feedEvery)
		synctest.Wait()
		if f := readFeed(t, dir); f.Diff == "late" {
			t.Error("something was written after the turn")
		}
	})
}
