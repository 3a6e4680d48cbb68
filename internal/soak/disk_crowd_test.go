//go:build linux && soak

package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// noise is text that cannot be made smaller.
func noise(size int) string {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte('!' + rand.IntN(90))
	}
	return string(b)
}

// leave fills a disk but for so many bytes, and returns the file that fills it.
func leave(t *testing.T, disk string, free int64) string {
	t.Helper()
	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	info, err := os.Stat(filler)
	must(t, err)
	must(t, os.Truncate(filler, info.Size()-free))
	return filler
}

// Worktrees that do not fit on the disk are no fault of the tasks: none fails,
// autopilot stops with exit code 2 and says which disk; with space it finishes.
func TestFullDiskInParallel(t *testing.T) {
	if !withMounts(t) {
		return
	}
	for _, tt := range []struct {
		name  string
		free  int64
		build string
	}{
		{"the pool does not fit", 4 << 20, ""},
		{"nothing fits", 0, ""},
		{"an agent fills it and fails", 20 << 20, "if ! test -e $SOAK/room; then head -c 40000000 /dev/urandom > big.out; exit 1; fi\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			disk := smallDisk(t, "48m")
			c := newCrowd(t, crowdSetup{
				dir: disk, slots: 2, plan: []planned{plannedTask(1), plannedTask(2), plannedTask(3)},
				build: "cat > /dev/null\n" + tt.build + "mkdir -p done; echo x > done/$RALPH_TASK\n" + complete,
				files: map[string]string{"big.txt": noise(3 << 20), ".gitignore": "*.out\n"},
			})
			filler := leave(t, disk, tt.free)
			res := c.ralph("autopilot")
			t.Logf("%s", res)
			if res.code != 2 || !strings.Contains(res.errs, "The disk is full") || !strings.Contains(res.errs, "`ralph autopilot` goes on where it was") && tt.free > 0 {
				t.Errorf("want exit code 2, its cause and what to do: %s", res)
			}
			for _, x := range c.records() {
				if x.Status != "pending" && x.Status != "active" {
					t.Errorf("task %s is %s: %s", x.ID, x.Status, x.Reason)
				}
			}
			if exists(c.path("ralph/.state/session.lock")) {
				t.Error("the lock stays")
			}
			must(t, os.Remove(filler))
			write(t, c.note("room"), "")
			big, err := filepath.Glob(c.path("ralph/.worktrees/*/big.out"))
			must(t, err)
			for _, path := range big {
				must(t, os.Remove(path))
			}
			c.exits(0, "autopilot")
			for _, x := range c.records() {
				if x.Status != "done" {
					t.Errorf("task %s is %s: %s", x.ID, x.Status, x.Reason)
				}
			}
			c.exits(0, "verify")
			c.exits(0, "replay")
		})
	}
}

// Worktrees on a disk of their own that is full: the journal has room to record the
// failure of every task, and does not.
func TestFullDiskOfWorktrees(t *testing.T) {
	if !withMounts(t) {
		return
	}
	c := newCrowd(t, crowdSetup{
		slots: 2, plan: []planned{plannedTask(1), plannedTask(2), plannedTask(3)},
		build: "cat > /dev/null\nmkdir -p done; echo x > done/$RALPH_TASK\n" + complete,
		files: map[string]string{"big.txt": noise(3 << 20)},
	})
	trees := c.path("ralph/.worktrees")
	must(t, os.MkdirAll(trees, 0o755))
	must(t, syscall.Mount("tmpfs", trees, "tmpfs", 0, "size=5m")) // one fits
	t.Cleanup(func() { _ = syscall.Unmount(trees, syscall.MNT_DETACH) })
	for range 2 {
		res := c.ralph("autopilot")
		t.Logf("%s", res)
		if res.code != 2 || !strings.Contains(res.errs, "The disk is full") || strings.Count(res.errs, "\n") > 3 {
			t.Errorf("want exit code 2, its cause and what to do, in few words: %s", res)
		}
		for _, x := range c.records() {
			if x.Status != "pending" && x.Status != "active" {
				t.Errorf("task %s is %s: %s", x.ID, x.Status, x.Reason)
			}
		}
	}
	must(t, syscall.Mount("", trees, "", syscall.MS_REMOUNT, "size=64m"))
	c.exits(0, "autopilot")
	for _, x := range c.records() {
		if x.Status != "done" {
			t.Errorf("task %s is %s: %s", x.ID, x.Status, x.Reason)
		}
	}
	c.exits(0, "verify")
}

// The journal by itself on a disk that is full, again and again: facts are there
// whole or not at all, segments and snapshots begun on it too; the lock's sign of
// life needs no space; with space the next fact follows the last one.
func TestJournalOnFullDisk(t *testing.T) {
	if !withMounts(t) {
		return
	}
	disk := smallDisk(t, "1m")
	opt := journal.Options{Root: disk, Inbox: true, Plan: true, SegmentSize: 20 << 10, NewID: func(p string) string { return p + "-x" }}
	j, err := journal.Open(opt)
	must(t, err)
	me := journal.Owner{SessionID: "s-1", Pid: os.Getpid(), Host: "here", StartedAt: time.Now(), HeartbeatAt: time.Now()}
	lock, _, err := j.Lock(me, func(int, string) bool { return false })
	must(t, err)
	n, failed := 0, 0
	add := func() error { // each fact changes a view, every seventh is long
		id := ralph.SpecID(fmt.Sprintf("q-%d", n))
		text := strings.Repeat("x", 1+9000*(n%7/6))
		n++
		return j.Update(context.Background(), "engine", func(s *ralph.State) ([]ralph.Fact, error) {
			return append(s.AddSpec(id, "a.md", time.Now()), ralph.Noted{Text: text}), nil
		})
	}
	for round := range 4 {
		filler := filepath.Join(disk, "filler")
		fill(t, filler)
		for range 12 {
			before := j.State().Seq
			err := add()
			after := j.State().Seq
			recorded := err == nil || strings.Contains(err.Error(), "recorded in the journal")
			if err != nil && !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
				t.Fatalf("round %d: the cause is lost: %v", round, err)
			}
			if recorded != (after == before+2) || !recorded && after != before {
				t.Fatalf("round %d: from fact %d to %d, and: %v", round, before, after, err)
			}
			if err != nil {
				failed++
			}
			if err := lock.Beat(time.Now()); err != nil {
				t.Fatalf("no sign of life: %v", err)
			}
		}
		other, err := journal.Open(journal.Options{Root: disk, Read: true})
		must(t, err)
		same(t, j, other)
		must(t, os.Remove(filler))
		for range 5 + round {
			must(t, add())
		}
		must(t, j.Flush(t.Context()))
	}
	if failed < 8 {
		t.Fatalf("only %d writes met a full disk", failed)
	}
	segments, err := filepath.Glob(filepath.Join(disk, "ralph/.state/journal-*.jsonl"))
	must(t, err)
	if len(segments) == 0 {
		t.Error("no segment ended: rotation was not tried")
	}
	inbox := readAll(t, filepath.Join(disk, "ralph/inbox.jsonl"))
	if got, want := strings.Count(inbox, "\n"), len(j.State().Inbox); got != want {
		t.Errorf("%d lines in the inbox, %d records", got, want)
	}
	must(t, lock.Unlock())
	must(t, j.Close())
	var prev string
	var seqs []int64
	must(t, j.Each(0, func(e ralph.Event) error {
		if e.Prev != prev {
			t.Errorf("fact %d does not follow the one before it", e.Seq)
		}
		prev, seqs = e.Hash, append(seqs, e.Seq)
		return nil
	}))
	if int64(len(seqs)) != j.State().Seq || !slices.IsSorted(seqs) {
		t.Errorf("%d facts, the state is at %d", len(seqs), j.State().Seq)
	}
}

func same(t *testing.T, a, b *journal.File) {
	t.Helper()
	x, err := json.Marshal(a.State())
	must(t, err)
	y, err := json.Marshal(b.State())
	must(t, err)
	if !bytes.Equal(x, y) {
		t.Fatalf("read back it is another state:\n%s\n%s", x, y)
	}
}
