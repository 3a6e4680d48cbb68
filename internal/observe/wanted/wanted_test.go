package wanted

import (
	"os"
	"testing"
)

// A look counts once, and only while the turn is under way elsewhere.
func TestAsked(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	reader, coordinator := Of(root, "job-1:t-1"), Of(root, "job-1:t-1")
	reader.Ask()
	if _, err := os.Stat(reader.dir); err == nil || coordinator.Asked() {
		t.Error("a turn on this machine was marked")
	}
	for range 2 { // the second: of a coordinator after one that was killed
		if err := coordinator.Begin(); err != nil {
			t.Fatal(err)
		}
		if coordinator.Asked() {
			t.Error("a mark from before counts")
		}
		reader.Ask()
		reader.Ask()
		if !coordinator.Asked() || coordinator.Asked() {
			t.Error("two looks before the coordinator's are no one, or count for good")
		}
		reader.Ask()
	}
	if Of(root, "t-2").Asked() {
		t.Error("another task is asked for")
	}
	coordinator.End()
	reader.Ask()
	if _, err := os.Stat(reader.dir); err == nil || coordinator.Asked() {
		t.Error("a turn that is over was marked")
	}
}
