package journal

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A watch hears of a write to the journal, and of a new segment in its place
// within 100 ms, without looking again and again).
func TestWatchHearsOfWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, journalName)
	write := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	var w watch
	if !w.open(dir) {
		t.Skip("the system has no watches left")
	}
	defer w.close()
	hear := func(what string) {
		t.Helper()
		select {
		case <-w.told():
		case <-time.After(time.Minute):
			t.Fatalf("%s is not heard of", what)
		}
	}
	write("two\n")
	hear("a write")
	if err := os.Rename(path, filepath.Join(dir, segmentName(2))); err != nil {
		t.Fatal(err)
	}
	write("three\n")
	hear("a new segment")
}

// The zero watch hears nothing, and closing ends what listens.
func TestWatchThatIsNotOpen(t *testing.T) {
	t.Parallel()
	var w watch
	select {
	case <-w.told():
		t.Error("it heard something")
	default:
	}
	w.close()
	if w.open(filepath.Join(t.TempDir(), "gone")) {
		t.Error("a folder that is not there can be watched")
	}
	w.close()
}
