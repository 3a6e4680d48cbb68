package observe_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/locate"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workers"
)

// The file of the moment is believed as long as it says, and only of the engine at work. What is unchanged is the same
// moment, so that nobody draws anew what is as it was.
func TestTheMomentOfAFleet(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j, err := journal.Open(journal.Options{Root: root, NewID: func(prefix string) string { return prefix + "-none" }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	now := time.Now()
	name := filepath.Join(root, workers.File)
	write := func(m workers.Moment) {
		t.Helper()
		b, err := json.Marshal(m)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(name), 0o700)
		}
		if err == nil {
			err = os.WriteFile(name+".new", b, 0o600)
		}
		if err == nil {
			err = os.Rename(name+".new", name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var f observe.Fleet
	m := workers.Moment{Pid: os.Getpid(), Until: now.Add(time.Minute), Workers: []workers.Worker{{Name: "north", State: workers.Ready}}}
	write(m)
	if f.Now(j.Holder(), root, now) != nil {
		t.Error("no engine is at work, and its workers are shown")
	}
	lock, _, err := j.Lock(locate.Me(), proc.Alive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Unlock() }()
	first := f.Now(j.Holder(), root, now)
	if first == nil || len(first.Workers) != 1 || f.Now(j.Holder(), root, now) != first || observe.Engine(j).Fleet == nil {
		t.Fatalf("the moment is %+v", first)
	}
	if f.Now(j.Holder(), root, now.Add(61*time.Second)) != nil {
		t.Error("it is believed for longer than it says")
	}
	m.Workers = nil
	write(m)
	if next := f.Now(j.Holder(), root, now); next == nil || next == first || len(next.Workers) != 0 {
		t.Errorf("the next moment is %+v", next)
	}
	m.Pid++
	write(m)
	if f.Now(j.Holder(), root, now) != nil {
		t.Error("what another engine left is believed")
	}
	if err := os.WriteFile(name, []byte(`{"pid":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.Now(j.Holder(), root, now) != nil {
		t.Error("half a file is a moment")
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if f.Now(j.Holder(), root, now) != nil || observe.Engine(j).Fleet != nil {
		t.Error("it is shown when it is gone")
	}
}
