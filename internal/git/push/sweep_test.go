package push

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// stranger is the variable by which a process of this test pushes until it is killed.
const stranger = "RALPH_TEST_PUSHES_IN"

// hang is that process: it has a folder in the middle of a push.
func hang(temp string) {
	dir, lock, err := folder(temp)
	fmt.Println(dir, err)
	for { // a lone goroutine that waits for nothing is a deadlock, which ends the process
		time.Sleep(time.Hour)
		runtime.KeepAlive(lock)
	}
}

// What a process that was killed in the middle of a push has left goes; the folder of one that is at work stays, however
// old, and so does what has just been made and what is somebody else's.
func TestSweep(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	p := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this test itself
	p.Env = append(os.Environ(), stranger+"="+temp)
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var killed string
	if _, err := fmt.Fscan(out, &killed); err != nil {
		t.Fatal(err)
	}
	at, lock, err := folder(temp)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	other := filepath.Join(temp, folders+"other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	there := func(name string) bool { _, err := os.Stat(name); return err == nil }
	later := time.Now().Add(time.Hour)
	if Sweep(temp, later); !there(killed) {
		t.Error("what a process at work has is gone")
	}
	_ = p.Process.Kill()
	_ = p.Wait()
	if Sweep(temp, time.Now()); !there(killed) {
		t.Error("what has just been made is gone")
	}
	if Sweep(temp, later); there(killed) || !there(at) || !there(other) {
		t.Errorf("what was left is there: %v, what is at work %v, what is others' %v", there(killed), there(at), there(other))
	}
}
